"""The first five minutes: the program without a command, `init`, and which notes the shell and its hosts search."""

from __future__ import annotations

import json
import os
import pty
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from memory_core.cli.main import main
from tests.command import Command
from tests.fakes.homes import make_hermes, write
from tests.machines import git

Shown = tuple[int, str, str]


class Cli:
    """Runs commands in this process, in a home folder without anything, from an empty folder."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *arguments: str | Path) -> Shown:
        code = main([str(each) for each in arguments])
        shown = self._capsys.readouterr()
        return code, shown.out, shown.err


@pytest.fixture
def cli(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    for name in ("MEMORY_CORE_CONFIG", "MEMORY_CORE_WORKSPACE", "MEMORY_CORE_STATE_DIR", "CODEX_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("MEMORY_CORE_PROVIDER", "static")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    return Cli(capsys)


def test_without_a_command_it_says_what_to_do_first(cli: Cli) -> None:
    code, out, err = cli()
    assert (code, err) == (0, "")
    assert "Workspace: ~/clawd (as none is named" in out
    steps = [line for line in out.splitlines() if line.startswith("  memory-core ")]
    assert len(steps) == 3
    assert "memory-core init ~/notes --default" in steps[0]
    assert "memory-core install claude-code" in steps[2]


def test_without_a_command_it_names_the_workspace_and_a_host_of_this_user(cli: Cli, home: Path) -> None:
    write(Path("MEMORY.md"), "The kettle is blue.\n")
    (home / ".codex").mkdir()
    code, out, _ = cli()
    assert code == 0
    assert f"Workspace: {Path.cwd()} (the current folder, which holds notes)" in out
    assert "memory-core install codex" in out
    assert cli("install", "codex")[0] == 0
    assert "memory-core doctor" in cli()[1]
    told = json.loads(cli("--json")[1])
    assert (told["workspace"], told["exists"], len(told["next"])) == (str(Path.cwd()), True, 3)


def test_a_folder_that_its_file_alone_makes_a_workspace_is_not_said_to_hold_notes(cli: Cli) -> None:
    write(Path(".memory-core.toml"), "[memory]\nwrite = true\n")
    assert f"Workspace: {Path.cwd()} (the current folder, which holds .memory-core.toml)" in cli()[1]


def test_the_persons_layer_is_refused_with_the_reason_where_there_is_no_project(cli: Cli) -> None:
    assert cli("init", "~/notes", "--default")[0] == 0
    code, _, err = cli("add", "--person", "Commit messages are in English.")
    assert (code, "goes with projects, and these notes are of none" in err) == (1, True)


def test_a_configuration_that_cannot_be_read_is_named_also_without_a_command(cli: Cli) -> None:
    write(Path("host.json5"), "{memory: {backend: 7}}")
    code, out, err = cli("--config", "host.json5")
    assert (code, out, len(err.splitlines())) == (2, "", 1)
    assert "memory.backend" in err


def test_init_makes_a_workspace_and_asks_nothing_without_a_terminal(cli: Cli, home: Path) -> None:
    code, out, err = cli("init", "~/notes")
    assert (code, err) == (0, "")
    assert "Made MEMORY.md and memory/ in ~/notes" in out
    text = (home / "notes" / "MEMORY.md").read_text(encoding="utf-8")
    assert "memory-core add" in text
    assert "The build runs on Python" in text
    assert (
        "No matches"
        in cli("search", "which Python does the build use", "--workspace", "~/notes", "--state-dir", "s")[1]
    )
    assert (home / "notes" / "memory").is_dir()
    assert not (home / ".clawdbot").exists(), "nothing is remembered"
    assert "memory-core init ~/notes --default" in out
    assert "There is a workspace already" in cli("init", "~/notes")[1]


def test_init_leaves_notes_as_they_are(cli: Cli) -> None:
    note = write(Path("mine/MEMORY.md"), "Mine.\n")
    assert cli("init", "mine")[1].startswith("Made memory/ in ")
    assert note.read_text(encoding="utf-8") == "Mine.\n"


def test_init_without_a_folder_takes_the_current_one(cli: Cli) -> None:
    assert cli("init")[0] == 0
    assert Path("MEMORY.md").is_file()


def test_a_file_is_no_workspace(cli: Cli) -> None:
    write(Path("notes.md"), "Mine.\n")
    code, _, err = cli("init", "notes.md")
    assert (code, len(err.splitlines())) == (2, 1)
    assert "is a file" in err


def test_a_default_workspace_holds_where_the_current_folder_has_no_notes(cli: Cli, home: Path) -> None:
    cli("init", "~/notes", "--default")
    code, out, err = cli("add", "The kettle is blue.")
    assert (code, err) == (0, ""), "it was named, and needs no word"
    assert "kettle" in cli("search", "kettle")[1]
    write(Path("MEMORY.md"), "The bicycle is green.\n")
    code, out, err = cli("search", "bicycle")
    assert code == 0
    assert "bicycle" in out
    assert err.startswith("memory-core: using the notes in ")
    assert "the current folder" in err


def test_a_guess_is_told_once_a_day(cli: Cli, home: Path) -> None:
    write(home / "clawd" / "MEMORY.md", "The kettle is blue.\n")
    first = cli("search", "kettle")[2].splitlines()[0]
    assert first.startswith("memory-core: using the notes in ~/clawd (as none is named")
    assert cli("search", "kettle")[2] == ""
    stamp = home / ".clawdbot" / "memory-core" / "guessed-workspace"
    stamp.write_text(stamp.read_text().replace("20", "19", 1))
    assert cli("get", "MEMORY.md")[2].splitlines()[0] == first
    assert cli("search", "kettle", "--workspace", home / "clawd")[2] == ""


def test_init_names_hosts_and_notes_that_are_here(cli: Cli, home: Path) -> None:
    make_hermes(home)
    (home / ".codex").mkdir()
    _, out, _ = cli("init", "~/notes")
    assert "memory-core install codex --workspace ~/notes" in out
    assert "memory-core adopt" in out
    assert "Hermes (2 notes)" in out
    told = json.loads(cli("init", "~/notes", "--json")[1])
    assert told["hosts"] == ["codex", "hermes"]
    assert told["adoptable"][0]["notes"] == 2


def test_in_a_terminal_init_asks(tmp_path: Path, home: Path) -> None:
    """Yes to the default, yes to Codex."""
    (home / ".codex").mkdir()
    main_end, terminal = pty.openpty()
    command = [sys.executable, "-m", "memory_core", "init", str(home / "notes")]
    os.write(main_end, b"y\ny\n")
    subprocess.run(
        command, stdin=terminal, stdout=subprocess.PIPE, stderr=terminal, cwd=tmp_path, check=True, timeout=60,
    )  # fmt: skip
    os.close(terminal)
    os.close(main_end)
    assert (home / ".clawdbot" / "memory-core" / "default-workspace").read_text().strip() == str(home / "notes")
    assert str(home / "notes") in (home / ".codex" / "config.toml").read_text(encoding="utf-8")


def test_a_question_that_is_not_answered_ends_the_command(tmp_path: Path, home: Path) -> None:
    main_end, terminal = pty.openpty()
    command = [sys.executable, "-m", "memory_core", "init", str(home / "notes")]
    os.write(main_end, b"\x04")  # Ctrl-D
    done = subprocess.run(
        command, stdin=terminal, stdout=subprocess.PIPE, stderr=terminal, cwd=tmp_path, check=False, timeout=60,
    )  # fmt: skip
    shown = os.read(main_end, 4096).decode()
    os.close(terminal)
    os.close(main_end)
    assert done.returncode == 130
    assert "memory-core: interrupted." in shown
    assert "unexpected" not in shown


@pytest.mark.parametrize("host", ["claude-code", "codex", "opencode", "openclaw", "nanobot", "zed", "hermes", "gemini"])
def test_the_doctor_finds_a_host_with_other_notes(cli: Cli, home: Path, host: str) -> None:
    cli("init", "~/one")
    cli("init", "~/two")
    code, out, _ = cli("install", host, "--workspace", home / "one")
    assert code == 0
    assert "Its notes are in ~/one." in out
    assert "and searches ~/one, not ~/two as this command does" in cli("doctor", "--workspace", home / "two")[1]
    assert "searches ~/one" not in cli("doctor", "--workspace", home / "one")[1]
    told = cli("doctor")[1]
    assert f"memory-core init {home / 'one'} --default" in told, "the default workspace is not there, and that one is"


def test_install_says_that_the_workspace_is_not_there(cli: Cli, home: Path) -> None:
    out = cli("install", "zed", "--workspace", home / "nowhere")[1]
    assert f"which does not exist yet; make it: memory-core init {home / 'nowhere'}\n" in out
    assert not (home / "nowhere").exists()


def test_a_host_gets_what_the_variables_of_the_shell_name(
    cli: Cli, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = write(home / "host.json5", "{agents: {defaults: {workspace: '~/ours'}}}")
    write(home / "ours" / "MEMORY.md", "Ours.\n")
    monkeypatch.setenv("MEMORY_CORE_CONFIG", str(config))
    _, out, _ = cli("install", "zed")
    assert f"Its configuration is {config}. Its notes are in ~/ours." in out
    monkeypatch.delenv("MEMORY_CORE_CONFIG")
    assert "Zed, and searches ~/ours" in cli("doctor", "--workspace", home)[1]


def test_the_folder_of_a_session_decides_where_none_is_named(cli: Cli) -> None:
    would = "would be made for notes: ~/clawd\n"
    assert cli("install", "codex", "--dry-run")[2] == would
    out = cli("install", "codex")[1]
    assert cli("install", "codex", "--dry-run")[2] == ""
    assert "in a folder with MEMORY.md, or notes in memory/, use those, all others ~/clawd, which was made now." in out
    assert "memory-core install codex --workspace FOLDER" in out
    code, _, err = cli("add", "The kettle is blue.")
    assert (code, err.partition(" (")[0]) == (0, "memory-core: using the notes in ~/clawd")
    assert "others ~/clawd." in cli("install", "zed")[1], "it was there"
    out = cli("install", "claude-desktop")[1]
    assert "Its notes are in ~/clawd.\nOther notes: memory-core install claude-desktop --workspace FOLDER\n" in out
    assert "Sessions in a folder" not in out, "it starts servers in no folder of a session"


def test_init_below_the_notes_of_a_project_and_in_the_home_folder_is_told(cli: Cli, home: Path) -> None:
    git(home, "init", "-q", "shop")
    assert cli("init", "~/shop")[2] == ""
    told = cli("init", "~/shop/parts")[2]
    assert "from ~/shop/parts, the notes in ~/shop are not searched any more" in told
    assert "remove MEMORY.md and memory/ here" in told
    assert cli("init", "~/shop/parts")[2] == "", "it was a workspace"
    told = cli("init", "~")[2]
    assert "this is your home folder" in told
    assert "memory-core init ~/notes --default" in told
    assert len(told.splitlines()) == 1


def test_a_new_default_workspace_leaves_no_notes_behind_unsaid(cli: Cli, home: Path) -> None:
    write(home / "clawd" / "memory" / "2026-01-05.md", "- The kettle is blue.\n")
    told = cli("init", "~/notes", "--default")[2]
    assert "the notes in ~/clawd, the default workspace until now, are not searched any more" in told
    assert cli("init", "~/notes", "--default")[2] == ""
    command = told.partition("memory-core adopt ")[2].replace("~", str(home)).split()
    assert cli("adopt", *command)[0] == 0
    assert "kettle is blue" in cli("search", "kettle")[1]
    assert cli("init", "~/other", "--default")[2] == "", (
        "there was no note in the one before, and the first is searched"
    )


def test_a_host_that_gets_other_notes_leaves_none_behind_unsaid(cli: Cli, home: Path) -> None:
    write(home / "clawd" / "MEMORY.md", "The kettle is blue.\n")
    cli("init", "~/notes")
    assert cli("install", "zed")[2] == ""
    told = cli("install", "zed", "--workspace", home / "notes")[2]
    assert "Zed searches the notes in ~/clawd no more" in told
    assert cli(*shlex.split(told.partition("memory-core adopt ")[2].join(("adopt ", ""))))[0] == 0
    assert "kettle is blue" in cli("search", "kettle", "--workspace", home / "notes")[1]
    assert cli("install", "zed", "--workspace", home / "notes")[2] == ""


def test_a_pipe_in_the_place_of_notes_that_are_not_searched_holds_no_search_up(command: Command, home: Path) -> None:
    private = home / ".memory-core" / "projects"
    for name in ("shop", "store"):
        (private / name).mkdir(parents=True)
    os.mkfifo(private / "shop" / "MEMORY.md")
    write(private / "store" / "MEMORY.md", "The ferry is late.\n")
    write(home / "clawd" / "MEMORY.md", "The kettle is blue.\n")
    line = [sys.executable, "-m", "memory_core", "search", "ferry", "--state-dir", str(home / "state")]
    environment = {**command.variables(), "HOME": str(home)}
    done = subprocess.run(line, cwd=home, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert "the notes in ~/.memory-core/projects/store were not searched" in done.stderr + done.stdout


def test_a_broken_configuration_stops_neither_init_nor_the_preview_of_install(cli: Cli, home: Path) -> None:
    write(home / "clawd" / "MEMORY.md", "The kettle is blue.\n")
    broken = write(home / "broken.json5", "{agents: ")
    code, out, err = cli("init", "~/notes", "--default", "--config", broken)
    assert (code, err) == (0, "")
    assert "~/notes, the default workspace" in out
    code, out, err = cli("install", "zed", "--dry-run", "--config", broken)
    assert (code, err) == (0, "")
    assert "Nothing has been changed." in out
    code, out, err = cli("install", "zed", "--config", broken)
    assert (code, out) == (2, "")
    assert f"{broken}" in err
    assert not any(each["inPlace"] for each in json.loads(cli("install", "--json")[1])["hosts"])


def test_private_notes_are_not_to_be_copied_into_the_repository_of_the_shell(
    cli: Cli, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(home / "notes" / "MEMORY.md", "The kettle is blue.\n")
    write(home / "shop" / "MEMORY.md", "The build is green.\n")
    git(home, "init", "-q", "shop")
    monkeypatch.chdir(home / "shop")
    cli("install", "zed", "--workspace", home / "notes")
    told = cli("install", "zed")[2]
    assert f"memory-core adopt {home / 'notes'} --copy --yes --workspace {home / 'clawd'}" in told


def test_a_search_without_an_answer_names_the_notes_that_it_leaves_out(
    cli: Cli, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(home / "clawd" / "MEMORY.md", "The kettle is blue.\n")
    write(home / ".memory-core" / "projects" / "shop-1f0c2a9e" / "MEMORY.md", "The ferry is late.\n")
    write(home / ".memory-core" / "projects" / "bare-1f0c2a9e" / "MEMORY.md", "# Memory\n\n<!-- No memory -->\n")
    git(home, "init", "-q", "code")
    write(home / "code" / "MEMORY.md", "The build is green.\n")
    assert "the notes in ~/.memory-core/projects/shop-1f0c2a9e were not searched" in cli("search", "ferry")[1]
    monkeypatch.chdir(home / "code")
    assert "the notes in ~/clawd were not searched (--workspace FOLDER)" in cli("search", "kettle")[1]
    assert json.loads(cli("search", "kettle", "--json")[1])["hint"].endswith("the notes in ~/clawd were not searched")
    assert "not searched" not in cli("search", "green")[1]
    assert "not searched" not in cli("search", "kettle", "--workspace", home / "code")[1], "that was asked for"
    write(home / "clawd" / "MEMORY.md", "# Memory\n")
    assert "not searched" not in cli("search", "kettle")[1]


@pytest.mark.parametrize("has_new", [False, True])
def test_the_private_notes_of_a_repository_that_was_moved_are_named(
    cli: Cli, home: Path, monkeypatch: pytest.MonkeyPatch, has_new: bool
) -> None:
    def work_in(name: str) -> None:
        monkeypatch.chdir(home / name)

    def list_findings() -> list[dict[str, str]]:
        found = json.loads(cli("doctor", "--json")[1])["findings"]
        return [each for each in found if each["subject"] == "projects"]

    git(home, "init", "-q", "shop")
    work_in("shop")
    assert "local:memory/" in cli("add", "The kettle is blue.")[1]
    assert list_findings() == []
    (home / "shop").rename(home / "store")
    work_in("store")
    if has_new:
        cli("add", "The ferry is late.")
    _, out, err = cli("search", "kettle")
    assert "/shop-" in (out if has_new else err)
    (finding,) = list_findings()
    assert "has notes of ~/shop, which is not there any more" in finding["message"]
    words = shlex.split(finding["action"].partition(": ")[2])
    if has_new:
        assert cli(*words[1:])[0] == 0
    else:
        subprocess.run(words, check=True)
        assert list_findings() == []
    assert "kettle is blue" in cli("search", "kettle")[1]
    work_in(".")
    assert [each["action"].startswith("go to where it is now") for each in list_findings()] == [True] * has_new


@pytest.mark.parametrize("damage", ["a zero", "no text", "a pipe"])
def test_a_damaged_record_of_a_repository_stops_nothing_and_is_written_anew(
    cli: Cli, home: Path, monkeypatch: pytest.MonkeyPatch, damage: str
) -> None:
    git(home, "init", "-q", "shop")
    monkeypatch.chdir(home / "shop")
    cli("add", "The kettle is blue.")
    (record,) = (home / ".memory-core" / "projects").glob("*/.repository")
    written = record.read_bytes()
    record.unlink()
    if damage == "a pipe":
        os.mkfifo(record)
    else:
        record.write_bytes(b"/gone\0\n" if damage == "a zero" else b"\xff\n")
    assert cli("search", "ferry")[0] == 0
    assert json.loads(cli("doctor", "--json")[1])["findings"]
    assert cli("add", "The ferry is late.")[0] == 0
    assert record.read_bytes() == written


def test_init_names_the_other_markdown_of_its_folder(cli: Cli, home: Path) -> None:
    write(home / "Vault" / "Heating.md", "The plumber serviced the boiler.\n")
    _, out, _ = cli("init", "~/Vault", "--default")
    step = next(line for line in out.splitlines() if "search the 1 other .md file in it, too" in line)
    words = shlex.split(step.partition("   search")[0])
    assert cli(*words[1:])[0] == 0
    assert "plumber" in cli("search", "boiler")[1]
    assert "other .md" not in cli("init", "~/Vault")[1]


def test_init_changes_no_setting_of_all_workspaces_for_one_of_them(
    cli: Cli, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(home / "Vault" / "Heating.md", "The plumber serviced the boiler for my teeth.\n")
    _, out, _ = cli("init", "~/Vault")
    assert "config set" not in out
    step = next(line for line in out.splitlines() if "search the 1 other .md file in it, too" in line)
    words = shlex.split(step.partition("   search")[0].replace("~", str(home)))
    assert "plumber" in cli(*words[1:])[1]
    (home / ".codex").mkdir()
    git(home, "init", "-q", "shop")
    monkeypatch.chdir(home / "shop")
    _, out, _ = cli("init")
    assert "memory-core install codex  " in out, "sessions in the repository find its notes, and others have others"
    assert "give Codex the notes of the folder of each session" in out
    assert "--default" not in out


def test_notes_below_the_root_of_a_repository_are_bound_as_no_session_finds_them(cli: Cli, home: Path) -> None:
    (home / ".codex").mkdir()
    git(home, "init", "-q", "shop")
    _, out, _ = cli("init", "~/shop/notes")
    assert "memory-core install codex --workspace ~/shop/notes" in out
    assert "memory-core init ~/shop/notes --default" in out


def test_notes_that_were_adopted_need_no_workspace(cli: Cli, home: Path) -> None:
    make_hermes(home)
    cli("adopt", "--yes")
    code, out, _ = cli("search", "oboe")
    assert code == 0
    assert "oboe" in out
    code, _, err = cli("add", "The kettle is blue.")
    assert code == 2
    assert "memory-core init ~/notes --default" in err


def test_two_shells_at_once_tell_their_guess(command: Command, tmp_path: Path, home: Path) -> None:
    """The file that remembers it is one; a command that cannot write it goes on."""
    write(home / "clawd" / "MEMORY.md", "The kettle is blue.\n")
    environment = {**command.variables(), "HOME": str(home)}
    line = [sys.executable, "-m", "memory_core", "search", "kettle", "--state-dir", str(tmp_path / "s")]
    running = [
        subprocess.Popen(line, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True) for _ in range(2)
    ]
    assert all("kettle" in process.communicate(timeout=60)[0] for process in running)


def test_init_in_a_vault_names_adopt_and_counts_what_would_be_searched(cli: Cli, home: Path) -> None:
    write(home / "Vault" / ".obsidian" / "app.json", '{"userIgnoreFilters": ["Private/"]}')
    for name in ("a.md", "b.md", "Private/c.md", "node_modules/d.md"):
        write(home / "Vault" / name, "The kettle is blue.\n")
    code, out, _ = cli("init", home / "Vault")
    assert code == 0
    assert "memory-core adopt ~/Vault --yes" in out
    assert "search the 2 other .md files in it, too" in out
