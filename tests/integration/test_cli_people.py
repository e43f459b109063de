"""The commands that a person types, and what happens to who has configured nothing."""

from __future__ import annotations

import contextlib
import io
import os
import pty
import re
import signal
import subprocess
import termios
from pathlib import Path

import pytest

from memory_core.cli.main import main
from memory_core.config.environment import shorten_home
from tests.command import Command
from tests.fakes.homes import write
from tests.waiting import eventually

Shown = tuple[int, str, str]


class Cli:
    """Runs commands in this process, in a home folder without anything, from a folder of the test's.

    What is told of a guessed workspace is left out; `test_start.py` looks at it.
    """

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *arguments: str) -> Shown:
        code = main(arguments)
        shown = self._capsys.readouterr()
        told = [line for line in shown.err.splitlines(keepends=True) if " using the notes in " not in line]
        return code, shown.out, "".join(told)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("MEMORY_CORE_PROVIDER", "static")
    for name in ("MEMORY_CORE_CONFIG", "MEMORY_CORE_WORKSPACE", "MEMORY_CORE_STATE_DIR"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "home").mkdir()
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


@pytest.fixture
def cli(here: Path, capsys: pytest.CaptureFixture[str]) -> Cli:
    return Cli(capsys)


@pytest.mark.parametrize("command", [("index",), ("search", "boiler")])
def test_an_empty_folder_is_told_what_to_do(cli: Cli, command: tuple[str, ...]) -> None:
    code, _, err = cli(*command)
    assert code == 2
    assert "there is no such workspace, nor are there notes in this folder" in err
    assert "memory-core init ~/notes --default" in err
    assert "memory-core adopt" in err


@pytest.mark.parametrize("command", [("index",), ("search", "boiler")])
def test_a_folder_of_markdown_is_no_dead_end(cli: Cli, here: Path, command: tuple[str, ...]) -> None:
    write(here / "boiler.md", "The boiler loses pressure every October.\n")
    write(here / "travel" / "ferry.md", "The ferry to Hull leaves at 19:30.\n")
    write(here / "node_modules" / "x" / "README.md", "pads\n")
    _, _, err = cli(*command)
    assert "search the 2 other .md files here: memory-core adopt . --yes" in err

    code, out, err = cli(*command, "--sources", "workspace")
    assert (code, err) == (0, "")
    assert "2 notes" in out or "loses pressure" in out


def test_a_source_that_is_none_is_a_mistake_of_the_command(cli: Cli, here: Path) -> None:
    code, _, err = cli("search", "boiler", "--sources", "memory,vault")
    assert code == 2
    assert "--sources: expected memory, workspace, sessions, not 'vault'. Try: memory-core search --help" in err


@pytest.mark.parametrize("command", [("index",), ("search", "boiler")])
def test_a_workspace_without_notes_says_what_it_holds_besides(cli: Cli, here: Path, command: tuple[str, ...]) -> None:
    write(here / "boiler.md", "The boiler loses pressure every October.\n")
    code, _, err = cli(*command, "--workspace", ".")
    assert code == 0
    assert "0 notes; 1 other .md file here: --sources workspace" in err


def test_the_current_folder_is_the_workspace_if_it_holds_notes(cli: Cli, here: Path) -> None:
    write(here / "memory" / "a.md", "The kettle is blue.\n")
    write(here / "USER.md", "Allergic to walnuts.\n")
    code, out, _ = cli("index")
    assert (code, out.partition(" in ")[0]) == (0, "Indexed 2 notes")
    assert "USER.md:L1-L1" in cli("search", "walnuts")[1]


def test_one_note_is_no_notes(cli: Cli, here: Path) -> None:
    write(here / "MEMORY.md", "The kettle is blue.\n")
    assert cli("index")[1].startswith("Indexed 1 note in 1 chunk (1 added, 0 changed")


