"""The commands that read, write and index notes, and those that tell how their index is."""

from __future__ import annotations

import os
import shutil
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from memory_core.as_json import to_json
from memory_core.atomic import locked
from memory_core.cli import app, output
from memory_core.cli.app import Options, argument, command, open_notes, with_sources
from memory_core.config.agent import make_workspace_key
from memory_core.config.environment import quote_words, shorten_home
from memory_core.config.projects import find_private_folder, list_left_behind
from memory_core.config.resolution import OWN_FOLDER
from memory_core.errors import InvalidArgument, MemoryCoreError, MemoryOff
from memory_core.history.history import History
from memory_core.history.notes import name_note
from memory_core.plugin.explaining import find_instead, find_meant
from memory_core.records import CallContext, Finding, ProgressCallback, SyncReport
from memory_core.sources import pages
from memory_core.sources.activity import find_problem, record_problem
from memory_core.sources.files import list_files
from memory_core.sources.journal import Journal
from memory_core.sources.notes import MAX_NOTE_BYTES
from memory_core.sources.refusals import describe_failure
from memory_core.sources.unsearched import holds_notes
from memory_core.tools.arguments import find_cited, read_citation

if TYPE_CHECKING:
    from memory_core.config.agent import AgentConfig
    from memory_core.plugin.memory import Memory

WATCH_SECONDS = 1.0  # between two looks at what the background has done
AGAIN = "run `memory-core index`"
MESSAGE_CHARS = 500
DONE = {"appended": "Added to", "nothing new": "Already in"}


@command("get")
@argument("path", help="path as a hit names it, such as memory/2026-01-05.md")
@click.option("--from", "start", type=int, metavar="N", help="begin at line N")
@click.option("--lines", type=int, metavar="N", help="print at most N lines")
@click.option(
    "--as-of", metavar="TIME", help='as it stood then: YYYY-MM-DD or "yesterday" (its end), or a date and time'
)
@with_sources
def get(options: Options, *, path: str, start: int | None, lines: int | None, as_of: str | None) -> int:
    """Print a note, or some lines of it."""
    with open_notes(options) as memory:
        result = _get(memory, {"path": path, "from": start, "lines": lines, "asOf": as_of})
    whole = lines is None and read_citation(path).lines is None
    return output.print_result(result, lambda found: output.print_document(found, whole=whole))


@command("open")
@argument("place", help="place as a hit names it: memory/2026-01-05.md:L3-L9")
@with_sources
def open_place(options: Options, *, place: str) -> int:
    """Print the file and line of a place, as editors take them."""
    with open_notes(options) as memory:
        result = _get(memory, {"path": place, "lines": 1, "asOf": None})
        config = memory.config()
    if output.find_code(result):
        return output.print_result(result, lambda _: None)
    file = pages.resolve(config, result["path"])
    path = str(file.real_path) if file else result["path"]
    output.tell({"path": path, "line": result["from"]}, f"{path}:{result['from']}")
    return 0


def _get(memory: Memory, asked: Mapping[str, Any]) -> dict[str, Any]:
    """Call memory_get, also for a note that is named by the end of its path; an action names what may be meant instead."""
    result = memory.call_tool("memory_get", asked)
    if output.find_code(result) != 1:
        return result
    config = memory.config()
    cited = find_cited(config, asked["path"])
    meant = find_meant(cited.path, (file.path for file in list_files(config).files))
    if meant and meant != name_note(config, cited.path):
        lines = {"from": asked.get("from") or cited.first, "lines": asked["lines"] or cited.lines}
        return memory.call_tool("memory_get", {"path": meant, **lines, "asOf": asked["asOf"] or cited.as_of})
    if asked["asOf"] is None and cited.as_of is None:
        action = find_instead(config, cited.path) or result.get("action")
        result = {**result, "action": action} if action else result
    return result


@command("add")
@argument("text", nargs=-1, required=True, help="what to remember; Markdown; - is standard input")
@click.option("--longterm", "target", flag_value="longterm", help="into MEMORY.md instead")
@click.option("--person", "target", flag_value="person", help="into your own MEMORY.md, for all projects")
def add(options: Options, *, text: tuple[str, ...], target: str | None) -> int:
    """Write a text into the note of the day."""
    said = app.read_text("TEXT", "-") if text == ("-",) else app.join_words("TEXT", text)
    with open_notes(options, writes=True) as memory:
        result = memory.call_tool("memory_append", {"text": said, "target": target or "daily"}, CallContext(by="user"))
        config = memory.config()
    output.complain_of_answer(result.get("warning"), result.get("action"))

    def show(found: Mapping[str, Any]) -> None:
        if found["status"] == "proposed":
            print(f"To be reviewed, since this is private: {found['path']}")
        else:
            layer, _ = config.find_layer(found["path"])
            print(f"{DONE[found['status']]} {found['path']} in {shorten_home(layer.workspace)}")

    return output.print_result(result, show)


