"""Lock files, and what may stand in their way."""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Iterator
from pathlib import Path

from memory_core.errors import StoreReadOnly, SyncBusy
from memory_core.stores.sqlite.errors import WAIT
from memory_core.stores.sqlite.files import make_private
from memory_core.stores.sqlite.kinds import INDEX

POLL_SECONDS = 0.01  # between the tries of those who wait
_ELSEWHERE = f"make it writable, or {INDEX.elsewhere}"


@contextlib.contextmanager
def hold_lock(path: Path, *, wait_seconds: float, clear: bool = False) -> Iterator[None]:
    """Hold a lock file, which is made when missing and stays empty; the system releases the lock when its owner dies.

    Args:
        path: The lock file.
        wait_seconds: How long to wait for another owner, of this process or another.
        clear: The name is ours alone, so that what else stands there is damage: an empty folder or a broken link is removed,
            garbage is cut off.

    Raises:
        SyncBusy: Another process or thread holds the lock for longer than `wait_seconds`.
        StoreReadOnly: The file cannot be made or written.
    """
    import filelock

    if clear:
        remove_obstacle(path)
    elif path.is_file() and path.stat().st_size:  # which taking the lock would cut off
        raise StoreReadOnly(path, "this is no lock of memory-core", action="delete it if nothing else needs it")
    lock = filelock.FileLock(path, mode=0o600, poll_interval=POLL_SECONDS)
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock.acquire(timeout=wait_seconds)
    except filelock.Timeout as error:
        raise SyncBusy(f"{path}: another process is syncing this index", action=WAIT) from error
    except OSError as error:
        raise StoreReadOnly(path, "the lock of the index cannot be taken", action=_ELSEWHERE) from error
    try:
        make_private(path)
        yield
    finally:
        lock.release()


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
