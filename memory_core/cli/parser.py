"""Makes a parser with help from rows of commands and arguments; its errors are one line."""

from __future__ import annotations

import argparse
import contextlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from itertools import pairwise
from typing import Any, NoReturn, Self

from memory_core.__about__ import __version__
from memory_core.cli import output
from memory_core.config.settings import DEFAULT_AGENT

Options = argparse.Namespace
_CHOICE = re.compile(r"(COMMAND)?: invalid choice: '([^']*)' \(choose from (.*)\)")
# Names that people try, and the commands that do it.
_MEANT = {
    "append": "add", "write": "add", "remember": "add", "find": "search", "query": "search", "ask": "search",
    "show": "get", "read": "get", "cat": "get", "why": "explain", "log": "activity", "check": "doctor",
    "sync": "index", "web": "inspect", "ui": "inspect", "facts": "items",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument: its names, and the other arguments of `add_argument`."""

    names: tuple[str, ...]
    details: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, *names: str, **details: Any) -> Self:
        """Return a row from the arguments of `argparse.ArgumentParser.add_argument`."""
        return cls(names, details)


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """One row of the table.

    Attributes:
        name: One word, or two when it belongs to a group, such as `config check`.
        help: One sentence.
        run: Runs the command and returns the exit code.
        arguments: Its own, besides those of every command.
        aliases: Other names; the help shows them too.
        group: One sentence about its group, for the first command of one with several.
        beside: Its first word is a command of its own, which takes other words than its second.
    """

    name: str
    help: str
    run: Callable[[Options], int]
    arguments: tuple[Argument, ...] = ()
    aliases: tuple[str, ...] = ()
    group: str = ""
    beside: bool = False


@dataclass(frozen=True, slots=True)
class Later:
    """A function that runs a command; its module is imported then, so that no other command pays for it.

    Attributes:
        module: Its name below `memory_core.cli`.
        function: Its name there.
    """

    module: str
    function: str

    def load(self) -> Callable[[Options], int]:
        """Return the function itself."""
        found: Callable[[Options], int] = getattr(import_module(f"memory_core.cli.{self.module}"), self.function)
        return found

    def __call__(self, options: Options) -> int:
        """Run the command."""
        return self.load()(options)


SOURCES = Argument.of(
    "--sources", metavar="NAMES", help="what is searched, with commas: memory, workspace (all its .md files), sessions"
)
# Every command takes these, before its name or after it.
COMMON = (
    Argument.of("--agent", metavar="ID", help="id of the agent (main)"),
    Argument.of("--workspace", metavar="FOLDER", help="folder of the notes"),
    Argument.of("--config", metavar="FILE", help="configuration of the host, JSON5 or TOML"),
    Argument.of("--state-dir", metavar="FOLDER", help="folder of the index"),
    Argument.of("--json", action="store_true", help="print the result as JSON"),
    Argument.of("--debug", action="store_true", help="show the traceback of an error"),
)
_DEFAULTS = {
    "agent": DEFAULT_AGENT,
    "workspace": None,
    "config": None,
    "sources": None,
    "state_dir": None,
    "json": False,
    "debug": False,
}


class WrongUsage(Exception):
    """A command line that a parser does not understand.

    Attributes:
        action: The command that shows the help.
    """

    def __init__(self, message: str, action: str) -> None:
        super().__init__(message)
        self.action = action


class _Parser(argparse.ArgumentParser):
    """Raises for wrong usage instead of ending the process; each command finds what is too much for itself."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:  # see `ArgumentParser`
        options, rest = super().parse_known_args(args, namespace)
        if rest:
            self.error(f"unrecognized arguments: {' '.join(rest)}")
        return options, rest

    def error(self, message: str) -> NoReturn:
        if wrong := _CHOICE.search(message):
            import difflib

            known = re.findall(r"[\w-]+", wrong[3])
            near = difflib.get_close_matches(wrong[2], known, n=1)
            if wrong[1]:
                message = f"there is no command {wrong[2]!r}"
                near = [each for each in (_MEANT.get(wrong[2]),) if each in known] or near
            message += f"; did you mean {near[0]!r}?" if near else ""
        raise WrongUsage(message, f"Try: {self.prog} --help")


def parse_options(commands: Sequence[Command], arguments: Sequence[str]) -> Options:
    """Parse a command line; the options have `run` of their command's row.

    The parser is built from the commands whose names occur, in a tenth of the time that all of them take.

    Raises:
        SystemExit: After the help, and after wrong usage.
    """
    arguments = _join_names(commands, arguments)
    words = set(arguments)
    if not words & {"-h", "--help"}:
        named = [each for each in commands if words & {each.name, each.name.rpartition(" ")[2], *each.aliases}]
        with contextlib.suppress(WrongUsage):  # the parser of all commands says what is wrong
            return build_parser(named).parse_args(arguments)
    try:
        return build_parser(commands).parse_args(arguments)
    except WrongUsage as wrong:
        if "--json" in words:
            output.print_json({"error": str(wrong), "action": wrong.action})
        output.complain(str(wrong), wrong.action)
        raise SystemExit(2) from None


def _join_names(commands: Sequence[Command], arguments: Sequence[str]) -> list[str]:
    """Return a command line in which the first name of two words that has a command beside it is one word."""
    names = {each.name for each in commands if each.beside}
    for place, pair in enumerate(pairwise(arguments)):
        if (name := " ".join(pair)) in names:
            return [*arguments[:place], name, *arguments[place + 2 :]]
    return list(arguments)


def build_parser(commands: Sequence[Command]) -> argparse.ArgumentParser:
    """Return the parser of some commands; options that it parses have `run` of their command's row."""
    top = _Parser(
        prog="memory-core",
        description="Memory for AI agents: plain Markdown notes, searched by meaning and by keyword.",
        allow_abbrev=False,
    )
    top.add_argument("--version", action="version", version=f"memory-core {__version__}")
    groups = {"": top.add_subparsers(title="commands", metavar="COMMAND", required=True)}
    for command in commands:
        group, _, name = ("", "", command.name) if command.beside else command.name.rpartition(" ")
        if group not in groups:
            member = groups[""].add_parser(group, help=command.group or command.help, allow_abbrev=False)
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
    """Add the options of every command; one that is not given here keeps the value from before the command."""
    _add(own.add_argument_group("options of every command", argument_default=argparse.SUPPRESS), COMMON)
