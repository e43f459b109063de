"""Lock files, and what may stand in their way."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import time
from collections.abc import Iterator
from pathlib import Path

from memory_core.errors import StoreCorrupt, StoreReadOnly, SyncBusy
from memory_core.stores.sqlite import driver
from memory_core.stores.sqlite.errors import WAIT, translate_errors
from memory_core.stores.sqlite.files import make_private
from memory_core.stores.sqlite.kinds import INDEX

POLL_SECONDS = 0.01  # between the tries of those who wait
_ELSEWHERE = f"make it writable, or {INDEX.elsewhere}"


@contextlib.contextmanager
def hold_lock(path: Path, *, wait_seconds: float, clear: bool = False) -> Iterator[None]:
    """Hold a lock file, which is made when missing and stays empty; the system releases the lock when its owner dies.

    The file is an empty database in an exclusive transaction, as SQLite locks files on every platform, also between threads.

    Args:
        path: The lock file.
        wait_seconds: How long to wait for another owner.
        clear: The name is ours alone, so that what else stands there is damage: an empty folder or a broken link is removed,
            garbage is cut off.

    Raises:
        SyncBusy: Another process or thread holds the lock for longer than `wait_seconds`.
        StoreReadOnly: The file cannot be made or written.
    """
    until = time.monotonic() + wait_seconds

    def wait_on(_attempts: int) -> bool:
        if time.monotonic() >= until:
            return False
        time.sleep(POLL_SECONDS)
        return True

    driver.claim(path)
    if clear:
        _clear_lock(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        connection = driver.apsw.Connection(
            str(path), flags=driver.apsw.SQLITE_OPEN_READWRITE | driver.apsw.SQLITE_OPEN_CREATE
        )
    except (OSError, driver.apsw.CantOpenError) as error:
        raise StoreReadOnly(path, "the lock of the index cannot be made", action=_ELSEWHERE) from error
    with contextlib.closing(connection):
        make_private(path)
        if connection.readonly("main"):  # SQLite would silently begin a shared transaction
            raise StoreReadOnly(path, "the lock of the index cannot be taken", action=_ELSEWHERE)
        connection.set_busy_handler(wait_on)
        try:
            with translate_errors(path):
                connection.pragma("journal_mode", "MEMORY")  # nothing is written, so there is nothing to recover
                connection.execute("BEGIN EXCLUSIVE")
        except SyncBusy as error:
            raise SyncBusy(f"{path}: another process is syncing this index", action=WAIT) from error
        except StoreCorrupt as error:
            raise StoreReadOnly(
                path, "this is no lock of memory-core", action="delete it if nothing else needs it"
            ) from error
        yield  # closing the connection rolls back


def _clear_lock(path: Path) -> None:
    """Make way for a lock file; one that is held is empty, and is left as it is."""
    remove_obstacle(path)
    with contextlib.suppress(OSError):
        # Cut in place: whoever holds the lock keeps it, and two who do this at once lock the same file.
        if stat.S_ISREG(path.lstat().st_mode) and path.lstat().st_size:
            os.truncate(path, 0)


def remove_obstacle(path: Path) -> str | None:
    """Remove an empty folder, or a link that leads to a folder or to itself.

    Returns:
        What was in the way; None if nothing was removed.
    """
    try:
        if path.is_symlink():
            if path.exists() and not path.is_dir():
                return None
            if not path.exists() and not _is_loop(path):
                return None  # a file can be made behind it
            path.unlink()
            return f"{path.name} was a link to no file"
        if path.is_dir():
            path.rmdir()  # fails unless it is empty
            return f"{path.name} was an empty folder"
    except OSError:
        return None
    return None


def _is_loop(path: Path) -> bool:
    """Return True if a link leads back to itself."""
    try:
        path.stat()
    except OSError as error:
        return error.errno == errno.ELOOP
    return False
