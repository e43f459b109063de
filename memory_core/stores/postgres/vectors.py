"""Vectors of a tenant on the server: how they are stored, and how the nearest ones are found.

Those of most tenants are compared one by one: by this process if they fit into int8, see `held_vectors`, else by the server. A
large tenant also keeps the signs of each vector's numbers, one bit each, in an index of their own: the server compares these
first, with those of the question, then with the question's numbers; only the windows that are nearest by them are compared by
their vectors.
"""

from __future__ import annotations

import base64
import contextlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from memory_core.embeddings.token_blobs import pack_signs
from memory_core.embeddings.vectors import pack_int8
from memory_core.stores.postgres import held_vectors, state
from memory_core.stores.postgres.connections import renew
from memory_core.stores.postgres.held_vectors import KeptVectors
from memory_core.stores.postgres.state import Cursor, Tenant
from memory_core.stores.values import EmbeddedWindows

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LARGE_WINDOWS = 20_000  # of a tenant above which signs are kept: comparing all took 70 ms of the server there
# Windows that are nearest by their signs alone, of these those that are nearest to the question's own numbers, whose vectors are
# compared. They hold 92 % of the ten best passages of 300,000 windows of made-up text, whose vectors lie close together.
NEAREST_BY_SIGNS, NEAREST = 10_000, 2000
PLANES = 4  # bits of each of the question's numbers that signs are weighed with
INSERT_STEP = 200  # vectors that one statement writes
SIGN_STEP = 1000  # vectors that are given signs, or are packed, in one transaction
CENTER_SAMPLE = 2000  # vectors whose mean is taken
COSINE = "coalesce(-(e.v <#> %(vector)s::vector), -(e.h <#> %(vector)s::halfvec))"
# Another tenant may hold anything under the name of a space: vectors that cannot be compared are left out.
COMPARABLE = "coalesce(vector_dims(e.v), vector_dims(e.h)) = %(dimensions)s"
WIDE = "coalesce(e.v::real[], e.h::vector::real[])"  # of a row of int8 that an older version has stored
# Rows are looked up one by one, here and below: the planner, which knows little of how many rows there are, has compared every
# window with every embedding, and every chunk with every note.
_DATED = (
    " CROSS JOIN LATERAL (SELECT note_id FROM chunks WHERE tenant_id = w.tenant_id AND id = w.chunk_id OFFSET 0) c"
    " CROSS JOIN LATERAL (SELECT day FROM notes WHERE tenant_id = w.tenant_id AND id = c.note_id OFFSET 0) n"
)
_WITHIN = " AND n.day >= coalesce(%(first)s, '') AND n.day <= coalesce(%(last)s, '9999-99-99')"
# The sum of the question's numbers where a window's are positive. `_write_planes` has raised all by half of the largest.
_WEIGHED = (
    " + ".join(f"{2 ** (bit + 1)} * bit_count(signs & %(plane{bit})s::varbit)" for bit in range(PLANES))
    + f" - {2**PLANES - 1} * bit_count(signs)"
)
_BEST = " GROUP BY w.chunk_id ORDER BY cosine DESC NULLS LAST FETCH FIRST %(depth)s ROWS WITH TIES"


class Layout(NamedTuple):
    """The form in which the vectors of a tenant in one space are stored.

    Attributes:
        coarse: As int8.
        signed: With signs.
        center: What signs are counted from, see `decode_center`.
    """

    coarse: bool
    signed: bool
    center: str | None


def load_layout(cursor: Cursor, tenant: int, space_id: int) -> Layout:
    """Return the form of the vectors of a tenant in a space."""
    space = state.load_space(cursor, tenant, space_id)
    row = cursor.execute(
        "SELECT meta -> %s, meta -> %s FROM tenants WHERE id = %s", (state.SIGNED, state.CENTER, tenant)
    ).fetchone()
    signed, center = row or (None, None)
    return Layout(space is not None and space.space.fits_int8, signed == space_id, center)


