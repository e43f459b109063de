"""The commands for the past: the versions of a note, the difference between two, a copy of one, and the removal of a text."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from memory_core.atomic import TEMPORARY
from memory_core.cli import output
from memory_core.cli.app import Options, argument, changing, command, open_notes, open_source
from memory_core.config.agent import AgentConfig, refuse_off
from memory_core.config.environment import quote_words
from memory_core.config.settings import BUILTIN
from memory_core.errors import HistoryUnavailable, InvalidArgument, TextInUse
from memory_core.history import importing, notes
from memory_core.history.git_log import find_content, is_under_git
from memory_core.history.history import BEGIN_IT, NONE_YET, History, show
from memory_core.history.holders import find_files, find_held, find_holders, list_others, look_through
from memory_core.history.notes import NoteEvent, list_events, name_note
from memory_core.history.store.purging import EDIT
from memory_core.items.store.file import ItemsFile
from memory_core.plugin.explaining import ask_if_meant, find_meant, find_near
from memory_core.sharing.sharing import list_remains
from memory_core.sources.activity import drop_entries
from memory_core.sources.files import list_files
from memory_core.sources.journal import Journal
from memory_core.sources.notes import MAX_NOTE_BYTES
from memory_core.sources.refusals import quote_name
from memory_core.sources.writer import REFUSED, finish_interrupted
from memory_core.text.dates import parse_instant
from memory_core.text.matching import unified_diff
from memory_core.text.wording import Wording
from memory_core.tools.arguments import find_cited

if TYPE_CHECKING:
    from memory_core.history.moments import Moment, Version
    from memory_core.plugin.memory import Memory

MOST_MOMENTS = 20  # that are listed, the last ones
SEE_CHANGES = "see what changed: memory-core history"


@contextmanager
def _open_history(options: Options) -> Iterator[tuple[AgentConfig, History]]:
    """Yield the configuration and the history that the options name, where memory and history are on.

    Raises:
        MemoryOff: Memory is off.
        HistoryUnavailable: No history is kept.
    """
    with open_notes(options) as memory:
        config = memory.config()
        refuse_off(config)
        with closing(History(config, writable=False)) as history:
            history.refuse_disabled()
            yield config, history


def _list_known(history: History) -> list[str]:
    """Return the paths of all notes, also of those that are gone."""
    return sorted({name for changed in history.list_changes().values() for name in changed})


def _suggest(history: History, path: str) -> str:
    """Return which notes, also those that are gone, may be meant by the end of a path; else where all are listed."""
    return ask_if_meant(find_near(path, _list_known(history))) or SEE_CHANGES


def _find_path(config: AgentConfig, history: History, text: str) -> str:
    """Return the path of a note that a user names, also by a citation or by the end of it that only this note has.

    Raises:
        InvalidArgument: It is empty.
    """
    if not text.strip():
        raise InvalidArgument("PATH", "is empty", action="name a note, such as MEMORY.md")
    path = name_note(config, find_cited(config, text).path)
    return path if history.list_versions(path) else find_meant(path, _list_known(history)) or path


def _read_known(config: AgentConfig, history: History, text: str) -> tuple[str, list[Version]]:
    """Return the path of a note that a user names, and its versions.

    Raises:
        HistoryUnavailable: It has none.
    """
    path = _find_path(config, history, text)
    if versions := history.list_versions(path):
        return path, versions
    raise HistoryUnavailable(f"{path}: no version of such a note is known", action=_suggest(history, path))


def _complete_path(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001
    """Offer the commands that begin with `history`, beside files."""
    words = [CompletionItem(word) for word in ("import-git", "purge") if word.startswith(incomplete)]
    return [*words, CompletionItem(incomplete, type="file")]


@command("history")
@argument("path", required=False, shell_complete=_complete_path, help="path of the note; it may be gone by now")
def list_versions(options: Options, *, path: str | None) -> None:
    """List the versions of a note, or what changed last."""
    with _open_history(options) as (config, history):
        if path is None:
            _list_moments(history)
            return
        path, versions = _read_known(config, history, path)
        rows = [_shape_event(event) for event in list_events(history, versions)]
    if output.prints_json({"path": path, "versions": rows}):
        return
    for row in rows:
        changes = "" if row["event"] == "gone" else f"  +{row['added']} -{row['removed']} lines"
        output.write(f"{row['at']}  {row['event']:<7}{changes}")


@command("diff")
@argument("path", help="path of the note; it may be gone by now")
@click.option("--from", "begin", metavar="TIME", help="the earlier time, as of get --as-of (before its last change)")
@click.option("--to", "until", metavar="TIME", help="the later time (the last sync)")
def diff(options: Options, *, path: str, begin: str | None, until: str | None) -> None:
    """Show what differs in a note between two times; without times, its last change."""
    with _open_history(options) as (config, history):
        zone = config.search.time_zone
        start = parse_instant(begin, "--from", timezone=zone) if begin else None
        end = parse_instant(until, "--to", timezone=zone) if until else None
        if start is not None and end is not None and start > end:
            raise InvalidArgument("--from", f"is later than --to: {show(start)} and {show(end)}", action="swap the two")
        path = _find_path(config, history, path)
        moments = history.list_moments()
        if not moments:
            raise HistoryUnavailable(NONE_YET, action=BEGIN_IT)
        last = moments[-1] if end is None else history.find_moment(end)
        first = _find_before_change(history, path, last) if start is None else history.find_moment(start)
        versions = [history.find_version(path, moment) for moment in (first, last)]
        if versions == [None, None]:
            raise HistoryUnavailable(
                f"there was no note {path} at {show(first.at)}, nor at {show(last.at)}",
                action=f"see its versions: memory-core history {path}",
            )
        old, new = ([] if each is None else history.load_text(each).text.splitlines() for each in versions)
    times = show(first.at), show(last.at)
    lines = list(unified_diff(old, new, f"{path} {times[0]}", f"{path} {times[1]}", around=1))
    if output.prints_json({"path": path, "from": times[0], "to": times[1], "diff": "\n".join(lines)}):
        return
    since = f"since {times[0]}" if first == last else f"between {times[0]} and {times[1]}"
    for line in lines or [f"{path} has not changed {since}."]:
        output.write(line, output.CHANGES.get(line[:1], ""))


def _find_before_change(history: History, path: str, last: Moment) -> Moment:
    """Return the moment before the last change of a note that was made up to another moment.

    Raises:
        HistoryUnavailable: There was none since the history began.
    """
    events = list_events(history, history.list_versions(path))
    changed = max((event.at for event in events if event.at <= last.at), default=last.at)
    before = [moment for moment in history.list_moments() if moment.at < changed]
    if not events or not before:
        known = f"it has not changed since the history began, at {show(changed)}" if events else "no such note is known"
        raise HistoryUnavailable(f"{path}: {known}", action=SEE_CHANGES if events else _suggest(history, path))
    return before[-1]


@command("restore")
@argument("path", help="path of the note; it may be gone by now")
@click.option(
    "--as-of",
    metavar="TIME",
    help='YYYY-MM-DD or "yesterday" (its end), or a date and time; without it, a note that is gone gets its last text',
)
@click.option("--over", is_flag=True, help="write over the note; how it stands now stays in the history")
def restore(options: Options, *, path: str, as_of: str | None, over: bool) -> None:
    """Write a note as it stood beside it, or bring back one that is gone; a note that stands is left alone without --over."""
    if over:
        with open_notes(options) as memory:
            memory.sync()
    with _open_history(options) as (config, history):
        named, versions = _read_known(config, history, path)
        if as_of is None:
            instant = _find_last(config, history, versions)
        else:
            instant = parse_instant(as_of, "--as-of", timezone=config.search.time_zone)
        file = notes.restore(config, history, named, instant, over=over)
    if not output.prints_json({"path": str(file)}):
        print(f"Written to {file}")
        if ".as-of-" in file.name and any(each.real_path == file.resolve() for each in list_files(config).files):
            output.print_aside("It is a note, too: searches find it until you move or delete it.")


def _find_last(config: AgentConfig, history: History, versions: Sequence[Version]) -> datetime:
    """Return when the last text of a note that is gone began to stand.

    Raises:
        InvalidArgument: The note stands; names the days from which the history has another version of it.
    """
    times = {moment.id: moment.at for moment in history.list_moments()}
    path = versions[-1].key.path
    if all(file.path != path for file in list_files(config).files):
        return times[versions[-1].since]
    days = [*dict.fromkeys(show(times[each.since])[:10] for each in versions)]
    problem = f"{path} is there, so name a day of which you want it: versions are of {', '.join(days[-MOST_MOMENTS:])}"
    raise InvalidArgument("--as-of", problem, action=f"their times: memory-core history {quote_words(path)}")


def _list_moments(history: History) -> None:
    """List the last moments with the notes that changed in them."""
    extent, changed = history.measure(), history.list_changes()
    last = {moment: changed[moment] for moment in [*changed][-MOST_MOMENTS:]}
    rows = [
        {
            "at": show(moment.at),
            "origin": moment.origin,
            "notes": [*listed],
            "gone": [path for path, stands in listed.items() if not stands],
        }
        for moment, listed in last.items()
    ]
    facts = {"moments": len(changed), "versions": extent.versions, "bytes": extent.size_bytes, "last": rows}
    if output.prints_json(facts):
        return
    if not changed:
        output.complain(NONE_YET, BEGIN_IT)
        return
    for moment, listed in last.items():
        paths = [path if stands else f"{path} (gone)" for path, stands in listed.items()]
        output.write(f"{show(moment.at)}  {output.shorten(paths)}")
    counts = f"{output.count(extent.versions, 'version')} of notes at {output.count(len(changed), 'moment')}"
    output.print_aside(f"{counts} since {show(next(iter(changed)).at)}, {extent.size_bytes:,} bytes")


def _shape_event(event: NoteEvent) -> dict[str, Any]:
    shaped = {"at": show(event.at), "event": event.event}
    return shaped if event.version is None else {**shaped, "added": event.added, "removed": event.removed}


@command("history import-git")
def import_git(options: Options) -> None:
    """Let the history of a workspace under git begin with its commits; may be repeated."""
    with open_notes(options) as memory:
        config = memory.config()
        refuse_off(config)
        with closing(History(config)) as history:
            history.refuse_disabled()
        memory.sync()
        done = importing.import_git(config)
    if output.prints_json(done):
        return
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


LEAST_CHARS = 2
LEFT_SECONDS = 10.0  # after which a temporary file is one of a writer that was killed
LOOK_SECONDS = 10.0  # that commits are looked through, and other files of the state folder
_LATE = "not all were looked through in time"
AGAIN = "run the same command again"
MOST_SHOWN = 20  # notes, and places that still hold the text


@command("history purge")
@click.option("--match", "text", metavar="TEXT", required=True, help="the text, in any case and with any white space")
@click.option("--dry-run", is_flag=True, help="only show which versions hold it")
@click.option("--yes", is_flag=True, help="do not ask")
def purge(options: Options, *, text: str, dry_run: bool, yes: bool) -> int:
    """Take a text out of all old versions for good, such as a secret that was pasted by mistake."""
    from memory_core.upkeep.store import TidyStore

    wording = Wording(text)
    if len(wording.folded) < LEAST_CHARS:
        raise InvalidArgument("--match", f"expected a text of at least {LEAST_CHARS} characters")
    with open_notes(options) as memory:
        config = memory.config()
        refuse_off(config)
        if (backend := config.memory.backend) != BUILTIN:
            raise HistoryUnavailable(
                f"the backend {backend!r} keeps no history",
                action='to purge one that was kept before, set memory.backend to "builtin" meanwhile',
            )
        finish_interrupted(workspace=config.workspace, state_dir=config.state_dir)  # or a later append brings the text
        memory.sync()  # notes from which the text was removed a moment ago
        with closing(History(config)) as history:
            if not history.exists():
                history.measure()  # raises where the folder may not be entered
            found = history.find_text(text)
            _refuse_in_use(memory, config, found, text, wording)
            asides = _list_set_aside(config, history)
            if not options.json:
                _show(history, found, asides)
            if dry_run:
                turns = _drop_turns(config, wording, dry_run=True)
                messages = output.count(len(turns), "message")
                taken = [f"{messages} would be taken out of the journal of turns."] if turns else []
                _report(found, asides, taken, done=None, left="")
                _warn_of_places(options, config, wording, text)
                return 0
            if not (yes or _confirm()):
                output.complain("nothing was changed")
                return 1
            # The history last: once it is marked, a later index finishes what a kill has left, but only there.
            for file in (Path(f"{aside}{suffix}") for aside in asides for suffix in ("", "-wal", "-shm")):
                file.unlink(missing_ok=True)
            with changing(
                config.activity_path, "nothing was purged, and it may hold the text", f"delete it, then {AGAIN}"
            ):
                drop_entries(config.activity_path, wording.stands_in)
            with closing(TidyStore(config.tidy_path)) as store:
                store.purge(wording.stands_in)
            _drop_leftovers(config, wording)
            turns = _drop_turns(config, wording)
            learned = memory.items.forget_learned(turns)
            with closing(ItemsFile(config.items_path)) as items:
                wiped = items.wipe()  # False while another program reads their file
            history.purge_text(text)
            memory.sync()  # overwrites
            done = history.load_mark() is None and wiped
    taken = [f"{output.count(len(turns), 'message')} taken out of the journal of turns."] if turns else []
    taken += [f"{output.count(len(learned), 'item')} learned from them forgotten."] if learned else []
    _report(found, asides, taken, done=done, left=" but the copy of what was synced" if list_remains(config) else "")
    if done and (held := find_held(config, text)):
        output.complain(f"the text is still in files of this agent: {', '.join(held)}", AGAIN)
        done = False
    return 1 if _warn_of_places(options, config, wording, text) or not done else 0


def _drop_leftovers(config: AgentConfig, wording: Wording) -> None:
    """Remove what killed writers have left in the state folder and the workspace, and appends that were refused with the text."""
    for top in (config.state_dir, config.workspace):
        for place, folders, names in os.walk(top):
            folders[:] = [name for name in folders if name != ".git"]
            for file in (Path(place, name) for name in names):
                with suppress(OSError):
                    if not file.is_symlink() and _is_leftover(file, wording):
                        file.unlink()


def _is_leftover(file: Path, wording: Wording) -> bool:
    """Return True for a temporary file that is old, or holds the text or its beginning at the end, and for a refused append."""
    is_temporary = file.name.startswith(".") and file.name.endswith(TEMPORARY)
    if not is_temporary and file.suffix != REFUSED:
        return False
    text = file.read_bytes().decode(errors="replace")
    begun = any(text.casefold().endswith(wording.folded[:size]) for size in range(LEAST_CHARS, len(wording.folded)))
    # A younger one may be of a writer that runs.
    old = is_temporary and time.time() - file.stat().st_mtime > LEFT_SECONDS
    return old or wording.stands_in(text) or (is_temporary and begun)


def _drop_turns(config: AgentConfig, wording: Wording, *, dry_run: bool = False) -> list[tuple[str, int]]:
    """Take the messages that hold the text out of the journal, unless it is a dry run; return where they stand or stood."""
    with changing(config.journal_dir, "may still hold the text", AGAIN):
        return Journal(config.journal_dir).forget(lambda _session, said, _at: wording.stands_in(said), dry_run=dry_run)


def _warn_of_places(options: Options, config: AgentConfig, wording: Wording, text: str) -> bool:
    """Name the places that hold the text, too, and that this command does not change; return True if others have to be purged."""
    _warn_of_commits(config, wording)
    for sentence in list_remains(config):
        output.complain(sentence)
    known = open_source(options).current()
    others = list_others(config, [known.agent(name) for name in known.agents])
    left = [remainder for other in others for remainder in look_through(other, text)]
    for each in left:
        rest = f"history purge --match {quote_words(text)}" if each.command == "purge" else each.command
        output.complain(each.problem, f"run: memory-core --agent {each.agent} {rest}")
    action = "run this for that workspace, too, with --workspace FOLDER; what another program keeps, delete or edit"
    try:
        for file in find_files(config.state_dir, [config, *others], text, seconds=LOOK_SECONDS):
            output.complain(f"{file} holds the text, too; it is of another workspace or another program", action)
    except TimeoutError:
        output.complain(f"other files of {config.state_dir} may hold the text: {_LATE}")
    return any(each.is_certain for each in left)


def _warn_of_commits(config: AgentConfig, wording: Wording) -> None:
    """Say so if commits of the workspace's repository hold the text, or may."""
    if not is_under_git(config.workspace):
        return
    try:
        path = find_content(config.workspace, wording.stands_in, max_bytes=MAX_NOTE_BYTES, seconds=LOOK_SECONDS)
    except TimeoutError:
        what = f"may hold the text: {_LATE}"
    except HistoryUnavailable as error:
        what = f"may hold the text: {error}"
    else:
        if path is None:
            return
        what = f"hold the text, such as in {quote_name(path)}"
    output.complain(f"commits of the workspace {what}", "rewrite them to be rid of it there, as with git filter-repo")


