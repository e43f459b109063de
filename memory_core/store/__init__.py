"""The index file of one agent: SQLite with FTS5 and sqlite-vec. Derived from the notes, disposable, one writer at a time."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias

from memory_core.errors import NotIndexed, StoreCorrupt
from memory_core.store import connection as driver
from memory_core.store.connection import Connection
from memory_core.store.migrations import VERSION, check, migrate
from memory_core.store.rows import Writer

# Lets readers see that what they keep in memory is out of date; a new file does not count from where an older one did.
_BUMP = (
    "INSERT INTO meta VALUES ('generation', CAST(abs(random() % 1000000000000) AS TEXT))"
    " ON CONFLICT DO UPDATE SET value = CAST(value AS INTEGER) + 1"
)


_FileId: TypeAlias = tuple[int, int]


class Store:
    """Pooled connections to one index file. Making one opens nothing.

    Args:
        path: The index file.
        writable: False opens for reading only and never makes or changes a file.
    """

    def __init__(self, path: Path, *, writable: bool = True) -> None:
        self.path = path
        self.writable = writable
        self._lock = threading.Lock()
        self._idle: list[Connection] = []
        self._writer: Connection | None = None
        # The files that they are to: one that is deleted or replaced lives on for them, and nobody else sees it.
        self._idle_file: _FileId | None = None
        self._writer_file: _FileId | None = None
        self._write_lock = threading.Lock()
        self._closed = False

    def exists(self) -> bool:
        """Whether the file is there."""
        return self.path.exists()

    @contextlib.contextmanager
    def read(self) -> Iterator[Connection]:
        """A connection inside one read transaction: everything read belongs to one moment.

        Raises:
            NotIndexed: There is no index yet.
            StoreError: It cannot be used.
        """
        connection, file = self._borrow()
        try:
            with driver.translated(self.path):
                connection.execute("BEGIN")
                yield connection
                connection.execute("COMMIT")
        except BaseException:
            connection.close()
            raise
        self._give_back(connection, file)

    @contextlib.contextmanager
    def write(self, *, content: bool = True) -> Iterator[Writer]:
        """One transaction: committed at the end of the block, rolled back by any error. One thread at a time.

        Args:
            content: Whether files, chunks or embeddings change, so that what readers keep in memory is out of date.

        Raises:
            StoreReadOnly, StoreFull, StoreCorrupt, StoreTooNew, SyncBusy: See `connection.translated`.
        """
        with self._write_lock:
            connection = self._writing()
            with driver.transaction(connection, self.path):
                yield Writer(connection)
                if content:
                    connection.execute(_BUMP)

    @contextlib.contextmanager
    def maintain(self) -> Iterator[Connection]:
        """The writing connection outside a transaction, for checkpoints and vacuum."""
        with self._write_lock, driver.translated(self.path):
            yield self._writing()

    def reset_damaged(self) -> bool:
        """Delete a file of ours that is damaged, so that it can be built anew; True when that was done.

        A file that another program wrote is never touched.
        """
        if not self.writable or not driver.is_ours(self.path):
            return False
        try:
            with contextlib.closing(driver.open_reader(self.path)) as connection, driver.translated(self.path):
                check(connection, self.path)
                healthy = connection.execute("PRAGMA quick_check(1)").get == "ok"
        except StoreCorrupt:
            healthy = False
        if not healthy:
            self.close()
            self._closed = False
            driver.delete_files(self.path)
        return not healthy

    def close(self) -> None:
        """Close all connections; may be called twice."""
        with self._lock:
            self._closed = True
        self._close_idle()
        with self._write_lock:
            self._close_writer()

    def _close_idle(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def _close_writer(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def _borrow(self) -> tuple[Connection, _FileId | None]:
        file = _file_id(self.path)
        if self._idle_file != file:
            self._close_idle()
        with self._lock:
            self._idle_file = file
            if self._idle:
                return self._idle.pop(), file
        if not self.exists():
            raise NotIndexed(f"{self.path}: nothing is indexed yet", action="run: memory-core index")
        connection = driver.open_reader(self.path)
        try:
            if check(connection, self.path) != VERSION:
                self._upgrade(connection)
        except BaseException:
            connection.close()
            raise
        return connection, file

    def _upgrade(self, connection: Connection) -> None:
        """An older or empty file is migrated where it may be written, else there is nothing to read."""
        if not self.writable:
            raise NotIndexed(f"{self.path}: the index was made by an older version", action="run: memory-core index")
        with self._write_lock:
            self._writing()
        connection.pragma("schema_version")

    def _give_back(self, connection: Connection, file: _FileId | None) -> None:
        with self._lock:
            if not self._closed and file == self._idle_file:
                self._idle.append(connection)
                return
        connection.close()

    def _writing(self) -> Connection:
        file = _file_id(self.path)
        if self._writer_file != file:
            self._close_writer()
        if self._writer is None:
            if self.exists() and self.path.stat().st_size:  # before WAL mode touches another program's file
                with contextlib.closing(driver.open_reader(self.path)) as reader:
                    check(reader, self.path)
            connection = driver.open_writer(self.path)
            try:
                migrate(connection, self.path)
            except BaseException:
                connection.close()
                raise
            self._writer = connection
            self._writer_file = file or _file_id(self.path)
        return self._writer


def _file_id(path: Path) -> _FileId | None:
    """Which file it is; None when there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
