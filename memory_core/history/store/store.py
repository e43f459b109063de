"""Connections to the history file of one workspace: read and write transactions; a damaged file is set aside."""

from __future__ import annotations

import contextlib
import glob
import logging
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from memory_core.atomic import locked
from memory_core.errors import StoreCorrupt
from memory_core.history.store.deltas import DamagedBody
from memory_core.history.store.schema import HISTORY, MIGRATIONS
from memory_core.stores import sqlite
from memory_core.stores.sqlite import Connection, ConnectionPool
from memory_core.stores.sqlite.files import QUICK_BYTES, FileId

log = logging.getLogger(__name__)

CHECK_SECONDS = 24 * 3600  # between two looks at a whole large file
LOCK_SECONDS = 10.0  # that one process waits for another to set a damaged file aside


class HistoryStore:
    """Pooled connections to one history file. The constructor opens nothing. May be used from several threads.

    Args:
        path: The file, made by the first write.
        writable: False opens the file for reading only, and never makes, mends or changes it.
        clock: Unix seconds.
    """

    def __init__(self, path: Path, *, writable: bool = True, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self.path = path
        self.writable = writable
        self._pool = ConnectionPool(path, HISTORY, MIGRATIONS, writable=writable, prepare=_prepare)
        self._checked: FileId | None = None  # the file that was looked at for damage
        self._mended: FileId | None = None  # the same, whatever its size

    def exists(self) -> bool:
        """Return True if the file exists."""
        return sqlite.exists(self.path)

    def mend(self) -> Path | None:
        """Look at a whole file once, and set it aside if it is damaged; return its new path then.

        A large one, of which a look takes 10 ms for each MB, is looked at once a day, whichever process does it.

        Raises:
            StoreError: The file cannot be used, such as another program's.
        """
        file = sqlite.identify(self.path)
        if not self.writable or file is None or file == self._mended:
            return None
        due = self._is_check_due()
        aside = self._set_aside() if due else None
        if due and aside is None:
            with self.write() as connection:
                connection.execute("INSERT OR REPLACE INTO meta VALUES ('checked_at', ?)", (str(int(self._clock())),))
        self._checked = self._mended = sqlite.identify(self.path)
        return aside

    def _is_check_due(self) -> bool:
        if self.path.stat().st_size <= QUICK_BYTES:
            return True
        try:
            with self.read() as connection:
                last = connection.execute("SELECT value FROM meta WHERE key = 'checked_at'").get
        except StoreCorrupt:
            return True
        return last is None or not 0 <= self._clock() - int(last) < CHECK_SECONDS

    def list_set_aside(self) -> list[Path]:
        """Return the damaged files that were set aside, the oldest first; none of a folder that may not be entered."""
        found: list[Path] = []
        with contextlib.suppress(PermissionError):  # told by whoever opens the file
            found += self.path.parent.glob(f"{glob.escape(self.path.name)}{sqlite.ASIDE}-*")
        return sorted(each for each in found if not each.name.endswith(("-wal", "-shm")))

    @contextlib.contextmanager
    def read(self) -> Iterator[Connection]:
        """Yield a connection inside one read transaction.

        Raises:
            NotIndexed: There is no file yet.
            StoreError: The file cannot be used.
        """
        with self._watch(), self._pool.read() as connection:
            yield connection

    @contextlib.contextmanager
    def write(self) -> Iterator[Connection]:
        """Yield a connection inside one write transaction: committed after the block, rolled back by any error.

        Raises:
            StoreError: The file cannot be used.
            SyncBusy: Another process writes.
        """
        with (
            self._watch(),
            self._pool.hold_writer() as connection,
            sqlite.transaction(connection, self.path, HISTORY),
        ):
            yield connection

    @contextlib.contextmanager
    def maintain(self) -> Iterator[Connection]:
        """Yield the writing connection outside a transaction, and close the idle readers."""
        with self._watch(), self._pool.hold_writer() as connection:
            self._pool.close_idle()
            yield connection

    def close(self) -> None:
        """Close all connections until one is needed again; may be called twice."""
        self._pool.release()

    @contextlib.contextmanager
    def _watch(self) -> Iterator[None]:
        """Set a damaged file aside, so that the next write begins a new one; this call still fails."""
        file = sqlite.identify(self.path)
        if self.writable and file is not None and file != self._checked:
            if self.path.stat().st_size <= QUICK_BYTES:
                self._set_aside()
            self._checked = sqlite.identify(self.path)
        try:
            yield
        except DamagedBody as error:
            action = (
                f"other versions can still be read; to begin anew, move {self.path} away and run: memory-core index"
            )
            raise StoreCorrupt(self.path, f"the history file is damaged: {error}", action=action) from error
        except StoreCorrupt:
            if self.writable:
                self._set_aside()
            raise

    def _set_aside(self) -> Path | None:
        if sqlite.find_damage(self.path, HISTORY, MIGRATIONS) is None:
            return None
        with self._pool.closed(), locked(Path(f"{self.path}.lock"), timeout_seconds=LOCK_SECONDS):
            problem = sqlite.find_damage(self.path, HISTORY, MIGRATIONS)
            if problem is None:
                return None  # another process has done it
            if not sqlite.is_ours(self.path, HISTORY) and "another program" in problem:
                raise StoreCorrupt(self.path, problem, action=HISTORY.elsewhere)
            aside = sqlite.set_aside(self.path)
        log.warning("%s was damaged (%s); a new history begins, and the old file is %s", self.path, problem, aside.name)
        return aside


def _prepare(connection: Connection) -> None:
    connection.pragma("secure_delete", True)
    connection.set_busy_timeout(500)  # a sync does not wait for a purge; the next one records what it missed