def _refuse_in_use(memory: Memory, config: AgentConfig, found: list[Version], text: str, wording: Wording) -> None:
    """Refuse while a note, a session log or an item that stands holds the text.

    Raises:
        TextInUse: One does; names them.
    """
    places = list(find_holders(config, text))
    places += [
        f"{each.key.path} holds the text, as it was indexed" for each in found if each.until is None and not places
    ]
    items = [item.id for item in memory.items.export() if wording.stands_in(item.content)]
    places += [f"the item {each} holds the text: memory-core items forget {each}" for each in items]
    if places:
        more = f"; and {len(places) - MOST_SHOWN} more places" if len(places) > MOST_SHOWN else ""
        raise TextInUse(f"nothing was purged: {'; '.join(places[:MOST_SHOWN])}{more}", action=EDIT)


def _list_set_aside(config: AgentConfig, history: History) -> list[Path]:
    """Return the damaged files that were set aside, with their side files: what they hold cannot be told."""
    found: set[Path] = set(history.list_set_aside())
    for file in (config.items_path, config.store_path):
        found.update(file.parent.glob(f"{file.name}.damaged*"))
    return sorted(found)


def _show(history: History, found: list[Version], asides: list[Path]) -> None:
    """Show the notes whose old versions hold the text, and the files that are deleted besides."""
    times = {moment.id: show(moment.at)[:16] for moment in history.list_moments()}
    notes: dict[str, list[Version]] = {}
    for version in found:
        notes.setdefault(version.key.path, []).append(version)
    for path, versions in list(notes.items())[:MOST_SHOWN]:
        since, until = times[versions[0].since], "now" if (end := versions[-1].until) is None else times[end]
        output.write(f"{path}  {output.count(len(versions), 'version')}, {since} to {until}")
    if len(notes) > MOST_SHOWN:
        output.write(f"and {len(notes) - MOST_SHOWN} more notes")
    if not found:
        output.write("No version in the history holds the text.")
    for file in asides:
        output.write(f"{file}  damaged and set aside: would be deleted whole")


def _confirm() -> bool:
    """Ask the person at the terminal.

    Raises:
        InvalidArgument: There is none.
    """
    if not sys.stdin.isatty():
        raise InvalidArgument("--yes", "is required where nobody can be asked; --dry-run shows what would go")
    return click.confirm("Take it out for good? Nothing can bring it back.", err=True)


def _report(found: list[Version], asides: list[Path], others: Sequence[str], *, done: bool | None, left: str) -> None:
    """Tell what was done; `done` is None after a dry run, False if bytes are still to be overwritten."""
    paths, count = sorted({version.key.path for version in found}), output.count(len(found), "version")
    answer = {"notes": paths, "versions": len(found), "files": asides, "dryRun": done is None}
    if done is None:
        told = [f"{count} would be purged. Nothing was changed."]
    elif done and found:
        told = [f"{count} purged; nothing of the text is left in the files of this agent{left}."]
    else:
        told = ["No version held the text; nothing was purged."] if done else []
    for line in () if output.prints_json({**answer, "overwritten": bool(done)}) else (*told, *others):
        output.write(line)
    if done is False:
        output.complain(
            "the text is gone from all answers, but its bytes are still in the files, because another program reads them",
            "Stop that program or wait, then run: memory-core index",
        )
