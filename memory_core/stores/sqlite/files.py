"""Database files on disk: whose they are, their locks, how they are set aside, wiped and deleted."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias

import apsw

from memory_core.atomic import find_holder, locked
from memory_core.errors import StoreError, StoreReadOnly, SyncBusy
from memory_core.stores.sqlite.connections import (
    ELSEWHERE,
    MAKE_WRITABLE,
    WAIT,
    refuse_inherited,
)

FileId: TypeAlias = tuple[int, int]

QUICK_BYTES = 2_000_000  # the first use by a process checks a file up to this size, which takes 10 ms for each MB
UNCLEAN_BYTES = 50_000_000  # the same for a file that the last process to write it did not close
ASIDE = ".damaged"  # behind the whole name; and the time behind it where what was set aside before is kept
SIDE_FILES = ("-wal", "-shm", "-journal")
POLL_SECONDS = 0.01  # between the tries of those who wait
_MAGIC = b"SQLite format 3\x00"  # at the beginning of every database
_ENTER = f"let this user enter its folders (chmod u+x), or {ELSEWHERE}"


def exists(path: Path) -> bool:
    """Return True if there is such a file.

    Raises:
        StoreError: The system does not say, as when this user may not enter the folder.
    """
    try:
        return path.exists()
    except OSError as error:
        raise StoreError(path, f"cannot be reached ({error.strerror})", action=_ENTER) from error


def identify(path: Path) -> FileId | None:
    """Return device and inode of a file; None when there is no file."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def measure(path: Path) -> int:
    """Return the size of a file; 0 if there is none, or what stands there is no file."""
    with contextlib.suppress(OSError):
        found = path.stat()
        return found.st_size if stat.S_ISREG(found.st_mode) else 0
    return 0


def needs_check(path: Path) -> bool:
    """Return True if a check for damage costs little, and more so if the process that wrote the file last did not close it."""
    is_unclean = measure(path.with_name(f"{path.name}-wal")) > 0
    return 0 < measure(path) <= (UNCLEAN_BYTES if is_unclean else QUICK_BYTES)


def read_header(path: Path) -> bytes:
    """Return the first 100 bytes of a file; fewer of a shorter one, none if it cannot be read.

    SQLite itself opens the file: closing a descriptor of anybody else drops the locks that this process's connections hold on
    it, so that another process may take itself for the last one and delete their journal
    (https://www.sqlite.org/howtocorrupt.html#_posix_advisory_locks_canceled_by_a_separate_thread_doing_close_).
    """
    refuse_inherited(path)
    try:
        file = apsw.VFSFile("", os.path.realpath(path), [apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_MAIN_DB, 0])
    except apsw.Error:
        return b""
    try:
        return file.xRead(100, 0).ljust(min(100, path.stat().st_size), b"\0")  # apsw cuts zeros off a short file's end
    except (apsw.Error, OSError):
        return b""
    finally:
        file.xClose()


def find_foreign_size(path: Path) -> int:
    """Return the size of a file that is no SQLite database, which SQLite might write over; 0 for a database or nothing."""
    return 0 if read_header(path)[: len(_MAGIC)] in {_MAGIC, b""} else path.stat().st_size


def set_aside(path: Path, *, keeps: bool = True) -> Path:
    """Rename a damaged file and its side files, which nobody of this process has open; return the new name.

    Args:
        path: The file.
        keeps: Keep what was set aside before, too, since nothing can make it anew; False replaces it.

    Raises:
        StoreReadOnly: It cannot be renamed.
    """
    aside = Path(f"{path}{ASIDE}")
    if keeps:
        stamp = time.strftime("%Y%m%d-%H%M%S")
        names = (Path(f"{aside}-{stamp}{suffix}") for suffix in ("", *(f"-{number}" for number in range(1, 100))))
        aside = next(name for name in names if not name.exists())
    try:
        delete_side_files(aside)
        for suffix in ("", *SIDE_FILES):
            with contextlib.suppress(FileNotFoundError):
                Path(f"{path}{suffix}").replace(f"{aside}{suffix}")
    except OSError as error:
        raise StoreReadOnly(
            path, f"it is damaged and cannot be moved aside ({error.strerror})", action=f"move {path} elsewhere"
        ) from error
    return aside


def delete_side_files(path: Path) -> None:
    """Delete the side files of a database, which SQLite would take for those of another one in its place."""
    for suffix in SIDE_FILES:
        Path(f"{path}{suffix}").unlink(missing_ok=True)


def delete_files(path: Path) -> None:
    """Delete an index with its side files; nobody else may have it open."""
    path.unlink(missing_ok=True)
    delete_side_files(path)


@contextlib.contextmanager
def hold_lock(path: Path, *, wait_seconds: float, clear: bool = False) -> Iterator[None]:
    """Hold a lock file, which is made when missing and stays empty; the system releases the lock when its owner dies.

    Args:
        path: The lock file.
        wait_seconds: How long to wait for another owner, of this process or another.
        clear: The name is ours alone, so that what else stands there is damage: an empty folder or a link is removed, garbage
            is cut off.

    Raises:
        SyncBusy: Another process or thread holds the lock for longer than `wait_seconds`.
        StoreReadOnly: The file cannot be made or written.
    """
    if clear:
        with contextlib.suppress(OSError):  # it may be gone already
            if path.is_symlink():  # no lock is taken through a link, wherever it leads
                path.unlink()
        remove_obstacle(path)
    elif path.is_file() and path.stat().st_size:  # which taking the lock would cut off
        raise StoreReadOnly(path, "this is no lock of memory-core", action="delete it if nothing else needs it")
    with contextlib.ExitStack() as held:
        try:
            held.enter_context(locked(path, timeout_seconds=wait_seconds))
        except TimeoutError as error:
            raise SyncBusy(f"{path}: another process is syncing this index{find_holder(path)}", action=WAIT) from error
        except OSError as error:
            reason = f"the index cannot be written, as its lock cannot be taken: {error.strerror}"
            raise StoreReadOnly(path, reason, action=MAKE_WRITABLE) from error
        yield


def remove_obstacle(path: Path) -> str | None:
    """Remove an empty folder, or a link that leads to a folder or to itself.

    Returns:
        What was in the way; None if nothing was removed.
    """
    with contextlib.suppress(OSError):
        if path.is_symlink():
            if path.is_dir() or _is_loop(path):  # behind any other link a file can be made
                path.unlink()
                return f"{path.name} was a link to no file"
        elif path.is_dir():
            path.rmdir()  # fails unless it is empty
            return f"{path.name} was an empty folder"
    return None


def _is_loop(path: Path) -> bool:
    """Return True if a link leads back to itself."""
    try:
        path.stat()
    except OSError as error:
        return error.errno == errno.ELOOP
    return False


def repeat(wipe: Callable[[], bool], *, seconds: float) -> bool:
    """Call a function until it returns True, which it may do at the last call; return False if it did not in time."""
    until = time.monotonic() + seconds
    while not wipe():
        if time.monotonic() >= until:
            return False
        time.sleep(POLL_SECONDS)
    return True
