"""The command line on standard streams that are closed, full or gone: one line, an exit code, and nothing else."""

from __future__ import annotations

import pytest

from tests.command import Command

COMMANDS = ("--version", "--help", "config check", "status", "search 'retired teacher' --json", "get MEMORY.md")


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize(("redirect", "reason"), [(">&-", "is closed"), (">/dev/full", "No space left on device")])
@pytest.mark.parametrize("arguments", COMMANDS)
def test_standard_output_that_takes_nothing_is_told_in_one_line(
    command: Command, arguments: str, redirect: str, reason: str, unbuffered: str
) -> None:
    done = command.shell(arguments, redirect, environment={"PYTHONUNBUFFERED": unbuffered})
    assert done.code == 1
    assert done.error.startswith("memory-core: standard output ")
    assert reason in done.error


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_reader_that_has_seen_enough_is_no_error(command: Command, unbuffered: str) -> None:
    done = command.shell("config check --json", "| head -c 1", environment={"PYTHONUNBUFFERED": unbuffered})
    assert (done.out, done.err) == ("{", "")


@pytest.mark.parametrize("redirect", ["2>&-", "2>/dev/full"])
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_nobody_to_complain_to_changes_neither_answer_nor_exit_code(
    command: Command, redirect: str, unbuffered: str
) -> None:
    environment = {"PYTHONUNBUFFERED": unbuffered}
    found = command.shell("search 'retired teacher' --json", redirect, environment=environment)
    assert found.code == 0
    assert found.json["results"]
    wrong = command.shell("nonsense", redirect, environment=environment)
    assert (wrong.code, wrong.out) == (2, "")


def test_a_closed_standard_input_changes_nothing(command: Command) -> None:
    done = command.shell("config check", "<&-")
    assert (done.code, done.err) == (0, "")
