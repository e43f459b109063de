"""Mistakes that users make: each is answered by one or two lines that name the thing and lead out."""

from __future__ import annotations

import logging
import os
import resource
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from memory_core.cli.main import main
from memory_core.cli.mcp import OUTAGES
from tests.command import REPOSITORY, Command, as_ordinary_owner, run
from tests.fakes.homes import write

MISTAKES: dict[str, tuple[str, str, str]] = {  # what is typed, the thing that is named, and the way out
    "a folder without notes": ("search boiler", "there is no such workspace", "memory-core init ~/notes --default"),
    "a note without a workspace": (
        "add hello",
        "nor are there notes in this folder",
        "memory-core init ~/notes --default",
    ),
    "a workspace that is not there": ("search x --workspace nope", "nope: there is no such", "memory-core init "),
    "a home that nobody has": (
        "search x --workspace ~nobody-of-us/notes",
        "there is no such workspace",
        "memory-core init ",
    ),
    "a file for a workspace": ("search x --workspace host.json5", "this is a file", "name its folder"),
    "a file for the notes of a host": (
        "install codex --workspace host.json5",
        "host.json5 is no folder",
        "name a folder",
    ),
    "a file above the notes of a host": (
        "install codex --workspace host.json5/notes",
        "here/host.json5 is no folder",
        "name a folder",
    ),
    "a file for a new workspace": ("init host.json5", "host.json5 is a file", "name a folder"),
    "a typo in a command": ("serach x", "there is no command 'serach'", "did you mean 'search'?"),
    "another program's word": ("remember x", "there is no command 'remember'", "did you mean 'add'?"),
    "a typo in an option": ("search x --worskpace y", "'--worskpace'", "did you mean '--workspace'?"),
    "a typo in --json": ("status --jsn", "'--jsn'", "did you mean '--json'?"),
    "a text for a session": ("forget 'Jonas owes me 60'", "forgets a whole session", "memory-core items forget ID"),
    "nothing to forget": ("delete x", "there is no command 'delete'", "did you mean 'forget'?"),
    "an option that it has not": ("tidy --since never", "no such option '--since'. Try", "memory-core tidy --help"),
    "help in a word": ("help", "there is no command 'help'", "did you mean '--help'?"),
    "the version in a word": ("version", "there is no command 'version'", "did you mean '--version'?"),
    "remove for forget": ("items remove 7", "there is no command 'remove'", "did you mean 'forget'?"),
    "a note for a folder": ("adopt host.json5", "is no folder of notes", "memory-core adopt --help"),
    "a command of a group": ("items lst", "there is no command 'lst'", "did you mean 'list'?"),
    "an option of a group alone": ("items --json", "missing command", "memory-core items --help"),
    "a list of notes": ("ls", "no command 'ls'", "did you mean 'status'?"),
    "notes in a word": ("notes", "no command 'notes'", "did you mean 'status'?"),
    "a note in a word": ("note x", "no command 'note'", "did you mean 'add'?"),
    "recall in a word": ("recall x", "no command 'recall'", "did you mean 'search'?"),
    "sessions in a word": ("sessions", "no command 'sessions'", "did you mean 'activity'?"),
    "the person's notes at home": (
        "add --person x --workspace ws",
        "goes with projects",
        "memory-core add --longterm",
    ),
    "no question": ("search", "missing argument 'QUERY", "memory-core search --help"),
    "an empty question": ("search '' --workspace ws", "QUERY", "memory-core search --help"),
    "an empty note": ("add '' --workspace ws", "TEXT", "memory-core add --help"),
    "an empty name": ("related '' --workspace ws", "NAME: is empty", "name a person"),
    "no configuration there": ("--config nope.json5 status", "nope.json5", "correct --config"),
    "a typo in a section": ("--config section.json5 status", "memorySerch: unknown key", "did you mean"),
    "a typo in a key": ("--config key.json5 status", "maxReslts: unknown key", 'did you mean "maxResults"'),
    "a typo in a provider": ("--config provider.json5 status", "memorySearch.provider", 'did you mean "openai"'),
    "a wrong type": ("--config type.json5 status", "maxResults: expected a whole number", "memory-core config check"),
    "a brace too few": ("--config brace.json5 status", "line 1", "correct the file's syntax"),
    "a variable that is not set": ("--config variable.json5 status", "NO_SUCH_KEY", "memory-core config check"),
    "a key that is not set": ("--config openai.json5 --workspace ws search kettle", "no API key", "set OPENAI_API_KEY"),
    "a typo in a backend": ("--config backend.json5 --workspace ws search kettle", "qdm", "correct memory.backend"),
    "a server that nobody named": (
        "--config server.json5 --workspace ws search kettle",
        "MEMORY_CORE_POSTGRES_DSN is not set",
        "set MEMORY_CORE_POSTGRES_DSN",
    ),
    "too many hits": ("search x --workspace ws --max-results 1000", "--max-results: expected", "search --help"),
    "hits in words": ("search x --max-results many", "'--max-results': 'many'", "memory-core search --help"),
    "a score above 1": ("search x --workspace ws --min-score 5", "--min-score: expected", "search --help"),
    "a date that may be two": ("search x --workspace ws --after 12/01/2026", "YYYY-MM-DD, not '12/01/2026'", "--help"),
    "a configured workspace that is gone": (
        "--config gone.json5 search x",
        "though {here}/gone.json5 names it",
        "memory-core init ",
    ),
    "a setting by its last part": (
        "config set maxResults 3",
        "'maxResults'",
        "did you mean 'memorySearch.query.maxResults'?",
    ),
    "a setting that is none": ("config unset nix", "there is no setting 'nix'", "memory-core config get"),
    "a date in words": ("search x --workspace ws --after soon", "--after: expected a date as YYYY-MM-DD", "--help"),
    "a time in words": ("search x --workspace ws --as-of yesterdy", "--as-of: expected a day", "2026-03-01"),
    "a source that is none": ("search x --workspace ws --sources notes", "--sources: expected memory", "search --help"),
    "an agent with a slash": ("search x --workspace ws --agent ../x", "agent: expected", "such as main"),
    "a note that is not there": ("get memory/2020-01-01.md --workspace ws", "no such note", "memory-core status"),
    "a note that is no text": ("get memory/bin.md --workspace ws", "memory/bin.md: is binary", "is binary"),
    "a text that is not UTF-8": ("add K\udcf6ln --workspace ws", "TEXT: is not UTF-8 text", "memory-core add --help"),
    "a fact that is not UTF-8": ("items add K\udcf6ln --workspace ws", "TEXT: is not UTF-8", "items add --help"),
    "a provider for a model": ("model use openai", "NAME: is a provider", "config set memorySearch.provider openai"),
    "a path out of the notes": ("get ../secret --workspace ws", "../secret", "ask for a path"),
    "line 0": ("get MEMORY.md --from 0 --workspace ws", "--from: expected", "memory-core get --help"),
    "a host by half its name": ("install claude-cod", "no host 'claude-cod'; did you mean 'claude-code'?", "install"),
    "a host that is none": ("install notepad", "no host 'notepad'", "memory-core mcp"),
    "capture in a file that is none": ("install codex --capture --config ws", "ws", "is not a file"),
    "a shell that is none": ("completion tcsh", "'tcsh'", "memory-core completion --help"),
    "notes that are not there": ("adopt nowhere", "there is no file or folder", "memory-core adopt --help"),
    "adopt and a workspace": ("adopt ws --yes --workspace ws", "goes with --copy", "memory-core init FOLDER --default"),
    "a restore without a time": (
        "restore MEMORY.md --workspace ws",
        "no version of such a note",
        "memory-core history",
    ),
    "no git": ("history import-git --workspace ws", "no git repository", "import the workspace"),
    "a port that is none": ("inspect --port 99999 --workspace ws", "99999", "memory-core inspect --help"),
    "a server for everybody": ("mcp --http 0.0.0.0 --workspace ws", "other machines", "MEMORY_CORE_MCP_TOKEN"),
    "an address that is none": ("mcp --http nowhere:x", "expected HOST:PORT", "127.0.0.1:8765"),
    "an editor that is none": ("search kettle --open 1 --workspace ws", "nosuch", "set EDITOR"),
    "a hit that is none": ("search kettle --open 9 --workspace ws", "no hit 9", "found were 1"),
    "a question of a common word": (
        "search hello --workspace greeting",
        "hello is in too many questions to be looked for",
        "ask with a word that the note may hold",
    ),
    "a long question without an answer": (
        f"search {'zzzqqq ' * 60} --workspace ws",
        "no note holds 'zzzqqq'",
        "memory-core explain QUESTION --workspace",
    ),
    "a question without an answer": ("search zzzqqq --workspace ws", "no note holds 'zzzqqq'", "memory-core explain"),
}
FILES = {
    "host.json5": "{}",
    "section.json5": "{memorySerch: {}}",
    "key.json5": "{memorySearch: {query: {maxReslts: 3}}}",
    "provider.json5": "{memorySearch: {provider: 'opnai'}}",
    "type.json5": "{memorySearch: {query: {maxResults: 'many'}}}",
    "brace.json5": "{memorySearch: {query: {}",
    "variable.json5": "{memorySearch: {provider: 'openai', remote: {apiKey: '${NO_SUCH_KEY}'}}}",
    "openai.json5": "{memorySearch: {provider: 'openai'}}",
    "backend.json5": "{memory: {backend: 'qdm'}}",
    "gone.json5": "{agents: {defaults: {workspace: 'nowhere'}}}",
    "server.json5": "{memory: {backend: 'postgres'}}",
    "greeting/MEMORY.md": "The parrot says hello.\n",
    "ws/MEMORY.md": "The kettle is blue.\n",
    "ws/memory/bin.md": "\0",
}


