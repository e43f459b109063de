"""Vectors of int8, which this process compares: those of a tenant are fetched once, and kept from one search to the next.

The server has no type for them, and is spared the comparing. What a search fetches is what the tenant has got since the last one.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from memory_core.embeddings.vectors import INT8_FACTOR, pack_int8, read_int8, split_int8
from memory_core.stores.postgres.state import Cursor, Tenant
from memory_core.stores.values import WindowCosine

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MOST_KEPT = 20_000  # windows of a tenant, 6 MB; of a larger one, nothing is kept


@dataclass(frozen=True, slots=True)
class TenantVectors:
    """The windows of one tenant at one moment, with their vectors.

    Attributes:
        places: For each window its chunk, its first and its last unit, shape (windows, 3).
        rows: For each window the place of its vector in `numbers`; windows without one are left out.
        numbers, factors: Each vector is the product of both; shapes (vectors, dimensions) and (vectors,).
        known: The place of each vector by its hash.
    """

    places: NDArray[np.int64]
    rows: NDArray[np.intp]
    numbers: NDArray[np.int8]
    factors: NDArray[np.float32]
    known: Mapping[bytes, int]

    def compare(self, vector: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the cosine of each window."""
        return multiply(self.numbers, self.factors, vector)[self.rows]

    def find_best(
        self, vector: NDArray[np.float32], *, depth: int, among: Collection[int] | None
    ) -> Iterable[tuple[int, float]]:
        """Yield the nearest chunks with the cosine of their best window: `depth` of them, and all that equal the last.

        Args:
            vector: Of unit length.
            depth: The number of chunks.
            among: The chunks that count; None for all.
        """
        import numpy as np

        cosines, chunks = self.compare(vector), self.places[:, 0]
        if among is not None:
            counts = np.isin(chunks, np.fromiter(among, np.int64, len(among)))
            cosines, chunks = cosines[counts], chunks[counts]
        yield from best_of_each(chunks, cosines, depth)

    def compare_chunks(self, vector: NDArray[np.float32], chunks: Collection[int]) -> list[WindowCosine]:
        """Return the cosines of the windows of some chunks."""
        import numpy as np

        asked = np.isin(self.places[:, 0], np.fromiter(chunks, np.int64, len(chunks)))
        rows = self.rows[asked]
        cosines = multiply(self.numbers[rows], self.factors[rows], vector).tolist()
        return [*map(WindowCosine, *self.places[asked].T.tolist(), cosines)]


class KeptVectors:
    """The vectors of the tenants of one process, as of the last search. Used from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: dict[int, tuple[tuple[int, int, int], TenantVectors]] = {}

    def load(self, cursor: Cursor, tenant: Tenant, space_id: int, dimensions: int) -> TenantVectors:
        """Return the vectors of a tenant in a space of int8, of which the server sends those that are new here."""
        with self._lock:
            state, held = self._kept.get(tenant.id, (None, None))
        now = (space_id, dimensions, tenant.generation)
        if held is not None and state == now:
            return held
        fresh = _load(cursor, tenant.id, space_id, dimensions, held if state and state[:2] == now[:2] else None)
        with self._lock:
            self._kept.pop(tenant.id, None)
            if len(fresh.places) <= MOST_KEPT:
                self._kept[tenant.id] = now, fresh
        return fresh


def best_of_each(chunks: NDArray[np.int64], cosines: NDArray[np.float32], depth: int) -> Iterable[tuple[int, float]]:
    """Yield `depth` chunks with the highest cosines of any of their windows, and all that equal the last of them."""
    import numpy as np

    distinct, place = np.unique(chunks, return_inverse=True)
    best = np.full(len(distinct), -np.inf, dtype=np.float32)
    np.maximum.at(best, place, cosines)
    if len(best) > depth:
        enough = best >= np.partition(best, len(best) - depth)[len(best) - depth]
        distinct, best = distinct[enough], best[enough]
    return zip(distinct.tolist(), best.tolist(), strict=True)


def multiply(
    numbers: NDArray[np.int8], factors: NDArray[np.float32], vector: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Return the cosine of each row with a vector. Equal rows have equal ones, wherever they stand: no BLAS."""
    import numpy as np

    found: NDArray[np.float32] = np.einsum("ij,j->i", numbers.astype(np.float32), vector) * factors
    return found


