"""Notes for the page: their days, one as HTML in which nothing of the note itself can act, and the life and versions of each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memory_core.config.agent import AgentConfig
from memory_core.errors import PathRefused
from memory_core.history.history import History
from memory_core.history.notes import list_events, name_served
from memory_core.records import FileStamp, MemoryFile
from memory_core.sources import files, notes, pages
from memory_core.sources.notes import NoteText
from memory_core.sync.syncer import cut
from memory_core.text.matching import LineMatcher
from memory_core.text.messages import quote_safely

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

MAX_UNITS = 600  # of one note that are shown
MAX_CHARS = 4_000  # of one unit that are shown
MOST_MOMENTS = 60  # that are listed, the last ones
MOST_VERSIONS = 100  # of a note, the last ones
MOST_LINES = 5_000  # of both versions together that are shown where they differ
MAX_LINE_CHARS = 2_000  # of a line that is shown
AROUND = 2  # lines that stand as they did, before and behind a change


def list_days(config: AgentConfig) -> dict[str, Any]:
    """Return every note with its day, by its path; a note without a date in its path has the day of its last change."""
    found, zone = files.list_files(config).files, config.search.time_zone
    days = [{"path": file.path, "day": notes.find_note_day(file, "", zone).isoformat()} for file in found]
    return {"agent": config.agent, "workspace": str(config.workspace), "notes": days}


def show_note(config: AgentConfig, path: str) -> dict[str, Any]:
    """Return a note cut as it is indexed: passages of units, each as harmless HTML.

    Raises:
        PathRefused: It is none of this agent's notes, or there is none.
        FileUnreadable: It cannot be read.
    """
    file = pages.resolve(config, path)
    if file is None:
        raise PathRefused(path, "there is no such note", action="search, and open a note from a result")
    return _shape_note(config, file, notes.read_note(file))


def _shape_note(config: AgentConfig, file: MemoryFile, note: NoteText) -> dict[str, Any]:
    """Return the text of a note as `show_note` does."""
    prepared = cut(file, note, config.search.chunking)
    room, passages = MAX_UNITS, []
    for each in prepared.chunks:
        shown, text, first = each.units[:room], each.chunk.text, each.chunk.start_line
        room -= len(shown)
        passages.append(
            {
                "startLine": first,
                "endLine": each.chunk.end_line,
                "units": [
                    {
                        "startLine": first + unit.first_line,
                        "endLine": first + unit.last_line,
                        "html": _render(text[unit.start : unit.end]),
                    }
                    for unit in shown
                ],
            }
        )
        if not room:
            break
    return {"path": file.path, "day": prepared.date, "passages": passages, "truncated": not room}


def _render(text: str) -> str:
    """Return Markdown as HTML without links, images and HTML of its own, which are shown as the text they are."""
    cut_off = "…" if len(text) > MAX_CHARS else ""
    html: str = _open_renderer().render(quote_safely(text[:MAX_CHARS]) + cut_off)
    return html


@lru_cache(maxsize=1)
def _open_renderer() -> MarkdownIt:
    from markdown_it import MarkdownIt

    renderer = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    return renderer.disable(["link", "image", "autolink", "reference", "html_inline", "html_block"])


def list_changes(config: AgentConfig) -> dict[str, Any]:
    """Return the last moments with the notes that changed in them, the latest first.

    Raises:
        HistoryUnavailable: No history is kept.
    """
    with _open(config) as history:
        extent, changed = history.measure(), history.list_changes()
    last = [*changed.items()][-MOST_MOMENTS:]
    refused = pages.find_unserved(config, {path for _, paths in last for path in paths})
    shown = [
        {"at": moment.at_ms, "origin": moment.origin, "notes": [path for path in paths if path not in refused]}
        for moment, paths in reversed(last)
    ]
    return {
        "moments": [each for each in shown if each["notes"]], "total": len(changed), "versions": extent.versions,
        "bytes": extent.size_bytes,
    }  # fmt: skip


def list_versions(config: AgentConfig, path: str) -> dict[str, Any]:
    """Return the life of one note, the latest event first.

    Raises:
        HistoryUnavailable: No history is kept.
        PathRefused: Today's configuration serves no such note.
    """
    name = name_served(config, path)
    with _open(config) as history:
        events = list_events(history, history.list_versions(name)[-MOST_VERSIONS:])
    shown = [
        {
            "at": int(event.at.timestamp() * 1000), "event": event.event, "added": event.added, "removed": event.removed,
            "version": event.version and event.version.id,
        }
        for event in reversed(events)
    ]  # fmt: skip
    return {"path": name, "events": shown}


def show_version(config: AgentConfig, path: str, number: str) -> dict[str, Any]:
    """Return a version as it stood, cut as it was indexed, and its lines beside those of the version before it.

    Raises:
        HistoryUnavailable: No history is kept.
        PathRefused: Today's configuration serves no such note, or it has no such version.
    """
    name = name_served(config, path)
    with _open(config) as history:
        versions = history.list_versions(name)
        found = next((each for each in versions if str(each.id) == number), None)
        if found is None:
            raise PathRefused(name, f"has no version {number!r:.40}", action="open its history anew")
        text = history.load_text(found)
        before = next((each for each in reversed(versions) if each.until == found.since), None)
        old = [] if before is None else history.load_text(before).text.splitlines()
        file = MemoryFile(
            source=found.key.source,
            path=name,
            real_path=Path(),
            in_vault=found.in_vault,
            stamp=FileStamp(0, found.mtime_ns),
        )
        return {**_shape_note(config, file, text), "diff": _compare(old, text.text.splitlines())}


def _compare(old: Sequence[str], new: Sequence[str]) -> list[dict[str, Any]] | None:
    """Return the lines that differ with some around them; None of more lines than are compared."""
    groups = [*LineMatcher(old, new).get_grouped_opcodes(AROUND)]
    if sum(group[-1][2] - group[0][1] + group[-1][4] - group[0][3] for group in groups) > MOST_LINES:
        return None
    lines: list[dict[str, Any]] = []
    for number, group in enumerate(groups):
        if number:
            lines.append({"kind": "gap", "line": None, "text": ""})
        for kind, i1, i2, j1, j2 in group:
            if kind == "equal":
                lines += _shape("same", new, j1, j2)
            else:
                lines += [*_shape("removed", old, i1, i2), *_shape("added", new, j1, j2)]
    return lines


def _shape(kind: str, lines: Sequence[str], first: int, end: int) -> list[dict[str, Any]]:
    return [
        {"kind": kind, "line": number + 1, "text": text[:MAX_LINE_CHARS] + "…" * (len(text) > MAX_LINE_CHARS)}
        for number, text in enumerate(lines[first:end], first)
    ]


@contextmanager
def _open(config: AgentConfig) -> Iterator[History]:
    with closing(History(config, writable=False)) as history:
        history.refuse_disabled()
        yield history
