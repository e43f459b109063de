"""The index file of one agent: SQLite with FTS5 and sqlite-vec. Derived from the notes, disposable, one writer at a time."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Generator, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import KW_ONLY, dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from memory_core.config.settings import Vector
from memory_core.errors import MemoryCoreError, StoreCorrupt
from memory_core.records import Space
from memory_core.stores.sqlite import upkeep
from memory_core.stores.sqlite.connections import INDEX, REBUILD, Connection, open_reader, translate_errors
from memory_core.stores.sqlite.database import NO_TEXT, Database, PrivateDatabase
from memory_core.stores.sqlite.encoding import DamagedRow
from memory_core.stores.sqlite.files import delete_files, hold_lock, identify, needs_check, set_aside
from memory_core.stores.sqlite.reader import SqliteReader
from memory_core.stores.sqlite.upkeep import (
    IndexDatabase,
    may_replace,
    remove_obstacles,
    replace_index,
)
from memory_core.stores.sqlite.vectors import VectorIndex
from memory_core.stores.sqlite.writer import SqliteWriter
from memory_core.stores.values import DIGEST_BYTES, EmbeddedWindows

if TYPE_CHECKING:
    from memory_core.embeddings.vectors import Row

log = logging.getLogger(__name__)

_SAVED_TOGETHER = 1000  # embeddings of a damaged index that are committed in one transaction
MOST_TRIED = 200_000  # ids in the middle of a damaged table that are tried one by one
_MOST_DEVIATION = 1e-3  # of the length of a vector from 1, by rounding
_FACTOR_BYTES = 4  # behind the numbers of a row of int8, of an older schema
_COLUMNS = "SELECT id, space_id, hash, embedding FROM embedding_cache"

_Row: TypeAlias = tuple[object, ...]


class SavedEmbedding(NamedTuple):
    """A sound embedding of a damaged or older index, by the hash of its text; with the signs of its tokens if it has some."""

    space: Space
    hash: bytes
    row: Row
    bits: bytes | None


@dataclass(eq=False)
class SqliteStore:
    """One index file. The constructor opens nothing.

    Args:
        path: The index file.
        writable: False opens the file for reading only and never makes or changes it.
        vectors: Finds nearest windows.
        in_own_folder: Folder and name of the file are ours alone, so that a file without a header there is a damaged index.
        timezone: See `SqliteReader`.

    Attributes:
        database: The connections to the file.
    """

    path: Path
    _: KW_ONLY
    writable: bool = True
    vectors: VectorIndex = VectorIndex(Vector())  # noqa: RUF009 -- frozen
    in_own_folder: bool = False
    timezone: str | None = None

    def __post_init__(self) -> None:
        self.database: Database = IndexDatabase(self.path, writable=self.writable)

    @property
    def separate(self) -> str:
        """See `stores.interface.Store`."""
        return "run: memory-core index; for an index each, put {workspaceKey} into memorySearch.store.path"

    @contextlib.contextmanager
    def read(self) -> Iterator[SqliteReader]:
        """See `stores.interface.Store`."""
        with self._tell_of_repair(), self.database.read() as connection, _translate_rows(self.path):
            yield SqliteReader(connection, self.vectors, self.timezone)

    @contextlib.contextmanager
    def _tell_of_repair(self) -> Iterator[None]:
        try:
            yield
        except StoreCorrupt as error:
            if error.path != self.path or not may_replace(self.path, in_own_folder=self.in_own_folder):
                raise
            raise StoreCorrupt(self.path, error.reason, action=REBUILD) from error

    @contextlib.contextmanager
    def write(self) -> Iterator[SqliteWriter]:
        """See `stores.interface.Store`. Threads take turns."""
        with self.database.write() as connection, _translate_rows(self.path):
            yield SqliteWriter(connection, self.vectors, self.timezone)

    def lock(self, *, wait_seconds: float = 0.0) -> AbstractContextManager[None]:
        """See `stores.interface.Store`."""
        path = self.path.with_name(f"{self.path.name}.lock")
        return hold_lock(path, wait_seconds=wait_seconds, clear=self.in_own_folder)

    def prepare(self) -> None:
        """See `stores.interface.Store`."""
        if self.database.is_older():
            self._replace_older()
        with self.database.maintain():
            pass

    def _replace_older(self) -> None:
        """Put a new index with the embeddings of this one in its place."""
        log.info("%s was made by an older version: it is made anew from the notes", self.path)
        fresh = self.path.with_name(f"{self.path.name}.new")
        delete_files(fresh)
        with contextlib.closing(IndexDatabase(fresh)) as database:
            self._save_embeddings(self.path, database)
        with self.database.closed():
            replace_index(self.path, fresh)

    def tidy(self, *, whole: bool) -> Iterator[None]:
        """See `stores.interface.Store`."""
        if whole:
            yield from upkeep.merge_keywords(self.database)
        upkeep.give_back_space(self.database)

    def wipe(self, *, seconds: float) -> bool:
        """Write the index anew, so that nothing is left of what was dropped; see `Database.wipe`."""
        return self.database.wipe(seconds=seconds)

    @property
    def is_suspect(self) -> bool:
        """True once a read or a write has met what may be damage, until `repair` has looked."""
        return self.database.failed is not None

    def verify(self, reader: SqliteReader) -> str | None:
        """Return how the index that a reader of it reads is damaged; None if it is sound."""
        return self.database.find_problem(reader.db, upkeep.OLDER + 1)

    def needs_check(self) -> bool:
        """Return True if `repair` should look although nothing has failed yet."""
        return self.writable and needs_check(self.path)

    def repair(self) -> str | None:
        """Move a damaged index aside, so that the next write makes a new one. The caller holds the lock of the syncs.

        A file that is not ours is never touched, see `repair.may_replace`.

        Returns:
            How it was damaged; None if nothing was moved.

        Raises:
            StoreTooNew: A newer memory-core wrote it.
            StoreReadOnly: It cannot be moved.
        """
        if not self.writable:
            return None
        failed, self.database.failed = self.database.failed, None
        removed = remove_obstacles(self.path) if self.in_own_folder else None
        # Another process may have repaired it since.
        certain = failed is not None and isinstance(failed[1], StoreCorrupt) and failed[0] == identify(self.path)
        problem = failed[1].reason if failed is not None and certain else self.database.find_damage()
        if problem is None or not may_replace(self.path, in_own_folder=self.in_own_folder):
            return removed
        with self.database.closed():
            self._save_embeddings(set_aside(self.path, keeps=False), self.database)
        return problem

    def _save_embeddings(self, former: Path, database: Database) -> None:
        """Copy the embeddings that a damaged or older index holds into a new one; make none if it holds none."""
        saved = 0
        with contextlib.closing(read_embeddings(former)) as found:
            try:
                while batch := [*islice(found, _SAVED_TOGETHER)]:
                    with database.write() as connection:
                        _put_saved(SqliteWriter(connection, self.vectors, self.timezone), batch)
                    saved += len(batch)
            except MemoryCoreError as error:  # the sync that follows meets it, too, and tells
                log.warning("embeddings of the former index are lost: %s", error)
        log.info("%s: %d embeddings of the former index were saved", self.path, saved)

    def rest(self) -> None:
        """Let go of idle connections and their pages; the next search opens them again."""
        self.database.rest()

    def close(self) -> None:
        """Close all connections; may be called twice."""
        self.database.close()


class PrivateStore(SqliteStore):
    """A copy of an index as it stands at one moment, in memory. Nothing of it is ever on disk.

    Args:
        source: The index.
    """

    def __init__(self, source: SqliteStore) -> None:
        super().__init__(source.path, vectors=source.vectors, timezone=source.timezone)
        with source.database.read() as connection:
            self.database = PrivateDatabase(connection, source.path, INDEX)


@contextlib.contextmanager
def _translate_rows(path: Path) -> Iterator[None]:
    """Take damage that is found in rows for damage of the file.

    Raises:
        StoreCorrupt: A row holds what no sync has written.
    """
    try:
        yield
    except (DamagedRow, UnicodeDecodeError) as error:
        problem = error if isinstance(error, DamagedRow) else NO_TEXT
        raise StoreCorrupt(path, f"the index is damaged: {problem}", action=REBUILD) from error


def read_embeddings(path: Path) -> Generator[SavedEmbedding]:
    """Yield the sound embeddings of a damaged or older index; none if it cannot be opened or has lost its table of spaces.

    An embedding is keyed by the text that it was made from, so that a row which is whole is right, whatever else is lost.
    """
    try:
        with contextlib.closing(open_reader(path, damaged=True)) as connection:
            with translate_errors(path):
                reader = SqliteReader(connection, VectorIndex(Vector()))
                spaces: dict[object, Space] = {number: space for space, number in reader.list_spaces().items()}
            for number, space_id, key, embedding in _read_rows(connection, path):
                space = spaces.get(space_id)
                if space is None or not isinstance(key, bytes) or len(key) != DIGEST_BYTES:
                    continue
                if isinstance(embedding, bytes) and (row := decode_older(embedding, space.dimensions)) is not None:
                    yield SavedEmbedding(space, key, row, _find_bits(connection, path, number))
    except (MemoryCoreError, UnicodeDecodeError):
        return  # what could be read was; the sync embeds the rest


def _put_saved(writer: SqliteWriter, saved: Sequence[SavedEmbedding]) -> None:
    import numpy as np

    for space in {each.space for each in saved}:
        own = [each for each in saved if each.space == space]
        space_id, rows = writer.add_space(space), np.stack([each.row for each in own])
        writer.put_embeddings(space_id, EmbeddedWindows([each.hash for each in own], rows))
        writer.put_tokens(space_id, ((each.hash, each.bits) for each in own if each.bits))


def _read_rows(connection: Connection, path: Path) -> Iterator[_Row]:
    """Yield the rows that can be read: upwards to the first damage, downwards to the last, and one by one between."""
    low, high = 0, 0
    with contextlib.suppress(MemoryCoreError):
        for (last,) in _query(connection, path, "SELECT seq FROM sqlite_sequence WHERE name = 'embedding_cache'"):
            high = int(str(last)) + 1
    with contextlib.suppress(MemoryCoreError):
        for row in _query(connection, path, f"{_COLUMNS} ORDER BY id"):
            low = int(str(row[0]))
            yield row
        return
    with contextlib.suppress(MemoryCoreError):
        for row in _query(connection, path, f"{_COLUMNS} WHERE id > ? ORDER BY id DESC", low):
            high = int(str(row[0]))
            yield row
        return
    for number in range(low + 1, min(high, low + MOST_TRIED)):
        with contextlib.suppress(MemoryCoreError):
            yield from _query(connection, path, f"{_COLUMNS} WHERE id = ?", number)


def _find_bits(connection: Connection, path: Path, number: object) -> bytes | None:
    with contextlib.suppress(MemoryCoreError):  # lost, or of a schema that had none
        for (bits,) in _query(connection, path, "SELECT bits FROM token_bits WHERE embedding_id = ?", int(str(number))):
            return bits if isinstance(bits, bytes) else None
    return None


def _query(connection: Connection, path: Path, query: str, *values: int) -> Iterator[_Row]:
    with translate_errors(path):
        yield from connection.execute(query, values)


def decode_older(blob: bytes, dimensions: int) -> Row | None:
    """Return an embedding of any schema: float32, float16, int8, or int8 with a factor behind it.

    Returns:
        None unless it has its model's dimensions, and unit length or no direction at all.
    """
    import numpy as np

    kinds = {4 * dimensions: "<f4", 2 * dimensions: "<f2", dimensions + _FACTOR_BYTES: "i1", dimensions: "i1"}
    kind = kinds.get(len(blob))
    if kind is None or not dimensions:
        return None
    row = np.frombuffer(blob, kind)[:dimensions].astype(np.float32)
    with np.errstate(all="ignore"):  # flipped bits may be no numbers
        length = float(np.sqrt(np.square(row, dtype=np.float64).sum()))
    if kind == "i1":
        return row / np.float32(length) if length else row
    return row if length == 0 or abs(length - 1) < _MOST_DEVIATION else None  # None for what is no number