@pytest.mark.parametrize(("typed", "meant"), [("serach", "search"), ("stauts", "status"), ("reindx", "reindex")])
def test_a_misspelt_command_is_guessed(cli: Cli, typed: str, meant: str) -> None:
    code, _, err = cli(typed)
    assert code == 2
    assert f"there is no command '{typed}'; did you mean '{meant}'?" in err
    assert len(err.splitlines()) == 1


def test_a_command_that_resembles_none_gets_no_guess(cli: Cli) -> None:
    assert "did you mean" not in cli("xyzzy")[2]


def test_a_text_is_added_and_opened(cli: Cli, here: Path) -> None:
    write(here / "MEMORY.md", "# Memory\n\n- The kettle is blue.\n")
    code, out, err = cli("add", "The", "roof", "was", "mended.")
    assert (code, err) == (0, "")
    note, _, folder = out.removeprefix("Added to ").strip().partition(" in ")
    assert "The roof was mended." in (here / note).read_text()
    assert cli("add", "The roof was mended.")[1] == f"Already in {note} in {folder}\n"
    assert cli("add", "--longterm", "Wednesday is bin day.")[1] == f"Added to MEMORY.md in {folder}\n"
    assert folder == shorten_home(here)
    assert cli("open", "MEMORY.md:L3-L3")[1] == f"{here / 'MEMORY.md'}:3\n"
    assert cli("open", "MEMORY.md")[1] == f"{here / 'MEMORY.md'}:1\n"
    assert cli("open", "memory/none.md")[0] == 1
    assert cli("open", "/etc/passwd")[0] != 0


def test_a_secret_is_added_and_told_of(cli: Cli, here: Path) -> None:
    write(here / "MEMORY.md", "# Memory\n")
    code, out, err = cli("add", "my api key is sk-proj-" + "Ab3dE" * 8)
    assert (code, "looks like a secret" in err, "history purge --match" in err) == (0, True, True)
    assert "sk-proj" in (here / out.removeprefix("Added to ").partition(" in ")[0]).read_text(encoding="utf-8")
    assert "sk-proj" not in err
    err = cli("add", "The admin password is hunter2-Xy77! for staging.")[2]
    assert '"The admin password is [redacted]' in err
    assert "hunter2" not in err
    assert cli("add", "Tea at four.")[2] == ""


def test_a_text_is_added_from_standard_input(cli: Cli, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(here / "MEMORY.md", "# Memory\n")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO("\ufeffThe café is shut.\r\n".encode())))
    assert cli("add", "--longterm", "-")[0] == 0
    assert (here / "MEMORY.md").read_text() == "# Memory\n\nThe café is shut.\n"
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"\xff\xfe")))
    assert cli("add", "-")[::2] == (
        2,
        "memory-core: TEXT: standard input is not UTF-8 text. Try: memory-core add --help\n",
    )


def test_a_comment_that_is_not_shown_leaves_one_empty_line(cli: Cli, here: Path) -> None:
    write(here / "MEMORY.md", "# Bicycles\n\n<!-- one\ntwo\nthree -->\n\n- The old Canyon belongs to Felix now.\n")
    code, out, _ = cli("search", "Canyon")
    assert code == 0
    assert out.splitlines()[1:] == ["    # Bicycles", "", "    - The old Canyon belongs to Felix now."]


def test_the_best_of_what_was_not_found_is_quoted(cli: Cli, here: Path) -> None:
    write(here / "MEMORY.md", "# Bicycles\n\n## Mine\n\n- The old Canyon belongs to Felix now.\n")
    code, out, _ = cli("search", "Canyon repair invoice of October", "--min-score", "1")
    assert code == 0
    assert "the nearest, MEMORY.md:L" in out
    assert " - The old Canyon belongs to Felix now.), does not fit well enough: its evidence is" in out


