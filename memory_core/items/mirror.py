"""Keeps daily notes and items alike: appends what was captured, and takes over what a person has changed.

A section of a daily note mirrors items: each is one list item, with its id in a comment. It is written, read, and compared with
what is recorded of it.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from memory_core.atomic import locked
from memory_core.config.agent import LOCAL, AgentConfig
from memory_core.errors import InvalidArgument
from memory_core.items.destination import find_destination
from memory_core.items.records import Item
from memory_core.records import Origin
from memory_core.sources import writer
from memory_core.text.markdown import Line, parse_heading, scan, split_lines
from memory_core.text.paragraphs import scan_blocks

if TYPE_CHECKING:
    from memory_core.items.items import Items
    from memory_core.items.store.file import ItemsFile

log = logging.getLogger(__name__)

HEADING = "Learned from conversations"
END = "<!-- end of what was learned -->"  # below each list: what is appended to the note lands behind it
_MARK = re.compile(r"<!--\s*m:(?P<id>[0-9a-f]{4,32})\s*-->\Z")
_BULLET = re.compile(r"[-*+]\s+")
MANY = 3  # lines that are gone at once, and more than half of all: they are hidden and asked about
LOCK_SECONDS = 10.0
SAVE_SECONDS = 0.3  # that a note in which lines are missing must stay as it is: an editor may be amid saving it
NOTES = "notes"  # stands for the session in which a person has written a line

Digest = Callable[[str], bytes]


@dataclass(frozen=True, slots=True)
class MirrorLine:
    """One line of a note that may be about an item.

    Attributes:
        id: None for a list item without one.
        text: Without bullet and id, white space folded.
        beside: For a list item without an id: the ids in its list, if that list is closed by `END`. Each id counts where the
            note has it first, so that a copied line says nothing of its neighbours.
    """

    id: str | None
    text: str
    beside: tuple[str, ...] = ()


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


def write_section(items: Iterable[Item]) -> str:
    """Return the Markdown that is appended for items."""
    return "\n".join([f"## {HEADING}", "", *(f"- {show(item.content)} <!--m:{item.id}-->" for item in items), END])


def show(content: str) -> str:
    """Return the text of an item as its line has it: nothing in it opens a comment."""
    return content.replace("<!--", "<! --")


def read_section(note: str) -> tuple[list[MirrorLine], bool]:
    """Read what a note says of items.

    Returns:
        Lines with an id, and list items without one, in order; and True if the note has the heading. Without it nothing
        follows from what is missing.
    """
    lines = split_lines(note)
    found: list[MirrorLine] = []
    known: set[str] = set()
    for listed, is_closed in _cut_lists(lines):
        ids = tuple(line.id for line in listed if line.id is not None and line.id not in known)
        known.update(ids)
        found += [MirrorLine(line.id, line.text, ids if is_closed and line.id is None else ()) for line in listed]
    return found, any(heading[1].strip() == HEADING for heading in filter(None, map(parse_heading, lines)))


def _cut_lists(lines: list[str]) -> Iterator[tuple[list[MirrorLine], bool]]:
    """Yield the lists between blank lines, headings and fences; with each, True if `END` closes it."""
    listed: list[MirrorLine] = []
    for line, kind, inside in zip(lines, scan(lines), scan_blocks(lines).inside, strict=True):
        body = line.strip()
        if body == END and not inside:
            yield listed, True
            listed = []
            continue
        if inside or kind in (Line.BLANK, Line.HEADING, Line.OPEN, Line.CLOSE, Line.CODE):
            yield listed, False
            listed = []
        mark = _MARK.search(body)
        text = body[: mark.start()] if mark else body
        bullet = _BULLET.match(text)
        text = " ".join(text[bullet.end() if bullet else 0 :].split())
        if (
            kind is Line.MORE and not inside and listed and listed[-1].id is None
        ):  # the list item goes on in a further line
            listed[-1] = MirrorLine(mark["id"] if mark else None, f"{listed[-1].text} {text}".strip())
        elif mark or bullet:
            listed.append(MirrorLine(mark["id"] if mark else None, text))
    yield listed, False


def leave_out_mirrored(passage: str) -> str:
    """Return a passage in which the lines that mirror items are empty."""
    return "\n".join("" if line.strip() == END or _MARK.search(line.strip()) else line for line in passage.split("\n"))


def merge(
    lines: Sequence[MirrorLine],
    rows: Mapping[str, RecordedLine],
    items: Mapping[str, str],
    *,
    is_whole: bool,
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
        lines: Of the note.
        rows: What is recorded of the note, by item.
        items: The texts of the items as their lines would have them, by id; those that are gone are missing.
        is_whole: The section is there, so that what it lacks is gone.
        pending: The items that are hidden: no line of theirs is missed.
        others: The lines of the other notes: what stands there was moved, and is not gone.
        elsewhere: The items that other notes mirror.
        digest: The keyed hash of a text.
        is_forgotten: True for the text of an item that was forgotten.
    """
    changes = MirrorChanges()
    by_text = {row.digest: item for item, row in rows.items() if not row.marked}
    for line in lines:
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
    if is_whole:
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


