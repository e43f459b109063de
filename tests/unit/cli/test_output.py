"""Lines that commands print, and the streams they go to."""

from __future__ import annotations

import io
import os
import re
import shutil
import sys
from collections.abc import Iterator
from contextlib import redirect_stderr
from pathlib import Path

import pytest

from memory_core.as_json import to_json
from memory_core.cli import output
from memory_core.config.environment import expand_home, quote_words, split_words
from memory_core.records import FileFailure, Finding, Probe, Progress, Status, SyncReport


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def ticking(*, step: float) -> Iterator[float]:
    now = 0.0
    while True:
        yield now
        now += step


def states(count: int) -> list[Progress]:
    return [Progress(phase="files", done=done, total=count, path=f"{done}.md") for done in range(1, count + 1)]


def shown(stream: io.StringIO, *, step: float, count: int = 40) -> str:
    clock = ticking(step=step)
    with redirect_stderr(stream), output.show_progress(clock=lambda: next(clock)) as progress:
        for state in states(count):
            progress(state)
    return stream.getvalue()


def test_short_work_shows_no_progress() -> None:
    assert not shown(io.StringIO(), step=0.001)
    assert not shown(Terminal(), step=0.001)


def test_without_a_terminal_progress_is_a_line_now_and_then() -> None:
    lines = shown(io.StringIO(), step=0.5).splitlines()
    assert 2 <= len(lines) <= 5
    assert lines[0].endswith(" of 40")
    assert not any("\x1b" in line for line in lines)


def test_on_a_terminal_progress_is_a_bar_that_goes_away() -> None:
    drawn = shown(Terminal(), step=0.5)
    assert "files" in drawn
    assert "/40" in drawn
    assert drawn.endswith("\x1b[2K")  # the line is erased


@pytest.mark.parametrize(
    ("what", "action", "line"),
    [
        ("it is full", "Make room.", "memory-core: it is full. Make room.\n"),
        ("it is full.", None, "memory-core: it is full.\n"),
        ("two\nlines\x1b[31m", "", "memory-core: two lines[31m.\n"),
        (
            "it is out; check the network",
            "Check the network; try again",
            "memory-core: it is out; check the network. Try again\n",
        ),
    ],
)
def test_a_complaint_is_one_line(what: str, action: str | None, line: str, capsys: pytest.CaptureFixture[str]) -> None:
    output.complain(what, action)
    assert capsys.readouterr() == ("", line)


def test_values_hang_under_each_other_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stdout", terminal)
    monkeypatch.setenv("COLUMNS", "40")
    output.print_pairs(
        {"index": "/a/path/that/is/longer/than/the/terminal", "vectors": "exact, compared one by one as ever"}
    )
    assert terminal.getvalue().splitlines() == [
        "index    /a/path/that/is/longer/than/the/terminal",
        "vectors  exact, compared one by one as",
        "         ever",
    ]


ROWS = [("host", "its folder"), ("codex", "/home/ada/a/folder/with/a/long/name"), ("[zed]", "/z")]


@pytest.mark.parametrize("no_color", ["", "1"])
def test_a_terminal_gets_tables_that_fit_and_colours(monkeypatch: pytest.MonkeyPatch, no_color: str) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stdout", terminal)
    for name, value in {"COLUMNS": "30", "TERM": "xterm-256color", "NO_COLOR": no_color}.items():
        monkeypatch.setenv(name, value)
    output.print_table(ROWS)
    output.print_findings([Finding(subject="index", level="warn", message="is old\x07")])
    shown = terminal.getvalue()
    plain = re.sub(r"\x1b\[[\d;]*m", "", shown)
    assert [line.rstrip() for line in plain.splitlines()] == [
        "host   its folder",
        "codex  /home/ada/a/folder/with",
        "       /a/long/name",
        "[zed]  /z",
        "warn  index  is old",
    ]
    assert ("\x1b[33mwarn" in shown) == (not no_color)


def test_the_first_column_of_a_table_stays_in_one_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stdout", terminal)
    monkeypatch.setenv("COLUMNS", "30")
    output.print_table([("host", "state", "its folder"), ("claude-desktop", "in place", "/home/ada/.config/Claude")])
    assert "claude-desktop  " in terminal.getvalue()


def test_a_pipe_gets_tables_in_columns(capsys: pytest.CaptureFixture[str]) -> None:
    output.print_table(ROWS)
    assert capsys.readouterr().out.splitlines()[1:] == [
        "codex  /home/ada/a/folder/with/a/long/name",
        "[zed]  /z",
    ]


