"""The items file of one agent: its tables, its transactions, the wiping of what was deleted, and the rescue of a damaged file.

Migrations are numbered and only ever appended to: items are user data.
"""

from __future__ import annotations

import contextlib
import logging
import re
import struct
import time
from collections.abc import Iterator
from pathlib import Path

from memory_core.errors import MemoryClosed, StoreCorrupt, StoreError, SyncBusy
from memory_core.items.store.rows import load_wipe_mark
from memory_core.stores.sqlite.connections import PAGE_SIZE, Connection, FileKind, open_reader, translate_errors
from memory_core.stores.sqlite.database import Database, transaction

_FIRST = """
CREATE TABLE meta (                     -- digest_key, wipe, outage
  key   TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE items (
  key           INTEGER PRIMARY KEY AUTOINCREMENT,  -- = items_fts.rowid; never used twice
  id            TEXT    NOT NULL UNIQUE,
  content       TEXT    NOT NULL,
  terms         TEXT    NOT NULL,       -- content and tags, CJK runs cut into pairs: what items_fts holds
  folded        TEXT    NOT NULL,       -- content and tags, case folded: what substrings are looked for in
  hash          BLOB    NOT NULL,       -- of the words: equal facts have equal ones
  text_hash     BLOB    NOT NULL,       -- of the content: the key of its embeddings
  scope         TEXT    NOT NULL,
  tags          TEXT    NOT NULL,       -- JSON array
  agent         TEXT    NOT NULL,
  kind          TEXT    NOT NULL,
  pending       INTEGER NOT NULL,       -- 1: a guess
  created       REAL    NOT NULL,       -- unix seconds, as all times here
  updated       REAL    NOT NULL,
  said          REAL    NOT NULL,
  recalled      REAL,
  reinforced    INTEGER NOT NULL,
  session       TEXT,
  speaker       TEXT    NOT NULL,
  superseded_by TEXT
) STRICT;
CREATE UNIQUE INDEX items_hash ON items (scope, hash);
CREATE INDEX items_text ON items (text_hash);
CREATE INDEX items_superseded ON items (superseded_by) WHERE superseded_by IS NOT NULL;

CREATE TABLE sayings (                  -- the sessions that said a fact
  item    INTEGER NOT NULL REFERENCES items(key) ON DELETE CASCADE,
  session TEXT    NOT NULL,
  said    REAL    NOT NULL,
  PRIMARY KEY (item, session)
) STRICT, WITHOUT ROWID;
CREATE INDEX sayings_session ON sayings (session);

CREATE TABLE spaces (                   -- one vector space: vectors of two spaces are never compared
  id           INTEGER PRIMARY KEY,
  provider     TEXT    NOT NULL,
  model        TEXT    NOT NULL,
  endpoint     TEXT    NOT NULL,        -- fingerprint, no secrets
  input_type   TEXT    NOT NULL,
  dimensions   INTEGER NOT NULL,
  UNIQUE (provider, model, endpoint, input_type, dimensions)
) STRICT;

CREATE TABLE embeddings (               -- content-keyed, so that text which comes back costs nothing
  space_id  INTEGER NOT NULL REFERENCES spaces(id),
  hash      BLOB    NOT NULL,           -- items.text_hash
  embedding BLOB    NOT NULL,           -- float32 little-endian, unit length; all zero = has no direction
  PRIMARY KEY (space_id, hash)
) STRICT;

-- External content, because secure-delete does nothing on a contentless table.
CREATE VIRTUAL TABLE items_fts USING fts5 (terms, content='items', content_rowid='key',
  tokenize="porter unicode61 remove_diacritics 2");
INSERT INTO items_fts (items_fts, rank) VALUES ('secure-delete', 1);
CREATE TRIGGER items_inserted AFTER INSERT ON items BEGIN
  INSERT INTO items_fts (rowid, terms) VALUES (new.key, new.terms);
END;
CREATE TRIGGER items_deleted AFTER DELETE ON items BEGIN
  INSERT INTO items_fts (items_fts, rowid, terms) VALUES ('delete', old.key, old.terms);
END;
CREATE TRIGGER items_changed AFTER UPDATE OF terms ON items BEGIN
  INSERT INTO items_fts (items_fts, rowid, terms) VALUES ('delete', old.key, old.terms);
  INSERT INTO items_fts (rowid, terms) VALUES (new.key, new.terms);
END;
"""

