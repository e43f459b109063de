"""Takes a text out of old versions, and remembers that the bytes of what was deleted have yet to be overwritten."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Literal, cast

from memory_core.history.store import deltas, rows
from memory_core.sources.notes import hash_bytes
from memory_core.sqlite import Connection
from memory_core.text.wording import Wording

PURGED = "[purged]"  # stands in old versions where the text stood

Mark = tuple[Literal["dropped", "purged"], str]  # what was deleted, and which deletion it was


def find_versions(connection: Connection, wording: Wording) -> list[int]:
    """Return the ids of the versions whose bytes hold a text.

    Raises:
        DamagedBody: One cannot be unpacked.
    """
    return [number for number, old, new, _ in _walk(connection, _replacing(wording)) if old != new]


def rewrite_versions(connection: Connection, wording: Wording) -> list[int]:
    """Put `PURGED` in the place of a text in all versions, inside a write transaction; return the ids of those that held it.

    Raises:
        DamagedBody: One cannot be unpacked.
    """
    changed = []
    for number, old, new, body in _walk(connection, _replacing(wording)):
        if body is not None:
            connection.execute("UPDATE versions SET hash = ?, body = ? WHERE id = ?", (hash_bytes(new), body, number))
        if old != new:
            changed.append(number)
    return changed


def _replacing(wording: Wording) -> Callable[[bytes], bytes]:
    def replace(data: bytes) -> bytes:
        parts = data.decode(errors="surrogateescape").split(PURGED)  # a mark stays what it is
        return PURGED.join(wording.replace(part, PURGED) for part in parts).encode(errors="surrogateescape")

    return replace


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
