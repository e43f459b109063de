"""Memory that people already have, taken over from each program: served where it lies, and copied; and given back."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import pytest

import memory_core
from memory_core.cli.main import main
from memory_core.plugin.memory import Memory
from tests.fakes.homes import SAMPLES, Sample, make_claude_code, make_clawdbot, make_hermes, make_openclaw, write

Adopt = Callable[..., str]
MARKDOWN = [sample for sample in SAMPLES if sample.is_markdown]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder, in which nothing is configured; the current folder is an empty one."""
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    for name in ("OPENCLAW_STATE_DIR", "CLAWDBOT_STATE_DIR", "MOLTBOT_STATE_DIR", "HERMES_HOME", "CLAUDE_CONFIG_DIR"):
        monkeypatch.delenv(name, raising=False)
    for name in ("MEMORY_CORE_CONFIG", "MEMORY_CORE_WORKSPACE", "MEMORY_CORE_STATE_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("MEMORY_CORE_PROVIDER", "static")
    (tmp_path / "home").mkdir()
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    return tmp_path / "home"


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"


@pytest.fixture
def adopt(state: Path, capsys: pytest.CaptureFixture[str]) -> Adopt:
    """Runs `memory-core adopt`, asserts that it succeeds, and returns what it prints."""

    def run(*arguments: str | Path | None) -> str:
        given = ["adopt", "--state-dir", str(state), *(str(each) for each in arguments if each is not None)]
        code = main(given)
        shown = capsys.readouterr()
        assert code == 0, shown.err
        return shown.out + shown.err

    return run


def snapshot(folder: Path) -> dict[str, str]:
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.rglob("*") if path.is_file()}


def find(memory: Memory, question: str) -> str:
    found = memory.call_tool("memory_search", {"query": question, "maxResults": 3, "minScore": 0.2})
    assert "error" not in found, found
    return "\n".join(hit["snippet"] for hit in found["results"])


def check_answers(sample: Sample, state: Path, workspace: Path | None = None) -> None:
    patient = {"memorySearch": {"sync": {"onSearch": False}}} if workspace else None
    with memory_core.open_memory(patient, workspace=workspace, state_dir=state) as memory:
        report = memory.sync()
        assert report.failures == ()
        for question, answer in sample.questions:
            assert answer in find(memory, question), question
        if sample.hidden:
            assert sample.hidden not in find(memory, sample.hidden)


@pytest.mark.parametrize("sample", MARKDOWN, ids=lambda sample: sample.source)
def test_a_home_is_served_where_it_lies(sample: Sample, home: Path, state: Path, adopt: Adopt) -> None:
    path = sample.make(home)
    before = snapshot(home)

    assert "Nothing has been changed." in adopt(path)
    assert not state.exists()
    assert "Written: " in adopt(path, "--yes")
    check_answers(sample, state)
    assert "Nothing to change" in adopt(path, "--yes")
    assert snapshot(home) == before

    undone = adopt("--undo")
    left = set(snapshot(state))
    if "the index" in undone:  # a workspace that had notes of its own keeps its index, which is derived
        left = {file for file in left if not Path(file).name.startswith("main-")}
    assert left == set()
    assert snapshot(home) == before


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.source)
def test_a_home_is_copied_into_a_workspace(
    sample: Sample, home: Path, state: Path, tmp_path: Path, adopt: Adopt
) -> None:
    path = sample.make(home)
    workspace = tmp_path / "workspace"
    write(workspace / "MEMORY.md", "Our own note.\n")
    before, own = snapshot(home), snapshot(workspace)
    into = ("--workspace", workspace, "--copy")

    assert "Nothing has been changed." in adopt(path, *into)
    assert snapshot(workspace) == own
    adopt(path, *into, "--yes")
    copies = snapshot(workspace)
    below = [Path(each).relative_to(workspace).as_posix() for each in copies.keys() - own.keys()]
    assert below
    assert all(each.startswith(f"memory/imports/{sample.source}/") for each in below)
    check_answers(sample, state, workspace)

    again = adopt(path, *into, "--yes")
    assert f"{len(below)} unchanged" in again
    assert snapshot(workspace) == copies
    assert snapshot(home) == before

    adopt("--undo")
    assert snapshot(workspace) == own
    assert [each.name for each in workspace.iterdir()] == ["MEMORY.md"]
    assert {file for file in snapshot(state) if not Path(file).name.startswith("main-")} == set()


