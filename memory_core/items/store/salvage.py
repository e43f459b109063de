"""A damaged items file: found, and read as far as it can be read.

Rows are read in SQL from both ends of a table. Where the tree above them cannot be followed, or the header is gone, they are read
straight from the pages; the layout is https://www.sqlite.org/fileformat.html: leaf pages of tables (sections 1.6 and 2.1). Rows
that overflow their page are left out, and so is the journal, which is not damaged by what damages the file.
"""

from __future__ import annotations

import contextlib
import re
import struct
from collections.abc import Iterator
from pathlib import Path

from memory_core.errors import StoreError
from memory_core.items.store.schema import ITEMS, MIGRATIONS
from memory_core.stores import sqlite

COLUMNS = (
    "key", "id", "content", "terms", "folded", "hash", "text_hash", "scope", "tags", "agent", "kind", "pending", "created",
    "updated", "said", "recalled", "reinforced", "session", "speaker", "superseded_by",
)  # fmt: skip

# What else is saved, with the types of the columns, in the order of the primary keys.
TABLES: dict[str, dict[str, type]] = {
    "sayings": {"item": int, "session": str, "said": float},
    "forgotten": {"hash": bytes, "at": float},
    "mirror": {"note": str, "item": str, "digest": bytes, "marked": int},
}

Row = tuple[object, ...]
Value = int | float | str | bytes | None

_LEAF = 0x0D
_HEADER = 8  # bytes of a leaf page's header
_INTEGERS = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}  # bytes by serial type


def find_damage(path: Path) -> str | None:
    """Return how an items file is damaged; see `sqlite.find_damage`."""
    return sqlite.find_damage(path, ITEMS, MIGRATIONS)


def read_rows(aside: Path) -> Iterator[Row]:
    """Yield the rows of items that can be read in a damaged file, each once, in the order of `COLUMNS`.

    The table is read from its beginning up to the damage, and from its end back to it. What is missing then is looked for on
    the pages of the file.
    """
    seen: set[object] = set()
    for row in (*_query_rows(aside), *_scan_rows(aside)):
        if row[0] not in seen and _is_item(row):
            seen.add(row[0])
            yield row


def read_table(aside: Path, table: str) -> list[Row]:
    """Return the rows of one of `TABLES` that can be read from its ends up to the damage, each once."""
    kinds = TABLES[table]
    rows = _query(aside, *(f"SELECT {', '.join(kinds)} FROM {table} ORDER BY 1 {way}" for way in ("ASC", "DESC")))
    return [
        row
        for row in dict.fromkeys(rows)
        if all(isinstance(value, kind) for value, kind in zip(row, kinds.values(), strict=True))
    ]


def read_digest_key(aside: Path) -> str | None:
    """Return the key of the hashes in `forgotten` and `mirror`, which are worth nothing without it; None if it is lost."""
    for (value,) in _query(aside, "SELECT value FROM meta WHERE key = 'digest_key'"):
        if isinstance(value, str) and re.fullmatch(r"(?:[0-9A-Fa-f]{2})+", value):
            return value
    return None


def _query_rows(aside: Path) -> Iterator[Row]:
    columns = ", ".join(COLUMNS)
    return _query(aside, *(f"SELECT {columns} FROM items ORDER BY key {way}" for way in ("ASC", "DESC")))


def _query(aside: Path, *statements: str) -> Iterator[Row]:
    """Yield the rows of each statement up to the first that cannot be read."""
    try:
        connection = sqlite.open_reader(aside, ITEMS)
    except StoreError:
        return
    with contextlib.closing(connection):
        for statement in statements:
            with contextlib.suppress(StoreError), sqlite.translate_errors(aside, ITEMS):
                yield from connection.execute(statement)


def _scan_rows(aside: Path) -> Iterator[Row]:
    """Yield rows from the leaf pages; the first column of a row is its number, which stands before its values."""
    with contextlib.suppress(OSError):
        for key, values in _scan_pages(aside):
            yield key, *values[1:]


def _is_item(row: Row) -> bool:
    """Return True if a row has the types of an item."""
    kinds = {
        "id": str, "content": str, "terms": str, "folded": str, "hash": bytes, "text_hash": bytes, "scope": str, "tags": str,
        "agent": str, "kind": str, "pending": int, "created": float, "updated": float, "said": float, "reinforced": int,
        "speaker": str,
    }  # fmt: skip
    return all(isinstance(row[COLUMNS.index(name)], kind) for name, kind in kinds.items())


def _scan_pages(path: Path) -> Iterator[tuple[int, tuple[Value, ...]]]:
    """Yield the number and the values of every row of items that stands whole on a leaf page."""
    with path.open("rb") as file:
        first = True
        while page := file.read(sqlite.PAGE_SIZE):
            yield from _scan_page(page, 100 if first else 0)
            first = False


def _scan_page(page: bytes, start: int) -> Iterator[tuple[int, tuple[Value, ...]]]:
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


def _read_cell(page: bytes, at: int) -> tuple[int, tuple[Value, ...]] | None:
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
    if len(types) != len(COLUMNS):
        return None
    values: list[Value] = []
    for serial in types:
        value, body = _read_value(page, body, serial)
        values.append(value)
    return key, tuple(values)


def _read_value(page: bytes, at: int, serial: int) -> tuple[Value, int]:
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