@pytest.fixture
def here(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in [name for name in os.environ if name.startswith("MEMORY_CORE_")]:
        monkeypatch.delenv(name)
    for name in ("VISUAL", "EDITOR", "OPENAI_API_KEY", "NO_SUCH_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(logging.getLogger(OUTAGES), "handlers", [])  # `mcp` adds one for the rest of its process
    for name, text in FILES.items():
        write(tmp_path / "here" / name, text)
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


def check(told: str, thing: str, way_out: str) -> None:
    assert 1 <= len(told.splitlines()) <= 2, told
    assert thing in told
    assert way_out.lower() in told.lower()
    assert "Traceback" not in told
    assert "did you mean memory/bin.md" not in told
    assert "unexpected" not in told


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_answered_by_a_line_that_leads_out(
    here: Path, mistake: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    typed, thing, way_out = MISTAKES[mistake]
    words = [word.strip("'") for word in typed.split()]
    if words[1:2] not in (["provider.json5"], ["variable.json5"], ["openai.json5"]):
        monkeypatch.setenv("MEMORY_CORE_PROVIDER", "static")
    monkeypatch.setenv("EDITOR", "nosuch")
    code = main(words)
    shown = capsys.readouterr()
    found = "kettle is blue" in shown.out and "--open" not in words
    told = shown.out if "No matches" in shown.out else shown.err or shown.out
    check(told, thing.replace("{here}", str(here)), way_out)
    assert code == (0 if found or "No matches" in told else code)
    assert code or found or "No matches" in told


def test_forty_mistakes_are_listed() -> None:
    assert len(MISTAKES) >= 40


@pytest.mark.parametrize(
    ("package", "words", "extra"),
    [("mcp", ["install", "codex"], "mcp"), ("mcp", ["mcp"], "mcp"), ("starlette", ["inspect"], "inspect")],
)
def test_an_extra_that_is_missing_is_named(here: Path, package: str, words: Sequence[str], extra: str) -> None:
    script = f"import sys; sys.modules[{package!r}] = None; from memory_core.cli.main import main; sys.exit(main())"
    line = [sys.executable, "-c", script, *words, "--workspace", str(here / "ws")]
    done = run(line, {**os.environ, "PYTHONPATH": str(REPOSITORY)})
    assert done.code in (1, 2)
    check(done.err, extra, f'pip install "memory-core-py[{extra}]"')


def test_a_disk_that_is_full_is_named(command: Command) -> None:
    """Files of at most one byte stand for it."""

    def fill() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1, 1))

    done = command("index", before=fill)
    assert done.code == 1
    check(done.err, "state", "")
    done = command("config", "set", "memory.citations", "on", before=fill)
    assert done.code == 1
    check(done.err, "config.json5: ", "")
    assert "Errno" not in done.err
    assert command.shell("search kettle", "> /dev/full").error.endswith("or to /dev/null.")


@dataclass(frozen=True)
class Locked:
    """A folder of the user's that nobody may enter, for the time of a test."""

    path: Path

    def __enter__(self) -> None:
        self.path.chmod(0)

    def __exit__(self, *_: object) -> None:
        self.path.chmod(0o700)


def test_no_permission_is_named(command: Command, tmp_path: Path) -> None:
    state = tmp_path / "state"
    state.mkdir()
    with Locked(state):
        done = command("index", before=as_ordinary_owner)
    assert done.code == 1
    check(done.err, str(state), "make it writable")
    with Locked(command.workspace):
        done = command("search", "kettle", before=as_ordinary_owner)
    check(
        done.err,
        f"the workspace {command.workspace} may not be read",
        f"see to it that you may read {command.workspace}".lower(),
    )


def test_a_note_is_written_as_typed_whatever_the_locale(command: Command) -> None:
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    assert command("add", "Köln liegt am Rhein.", "--longterm", environment=plain).code == 0
    assert "Köln liegt am Rhein." in (command.workspace / "MEMORY.md").read_text(encoding="utf-8")


UNREAD = "see to it that it can be read; memory-core status names all that is left out"


def test_what_could_not_be_read_is_told(command: Command) -> None:
    (command.workspace / "memory" / "wide.md").write_bytes("The zither is in tune.\n".encode("utf-16"))
    closed = command.workspace / "memory" / "closed.md"
    closed.write_text("The zither is red.\n")
    closed.chmod(0)
    done = command("search", "zither", before=as_ordinary_owner)
    check(done.err, "memory/closed.md is left out: permission denied, and 1 more", UNREAD)
    told = command("explain", "zither", "memory/closed.md", before=as_ordinary_owner).out
    assert "the file cannot be read: permission denied" in told
    assert "see to it that you may read it" in told


def test_what_is_too_large_is_told_by_index_and_doctor_until_it_is_gone(command: Command) -> None:
    large = command.workspace / "memory" / "large.md"
    with large.open("wb") as file:
        file.truncate(11 * 2**20)
    told = "memory/large.md is left out: it is too large"
    assert told in command("index").err
    assert told not in command("search", "kettle").err
    assert "complained at" in command("doctor").out
    assert "split it, or exclude it" in command("explain", "kettle", "memory/large.md").out
    large.unlink()
    command("search", "kettle")
    assert "large.md" not in command("doctor").out


@pytest.mark.parametrize("question", ["kettle", "zither"])
def test_a_folder_that_may_not_be_read_is_told_with_hits_and_without(command: Command, question: str) -> None:
    """An agent gets it, too: what `--json` prints is the result of the tool."""
    (command.workspace / "memory" / "private").mkdir()
    (command.workspace / "memory" / "kettle.md").write_text("The kettle whistles.\n")
    command("index")  # a search that does not wait for it on a busy machine has not met the folder yet
    with Locked(command.workspace / "memory" / "private"):
        done = command("search", question, before=as_ordinary_owner)
        found = command("search", question, "--json", before=as_ordinary_owner).json
        status = command("status", before=as_ordinary_owner).err
        doctor = command("doctor", before=as_ordinary_owner).out
    problem = "memory/private is left out: permission denied"
    check(done.err, problem, UNREAD)
    assert (found["warning"], found["action"]) == (problem, UNREAD)
    assert ("hint" in found) == (question == "zither")
    assert problem in status
    assert "memory/private: permission denied" in doctor


@pytest.mark.parametrize("above", [False, True])
def test_a_workspace_that_may_not_be_read_is_named_once(command: Command, above: bool) -> None:
    command("search", "kettle")
    with Locked(command.workspace.parent if above else command.workspace):
        for words in (["search", "kettle"], ["index"], ["status"], ["doctor"]):
            done = command(*words, before=as_ordinary_owner)
            told = [*done.err.splitlines(), *done.out.splitlines()]
            lines = [line for line in told if "may not be read" in line and "last index" not in line]
            assert len(lines) == 1, words
            check(lines[0], str(command.workspace), f"see to it that you may read {command.workspace}")
            assert "permission denied" not in done.err.lower()


def test_a_state_folder_that_cannot_be_written_is_named(command: Command) -> None:
    """And not the note, which can."""
    state = {"MEMORY_CORE_STATE_DIR": str(command.state_dir)}
    command("index", environment=state)
    made = [command.state_dir, *command.state_dir.rglob("*")]
    modes = [path.stat().st_mode for path in made]
    for path in made:
        path.chmod(0o555)
    try:
        for words in (["add", "The kettle is blue."], ["config", "set", "memorySearch.provider", "none"]):
            done = command(*words, before=as_ordinary_owner, environment=state)
            assert done.code == 1
            check(done.error, f"{command.state_dir}/", "Make it writable, or set MEMORY_CORE_STATE_DIR")
            assert "Errno" not in done.error
        done = command("search", "kettle", before=as_ordinary_owner)
        check(done.error, "the index cannot be written", "Make it writable")
        assert "memory-core index" not in done.error  # which cannot do it
    finally:
        for path, mode in zip(made, modes, strict=True):
            path.chmod(mode)


def test_the_usual_editor_is_not_started_where_nobody_sees_it(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--workspace", "ws", "search", "kettle", "--open", "1"]) == 2
    check(capsys.readouterr().err, "vi needs a terminal", "set EDITOR")


def test_the_evidence_that_is_lacking_is_told_without_an_option_that_nobody_gave(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (
        main(["--workspace", "ws", "search", "zebra giraffe kettle violin walnut castle trumpet rocket velvet wizard"])
        == 0
    )
    assert "and 0.35 is needed" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("asked", "meant"),
    [
        ("memroy/plans.md", "memory/plans.md"),
        ("{home}/Vault/Dialy/plans.md", "~/Vault/Daily/plans.md"),
        ("memory/2026-01-04.md", ""),  # another day is no misspelling
        ("memory/2026-1-5.md", "memory/2026-01-05.md"),
        ("memory/2026-01-0.md", "memory/2026-01-05.md"),
    ],
)
def test_a_path_with_a_wrong_letter_is_answered_with_the_one_that_is_meant(
    here: Path, home: Path, asked: str, meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    write(here / "ws" / "memory" / "plans.md", "- Paint.\n")
    write(here / "ws" / "memory" / "2026-01-05.md", "- Paint.\n")
    write(home / "Vault" / "Daily" / "plans.md", "- Paint.\n")
    write(here / "vault.json5", "{memorySearch: {extraPaths: ['~/Vault'], provider: 'none'}}")
    assert main(["--config", "vault.json5", "--workspace", "ws", "get", asked.format(home=home)]) != 0
    told = capsys.readouterr().err
    assert (f"Did you mean {meant}?" in told) if meant else "mean" not in told


def test_a_hit_is_opened_at_its_line(here: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """In a copy of `echo` that is called vim."""
    seen = tmp_path / "seen"
    editor = write(tmp_path / "bin" / "vim", f'#!/bin/sh\nprintf "%s\\n" "$@" > {seen}\n')
    editor.chmod(0o755)
    monkeypatch.setenv("EDITOR", f"{editor} -n")
    monkeypatch.setenv("MEMORY_CORE_PROVIDER", "static")
    write(here / "ws" / "MEMORY.md", "# Memory\n\n- The kettle is blue.\n")
    assert main(["search", "kettle", "--open", "1", "--workspace", "ws"]) == 0
    assert seen.read_text().split() == ["-n", "+1", str(here / "ws" / "MEMORY.md")]
