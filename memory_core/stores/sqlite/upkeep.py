"""Upkeep of an index file: unused embeddings go, space is given back, damage is found."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import cast

from memory_core.errors import StoreCorrupt, StoreReadOnly, SyncBusy
from memory_core.stores.sqlite.connections import (
    INDEX,
    TOKENIZER,
    Connection,
    cut_log,
    drop_pages,
    open_reader,
    translate_errors,
)
from memory_core.stores.sqlite.database import Database
from memory_core.stores.sqlite.encoding import (
    WRONG_LENGTH,
    DamagedRow,
    check_chunk,
    unpack_units,
)
from memory_core.stores.sqlite.files import (
    SIDE_FILES,
    delete_side_files,
    find_foreign_size,
    read_header,
    remove_obstacle,
)
from memory_core.stores.sqlite.vectors import drop_signs

# Schemas that there were before: such an index is made anew from the notes, with the embeddings that it holds.
OLDER = 14
_TOKENIZE = f"porter {' '.join(TOKENIZER[:-1])} '{TOKENIZER[-1]}'"
SCHEMA = Path(__file__).with_name("schema.sql").read_text(encoding="utf-8").replace("{tokenizer}", _TOKENIZE)
MERGE_PAGES = 500  # of the keyword index that are merged in one step
SMALL_MERGE_PAGES = 64  # after a small change, which takes .5 to .9 ms and leaves 4 pieces of 9 on average
VACUUM_PAGES = 1000  # given back in one step: 8 MB
# Tables by which a lost application id is forgiven.
_OURS = frozenset({"chunks", "embedding_cache", "spaces", "windows"})
_WRONG_ROWS = {
    "a window lies outside of its text": "SELECT 1 FROM windows w JOIN chunks c ON c.id = w.chunk_id"
    " WHERE NOT (0 <= w.first AND w.first <= w.last AND w.last < json_array_length(c.units))",
    WRONG_LENGTH: "SELECT 1 FROM embedding_cache e"
    " JOIN spaces s ON s.id = e.space_id"
    " WHERE length(e.embedding) <> s.dimensions * CASE s.encoding WHEN 'int8' THEN 1 ELSE 4 END",
}


def evict_embeddings(connection: Connection, *, keep: int) -> None:
    """Drop the oldest embeddings that no window refers to, beyond `keep`, and all their embeddings of tokens."""
    connection.execute(
        "DELETE FROM token_bits WHERE NOT EXISTS"
        " (SELECT 1 FROM embedding_cache e JOIN windows w ON w.hash = e.hash WHERE e.id = embedding_id)"
    )
    held = int(connection.execute("SELECT count(*) FROM embedding_cache").get)
    used = int(connection.execute("SELECT count(*) FROM windows").get)
    if held - used <= keep:  # at least `held - used` are unused; to find them, all are read
        return
    evicted = connection.execute(
        "DELETE FROM embedding_cache WHERE id IN (SELECT e.id FROM embedding_cache e"
        " WHERE NOT EXISTS (SELECT 1 FROM windows w WHERE w.hash = e.hash)"
        " ORDER BY e.id DESC LIMIT -1 OFFSET ?) RETURNING id",
        (keep,),
    ).fetchall()
    drop_signs(connection, [row[0] for row in cast("list[tuple[int]]", evicted)])


def merge_few_keywords(connection: Connection) -> None:
    """Merge small pieces of the keyword index, in one short step, so that many changes leave few pieces.

    A search reads every piece. FTS5 by itself lets sixteen of one size wait where changes are small. See
    https://www.sqlite.org/fts5.html#the_merge_command.
    """
    if connection.execute("SELECT 1 FROM chunks_fts_config WHERE k = 'usermerge' AND v = 2").get is None:
        connection.execute("INSERT INTO chunks_fts (chunks_fts, rank) VALUES ('usermerge', 2)")
    connection.execute("INSERT INTO chunks_fts (chunks_fts, rank) VALUES ('merge', ?)", (SMALL_MERGE_PAGES,))


def merge_keywords(database: Database) -> Iterator[None]:
    """Merge all pieces of the keyword index into one, yielding after each committed step."""
    pages = -MERGE_PAGES  # negative: all pieces, not only those of one size
    while True:
        with database.write() as connection:
            before = connection.total_changes()
            connection.execute("INSERT INTO chunks_fts (chunks_fts, rank) VALUES ('merge', ?)", (pages,))
            if connection.total_changes() - before < 2:
                return
        yield
        pages = MERGE_PAGES


def give_back_space(database: Database) -> None:
    """Return free pages to the file system in steps, and empty the write-ahead log."""
    with database.maintain() as connection:
        while free := int(connection.pragma("freelist_count")):
            connection.execute(f"PRAGMA incremental_vacuum({VACUUM_PAGES})").fetchall()
            if int(connection.pragma("freelist_count")) >= free:
                break
        cut_log(connection)
        drop_pages(connection)


class IndexDatabase(Database):
    """The connections to an index file. The constructor opens nothing.

    Args:
        path: The index file.
        writable: False opens the file for reading only and never makes or changes it.
    """

    def __init__(self, path: Path, *, writable: bool = True) -> None:
        super().__init__(path, INDEX, [SCHEMA], older=OLDER, writable=writable)

    def rewrite(self, connection: Connection) -> bool:
        """See `Database`. The keyword index keeps words in its pieces until they are merged, and names between its pages."""
        with contextlib.suppress(SyncBusy), translate_errors(self.path):
            connection.execute("INSERT INTO chunks_fts (chunks_fts) VALUES ('optimize')")
            return super().rewrite(connection)
        return False

    def find_wrong_row(self, connection: Connection) -> str | None:
        """Compare texts with their digests, windows with their texts, and lengths of embeddings with their model's."""
        try:
            rows = connection.execute("SELECT hash, context, text, units FROM chunks WHERE units <> '[]'")
            for key, context, text, units in rows:
                check_chunk(key, context, text, unpack_units(units))
        except DamagedRow as error:
            return str(error)
        wrong = (what for what, query in _WRONG_ROWS.items() if connection.execute(f"SELECT EXISTS ({query})").get)
        return next(wrong, None)