# The mirror in daily notes.
_SECOND = """
CREATE TABLE mirror (                   -- lines of notes as they last agreed with items
  item   TEXT    NOT NULL,              -- items.id
  note   TEXT    NOT NULL,              -- the path of the file
  digest BLOB    NOT NULL,              -- keyed hash of the line's text
  marked INTEGER NOT NULL,              -- 1: the line carries the id; 0: a person wrote it, and it is known by its text
  PRIMARY KEY (note, item)
) STRICT, WITHOUT ROWID;
CREATE TABLE forgotten (                -- keyed hashes of texts that must not come back from an old state of a note
  hash BLOB PRIMARY KEY,
  at   REAL NOT NULL                    -- unix seconds
) STRICT, WITHOUT ROWID;
INSERT INTO meta VALUES ('digest_key', hex(randomblob(16)));
"""

# Where a fact was said first; its session and its speaker stand in its row.
_THIRD = """
CREATE TABLE origins (
  item INTEGER PRIMARY KEY REFERENCES items(key) ON DELETE CASCADE,
  host TEXT    NOT NULL,                -- '' if nobody knows, as below
  path TEXT    NOT NULL,                -- of the note or session log, as search shows it
  line INTEGER NOT NULL,                -- from 1; 0 if nobody knows
  at   TEXT    NOT NULL                 -- ISO 8601
) STRICT;
"""

MIGRATIONS: tuple[str, ...] = (_FIRST, _SECOND, _THIRD)
ITEMS = FileKind(
    noun="items file",
    application_id=0x4D454D49,  # "MEMI"
    repair="run: memory-core items list (it sets the file aside and saves what can be read)",
    retry="free some space, then try again",
    elsewhere="choose another place: --state-dir or memorySearch.store.path",
    empty="there are no items yet",
    fill="add one: memory-core items add TEXT",
)


log = logging.getLogger(__name__)

WAIT_SECONDS = 30.0  # that a write waits for the writes of other processes
CHECKPOINT_SECONDS = 2.0  # that a wipe waits for readers of other processes


class ItemStore(Database):
    """One items file. The constructor opens nothing. May be used from several threads.

    Args:
        path: The file, made by the first write.
        writable: False opens the file for reading only, and never makes, mends or changes it.
    """

    def __init__(self, path: Path, *, writable: bool = True) -> None:
        super().__init__(path, ITEMS, MIGRATIONS, writable=writable, prepare=_prepare, finish=_resume_wipe)
        self._refused = False
        self.rescued: str | None = None  # a sentence about the last rescue by this process

    @contextlib.contextmanager
    def write(self) -> Iterator[Connection]:
        """Yield a connection inside one write transaction: committed after the block, rolled back by any error.

        Raises:
            StoreReadOnly, StoreFull, StoreCorrupt, StoreTooNew: See `sqlite.translate_errors`.
            SyncBusy: Other processes wrote for longer than `WAIT_SECONDS`.
        """
        with self.maintain() as connection:
            until = time.monotonic() + WAIT_SECONDS
            while True:
                with contextlib.ExitStack() as stack:
                    try:
                        stack.enter_context(transaction(connection, self.path, ITEMS))
                    except SyncBusy:
                        if time.monotonic() >= until:
                            raise
                        continue
                    yield connection
                return

    def wipe(self) -> bool:
        """Overwrite what deleted rows leave in the file and its journal; return False while another program reads it.

        The next process that opens the file for writing tries again, also after this one was killed: `rows.delete` leaves
        a mark, which a finished wipe removes.
        """
        if not self.exists():
            return True
        with self.maintain() as connection:
            self.close_idle()
            from memory_core.stores.sqlite.files import repeat

            return repeat(lambda: _wipe(connection), seconds=CHECKPOINT_SECONDS)

    def refuse(self) -> None:
        """Refuse every call from now on: their memory was closed."""
        self._refused = True

    @contextlib.contextmanager
    def _watch(self) -> Iterator[None]:
        """Refuse calls of a memory that was closed, and look at a file before its first use."""
        if self._refused:
            raise MemoryClosed
        self.check()
        with super()._watch():
            yield

    def on_damage(self, error: StoreError) -> None:
        """Set a damaged file aside, and save what can be read into a new one, so that the next call can use it."""
        if not self.writable or not isinstance(error, StoreCorrupt):
            return
        saved = 0

        def save(aside: Path) -> None:
            nonlocal saved
            rows = list(_read_rows(aside))
            saved = len(rows)
            marks = ", ".join("?" * len(_COLUMNS))
            with transaction(connection := self._get_writer(), self.path, ITEMS):
                connection.executemany(f"INSERT OR IGNORE INTO items ({', '.join(_COLUMNS)}) VALUES ({marks})", rows)
                _restore_others(connection, aside, {row[0] for row in rows})

        found = self.set_aside(save)
        if found is not None:
            aside, problem = found
            self.rescued = (
                f"the items file was damaged ({problem}); {saved} items were saved, the old file is {aside.name}"
            )
            log.warning("%s: %s", self.path, self.rescued)


