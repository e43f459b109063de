"""The parser of the commands that are named reads a command line as the parser of all of them does."""

from __future__ import annotations

import shlex

import pytest

from memory_core.cli.commands import COMMANDS
from memory_core.cli.parser import Later, build_parser, parse_options


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
    with pytest.raises(SystemExit):
        build_parser(COMMANDS).parse_args(shlex.split(line))
    whole = capsys.readouterr().err
    with pytest.raises(SystemExit):
        parse_options(COMMANDS, shlex.split(line))
    assert capsys.readouterr().err == whole != ""


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
