"""Files outside the index that survive a kill or a power cut: replaced whole, under a lock that dies with its owner."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# Flags of os.open that not every system has; 0 asks for nothing.
NOFOLLOW: int = getattr(os, "O_NOFOLLOW", 0)
NONBLOCK: int = getattr(os, "O_NONBLOCK", 0)
CLOEXEC: int = getattr(os, "O_CLOEXEC", 0)
DIRECTORY: int = getattr(os, "O_DIRECTORY", 0)
BINARY: int = getattr(os, "O_BINARY", 0)
OPENS_BELOW = bool(DIRECTORY) and os.open in os.supports_dir_fd  # files can be opened relative to an open folder
LOCK_POLL_SECONDS = 0.01  # an append takes a few milliseconds; eight writers then wait for each other, not for the poll


@contextmanager
def locked(path: Path, *, timeout_seconds: float | None) -> Iterator[None]:
    """Hold the operating system's lock on a lock file, which is created if missing and never removed.

    The lock ends with the process that holds it, however that process ends.

    Args:
        path: The lock file; its folder is created if missing.
        timeout_seconds: How long to wait for another owner; None waits for ever.

    Raises:
        TimeoutError: Another owner held the lock all the time.
        OSError: The lock file cannot be created.
    """
    import filelock

    path.parent.mkdir(parents=True, exist_ok=True)
    lock = filelock.FileLock(path, poll_interval=LOCK_POLL_SECONDS)
    try:
        lock.acquire(timeout=-1 if timeout_seconds is None else timeout_seconds)
    except filelock.Timeout as error:
        raise TimeoutError(f"{path} was held by another process for {timeout_seconds:g} s") from error
    try:
        yield
    finally:
        lock.release()


def write_all(descriptor: int, data: bytes) -> None:
    """Write all bytes, in one call if the system takes them in one, and wait until the disk has them."""
    left = memoryview(data)
    while left:
        left = left[os.write(descriptor, left) :]
    os.fsync(descriptor)


def replace_file(path: Path, data: bytes, *, mode: int = 0o600) -> None:
    """Replace a file as a whole: readers see the old bytes or the new ones, also after kill -9 or a power cut.

    Call this under a lock: the temporary file has one fixed name, so that a killed writer leaves at most one file
    behind, which the next writer overwrites.
    """
    temporary = path.with_name(f".{path.name}.memory-core.tmp")
    if not NOFOLLOW and temporary.is_symlink():
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(temporary))
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | NOFOLLOW | BINARY
    descriptor = os.open(temporary, flags, mode)
    try:
        if hasattr(os, "fchmod"):
            os.fchmod(descriptor, mode)
        write_all(descriptor, data)
    finally:
        os.close(descriptor)
    _rename(temporary, path)


def move_into_place(written: Path, path: Path) -> None:
    """Rename a file that is complete to its final name in the same folder, once its bytes are on the disk."""
    descriptor = os.open(written, os.O_RDWR | BINARY)  # Windows syncs only what may be written
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    _rename(written, path)


def _rename(old: Path, new: Path) -> None:
    """Rename, and wait until the disk has the folder's entry."""
    old.replace(new)
    sync_folder(new.parent)


def sync_folder(folder: Path) -> None:
    """Wait until the disk has a folder's entries; nothing happens where a folder cannot be opened, as on Windows."""
    if not DIRECTORY:
        return
    descriptor = os.open(folder, os.O_RDONLY | DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