def _restore_others(connection: Connection, aside: Path, keys: set[object]) -> None:
    """Save who said what, what was forgotten, and what notes mirror, from a damaged file."""
    digest_key = _read_digest_key(aside)
    if digest_key is not None:
        connection.execute("INSERT OR REPLACE INTO meta VALUES ('digest_key', ?)", (digest_key,))
    for table, columns in _TABLES.items():
        of_items = next(iter(columns)) == "item"
        if not of_items and digest_key is None:
            continue
        found = [row for row in _read_table(aside, table) if not of_items or row[0] in keys]
        marks = ", ".join("?" * len(columns))
        connection.executemany(f"INSERT OR IGNORE INTO {table} ({', '.join(columns)}) VALUES ({marks})", found)


def _prepare(connection: Connection) -> None:
    connection.pragma("secure_delete", True)
    connection.pragma("synchronous", "FULL")  # unlike an index, nothing can make this file anew


def _resume_wipe(connection: Connection) -> None:
    """Finish a wipe that another process could not finish; not waited for."""
    if load_wipe_mark(connection) is not None:
        _wipe(connection)


def _wipe(connection: Connection) -> bool:
    """Write the file anew, and cut off its journal; return False while another connection is in the way.

    The keyword index keeps words as marks between its pages until it is written anew.
    """
    from memory_core.stores.sqlite.files import rewrite_file

    mark = load_wipe_mark(connection)
    try:
        with translate_errors(Path(connection.filename), ITEMS):
            connection.execute("INSERT INTO items_fts (items_fts) VALUES ('optimize')")
            done = rewrite_file(connection, ITEMS)
            if done:  # the mark of another process, which has deleted something since then, stays
                connection.execute("DELETE FROM meta WHERE key = 'wipe' AND value = ?", (mark,))
    except SyncBusy:
        return False
    return done


# ---- Rows of a damaged file.
#
# They are read in SQL from both ends of a table. Where the tree above them cannot be followed, or the header is gone, they are
# read straight from the pages; the layout is https://www.sqlite.org/fileformat.html: leaf pages of tables (sections 1.6 and 2.1).
# Rows that overflow their page are left out, and so is the journal, which is not damaged by what damages the file.

_COLUMNS = (
    "key", "id", "content", "terms", "folded", "hash", "text_hash", "scope", "tags", "agent", "kind", "pending", "created",
    "updated", "said", "recalled", "reinforced", "session", "speaker", "superseded_by",
)  # fmt: skip

# What else is saved, with the types of the columns, in the order of the primary keys.
_TABLES: dict[str, dict[str, type]] = {
    "sayings": {"item": int, "session": str, "said": float},
    "origins": {"item": int, "host": str, "path": str, "line": int, "at": str},
    "forgotten": {"hash": bytes, "at": float},
    "mirror": {"note": str, "item": str, "digest": bytes, "marked": int},
}

_Row = tuple[object, ...]
_Value = int | float | str | bytes | None

_LEAF = 0x0D
_HEADER = 8  # bytes of a leaf page's header
_INTEGERS = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}  # bytes by serial type


def _read_rows(aside: Path) -> Iterator[_Row]:
    """Yield the rows of items that can be read in a damaged file, each once, in the order of `_COLUMNS`.

    The table is read from its beginning up to the damage, and from its end back to it. What is missing then is looked for on
    the pages of the file.
    """
    seen: set[object] = set()
    columns = ", ".join(_COLUMNS)
    readable = _query(aside, *(f"SELECT {columns} FROM items ORDER BY key {way}" for way in ("ASC", "DESC")))
    for row in (*readable, *_scan_pages(aside)):
        if row[0] not in seen and _is_item(row):
            seen.add(row[0])
            yield row


