"""The commands, one row each in `COMMANDS`; the parser and the help are built from that table."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from memory_core import __version__, console
from memory_core.errors import ConfigError, ConfigProblem

if TYPE_CHECKING:
    from memory_core.memory import Memory

Options = argparse.Namespace


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument: its names, and what else `argparse` is told about it."""

    names: tuple[str, ...]
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """One row of the table.

    Attributes:
        name: One word, or two when it belongs to a group, such as `config check`.
        help: One sentence.
        run: Does it and gives the exit code.
        arguments: Its own, besides those that every command takes.
        aliases: Other names, which the help also shows.
    """

    name: str
    help: str
    run: Callable[[Options], int]
    arguments: tuple[Argument, ...] = ()
    aliases: tuple[str, ...] = ()


def argument(*names: str, **details: Any) -> Argument:
    """An argument as `argparse.ArgumentParser.add_argument` takes it."""
    return Argument(names, details)


def run(arguments: Sequence[str]) -> int:
    """Parse a command line and run its command.

    Returns:
        The exit code.

    Raises:
        MemoryCoreError: It failed.
        SystemExit: The help was asked for, or the usage is bad.
    """
    options = parser().parse_args(arguments)
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
    query = os.fsencode(options.query).decode("utf-8", "replace")
    asked = {
        "maxResults": options.max_results,
        "minScore": options.min_score,
        "after": options.after,
        "before": options.before,
    }
    return _call(options, "memory_search", {"query": query, **asked}, console.print_hits)


def _get(options: Options) -> int:
    asked = {"path": options.path, "from": options.start, "lines": options.lines}
    return _call(options, "memory_get", asked, console.print_document)


def _call(options: Options, tool: str, asked: Mapping[str, object], show: Callable[[Mapping[str, Any]], None]) -> int:
    """Call a tool as a host does, with the arguments that were given, and show its result."""
    with _open_notes(options) as memory:
        result = memory.call_tool(tool, {name: value for name, value in asked.items() if value is not None})
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


def _mcp(options: Options) -> int:
    from memory_core.hosts.mcp import serve
    from memory_core.plugin import MemorySlot
    from memory_core.records import CallContext

    slot = MemorySlot(options.config, workspace=options.workspace, state_dir=options.state_dir)
    serve(slot, CallContext(agent=options.agent))
    return 0


def _chat(options: Options) -> int:
    from memory_core.hosts import reference

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
        if options.script is not None:
            reference.play(host, options.script.read_text(encoding="utf-8").split("\n"))
        else:
            reference.converse(host)
    return 0


def _config_check(options: Options) -> int:
    from memory_core.config import describe, load_config

    try:
        config = load_config(options.file or options.config, workspace=options.workspace, state_dir=options.state_dir)
    except ConfigError as error:
        for problem in error.problems:
            console.complain(f"{error.origin}: {problem}")
        return 2
    rows, warnings = describe(config, options.agent), config.agent(options.agent).warnings
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
            argument("query", metavar="QUERY", help="what to look for, in your own words"),
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
        name="config check",
        help="Explain a configuration file, or every error in it.",
        run=_config_check,
        arguments=(argument("file", metavar="FILE", nargs="?", help="instead of the one --config names"),),
    ),
)

# Every command takes these, before its name or after it.
COMMON = (
    argument("--agent", metavar="ID", help="whose memory (main)"),
    argument("--workspace", metavar="DIR", help="where the notes are"),
    argument("--config", metavar="FILE", help="the host's configuration, JSON5 or TOML"),
    argument("--state-dir", metavar="DIR", help="where the index is kept"),
    argument("--json", action="store_true", help="print the answer as JSON"),
    argument("--debug", action="store_true", help="show the traceback of an error"),
)
_DEFAULTS = {"agent": "main", "workspace": None, "config": None, "state_dir": None, "json": False, "debug": False}


class _Parser(argparse.ArgumentParser):
    """Complains in one line."""

    def error(self, message: str) -> NoReturn:
        console.complain(message, f"Try: {self.prog} --help")
        self.exit(2)


def parser() -> argparse.ArgumentParser:
    """The parser of the whole command line; what it parses has `run` set."""
    top = _Parser(
        prog="memory-core",
        description="An agent's memory: plain Markdown notes, found again by meaning and by keyword.",
        allow_abbrev=False,
    )
    top.add_argument("--version", action="version", version=f"memory-core {__version__}")
    groups = {"": top.add_subparsers(title="commands", metavar="COMMAND", required=True)}
    for command in COMMANDS:
        group, _, name = command.name.rpartition(" ")
        if group not in groups:
            member = groups[""].add_parser(group, help=command.help, allow_abbrev=False)
            groups[group] = member.add_subparsers(title="commands", metavar="COMMAND", required=True)
        own = groups[group].add_parser(
            name, aliases=command.aliases, help=command.help, description=command.help, allow_abbrev=False
        )
        _add(own, command.arguments)
        _add_common(own)
        own.set_defaults(run=command.run)
    _add_common(top)
    top.set_defaults(**_DEFAULTS)
    return top


def _add(group: argparse._ActionsContainer, arguments: Sequence[Argument]) -> None:
    for each in arguments:
        group.add_argument(*each.names, **each.details)


def _add_common(own: argparse.ArgumentParser) -> None:
    """Add what every command takes; not given here, it keeps the value it was given before the command."""
    _add(own.add_argument_group("options of every command", argument_default=argparse.SUPPRESS), COMMON)