def insert(cursor: Cursor, tenant: int, space_id: int, windows: EmbeddedWindows, *, half: bool) -> None:
    """Store vectors with the signs of their tokens; those that are there stay, and get the signs that they lack.

    Args:
        cursor: Inside a push.
        tenant: Its id.
        space_id: Of the vectors.
        windows: The vectors.
        half: Store them as float16, unless they fit into int8.
    """
    layout = load_layout(cursor, tenant, space_id)
    rows: list[Any]
    if layout.coarse:
        column, read, written, rows = "q", "bytea", "bytea", [*pack_int8(windows.rows)]
    else:
        column, written = ("h", "halfvec") if half else ("v", "vector")
        read, rows = "text", [*map(write_vector, windows.rows)]
    bits = [*map(pack_signs, windows.tokens)] if windows.tokens else [None] * len(windows.hashes)
    for first in range(0, len(windows.hashes), INSERT_STEP):
        some = slice(first, first + INSERT_STEP)
        renew(cursor)
        cursor.execute(
            f"INSERT INTO embeddings AS e (tenant_id, space_id, hash, {column}, bits)"
            f" SELECT %s, %s, hash, n::{written}, bits FROM unnest(%s::bytea[], %s::{read}[], %s::bytea[])"
            " w (hash, n, bits) ON CONFLICT (tenant_id, space_id, hash) DO UPDATE SET bits = excluded.bits"
            " WHERE e.bits IS NULL AND excluded.bits IS NOT NULL",
            (tenant, space_id, list(windows.hashes[some]), rows[some], bits[some]),
        )
        if layout.signed:
            signs = write_signs(windows.rows[some], layout.center)
            _set_signs(cursor, tenant, space_id, windows.hashes[some], signs)


def _set_signs(cursor: Cursor, tenant: int, space_id: int, hashes: Sequence[bytes], signs: Sequence[str]) -> None:
    # An array, too, for which each row is looked up: the join alone reads the whole tenant at every step.
    cursor.execute(
        "UPDATE embeddings e SET signs = s.signs::varbit FROM unnest(%s::bytea[], %s::text[]) s (hash, signs)"
        " WHERE e.tenant_id = %s AND e.space_id = %s AND e.hash = ANY (%s) AND e.hash = s.hash"
        " AND e.signs IS DISTINCT FROM s.signs::varbit",
        (list(hashes), list(signs), tenant, space_id, list(hashes)),
    )


def is_large(cursor: Cursor, tenant: Tenant) -> bool:
    """Return True if a tenant has more windows than are compared one by one."""
    row = cursor.execute(
        "SELECT count(*) FROM (SELECT 1 FROM windows WHERE tenant_id = %s LIMIT %s) counted",
        (tenant.id, LARGE_WINDOWS + 1),
    ).fetchone()
    return row is not None and row[0] > LARGE_WINDOWS


def find_center(cursor: Cursor, tenant: int, space_id: int) -> str | None:
    """Return what signs are counted from: the mean of some vectors. Where all point one way, signs of 0 tell few apart.

    Returns:
        See `decode_center`; None without vectors.
    """
    rows = cursor.execute(
        f"SELECT e.q, {WIDE} FROM embeddings e WHERE tenant_id = %s AND space_id = %s ORDER BY hash LIMIT %s",
        (tenant, space_id, CENTER_SAMPLE),
    ).fetchall()
    vectors = held_vectors.widen(rows)
    return base64.b64encode(vectors.mean(axis=0).astype("<f4").tobytes()).decode() if len(vectors) else None


def decode_center(center: object, dimensions: int) -> NDArray[np.float32] | float:
    """Return what each dimension's sign is counted from: 0 if nothing was recorded, or, by another tenant, nonsense."""
    import numpy as np

    if isinstance(center, str):
        with contextlib.suppress(ValueError):
            found = np.frombuffer(base64.b64decode(center), dtype="<f4")
            if len(found) == dimensions:
                return found
    return 0.0


def write_signs(rows: NDArray[np.float32], center: object) -> list[str]:
    """Write the signs of each row's numbers as PostgreSQL reads a bit string."""
    import numpy as np

    width = rows.shape[1]
    above = rows > decode_center(center, width)
    if width % 8 == 0:
        return [f"x{row.tobytes().hex()}" for row in np.packbits(above, axis=1)]
    return ["".join("01"[bit] for bit in row) for row in above.tolist()]


