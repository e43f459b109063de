"""Notes as they stood: their text at an instant, the events of their life, and what became of their lines."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal

from memory_core.atomic import replace_file
from memory_core.config.agent import AgentConfig
from memory_core.errors import HistoryUnavailable, NoteChanged, NoteNotWritten, PathRefused
from memory_core.history.history import History, show
from memory_core.history.moments import Version
from memory_core.records import AsOf, Document, Now
from memory_core.sources import pages
from memory_core.text.dates import get_today
from memory_core.text.folding import clean
from memory_core.text.matching import LineMatcher, count_changes
from memory_core.text.succession import is_edit


def name_note(config: AgentConfig, path: str) -> str:
    """Return the path under which a note is listed, whether or not it exists now."""
    with suppress(PathRefused):  # it may have been served once
        file = pages.resolve(config, path)
        return pages.find_place(config, path).path if file is None else file.path
    name = posixpath.normpath(path.replace("\\", "/"))
    return name.removeprefix(f"{config.workspace.as_posix()}/")


def name_served(config: AgentConfig, path: str) -> str:
    """Return the path under which a note is listed, which may not exist now.

    Raises:
        PathRefused: Today's configuration serves no such note; one that is merely gone it does.
    """
    name = name_note(config, path)
    if (reason := pages.find_unserved(config, [name]).get(name)) is not None:
        raise PathRefused(name, reason)
    return name


def get_document(
    config: AgentConfig, history: History, path: str, instant: datetime, *, from_line: int, lines: int
) -> Document:
    """Return lines of a note as it stood at the last moment before an instant; see `pages.cut_page`.

    Raises:
        HistoryUnavailable: The history does not reach back to the instant.
        PathRefused: See `name_served`.
    """
    name = name_served(config, path)
    moment = history.find_moment(instant)
    as_of = AsOf(instant=instant, moment=moment.at)
    version = history.find_version(name, moment)
    if version is None:
        return Document(path=name, text="", from_line=from_line, lines=0, status="not_found", as_of=as_of)
    text = history.load_text(version).text
    page = pages.cut_page(name, text, from_line=from_line, lines=lines)
    return Document(
        path=name, text=page.text, from_line=page.from_line, lines=page.lines, truncated=page.truncated,
        next_from=page.next_from, as_of=as_of, now=_compare(config, name, text),
    )  # fmt: skip


def _compare(config: AgentConfig, path: str, text: str) -> Literal["unchanged", "changed", "gone"]:
    """Compare the text of a version with the note that stands at its path now."""
    now = pages.find_text(config, path)
    if now is None:
        return "gone"
    return "unchanged" if clean(now) == clean(text) else "changed"


def restore(config: AgentConfig, history: History, path: str, instant: datetime, *, over: bool = False) -> Path:
    """Write a note as it stood at an instant into a new file beside it, a deleted one under its own name; return the file.

    Of several moments at one time it is the last one at which the note stood.

    Args:
        config, history: Of the agent.
        path: The note.
        instant: The instant.
        over: Write over the note itself, as it stands at the last moment of the history.

    Raises:
        HistoryUnavailable: There was no such note, or the history does not reach back to the instant.
        NoteChanged: The note to be written over is not as the history has it.
        NoteNotWritten: The copy exists already, or cannot be written; or the note to write over lies outside of the workspace.
    """
    name = name_note(config, path)
    moment = history.find_moment(instant)
    moments = history.list_moments()
    at_once = [each for each in reversed(moments) if each.at_ms == moment.at_ms]  # as commits of one second are
    version = next(filter(None, (history.find_version(name, each) for each in at_once)), None)
    if version is None:
        gone = max(
            (each.until for each in history.list_versions(name) if each.until and each.until <= moment.id), default=0
        )
        stood = [each.at for each in moments if each.id < gone]
        last = f"; it last stood at {show(stood[-1])}" if stood else ""
        raise HistoryUnavailable(
            f"there was no note {name} at {show(moment.at)}{last}",
            action=f"see its versions: memory-core history {name}",
        )
    if over:
        return _write_over(config, history, name, history.load_bytes(version))
    target, folder = _find_place(config, version, get_today(config.search.time_zone, instant).isoformat())
    if os.path.lexists(target):
        raise NoteNotWritten(str(target), "exists already", action="rename or remove it first")
    try:
        replace_file(target, history.load_bytes(version), mode=0o644, root=folder)
    except OSError as error:
        raise NoteNotWritten(str(target), f"cannot be written: {error.strerror}") from error
    return target


def _write_over(config: AgentConfig, history: History, name: str, old: bytes) -> Path:
    """Write an old version over a note of the workspace, unless that has a text which the history lacks."""
    from memory_core.sources import writer

    if os.path.isabs(name) or name.startswith("../"):  # noqa: PTH117 - the name of a note
        raise NoteNotWritten(
            name,
            "lies outside of the workspace, where notes are brought back, and none that stands is changed",
            action="write a copy beside it: leave --over out",
        )
    last = history.find_version(name, history.list_moments()[-1])
    kept = None if last is None else history.load_bytes(last)

    def change(now: bytes | None) -> bytes:
        if now != kept:
            raise NoteChanged(name)
        return old

    writer.rewrite(name, change, workspace=config.workspace, state_dir=config.state_dir)
    return config.workspace / name


def _find_place(config: AgentConfig, version: Version, day: str) -> tuple[Path, Path]:
    """Return the file for a copy of a note, beside it, or its own where that is gone, and the folder that is served."""
    name = version.key.path
    try:
        file = pages.resolve(config, name)
        place = pages.find_place(config, name)
    except PathRefused as error:
        raise NoteNotWritten(
            name, f"is no note any more: {error}", action=f"print it: memory-core diff {name} --from {day}"
        ) from error
    if file is None:
        return place.real_path, place.folder
    return file.real_path.with_name(f"{file.real_path.stem}.as-of-{day}{file.real_path.suffix}"), place.folder


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
        new = [*map(clean, history.load_text(version).text.splitlines())]
        if not (stood and new == lines):
            added, removed = count_changes(lines, new)
            event: Literal["added", "changed"] = "changed" if stood else "added"
            events.append(
                NoteEvent(at=times[version.since], event=event, version=version, added=added, removed=removed)
            )
        earlier, lines = version, new
    if earlier is not None and earlier.until is not None:
        events.append(NoteEvent(at=times[earlier.until], event="gone"))
    return events


MOST_PAIRS = 10_000  # of lines of one change that are looked at for an edit


def find_now(past: Sequence[str], now: Sequence[str] | None, first: int, last: int, *, max_chars: int) -> Now:
    """Return what became of the lines from `first` to `last`, included, of a note.

    Args:
        past: The lines of the note as it stood.
        now: Those of the note as it stands; None if there is none.
        first: From 1.
        last: Included.
        max_chars: The most characters of the text that stands there now.
    """
    if now is None:
        return Now(status="gone")
    block, seen = [*map(clean, past[first - 1 : last])], [*map(clean, now)]
    size = len(block)
    places = [at for at in range(len(now) - size + 1) if seen[at : at + size] == block]
    if places:
        nearest = min(places, key=lambda at: abs(at - (first - 1)))
        return Now(status="unchanged", start_line=nearest + 1, end_line=nearest + size)
    begin, end = _align(past, now, first - 1, last)
    lines = now[begin:end]
    if not any(line.strip() for line in lines):
        return Now(status="gone")
    text = "\n".join(lines)
    return Now(status="changed", start_line=begin + 1, end_line=end, text=text[:max_chars])


def find_edit(past: Sequence[str], now: Sequence[str], first: int, last: int) -> tuple[int, int] | None:
    """Return the first line among some of a note that was edited, and the line that it became, both from 1.

    Args:
        past: The lines of the note as it stood.
        now: Those of the note as it stands.
        first: From 1.
        last: Included.

    Returns:
        None if no line was edited, or too much was changed around it to tell.
    """
    past, now = [*map(clean, past)], [*map(clean, now)]
    for kind, i1, i2, j1, j2 in LineMatcher(past, now).get_opcodes():
        if kind != "replace" or i2 < first or i1 >= last or (i2 - i1) * (j2 - j1) > MOST_PAIRS:
            continue
        taken: set[int] = set()
        for old in range(i1, i2):
            new = next(
                (place for place in range(j1, j2) if place not in taken and is_edit(past[old], now[place])), None
            )
            if new is None:
                continue
            taken.add(new)
            if first - 1 <= old < last:
                return old + 1, new + 1
    return None


def _align(past: Sequence[str], now: Sequence[str], begin: int, end: int) -> tuple[int, int]:
    """Return the lines of `now` that stand in the place of those of `past`; begin from 0, end not included."""
    found: list[int] = []
    for kind, i1, i2, j1, j2 in LineMatcher(past, now).get_opcodes():
        low, high = max(i1, begin), min(i2, end)
        if low < high and kind == "equal":
            found += [j1 + low - i1, j1 + high - i1]
        elif low < high and kind == "replace":
            found += [j1, j2]
    return (min(found), max(found)) if found else (0, 0)
