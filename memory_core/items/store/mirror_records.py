"""Records of the notes that mirror items: their lines as they last agreed with items, and keyed hashes of forgotten texts."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence

from memory_core.errors import InvalidArgument, NotIndexed
from memory_core.items.mirror import MirrorChanges, MirrorLine, MirrorSection, RecordedLine, merge, show
from memory_core.items.records import Draft, check_draft
from memory_core.items.store import rows
from memory_core.items.store.rows import fold, index_text
from memory_core.items.store.store import ItemStore
from memory_core.stores.sqlite import Connection


class MirrorRecords:
    """Records of one items file about notes.

    Args:
        store: The file.
        clock: Unix seconds.
    """

    def __init__(self, store: ItemStore, clock: Callable[[], float]) -> None:
        self._store = store
        self._clock = clock

    def was_forgotten(self, content: str, since: float) -> bool:
        """Return True if a fact was forgotten at that time, in Unix seconds, or after it."""
        try:
            with self._store.read() as connection:
                at = _find_forgotten(connection, content)
        except NotIndexed:
            return False
        return at is not None and at >= since

    def list_notes(self) -> list[str]:
        """Return the paths of the notes that mirror items."""
        try:
            with self._store.read() as connection:
                found = connection.execute("SELECT DISTINCT note FROM mirror ORDER BY note")
                return [str(row[0]) for row in found]
        except NotIndexed:
            return []

    def lacks_lines(self, note: str, section: MirrorSection) -> bool:
        """Return True if lines that were recorded of a note are gone from it, or other ones."""
        with self._store.read() as connection:
            known = _load(connection, note)
            texts = {_make_digest(connection, line.text) for line in section.lines if line.id is None}
        ids = {line.id for line in section.lines}
        return any(item not in ids and (row.marked or row.digest not in texts) for item, row in known.items())

    def merge_note(self, note: str, section: MirrorSection, others: Sequence[MirrorLine]) -> MirrorChanges:
        """Take over what a person has changed in a note; texts without an item, and what is gone, are left to the caller.

        Args:
            note: Its path.
            section: What it says.
            others: The lines of the other notes, where lines of this one are gone.
        """
        with self._store.write() as connection:
            known = _load(connection, note)
            ids = [*known, *(line.id for line in section.lines if line.id is not None)]
            items = {item.id: item for item in rows.load_by_ids(connection, ids)}

            def digest(text: str) -> bytes:
                return _make_digest(connection, text)

            changes = merge(
                section, known, {each: show(item.content) for each, item in items.items()},
                pending={each for each, item in items.items() if item.pending}, others=others,
                elsewhere=_find_elsewhere(connection, note), digest=digest,
                is_forgotten=lambda text: _find_forgotten(connection, text) is not None,
            )  # fmt: skip
            now = self._clock()
            rows.promote(connection, changes.seen, now=now)  # lines that were gone are back
            for item_id, content in changes.edited.items():
                try:
                    draft = check_draft(Draft(content=content, tags=items[item_id].tags))
                except InvalidArgument:
                    changes.refused.append(item_id)
                else:
                    rows.edit(connection, item_id, draft, index_text(draft), now=now)
            rows.hide(connection, [*changes.hidden, *changes.refused], now=now)
            said = changes.agreed | changes.edited
            lines = {
                each: RecordedLine(digest(text), True) for each, text in said.items() if each not in changes.refused
            }
            _put(connection, note, lines)  # what was refused is an edit again next time
            return changes

    def record_added(self, note: str, added: Sequence[tuple[str, str]]) -> None:
        """Record lines that a person has written, each with its item.

        A line that says what an item with a line says already is recorded, too, under a name of its own: nothing follows from
        it later.
        """
        with self._store.write() as connection:
            for item, text in added:
                digest = _make_digest(connection, text)
                held = not _find_unmirrored(connection, [item])
                _put(connection, note, {f"line:{digest.hex()}" if held else item: RecordedLine(digest, False)})

    def record_lines(self, note: str, lines: Mapping[str, str]) -> None:
        """Record the lines with ids that a note has, by item."""
        with self._store.write() as connection:
            held = {each: RecordedLine(_make_digest(connection, text), True) for each, text in lines.items()}
            _put(connection, note, held)

    def find_unmirrored(self, ids: Iterable[str]) -> list[str]:
        """Return the items of which no note has a line."""
        with self._store.read() as connection:
            return _find_unmirrored(connection, ids)


def _make_digest(connection: Connection, text: str) -> bytes:
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


def _find_forgotten(connection: Connection, content: str) -> float | None:
    """Return when a fact was forgotten, in Unix seconds; None if it was not. Its line in a note will do."""
    found = connection.execute("SELECT at FROM forgotten WHERE hash = ?", (_digest_fact(connection, content),)).get
    return None if found is None else float(str(found))


def _digest_fact(connection: Connection, content: str) -> bytes:
    return _make_digest(connection, fold(show(content)))


def _load(connection: Connection, note: str) -> dict[str, RecordedLine]:
    """Return what is recorded of a note, by item."""
    found = connection.execute("SELECT item, digest, marked FROM mirror WHERE note = ?", (note,))
    return {str(row[0]): RecordedLine(bytes(row[1]), bool(row[2])) for row in found}


def let_go(connection: Connection, ids: Iterable[str]) -> None:
    """Let nothing follow any more from it that the lines of items are gone."""
    connection.executemany("UPDATE mirror SET digest = x'' WHERE item = ?", [(each,) for each in ids])


def _find_elsewhere(connection: Connection, note: str) -> set[str]:
    """Return the items of which other notes have a line."""
    return {str(row[0]) for row in connection.execute("SELECT item FROM mirror WHERE note <> ?", (note,))}


def _put(connection: Connection, note: str, lines: Mapping[str, RecordedLine]) -> None:
    """Record lines of a note."""
    connection.executemany(
        "INSERT OR REPLACE INTO mirror (item, note, digest, marked) VALUES (?, ?, ?, ?)",
        [(item, note, line.digest, int(line.marked)) for item, line in lines.items()],
    )


def _find_unmirrored(connection: Connection, ids: Iterable[str]) -> list[str]:
    """Return the items of which no note has a line."""
    held = {str(row[0]) for row in connection.execute("SELECT item FROM mirror")}
    return [item for item in ids if item not in held]