class Mirror:
    """The mirror of one agent's items in one workspace. One process at a time works on it.

    Args:
        items: The items.
        file: Theirs.
        config: The agent's.
    """

    def __init__(self, items: Items, file: ItemsFile, config: AgentConfig) -> None:
        self._items = items
        self._file = file
        self._config = config
        self._read: dict[str, tuple[int, int]] = {}  # size and time of the notes as they were read

    def take_over(self, day: date) -> list[str]:
        """Change items as a person has changed the notes that mirror them; return what the person should know, in sentences.

        Args:
            day: Today; its note is read even if nothing of it is recorded yet, since a writer may have been killed.

        Raises:
            MemoryCoreError: A note or the items file cannot be used.
            TimeoutError: Another process works on the mirror for longer than `LOCK_SECONDS`.
        """
        for folder in self._folders:
            writer.finish_interrupted(workspace=folder, state_dir=self._config.state_dir)
        today = [str(folder / writer.daily_path(day)) for folder in self._folders]
        notes = [note for note in {*self._file.list_notes(), *today} if self._has_changed(Path(note))]
        warnings: list[str] = []
        if notes:
            with self._lock():
                for note in notes:
                    warnings += self._take_over_note(Path(note))
        for warning in warnings:
            log.warning("%s", warning)
        return warnings

    def append(self, items: Sequence[Item], day: date) -> None:
        """Append the settled items that no note has yet to the note of a day; see `take_over` for what is raised."""
        settled = {item.id: item for item in items if not item.pending and item.superseded_by is None}
        if not settled:
            return
        with self._lock():
            unmirrored = self._items.get_many(self._file.find_unmirrored(settled))
            # As they are now: a later fact of the same turn may have corrected one.
            new = [item for item in unmirrored if not item.pending and item.superseded_by is None]
            if new:
                path = writer.daily_path(day)
                layer = find_destination(self._config, None, day)
                writer.append(write_section(new), path=path, workspace=layer.workspace, state_dir=layer.state_dir)
                self._file.record_lines(
                    str(layer.workspace.resolve() / path), {item.id: show(item.content) for item in new}
                )

    def _lock(self) -> AbstractContextManager[None]:
        return locked(Path(f"{self._file.path}.mirror.lock"), timeout_seconds=LOCK_SECONDS)

    @property
    def _folders(self) -> list[Path]:
        """The folders of notes that may mirror items: of this workspace, and of its private folder."""
        local = self._config.find_named(LOCAL)
        return [each.workspace.resolve() for each in (self._config, local) if each is not None]

    def _has_changed(self, note: Path) -> bool:
        """Return True for a note of this workspace that was not read yet as it is now."""
        if not any(map(note.is_relative_to, self._folders)) or note.is_symlink() or not note.is_file():
            return False
        return self._read.get(str(note)) != _identify(note)

    def _take_over_note(self, note: Path) -> list[str]:
        before = _identify(note)
        lines, is_whole = read_section(_read(note))
        if not lines and not is_whole:
            self._read[str(note)] = before
            return []
        others: list[MirrorLine] = []
        if is_whole and self._file.lacks_lines(str(note), lines):
            time.sleep(SAVE_SECONDS)
            if not note.is_file() or _identify(note) != before:
                return []  # read again next time
            others = _read_lines(each for each in sorted(note.parent.glob("*.md")) if each != note)
        changes = self._file.merge_note(str(note), lines, others, is_whole=is_whole)
        added: list[tuple[str, str]] = []
        for text in changes.added:
            with suppress(InvalidArgument):  # a line that is too long, or holds a secret, stays a line of the note
                folder = next(each for each in self._folders if note.is_relative_to(each))
                path = note.relative_to(folder).as_posix()
                origin = Origin(by="user", session=NOTES, path=path)
                written = self._items.write(text, origin=origin)
                added.append((written.item.id, text))
        self._file.record_added(str(note), added)
        if changes.gone:
            self._items.forget(ids=changes.gone)
        if changes.edited:
            self._items.start()  # the new texts have no embeddings yet
        self._read[str(note)] = before
        return list(_warn(note, changes))


def _identify(note: Path) -> tuple[int, int]:
    info = note.stat()
    return info.st_size, info.st_mtime_ns


def _read(note: Path) -> str:
    return note.read_text(encoding="utf-8-sig", errors="replace")


def _read_lines(notes: Iterable[Path]) -> list[MirrorLine]:
    return [line for note in notes if note.is_file() and not note.is_symlink() for line in read_section(_read(note))[0]]


def _warn(note: Path, changes: MirrorChanges) -> Iterator[str]:
    if changes.hidden:
        yield (
            f"{len(changes.hidden)} of the items that {note} mirrored are gone from it: they are hidden until their lines are"
            " back, or you run memory-core items promote ID, or memory-core items forget ID: "
            + ", ".join(changes.hidden)
        )
    if changes.moved:
        yield (
            f"{note}: lines that are gone stand in another note, so their items stay; to forget them run"
            f" memory-core items forget ID: {', '.join(changes.moved)}"
        )
    if changes.refused:
        yield (
            f"{note}: lines that are too long for an item, or hold a secret, stay lines, and their items are hidden: "
            + ", ".join(changes.refused)
        )
