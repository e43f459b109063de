"""The parser of the commands that are named reads a command line as the parser of all of them does."""

from __future__ import annotations

import json
import shlex

import pytest

from memory_core.cli.commands import COMMANDS
from memory_core.cli.parser import Later, WrongUsage, build_parser, parse_options


@pytest.mark.parametrize(
    "line",
    [
        "search index items --json",
        "--workspace search index --force",
        "reindex",
        "items list --agent Ada",
        "get status --from 3",
        "config check config",
    ],
)
def test_a_part_of_the_commands_reads_what_all_read(line: str) -> None:
    arguments = shlex.split(line)
    assert parse_options(COMMANDS, arguments) == build_parser(COMMANDS).parse_args(arguments)


@pytest.mark.parametrize("line", ["serch search", "items", "search", "index --json x", "search x --max-results y"])
def test_what_is_wrong_is_said_with_all_commands_in_view(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(WrongUsage) as whole:
        build_parser(COMMANDS).parse_args(shlex.split(line))
    with pytest.raises(SystemExit) as left:
        parse_options(COMMANDS, shlex.split(line))
    shown = capsys.readouterr()
    assert (left.value.code, shown.err.startswith(f"memory-core: {whole.value}")) == (2, True)
    assert bool(shown.out) == ("--json" in line)


@pytest.mark.parametrize(
    ("line", "message", "action"),
    [
        ("search x --limit 3", "unrecognized arguments: --limit 3", "Try: memory-core search --help"),
        ("items list --all", "unrecognized arguments: --all", "Try: memory-core items list --help"),
        ("append x", "there is no command 'append'; did you mean 'add'?", "Try: memory-core --help"),
        ("search", "the following arguments are required: QUERY", "Try: memory-core search --help"),
    ],
)
def test_wrong_usage_names_the_help_of_its_command_also_as_json(
    line: str, message: str, action: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        parse_options(COMMANDS, [*shlex.split(line), "--json"])
    assert json.loads(capsys.readouterr().out) == {"error": message, "action": action}


@pytest.mark.parametrize("line", ["--help", "search --help", "search -h index"])
def test_the_help_shows_what_all_commands_show(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        build_parser(COMMANDS).parse_args(shlex.split(line))
    whole = capsys.readouterr().out
    with pytest.raises(SystemExit):
        parse_options(COMMANDS, shlex.split(line))
    assert capsys.readouterr().out == whole != ""


def test_commands_that_are_loaded_later_are_there() -> None:
    later = [command.run.load() for command in COMMANDS if isinstance(command.run, Later)]
    assert [run.__module__.partition(".cli.")[0] for run in later] == ["memory_core"] * len(later) != []
