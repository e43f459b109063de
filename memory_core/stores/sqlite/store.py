"""The index file of one agent: SQLite with FTS5 and sqlite-vec. Derived from the notes, disposable, one writer at a time."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from memory_core.config.settings import Vector
from memory_core.errors import MemoryCoreError, StoreCorrupt
from memory_core.stores import sqlite
from memory_core.stores.interface import Reader
from memory_core.stores.sqlite import INDEX, Connection, Database
from memory_core.stores.sqlite.damage import DamagedRow, translate_bad_text
from memory_core.stores.sqlite.meta import bump_generation
from memory_core.stores.sqlite.migrations import MIGRATIONS
from memory_core.stores.sqlite.repair import find_damage, may_replace, remove_obstacles, set_aside
from memory_core.stores.sqlite.retrieval import StoreReader
from memory_core.stores.sqlite.upgrade import convert_rows
from memory_core.stores.sqlite.vectors import VectorIndex

log = logging.getLogger(__name__)

_SAVED_TOGETHER = 1000  # embeddings of a damaged index that are committed in one transaction


class Store(Database):
    """One index file. The constructor opens nothing.

    Args:
        path: The index file.
        writable: False opens the file for reading only and never makes or changes it.
        vectors: Finds nearest windows; None is one with default settings.
        in_own_folder: Folder and name of the file are ours alone, so that a file without a header there is a damaged index.
    """

    def __init__(
        self, path: Path, *, writable: bool = True, vectors: VectorIndex | None = None, in_own_folder: bool = False
    ) -> None:
        super().__init__(path, INDEX, MIGRATIONS, writable=writable, prepare=convert_rows)
        self.in_own_folder = in_own_folder
        self.vectors = vectors or VectorIndex(Vector())

    @contextlib.contextmanager
    def reading(self) -> Iterator[Reader]:
        """Hand out a reader for one search: all of its answers come from one moment of the index.

        Raises:
            NotIndexed: There is no index yet.
            StoreError: It cannot be used.
        """
        with self.read() as connection:
            yield StoreReader(connection, self.vectors)

    @contextlib.contextmanager
    def write(self, *, content: bool = True) -> Iterator[Connection]:
        """Yield a connection inside one write transaction: committed after the block, rolled back by any error.

        Threads take turns.

        Args:
            content: Files, chunks or embeddings change, so that readers have to load again what they keep in memory.

        Raises:
            StoreReadOnly, StoreFull, StoreCorrupt, StoreTooNew, SyncBusy: See `sqlite.translate_errors`.
        """
        with super().write() as connection:
            yield connection
            if content:
                bump_generation(connection)

    @property
    def is_suspect(self) -> bool:
        """True once a read or a write has met what may be damage, until `repair` has looked."""
        return self._failed is not None

    def needs_check(self) -> bool:
        """Return True if `repair` should look although nothing has failed yet."""
        return self.writable and sqlite.needs_check(self.path)

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
        failed, self._failed = self._failed, None
        removed = remove_obstacles(self.path) if self.in_own_folder else None
        # Another process may have repaired it since.
        certain = failed is not None and isinstance(failed[1], StoreCorrupt) and failed[0] == sqlite.identify(self.path)
        problem = failed[1].reason if failed is not None and certain else find_damage(self.path)
        if problem is None or not may_replace(self.path, in_own_folder=self.in_own_folder):
            return removed
        with self.closed():
            self._save_embeddings(set_aside(self.path))
        return problem

    def _save_embeddings(self, damaged: Path) -> None:
        """Copy the embeddings that a damaged index still holds into a new one; make none if it holds none."""
        from memory_core.stores.sqlite.salvage import put_embeddings, read_embeddings

        saved = 0
        with contextlib.closing(read_embeddings(damaged)) as found:
            try:
                while batch := [*islice(found, _SAVED_TOGETHER)]:
                    with self.write() as connection:
                        put_embeddings(connection, self.vectors, batch)
                    saved += len(batch)
            except MemoryCoreError as error:  # the sync that follows meets it, too, and tells
                log.warning("embeddings of the damaged index are lost: %s", error)
        log.info("%s: %d embeddings of the damaged index were saved", self.path, saved)

    @contextlib.contextmanager
    def _watch(self) -> Iterator[None]:
        """Translate also what was found in rows."""
        with super()._watch():
            try:
                with translate_bad_text():
                    yield
            except DamagedRow as error:
                raise StoreCorrupt(self.path, f"the index is damaged: {error}", action=sqlite.REBUILD) from error
