"""Keeps daily notes and items alike: appends what was captured, and takes over what a person has changed."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from memory_core.atomic import locked
from memory_core.config.agent import AgentConfig
from memory_core.errors import InvalidArgument
from memory_core.items.mirror_section import MirrorChanges, MirrorLine, read_section, show, write_section
from memory_core.items.records import Item, Provenance
from memory_core.items.store.file import ItemsFile
from memory_core.sources import writer

if TYPE_CHECKING:
    from memory_core.items.items import Items

log = logging.getLogger(__name__)

LOCK_SECONDS = 10.0
SAVE_SECONDS = 0.3  # that a note in which lines are missing must stay as it is: an editor may be amid saving it
NOTES = "notes"  # stands for the session in which a person has written a line


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
        today = str(self._place(writer.daily_path(day)))
        notes = [note for note in {*self._file.mirror.list_notes(), today} if self._has_changed(Path(note))]
        warnings: list[str] = []
        if notes:
            with self._lock():
                writer.finish_interrupted(workspace=self._config.workspace, state_dir=self._config.state_dir)
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
            unmirrored = self._items.get_many(self._file.mirror.find_unmirrored(settled))
            # As they are now: a later fact of the same turn may have corrected one.
            new = [item for item in unmirrored if not item.pending and item.superseded_by is None]
            if new:
                path = writer.daily_path(day)
                writer.append(
                    write_section(new), path=path, workspace=self._config.workspace, state_dir=self._config.state_dir
                )
                self._file.mirror.record_lines(str(self._place(path)), {item.id: show(item.content) for item in new})

    def _lock(self) -> AbstractContextManager[None]:
        return locked(Path(f"{self._file.path}.mirror.lock"), timeout_seconds=LOCK_SECONDS)

    def _place(self, path: str) -> Path:
        return self._config.workspace.resolve() / path

    def _has_changed(self, note: Path) -> bool:
        """Return True for a note of this workspace that was not read yet as it is now."""
        if not note.is_relative_to(self._config.workspace.resolve()) or note.is_symlink() or not note.is_file():
            return False
        return self._read.get(str(note)) != _identify(note)

    def _take_over_note(self, note: Path) -> list[str]:
        before = _identify(note)
        section = read_section(_read(note))
        if not section.lines and not section.is_there:
            self._read[str(note)] = before
            return []
        others: list[MirrorLine] = []
        if section.is_there and self._file.mirror.lacks_lines(str(note), section):
            time.sleep(SAVE_SECONDS)
            if not note.is_file() or _identify(note) != before:
                return []  # read again next time
            others = _read_lines(each for each in sorted(note.parent.glob("*.md")) if each != note)
        changes = self._file.mirror.merge_note(str(note), section, others)
        added: list[tuple[str, str]] = []
        for text in changes.added:
            with suppress(InvalidArgument):  # a line that is too long, or holds a secret, stays a line of the note
                written = self._items.write(text, provenance=Provenance(session=NOTES, speaker="user"))
                added.append((written.item.id, text))
        self._file.mirror.record_added(str(note), added)
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
    return [
        line for note in notes if note.is_file() and not note.is_symlink() for line in read_section(_read(note)).lines
    ]


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
