"""The index file of one agent: SQLite with FTS5 and sqlite-vec. Derived from the notes, disposable, one writer at a time."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator
from contextlib import AbstractContextManager
from itertools import islice
from pathlib import Path

from memory_core.config.settings import Vector
from memory_core.errors import MemoryCoreError, StoreCorrupt, SyncBusy
from memory_core.stores.sqlite import upkeep
from memory_core.stores.sqlite.connections import INDEX, REBUILD
from memory_core.stores.sqlite.database import Database, PrivateDatabase
from memory_core.stores.sqlite.encoding import DamagedRow, explain_damage
from memory_core.stores.sqlite.files import delete_files, hold_lock, identify, needs_check, repeat, rewrite_file
from memory_core.stores.sqlite.reader import SqliteReader
from memory_core.stores.sqlite.state import bump_generation
from memory_core.stores.sqlite.upkeep import (
    IndexDatabase,
    may_replace,
    remove_obstacles,
    replace_index,
    set_aside,
)
from memory_core.stores.sqlite.vectors import VectorIndex
from memory_core.stores.sqlite.writer import SqliteWriter

log = logging.getLogger(__name__)

_SAVED_TOGETHER = 1000  # embeddings of a damaged index that are committed in one transaction


class SqliteStore:
    """One index file. The constructor opens nothing.

    Args:
        path: The index file.
        writable: False opens the file for reading only and never makes or changes it.
        vectors: Finds nearest windows; None is one with default settings.
        in_own_folder: Folder and name of the file are ours alone, so that a file without a header there is a damaged index.
        timezone: See `SqliteReader`.

    Attributes:
        database: The connections to the file.
    """

    def __init__(
        self,
        path: Path,
        *,
        writable: bool = True,
        vectors: VectorIndex | None = None,
        in_own_folder: bool = False,
        timezone: str | None = None,
    ) -> None:
        self.path = path
        self.writable = writable
        self.vectors = vectors or VectorIndex(Vector())
        self.in_own_folder = in_own_folder
        self.timezone = timezone
        self.database: Database = IndexDatabase(path, writable=writable)

    @contextlib.contextmanager
    def read(self) -> Iterator[SqliteReader]:
        """See `stores.interface.Store`."""
        with self.database.read() as connection, _translate_rows(self.path):
            yield SqliteReader(connection, self.vectors, self.timezone)

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
        database = IndexDatabase(fresh)
        try:
            self._save_embeddings(self.path, database)
        finally:
            database.close()
        with self.database.closed():
            replace_index(self.path, fresh)

    def tidy(self, *, whole: bool) -> Iterator[None]:
        """See `stores.interface.Store`."""
        if whole:
            yield from upkeep.merge_keywords(self.database)
        upkeep.give_back_space(self.database)

    def wipe(self, *, seconds: float) -> bool:
        """Write the index anew, so that nothing is left of what was dropped; return False while another program reads it.

        The keyword index keeps words in its pieces until they are merged, and names between its pages after that.

        Args:
            seconds: How long to wait for readers of other processes.
        """
        try:
            with self.database.write() as connection:
                connection.execute("INSERT INTO chunks_fts (chunks_fts) VALUES ('optimize')")
            with self.database.maintain() as connection:
                return repeat(lambda: rewrite_file(connection, INDEX), seconds=seconds)
        except SyncBusy:
            return False

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
            self._save_embeddings(set_aside(self.path), self.database)
        return problem

    def _save_embeddings(self, former: Path, database: Database) -> None:
        """Copy the embeddings that a damaged or older index holds into a new one; make none if it holds none."""
        from memory_core.stores.sqlite.salvage import put_embeddings, read_embeddings

        saved = 0
        with contextlib.closing(read_embeddings(former)) as found:
            try:
                while batch := [*islice(found, _SAVED_TOGETHER)]:
                    with database.write() as connection:
                        put_embeddings(connection, self.vectors, batch)
                        bump_generation(connection)
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
        with self.database.maintain() as connection:  # it lives for some questions: merging would not pay
            connection.execute("INSERT INTO chunks_fts (chunks_fts, rank) VALUES ('automerge', 0)")


@contextlib.contextmanager
def _translate_rows(path: Path) -> Iterator[None]:
    """Take damage that is found in rows for damage of the file.

    Raises:
        StoreCorrupt: A row holds what no sync has written.
    """
    try:
        yield
    except (DamagedRow, UnicodeDecodeError) as error:
        raise StoreCorrupt(path, f"the index is damaged: {explain_damage(error)}", action=REBUILD) from error