def _write_planes(vector: NDArray[np.float32]) -> dict[str, str]:
    """Write the question's numbers, as whole ones from 0 on, one bit of all of them in each bit string."""
    import numpy as np

    most = 2**PLANES - 1
    largest = float(np.abs(vector).max(initial=0)) or 1.0
    numbers = np.rint((vector / largest + 1) * most / 2).astype(np.int64)
    return {f"plane{bit}": write_signs((numbers[None] >> bit & 1).astype(np.float32), None)[0] for bit in range(PLANES)}


def sign(cursor: Cursor, tenant: int, space_id: int, after: bytes, center: str | None) -> bytes | None:
    """Give signs to the next vectors of a large tenant, in the order of their hashes; after the last, say so in its row.

    Args:
        cursor: Inside a push.
        tenant: Its id.
        space_id: Of the vectors.
        after: The hash after which to go on.
        center: See `find_center`.

    Returns:
        The hash after which to go on; None if all have signs.
    """
    rows = _load_next(cursor, tenant, space_id, after)
    if rows:
        signs = write_signs(held_vectors.widen([row[1:] for row in rows]), center)
        _set_signs(cursor, tenant, space_id, [row[0] for row in rows], signs)
        last: bytes = rows[-1][0]
        return last
    state.set_meta(cursor, tenant, {state.SIGNED: space_id, state.CENTER: center})
    return None


def _load_next(
    cursor: Cursor, tenant: int, space_id: int, after: bytes, condition: str = ""
) -> Sequence[Sequence[Any]]:
    """Return the hash, `q` and `WIDE` of the next vectors, in the order of their hashes."""
    return cursor.execute(
        f"SELECT e.hash, e.q, {WIDE} FROM embeddings e WHERE tenant_id = %s AND space_id = %s AND hash > %s{condition}"
        " ORDER BY hash LIMIT %s".encode(),
        (tenant, space_id, after, SIGN_STEP),
    ).fetchall()


def pack(cursor: Cursor, tenant: int, space_id: int, after: bytes) -> bytes | None:
    """Store the next vectors that an older version has stored wider as int8; after the last, say so in the tenant's row.

    Args:
        cursor: Inside a push.
        tenant: Its id.
        space_id: Of the vectors.
        after: The hash after which to go on.

    Returns:
        The hash after which to go on; None if all are packed.
    """
    rows = _load_next(cursor, tenant, space_id, after, " AND q IS NULL")
    if rows:
        hashes: list[bytes] = [row[0] for row in rows]
        cursor.execute(
            "UPDATE embeddings e SET q = s.q, v = NULL, h = NULL FROM unnest(%s::bytea[], %s::bytea[]) s (hash, q)"
            " WHERE e.tenant_id = %s AND e.space_id = %s AND e.hash = ANY (%s) AND e.hash = s.hash",
            (hashes, held_vectors.pack_wide([row[2] for row in rows]), tenant, space_id, hashes),
        )
        return hashes[-1]
    state.set_meta(cursor, tenant, {state.PACKED: space_id})
    return None


def find_nearest(
    cursor: Cursor,
    tenants: Sequence[Tenant],
    space_id: int,
    vector: NDArray[np.float32],
    *,
    kept: KeptVectors | None,
    days: tuple[str | None, str | None],
    depth: int,
) -> dict[int, float]:
    """Return the cosine of the best window of each of the nearest chunks, at least `depth` of each tenant if it has them.

    Args:
        cursor: Inside a read transaction.
        tenants: To search.
        space_id: Of the vectors.
        vector: The question's, of unit length.
        kept: Vectors of int8 that this process holds; None if the server compares those of this space.
        days: The first and the last of the notes; None for no limit.
        depth: The number of chunks.
    """
    values: dict[str, Any] = {
        "vector": write_vector(vector), "space": space_id, "dimensions": len(vector), "depth": depth,
        "first": days[0], "last": days[1], "nearest": max(NEAREST, depth),
        "by_signs": max(NEAREST_BY_SIGNS, depth),
    }  # fmt: skip
    dated = any(days)
    large = [each for each in tenants if each.meta.get(state.SIGNED) == space_id]
    exact = [each for each in tenants if each not in large]
    found: dict[int, float] = {}
    for tenant in large:
        center = tenant.meta.get(state.CENTER)
        values |= {"tenant": tenant.id, "signs": write_signs(vector[None], center)[0], **_write_planes(vector)}
        if kept is None:
            near: dict[int, float] = dict(cursor.execute(_write_near(dated=dated), values).fetchall())
        else:
            near = _compare_near(cursor, values, vector, depth, dated=dated)
        if dated and len(near) < depth:  # most of the nearest are of other days
            exact.append(tenant)
        else:
            found |= near
    if kept is not None:
        for tenant in exact:
            among = None if not dated else _list_dated(cursor, tenant.id, values)
            found |= kept.load(cursor, tenant, space_id, len(vector)).find_best(vector, depth=depth, among=among)
    elif exact:
        values["tenants"] = [each.id for each in exact]
        found |= dict(cursor.execute(_write_exact(dated=dated), values).fetchall())
    return found


