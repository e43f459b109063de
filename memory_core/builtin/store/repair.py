"""Damaged index files: found, told from files of others, and moved aside, so that the next sync builds a new index."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from memory_core import sqlite as driver
from memory_core.builtin.store.migrations import check, list_missing_tables
from memory_core.errors import StoreCorrupt, StoreReadOnly

ASIDE = ".damaged"  # behind the whole name; the last damaged index of its path
# The first sync of a process checks a file up to this size, which takes 10 ms for each MB.
QUICK_BYTES = 2_000_000
UNCLEAN_BYTES = 50_000_000  # the same for a file that the last process to write it did not close
_OURS = frozenset(
    {"chunks", "embedding_cache", "spaces", "windows"}
)  # tables by which a lost application id is forgiven
_SIDE_FILES = ("-wal", "-shm", "-journal")


def find_damage(path: Path) -> str | None:
    """Return how an index file is damaged, in a few words; None if it is sound, empty or missing.

    Raises:
        StoreError: It cannot be read for another reason.
    """
    if not path.is_file():
        return None
    try:
        with contextlib.closing(driver.open_reader(path)) as connection, driver.translate_errors(path):
            version = check(connection, path)
            found = str(connection.execute("PRAGMA quick_check(1)").get)
            missing = list_missing_tables(connection, version)
    except StoreCorrupt as error:
        return error.reason
    if found != "ok":
        return found.splitlines()[-1]
    return f"it has no table {missing[0]}" if missing else None


def needs_check(path: Path) -> bool:
    """Return True if a check costs little, and more so if the process that wrote the index last did not close it."""
    try:
        size = path.stat().st_size
    except OSError:
        return False
    if size <= QUICK_BYTES:
        return True
    with contextlib.suppress(OSError):
        wal = path.with_name(f"{path.name}-wal")
        return size <= UNCLEAN_BYTES and wal.stat().st_size > 0
    return False


def may_replace(path: Path, *, in_own_folder: bool) -> bool:
    """Return True if a damaged file is an index of ours.

    Its header says so, or is empty or zeroed. In our own folder, under our own name, a file with any other broken header is
    ours, too, but a sound database of another program is not.
    """
    try:
        with path.open("rb") as file:
            header = file.read(100)
    except OSError:
        return False
    if driver.is_ours(path) or not header.strip(b"\0"):
        return True
    if not in_own_folder:
        # A header that lost its first bytes still has the id; one that was cut off behind them has nothing else.
        return header[68:72] == driver.APPLICATION_ID.to_bytes(4, "big")
    try:
        with contextlib.closing(driver.open_reader(path)) as connection, driver.translate_errors(path):
            tables = {str(row[0]) for row in connection.execute("SELECT name FROM sqlite_schema")}
    except StoreCorrupt:
        return True
    return tables >= _OURS


def set_aside(path: Path) -> None:
    """Rename a damaged index, replacing the one that was set aside before; nobody of this process has it open.

    Raises:
        StoreReadOnly: It cannot be renamed.
    """
    try:
        os.replace(path, f"{path}{ASIDE}")  # noqa: PTH105 -- a suffix behind the whole name
        for suffix in _SIDE_FILES:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(f"{path}{suffix}")  # noqa: PTH108
    except OSError as error:
        action = f"delete {path} and its -wal and -shm files"
        raise StoreReadOnly(
            path, f"it is damaged and cannot be moved aside ({error.strerror})", action=action
        ) from error


def remove_obstacles(path: Path) -> str | None:
    """Remove empty folders, and links that lead to no file, from the places of an index and its side files.

    Returns:
        What was in the way, in a few words; None if nothing was.
    """
    found = [driver.remove_obstacle(Path(f"{path}{suffix}")) for suffix in ("", *_SIDE_FILES)]
    return next(filter(None, found), None)