def unpack_rows(
    rows: Sequence[Sequence[Any]], dimensions: int
) -> tuple[NDArray[np.int8], NDArray[np.float32], NDArray[np.bool_]]:
    """Return the numbers and factors of stored vectors, and which of them are vectors: another tenant may hold anything.

    Args:
        rows: The columns `q` and `vectors.WIDE`.
        dimensions: Of the space.
    """
    import numpy as np

    empty = bytes(dimensions + INT8_FACTOR)
    blobs = [packed or (pack_wide([wide])[0] if wide else b"") for packed, wide in rows]
    whole = [len(blob) == len(empty) for blob in blobs]
    octets = b"".join(blob if fits else empty for blob, fits in zip(blobs, whole, strict=True))
    numbers, factors = split_int8(np.frombuffer(octets, np.uint8).reshape(-1, len(empty)))
    return numbers, factors, np.array(whole, dtype=np.bool_) & np.isfinite(factors)


def widen(rows: Sequence[Sequence[Any]]) -> NDArray[np.float32]:
    """Return one's own stored vectors, given as to `unpack_rows`, as float32."""
    import numpy as np

    if any(wide for _, wide in rows):
        return np.array([wide or widen([(packed, None)])[0] for packed, wide in rows], dtype=np.float32)
    if not rows:
        return np.zeros((0, 0), dtype=np.float32)
    return read_int8(np.frombuffer(b"".join(packed for packed, _ in rows), np.uint8).reshape(len(rows), -1))


def pack_wide(rows: Sequence[Sequence[float]]) -> list[bytes]:
    """Pack vectors that an older version has stored, of equal lengths."""
    import numpy as np

    return [*pack_int8(np.array(rows, dtype=np.float32))]


def _load(cursor: Cursor, tenant: int, space_id: int, dimensions: int, held: TenantVectors | None) -> TenantVectors:
    import numpy as np

    windows = cursor.execute(
        "SELECT chunk_id, first, last, hash FROM windows WHERE tenant_id = %s", (tenant,)
    ).fetchall()
    known: Mapping[bytes, int] = {} if held is None else held.known
    missing = list({row[3] for row in windows}.difference(known))
    wanted = "" if held is None else " AND hash = ANY (%(missing)s)"
    found = cursor.execute(
        "SELECT hash, q, coalesce(v::real[], h::vector::real[]) FROM embeddings WHERE tenant_id = %(tenant)s"
        f" AND space_id = %(space)s{wanted}".encode(),
        {"tenant": tenant, "space": space_id, "missing": missing},
    ).fetchall() if missing else []  # fmt: skip
    numbers, factors, usable = unpack_rows([row[1:] for row in found], dimensions)
    hashes = [row[0] for row, fits in zip(found, usable.tolist(), strict=True) if fits]
    numbers, factors = numbers[usable], factors[usable]
    if held is not None:
        kept = sorted({known[row[3]] for row in windows if row[3] in known})  # what was dropped since goes
        old = {place: number for number, place in enumerate(kept)}
        numbers, factors = np.concatenate([held.numbers[kept], numbers]), np.concatenate([held.factors[kept], factors])
        first = {key: old[place] for key, place in known.items() if place in old}
    else:
        first = {}
    known = first | {key: len(first) + number for number, key in enumerate(hashes)}
    here = [row for row in windows if row[3] in known]
    return TenantVectors(
        np.array([row[:3] for row in here], dtype=np.int64).reshape(-1, 3),
        np.array([known[row[3]] for row in here], dtype=np.intp),
        numbers,
        factors,
        known,
    )