def may_replace(path: Path, *, in_own_folder: bool) -> bool:
    """Return True if a damaged file is an index of ours: its header still says so, or the file is empty.

    In our own folder, under our own name, a file with any broken header is ours, too, but a sound database of another program
    is not. At a path that the user chose, a file whose header is lost may be anything.
    """
    if not os.access(path, os.R_OK):
        return False
    header = read_header(path)
    # A header that lost its first bytes still has the id (https://www.sqlite.org/fileformat.html#the_database_header).
    if not header or header[68:72] == INDEX.application_id.to_bytes(4, "big"):
        return True
    if not in_own_folder:
        return False
    if find_foreign_size(path):
        return True  # no database at all
    try:
        with contextlib.closing(open_reader(path)) as connection, translate_errors(path):
            tables = {str(row[0]) for row in connection.execute("SELECT name FROM sqlite_schema")}
    except StoreCorrupt:
        return True
    return tables >= _OURS


def replace_index(path: Path, fresh: Path) -> None:
    """Put a new index in the place of another one; nobody of this process has either open.

    Raises:
        StoreReadOnly: The other one cannot be replaced.
    """
    try:
        delete_side_files(path)
        fresh.replace(path)
    except OSError as error:
        reason = f"it was made by an older version and cannot be replaced ({error.strerror})"
        raise StoreReadOnly(path, reason, action=f"delete {path} and its -wal and -shm files") from error


def remove_obstacles(path: Path) -> str | None:
    """Remove empty folders, and links that lead to no file, from the places of an index and its side files.

    Returns:
        What was in the way, in a few words; None if nothing was.
    """
    found = [remove_obstacle(Path(f"{path}{suffix}")) for suffix in ("", *SIDE_FILES)]
    return next(filter(None, found), None)
