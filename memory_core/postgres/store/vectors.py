"""Vectors of a tenant on the server: how they are stored, and how the nearest ones are found.

Those of most tenants are compared one by one. A large tenant also keeps the signs of each vector's numbers, one bit each, in an
index of their own: they are compared first, and only the windows that are nearest by them by their vectors.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from memory_core.embeddings.token_blobs import pack_signs
from memory_core.postgres.store import state
from memory_core.postgres.store.connections import renew
from memory_core.postgres.store.state import Cursor, Tenant
from memory_core.sync.prepared import EmbeddedWindows

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LARGE_WINDOWS = 20_000  # of a tenant above which signs are kept: comparing all took 70 ms of the server there
NEAREST = 2000  # windows by signs whose vectors are compared, see tests/postgres/test_large_tenants.py
INSERT_STEP = 200  # vectors that one statement writes
SIGN_STEP = 1000  # vectors that are given signs in one transaction
COSINE = "coalesce(-(e.v <#> %(vector)s::vector), -(e.h <#> %(vector)s::halfvec))"
# Another tenant may hold anything under the name of a space: vectors that cannot be compared are left out.
COMPARABLE = "coalesce(vector_dims(e.v), vector_dims(e.h)) = %(dimensions)s"
_DATED = (
    " JOIN chunks c ON c.tenant_id = w.tenant_id AND c.id = w.chunk_id JOIN notes n ON n.tenant_id = c.tenant_id"
    " AND n.id = c.note_id AND n.day >= coalesce(%(first)s, '') AND n.day <= coalesce(%(last)s, '9999-99-99')"
)
_BEST = " GROUP BY w.chunk_id ORDER BY cosine DESC NULLS LAST FETCH FIRST %(depth)s ROWS WITH TIES"


def insert(cursor: Cursor, tenant: int, space_id: int, windows: EmbeddedWindows, *, half: bool) -> None:
    """Store vectors with the signs of their tokens; those that are there stay, and get the signs that they lack."""
    bits = [*map(pack_signs, windows.tokens)] if windows.tokens else [None] * len(windows.hashes)
    for first in range(0, len(windows.hashes), INSERT_STEP):
        some = slice(first, first + INSERT_STEP)
        renew(cursor)
        cursor.execute(
            f"INSERT INTO embeddings AS e (tenant_id, space_id, hash, {'h' if half else 'v'}, bits)"
            f" SELECT %s, %s, hash, n::{'halfvec' if half else 'vector'}, bits FROM unnest(%s::bytea[], %s::text[], %s::bytea[])"
            " w (hash, n, bits) ON CONFLICT (tenant_id, space_id, hash) DO UPDATE SET bits = excluded.bits"
            " WHERE e.bits IS NULL AND excluded.bits IS NOT NULL",
            (
                tenant, space_id, list(windows.hashes[some]), [write_vector(row) for row in windows.rows[some]],
                bits[some],
            ),
        )  # fmt: skip
    cursor.execute(
        "UPDATE embeddings SET signs = binary_quantize(coalesce(v, h::vector)) WHERE tenant_id = %s AND space_id = %s"
        " AND hash = ANY (%s) AND signs IS NULL AND EXISTS (SELECT 1 FROM tenants WHERE id = %s AND meta -> %s = to_jsonb(%s))",
        (tenant, space_id, list(windows.hashes), tenant, state.SIGNED, space_id),
    )


def is_large(cursor: Cursor, tenant: Tenant) -> bool:
    """Return True if a tenant has more windows than are compared one by one."""
    row = cursor.execute(
        "SELECT count(*) FROM (SELECT 1 FROM windows WHERE tenant_id = %s LIMIT %s) counted",
        (tenant.id, LARGE_WINDOWS + 1),
    ).fetchone()
    return row is not None and row[0] > LARGE_WINDOWS


def sign(cursor: Cursor, tenant: int, space_id: int, after: bytes) -> bytes | None:
    """Give signs to the next vectors of a large tenant, in the order of their hashes; after the last, say so in its row.

    Args:
        cursor: Inside a push.
        tenant: Its id.
        space_id: Of the vectors.
        after: The hash after which to go on.

    Returns:
        The hash after which to go on; None if all have signs.
    """
    rows = cursor.execute(
        "UPDATE embeddings SET signs = binary_quantize(coalesce(v, h::vector)) WHERE tenant_id = %(tenant)s"
        # An array, for which each row is looked up; a join with the subquery reads the whole tenant at every step.
        " AND space_id = %(space)s AND hash = ANY (ARRAY(SELECT hash FROM embeddings WHERE tenant_id = %(tenant)s"
        " AND space_id = %(space)s AND hash > %(after)s ORDER BY hash LIMIT %(step)s)) RETURNING hash",
        {"tenant": tenant, "space": space_id, "after": after, "step": SIGN_STEP},
    ).fetchall()
    if rows:
        last: bytes = max(row[0] for row in rows)
        return last
    state.set_meta(cursor, tenant, {state.SIGNED: space_id})
    return None


def find_nearest(
    cursor: Cursor,
    tenants: Sequence[Tenant],
    space_id: int,
    vector: NDArray[np.float32],
    *,
    days: tuple[str | None, str | None],
    depth: int,
) -> dict[int, float]:
    """Return the cosine of the best window of each of the nearest chunks, at least `depth` of each tenant if it has them."""
    values = {
        "vector": write_vector(vector), "space": space_id, "dimensions": len(vector), "depth": depth,
        "first": days[0], "last": days[1], "nearest": max(NEAREST, depth),
    }  # fmt: skip
    dated = _DATED if any(days) else ""
    large = [each.id for each in tenants if each.meta.get(state.SIGNED) == space_id]
    exact = [each.id for each in tenants if each.id not in large]
    found: dict[int, float] = {}
    for tenant in large:
        near: dict[int, float] = dict(cursor.execute(_write_near(dated), {**values, "tenant": tenant}).fetchall())
        if dated and len(near) < depth:  # most of the nearest are of other days
            exact.append(tenant)
        else:
            found |= near
    if exact:
        found |= dict(cursor.execute(_write_exact(dated), {**values, "tenants": exact}).fetchall())
    return found


def _write_exact(dated: str) -> bytes:
    # Windows are looked up one by one: the planner, which knows little of how many rows there are, has compared the hash of
    # every embedding with that of every window, which took 15 ms for 380 of them and grew with their square. `ANY` inside of
    # the lateral query misleads it again.
    return (
        f"WITH near AS MATERIALIZED (SELECT tenant_id, hash, {COSINE} AS cosine FROM embeddings e"
        f" WHERE tenant_id = ANY (%(tenants)s) AND space_id = %(space)s AND {COMPARABLE})"
        " SELECT w.chunk_id, max(near.cosine) AS cosine FROM near CROSS JOIN LATERAL (SELECT tenant_id, chunk_id FROM windows"
        f" WHERE tenant_id = near.tenant_id AND hash = near.hash OFFSET 0) w{dated}{_BEST}"
    ).encode()


def _write_near(dated: str) -> bytes:
    return (
        "WITH near AS MATERIALIZED (SELECT hash FROM embeddings WHERE tenant_id = %(tenant)s AND space_id = %(space)s"
        " AND signs IS NOT NULL AND length(signs) = %(dimensions)s"
        " ORDER BY hamming_distance(signs, binary_quantize(%(vector)s::vector)) LIMIT %(nearest)s)"
        f" SELECT w.chunk_id, max({COSINE}) AS cosine FROM near JOIN embeddings e ON e.hash = near.hash"
        f" JOIN windows w ON w.hash = near.hash{dated} WHERE e.tenant_id = %(tenant)s AND e.space_id = %(space)s"
        f" AND w.tenant_id = %(tenant)s AND {COMPARABLE}{_BEST}"
    ).encode()


def write_vector(vector: Any) -> str:
    """Write a vector as pgvector reads it."""
    return f"[{','.join(f'{value:.9g}' for value in vector.tolist())}]"
