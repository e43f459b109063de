"""What both writers outside the index stand on: a lock that dies with its owner, and files that are replaced whole."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

LOCK_POLL_SECONDS = 0.01  # an append takes a few milliseconds; eight writers then wait for each other, not for the poll


@contextmanager
def locked(path: Path, *, timeout_seconds: float) -> Iterator[None]:
    """Hold the OS lock of a lock file, which is made when missing and stays; the lock goes when its owner dies.

    Raises:
        TimeoutError: Another owner held it all the time.
        OSError: The lock file cannot be made.
    """
    import filelock

    path.parent.mkdir(parents=True, exist_ok=True)
    lock = filelock.FileLock(path, poll_interval=LOCK_POLL_SECONDS)
    try:
        lock.acquire(timeout=timeout_seconds)
    except filelock.Timeout as error:
        raise TimeoutError(f"{path} was held by another process for {timeout_seconds:g} s") from error
    try:
        yield
    finally:
        lock.release()


def write_all(descriptor: int, data: bytes) -> None:
    """Write all bytes, in one call when the system takes them in one, and have them on the disk before returning."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]
    os.fsync(descriptor)


def sync_folder(folder: Path) -> None:
    """Have a folder's entries on the disk, so that a file made or renamed in it survives a power cut."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def replace_file(path: Path, data: bytes, *, mode: int = 0o600) -> None:
    """Put a file in place whole: readers see the old bytes or the new ones, also after kill -9 or a power cut.

    To be called under a lock: the temporary file has one fixed name, so that a killed writer leaves at most one behind,
    which the next one overwrites.
    """
    temporary = path.with_name(f".{path.name}.memory-core.tmp")
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW
    descriptor = os.open(temporary, flags, mode)
    try:
        os.fchmod(descriptor, mode)
        write_all(descriptor, data)
    finally:
        os.close(descriptor)
    temporary.replace(path)
    sync_folder(path.parent)
