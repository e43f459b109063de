"""Rows about the mirror: the lines of notes as they last agreed with items, and keyed hashes of forgotten texts."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping

from memory_core.items.mirror.merging import RecordedLine
from memory_core.sqlite import Connection


def make_digest(connection: Connection, folded: str) -> bytes:
    """Return the hash of a text with the key of this file."""
    key = bytes.fromhex(str(connection.execute("SELECT value FROM meta WHERE key = 'digest_key'").get))
    return hashlib.blake2b(folded.encode("utf-8", "replace"), digest_size=16, key=key).digest()


def remember_forgotten(connection: Connection, folded: Iterable[str], *, now: float) -> None:
    """Record that texts were forgotten."""
    connection.executemany(
        "INSERT OR REPLACE INTO forgotten VALUES (?, ?)", [(make_digest(connection, text), now) for text in folded]
    )


def allow_again(connection: Connection, folded: str) -> None:
    """Record that a text that was forgotten is wanted again."""
    connection.execute("DELETE FROM forgotten WHERE hash = ?", (make_digest(connection, folded),))


def find_forgotten(connection: Connection, folded: str) -> float | None:
    """Return when a text was forgotten, in Unix seconds; None if it was not."""
    found = connection.execute("SELECT at FROM forgotten WHERE hash = ?", (make_digest(connection, folded),)).get
    return None if found is None else float(str(found))


def list_notes(connection: Connection) -> list[str]:
    """Return the notes that mirror items."""
    return [str(row[0]) for row in connection.execute("SELECT DISTINCT note FROM mirror ORDER BY note")]


def load(connection: Connection, note: str) -> dict[str, RecordedLine]:
    """Return what is recorded of a note, by item."""
    found = connection.execute("SELECT item, digest, marked FROM mirror WHERE note = ?", (note,))
    return {str(row[0]): RecordedLine(bytes(row[1]), bool(row[2])) for row in found}


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
