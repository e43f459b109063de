"""Database files on disk: whose they are, which one stands at a path, and their deletion."""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path
from typing import TypeAlias

from memory_core.errors import StoreError
from memory_core.stores.sqlite import driver
from memory_core.stores.sqlite.kinds import INDEX, FileKind

FileId: TypeAlias = tuple[int, int]

QUICK_BYTES = 2_000_000  # the first use by a process checks a file up to this size, which takes 10 ms for each MB
UNCLEAN_BYTES = 50_000_000  # the same for a file that the last process to write it did not close
_MAGIC = b"SQLite format 3\x00"  # at the beginning of every database
_ENTER = "let this user enter its folders (chmod u+x), or choose another place: --state-dir or memorySearch.store.path"


def exists(path: Path) -> bool:
    """Return True if there is such a file.

    Raises:
        StoreError: The system does not say, as when this user may not enter the folder.
    """
    try:
        return path.exists()
    except OSError as error:
        raise StoreError(path, f"cannot be reached ({error.strerror})", action=_ENTER) from error


def make_private(path: Path, *beside: str) -> None:
    """Take a database file from its group and all others; one of another owner stays as it is.

    SQLite gives what it makes beside the file the same permissions.

    Args:
        path: The file.
        beside: Ends of the names of files beside it, which may be there from before.
    """
    if os.name != "posix":
        return
    for file in (path, *(path.with_name(path.name + end) for end in beside)):
        with contextlib.suppress(OSError):
            mode = stat.S_IMODE(file.stat().st_mode)
            if mode & 0o077:
                file.chmod(mode & 0o700)  # by its name: to open and close it would drop SQLite's locks


def identify(path: Path) -> FileId | None:
    """Return device and inode of a file; None when there is no file."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def needs_check(path: Path) -> bool:
    """Return True if a check for damage costs little, and more so if the process that wrote the file last did not close it."""
    with contextlib.suppress(OSError):
        size = path.stat().st_size
        if 0 < size <= QUICK_BYTES:
            return True
        return 0 < size <= UNCLEAN_BYTES and path.with_name(f"{path.name}-wal").stat().st_size > 0
    return False


def is_ours(path: Path, kind: FileKind = INDEX) -> bool:
    """Return True if a file's header says that memory-core wrote it, damaged or not.

    The application id stands at offset 68 of a SQLite file (https://www.sqlite.org/fileformat.html#the_database_header).
    """
    header = read_header(path)
    return header.startswith(_MAGIC) and header[68:72] == kind.application_id.to_bytes(4, "big")


def read_header(path: Path) -> bytes:
    """Return the first 100 bytes of a file; fewer of a shorter one, none if it cannot be read.

    SQLite itself opens the file: closing a descriptor of anybody else drops the locks that this process's connections hold on
    it, so that another process may take itself for the last one and delete their journal
    (https://www.sqlite.org/howtocorrupt.html#_posix_advisory_locks_canceled_by_a_separate_thread_doing_close_).
    """
    driver.refuse_inherited(path)
    apsw = driver.apsw
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


def delete_files(path: Path) -> None:
    """Delete an index with its -wal and -shm files; nobody else may have it open."""
    for suffix in ("", "-wal", "-shm"):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(f"{path}{suffix}")  # noqa: PTH108 -- a suffix behind the whole name
