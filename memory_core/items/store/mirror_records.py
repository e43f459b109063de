"""Records of the notes that mirror items: commands and questions, each in a transaction of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from memory_core.errors import InvalidArgument, NotIndexed
from memory_core.items.drafts import check_draft
from memory_core.items.mirror.merging import MirrorChanges, RecordedLine, merge
from memory_core.items.mirror.section import MirrorLine, MirrorSection, show
from memory_core.items.records import Draft
from memory_core.items.store import mirror_rows, rows
from memory_core.items.store.store import ItemStore
from memory_core.items.store.texts import index_text


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
                at = mirror_rows.find_forgotten(connection, content)
        except NotIndexed:
            return False
        return at is not None and at >= since

    def list_notes(self) -> list[str]:
        """Return the paths of the notes that mirror items."""
        try:
            with self._store.read() as connection:
                return mirror_rows.list_notes(connection)
        except NotIndexed:
            return []

    def lacks_lines(self, note: str, section: MirrorSection) -> bool:
        """Return True if lines that were recorded of a note are gone from it, or other ones."""
        with self._store.read() as connection:
            known = mirror_rows.load(connection, note)
            texts = {mirror_rows.make_digest(connection, line.text) for line in section.lines if line.id is None}
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
            known = mirror_rows.load(connection, note)
            ids = [*known, *(line.id for line in section.lines if line.id is not None)]
            items = {item.id: item for item in rows.load_by_ids(connection, ids)}

            def digest(text: str) -> bytes:
                return mirror_rows.make_digest(connection, text)

            changes = merge(
                section, known, {each: show(item.content) for each, item in items.items()},
                pending={each for each, item in items.items() if item.pending}, others=others,
                elsewhere=mirror_rows.find_elsewhere(connection, note), digest=digest,
                is_forgotten=lambda text: mirror_rows.find_forgotten(connection, text) is not None,
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
            mirror_rows.put(connection, note, lines)  # what was refused is an edit again next time
            return changes

    def record_added(self, note: str, added: Sequence[tuple[str, str]]) -> None:
        """Record lines that a person has written, each with its item.

        A line that says what an item with a line says already is recorded, too, under a name of its own: nothing follows from
        it later.
        """
        with self._store.write() as connection:
            for item, text in added:
                digest = mirror_rows.make_digest(connection, text)
                held = not mirror_rows.find_unmirrored(connection, [item])
                mirror_rows.put(
                    connection, note, {f"line:{digest.hex()}" if held else item: RecordedLine(digest, False)}
                )

    def record_lines(self, note: str, lines: Mapping[str, str]) -> None:
        """Record the lines with ids that a note has, by item."""
        with self._store.write() as connection:
            held = {each: RecordedLine(mirror_rows.make_digest(connection, text), True) for each, text in lines.items()}
            mirror_rows.put(connection, note, held)

    def find_unmirrored(self, ids: Iterable[str]) -> list[str]:
        """Return the items of which no note has a line."""
        with self._store.read() as connection:
            return mirror_rows.find_unmirrored(connection, ids)
