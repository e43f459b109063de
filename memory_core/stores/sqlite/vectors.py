"""Nearest windows of one vector space: compared one by one while they are few, else after a choice by their signs.

Up to `EXACT_BYTES` of float32, all rows are kept in memory. Where they are many they stay there as they are stored, and their
signs pick those that are compared. Above that, only signs are kept, 32 times smaller than float32: they pick candidates, which
are read from their BLOBs and compared exactly. A vec0 table keeps these bits in the index, so that a process begins with a read
of some megabytes; where there is none, with a read of all vectors.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import accumulate, islice
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast

from memory_core.config.settings import Vector
from memory_core.stores.sqlite import PAGE_SIZE, Connection, load_vec0, meta
from memory_core.stores.sqlite.damage import check_cosines
from memory_core.stores.sqlite.encoding import RowLayout, unpack_embeddings
from memory_core.stores.sqlite.hashes import Hashes, join_hashes
from memory_core.stores.sqlite.shared_rows import SharedRows
from memory_core.stores.sqlite.signs import Signs, find_alike, pack, to_words

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

VectorSearch = Literal["vec0", "signs", "exact", "off"]

EXACT_BYTES = 64 * 1024 * 1024  # 65,536 vectors of 256 dimensions, 10,922 of 1,536
# From this number of rows in memory on, a scan of their signs picks the rows to compare, SCREENED for each one wanted: it takes
# a third of the time, and recall@100 is .98 on real text.
SCREEN_FROM, SCREENED = 16_384, 20
_MEAN_OF = 4096  # rows, about
_JOINED = 256  # embeddings that are made one piece at a time, while the processor has them at hand
_MOST_EQUAL = 1000  # windows as near as the last one wanted: their texts differ in what a model does not see
CANDIDATES = 600  # that are compared exactly, or four for each one wanted; see signs.py
_READ_ROWS = 4096  # vectors in memory at once where signs are made of them
_SAME_FILE = 10_000 * meta.LONGEST_STEP  # changes of content, from a number that is random for each new file
_MOST_NEW = 2_000  # rows that are read one by one into a matrix that is held
# The + keeps it off the index, in whose order the rows would be read from all over the file.
_USED_EMBEDDINGS = "embedding_cache WHERE +space_id = ? AND hash IN (SELECT hash FROM windows)"
_USED = "SELECT DISTINCT hash FROM windows w WHERE hash > :last"
_EMBEDDED = " AND EXISTS (SELECT 1 FROM embedding_cache e WHERE e.space_id = :space AND e.hash = w.hash)"
_READ_HASHES = 2048  # in one step: as objects, all hashes of a matrix would take a third of its memory
_PAGE_HEADER, _ROW_HEADER = 16, 16  # bytes, about
_BLOCK_STEP = 8  # which vec0 asks for
_MOST_ROWS = 128  # of vec0 in a block: small indexes stay small, deletes stay cheap


class NearWindow(NamedTuple):  # a search makes a hundred: the cheapest kind of record
    """A window's hash with the cosine of its embedding and the query."""

    hash: bytes
    cosine: float


