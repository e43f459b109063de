"""Reads what can be read of a damaged items file.

Rows are read in SQL from both ends of a table. Where that meets damage, what is missing is looked for on the pages of the file;
the layout is https://www.sqlite.org/fileformat.html, sections 1.6 and 2.1. The journal is not looked through: it is not damaged
by what damages the file.
"""

from __future__ import annotations

import contextlib
import json
import logging
import re
import struct
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import NoneType

from memory_core.errors import StoreError
from memory_core.items.records import FORMER_AUTHORS
from memory_core.items.store import rows
from memory_core.records import AUTHORS
from memory_core.stores.sqlite.connections import PAGE_SIZE, Connection, FileKind, open_reader, translate_errors
from memory_core.stores.sqlite.database import set_meta

log = logging.getLogger(__name__)

MOST_SECONDS = 1e11  # of a time, in the year 5138

_Value = int | float | str | bytes | None
_Row = tuple[_Value, ...]
_Kinds = dict[str, type | tuple[type, ...]]  # of the values of columns, in their order

_TIME = (float, int)  # SQLite stores a whole number as an integer
_META: _Kinds = {"key": str, "value": str}

# What is saved, the columns of the primary key first.
TABLES: dict[str, _Kinds] = {
    "items": {
        "key": int, "id": str, "content": str, "terms": str, "folded": str, "hash": bytes, "text_hash": bytes, "scope": str,
        "tags": str, "agent": str, "kind": str, "pending": int, "created": _TIME, "updated": _TIME, "said": _TIME,
        "recalled": (*_TIME, NoneType), "reinforced": int, "session": (str, NoneType), "speaker": str,
        "superseded_by": (str, NoneType),
    },
    "sayings": {"item": int, "session": str, "said": _TIME},
    "origins": {"item": int, "host": str, "path": str, "line": int, "at": str},
    "forgotten": {"hash": bytes, "at": float},  # with an integer it is a record of the index items_text
    "mirror": {"note": str, "item": str, "digest": bytes, "marked": int},
}  # fmt: skip

_TABLE_LEAF, _INDEX_LEAF, _INDEX_NODE = 0x0D, 0x0A, 0x02
_HEADERS = {_TABLE_LEAF: 8, _INDEX_LEAF: 8, _INDEX_NODE: 12}  # bytes, by the kind of a page that holds records
_INTEGERS = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}  # bytes by serial type


def restore(connection: Connection, damaged: Path, kind: FileKind) -> int:
    """Write what can be read of a damaged file into a new one; return the number of items."""
    records = list(_scan_pages(damaged))
    meta = _read_table(damaged, kind, "meta", _META, records)
    digest_key = next((str(value) for key, value in meta if key == "digest_key" and _is_hex(value)), None)
    if digest_key is not None:
        set_meta(connection, "digest_key", digest_key)
    keys: set[_Value] = set()
    for table, kinds in TABLES.items():
        found = _read_table(damaged, kind, table, kinds, records)
        if table == "items":
            found = [mend(row) for row in found]
            keys = {row[0] for row in found}
        elif next(iter(kinds)) == "item":
            found = [row for row in found if row[0] in keys]
        elif digest_key is None:  # without which hashes are worth nothing
            continue
        marks = ", ".join("?" * len(kinds))
        connection.executemany(f"INSERT OR IGNORE INTO {table} ({', '.join(kinds)}) VALUES ({marks})", found)
    return rows.count(connection, rows.Filter())


def _is_hex(value: _Value) -> bool:
    return re.fullmatch(r"(?:[0-9A-Fa-f]{2})+", str(value)) is not None


def mend(row: _Row) -> _Row:
    """Return a row of items with a default in place of every value that no item can have."""
    facts = dict(zip(TABLES["items"], row, strict=True))
    try:
        tags = json.loads(str(facts["tags"]))
    except ValueError:
        tags = None
    if not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags):
        facts["tags"] = "[]"
    if FORMER_AUTHORS.get(str(facts["speaker"]), facts["speaker"]) not in AUTHORS:
        facts["speaker"] = "import"
    for name in ("created", "updated", "said"):
        if not 0 <= float(str(facts[name])) < MOST_SECONDS:
            facts[name] = 0
    return tuple(facts.values())


