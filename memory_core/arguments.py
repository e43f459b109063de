"""How a command line is spelt: rows of commands and arguments -> a parser with its help, and errors of one line."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

from memory_core import __version__, console

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


# Every command takes these, before its name or after it.
COMMON = (
    argument("--agent", metavar="ID", help="whose memory (main)"),
    argument("--workspace", metavar="FOLDER", help="where the notes are"),
    argument("--config", metavar="FILE", help="the host's configuration, JSON5 or TOML"),
    argument("--state-dir", metavar="FOLDER", help="where the index is kept"),
    argument("--json", action="store_true", help="print the answer as JSON"),
    argument("--debug", action="store_true", help="show the traceback of an error"),
)
_DEFAULTS = {"agent": "main", "workspace": None, "config": None, "state_dir": None, "json": False, "debug": False}


class _Parser(argparse.ArgumentParser):
    """Complains in one line."""

    def error(self, message: str) -> NoReturn:
        console.complain(message, f"Try: {self.prog} --help")
        self.exit(2)


def parser(commands: Sequence[Command]) -> argparse.ArgumentParser:
    """The parser of the whole command line; what it parses has `run` set, from the command's row."""
    top = _Parser(
        prog="memory-core",
        description="An agent's memory: plain Markdown notes, found again by meaning and by keyword.",
        allow_abbrev=False,
    )
    top.add_argument("--version", action="version", version=f"memory-core {__version__}")
    groups = {"": top.add_subparsers(title="commands", metavar="COMMAND", required=True)}
    for command in commands:
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
