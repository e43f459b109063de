"""Takes a text out of old versions, and remembers that the bytes of what was deleted have yet to be overwritten."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple, cast

from memory_core.history.records import NoteKey
from memory_core.history.recovering import PURGED, make_tag, purge
from memory_core.history.store import deltas, rows
from memory_core.sources.notes import hash_bytes
from memory_core.stores.sqlite import Connection
from memory_core.text.wording import Wording


class Purged(NamedTuple):
    """The purges of a history, as far as they are known.

    Attributes:
        tags: Of the texts, as bits; see `recovering.make_tag`.
        notes: True if whole notes were dropped for their paths, so that nothing is left to tell them by.
        versions: The bytes of versions with marks, by note.
    """

    tags: int
    notes: bool
    versions: dict[NoteKey, list[bytes]]


Mark = tuple[Literal["dropped", "purged"], str]  # what was deleted, and which deletion it was


def find_versions(connection: Connection, wording: Wording) -> list[int]:
    """Return the ids of the versions whose bytes hold a text.

    Raises:
        DamagedBody: One cannot be unpacked.
    """
    return [number for number, old, new, _ in _walk(connection, lambda data: purge(data, [wording])) if old != new]


def rewrite_versions(connection: Connection, wording: Wording) -> list[int]:
    """Put `PURGED` in the place of a text in all versions, inside a write transaction; return the ids of those that held it.

    Raises:
        DamagedBody: One cannot be unpacked.
    """
    changed = []
    for number, old, new, body in _walk(connection, lambda data: purge(data, [wording])):
        if body is not None:
            connection.execute("UPDATE versions SET hash = ?, body = ? WHERE id = ?", (hash_bytes(new), body, number))
        if old != new:
            changed.append(number)
    return changed


def _walk(
    connection: Connection, replace: Callable[[bytes], bytes]
) -> Iterator[tuple[int, bytes, bytes, bytes | None]]:
    """Yield (id, bytes, bytes as they shall be, their body if it becomes another); a version comes after its base."""
    children = defaultdict[int | None, list[int]](list)
    for number, base in connection.execute("SELECT id, base FROM versions"):
        children[base].append(number)
    waiting = [(number, b"", b"") for number in children[None]]
    while waiting:
        number, old_base, new_base = waiting.pop()
        body = cast("bytes", connection.execute("SELECT body FROM versions WHERE id = ?", (number,)).get)
        old = deltas.unpack(body, old_base)
        new = replace(old)
        is_packed_alike = (old, old_base) == (new, new_base)
        yield number, old, new, None if is_packed_alike else deltas.pack(new, new_base)
        waiting += [(child, old, new) for child in children[number]]


def mark(connection: Connection, kind: Literal["dropped", "purged"]) -> None:
    """Remember inside a write transaction that it deletes something; a purge is not forgotten for what was merely dropped."""
    connection.execute(
        "INSERT INTO meta VALUES ('wipe', ?1 || ':' || hex(randomblob(8))) ON CONFLICT DO UPDATE"
        " SET value = iif(value LIKE 'purged:%', 'purged', ?1) || ':' || hex(randomblob(8))",
        (kind,),
    )


def load_mark(connection: Connection) -> Mark | None:
    """Return what was deleted without its bytes having been overwritten; None if nothing was."""
    found = connection.execute("SELECT value FROM meta WHERE key = 'wipe'").get
    return None if found is None else cast("Mark", tuple(str(found).split(":", 1)))


def remove_mark(connection: Connection, done: Mark) -> None:
    """Forget a deletion whose bytes were overwritten; a later one stays."""
    connection.execute("DELETE FROM meta WHERE key = 'wipe' AND value = ?", (":".join(done),))


def drop_notes(connection: Connection, wording: Wording) -> list[str]:
    """Drop all versions of notes whose path holds a text, inside a write transaction; return those paths."""
    gone = [version for version in rows.load_all(connection) if wording.stands_in(version.key.path)]
    rows.drop_versions(connection, [version.id for version in gone])
    return sorted({version.key.path for version in gone})


def remember(connection: Connection, wording: Wording, *, notes: bool) -> None:
    """Remember inside a write transaction that a text was purged, by its tag, and with `notes` that whole notes were."""
    for key, value in (("purged_tags", 1 << make_tag(wording)), ("purged_notes", int(notes))):
        connection.execute(
            "INSERT INTO meta VALUES (?1, ?2) ON CONFLICT DO UPDATE SET value = CAST(value AS INTEGER) | ?2",
            (key, str(value)),
        )


def load_purged(connection: Connection) -> Purged:
    """Return what is known of earlier purges.

    Raises:
        DamagedBody: A version cannot be unpacked.
    """
    found = dict(connection.execute("SELECT key, value FROM meta WHERE key IN ('purged_tags', 'purged_notes')"))
    tags = int(found.get("purged_tags", 0))
    versions = defaultdict[NoteKey, list[bytes]](list)
    if tags:
        keys = {version.id: version.key for version in rows.load_all(connection)}
        for number, data, _, _ in _walk(connection, lambda data: data):
            if PURGED.encode() in data and data not in versions[keys[number]]:
                versions[keys[number]].append(data)
    return Purged(tags, bool(int(found.get("purged_notes", 0))), dict(versions))