@pytest.mark.parametrize(
    ("words", "verdict"),
    [
        (("kettle", "blue"), "1 result came"),
        (("kettle", "blue", "MEMORY.md:L3"), "MEMORY.md#L3 came"),
        (("kettle blue", "MEMORY.md"), "MEMORY.md came"),
        (("what is in MEMORY.md",), ""),
        (("kettle blue", "attic"), "attic did not come"),
    ],
)
def test_a_question_of_several_words_is_explained(cli: Cli, here: Path, words: tuple[str, ...], verdict: str) -> None:
    write(here / "MEMORY.md", "# Memory\n\n- The kettle is blue.\n")
    code, out, err = cli("explain", *words)
    assert (code, err, out.startswith(verdict)) == (0, "", True)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_is_given_a_script_that_asks_for_completions(cli: Cli, shell: str, tmp_path: Path) -> None:
    code, out, err = cli("completion", shell)
    assert (code, err) == (0, "")
    assert f"_MEMORY_CORE_COMPLETE={shell}_complete" in out
    if shell == "bash":
        script = write(tmp_path / "complete.sh", out)
        assert subprocess.run(["bash", "-n", str(script)], check=False, timeout=30).returncode == 0


def test_bash_completes_commands_and_options(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_MEMORY_CORE_COMPLETE", "bash_complete")
    for line, expected in (("memory-core ado", "adopt"), ("memory-core search --max-r", "--max-results")):
        monkeypatch.setenv("COMP_WORDS", line)
        monkeypatch.setenv("COMP_CWORD", str(line.count(" ")))
        assert cli() == (0, f"plain,{expected}\n", "")


def test_watch_indexes_what_changes_until_interrupted(tmp_path: Path) -> None:
    workspace, shown = tmp_path / "workspace", tmp_path / "shown"
    write(workspace / "MEMORY.md", "The kettle is blue.\n")
    command = Command(workspace, tmp_path / "state")
    with shown.open("w") as stream:
        process = subprocess.Popen([*command.start(), "watch"], env=command.variables(), stdout=stream, stderr=stream)
    try:
        assert eventually(lambda: "Ctrl-C" in shown.read_text(), seconds=60)
        assert shown.read_text().startswith("Indexed 1 note in")
        write(workspace / "memory" / "a.md", "The ladder is in the shed.\n")
        indexed = "Indexed memory/a.md; there are 2 notes in 2 chunks.\n"
        assert eventually(lambda: indexed in shown.read_text(), seconds=60)
        write(workspace / "memory" / "a.md", "The ladder is in the cellar.\n")
        assert eventually(lambda: shown.read_text().count(indexed) == 2, seconds=60)
    finally:
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0


def search_on_a_terminal(here: Path, columns: int, **environment: str) -> str:
    """Return the output on a terminal of so many columns."""
    master, slave = pty.openpty()
    termios.tcsetwinsize(slave, (40, columns))
    command = Command(here, here.parent / "state")
    variables = {"TERM": "xterm-256color", **command.variables(), **environment}
    variables.pop("COLUMNS", None)
    with os.fdopen(master, "rb", buffering=0) as reader:
        process = subprocess.Popen([*command.start(), "search", "boiler pressure"], env=variables, stdout=slave)
        os.close(slave)
        shown = b""
        with contextlib.suppress(OSError):  # how Linux ends a terminal that nobody holds any more
            while part := reader.read(4096):
                shown += part
        assert process.wait(60) == 0
    return shown.decode()


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_a_terminal_is_filled_and_no_more(here: Path, columns: int) -> None:
    write(
        here / "MEMORY.md", f"The boiler loses pressure every October, {'and somebody has to top it up again ' * 6}.\n"
    )
    shown = search_on_a_terminal(here, columns)
    assert "\x1b[1;33mboiler\x1b[0m" in shown
    lines = re.sub(r"\x1b\[[\d;]*m", "", shown).splitlines()
    assert min(columns, 100) - 12 < max(map(len, lines)) <= min(columns, 100)
    assert "\x1b" not in search_on_a_terminal(here, columns, NO_COLOR="1")


def test_an_export_goes_into_the_home_folder_also_where_the_shell_does_not_say_so(cli: Cli, here: Path) -> None:
    write(here / "MEMORY.md", "The boiler is green.\n")
    assert cli("export", "~/out.zip")[0] == 0
    assert (here.parent / "home" / "out.zip").is_file()
    assert cli("import", "~/out.zip")[0] == 0
