"""The three-way merge of a note, of what it last said, and of the items. Pure.

The person's edit wins. What is gone from the note is forgotten, unless much is gone at once: then an editor has more likely
written an old state of the file than a person deleted it all. What was forgotten is not taken up again from an old state either.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable, Mapping
from dataclasses import dataclass, field

from memory_core.items.mirror.section import MirrorLine, MirrorSection

MANY = 3  # lines that are gone at once, and more than half of all: they are hidden and asked about

Digest = Callable[[str], bytes]


@dataclass(frozen=True, slots=True)
class RecordedLine:
    """A line of a note as it was when note and item last agreed.

    Attributes:
        digest: The keyed hash of its text.
        marked: The line carries the item's id; else it is known by its text.
    """

    digest: bytes
    marked: bool


@dataclass(slots=True)
class MirrorChanges:
    """The outcome of a merge.

    Attributes:
        agreed: Lines that are as the item is, by item: recorded anew where the note's text is not the recorded one.
        edited: New texts of items, by id.
        added: Texts that no item has.
        gone: Items to forget.
        hidden: Items to hide and to ask about.
        moved: Items whose lines are gone from this note and stand in another one.
        refused: Edited items whose new texts cannot be items; the merge itself refuses none.
        seen: Items that have a line.
    """

    agreed: dict[str, str] = field(default_factory=dict)
    edited: dict[str, str] = field(default_factory=dict)
    added: list[str] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)
    hidden: list[str] = field(default_factory=list)
    moved: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)


def merge(
    section: MirrorSection,
    rows: Mapping[str, RecordedLine],
    items: Mapping[str, str],
    *,
    pending: Collection[str],
    others: Iterable[MirrorLine],
    elsewhere: Container[str],
    digest: Digest,
    is_forgotten: Callable[[str], bool],
) -> MirrorChanges:
    """Compare a note with what is known of it.

    Anything that can write a note can put lines into it. So a new line counts only in a list that memory-core began and closed
    in this note, and a line with the id of an item that another note mirrors is a copy, of which nothing is learned.

    Args:
        section: Of the note.
        rows: What is recorded of the note, by item.
        items: The texts of the items as their lines would have them, by id; those that are gone are missing.
        pending: The items that are hidden: no line of theirs is missed.
        others: The lines of the other notes: what stands there was moved, and is not gone.
        elsewhere: The items that other notes mirror.
        digest: The keyed hash of a text.
        is_forgotten: True for the text of an item that was forgotten.
    """
    changes = MirrorChanges()
    by_text = {row.digest: item for item, row in rows.items() if not row.marked}
    for line in section.lines:
        if not line.text or line.id in changes.seen:
            continue
        if line.id is not None and line.id in items:
            changes.seen.add(line.id)
            row = rows.get(line.id)
            if row is None and line.id in elsewhere:
                continue
            if row is None or row.digest != digest(line.text):
                (changes.agreed if line.text == items[line.id] else changes.edited)[line.id] = line.text
        elif (known := by_text.get(digest(line.text))) is not None:
            changes.seen.add(known)
        elif any(each in items and each in rows and rows[each].marked for each in line.beside) and not is_forgotten(
            line.text
        ):
            changes.added.append(line.text)
    if section.is_there:
        awaited = [item for item, row in rows.items() if item in items and item not in pending and row.digest]
        missing = [item for item in awaited if item not in changes.seen]
        if missing:
            moved = {line.id or by_text.get(digest(line.text)) for line in others}
            changes.moved = [item for item in missing if item in moved]
            missing = [item for item in missing if item not in moved]
        if len(missing) >= MANY and 2 * len(missing) > len(awaited):
            changes.hidden = missing
        else:
            changes.gone = missing
    return changes
