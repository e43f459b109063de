"""Old versions of notes for the page: what changed last, the life of one note, and a version beside the one before it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

from memory_core.config.agent import AgentConfig
from memory_core.errors import PathRefused
from memory_core.history.history import History
from memory_core.history.notes import list_events, name_note
from memory_core.hosts.inspect import notes
from memory_core.records import FileStamp, MemoryFile
from memory_core.sources import pages

MOST_MOMENTS = 60  # that are listed, the last ones
MOST_VERSIONS = 100  # of a note, the last ones
MOST_LINES = 5_000  # of both versions together that are compared
MAX_CHARS = 2_000  # of a line that is shown
AROUND = 2  # lines that stand as they did, before and behind a change


def list_changes(config: AgentConfig) -> dict[str, Any]:
    """Return the last moments with the notes that changed in them, the latest first.

    Raises:
        HistoryUnavailable: No history is kept.
    """
    with _open(config) as history:
        extent = history.measure()
        changed = history.list_changes() if extent.moments else {}
        moments = [moment for moment in history.list_moments() if moment.id in changed]
    last = moments[-MOST_MOMENTS:]
    refused = pages.find_unserved(config, {path for moment in last for path in changed.get(moment.id, ())})
    shown = [
        {
            "at": moment.at_ms,
            "origin": moment.origin,
            "notes": [p for p in changed.get(moment.id, ()) if p not in refused],
        }
        for moment in reversed(last)
    ]
    return {
        "moments": [each for each in shown if each["notes"]], "total": len(moments), "versions": extent.versions,
        "bytes": extent.size_bytes,
    }  # fmt: skip


def list_versions(config: AgentConfig, path: str) -> dict[str, Any]:
    """Return the life of one note, the latest event first.

    Raises:
        HistoryUnavailable: No history is kept.
        PathRefused: Today's configuration serves no such note.
    """
    name = _name(config, path)
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
    name = _name(config, path)
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
        return {**notes.shape_note(config, file, text), "diff": _compare(old, text.text.splitlines())}


def _compare(old: Sequence[str], new: Sequence[str]) -> list[dict[str, Any]] | None:
    """Return the lines that differ with some around them; None of more lines than are compared."""
    if len(old) + len(new) > MOST_LINES:
        return None
    lines: list[dict[str, Any]] = []
    for number, group in enumerate(SequenceMatcher(None, old, new, autojunk=False).get_grouped_opcodes(AROUND)):
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
        {"kind": kind, "line": number + 1, "text": text[:MAX_CHARS] + "…" * (len(text) > MAX_CHARS)}
        for number, text in enumerate(lines[first:end], first)
    ]


def _name(config: AgentConfig, path: str) -> str:
    name = name_note(config, path)
    if (reason := pages.find_unserved(config, [name]).get(name)) is not None:
        raise PathRefused(name, reason)
    return name


@contextmanager
def _open(config: AgentConfig) -> Iterator[History]:
    with closing(History(config, writable=False)) as history:
        history.refuse_disabled()
        yield history
