"""A damaged items file: found, and read as far as it can be read."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path

from memory_core.errors import StoreError
from memory_core.items.store import pages
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
        for key, values in pages.scan_rows(aside, columns=len(COLUMNS), page_bytes=sqlite.PAGE_SIZE):
            yield key, *values[1:]


def _is_item(row: Row) -> bool:
    """Return True if a row has the types of an item."""
    kinds = {
        "id": str, "content": str, "terms": str, "folded": str, "hash": bytes, "text_hash": bytes, "scope": str, "tags": str,
        "agent": str, "kind": str, "pending": int, "created": float, "updated": float, "said": float, "reinforced": int,
        "speaker": str,
    }  # fmt: skip
    return all(isinstance(row[COLUMNS.index(name)], kind) for name, kind in kinds.items())
