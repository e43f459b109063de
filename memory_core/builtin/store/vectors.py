"""Nearest windows of one vector space: an exact scan in memory, or vec0's bits first and exact scores after.

Up to `EXACT_BYTES` the float32 rows are scanned in memory; where they are many, their signs are scanned first. Above that
size, a vec0 bit column picks `OVERSAMPLE` candidates, which are scored exactly from their BLOBs. Without vec0 the exact scan
answers at any size.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from memory_core.builtin.store import meta
from memory_core.builtin.store.damage import check_cosines, stack_embeddings
from memory_core.config.settings import Vector
from memory_core.sqlite import Connection, load_vec0

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

VectorSearch = Literal["vec0", "exact", "off"]

EXACT_BYTES = 64 * 1024 * 1024  # 65,536 vectors of 256 dimensions, 10,922 of 1,536
# From this number of rows on, a scan of their signs picks the rows to score, SCREENED for each one wanted: it takes a third of
# the time, and recall@100 is .98 on real text.
SCREEN_FROM, SCREENED = 16_384, 20
OVERSAMPLE = 480  # recall@10 .996 on real text vectors
_MOST_EQUAL = 1000  # windows as near as the last one wanted: their texts differ in what a model does not see
_BITS_CHUNK = 128  # vec0 rows in a block: small indexes stay small, deletes stay cheap


@dataclass(frozen=True, slots=True)
class NearWindow:
    """A window's hash with the cosine of its embedding and the query."""

    hash: bytes
    cosine: float


@dataclass(frozen=True, slots=True)
class _Screen:
    """One bit for each dimension of many rows, set above the mean: in a cone all rows lie on one side of zero."""

    mean: NDArray[np.float32]
    words: NDArray[np.uint64]  # shape (ceil(dimensions / 64), n)

    @classmethod
    def of(cls, rows: NDArray[np.float32]) -> _Screen:
        import numpy as np

        mean = rows.mean(axis=0)
        return cls(mean, np.ascontiguousarray(_signs(rows, mean).T))

    def pick(self, query: NDArray[np.float32], count: int) -> NDArray[np.intp]:
        """Return the numbers of the rows that agree with the query in most dimensions; more than `count` if several tie."""
        import numpy as np

        differing = np.zeros(self.words.shape[1], dtype=np.uint16)
        for word, asked in zip(self.words, _signs(query[None], self.mean)[0], strict=True):
            differing += np.bitwise_count(word ^ asked)
        within = np.cumsum(np.bincount(differing))  # a third of the time of a partition, as the distances are few
        return np.flatnonzero(differing <= np.searchsorted(within, count))


@dataclass(frozen=True, slots=True)
class _Matrix:
    space_id: int
    generation: str
    hashes: Sequence[bytes]
    rows: NDArray[np.float32]
    screen: _Screen | None = None