def test_the_usual_places_are_shown_in_one_table(home: Path, adopt: Adopt) -> None:
    for sample in SAMPLES:
        sample.make(home)
    vaults = {"vaults": {"1": {"path": str(home / "Garden Vault")}}}
    write(home / ".config" / "obsidian" / "obsidian.json", json.dumps(vaults))

    rows = adopt().splitlines()
    shown = "\n".join(" ".join(row.split()) for row in rows)
    assert rows[0].split() == ["found", "where", "holds"]
    assert "OpenClaw ~/.openclaw 3 notes, openclaw.json, 1 session, workspace ~/.openclaw/workspace" in shown
    assert "Clawdbot ~/.clawdbot 3 notes, clawdbot.json, workspace ~/clawd" in shown
    assert "Moltbot ~/.moltbot 3 notes, moltbot.json, workspace ~/.moltbot/workspace" in shown
    assert "Claude Code ~/.claude 5 notes, projects bakery-api, home-sam-src-kiln" in shown
    assert "Hermes ~/.hermes 2 notes" in shown
    assert "Obsidian vault ~/Garden Vault 2 notes" in shown
    assert "basic-memory ~/knowledge 2 notes" in shown
    assert "memory-core adopt --yes" in shown


def test_several_homes_are_served_together(home: Path, state: Path, adopt: Adopt) -> None:
    """The workspace is that of the first program that has one; what the others keep is searched beside it."""
    make_openclaw(home)
    make_clawdbot(home)
    make_claude_code(home)
    make_hermes(home)
    adopt("--yes")
    with memory_core.open_memory(state_dir=state) as memory:
        assert memory.config().workspace == home / ".openclaw" / "workspace"
        memory.sync()
        assert "Oslo" in find(memory, "Where does the bakery's staging cluster run?")
        assert "A5" in find(memory, "Which paper does the printer need?")
        paths = [hit["path"] for hit in memory.call_tool("memory_search", {"query": "allotment gate code"})["results"]]
    assert {"MEMORY.md", "~/clawd/MEMORY.md"} <= set(paths)


def test_each_agent_of_openclaw_keeps_its_workspace(home: Path, state: Path, adopt: Adopt) -> None:
    config = "{agents: {list: [{id: 'main'}, {id: 'Work', workspace: '~/work'}, {id: 'side'}, {id: '../evil'}]}}"
    write(home / ".openclaw" / "openclaw.json", config)
    write(home / ".openclaw" / "workspace" / "MEMORY.md", "Main has the ladder.\n")
    write(home / "work" / "MEMORY.md", "Work has the projector.\n")
    write(home / ".openclaw" / "workspace-side" / "memory" / "a.md", "Side has the tent.\n")
    adopt("--yes")
    for agent, thing in (("main", "ladder"), ("work", "projector"), ("side", "tent")):
        with memory_core.open_memory(agent=agent, state_dir=state) as memory:
            memory.sync()
            assert thing in find(memory, f"Who has the {thing}?")


def test_a_real_clawdbot_state_folder_is_never_touched(
    home: Path, adopt: Adopt, capsys: pytest.CaptureFixture[str]
) -> None:
    """Our own files lie in the same folder, under names of ours."""
    make_clawdbot(home)
    before = snapshot(home)
    theirs = home / ".clawdbot"
    for command in (["adopt", "--yes"], ["index"], ["search", "gate code"], ["status"]):
        assert main(command) == 0, capsys.readouterr().err
    assert "4417" in capsys.readouterr().out
    after = snapshot(home)
    assert {file: after[file] for file in before} == before
    assert {Path(file).relative_to(theirs).parts[0] for file in after.keys() - before.keys()} == {"memory-core"}


