"""Rows about the mirror: the lines of notes as they last agreed with items, and keyed hashes of forgotten texts."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping

from memory_core.items.mirror.merging import RecordedLine
from memory_core.items.mirror.section import show
from memory_core.items.store.texts import fold
from memory_core.stores.sqlite import Connection


def make_digest(connection: Connection, text: str) -> bytes:
    """Return the hash of a text with the key of this file."""
    key = bytes.fromhex(str(connection.execute("SELECT value FROM meta WHERE key = 'digest_key'").get))
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=16, key=key).digest()


def remember_forgotten(connection: Connection, contents: Iterable[str], *, now: float) -> None:
    """Record that facts were forgotten."""
    connection.executemany(
        "INSERT OR REPLACE INTO forgotten VALUES (?, ?)", [(_digest_fact(connection, each), now) for each in contents]
    )


def allow_again(connection: Connection, content: str) -> None:
    """Record that a fact that was forgotten is wanted again."""
    connection.execute("DELETE FROM forgotten WHERE hash = ?", (_digest_fact(connection, content),))


def find_forgotten(connection: Connection, content: str) -> float | None:
    """Return when a fact was forgotten, in Unix seconds; None if it was not. Its line in a note will do."""
    found = connection.execute("SELECT at FROM forgotten WHERE hash = ?", (_digest_fact(connection, content),)).get
    return None if found is None else float(str(found))


def _digest_fact(connection: Connection, content: str) -> bytes:
    return make_digest(connection, fold(show(content)))


def list_notes(connection: Connection) -> list[str]:
    """Return the notes that mirror items."""
    return [str(row[0]) for row in connection.execute("SELECT DISTINCT note FROM mirror ORDER BY note")]


def load(connection: Connection, note: str) -> dict[str, RecordedLine]:
    """Return what is recorded of a note, by item."""
    found = connection.execute("SELECT item, digest, marked FROM mirror WHERE note = ?", (note,))
    return {str(row[0]): RecordedLine(bytes(row[1]), bool(row[2])) for row in found}


def let_go(connection: Connection, ids: Iterable[str]) -> None:
    """Let nothing follow any more from it that the lines of items are gone."""
    connection.executemany("UPDATE mirror SET digest = x'' WHERE item = ?", [(each,) for each in ids])


def find_elsewhere(connection: Connection, note: str) -> set[str]:
    """Return the items of which other notes have a line."""
    return {str(row[0]) for row in connection.execute("SELECT item FROM mirror WHERE note <> ?", (note,))}


def put(connection: Connection, note: str, rows: Mapping[str, RecordedLine]) -> None:
    """Record lines of a note."""
    connection.executemany(
        "INSERT OR REPLACE INTO mirror (item, note, digest, marked) VALUES (?, ?, ?, ?)",
        [(item, note, row.digest, int(row.marked)) for item, row in rows.items()],
    )


def find_unmirrored(connection: Connection, ids: Iterable[str]) -> list[str]:
    """Return the items of which no note has a line."""
    held = {str(row[0]) for row in connection.execute("SELECT item FROM mirror")}
    return [item for item in ids if item not in held]
