"""Vectors of a tenant on the server: how they are stored, and how the nearest ones are found.

Those of most tenants are compared one by one. A large tenant also keeps the signs of each vector's numbers, one bit each, in an
index of their own: the windows that are nearest by these are compared by their vectors, as pgvector's documentation has it under
"Binary Quantization". Signs are counted from the mean of the vectors: where all point one way, signs of 0 tell few apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from memory_core.embeddings.vectors import pack_signs
from memory_core.stores.postgres.connections import renew
from memory_core.stores.postgres.tenants import Cursor, Tenant, fetch_value, load_space
from memory_core.stores.values import EmbeddedWindows

if TYPE_CHECKING:
    from memory_core.embeddings.vectors import Row

LARGE_WINDOWS = 20_000  # of a tenant above which signs are kept: comparing all took 70 ms of the server there
NEAREST = 5000  # windows that are nearest by their signs, whose vectors are compared
INSERT_STEP = 200  # vectors that one statement writes
SIGN_STEP = 1000  # vectors that are given signs in one transaction
CENTER_SAMPLE = 2000  # vectors whose mean is taken
COSINE = "coalesce(-(e.v <#> %(vector)s::vector), -(e.h <#> %(vector)s::halfvec))"
# Another tenant may hold anything under the name of a space: vectors that cannot be compared are left out.
COMPARABLE = "coalesce(vector_dims(e.v), vector_dims(e.h)) = %(dimensions)s"
# Rows are looked up one by one, here and below: the planner, which knows little of how many rows there are, has compared every
# window with every embedding, and every chunk with every note.
_WINDOWS = "(SELECT tenant_id, chunk_id FROM windows WHERE tenant_id = {tenant} AND hash = near.hash OFFSET 0) w"
_DATED = (
    " CROSS JOIN LATERAL (SELECT note_id, day FROM chunks WHERE tenant_id = w.tenant_id AND id = w.chunk_id OFFSET 0) c"
    " CROSS JOIN LATERAL (SELECT day FROM notes WHERE tenant_id = w.tenant_id AND id = c.note_id OFFSET 0) n"
)
_DAY = "coalesce(c.day, n.day)"
_WITHIN = f" WHERE {_DAY} >= coalesce(%(first)s, '') AND {_DAY} <= coalesce(%(last)s, '9999-99-99')"
_BEST = " GROUP BY w.chunk_id ORDER BY cosine DESC NULLS LAST FETCH FIRST %(depth)s ROWS WITH TIES"


def insert(cursor: Cursor, tenant: int, space_id: int, windows: EmbeddedWindows, *, half: bool) -> None:
    """Store vectors with the signs of their tokens; those that are there stay.

    Args:
        cursor: Inside a write transaction.
        tenant: Its id.
        space_id: Of the vectors.
        windows: The vectors.
        half: Store them as float16; those that fit into int8 always are.
    """
    space = load_space(cursor, tenant, space_id)
    column, kind = ("h", "halfvec") if half or (space is not None and space.space.fits_int8) else ("v", "vector")
    rows = [*map(write_vector, windows.rows)]
    bits = [*map(pack_signs, windows.tokens)] if windows.tokens else [None] * len(windows.hashes)
    for first in range(0, len(windows.hashes), INSERT_STEP):
        some = slice(first, first + INSERT_STEP)
        renew(cursor)
        cursor.execute(
            f"INSERT INTO embeddings AS e (tenant_id, space_id, hash, {column}, signs, bits)"
            f" SELECT s.tenant_id, s.id, hash, n::{kind}, binary_quantize(n::vector - s.center), bits"
            " FROM unnest(%s::bytea[], %s::text[], %s::bytea[]) w (hash, n, bits)"
            " JOIN spaces s ON s.tenant_id = %s AND s.id = %s"
            " ON CONFLICT (tenant_id, space_id, hash) DO UPDATE SET bits = excluded.bits"
            " WHERE e.bits IS NULL AND excluded.bits IS NOT NULL",
            (list(windows.hashes[some]), rows[some], bits[some], tenant, space_id),
        )


def is_large(cursor: Cursor, tenant: int) -> bool:
    """Return True if a tenant has so many windows that signs of their vectors are to be kept."""
    query = "SELECT count(*) FROM (SELECT 1 FROM windows WHERE tenant_id = %s LIMIT %s) counted"
    return bool(fetch_value(cursor, query, (tenant, LARGE_WINDOWS + 1)) > LARGE_WINDOWS)


def find_center(cursor: Cursor, tenant: int, space_id: int) -> str | None:
    """Return the mean of some vectors of a tenant; None if it has none."""
    center: str | None = fetch_value(
        cursor,
        "SELECT avg(vector)::text FROM (SELECT coalesce(v, h::vector) AS vector FROM embeddings"
        " WHERE tenant_id = %s AND space_id = %s ORDER BY hash LIMIT %s) sample",
        (tenant, space_id, CENTER_SAMPLE),
    )
    return center


def sign(cursor: Cursor, tenant: int, space_id: int, center: str, after: bytes) -> bytes | None:
    """Give signs to the next vectors of a large tenant, in the order of their hashes; after the last, store the center.

    Args:
        cursor: Inside a write transaction.
        tenant: Its id.
        space_id: Of the vectors.
        center: See `find_center`.
        after: The hash after which to go on.

    Returns:
        The hash after which to go on; None if all have signs.
    """
    rows = cursor.execute(
        "SELECT hash FROM embeddings WHERE tenant_id = %s AND space_id = %s AND hash > %s ORDER BY hash LIMIT %s",
        (tenant, space_id, after, SIGN_STEP),
    ).fetchall()
    hashes: list[bytes] = [row[0] for row in rows]
    if not hashes:
        cursor.execute("UPDATE spaces SET center = %s WHERE tenant_id = %s AND id = %s", (center, tenant, space_id))
        return None
    cursor.execute(
        "UPDATE embeddings SET signs = binary_quantize(coalesce(v, h::vector) - %s::vector)"
        " WHERE tenant_id = %s AND space_id = %s AND hash = ANY (%s)",
        (center, tenant, space_id, hashes),
    )
    return hashes[-1]


def find_nearest(
    cursor: Cursor,
    tenants: Sequence[Tenant],
    space_id: int,
    vector: Row,
    *,
    days: tuple[str | None, str | None],
    depth: int,
) -> dict[int, float]:
    """Return the cosine of the best window of each of the nearest chunks, at least `depth` of each tenant if it has them.

    Args:
        cursor: Inside a read transaction.
        tenants: To search.
        space_id: Of the vectors.
        vector: The question's, of unit length.
        days: The first and the last of the notes; None for no limit.
        depth: The number of chunks.
    """
    values: dict[str, Any] = {
        "vector": write_vector(vector), "space": space_id, "dimensions": len(vector), "depth": depth,
        "first": days[0], "last": days[1], "nearest": max(NEAREST, depth),
    }  # fmt: skip
    dated = any(days)
    exact: list[int] = []
    found: dict[int, float] = {}
    for tenant in tenants:
        if space_id not in tenant.signed:
            exact.append(tenant.id)
            continue
        near: dict[int, float] = dict(
            cursor.execute(write_near(dated=dated), {**values, "tenant": tenant.id}).fetchall()
        )
        if dated and len(near) < depth:  # most of the nearest are of other days
            exact.append(tenant.id)
        else:
            found |= near
    if exact:
        found |= dict(cursor.execute(write_exact(dated=dated), {**values, "tenants": exact}).fetchall())
    return found


def write_exact(*, dated: bool) -> bytes:
    """Return the SQL that compares all vectors of `tenants`."""
    # `ANY` inside of the lateral query misleads the planner again.
    return (
        f"WITH near AS MATERIALIZED (SELECT tenant_id, hash, {COSINE} AS cosine FROM embeddings e"
        f" WHERE tenant_id = ANY (%(tenants)s) AND space_id = %(space)s AND {COMPARABLE})"
        f" SELECT w.chunk_id, max(near.cosine) AS cosine FROM near"
        f" CROSS JOIN LATERAL {_WINDOWS.format(tenant='near.tenant_id')}{_DATED + _WITHIN if dated else ''}{_BEST}"
    ).encode()


def write_near(*, dated: bool) -> bytes:
    """Return the SQL that compares those vectors of the large `tenant` whose signs are nearest."""
    return (
        "WITH asked AS MATERIALIZED (SELECT binary_quantize(%(vector)s::vector - center)::varbit AS signs FROM spaces"
        " WHERE tenant_id = %(tenant)s AND id = %(space)s AND vector_dims(center) = %(dimensions)s),"
        " signed AS MATERIALIZED (SELECT hash FROM embeddings WHERE tenant_id = %(tenant)s AND space_id = %(space)s"
        " AND signs IS NOT NULL AND length(signs) = %(dimensions)s"
        " ORDER BY hamming_distance(signs, (SELECT signs FROM asked)) LIMIT %(nearest)s),"
        f" near AS MATERIALIZED (SELECT hash, {COSINE} AS cosine FROM signed CROSS JOIN LATERAL (SELECT v, h FROM embeddings"
        " WHERE tenant_id = %(tenant)s AND space_id = %(space)s AND hash = signed.hash OFFSET 0) e"
        f" WHERE {COMPARABLE})"
        f" SELECT w.chunk_id, max(near.cosine) AS cosine FROM near"
        f" CROSS JOIN LATERAL {_WINDOWS.format(tenant='%(tenant)s')}{_DATED + _WITHIN if dated else ''}{_BEST}"
    ).encode()


def write_vector(vector: Any) -> str:
    """Write a vector as pgvector reads it."""
    return f"[{','.join(f'{value:.9g}' for value in vector.tolist())}]"