def test_an_adopted_home_is_left_out_where_a_workspace_or_a_configuration_is_named(
    home: Path, state: Path, tmp_path: Path, adopt: Adopt
) -> None:
    make_hermes(home)
    adopt("--yes")
    write(tmp_path / "other" / "MEMORY.md", "The kayak is red.\n")
    with memory_core.open_memory(workspace=tmp_path / "other", state_dir=state) as memory:
        assert memory.sync().files == 1
    with memory_core.open_memory({}, state_dir=state) as memory:
        assert memory.config().search.extra_paths == ()


def test_a_copy_follows_its_original_until_somebody_edits_it(
    home: Path, state: Path, tmp_path: Path, adopt: Adopt
) -> None:
    make_hermes(home)
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    original, copy = home / ".hermes" / "memories" / "USER.md", workspace / "memory" / "imports" / "hermes" / "USER.md"
    into = ("--workspace", workspace, "--copy", "--yes")
    adopt(*into)
    assert (
        copy.read_text() == "# Hermes: about the user\n\n- Prefers metric units.\n- Plays the oboe in an orchestra.\n"
    )

    original.write_text("Prefers metric units.\n")
    assert "1 updated, 1 unchanged" in adopt(*into)
    assert copy.read_text() == "# Hermes: about the user\n\n- Prefers metric units.\n"

    copy.write_text("My own words.\n")
    assert "the copy was edited since" in adopt(*into)
    assert copy.read_text() == "My own words.\n"
    undone = adopt("--undo")
    assert "stays" in undone
    assert "Removed 1 file" in undone
    assert "Next: memory-core index, which takes these notes out of the index" in undone
    assert copy.read_text() == "My own words.\n"
    assert "Nothing was adopted." in adopt("--undo")


def test_another_file_in_the_place_of_a_copy_is_left(home: Path, tmp_path: Path, adopt: Adopt) -> None:
    make_hermes(home)
    mine = write(tmp_path / "workspace" / "memory" / "imports" / "hermes" / "USER.md", "Mine.\n")
    assert "another file is there" in adopt("--workspace", tmp_path / "workspace", "--copy", "--yes")
    adopt("--undo")
    assert mine.read_text() == "Mine.\n"


def test_two_projects_of_one_name_get_two_places(home: Path, tmp_path: Path, adopt: Adopt) -> None:
    for parent in ("one", "two"):
        project = home / ".claude" / "projects" / f"-{parent}-api"
        write(project / "memory" / "MEMORY.md", f"The {parent} api.\n")
        write(project / "s.jsonl", json.dumps({"cwd": f"/{parent}/api"}) + "\n")
    (tmp_path / "workspace").mkdir()
    adopt("--workspace", tmp_path / "workspace", "--copy", "--yes")
    copies = sorted((tmp_path / "workspace" / "memory" / "imports").rglob("*.md"))
    assert [copy.read_text() for copy in copies] == ["The two api.\n", "The one api.\n"]


def test_nothing_found_says_what_to_name(home: Path, adopt: Adopt) -> None:
    assert "memory-core adopt PATH" in adopt()


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["no-such-folder"], "there is no file or folder"),
        (["."], "holds no Markdown"),
        (["--yes", "--dry-run", "."], "exclude each other"),
        (["export.json", "--yes"], "add --copy"),
        (["notes", "--copy", "--workspace", "missing"], "no such workspace"),
    ],
)
def test_wrong_usage_is_one_line(
    home: Path, arguments: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    if arguments[0] == "export.json":
        write(Path("export.json"), json.dumps([{"memory": "A fact."}]))
    if arguments[0] == "notes":
        write(Path("notes/a.md"), "A note.\n")
    assert main(["adopt", *arguments]) == 2
    shown = capsys.readouterr().err
    assert complaint in shown
    assert len(shown.splitlines()) == 1


def test_a_configuration_that_was_edited_is_left_as_it_is(
    home: Path, state: Path, adopt: Adopt, capsys: pytest.CaptureFixture[str]
) -> None:
    make_hermes(home)
    adopt("--yes")
    config = state / "memory-core" / "config.json5"
    config.write_text(config.read_text().replace("{", "{ // mine\n", 1))
    mine = config.read_text()
    assert main(["adopt", "--state-dir", str(state), "--yes"]) == 2
    assert "was changed since" in capsys.readouterr().err
    assert "stays" in adopt("--undo")
    assert config.read_text() == mine