@dataclass(frozen=True, slots=True)
class _Screen:
    """One bit for each dimension of many rows, set above the mean: in a cone all rows lie on one side of zero."""

    mean: NDArray[np.float32]
    words: NDArray[np.uint64]  # shape (ceil(dimensions / 64), n)

    @classmethod
    def of(cls, rows: SharedRows) -> _Screen:
        import numpy as np

        mean = rows.take(np.arange(0, len(rows), max(len(rows) // _MEAN_OF, 1))).mean(axis=0)
        return cls(mean, to_words(np.concatenate([pack(step, above=mean) for step in rows.steps()])))

    def pick(self, query: NDArray[np.float32], count: int) -> NDArray[np.intp]:
        """Return the numbers of the rows that agree with the query in most dimensions; more than `count` if several tie."""
        return find_alike(self.words, query - self.mean, count)


@dataclass(frozen=True, slots=True)
class _Matrix:
    space_id: int
    generation: str
    hashes: Hashes
    rows: SharedRows
    screen: _Screen | None = None


@dataclass(frozen=True, slots=True)
class _HeldSigns:
    space_id: int
    generation: int
    signs: Signs


class VectorIndex:
    """Finds the nearest windows; keeps vectors in memory. Used from several threads, each with a connection of its own."""

    def __init__(self, settings: Vector, *, exact_limit: int | None = None, screen_from: int = SCREEN_FROM) -> None:
        self._settings = settings
        self._screen_from = screen_from
        self._exact_limit = exact_limit
        self._matrix: _Matrix | None = None
        self._signs: _HeldSigns | None = None
        self._lock = threading.Lock()

    def fork(self) -> VectorIndex:
        """Return an index of vectors for a copy of the index file, which begins with what this one keeps in memory."""
        copy = VectorIndex(self._settings, exact_limit=self._exact_limit, screen_from=self._screen_from)
        with self._lock:
            copy._matrix, copy._signs = self._matrix, self._signs
        return copy

    def forget_all(self) -> None:
        """Drop what is kept in memory."""
        with self._lock:
            self._matrix = self._signs = None

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

        if self._is_large(connection, space_id):
            matrix = self._load_candidates(connection, space_id, query, limit)
        else:
            matrix = self._load_all(connection, space_id, len(query))
        if not len(matrix.hashes):
            return []
        count = limit * SCREENED
        picked = matrix.screen.pick(query, count) if matrix.screen and count < len(matrix.rows) else None
        cosines = matrix.rows.compare(query, picked)
        limit = min(limit, len(cosines))
        least = np.partition(cosines, -limit)[-limit]
        # Equals are not parted by the order of their rows.
        best = np.flatnonzero(cosines >= least)[: limit + _MOST_EQUAL]
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
        if self._is_large(connection, space_id):
            if problem is None and meta.get_value(connection, meta.BITS_SPACE) == str(space_id):
                return "vec0", None
            return "signs", problem or self._explain_no_table(connection, space_id)
        dimensions = _get_dimensions(connection, space_id)
        few = f"all are compared; vec0 chooses first where there are more than {self._find_limit(dimensions):,}"
        return "exact", problem or few

    def _explain_no_table(self, connection: Connection, space_id: int) -> str:
        dimensions = _get_dimensions(connection, space_id)
        if dimensions % 8:
            return f"vec0 packs whole bytes, and {dimensions} dimensions are none"
        return "the next sync that changes something makes the table of vec0"

    def update_bits(self, connection: Connection, space_id: int) -> None:
        """Add what the bit column lacks of the space, or drop the column of another one, inside a write transaction."""
        have = meta.get_value(connection, meta.BITS_SPACE)
        packs = _get_dimensions(connection, space_id) % 8 == 0
        large = have == str(space_id) or (packs and self._is_large(connection, space_id))
        if (have is None and not large) or self.find_problem(connection) is not None:
            return  # without vec0 an existing column stays: `_grow` reads the newer rows
        if have is not None and (have != str(space_id) or not _fits(connection, space_id)):
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
        limit = self._find_limit(_get_dimensions(connection, space_id))
        with self._lock:
            held, matrix = self._signs, self._matrix
        if held is not None and held.space_id == space_id and len(held.signs.ids) > 2 * limit:
            return True  # most of them are there still
        if matrix is not None and (matrix.space_id, matrix.generation) == (space_id, meta.read_generation(connection)):
            return len(matrix.hashes) > limit
        counted = connection.execute(
            "SELECT count(*) FROM (SELECT 1 FROM embedding_cache WHERE space_id = ? LIMIT ?)", (space_id, limit + 1)
        ).get
        return int(counted) > limit

    def _find_limit(self, dimensions: int) -> int:
        return EXACT_BYTES // (4 * max(dimensions, 1)) if self._exact_limit is None else self._exact_limit

    def _load_candidates(
        self, connection: Connection, space_id: int, query: NDArray[np.float32], limit: int
    ) -> _Matrix:
        """Load the vectors that their signs pick; more where many of these belong to texts that no note holds any more."""
        signs = self._load_signs(connection, space_id, len(query))
        wanted = count = max(CANDIDATES, 4 * limit)
        while True:
            ids = signs.pick(query, count)
            rows = connection.execute(
                f"SELECT hash, embedding FROM embedding_cache e WHERE id IN ({','.join(map(str, ids.tolist()))})"
                " AND EXISTS (SELECT 1 FROM windows w WHERE w.hash = e.hash)"
            ).fetchall()
            if len(rows) >= wanted // 2 or count >= len(signs.ids):
                return _matrix(space_id, "", rows, dimensions=len(query))
            count *= 4

    def _load_signs(self, connection: Connection, space_id: int, dimensions: int) -> Signs:
        generation = int(meta.read_generation(connection))
        with self._lock:
            held = self._signs
        if held is not None and held.space_id == space_id and _is_same_file(held.generation, generation):
            signs = held.signs
        else:
            signs = _read_bits(connection, space_id, dimensions)
        signs = _grow(connection, space_id, signs)
        with self._lock:
            self._signs, self._matrix = _HeldSigns(space_id, generation, signs), None
        return signs

    def _load_all(self, connection: Connection, space_id: int, dimensions: int) -> _Matrix:
        generation = meta.read_generation(connection)
        with self._lock:
            held = self._matrix
        if held is not None and (held.space_id, held.generation) == (space_id, generation):
            return held
        loaded = None
        if held is not None and held.space_id == space_id and _is_same_file(int(held.generation), int(generation)):
            loaded = self._update_matrix(connection, held, generation, dimensions)
        if loaded is None:
            rows = connection.execute(f"SELECT hash, embedding FROM {_USED_EMBEDDINGS}", (space_id,))
            loaded = _matrix(space_id, generation, rows, dimensions=dimensions, screen_from=self._screen_from)
        with self._lock:
            self._matrix, self._signs = loaded, None
        return loaded

    def _update_matrix(self, connection: Connection, held: _Matrix, generation: str, dimensions: int) -> _Matrix | None:
        """Return a matrix of another generation, of which only the new rows are read.

        None where these are many, or all are to be held in another way.
        """
        import numpy as np

        if not len(held.hashes):
            return None
        # The second is slower, and asked only where many windows have no embedding yet.
        for condition in ("", _EMBEDDED):
            hashes = _read_used(connection, held.space_id, condition)
            numbers = held.hashes.find(hashes)
            known = numbers >= 0
            new = [hashes[number] for number in np.flatnonzero(~known).tolist()]
            if len(new) <= _MOST_NEW:
                break
        else:
            return None
        query = "SELECT embedding FROM embedding_cache WHERE space_id = ? AND hash = ?"
        embedded = [(key, connection.execute(query, (held.space_id, key)).get) for key in new]
        read = [(key, cast("bytes", blob)) for key, blob in embedded if blob is not None]
        hashes = hashes.choose(known, [key for key, _ in read])
        numbers = numbers[known]
        blobs = [blob for _, blob in read]
        layout, screen = held.rows.layout, held.screen
        if (len(hashes) < self._screen_from) != (screen is None) or (layout and {*map(len, blobs)} - {layout.length}):
            return None
        more = unpack_embeddings(blobs, dimensions)
        rows = held.rows.choose(numbers, more if layout is None else layout.read(b"".join(blobs)))
        if screen is not None:
            words = to_words(pack(more, above=screen.mean)) if read else screen.words[:, :0]
            screen = _Screen(screen.mean, np.concatenate([screen.words.take(numbers, axis=1), words], axis=1))
        return _Matrix(held.space_id, generation, hashes, rows, screen)


def find_vec0_problem(settings: Vector) -> str | None:
    """Return why vec0 cannot be used on this machine, with what to do; None when it can."""
    with closing(Connection(":memory:")) as connection:
        return VectorIndex(settings).find_problem(connection)


def _matrix(
    space_id: int,
    generation: str,
    found: Iterable[tuple[Any, ...]],
    *,
    dimensions: int,
    screen_from: int | None = None,
) -> _Matrix:
    """Make a matrix of hashes and embeddings; with a screen from a number of rows on, where rows stay as they are stored."""
    joined, octets = bytearray(), bytearray()
    lengths: list[int] = []
    unread = iter(found)
    while step := [*islice(unread, _JOINED)]:
        keys, blobs = zip(*step, strict=True)
        joined += join_hashes(keys)
        octets += b"".join(blobs)
        lengths += map(len, blobs)
    hashes = Hashes(bytes(joined))
    screened = screen_from is not None and len(hashes) >= screen_from
    layout = RowLayout.find({*lengths}, dimensions)
    if layout is None:
        pieces = [bytes(octets[end - length : end]) for length, end in zip(lengths, accumulate(lengths), strict=True)]
        rows = SharedRows(unpack_embeddings(pieces, dimensions))
    elif screened:
        rows = SharedRows(layout.read(octets), layout=layout)
    else:
        rows = SharedRows(layout.widen(layout.read(octets)))
    return _Matrix(space_id, generation, hashes, rows, _Screen.of(rows) if screened else None)


def _read_used(connection: Connection, space_id: int, condition: str) -> Hashes:
    """Read the hashes of all windows that meet a condition, a part at a time."""
    query = f"{_USED}{condition} ORDER BY hash LIMIT {_READ_HASHES}"
    joined, last = bytearray(), b""
    while True:
        found = connection.execute(query, {"last": last, "space": space_id}).get  # the values alone, without tuples
        step = cast("list[bytes]", found if isinstance(found, list) else [] if found is None else [found])
        joined += join_hashes(step)
        if len(step) < _READ_HASHES:
            return Hashes(bytes(joined))
        last = step[-1]


def _is_same_file(held: int, generation: int) -> bool:
    """Return True if a generation has been counted on from another one, and does not begin with a random number of its own."""
    return 0 <= generation - held < _SAME_FILE


def _get_dimensions(connection: Connection, space_id: int) -> int:
    return int(connection.execute("SELECT dimensions FROM spaces WHERE id = ?", (space_id,)).get)


def _read_bits(connection: Connection, space_id: int, dimensions: int) -> Signs:
    """Read the bits of a space from the tables in which vec0 keeps them, which takes no vec0; none where it keeps others."""
    import numpy as np

    signs = Signs.empty(dimensions)
    if meta.get_value(connection, meta.BITS_SPACE) != str(space_id):
        return signs
    rows = connection.execute(
        "SELECT c.validity, c.rowids, v.vectors FROM chunks_vec_chunks c"
        " JOIN chunks_vec_vector_chunks00 v ON v.rowid = c.chunk_id"
    )
    blobs = cast("list[tuple[bytes, bytes, bytes]]", rows.fetchall())
    if not blobs:
        return signs
    valid, ids, bits = map(b"".join, zip(*blobs, strict=True))
    used = np.unpackbits(np.frombuffer(valid, np.uint8), bitorder="little").astype(bool)
    octets = np.frombuffer(bits, np.uint8).reshape(len(used), -1)
    last = int(meta.get_value(connection, meta.BITS_LAST) or 0)
    return signs.add(np.frombuffer(ids, "<i8")[used], to_words(octets[used]), last)


def _grow(connection: Connection, space_id: int, signs: Signs) -> Signs:
    """Add the signs of newer vectors."""
    import numpy as np

    newest = int(connection.execute("SELECT coalesce(max(id), 0) FROM embedding_cache").get)
    ids: list[NDArray[np.int64]] = []
    words: list[NDArray[np.uint64]] = []
    if signs.last < newest:
        for rows in _read_embeddings(connection, space_id, signs.last):
            ids.append(np.array([row[0] for row in rows], np.int64))
            words.append(to_words(pack(unpack_embeddings([row[1] for row in rows], signs.dimensions))))
    if ids:
        return signs.add(np.concatenate(ids), np.concatenate(words, axis=1), newest)
    return signs if signs.last >= newest else replace(signs, last=newest)


def _read_embeddings(connection: Connection, space_id: int, last: int) -> Iterator[Sequence[tuple[int, bytes]]]:
    """Yield (id, embedding) of the embeddings of a space behind an id, in steps."""
    while True:
        found = connection.execute(
            "SELECT id, embedding FROM embedding_cache WHERE id > ?"
            " AND +space_id = ? ORDER BY id LIMIT ?",  # the + keeps it off the index of spaces, which would be read whole
            (last, space_id, _READ_ROWS),
        ).fetchall()
        rows = cast("list[tuple[int, bytes]]", found)
        if rows:
            yield rows
        if len(rows) < _READ_ROWS:
            return
        last = rows[-1][0]


def choose_block(dimensions: int) -> int:
    """Return in blocks of how many rows vec0 keeps bits: those that leave the least of the pages empty."""

    def count_pages(rows: int) -> float:  # for one row
        size = rows * dimensions // 8 + _ROW_HEADER
        together = (PAGE_SIZE - _PAGE_HEADER) // size
        return (1 / together if together else math.ceil(size / PAGE_SIZE)) / rows

    return min(range(_MOST_ROWS, 0, -_BLOCK_STEP), key=count_pages)


def _fits(connection: Connection, space_id: int) -> bool:
    """Return False if an older version chose another size for the blocks of vec0."""
    held = connection.execute("SELECT size FROM chunks_vec_chunks LIMIT 1").get
    return held is None or int(held) == choose_block(_get_dimensions(connection, space_id))


def _fill_bits(connection: Connection, space_id: int, *, create: bool) -> None:
    dimensions = _get_dimensions(connection, space_id)
    if create:
        connection.execute(
            f"CREATE VIRTUAL TABLE chunks_vec USING vec0 (embedding bit[{dimensions}], chunk_size={choose_block(dimensions)})"
        )
    last = int(meta.get_value(connection, meta.BITS_LAST) or 0)
    for rows in _read_embeddings(connection, space_id, last):
        octets = pack(unpack_embeddings([row[1] for row in rows], dimensions))
        connection.executemany(
            "INSERT INTO chunks_vec (rowid, embedding) VALUES (?, vec_bit(?))",
            [(row[0], bits.tobytes()) for row, bits in zip(rows, octets, strict=True)],
        )
    newest = connection.execute("SELECT max(id) FROM embedding_cache").get
    meta.set_values(connection, {meta.BITS_SPACE: str(space_id), meta.BITS_LAST: str(newest)})