@command("index")
@click.option("--force", is_flag=True, help="rebuild the whole index")
@click.option(
    "--behind",
    is_flag=True,
    help="as hooks of hosts start it: ends if one runs already, and goes on while turns come in",
)
@with_sources
def index(options: Options, *, force: bool, behind: bool) -> int:
    """Index what has changed in the notes; `reindex` is another name for it."""
    with open_notes(options) as memory, output.show_progress() as progress:
        if behind:
            _index_behind(memory)
            return 0
        report = sync_notes(memory, force=force, progress=progress)
        output.print_record(report, lambda found: output.print_report(found, memory.status().sources))
        if not report.files:
            app.explain_empty(memory)
    return 0 if report.backend_fallback is None else 1  # so that a timer does not take it for done


def _index_behind(memory: Memory) -> None:
    """Index until nothing is new in the journal, unless another process does so."""
    config = memory.config()
    journal = Journal(config.journal_dir)
    lock = config.journal_dir.with_suffix(".behind.lock")
    while True:
        seen = journal.take_stamp()
        try:
            with locked(lock, timeout_seconds=0.0):
                sync_notes(memory, force=False, progress=None)
        except TimeoutError:
            return
        if journal.take_stamp() == seen:  # else hooks have started nobody for it, since the lock was held
            return


@command("watch")
@with_sources
def watch(options: Options) -> None:
    """Index what changes in the notes, until interrupted."""
    with open_notes(options) as memory:
        with output.show_progress() as progress:
            report, seen = memory.sync(progress=progress), memory.status()
        output.print_report(report, seen.sources)
        sys.stdout.flush()  # a pipe would keep it back
        memory.start()
        output.print_aside(f"Watching {', '.join(map(str, (seen.workspace, *seen.extra)))}. Press Ctrl-C to end.")
        pause, told, known = threading.Event(), seen, len(_list_changes(memory.config()))
        try:
            while not pause.wait(WATCH_SECONDS):
                status = memory.status()
                if told.last_sync != status.last_sync == seen.last_sync:  # the history has what the sync has met by now
                    changes = _list_changes(memory.config())
                    names = [*dict.fromkeys(name for listed in changes[known:] for name in listed)]
                    if names or (status.files, status.chunks) != (told.files, told.chunks):
                        held = output.count_files(status.files, status.sources)
                        what = f"{output.shorten(names)}; there are {held}" if names else held
                        print(f"Indexed {what} in {output.count(status.chunks, 'chunk')}.", flush=True)
                    told, known = status, len(changes)
                seen = status
        except KeyboardInterrupt:
            output.print_aside("")


def _list_changes(config: AgentConfig) -> list[list[str]]:
    """Return the notes that changed at each moment of the history; none without a history."""
    with closing(History(config, writable=False)) as history:
        moments = history.list_changes().values() if history.enabled and history.exists() else ()
    return [[path if stands else f"{path} (gone)" for path, stands in listed.items()] for listed in moments]


@command("status")
@click.option("--deep", is_flag=True, help="also try to embed a text")
@with_sources
def show_status(options: Options, *, deep: bool) -> int:
    """Show the state of the index, the provider of embeddings, and problems."""
    with open_notes(options) as memory:
        status = memory.status()
        probed = memory.probe() if deep else None
    if not output.prints_json(status if probed is None else {**to_json(status), "probe": probed}):
        output.print_status(status)
        if probed is not None:
            output.print_probe(probed)
    return 0 if probed is None or probed.ok else 1


@command("probe")
def probe(options: Options) -> int:
    """Try to embed a text with the configured provider."""
    with app.open_memory(options) as memory:
        found = memory.probe()
    output.print_record(found, output.print_probe)
    return 0 if found.ok else 1


@command("doctor")
def doctor(options: Options) -> int:
    """Check everything that a search needs, and say what to do about problems."""
    from memory_core.cli.hosts import diagnose_hosts
    from memory_core.cli.items import diagnose_journal
    from memory_core.items.store.file import ItemsFile

    with app.open_memory(options) as memory:
        config = memory.config()
        findings = [*memory.diagnose(), *diagnose_index(memory), *diagnose_disk(config)]
        for subject, diagnose in (
            ("items", lambda _: ItemsFile(config.items_path, writable=False).list_problems()),
            ("journal", diagnose_journal),
            ("projects", diagnose_projects),
            ("hosts", diagnose_hosts),
        ):
            try:
                findings += diagnose(config)
            except (MemoryCoreError, OSError) as error:
                findings.append(Finding(subject, "fail", str(error), "mend that first"))
    healthy = all(finding.level != "fail" for finding in findings)
    output.print_record({"ok": healthy, "findings": findings}, lambda _: output.print_findings(findings))
    return 0 if healthy else 1


