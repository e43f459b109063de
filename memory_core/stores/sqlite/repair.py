"""Damaged index files: found, told from files of others, and moved aside, so that the next sync builds a new index."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from memory_core.errors import StoreCorrupt, StoreError, StoreReadOnly
from memory_core.stores import sqlite
from memory_core.stores.sqlite.damage import DamagedRow, check_chunk, translate_bad_text
from memory_core.stores.sqlite.distances import WRONG_LENGTH
from memory_core.stores.sqlite.encoding import NARROW_UNIT, WIDE_UNIT, unpack_units
from memory_core.stores.sqlite.migrations import VERSION, check, find_wrong_table

ASIDE = ".damaged"  # behind the whole name; the last damaged index of its path
_OURS = frozenset(
    {"chunks", "embedding_cache", "spaces", "windows"}
)  # tables by which a lost application id is forgiven
_WRONG_ROWS = {
    "a window lies outside of its text": "SELECT 1 FROM windows w JOIN chunks c ON c.id = w.chunk_id"
    " WHERE NOT (0 <= w.first AND w.first <= w.last"
    f" AND w.last < CASE length(c.units) % 2 WHEN 0 THEN length(c.units) / {WIDE_UNIT} ELSE length(c.units) / {NARROW_UNIT} END)",
    WRONG_LENGTH: "SELECT 1 FROM embedding_cache e"
    " JOIN spaces s ON s.id = e.space_id"
    " WHERE length(e.embedding) <> s.dimensions * CASE s.encoding WHEN 'int8' THEN 1 ELSE 4 END",
}
_SIDE_FILES = ("-wal", "-shm", "-journal")


def find_damage(path: Path) -> str | None:
    """Return how an index file is damaged, in a few words; None if it is sound, empty or missing.

    Raises:
        StoreError: It cannot be read for another reason.
    """
    if not path.is_file():
        return None
    try:
        with contextlib.closing(sqlite.open_reader(path)) as connection, sqlite.translate_errors(path):
            return find_problem(connection, check(connection, path))
    except StoreCorrupt as error:
        return error.reason
    except StoreError as error:
        if not sqlite.is_refused_statement(error):
            raise
        return error.reason


def find_problem(connection: sqlite.Connection, version: int) -> str | None:
    """Return how the content of an index is damaged, in a few words; None if it is sound.

    Args:
        connection: To the index.
        version: Of its schema, as `check` returns it.

    Raises:
        StoreError: SQLite cannot read it.
    """
    found = str(connection.execute("PRAGMA quick_check(1)").get)
    if found != "ok":
        return found.splitlines()[-1]
    if wrong := find_wrong_table(connection, version):
        return wrong
    # An empty file has no tables yet, and rows of an older version are read once they were migrated.
    if version < VERSION:
        return None
    try:
        _check_rows(connection)
    except DamagedRow as error:
        return str(error)
    return None


def _check_rows(connection: sqlite.Connection) -> None:
    """Compare texts with their digests, windows with their texts, and lengths of embeddings with their model's.

    Raises:
        DamagedRow: A row holds what no sync has written.
    """
    with translate_bad_text():
        rows = connection.execute("SELECT hash, context, text, units FROM chunks WHERE length(units)")
        for key, context, text, units in rows:
            check_chunk(key, context, text, unpack_units(units))
    for what, query in _WRONG_ROWS.items():
        if connection.execute(f"SELECT EXISTS ({query})").get:
            raise DamagedRow(what)


def may_replace(path: Path, *, in_own_folder: bool) -> bool:
    """Return True if a damaged file is an index of ours: its header still says so, or the file is empty.

    In our own folder, under our own name, a file with any broken header is ours, too, but a sound database of another program
    is not. At a path that the user chose, a file whose header is lost may be anything.
    """
    if not os.access(path, os.R_OK):
        return False
    header = sqlite.read_header(path)
    if sqlite.is_ours(path) or not header:
        return True
    if not in_own_folder:
        # A header that lost its first bytes still has the id; one that was cut off behind them has nothing else.
        return header[68:72] == sqlite.INDEX.application_id.to_bytes(4, "big")
    if sqlite.find_foreign_size(path):
        return True  # no database at all
    try:
        with contextlib.closing(sqlite.open_reader(path)) as connection, sqlite.translate_errors(path):
            tables = {str(row[0]) for row in connection.execute("SELECT name FROM sqlite_schema")}
    except StoreCorrupt:
        return True
    return tables >= _OURS


def set_aside(path: Path) -> Path:
    """Rename a damaged index with its -wal, replacing the one that was set aside before; nobody of this process has it open.

    Returns:
        Its new name.

    Raises:
        StoreReadOnly: It cannot be renamed.
    """
    aside = path.with_name(f"{path.name}{ASIDE}")
    try:
        _unlink_side_files(aside)
        path.replace(aside)
        with contextlib.suppress(FileNotFoundError):
            path.with_name(f"{path.name}-wal").replace(aside.with_name(f"{aside.name}-wal"))
        _unlink_side_files(path)
    except OSError as error:
        action = f"delete {path} and its -wal and -shm files"
        raise StoreReadOnly(
            path, f"it is damaged and cannot be moved aside ({error.strerror})", action=action
        ) from error
    return aside


def _unlink_side_files(path: Path) -> None:
    for suffix in _SIDE_FILES:
        with contextlib.suppress(FileNotFoundError):
            path.with_name(f"{path.name}{suffix}").unlink()


def remove_obstacles(path: Path) -> str | None:
    """Remove empty folders, and links that lead to no file, from the places of an index and its side files.

    Returns:
        What was in the way, in a few words; None if nothing was.
    """
    found = [sqlite.remove_obstacle(Path(f"{path}{suffix}")) for suffix in ("", *_SIDE_FILES)]
    return next(filter(None, found), None)
