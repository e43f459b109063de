"""The life of one note: when it came, changed and went, and by how many lines."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from memory_core.history.history import History
from memory_core.history.records import Version


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteEvent:
    """One event in the life of a note.

    Attributes:
        at: The moment.
        event: "added", "changed" or "gone".
        version: The version that stood from then on; None of one that is gone.
        added, removed: Lines, compared with the version before.
    """

    at: datetime
    event: Literal["added", "changed", "gone"]
    version: Version | None = None
    added: int = 0
    removed: int = 0


def list_events(history: History, versions: Sequence[Version]) -> list[NoteEvent]:
    """Return what happened to a note, the first event first; equal versions that follow each other are one.

    Args:
        history: The history that keeps them.
        versions: All of the note's, or the last ones, the oldest first.
    """
    times = {moment.id: moment.at for moment in history.list_moments()}
    events: list[NoteEvent] = []
    earlier: Version | None = None
    lines: list[str] = []
    for version in versions:
        stood = earlier is not None and earlier.until == version.since
        if earlier is not None and not stood:
            events.append(NoteEvent(at=times[earlier.until or 0], event="gone"))
            lines = []
        new = history.load_text(version).text.splitlines()
        if not (stood and new == lines):
            added, removed = _count_changes(lines, new)
            event: Literal["added", "changed"] = "changed" if stood else "added"
            events.append(
                NoteEvent(at=times[version.since], event=event, version=version, added=added, removed=removed)
            )
        earlier, lines = version, new
    if earlier is not None and earlier.until is not None:
        events.append(NoteEvent(at=times[earlier.until], event="gone"))
    return events


def _count_changes(old: list[str], new: list[str]) -> tuple[int, int]:
    added = removed = 0
    for line in [*difflib.unified_diff(old, new, n=0)][2:]:  # behind the two names
        added += line.startswith("+")
        removed += line.startswith("-")
    return added, removed
