"""The commands, one row each in `COMMANDS`: what they do; how they are spelt is built from that table by `arguments`."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memory_core import console
from memory_core.arguments import Command, Options, argument, parser
from memory_core.errors import BackendError, ConfigError, ConfigProblem, InvalidArgument, MemoryCoreError

if TYPE_CHECKING:
    from memory_core.memory import Memory


def run(arguments: Sequence[str]) -> int:
    """Parse a command line and run its command.

    Returns:
        The exit code.

    Raises:
        MemoryCoreError: It failed.
        SystemExit: The help was asked for, or the usage is bad.
    """
    options = parser(COMMANDS).parse_args(arguments)
    action: Callable[[Options], int] = options.run
    return action(options)


def _open(options: Options) -> Memory:
    from memory_core.memory import open_memory

    return open_memory(options.config, agent=options.agent, workspace=options.workspace, state_dir=options.state_dir)


def _open_notes(options: Options) -> Memory:
    """Open the memory of a workspace that exists: to a backend, one that does not is merely empty."""
    memory = _open(options)
    workspace = memory.config().workspace
    if not workspace.is_dir():
        raise ConfigError(
            [ConfigProblem("", "there is no such workspace")],
            origin=str(workspace),
            action="make that folder, or name another with --workspace",
        )
    return memory


def _status(options: Options) -> int:
    with _open_notes(options) as memory:
        status = memory.status()
        probe = memory.probe() if options.deep else None
    if options.json:
        console.print_json(status if probe is None else {**console.plain(status), "probe": probe})
    else:
        console.print_status(status)
        if probe is not None:
            console.print_probe(probe)
    return 0 if probe is None or probe.ok else 1


def _index(options: Options) -> int:
    with _open_notes(options) as memory, console.SyncProgress() as progress:
        report = memory.sync(force=options.force, progress=progress)
    if options.json:
        console.print_json(report)
    else:
        console.print_report(report)
    return 0


def _search(options: Options) -> int:
    asked: dict[str, object] = {
        "query": os.fsencode(" ".join(options.query)).decode("utf-8", "replace"),
        "maxResults": options.max_results,
        "minScore": options.min_score,
        "after": options.after,
        "before": options.before,
    }
    asked = {name: value for name, value in asked.items() if value is not None}
    with _open_notes(options) as memory:
        result = memory.call_tool("memory_search", asked)
        unfinished = result.get("stale") and not (result["results"] and "warning" in result)
        if unfinished and _finish_sync(memory):
            result = {**memory.call_tool("memory_search", asked), "stale": False}
    return _answer(options, result, console.print_hits)


def _finish_sync(memory: Memory) -> bool:
    """Wait for what a search leaves to the background: a command has none. False where waiting is of no use."""
    if "provider out" in memory.status().details:
        return False
    with console.SyncProgress() as progress:
        try:
            memory.sync(progress=progress)
        except MemoryCoreError:
            return False  # the answer that is there says why, in its warning
    return True


_PLACE = re.compile(r"(?P<path>.+\.md)[:#]L(?P<first>[1-9]\d{0,8})(?:-L(?P<last>\d{1,9}))?")


def _get(options: Options) -> int:
    asked = {"path": options.path, "from": options.start, "lines": options.lines}
    if place := _PLACE.fullmatch(options.path):  # as search prints it
        first, last = int(place["first"]), int(place["last"] or place["first"])
        shown = {"path": place["path"], "from": first, "lines": max(last - first + 1, 1)}
        asked = {**shown, **{name: value for name, value in asked.items() if name != "path" and value is not None}}
    with _open_notes(options) as memory:
        result = memory.call_tool("memory_get", {name: value for name, value in asked.items() if value is not None})
    return _answer(options, result, console.print_document)


def _answer(options: Options, result: Mapping[str, Any], show: Callable[[Mapping[str, Any]], None]) -> int:
    """Show the result of a tool; the exit code tells what kind it is."""
    if options.json:
        console.print_json(result)
    elif "error" not in result:
        show(result)
    if "error" in result:
        console.complain(result["error"], result.get("action"))
        return 2 if "code" in result else 1
    if result.get("status") == "not_found":
        console.complain(f"{result['path']}: there is no such note", "`memory-core status` names the workspace.")
        return 1
    return 0


def _probe(options: Options) -> int:
    with _open(options) as memory:
        probe = memory.probe()
    if options.json:
        console.print_json(probe)
    else:
        console.print_probe(probe)
    return 0 if probe.ok else 1


def _doctor(options: Options) -> int:
    with _open(options) as memory:
        findings = memory.diagnose()
    healthy = all(finding.level != "fail" for finding in findings)
    if options.json:
        console.print_json({"ok": healthy, "findings": findings})
    else:
        console.print_findings(findings)
    return 0 if healthy else 1


def _mcp(options: Options) -> int:
    from memory_core.hosts.mcp import serve
    from memory_core.plugin import MemorySlot
    from memory_core.records import CallContext

    slot = MemorySlot(options.config, workspace=options.workspace, state_dir=options.state_dir)
    serve(slot, CallContext(agent=options.agent))
    return 0


def _chat(options: Options) -> int:
    from memory_core.hosts import reference

    lines = None if options.script is None else _lines(options.script)
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


def _lines(script: Path) -> list[str]:
    from memory_core.roots import os_reason

    try:
        return script.read_text(encoding="utf-8").split("\n")
    except UnicodeDecodeError as error:
        raise InvalidArgument("--script", f"{script} is not UTF-8 text") from error
    except OSError as error:
        raise InvalidArgument("--script", f"{script} cannot be read: {os_reason(error)}") from error


def _flush(options: Options) -> int:
    from memory_core.flush_preview import preview

    if not options.dry_run:
        raise InvalidArgument("--dry-run", "is needed: a flush turn is run by the host, with its own model")
    with _open(options) as memory:
        shown = preview(memory.config(), options.session)
    if options.json:
        console.print_json(shown)
    else:
        console.print_flush(shown)
    return 0


def _config_check(options: Options) -> int:
    from memory_core.backends import check_sections, find_plugin
    from memory_core.config import describe, load_config

    try:
        config = load_config(options.file or options.config, workspace=options.workspace, state_dir=options.state_dir)
        check_sections(config.agent(options.agent), origin=config.origin)
    except ConfigError as error:
        if options.json:
            console.print_json({"origin": error.origin, "problems": [str(problem) for problem in error.problems]})
        for problem in error.problems:
            console.complain(f"{error.origin}: {problem}")
        return 2
    agent = config.agent(options.agent)
    rows, warnings = describe(config, options.agent), list(agent.warnings)
    try:
        find_plugin(agent.memory.backend)
    except BackendError as error:
        warnings.append(f"{error}; builtin answers instead")
    if options.json:
        console.print_json({"settings": [row._asdict() for row in rows], "warnings": warnings})
    else:
        console.print_settings(rows)
        for warning in warnings:
            console.complain(warning)
    return 0


COMMANDS = (
    Command(
        name="status",
        help="Show what is indexed, who makes embeddings, and what is wrong.",
        run=_status,
        arguments=(argument("--deep", action="store_true", help="also try whether embeddings can be had"),),
    ),
    Command(
        name="index",
        aliases=("reindex",),
        help="Bring the index level with the notes.",
        run=_index,
        arguments=(argument("--force", action="store_true", help="rebuild it"),),
    ),
    Command(
        name="search",
        help="Search the notes by meaning and by keyword.",
        run=_search,
        arguments=(
            argument("query", metavar="QUERY", nargs="+", help="what to look for, in your own words"),
            argument("--max-results", type=int, metavar="N", help="show at most N hits, 1 to 100"),
            argument("--min-score", type=float, metavar="X", help="leave out hits below X, 0 to 1"),
            argument("--after", metavar="DATE", help="only notes of this date or later, YYYY-MM-DD"),
            argument("--before", metavar="DATE", help="only notes of this date or earlier"),
        ),
    ),
    Command(
        name="get",
        help="Print a note, or some lines of it.",
        run=_get,
        arguments=(
            argument("path", metavar="PATH", help="as a hit names it, such as memory/2026-01-05.md"),
            argument("--from", dest="start", type=int, metavar="N", help="begin at line N"),
            argument("--lines", type=int, metavar="N", help="print at most N lines"),
        ),
    ),
    Command(name="probe", help="Try whether embeddings can be had.", run=_probe),
    Command(
        name="doctor", help="Look at all that a search needs, and say what to do about what is wrong.", run=_doctor
    ),
    Command(name="mcp", help="Serve the memory tools to an MCP client over standard input and output.", run=_mcp),
    Command(
        name="chat",
        help="Talk to a model that has this memory: the reference host.",
        run=_chat,
        arguments=(
            argument(
                "--base-url", metavar="URL", help="an OpenAI-compatible endpoint, up to and without /chat/completions"
            ),
            argument("--model", metavar="ID", required=True, help="the chat model, as the endpoint knows it"),
            argument(
                "--context-window", type=int, default=128_000, metavar="N", help="the model's, in tokens (128000)"
            ),
            argument("--script", type=Path, metavar="FILE", help="say the lines of a file instead of asking for them"),
        ),
    ),
    Command(
        name="flush",
        help="Show whether a session would be asked to save before its compaction, and why.",
        run=_flush,
        arguments=(
            argument(
                "--session", metavar="FILE|KEY", required=True, help="its transcript, or its key in sessions.json"
            ),
            argument("--dry-run", action="store_true", help="only show it; always needed, since hosts run the turn"),
        ),
    ),
    Command(
        name="config check",
        help="Explain a configuration file, or every error in it.",
        run=_config_check,
        arguments=(argument("file", metavar="FILE", nargs="?", help="instead of the one --config names"),),
    ),
)