def _compare_near(
    cursor: Cursor, values: dict[str, Any], vector: NDArray[np.float32], depth: int, *, dated: bool
) -> dict[int, float]:
    """Compare the windows of a large tenant that are nearest by their signs by their vectors of int8."""
    import numpy as np

    rows = cursor.execute(_write_packed(dated=dated), values).fetchall()
    numbers, factors, usable = held_vectors.unpack_rows([row[1:] for row in rows], len(vector))
    chunks = np.array([row[0] for row in rows], dtype=np.int64)[usable]
    return dict(
        held_vectors.best_of_each(chunks, held_vectors.multiply(numbers[usable], factors[usable], vector), depth)
    )


def _list_dated(cursor: Cursor, tenant: int, values: dict[str, Any]) -> list[int]:
    rows = cursor.execute(
        "SELECT c.id FROM notes n JOIN chunks c ON c.tenant_id = n.tenant_id AND c.note_id = n.id"
        f" WHERE n.tenant_id = %(tenant)s AND c.tenant_id = %(tenant)s{_WITHIN}".encode(),
        {**values, "tenant": tenant},
    ).fetchall()
    return [row[0] for row in rows]


def _write_exact(*, dated: bool) -> bytes:
    # `ANY` inside of the lateral query misleads the planner again.
    return (
        f"WITH near AS MATERIALIZED (SELECT tenant_id, hash, {COSINE} AS cosine FROM embeddings e"
        f" WHERE tenant_id = ANY (%(tenants)s) AND space_id = %(space)s AND {COMPARABLE})"
        " SELECT w.chunk_id, max(near.cosine) AS cosine FROM near CROSS JOIN LATERAL (SELECT tenant_id, chunk_id FROM windows"
        " WHERE tenant_id = near.tenant_id AND hash = near.hash OFFSET 0) w"
        f"{_DATED if dated else ''} WHERE true{_WITHIN if dated else ''}{_BEST}"
    ).encode()


def _write_near(*, dated: bool) -> bytes:
    return _write_signed(f"max({COSINE}) AS cosine", f" AND {COMPARABLE}", _BEST, dated=dated)


def _write_packed(*, dated: bool) -> bytes:
    return _write_signed(f"e.q, {WIDE}", "", "", dated=dated)


def _write_signed(values: str, condition: str, rest: str, *, dated: bool) -> bytes:
    return (
        "WITH signed AS MATERIALIZED (SELECT hash, signs FROM embeddings WHERE tenant_id = %(tenant)s AND space_id = %(space)s"
        " AND signs IS NOT NULL AND length(signs) = %(dimensions)s"
        " ORDER BY hamming_distance(signs, %(signs)s::varbit) LIMIT %(by_signs)s),"
        f" near AS MATERIALIZED (SELECT hash FROM signed ORDER BY {_WEIGHED} DESC LIMIT %(nearest)s)"
        f" SELECT w.chunk_id, {values} FROM near CROSS JOIN LATERAL (SELECT v, h, q FROM embeddings WHERE"
        " tenant_id = %(tenant)s AND space_id = %(space)s AND hash = near.hash OFFSET 0) e"
        " CROSS JOIN LATERAL (SELECT tenant_id, chunk_id FROM windows WHERE tenant_id = %(tenant)s AND hash = near.hash"
        f" OFFSET 0) w{_DATED if dated else ''} WHERE true{condition}{_WITHIN if dated else ''}{rest}"
    ).encode()


def write_vector(vector: Any) -> str:
    """Write a vector as pgvector reads it."""
    return f"[{','.join(f'{value:.9g}' for value in vector.tolist())}]"
