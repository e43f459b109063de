"""Nearest windows of one vector space: an exact scan in memory, or vec0's bits first and exact scores after.

Up to `EXACT_BYTES` the float32 rows are scanned in memory; where they are many, their signs before. Above, a
vec0 bit column picks `OVERSAMPLE` candidates, which are scored exactly from their BLOBs. Without vec0 the exact scan
answers at any size.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from memory_core.settings import Vector
from memory_core.store.connection import Connection, load_vec0

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

EXACT_BYTES = 64 * 1024 * 1024  # 65,536 vectors of 256 dimensions, 10,922 of 1,536
# From so many rows on, a scan of their signs picks the rows that are scored, SCREENED times as many as are wanted: in a third
# of the time, recall@100 is .98 on real text.
SCREEN_FROM, SCREENED = 16_384, 20
OVERSAMPLE = 480  # recall@10 .996 on real text vectors
_BITS_CHUNK = 128  # vec0 rows a block: small indexes stay small, deletes stay cheap
_BITS_SPACE, _BITS_LAST = "bits_space", "bits_last"  # meta: which space the bits are of, and the last row among them


@dataclass(frozen=True, slots=True)
class Near:
    """A window's hash with the cosine of its embedding to the query."""

    hash: bytes
    cosine: float


@dataclass(frozen=True, slots=True)
class _Screen:
    """One bit a dimension of many rows: whether it lies above the mean, from which rows of a cone differ both ways."""

    mean: NDArray[np.float32]
    words: NDArray[np.uint64]  # shape (ceil(dimensions / 64), n)

    @classmethod
    def of(cls, rows: NDArray[np.float32]) -> _Screen:
        import numpy as np

        mean = rows.mean(axis=0)
        return cls(mean, np.ascontiguousarray(_signs(rows, mean).T))

    def best(self, query: NDArray[np.float32], count: int) -> NDArray[np.intp]:
        """The numbers of the rows that agree with the query in most dimensions; more than `count` where several agree alike."""
        import numpy as np

        differing = np.zeros(self.words.shape[1], dtype=np.uint16)
        for word, asked in zip(self.words, _signs(query[None], self.mean)[0], strict=True):
            differing += np.bitwise_count(word ^ asked)
        within = np.cumsum(np.bincount(differing))  # so few distances are counted in a third of the time of a partition
        return np.flatnonzero(differing <= np.searchsorted(within, count))


@dataclass(frozen=True, slots=True)
class _Matrix:
    space_id: int
    generation: str
    hashes: Sequence[bytes]
    rows: NDArray[np.float32]
    screen: _Screen | None = None


