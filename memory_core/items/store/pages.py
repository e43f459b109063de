"""Rows of a table read straight from the pages of a damaged file, when the tree above them cannot be followed.

The layout is https://www.sqlite.org/fileformat.html: leaf pages of tables (sections 1.6 and 2.1). Rows that overflow their page
are left out, and so is the journal, which is not damaged by what damages the file.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

Value = int | float | str | bytes | None

_LEAF = 0x0D
_HEADER = 8  # bytes of a leaf page's header
_INTEGERS = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}  # bytes by serial type


def scan_rows(path: Path, *, columns: int, page_bytes: int) -> Iterator[tuple[int, tuple[Value, ...]]]:
    """Yield the number and the values of every row of so many columns that stands whole on a leaf page."""
    with path.open("rb") as file:
        first = True
        while page := file.read(page_bytes):
            yield from _scan_page(page, 100 if first else 0, columns)
            first = False


def _scan_page(page: bytes, start: int, columns: int) -> Iterator[tuple[int, tuple[Value, ...]]]:
    if len(page) < start + _HEADER or page[start] != _LEAF:
        return
    (cells,) = struct.unpack_from(">H", page, start + 3)
    for number in range(cells):
        try:
            (at,) = struct.unpack_from(">H", page, start + _HEADER + 2 * number)
            row = _read_cell(page, at, columns)
        except (IndexError, struct.error, UnicodeDecodeError, ValueError):
            continue
        if row is not None:
            yield row


def _read_cell(page: bytes, at: int, columns: int) -> tuple[int, tuple[Value, ...]] | None:
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
    if len(types) != columns:
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