def _read_table(aside: Path, table: str) -> list[_Row]:
    """Return the rows of one of `_TABLES` that can be read from its ends up to the damage, each once."""
    kinds = _TABLES[table]
    rows = _query(aside, *(f"SELECT {', '.join(kinds)} FROM {table} ORDER BY 1 {way}" for way in ("ASC", "DESC")))
    return [
        row
        for row in dict.fromkeys(rows)
        if all(isinstance(value, kind) for value, kind in zip(row, kinds.values(), strict=True))
    ]


def _read_digest_key(aside: Path) -> str | None:
    """Return the key of the hashes in `forgotten` and `mirror`, which are worth nothing without it; None if it is lost."""
    for (value,) in _query(aside, "SELECT value FROM meta WHERE key = 'digest_key'"):
        if isinstance(value, str) and re.fullmatch(r"(?:[0-9A-Fa-f]{2})+", value):
            return value
    return None


def _query(aside: Path, *statements: str) -> Iterator[_Row]:
    """Yield the rows of each statement up to the first that cannot be read."""
    try:
        connection = open_reader(aside, ITEMS)
    except StoreError:
        return
    with contextlib.closing(connection):
        for statement in statements:
            with contextlib.suppress(StoreError), translate_errors(aside, ITEMS):
                yield from connection.execute(statement)


def _is_item(row: _Row) -> bool:
    """Return True if a row has the types of an item."""
    kinds = {
        "id": str, "content": str, "terms": str, "folded": str, "hash": bytes, "text_hash": bytes, "scope": str, "tags": str,
        "agent": str, "kind": str, "pending": int, "created": float, "updated": float, "said": float, "reinforced": int,
        "speaker": str,
    }  # fmt: skip
    return all(isinstance(row[_COLUMNS.index(name)], kind) for name, kind in kinds.items())


def _scan_pages(path: Path) -> Iterator[_Row]:
    """Yield every row of items that stands whole on a leaf page, as far as the file can be read."""
    with contextlib.suppress(OSError), path.open("rb") as file:
        first = True
        while page := file.read(PAGE_SIZE):
            yield from _scan_page(page, 100 if first else 0)
            first = False


def _scan_page(page: bytes, start: int) -> Iterator[_Row]:
    if len(page) < start + _HEADER or page[start] != _LEAF:
        return
    (cells,) = struct.unpack_from(">H", page, start + 3)
    for number in range(cells):
        try:
            (at,) = struct.unpack_from(">H", page, start + _HEADER + 2 * number)
            row = _read_cell(page, at)
        except (IndexError, struct.error, UnicodeDecodeError, ValueError):
            continue
        if row is not None:
            yield row


def _read_cell(page: bytes, at: int) -> _Row | None:
    size, at = _read_varint(page, at)
    key, at = _read_varint(page, at)
    if at + size > len(page) or size > len(page) - 35:  # the rest stands on overflow pages
        return None
    header, place = _read_varint(page, at)
    end, body = at + header, at + header
    types = []
    while place < end:
        serial, place = _read_varint(page, place)
        types.append(serial)
    if len(types) != len(_COLUMNS):
        return None
    values: list[_Value] = []
    for serial in types:
        value, body = _read_value(page, body, serial)
        values.append(value)
    return key, *values[1:]  # the first column is the number of the row, which stands before its values


def _read_value(page: bytes, at: int, serial: int) -> tuple[_Value, int]:
    if serial in {0, 8, 9}:
        return (None if serial == 0 else serial - 8), at
    if serial == 7:
        return struct.unpack_from(">d", page, at)[0], at + 8
    if serial in _INTEGERS:
        size = _INTEGERS[serial]
        return int.from_bytes(page[at : at + size], "big", signed=True), at + size
    if serial < 12:
        raise ValueError("a serial type that is reserved")
    size = (serial - 12) // 2
    raw = page[at : at + size]
    return (raw.decode() if serial % 2 else raw), at + size


def _read_varint(page: bytes, at: int) -> tuple[int, int]:
    value = 0
    for offset in range(8):
        byte = page[at + offset]
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, at + offset + 1
    return value << 8 | page[at + 8], at + 9