class VectorIndex:
    """Finds the nearest windows, keeping what it may in memory. Used from several threads, each with its own connection."""

    def __init__(self, settings: Vector, *, exact_limit: int | None = None, screen_from: int = SCREEN_FROM) -> None:
        self._settings = settings
        self._exact_limit = exact_limit
        self._screen_from = screen_from
        self._matrix: _Matrix | None = None
        self._lock = threading.Lock()

    def unavailable_reason(self, connection: Connection) -> str | None:
        """Why vec0 cannot be used on this connection; None when it can."""
        if not self._settings.enabled:
            return "memorySearch.store.vector.enabled is false"
        if connection.execute("SELECT 1 FROM pragma_module_list WHERE name = 'vec0'").get:
            return None
        return load_vec0(connection, self._settings.extension_path)

    def nearest(self, connection: Connection, space_id: int, query: NDArray[np.float32], limit: int) -> list[Near]:
        """The windows most similar to a query of unit length, best first; rows without direction are left out."""
        import numpy as np

        matrix = self._from_bits(connection, space_id, query) or self._whole(connection, space_id)
        if not len(matrix.hashes):
            return []
        count = limit * SCREENED
        picked = matrix.screen.best(query, count) if matrix.screen and count < len(matrix.rows) else None
        rows = matrix.rows if picked is None else matrix.rows.take(picked, axis=0)
        cosines = np.einsum("ij,j->i", rows, query)  # `@` wakes BLAS threads, which costs more than it saves
        limit = min(limit, len(cosines))
        best = np.argpartition(-cosines, limit - 1)[:limit]
        best = best[np.argsort(-cosines[best], kind="stable")]
        numbers = best if picked is None else picked[best]
        return [
            Near(matrix.hashes[i], cosine)
            for i, cosine in zip(numbers.tolist(), cosines[best].tolist(), strict=True)
            if cosine
        ]

    def level_bits(self, connection: Connection, space_id: int) -> None:
        """Inside a write transaction: bring the bit column level with the space, or drop it where it is not needed."""
        have = _meta(connection, _BITS_SPACE)
        large = have == str(space_id) or self._is_large(connection, space_id)
        if (have is None and not large) or self.unavailable_reason(connection) is not None:
            return  # without vec0 an existing column stays: `_from_bits` scores the newer rows exactly
        if have is not None and have != str(space_id):
            connection.execute("DROP TABLE IF EXISTS chunks_vec")
            connection.execute("DELETE FROM meta WHERE key IN (?, ?)", (_BITS_SPACE, _BITS_LAST))
            have = None
        if large:
            _fill_bits(connection, space_id, create=have is None)

    def forget(self, connection: Connection, ids: Sequence[int]) -> None:
        """Inside a write transaction: drop the bits of embeddings that went. Where vec0 is missing they find nothing anyway."""
        if ids and _meta(connection, _BITS_SPACE) is not None and self.unavailable_reason(connection) is None:
            connection.executemany("DELETE FROM chunks_vec WHERE rowid = ?", ((number,) for number in ids))

    def _is_large(self, connection: Connection, space_id: int) -> bool:
        dimensions = int(connection.execute("SELECT dimensions FROM spaces WHERE id = ?", (space_id,)).get)
        if dimensions % 8:
            return False  # vec0 packs whole bytes only, so that the exact scan answers
        limit = EXACT_BYTES // (4 * max(dimensions, 1)) if self._exact_limit is None else self._exact_limit
        counted = connection.execute(
            "SELECT count(*) FROM (SELECT 1 FROM embedding_cache WHERE space_id = ? LIMIT ?)", (space_id, limit + 1)
        ).get
        return int(counted) > limit

    def _from_bits(self, connection: Connection, space_id: int, query: NDArray[np.float32]) -> _Matrix | None:
        """The candidates that vec0 picks, with rows newer than its column; None when there is no column of this space."""
        if _meta(connection, _BITS_SPACE) != str(space_id) or self.unavailable_reason(connection) is not None:
            return None
        rows = connection.execute(
            "WITH near AS MATERIALIZED ("
            " SELECT rowid FROM chunks_vec WHERE embedding MATCH vec_quantize_binary(:query) AND k = :k)"
            " SELECT e.hash, e.embedding FROM near JOIN embedding_cache e ON e.id = near.rowid"
            " WHERE EXISTS (SELECT 1 FROM windows w WHERE w.hash = e.hash)"
            " UNION ALL SELECT hash, embedding FROM embedding_cache e WHERE id > :last"
            " AND +space_id = :space"  # the + keeps it off the index of spaces, which would be read whole
            " AND EXISTS (SELECT 1 FROM windows w WHERE w.hash = e.hash)",
            {
                "query": query.tobytes(),
                "k": OVERSAMPLE,
                "space": space_id,
                "last": int(_meta(connection, _BITS_LAST) or 0),
            },
        ).fetchall()
        return _matrix(space_id, "", rows)

    def _whole(self, connection: Connection, space_id: int) -> _Matrix:
        generation = _meta(connection, "generation") or "0"
        with self._lock:
            held = self._matrix
        if held is not None and (held.space_id, held.generation) == (space_id, generation):
            return held
        rows = connection.execute(
            "SELECT hash, embedding FROM embedding_cache e WHERE space_id = ?"
            " AND EXISTS (SELECT 1 FROM windows w WHERE w.hash = e.hash)",
            (space_id,),
        ).fetchall()
        loaded = _matrix(space_id, generation, rows, screened=len(rows) >= self._screen_from)
        with self._lock:
            self._matrix = loaded
        return loaded


def as_rows(blobs: Sequence[bytes]) -> NDArray[np.float32]:
    """Stored embeddings of one space as a matrix, shape (n, dimensions)."""
    import numpy as np

    if not blobs:
        return np.zeros((0, 0), dtype=np.float32)
    return np.frombuffer(b"".join(blobs), dtype="<f4").reshape(len(blobs), -1)


def _matrix(space_id: int, generation: str, found: Sequence[tuple[Any, ...]], *, screened: bool = False) -> _Matrix:
    rows = as_rows([row[1] for row in found])
    return _Matrix(space_id, generation, [row[0] for row in found], rows, _Screen.of(rows) if screened else None)


def _signs(rows: NDArray[np.float32], mean: NDArray[np.float32]) -> NDArray[np.uint64]:
    """One bit a dimension, padded with zeros to whole words, shape (n, ceil(dimensions / 64))."""
    import numpy as np

    packed = np.packbits(rows > mean, axis=1)
    return np.pad(packed, ((0, 0), (0, -packed.shape[1] % 8))).view(np.uint64)


def _meta(connection: Connection, key: str) -> str | None:
    return cast("str | None", connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).get)


def _fill_bits(connection: Connection, space_id: int, *, create: bool) -> None:
    if create:
        sample = connection.execute(
            "SELECT length(embedding) FROM embedding_cache WHERE space_id = ? LIMIT 1", (space_id,)
        ).get
        dimensions = int(sample) // 4
        connection.execute(
            f"CREATE VIRTUAL TABLE chunks_vec USING vec0 (embedding bit[{dimensions}], chunk_size={_BITS_CHUNK})"
        )
    last = int(_meta(connection, _BITS_LAST) or 0)
    connection.execute(
        "INSERT INTO chunks_vec (rowid, embedding) SELECT id, vec_quantize_binary(embedding) FROM embedding_cache"
        " WHERE space_id = ? AND id > ?",  # no ORDER BY: a sorter drops the subtype by which vec0 knows bits
        (space_id, last),
    )
    newest = connection.execute("SELECT max(id) FROM embedding_cache").get
    for key, value in ((_BITS_SPACE, space_id), (_BITS_LAST, newest)):
        connection.execute(
            "INSERT INTO meta VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value", (key, str(value))
        )