@command("activity")
@click.option("--session", metavar="KEY", help="only what this session did")
@click.option("--limit", type=int, default=20, metavar="N", help="at most N lines (20)")
def list_activity(options: Options, *, session: str | None, limit: int) -> None:
    """List what sessions stored, recalled, flushed and forgot, the latest first."""
    if limit < 1:
        raise InvalidArgument("--limit", f"expected 1 or more, not {limit}")
    with open_notes(options) as memory:
        found = memory.list_activity(limit=limit, session=session)
        enabled = memory.config().search.activity.enabled
    if output.prints_json({"enabled": enabled, "activity": found}):
        return
    for entry in found:
        facts = [entry.by, *([entry.outcome] if entry.outcome else []), *([entry.session] if entry.session else [])]
        places = ", ".join(entry.places) + (" ..." if entry.count > len(entry.places) else "")
        output.write(f"{output.format_time(entry.at)}  {entry.action:<8}  {places or 'nothing'}  ({', '.join(facts)})")
    if not enabled:
        output.print_aside("The log is off; memorySearch.activity.enabled turns it on.")
    elif not found:
        output.print_aside("No activity yet." if session is None else f"No activity of session {session}.")


def sync_notes(memory: Memory, *, force: bool, progress: ProgressCallback | None) -> SyncReport:
    """Index what has changed, and keep what is to be complained of; a run without a complaint forgets the one before.

    Raises:
        MemoryCoreError: It cannot be done.
    """
    config = memory.config()
    try:
        report = memory.sync(force=force, progress=progress)
    except MemoryOff:
        raise
    except Exception as error:
        _keep(config, f"{error}" or type(error).__name__)
        raise
    complaints = [*map(describe_failure, report.failures), *report.warnings]
    _keep(config, "; ".join(complaints))
    return report


def diagnose_index(memory: Memory) -> Iterator[Finding]:
    """Yield a finding about what the last run for these notes complained of, unless a later sync has met no failure."""
    file, is_over = _find_file(memory.config()), False
    if problem := find_problem(file):
        with suppress(MemoryCoreError, OSError):
            status = memory.status()
            is_over = not status.failures and (status.last_sync or 0.0) > file.stat().st_mtime
    if problem and not is_over:
        yield Finding("last index", "warn", f"the last `memory-core index` complained at {problem}", AGAIN)


def diagnose_disk(config: AgentConfig) -> Iterator[Finding]:
    """Yield a finding about each folder whose disk may not take another note."""
    for folder in (config.workspace, config.state_dir):
        with suppress(OSError):  # it does not exist yet
            if (left := shutil.disk_usage(folder).free) < MAX_NOTE_BYTES:
                message = f"the disk is full: {left:,} bytes are left for {folder}"
                yield Finding("disk", "fail", message, "make room on that disk")


def diagnose_projects(config: AgentConfig) -> Iterator[Finding]:
    """Yield a finding about each private folder whose repository is not where it was, with what brings its notes here."""
    here = None if config.project is None else config.project.repository
    for folder, repository in list_left_behind(os.environ):
        if not holds_notes(folder):
            continue
        action = "go to where it is now, and run memory-core doctor there; if it is no more, delete the folder"
        if here is not None:
            own = find_private_folder(here, os.environ)
            bring = "memory-core adopt {} --copy --yes --workspace {}" if own.exists() else "mv {} {}"
            words = (quote_words(str(each)) for each in (folder, own))
            action = f"if it is what is here now, bring them over: {bring.format(*words)}"
        message = f"{shorten_home(folder)} has notes of {shorten_home(repository)}, which is not there any more"
        yield Finding("projects", "warn", message, action)


def _find_file(config: AgentConfig) -> Path:
    name = f"{config.agent}-{make_workspace_key(config.workspace)}.index-complaint"
    return config.state_dir / OWN_FOLDER / name


def _keep(config: AgentConfig, message: str) -> None:
    """Keep a complaint, or forget the one that is kept if there is none."""
    with suppress(OSError):  # the checks of doctor tell what is wrong with the folder
        record_problem(_find_file(config), message[:MESSAGE_CHARS])
