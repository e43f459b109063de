"""Keeps daily notes and items alike: appends what was captured, and takes over what a person has changed."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import AbstractContextManager, suppress
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from memory_core.atomic import locked
from memory_core.config.agent import AgentConfig
from memory_core.errors import InvalidArgument
from memory_core.items.mirror.section import read_section, show, write_section
from memory_core.items.records import Item, Provenance
from memory_core.items.store.file import ItemsFile
from memory_core.sources import writer

if TYPE_CHECKING:
    from memory_core.items.items import Items

log = logging.getLogger(__name__)

LOCK_SECONDS = 10.0
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

    def take_over(self, day: date) -> None:
        """Change items as a person has changed the notes that mirror them.

        Args:
            day: Today; its note is read even if nothing of it is recorded yet, since a writer may have been killed.

        Raises:
            MemoryCoreError: A note or the items file cannot be used.
            TimeoutError: Another process works on the mirror for longer than `LOCK_SECONDS`.
        """
        today = str(self._place(writer.daily_path(day)))
        notes = [note for note in {*self._file.mirror.list_notes(), today} if self._has_changed(Path(note))]
        if notes:
            with self._lock():
                writer.finish_interrupted(workspace=self._config.workspace, state_dir=self._config.state_dir)
                for note in notes:
                    self._take_over_note(Path(note))

    def append(self, items: Sequence[Item], day: date) -> None:
        """Append the settled items that no note has yet to the note of a day; see `take_over` for what is raised."""
        settled = {item.id: item for item in items if not item.pending and item.superseded_by is None}
        if not settled:
            return
        with self._lock():
            new = [settled[each] for each in self._file.mirror.find_unmirrored(settled)]
            if new:
                path = writer.daily_path(day)
                writer.append(
                    write_section(new), path=path, workspace=self._config.workspace, state_dir=self._config.state_dir
                )
                self._file.mirror.record_lines(
                    str(self._place(path)), {item.id: show(item) for item in new}, marked=True
                )

    def _lock(self) -> AbstractContextManager[None]:
        return locked(Path(f"{self._file.path}.mirror.lock"), timeout_seconds=LOCK_SECONDS)

    def _place(self, path: str) -> Path:
        return self._config.workspace.resolve() / path

    def _has_changed(self, note: Path) -> bool:
        """Return True for a note of this workspace that was not read yet as it is now."""
        if not note.is_relative_to(self._config.workspace.resolve()) or note.is_symlink() or not note.is_file():
            return False
        info = note.stat()
        return self._read.get(str(note)) != (info.st_size, info.st_mtime_ns)

    def _take_over_note(self, note: Path) -> None:
        info = note.stat()
        section = read_section(note.read_text(encoding="utf-8-sig", errors="replace"))
        if not section.lines and not section.is_there:
            self._read[str(note)] = (info.st_size, info.st_mtime_ns)
            return
        changes = self._file.mirror.merge_note(str(note), section)
        added: dict[str, str] = {}
        for text in changes.added:
            with suppress(InvalidArgument):  # a line that is too long, or holds a secret, stays a line of the note
                written = self._items.write(text, provenance=Provenance(session=NOTES, speaker="user"))
                added[written.item.id] = text
        new = self._file.mirror.find_unmirrored(added)
        self._file.mirror.record_lines(str(note), {each: added[each] for each in new}, marked=False)
        if changes.gone:
            self._items.forget(ids=changes.gone)
        if changes.edited:
            self._items.start()  # the new texts have no embeddings yet
        if changes.hidden:
            log.warning(
                "%d of the items that %s mirrored are gone from it: they are hidden until their lines are back, or you run"
                " memory-core items promote ID, or memory-core items forget ID: %s",
                len(changes.hidden), note, ", ".join(changes.hidden),
            )  # fmt: skip
        if changes.refused:
            log.warning(
                "%s: lines that are too long for an item, or hold a secret, stay lines, and their items are hidden: %s",
                note, ", ".join(changes.refused),
            )  # fmt: skip
        self._read[str(note)] = (info.st_size, info.st_mtime_ns)
