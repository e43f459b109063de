"""The commands and their rows in `COMMANDS`, from which `parser` builds the command line."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from memory_core.cli import output
from memory_core.cli.activity import ACTIVITY
from memory_core.cli.history_commands import HISTORY_COMMANDS
from memory_core.cli.items import ItemCommands
from memory_core.cli.opening import check_as_of, explain_empty, open_memory, open_notes
from memory_core.cli.parser import SOURCES, Argument, Command, Later, Options, parse_options
from memory_core.cli.postgres import COMMANDS as POSTGRES_COMMANDS
from memory_core.errors import InvalidArgument, MemoryCoreError
from memory_core.records import NOTHING_INDEXED
from memory_core.tools.arguments import read_citation

if TYPE_CHECKING:
    from memory_core.plugin.memory import Memory

log = logging.getLogger(__name__)

Record = TypeVar("Record")


def run(arguments: Sequence[str]) -> int:
    """Parse a command line and run its command.

    Returns:
        The exit code.

    Raises:
        MemoryCoreError: It failed.
        SystemExit: After the help, and after wrong usage.
    """
    options = parse_options(COMMANDS, arguments)
    action: Callable[[Options], int] = options.run
    return action(options)


def _run_status(options: Options) -> int:
    with open_notes(options) as memory:
        status = memory.status()
        probe = memory.probe() if options.deep else None
    if options.json:
        output.print_json(status if probe is None else {**output.to_plain(status), "probe": probe})
    else:
        output.print_status(status)
        if probe is not None:
            output.print_probe(probe)
    return 0 if probe is None or probe.ok else 1


def _run_index(options: Options) -> int:
    from memory_core.cli.notes import sync_notes

    with open_notes(options) as memory, output.SyncProgress() as progress:
        report = sync_notes(memory, force=options.force, progress=progress)
        _print(options, report, output.print_report)
        if not report.files:
            explain_empty(memory)
    return 0


def _run_search(options: Options) -> int:
    check_as_of(options)
    asked: dict[str, object] = {
        "query": os.fsencode(" ".join(options.query)).decode("utf-8", "replace"),
        "maxResults": options.max_results,
        "minScore": options.min_score,
        "after": options.after,
        "before": options.before,
        "asOf": options.as_of,
        "about": options.about,
    }
    with open_notes(options) as memory:
        result = memory.call_tool("memory_search", asked)
        unfinished = result.get("stale") and not (result["results"] and "warning" in result)
        if unfinished and _finish_sync(memory, result["backend"]):
            result = {**memory.call_tool("memory_search", asked), "stale": False}
        if NOTHING_INDEXED in result.get("warning", ""):
            explain_empty(memory)
    return _print_result(options, result, lambda found: output.print_hits(found, str(asked["query"])))


def _finish_sync(memory: Memory, backend: str) -> bool:
    """Finish the sync that a search left to the background, since a command has none. Return False if that is no use."""
    if "provider out" in memory.status().details:
        return False
    with output.SyncProgress() as progress:
        try:
            return memory.finish_sync(backend, progress=progress)
        except MemoryCoreError:
            return False  # the first answer says why, in its warning


def _run_get(options: Options) -> int:
    check_as_of(options)
    asked = {"path": options.path, "from": options.start, "lines": options.lines, "asOf": options.as_of}
    with open_notes(options) as memory:
        result = memory.call_tool("memory_get", asked)
    whole = options.lines is None and read_citation(options.path).lines is None
    return _print_result(options, result, lambda found: output.print_document(found, whole=whole))


def _print(options: Options, record: Record, show: Callable[[Record], None]) -> None:
    """Print a record as JSON if the options ask for it, else with `show`."""
    if options.json:
        output.print_json(record)
    else:
        show(record)


def _print_result(options: Options, result: Mapping[str, Any], show: Callable[[Mapping[str, Any]], None]) -> int:
    """Print the result of a tool; return the exit code."""
    if options.json:
        output.print_json(result)
    elif "error" not in result:
        show(result)
    if "error" in result:
        output.complain(result["error"], result.get("action"))
    elif result.get("status") == "not_found":
        if "asOf" in result:
            output.complain(
                f"{result['path']}: there was no such note at {result['asOf']['moment']}",
                f"See its versions: memory-core history {result['path']}",
            )
        else:
            output.complain(f"{result['path']}: there is no such note", "`memory-core status` names the workspace.")
    return output.find_code(result)


def _run_probe(options: Options) -> int:
    with open_memory(options) as memory:
        probe = memory.probe()
    _print(options, probe, output.print_probe)
    return 0 if probe.ok else 1


def _run_doctor(options: Options) -> int:
    from memory_core.cli.hosts import diagnose_hosts
    from memory_core.cli.notes import diagnose_index

    with open_memory(options) as memory:
        findings = [*memory.diagnose(), *diagnose_index(memory.config()), *diagnose_hosts()]
    healthy = all(finding.level != "fail" for finding in findings)
    if options.json:
        output.print_json({"ok": healthy, "findings": findings})
    else:
        output.print_findings(findings)
    return 0 if healthy else 1


def _run_mcp(options: Options) -> int:
    from memory_core.hosts import mcp
    from memory_core.hosts.saving import CopySlot, is_saving
    from memory_core.plugin.slot import MemorySlot
    from memory_core.records import CallContext

    saving = is_saving()
    slot = (CopySlot if saving else MemorySlot)(
        options.config, workspace=options.workspace, state_dir=options.state_dir
    )
    # A copy of a session that saves before a compaction writes the note of the day, never MEMORY.md.
    context = CallContext(agent=options.agent, main=False if saving else None)
    mcp.serve(slot, context, http=options.http)
    return 0


def _run_chat(options: Options) -> int:
    from memory_core.hosts import reference

    lines = None if options.script is None else _read_script(options.script)
    host = reference.open_host(
        options.config,
        agent=options.agent,
        workspace=options.workspace,
        state_dir=options.state_dir,
        base_url=options.base_url,
        model=options.model,
        context_window=options.context_window,
    )
    with host:
        if lines is not None:
            reference.play(host, lines)
        else:
            reference.converse(host)
    return 0


def _read_script(script: Path) -> list[str]:
    from memory_core.sources.roots import describe_os_error

    try:
        return script.read_text(encoding="utf-8").split("\n")
    except UnicodeDecodeError as error:
        raise InvalidArgument("--script", f"{script} is not UTF-8 text") from error
    except OSError as error:
        raise InvalidArgument("--script", f"{script} cannot be read: {describe_os_error(error)}") from error


def _run_flush(options: Options) -> int:
    from memory_core.plugin.flush.preview import preview

    if not options.dry_run:
        raise InvalidArgument("--dry-run", "is required: only a host can run a flush turn, with its own model")
    with open_memory(options) as memory:
        shown = preview(memory.config(), options.session)
    _print(options, shown, output.print_flush)
    return 0


def _run_config_check(options: Options) -> int:
    from memory_core.cli import config

    return config.run(options)


COMMANDS = (
    Command(
        name="status",
        help="Show the state of the index, the provider of embeddings, and problems.",
        run=_run_status,
        arguments=(Argument.of("--deep", action="store_true", help="also try to embed a text"), SOURCES),
    ),
    Command(
        name="index",
        aliases=("reindex",),
        help="Index what has changed in the notes.",
        run=_run_index,
        arguments=(Argument.of("--force", action="store_true", help="rebuild the whole index"), SOURCES),
    ),
    Command(
        name="search",
        help="Search the notes by meaning and by keyword.",
        run=_run_search,
        arguments=(
            Argument.of("query", metavar="QUERY", nargs="+", help="question or words to look for"),
            Argument.of("--max-results", type=int, metavar="N", help="show at most N hits, 1 to 100"),
            Argument.of("--min-score", type=float, metavar="X", help="leave out hits below X, 0 to 1"),
            Argument.of("--after", metavar="DATE", help="only notes of this date or later, YYYY-MM-DD"),
            Argument.of("--before", metavar="DATE", help="only notes of this date or earlier"),
            Argument.of(
                "--as-of", metavar="TIME", help="as notes stood then: YYYY-MM-DD (its end), or a date and time"
            ),
            Argument.of("--about", metavar="NAME", help="only what mentions this name, or an alias of it"),
            SOURCES,
        ),
    ),
    Command(
        name="explain",
        help="Tell why a search finds what it finds, and why it does not find one note or line.",
        run=Later("search", "run_explain"),
        arguments=(
            Argument.of("query", metavar="QUERY", nargs="+", help="question or words that were looked for"),
            Argument.of(  # its word is the last one of the query, as argparse reads them
                "place", metavar="PLACE", nargs="?", help="note or line that was missed: MEMORY.md, or MEMORY.md#L3"
            ),
            Argument.of("--max-results", type=int, metavar="N", help="as if N hits were asked for, 1 to 100"),
            Argument.of("--min-score", type=float, metavar="X", help="as if the gate were X, 0 to 1"),
            Argument.of("--after", metavar="DATE", help="only notes of this date or later, YYYY-MM-DD"),
            Argument.of("--before", metavar="DATE", help="only notes of this date or earlier"),
            Argument.of("--about", metavar="NAME", help="only what mentions this name, or an alias of it"),
            SOURCES,
        ),
    ),
    Command(
        name="related",
        help="Tell where notes link to a name and mention it, and what stands beside it.",
        run=Later("search", "run_related"),
        arguments=(
            Argument.of("name", metavar="NAME", nargs="*", help="name, alias or tag; without it, list the names"),
            Argument.of("--max-results", type=int, metavar="N", help="show at most N entries of each list, 1 to 100"),
            SOURCES,
        ),
    ),
    Command(
        name="inspect",
        help="Serve a page on this machine that shows searches, their reasons, notes and the index.",
        run=Later("search", "run_inspect"),
        arguments=(
            Argument.of("--port", type=int, default=0, metavar="N", help="port to serve on; a free one without it"),
            SOURCES,
        ),
    ),
    Command(
        name="get",
        help="Print a note, or some lines of it.",
        run=_run_get,
        arguments=(
            Argument.of("path", metavar="PATH", help="path as a hit names it, such as memory/2026-01-05.md"),
            Argument.of("--from", dest="start", type=int, metavar="N", help="begin at line N"),
            Argument.of("--lines", type=int, metavar="N", help="print at most N lines"),
            Argument.of("--as-of", metavar="TIME", help="as it stood then: YYYY-MM-DD (its end), or a date and time"),
            SOURCES,
        ),
    ),
    ACTIVITY,
    *HISTORY_COMMANDS,
    Command(
        name="add",
        help="Write a text into the note of the day.",
        run=Later("notes", "run_add"),
        arguments=(
            Argument.of("text", metavar="TEXT", nargs="+", help="what to remember; Markdown; - is standard input"),
            Argument.of("--longterm", action="store_true", help="into MEMORY.md instead"),
        ),
    ),
    Command(
        name="open",
        help="Print the file and line of a place, as editors take them.",
        run=Later("notes", "run_open"),
        arguments=(
            Argument.of("place", metavar="PLACE", help="place as a hit names it: memory/2026-01-05.md:L3-L9"),
            SOURCES,
        ),
    ),
    Command(
        name="watch",
        help="Index what changes in the notes, until interrupted.",
        run=Later("notes", "run_watch"),
        arguments=(SOURCES,),
    ),
    Command(
        name="adopt",
        help="Find notes of other programs, and search them where they lie, or copy them.",
        run=Later("adopt", "run_adopt"),
        arguments=(
            Argument.of("path", metavar="PATH", nargs="?", help="a folder or file; the usual places without it"),
            Argument.of("--copy", action="store_true", help="copy into memory/imports of the workspace"),
            Argument.of("--yes", action="store_true", help="do it; without it, nothing is changed"),
            Argument.of("--dry-run", action="store_true", help="only show what would be done, as without --yes"),
            Argument.of("--undo", action="store_true", help="remove all that adopt has written"),
        ),
    ),
    Command(name="probe", help="Try to embed a text with the configured provider.", run=_run_probe),
    Command(
        name="doctor", help="Check everything that a search needs, and say what to do about problems.", run=_run_doctor
    ),
    Command(
        name="mcp",
        help="Serve the memory tools to an MCP client over standard input and output, or HTTP.",
        run=_run_mcp,
        arguments=(
            Argument.of(
                "--http",
                metavar="HOST:PORT",
                nargs="?",
                const="127.0.0.1",
                help="serve at http://HOST:PORT/mcp (127.0.0.1:8765); elsewhere only with MEMORY_CORE_MCP_TOKEN set",
            ),
        ),
    ),
    Command(
        name="install",
        help="Put memory-core into the configuration of another host, such as codex.",
        run=Later("hosts", "run_install"),
        arguments=(
            Argument.of("host", metavar="HOST", nargs="?", help="the host; without it, all hosts are listed"),
            Argument.of("--dry-run", action="store_true", help="only show what would be changed"),
        ),
    ),
    Command(
        name="uninstall",
        help="Take memory-core out of the configuration of another host.",
        run=Later("hosts", "run_uninstall"),
        arguments=(
            Argument.of("host", metavar="HOST", help="the host"),
            Argument.of("--dry-run", action="store_true", help="only show what would be changed"),
        ),
    ),
    Command(
        name="hook",
        help="Answer a hook of another host, whose event is read from standard input.",
        run=Later("hosts", "run_hook"),
        arguments=(
            Argument.of(
                "host",
                metavar="HOST",
                nargs="?",
                default="claude-code",
                choices=("claude-code", "codex", "opencode"),
                help="whose hook it is: claude-code, codex or opencode (claude-code)",
            ),
        ),
    ),
    Command(
        name="chat",
        help="Chat with a model that has this memory (the reference host).",
        run=_run_chat,
        arguments=(
            Argument.of("--base-url", metavar="URL", help="an OpenAI-compatible endpoint, without /chat/completions"),
            Argument.of("--model", metavar="ID", required=True, help="the chat model's id at that endpoint"),
            Argument.of(
                "--context-window",
                type=int,
                default=128_000,
                metavar="N",
                help="tokens of the model's context (128000)",
            ),
            Argument.of(
                "--script", type=Path, metavar="FILE", help="say the lines of a file instead of reading the terminal"
            ),
        ),
    ),
    Command(
        name="flush",
        help="Show if a session would be asked to save notes before its compaction, and why.",
        run=_run_flush,
        arguments=(
            Argument.of(
                "--session",
                metavar="FILE|KEY",
                required=True,
                help="the session's transcript, or its key in sessions.json",
            ),
            Argument.of(
                "--dry-run", action="store_true", help="required: the command only shows the turn, hosts run it"
            ),
        ),
    ),
    *ItemCommands(open_notes).rows,
    *POSTGRES_COMMANDS,
    Command(
        name="completion",
        help="Print a script that completes commands in a shell.",
        run=Later("notes", "run_completion"),
        arguments=(Argument.of("shell", metavar="SHELL", choices=("bash", "zsh", "tcsh"), help="bash, zsh or tcsh"),),
    ),
    Command(
        name="config check",
        help="Explain a configuration file, or list every error in it.",
        run=_run_config_check,
        arguments=(
            Argument.of("file", metavar="FILE", nargs="?", help="the file, instead of the one that --config names"),
        ),
    ),
)