@pytest.mark.parametrize(
    ("sources", "shown"),
    [({"memory": 3}, "3"), ({"memory": 1, "sessions": 2, "workspace": 1}, "4 (1 note, 2 sessions, 1 other .md file)")],
)
def test_a_status_tells_notes_from_what_else_is_indexed(
    sources: dict[str, int], shown: str, capsys: pytest.CaptureFixture[str]
) -> None:
    status = Status(backend="builtin", agent="main", workspace=Path("ws"), files=sum(sources.values()), sources=sources)
    output.print_status(status)
    assert [line.split(maxsplit=1)[1] for line in capsys.readouterr().out.splitlines() if line[:5] == "files"] == [
        shown
    ]


@pytest.mark.parametrize(
    ("sources", "shown"),
    [({}, "3 notes"), ({"memory": 3}, "3 notes"), ({"memory": 1, "sessions": 2}, "1 note, 2 sessions")],
)
def test_a_report_tells_notes_from_sessions(
    sources: dict[str, int], shown: str, capsys: pytest.CaptureFixture[str]
) -> None:
    output.print_report(SyncReport(files=3, chunks=4, added=3), sources)
    assert capsys.readouterr().out.startswith(f"Indexed {shown} in 4 chunks (3 added,")


def test_records_become_objects_with_camel_case_keys() -> None:
    report = SyncReport(failures=(FileFailure(path="a.md", reason="gone"),))
    plain = to_json({"asGiven_": report, "path": Path("/tmp/x")})
    assert plain["asGiven_"]["failures"] == [{"path": "a.md", "reason": "gone"}]
    assert plain["path"] == "/tmp/x"


def test_a_failed_probe_says_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    output.print_probe(Probe(ok=False, provider="openai", error="openai: no key", action="Set OPENAI_API_KEY."))
    assert capsys.readouterr() == ("", "memory-core: openai does not work: no key. Set OPENAI_API_KEY.\n")


def test_a_note_cannot_steer_the_terminal(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    document = {"path": "a.md", "text": "\x1b]0;owned\x07red\ttea", "from": 1, "lines": 1, "status": "ok"}
    output.print_document(document, whole=True)
    assert capsys.readouterr().out == "\x1b]0;owned\x07red\ttea\n"
    terminal = Terminal()
    monkeypatch.setattr("sys.stdout", terminal)
    output.print_document(document, whole=True)
    assert terminal.getvalue() == "]0;ownedred\ttea\n"


@pytest.mark.parametrize(("system", "shown"), [("linux", "'when is it'"), ("win32", '"when is it"')])
def test_a_word_is_quoted_for_the_shell_that_shows_it(monkeypatch: pytest.MonkeyPatch, system: str, shown: str) -> None:
    monkeypatch.setattr(sys, "platform", system)
    assert (quote_words("when is it"), quote_words("plain")) == (shown, "plain")


@pytest.mark.parametrize(
    ("system", "command", "words"),
    [
        ("linux", "code\\ -x --wait 'a b'", ["code -x", "--wait", "a b"]),
        ("win32", '"C:\\Program Files\\O\'Neil\\code.exe" --wait', ["C:\\Program Files\\O'Neil\\code.exe", "--wait"]),
        ("win32", r"C:\vim\gvim.exe", [r"C:\vim\gvim.exe"]),
        ("win32", sys.executable, [sys.executable]),
    ],
)
def test_a_command_is_split_as_the_shell_does(
    monkeypatch: pytest.MonkeyPatch, system: str, command: str, words: list[str]
) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: name if name == sys.executable else None)
    monkeypatch.setattr(sys, "platform", system)
    assert split_words(command) == words


@pytest.mark.parametrize(("separator", "expanded"), [("/", r"~\notes"), ("\\", r"C:\Users\Jörg Ö\notes")])
def test_a_tilde_stands_for_the_home_folder_before_any_separator(
    monkeypatch: pytest.MonkeyPatch, separator: str, expanded: str
) -> None:
    home = {"HOME": r"C:\Users\Jörg Ö"}
    monkeypatch.setattr(os, "sep", separator)
    assert expand_home(r"~\notes", home) == expanded
    assert expand_home("~/notes", home) == r"C:\Users\Jörg Ö/notes"


def test_a_name_that_may_be_meant_is_suggested_whatever_its_hyphens() -> None:
    assert output.suggest("Claude_Code", ["codex", "claude-code"]) == "; did you mean 'claude-code'?"
    assert output.suggest("zed", ["codex", "claude-code"]) == ""