class VectorIndex:
    """Finds the nearest windows; keeps vectors in memory. Used from several threads, each with a connection of its own."""

    def __init__(self, settings: Vector, *, exact_limit: int | None = None, screen_from: int = SCREEN_FROM) -> None:
        self._settings = settings
        self._exact_limit = exact_limit
        self._screen_from = screen_from
        self._matrix: _Matrix | None = None
        self._lock = threading.Lock()

    def find_problem(self, connection: Connection) -> str | None:
        """Return why vec0 cannot be used on this connection, with what to do; None when it can."""
        if not self._settings.enabled:
            return "memorySearch.store.vector.enabled is false"
        if connection.execute("SELECT 1 FROM pragma_module_list WHERE name = 'vec0'").get:
            return None
        return load_vec0(connection, self._settings.extension_path)

    def find_nearest(
        self, connection: Connection, space_id: int, query: NDArray[np.float32], limit: int
    ) -> list[NearWindow]:
        """Find the windows most similar to a query of unit length, best first; rows without direction are left out."""
        import numpy as np

        matrix = self._load_picked(connection, space_id, query) or self._load_all(connection, space_id, len(query))
        if not len(matrix.hashes):
            return []
        count = limit * SCREENED
        picked = matrix.screen.pick(query, count) if matrix.screen and count < len(matrix.rows) else None
        rows = matrix.rows if picked is None else matrix.rows.take(picked, axis=0)
        cosines = np.einsum("ij,j->i", rows, query)  # `@` wakes BLAS threads, which costs more than it saves
        limit = min(limit, len(cosines))
        least = np.partition(cosines, -limit)[-limit]
        best = np.flatnonzero(cosines >= least)[
            : limit + _MOST_EQUAL
        ]  # equals are not parted by the order of their rows
        best = best[np.argsort(-cosines[best], kind="stable")]
        check_cosines(cosines[best].tolist())
        numbers = best if picked is None else picked[best]
        return [
            NearWindow(matrix.hashes[i], cosine)
            for i, cosine in zip(numbers.tolist(), cosines[best].tolist(), strict=True)
            if cosine
        ]

    def describe(self, connection: Connection, space_id: int | None) -> tuple[VectorSearch, str | None]:
        """Return by what the vectors of a space are searched, and why not by vec0; None when they are.

        Args:
            connection: Of the index.
            space_id: The space that serves; None where none does.
        """
        if space_id is None:
            return "off", "there are no embeddings yet"
        problem = self.find_problem(connection)
        if problem is not None:
            return "exact", problem
        if meta.get_value(connection, meta.BITS_SPACE) == str(space_id):
            return "vec0", None
        dimensions = int(connection.execute("SELECT dimensions FROM spaces WHERE id = ?", (space_id,)).get)
        if dimensions % 8:
            return "exact", f"vec0 packs whole bytes, and {dimensions} dimensions are none"
        if self._is_large(connection, space_id):
            return "exact", "the next sync that changes something makes the table of vec0"
        return (
            "exact",
            f"vec0 searches more than {self._find_limit(dimensions):,} embeddings; fewer are compared one by one",
        )

    def update_bits(self, connection: Connection, space_id: int) -> None:
        """Add what the bit column lacks of the space, or drop the column of another one, inside a write transaction."""
        have = meta.get_value(connection, meta.BITS_SPACE)
        large = have == str(space_id) or self._is_large(connection, space_id)
        if (have is None and not large) or self.find_problem(connection) is not None:
            return  # without vec0 an existing column stays: `_load_picked` scores the newer rows exactly
        if have is not None and have != str(space_id):
            connection.execute("DROP TABLE IF EXISTS chunks_vec")
            meta.set_values(connection, {meta.BITS_SPACE: None, meta.BITS_LAST: None})
            have = None
        if large:
            _fill_bits(connection, space_id, create=have is None)

    def forget(self, connection: Connection, ids: Sequence[int]) -> None:
        """Drop the bits of embeddings that were deleted, inside a write transaction; without vec0 they find nothing anyway."""
        if ids and meta.get_value(connection, meta.BITS_SPACE) is not None and self.find_problem(connection) is None:
            connection.executemany("DELETE FROM chunks_vec WHERE rowid = ?", ((number,) for number in ids))

    def _is_large(self, connection: Connection, space_id: int) -> bool:
        dimensions = int(connection.execute("SELECT dimensions FROM spaces WHERE id = ?", (space_id,)).get)
        if dimensions % 8:
            return False  # vec0 packs whole bytes only, so that the exact scan answers
        limit = self._find_limit(dimensions)
        counted = connection.execute(
            "SELECT count(*) FROM (SELECT 1 FROM embedding_cache WHERE space_id = ? LIMIT ?)", (space_id, limit + 1)
        ).get
        return int(counted) > limit

    def _find_limit(self, dimensions: int) -> int:
        return EXACT_BYTES // (4 * max(dimensions, 1)) if self._exact_limit is None else self._exact_limit

    def _load_picked(self, connection: Connection, space_id: int, query: NDArray[np.float32]) -> _Matrix | None:
        """Load the candidates that vec0 picks, and rows newer than its column; None when there is no column of this space."""
        if meta.get_value(connection, meta.BITS_SPACE) != str(space_id) or self.find_problem(connection) is not None:
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
                "last": int(meta.get_value(connection, meta.BITS_LAST) or 0),
            },
        ).fetchall()
        return _matrix(space_id, "", rows, dimensions=len(query))

    def _load_all(self, connection: Connection, space_id: int, dimensions: int) -> _Matrix:
        generation = meta.read_generation(connection)
        with self._lock:
            held = self._matrix
        if held is not None and (held.space_id, held.generation) == (space_id, generation):
            return held
        rows = connection.execute(
            "SELECT hash, embedding FROM embedding_cache e WHERE space_id = ?"
            " AND EXISTS (SELECT 1 FROM windows w WHERE w.hash = e.hash)",
            (space_id,),
        ).fetchall()
        screened = len(rows) >= self._screen_from
        loaded = _matrix(space_id, generation, rows, dimensions=dimensions, screened=screened)
        with self._lock:
            self._matrix = loaded
        return loaded


def find_vec0_problem(settings: Vector) -> str | None:
    """Return why vec0 cannot be used on this machine, with what to do; None when it can."""
    with closing(Connection(":memory:")) as connection:
        return VectorIndex(settings).find_problem(connection)


def _matrix(
    space_id: int, generation: str, found: Sequence[tuple[Any, ...]], *, dimensions: int, screened: bool = False
) -> _Matrix:
    rows = stack_embeddings([row[1] for row in found], dimensions)
    return _Matrix(space_id, generation, [row[0] for row in found], rows, _Screen.of(rows) if screened else None)


def _signs(rows: NDArray[np.float32], mean: NDArray[np.float32]) -> NDArray[np.uint64]:
    """Return one bit for each dimension, padded with zeros to whole words, shape (n, ceil(dimensions / 64))."""
    import numpy as np

    packed = np.packbits(rows > mean, axis=1)
    return np.pad(packed, ((0, 0), (0, -packed.shape[1] % 8))).view(np.uint64)


def _fill_bits(connection: Connection, space_id: int, *, create: bool) -> None:
    if create:
        sample = connection.execute(
            "SELECT length(embedding) FROM embedding_cache WHERE space_id = ? LIMIT 1", (space_id,)
        ).get
        dimensions = int(sample) // 4
        connection.execute(
            f"CREATE VIRTUAL TABLE chunks_vec USING vec0 (embedding bit[{dimensions}], chunk_size={_BITS_CHUNK})"
        )
    last = int(meta.get_value(connection, meta.BITS_LAST) or 0)
    connection.execute(
        "INSERT INTO chunks_vec (rowid, embedding) SELECT id, vec_quantize_binary(embedding) FROM embedding_cache"
        " WHERE space_id = ? AND id > ?",  # no ORDER BY: a sorter drops the subtype by which vec0 knows bits
        (space_id, last),
    )
    newest = connection.execute("SELECT max(id) FROM embedding_cache").get
    meta.set_values(connection, {meta.BITS_SPACE: str(space_id), meta.BITS_LAST: str(newest)})
