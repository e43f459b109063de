"""Notes as they stood: their text at an instant, and what stands at their path now."""

from __future__ import annotations

import posixpath
from datetime import datetime
from pathlib import Path
from typing import Literal

from memory_core.config.agent import AgentConfig
from memory_core.errors import FileUnreadable, HistoryUnavailable, NoteNotWritten, PathRefused
from memory_core.history.history import History, show
from memory_core.history.records import Version
from memory_core.records import AsOf, Document
from memory_core.sources import pages
from memory_core.sources.notes import hash_bytes, read_bytes


def name_note(config: AgentConfig, path: str) -> str:
    """Return the path under which a note is listed, whether or not it exists now."""
    try:
        file = pages.resolve(config, path)
    except PathRefused:  # it may have been served once
        file = None
    if file is not None:
        return file.path
    name = posixpath.normpath(path.replace("\\", "/"))
    return name.removeprefix(f"{config.workspace.as_posix()}/")


def get_document(
    config: AgentConfig, history: History, path: str, instant: datetime, *, from_line: int, lines: int
) -> Document:
    """Return lines of a note as it stood at the last moment before an instant; see `pages.cut_page`.

    Raises:
        HistoryUnavailable: The history does not reach back to the instant.
        PathRefused: Today's configuration serves no such note; one that is merely gone it does.
    """
    name = name_note(config, path)
    if (reason := pages.find_unserved(config, [name]).get(name)) is not None:
        raise PathRefused(name, reason)
    moment = history.find_moment(instant)
    as_of = AsOf(instant=instant, moment=moment.at)
    version = history.find_version(name, moment)
    if version is None:
        return Document(path=name, text="", from_line=from_line, lines=0, status="not_found", as_of=as_of)
    page = pages.cut_page(name, history.load_text(version).text, from_line=from_line, lines=lines)
    return Document(
        path=name, text=page.text, from_line=page.from_line, lines=page.lines, truncated=page.truncated,
        next_from=page.next_from, as_of=as_of, now=compare(config, version),
    )  # fmt: skip


def compare(config: AgentConfig, version: Version) -> Literal["unchanged", "changed", "gone"]:
    """Compare a version with the file that stands at its path now."""
    try:
        file = pages.resolve(config, version.key.path)
        if file is None:
            return "gone"
        return "unchanged" if hash_bytes(read_bytes(file)[0]) == version.hash else "changed"
    except (PathRefused, FileUnreadable):
        return "gone"


def restore(config: AgentConfig, history: History, path: str, instant: datetime) -> Path:
    """Write a note as it stood at an instant into a new file beside it; return that file.

    Raises:
        HistoryUnavailable: There was no such note, or the history does not reach back to the instant.
        NoteNotWritten: The copy exists already, or cannot be written.
    """
    name = name_note(config, path)
    moment = history.find_moment(instant)
    version = history.find_version(name, moment)
    if version is None:
        raise HistoryUnavailable(
            f"there was no note {name} at {show(moment.at)}", action=f"see its versions: memory-core history {name}"
        )
    target = _find_place(config, version, f"{instant.astimezone():%Y-%m-%d}")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("xb") as file:
            file.write(history.load_bytes(version))
    except FileExistsError as error:
        raise NoteNotWritten(str(target), "exists already", action="rename or remove it first") from error
    except OSError as error:
        raise NoteNotWritten(str(target), f"cannot be written: {error.strerror}") from error
    return target


def _find_place(config: AgentConfig, version: Version, day: str) -> Path:
    """Return the file beside a note into which a copy of it may be written."""
    name = version.key.path
    try:
        file = pages.resolve(config, name)
    except PathRefused as error:
        raise NoteNotWritten(
            name, f"is no note any more: {error}", action=f"print it: memory-core diff {name} --from {day}"
        ) from error
    note = config.workspace / name if file is None else file.real_path
    return note.with_name(f"{note.stem}.as-of-{day}{note.suffix}")