def _read_table(damaged: Path, kind: FileKind, table: str, kinds: _Kinds, records: Iterable[_Row]) -> list[_Row]:
    """Return the rows of a table, each once: up to the first damage, back to the last, and those that some page holds."""
    found: list[_Row] = []
    for way in ("ASC", "DESC"):
        try:
            with (
                translate_errors(damaged, kind),
                contextlib.closing(open_reader(damaged, damaged=True)) as connection,
            ):
                found.extend(connection.execute(f"SELECT {', '.join(kinds)} FROM {table} ORDER BY 1 {way}"))
            records = ()
            break
        except (StoreError, UnicodeDecodeError) as error:
            log.info("%s: not all of %s can be read: %s", damaged, table, error)
    unique = dict.fromkeys(row for row in (*found, *records) if _fits(row, kinds))
    return list(unique if table != "items" else {row[0]: row for row in reversed(unique)}.values())


def _fits(row: _Row, kinds: _Kinds) -> bool:
    return len(row) == len(kinds) and all(map(isinstance, row, kinds.values()))


def _scan_pages(path: Path) -> Iterator[_Row]:
    """Yield the records of all tables and indexes, as far as they stand on pages that can be read."""
    try:
        data = path.read_bytes()
    except OSError as error:
        log.warning("%s: its pages cannot be read: %s", path, error)
        return
    for base in range(0, len(data), PAGE_SIZE):
        start = base or 100  # behind the header of the file
        kind = data[start] if start < len(data) and data[start] in _HEADERS else None
        if kind is None:  # where the header is lost, an item, unlike a shorter record, is known by its many values
            places: Iterable[int] = range(start, base + PAGE_SIZE)
        else:
            at = start + _HEADERS[kind]
            cells = int.from_bytes(data[start + 3 : start + 5], "big")
            places = (base + each for (each,) in struct.iter_unpack(">H", data[at : at + 2 * cells]))
        for place in places:
            with contextlib.suppress(
                IndexError, struct.error, ValueError, OverflowError
            ):  # no record, or a damaged one
                record = _read_cell(data, kind or _TABLE_LEAF, place)
                if kind or len(record) == len(TABLES["items"]):
                    yield record


def _read_cell(data: bytes, kind: int, at: int) -> _Row:
    """Return the values of a record; the number of a row of a table stands in place of a first NULL.

    Raises:
        ValueError, IndexError, struct.error, OverflowError: There is no whole record.
    """
    number = None
    size, at = _read_varint(data, at + (4 if kind == _INDEX_NODE else 0))
    if kind == _TABLE_LEAF:
        number, at = _read_varint(data, at)
    payload = _read_payload(data, at, size, most=_MOST_IN_TABLE if kind == _TABLE_LEAF else _MOST_IN_INDEX)
    end, place = _read_varint(payload, 0)
    values, body = list[_Value](), end
    while place < end:
        serial, place = _read_varint(payload, place)
        value, body = _read_value(payload, body, serial)
        values.append(value)
    return (number, *values[1:]) if number is not None and values and values[0] is None else tuple(values)


_MOST_IN_TABLE = PAGE_SIZE - 35  # bytes of a record on its page; of a longer one the rest is on overflow pages
_MOST_IN_INDEX = (PAGE_SIZE - 12) * 64 // 255 - 23
_LEAST = (PAGE_SIZE - 12) * 32 // 255 - 23  # that stay on the page then


def _read_payload(data: bytes, at: int, size: int, *, most: int) -> bytes:
    if size <= most:
        return data[at : at + size]
    here = _LEAST + (size - _LEAST) % (PAGE_SIZE - 4)
    here = here if here <= most else _LEAST
    payload, more = data[at : at + here], int.from_bytes(data[at + here : at + here + 4], "big")
    while more and len(payload) < size <= len(data):
        page = data[(more - 1) * PAGE_SIZE : more * PAGE_SIZE]
        payload += page[4 : 4 + size - len(payload)]
        more = int.from_bytes(page[:4], "big")
    if len(payload) < size:
        raise ValueError("the rest of a record is lost")
    return payload


def _read_value(record: bytes, at: int, serial: int) -> tuple[_Value, int]:
    if serial in {0, 8, 9}:
        return (None if serial == 0 else serial - 8), at
    if serial == 7:
        return struct.unpack_from(">d", record, at)[0], at + 8
    size = _INTEGERS[serial] if serial in _INTEGERS else (serial - 12) // 2
    raw = record[at : at + size]
    if size < 0 or len(raw) < size:
        raise ValueError("no value of SQLite's")
    if serial in _INTEGERS:
        return int.from_bytes(raw, "big", signed=True), at + size
    return (raw.decode(errors="replace") if serial % 2 else raw), at + size


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for offset in range(8):
        byte = data[at + offset]
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, at + offset + 1
    return value << 8 | data[at + 8], at + 9
