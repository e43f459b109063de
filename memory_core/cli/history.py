"""The commands for the past: the versions of a note, the difference between two, a copy of one."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

from memory_core.cli import output
from memory_core.cli.opening import open_notes
from memory_core.cli.parser import Options

if TYPE_CHECKING:
    from memory_core.config.agent import AgentConfig
    from memory_core.history.events import NoteEvent
    from memory_core.history.history import History

MOST_MOMENTS = 20  # that are listed, the last ones


@contextmanager
def _open_history(options: Options) -> Iterator[tuple[AgentConfig, History]]:
    """Yield the configuration and the history that the options name, where memory and history are on.

    Raises:
        MemoryOff: Memory is off.
        HistoryUnavailable: No history is kept.
    """
    from memory_core.config.switch import refuse_off
    from memory_core.history.history import History

    with open_notes(options) as memory:
        config = memory.config()
        refuse_off(config)
        with closing(History(config, writable=False)) as history:
            history.refuse_disabled()
            yield config, history


def _read_path(text: str) -> str:
    """Return the path of a note as a user names it, also by a citation, such as `MEMORY.md#L3`.

    Raises:
        InvalidArgument: It is empty.
    """
    from memory_core.errors import InvalidArgument
    from memory_core.tools.arguments import read_citation

    if not text.strip():
        raise InvalidArgument("PATH", "is empty", action="name a note, such as MEMORY.md")
    return read_citation(text).path


def run_history(options: Options) -> int:
    """List the versions of a note, or the last moments."""
    with _open_history(options) as (config, history):
        if options.path is None:
            return _list_moments(options, history)
        from memory_core.errors import HistoryUnavailable
        from memory_core.history.events import list_events
        from memory_core.history.notes import name_note

        path = name_note(config, _read_path(options.path))
        rows = [_shape_event(event) for event in list_events(history, history.list_versions(path))]
    if not rows:
        raise HistoryUnavailable(
            f"{path}: no version of such a note is known", action="see what changed: memory-core history"
        )
    if options.json:
        output.print_json({"path": path, "versions": rows})
        return 0
    for row in rows:
        changes = "" if row["event"] == "gone" else f"  +{row['added']} -{row['removed']} lines"
        output.write(f"{row['at']}  {row['event']:<7}{changes}")
    return 0


def run_diff(options: Options) -> int:
    """Show what differs in a note between two times."""
    from memory_core.errors import HistoryUnavailable, InvalidArgument
    from memory_core.history.history import show
    from memory_core.history.instants import parse_instant
    from memory_core.history.notes import name_note

    start = parse_instant(options.start, "--from")
    end = parse_instant(options.end, "--to") if options.end else None
    if end is not None and start > end:
        raise InvalidArgument("--from", f"is later than --to: {show(start)} and {show(end)}", action="swap the two")
    with _open_history(options) as (config, history):
        path = name_note(config, _read_path(options.path))
        first = history.find_moment(start)
        last = history.list_moments()[-1] if end is None else history.find_moment(end)
        versions = [history.find_version(path, moment) for moment in (first, last)]
        if versions == [None, None]:
            raise HistoryUnavailable(
                f"there was no note {path} at {show(first.at)}, nor at {show(last.at)}",
                action=f"see its versions: memory-core history {path}",
            )
        old, new = ([] if each is None else history.load_text(each).text.splitlines() for each in versions)
    times = show(first.at), show(last.at)
    lines = difflib.unified_diff(old, new, f"{path} {times[0]}", f"{path} {times[1]}", lineterm="", n=1)
    if options.json:
        output.print_json({"path": path, "from": times[0], "to": times[1], "diff": "\n".join(lines)})
        return 0
    text = "\n".join(lines)
    output.write(text or f"{path} stood at {times[1]} as at {times[0]}.")
    return 0


def run_restore(options: Options) -> int:
    """Write a copy of a note as it stood beside it."""
    from memory_core.history.instants import parse_instant
    from memory_core.history.notes import restore
    from memory_core.sources.files import list_files

    instant = parse_instant(options.as_of, "--as-of")
    with _open_history(options) as (config, history):
        file = restore(config, history, _read_path(options.path), instant)
    if options.json:
        output.print_json({"path": str(file)})
    else:
        print(f"Written to {file}")
        if any(each.real_path == file.resolve() for each in list_files(config).files):
            output.print_aside("It is a note, too: searches find it until you move or delete it.")
    return 0


def _list_moments(options: Options, history: History) -> int:
    """List the last moments with the notes that changed in them."""
    from memory_core.history.history import BEGIN_IT, NONE_YET, show

    extent = history.measure()
    changed = history.list_changes() if extent.moments else {}
    # A commit that changed nothing but what is left out is a moment, too, and tells nothing.
    moments = [moment for moment in history.list_moments() if moment.id in changed]
    rows = [
        {"at": show(moment.at), "origin": moment.origin, "notes": changed[moment.id]}
        for moment in moments[-MOST_MOMENTS:]
    ]
    if options.json:
        output.print_json(
            {"moments": len(moments), "versions": extent.versions, "bytes": extent.size_bytes, "last": rows}
        )
        return 0
    if not moments:
        output.complain(NONE_YET, BEGIN_IT)
        return 0
    for row in rows:
        output.write(f"{row['at']}  {_shorten(row['notes'])}")
    since = show(moments[0].at)
    output.print_aside(
        f"{output.count(extent.versions, 'version')} of notes at {output.count(len(moments), 'moment')} since {since},"
        f" {extent.size_bytes:,} bytes"
    )
    return 0


def _shorten(paths: Any) -> str:
    shown = ", ".join(paths[:4])
    return shown if len(paths) <= 4 else f"{shown} and {len(paths) - 4} more"


def _shape_event(event: NoteEvent) -> dict[str, Any]:
    from memory_core.history.history import show

    shaped = {"at": show(event.at), "event": event.event}
    return shaped if event.version is None else {**shaped, "added": event.added, "removed": event.removed}


def run_import_git(options: Options) -> int:
    """Put the commits of the workspace's repository in front of the first sync."""
    from memory_core.config.switch import refuse_off
    from memory_core.history.history import History
    from memory_core.history.importing import import_git

    with open_notes(options) as memory:
        config = memory.config()
        refuse_off(config)
        with closing(History(config)) as history:
            history.refuse_disabled()
        memory.sync()
        done = import_git(config)
    if options.json:
        output.print_json(done)
        return 0
    if not done.commits:
        output.write("No commit before the first sync has changed a note.")
    else:
        output.write(f"{output.count(done.versions, 'version')} of notes from {output.count(done.commits, 'commit')}.")
    if done.purged:
        output.complain(
            f"{output.count(done.purged, 'version')} in the commits still held a text that was purged; it was left out",
            "rewrite the commits to be rid of it there",
        )
    for each in done.left_out:
        output.complain(f"left out: {each}")
    return 0
