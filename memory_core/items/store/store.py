"""Connections to the items file of one agent: read and write transactions, and the rescue of a damaged file."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from memory_core import sqlite as driver
from memory_core.atomic import locked
from memory_core.errors import NotIndexed, StoreCorrupt, StoreReadOnly, SyncBusy
from memory_core.items.store import salvage
from memory_core.items.store.schema import ITEMS, MIGRATIONS
from memory_core.sqlite import Connection

log = logging.getLogger(__name__)

WAIT_SECONDS = 30.0  # that a write waits for the writes of other processes
LOCK_SECONDS = 30.0  # that one process waits for another to rescue a damaged file
CHECKPOINT_SECONDS = 2.0  # that a wipe waits for readers of other processes
READ_ONLY = "this session may not write items"

_FileId = tuple[int, int] | None


class ItemStore:
    """Pooled connections to one items file. The constructor opens nothing. May be used from several threads.

    Args:
        path: The file, made by the first write.
        writable: False opens the file for reading only, and never makes, mends or changes it.
    """

    def __init__(self, path: Path, *, writable: bool = True) -> None:
        self.path = path
        self.writable = writable
        self._lock = threading.Lock()
        self._write_lock = threading.RLock()
        self._idle: list[Connection] = []
        self._writer: Connection | None = None
        self._file: _FileId = None  # the file that these connections have open
        self._checked: _FileId = None  # the file that was looked at for damage
        self._closed = False
        self.rescued: str | None = None  # a sentence about the last rescue by this process

    def exists(self) -> bool:
        """Return True if the file exists."""
        return driver.exists(self.path)

    @contextlib.contextmanager
    def read(self) -> Iterator[Connection]:
        """Yield a connection inside one read transaction.

        Raises:
            NotIndexed: There is no file yet.
            StoreError: The file cannot be used.
        """
        with self._rescuing(), driver.translate_errors(self.path, ITEMS):
            connection = self._borrow()
            try:
                connection.execute("BEGIN")
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                connection.close()
                raise
            self._give_back(connection)

    @contextlib.contextmanager
    def write(self, *, content: bool = True) -> Iterator[Connection]:
        """Yield a connection inside one write transaction: committed after the block, rolled back by any error.

        Args:
            content: Items or embeddings change, so that readers have to load again what they keep in memory.

        Raises:
            StoreReadOnly, StoreFull, StoreCorrupt, StoreTooNew: See `sqlite.translate_errors`.
            SyncBusy: Other processes wrote for longer than `WAIT_SECONDS`.
        """
        with self._rescuing(), self._write_lock, driver.translate_errors(self.path, ITEMS):
            connection = self._get_writer()
            until = time.monotonic() + WAIT_SECONDS
            while True:
                with contextlib.ExitStack() as stack:
                    try:
                        stack.enter_context(driver.transaction(connection, self.path, ITEMS))
                    except SyncBusy:
                        if time.monotonic() >= until:
                            raise
                        continue
                    yield connection
                    if content:  # at random, because the file may be replaced by a rescued one
                        connection.execute("INSERT OR REPLACE INTO meta VALUES ('generation', hex(randomblob(8)))")
                return

    def wipe(self) -> bool:
        """Overwrite what deleted rows leave in the file and its journal; return False while another program reads it.

        The next process that opens the file for writing tries again, also after this one was killed: `rows.delete` leaves
        a mark, which a finished wipe removes.
        """
        until = time.monotonic() + CHECKPOINT_SECONDS
        with self._rescuing(), self._write_lock, driver.translate_errors(self.path, ITEMS):
            connection = self._get_writer()
            self._close_idle()
            connection.execute("INSERT INTO items_fts (items_fts) VALUES ('optimize')")
            while not _finish_wipe(connection):
                if time.monotonic() >= until:
                    return False
                time.sleep(0.02)
        return True

    def close(self) -> None:
        """Close all connections; may be called twice."""
        with self._lock:
            self._closed = True
        self._close_idle()
        with self._write_lock:
            self._close_writer()

    @contextlib.contextmanager
    def _rescuing(self) -> Iterator[None]:
        """Mend a file that turns out to be damaged, so that the next call can use it; this one still fails."""
        self._check()
        try:
            yield
        except StoreCorrupt:
            if self.writable:
                self._rescue()
            raise

    def _check(self) -> None:
        """Look for damage once for every file that stands at the path."""
        file = _file_id(self.path)
        if file is None or file == self._checked or not self.writable:
            return
        if salvage.needs_check(self.path) and salvage.find_damage(self.path) is not None:
            self._rescue()
        self._checked = _file_id(self.path)

    def _rescue(self) -> None:
        """Set a damaged file aside, and save what can be read into a new one; one process at a time.

        Raises:
            StoreCorrupt: A sound database of another program stands there, which is left alone.
        """
        with self._write_lock, locked(Path(f"{self.path}.lock"), timeout_seconds=LOCK_SECONDS):
            problem = salvage.find_damage(self.path)
            if problem is None:
                return  # another process has done it
            if "another program" in problem:
                raise StoreCorrupt(self.path, problem, action=ITEMS.elsewhere)
            self._close_idle()
            self._close_writer()
            aside = salvage.set_aside(self.path)
            rows = list(salvage.read_rows(aside))
            connection = self._open_writer()
            marks = ", ".join("?" * len(salvage.COLUMNS))
            with contextlib.closing(connection), driver.transaction(connection, self.path, ITEMS):
                connection.executemany(
                    f"INSERT OR IGNORE INTO items ({', '.join(salvage.COLUMNS)}) VALUES ({marks})", rows
                )
            self._checked = _file_id(self.path)
            self.rescued = (
                f"the items file was damaged ({problem}); {len(rows)} items were saved, the old file is {aside.name}"
            )
            log.warning("%s: %s", self.path, self.rescued)

    def _borrow(self) -> Connection:
        file = _file_id(self.path)
        if file is None:
            raise NotIndexed(f"{self.path}: there are no items yet", action="add one: memory-core items add TEXT")
        with self._lock:
            stale, self._idle = (self._idle, []) if file != self._file else ([], self._idle)
            self._file = file
            found = self._idle.pop() if self._idle else None
        for connection in stale:
            connection.close()
        return found or self._open_reader()

    def _open_reader(self) -> Connection:
        connection = driver.open_reader(self.path, ITEMS)
        try:
            if driver.check_version(connection, self.path, len(MIGRATIONS), ITEMS) != len(MIGRATIONS):
                if not self.writable:
                    raise NotIndexed(f"{self.path}: there are no items yet")
                with self._write_lock:
                    self._get_writer()
                connection.pragma("schema_version")
        except BaseException:
            connection.close()
            raise
        return connection

    def _give_back(self, connection: Connection) -> None:
        with self._lock:
            if not self._closed and _file_id(self.path) == self._file:
                self._idle.append(connection)
                return
        connection.close()

    def _get_writer(self) -> Connection:
        if not self.writable:
            raise StoreReadOnly(self.path, READ_ONLY)
        if self._writer is not None and self._writer_file != _file_id(self.path):
            self._close_writer()
        if self._writer is None:
            self._writer = self._open_writer()
            self._writer_file = _file_id(self.path)
        return self._writer

    def _open_writer(self) -> Connection:
        if self.exists() and self.path.stat().st_size:  # before WAL mode touches another program's file
            with contextlib.closing(driver.open_reader(self.path, ITEMS)) as reader:
                driver.check_version(reader, self.path, len(MIGRATIONS), ITEMS)
        connection = driver.open_writer(self.path, ITEMS)
        try:
            connection.pragma("secure_delete", True)
            connection.pragma("synchronous", "FULL")  # unlike an index, nothing can make this file anew
            driver.run_migrations(connection, self.path, MIGRATIONS, ITEMS)
            if connection.execute("SELECT count(*) FROM meta WHERE key = 'wipe'").get:
                _finish_wipe(connection)  # that another process could not finish; not waited for
        except BaseException:
            connection.close()
            raise
        return connection

    def _close_idle(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def _close_writer(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    _writer_file: _FileId = None


def _finish_wipe(connection: Connection) -> bool:
    """Move the journal into the file and cut it off; return False while a reader keeps it."""
    busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone() or (1, 0, 0)
    if not busy:
        connection.execute("DELETE FROM meta WHERE key = 'wipe'")
    return not busy


def _file_id(path: Path) -> _FileId:
    """Return device and inode of a file; None when there is no file."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
