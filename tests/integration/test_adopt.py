"""Memory that people already have, taken over from each program: served where it lies, and copied; and given back."""

from __future__ import annotations

import hashlib
import json
import stat
import subprocess
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import memory_core
from memory_core.cli.main import main
from memory_core.hosts.adopt.exports import read_export
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


def test_a_search_of_the_usual_workspace_by_its_name_says_that_what_was_adopted_is_left_out(
    home: Path, state: Path, adopt: Adopt, capsys: pytest.CaptureFixture[str]
) -> None:
    write(home / "Vault" / ".obsidian" / "app.json", "{}")
    write(home / "Vault" / "Oak.md", "The oak was felled.\n")
    for name in ("notes", "others"):
        write(home / name / "MEMORY.md", "Our own note.\n")
    assert main(["init", str(home / "notes"), "--default", "--state-dir", str(state)]) == 0
    adopt(home / "Vault", "--yes")
    capsys.readouterr()
    told = {}
    for name in ("notes", "others"):
        assert main(["search", "own note", "--workspace", str(home / name), "--state-dir", str(state)]) == 0
        told[name] = capsys.readouterr().err
    assert told == {
        "notes": "memory-core: left out, as --workspace is given: ~/Vault. Leave it away to search them\n",
        "others": "",
    }


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


def test_a_link_that_is_named_leads_to_its_folder(home: Path, adopt: Adopt) -> None:
    (home / "cloud" / "vault" / ".obsidian").mkdir(parents=True)
    (home / "cloud" / "vault" / "a.md").write_text("The heather blooms in August.\n")
    (home / "Vault").symlink_to("cloud/vault")
    assert "1 note" in adopt(home / "Vault", "--yes")


def test_several_homes_are_served_together(home: Path, state: Path, adopt: Adopt) -> None:
    """Notes of every program are searched beside those of the workspace that is used, which stays as it was."""
    make_openclaw(home)
    make_clawdbot(home)
    make_claude_code(home)
    make_hermes(home)
    (home / "clawd").rename(home / "theirs")
    write(home / ".clawdbot" / "clawdbot.json", json.dumps({"agents": {"defaults": {"workspace": "~/theirs"}}}))
    assert "new notes go to ~/clawd" in adopt("--yes")
    with memory_core.open_memory(state_dir=state) as memory:
        assert memory.config().workspace == home / "clawd"
        memory.sync()
        assert "Oslo" in find(memory, "Where does the bakery's staging cluster run?")
        assert "A5" in find(memory, "Which paper does the printer need?")
        hits = memory.call_tool("memory_search", {"query": "allotment gate code"})["results"]
    found = {path for hit in hits for path in (hit["path"], *hit.get("alsoIn", ()))}
    assert {"~/.openclaw/workspace/MEMORY.md", "~/theirs/MEMORY.md"} <= found


def test_the_current_folder_stays_the_workspace(home: Path, state: Path, adopt: Adopt) -> None:
    make_openclaw(home)
    write(Path("MEMORY.md"), "The kettle is blue.\n")
    adopt("--yes")
    with memory_core.open_memory(state_dir=state) as memory:
        assert memory.config().workspace == Path.cwd()
        memory.sync()
        assert "kettle" in find(memory, "Which colour has the kettle?")
        assert "4417" in find(memory, "What is the code of the allotment gate?")


def test_the_notes_of_one_agent_are_not_those_of_another(home: Path, state: Path, adopt: Adopt) -> None:
    write(home / ".openclaw" / "openclaw.json", "{agents: {list: [{id: 'main'}, {id: 'side'}]}}")
    write(home / ".openclaw" / "workspace" / "MEMORY.md", "Main has the ladder.\n")
    write(home / ".openclaw" / "workspace-side" / "MEMORY.md", "Side has the tent.\n")
    adopt("--yes")
    for agent, other in (("main", "tent"), ("side", "ladder")):
        with memory_core.open_memory(agent=agent, state_dir=state) as memory:
            memory.sync()
            assert other not in find(memory, f"Who has the {other}?")


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


def test_adopted_notes_are_searched_without_a_workspace_and_without_a_warning(
    home: Path, state: Path, adopt: Adopt
) -> None:
    write(home / "Vault" / ".obsidian" / "app.json", "{}")
    write(home / "Vault" / "Boats.md", "The kayak is red.\n")
    adopt(home / "Vault", "--yes")
    with memory_core.open_memory(state_dir=state) as memory:
        memory.sync()
        for question, hits in (("kayak", 1), ("purple elephants", 0)):
            found = memory.call_tool("memory_search", {"query": question})
            assert (len(found["results"]), found.get("warning")) == (hits, None)
        assert [each.level for each in memory.diagnose() if each.subject == "workspace"] == ["warn"]


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
        (["notes", "--yes", "--workspace", "."], "goes with --copy"),
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


# The spellings of one section.
WRITTEN = {
    "of agents": (
        "{\n  // mine\n  agents: {\n    defaults: {\n"
        '      memorySearch: {extraPaths: ["~/vault"], query: {maxResults: 3}},\n    },\n  },\n}\n'
    ),
    "at the top": '{\n  // mine\n  memorySearch: {extraPaths: ["~/vault"], query: {maxResults: 3}},\n}\n',
    "below memory": (
        '{\n  memory: {search: {extraPaths: ["~/vault"]}},\n'
        "  agents: {defaults: {memorySearch: {query: {maxResults: 3}}}},\n}\n"
    ),
}


@pytest.mark.parametrize("mine", WRITTEN.values(), ids=WRITTEN)
def test_what_the_user_wrote_into_the_configuration_stays(mine: str, home: Path, state: Path, adopt: Adopt) -> None:
    make_hermes(home)
    vault = write(home / "vault" / "a.md", "The kettle is blue.\n").parent
    config = write(state / "memory-core" / "config.json5", mine)
    config.chmod(0o640)
    adopt("--yes")
    adopt(vault, "--yes")  # which is there already, and stays the user's
    with memory_core.open_memory(state_dir=state) as memory:
        assert memory.config().search.query.max_results == 3
        memory.sync()
        assert "oboe" in find(memory, "Which instrument is played in an orchestra?")
    assert "keeps what else it says" in adopt("--undo")
    assert config.read_text() == mine
    assert stat.S_IMODE(config.stat().st_mode) == 0o640


def test_what_the_user_excludes_of_a_served_vault_stays_excluded(home: Path, state: Path, adopt: Adopt) -> None:
    vault = make_vault(home, "a.md private/b.md Trash/c.md drafts/d.md")
    adopt(vault, "--yes")
    config = state / "memory-core" / "config.json5"
    config.write_text(config.read_text().replace('"Trash/*"', '"private/**", "Trash/*"'))
    write(vault / "logseq" / "config.edn", '{:hidden ["/drafts"]}')
    for _ in range(2):
        adopt(vault, "--yes")
        assert config.read_text().count("~/vault") == 1
        assert paths_of(state, "millstone of the mill") == {"a.md"}
    adopt("--undo")
    assert not config.exists()


def test_copies_of_one_workspace_are_undone_alone(home: Path, state: Path, adopt: Adopt) -> None:
    vault = make_vault(home, "a.md")
    for name in ("one", "two"):
        (home / name).mkdir()
        adopt(vault, "--copy", "--yes", "--workspace", home / name)
    adopt(vault, "--yes")
    assert "Removed 1 file" in adopt("--undo", "--workspace", home / "one")
    assert "Nothing was copied into ~/one." in adopt("--undo", "--workspace", home / "one")
    assert list((home / "one").iterdir()) == []
    assert len(list((home / "two").rglob("a.md"))) == 1
    assert "~/vault" in (state / "memory-core" / "config.json5").read_text()
    adopt("--undo")
    assert list((home / "two").iterdir()) == []
    assert not (state / "memory-core" / "config.json5").exists()


def test_a_configuration_that_cannot_be_changed_is_named(
    home: Path, state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_hermes(home)
    config = write(state / "memory-core" / "config.json5", "{agents: 7}")
    assert main(["adopt", "--state-dir", str(state), "--yes"]) == 2
    assert str(config) in capsys.readouterr().err
    assert config.read_text() == "{agents: 7}"


def paths_of(state: Path, question: str) -> set[str]:
    with memory_core.open_memory(state_dir=state) as memory:
        memory.sync()
        return {Path(hit["path"]).name for hit in memory.call_tool("memory_search", {"query": question})["results"]}


def make_vault(home: Path, names: str) -> Path:
    for name in names.split():
        write(home / "vault" / name, f"# {name}\n\nThe mill needs a new millstone, says {name}.\n")
    return home / "vault"


def test_what_is_left_out_with_its_folder_is_not_named_again(home: Path, adopt: Adopt) -> None:
    vault = make_vault(home, "a.md Tpl/t.md")
    write(vault / ".obsidian/templates.json", '{"folder": "Tpl"}')
    write(vault / ".obsidian/daily-notes.json", '{"template": "Tpl/t"}')
    said = adopt(vault)
    assert "without Tpl/" in said
    assert "Tpl/t" not in said


@pytest.mark.parametrize(
    ("files", "kept"),
    [
        ({".obsidian/app.json": '{"userIgnoreFilters": ["Attic/", "Notes/old"]}'}, "a.md t.md log.md x.draft.md"),
        ({".obsidian/app.json": '{"userIgnoreFilters": ["/^Notes.*draft/", "/(/", 5]}'}, "a.md old.md t.md log.md attic.md"),
        ({".obsidian/templates.json": '{"folder": "Tpl"}'}, "a.md old.md log.md attic.md x.draft.md"),
        (
            {".obsidian/plugins/templater-obsidian/data.json": '{"templates_folder": "/Tpl"}', ".obsidian/app.json": "[]"},
            "a.md old.md log.md attic.md x.draft.md",
        ),
        ({".obsidian/daily-notes.json": '{"folder": "Notes", "template": "Tpl/t"}'}, "a.md old.md log.md attic.md x.draft.md"),
        (
            {".obsidian/plugins/periodic-notes/data.json": '{"daily": {}, "yearly": {"template": "Tpl/t.md"}}'},
            "a.md old.md log.md attic.md x.draft.md",
        ),
        (
            {".obsidian/plugins/quickadd/data.json": '{"templateFolderPath": "Tpl"}'},
            "a.md old.md log.md attic.md x.draft.md",
        ),
        ({"logseq/config.edn": '{;; :hidden ["/Tpl"]\n :hidden ["/Attic" "/Notes/old.md"]}'}, "a.md t.md x.draft.md"),
        ({"Trash/b.md": "The mill has no millstone.\n"}, "a.md old.md t.md log.md attic.md x.draft.md"),
    ],
)  # fmt: skip
def test_what_the_owner_excludes_is_left_out(
    home: Path, state: Path, adopt: Adopt, files: dict[str, str], kept: str
) -> None:
    vault = make_vault(home, "Notes/a.md Notes/old.md Attic/attic.md Tpl/t.md Notes/x.draft.md logseq/log.md")
    for name, text in files.items():
        write(vault / name, text)
    assert "without " in adopt(vault)
    adopt(vault, "--yes")
    assert paths_of(state, "millstone of the mill") == {*kept.split()}
    assert ("attic.md" in adopt(vault, "--copy", "--workspace", home.parent / "elsewhere")) == ("attic.md" in kept)


def test_status_and_doctor_tell_how_many_notes_are_served_from_where(
    home: Path, state: Path, adopt: Adopt, capsys: pytest.CaptureFixture[str]
) -> None:
    vault = make_vault(home, "a.md b/c.md")
    write(Path("MEMORY.md"), "The kettle is blue.\n")
    adopt(vault, "--yes")
    named = ["--state-dir", str(state)]
    assert main(["index", *named]) == 0
    assert main(["status", *named]) == 0
    shown = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["files", "3"] in shown
    assert ["of", "them", "2", "in", "~/vault"] in shown
    assert main(["status", "--json", *named]) == 0
    assert json.loads(capsys.readouterr().out)["extra"] == {"~/vault": 2}
    main(["doctor", *named])
    assert f"1 note in {Path.cwd()}, 2 in ~/vault\n" in capsys.readouterr().out


def test_what_may_be_meant_by_a_path_without_a_note_is_offered(
    home: Path, state: Path, adopt: Adopt, capsys: pytest.CaptureFixture[str]
) -> None:
    vault = make_vault(home, "Car.md Projects/Mill.md Old/Mill.md")
    write(Path("memory/2026-01-05.md"), "The kettle is blue.\n")
    adopt(vault, "--yes")
    named = ["--state-dir", str(state)]
    assert main(["index", *named]) == 0
    Path("memory/2026-01-05.md").unlink()
    assert main(["index", *named]) == 0
    for command in ("get", "open", "explain"):
        question = ["kettle"] if command == "explain" else []
        for path, meant in (
            ("Mill.md:L2", "id you mean ~/vault/Old/Mill.md or ~/vault/Projects/Mill.md?\n"),
            ("memory/2026-01-05.md", "t was there once; see its versions: memory-core history memory/2026-01-05.md"),
        ):
            main([command, *named, *question, path])
            shown = capsys.readouterr()
            assert meant in shown.out + shown.err


def test_the_end_of_a_path_that_one_note_has_names_it(
    home: Path, state: Path, adopt: Adopt, capsys: pytest.CaptureFixture[str]
) -> None:
    vault = make_vault(home, "Daily/2026-11-28.md Projects/Mill.md Old/Mill.md")
    adopt(vault, "--yes")
    named = ["--state-dir", str(state)]
    assert main(["index", *named]) == 0
    capsys.readouterr()
    asked = {command: [command, "Daily/2026-11-28.md"] for command in ("get", "open", "history", "diff")}
    asked |= {"past": ["get", "Daily/2026-11-28", "--as-of", "23:59"], "line": ["get", "2026-11-28.md:L3"]}
    asked["explain"] = ["explain", "millstone", "Daily/2026-11-28.md"]
    told = {}
    for name, words in asked.items():
        main([*words, *named])
        shown = capsys.readouterr()
        told[name] = shown.out + shown.err
    needed = "The mill needs a new millstone, says Daily/2026-11-28.md."
    assert needed in told["get"]
    assert needed in told["past"]
    assert told["line"] == f"{needed}\n"
    assert told["open"] == f"{vault / 'Daily' / '2026-11-28.md'}:1\n"
    assert "added" in told["history"]
    assert "not changed" in told["diff"]
    assert "~/vault/Daily/2026-11-28.md came" in told["explain"]
    main(["explain", "millstone", "Mill.md", *named])
    listed = capsys.readouterr().out
    assert "did you mean ~/vault/Old/Mill.md or ~/vault/Projects/Mill.md?" in listed
    assert "evidence" not in listed


def test_what_tidy_proposes_for_notes_elsewhere_is_not_offered_for_review(
    home: Path, state: Path, adopt: Adopt, capsys: pytest.CaptureFixture[str]
) -> None:
    vault, line = home / "vault", "- The blue folder with the deeds is under the stairs\n"
    for folder in ("Archive", "Home"):
        write(vault / folder / "bank.md", f"# Bank\n\n{line}")
    write(Path("memory/a.md"), "The kettle is blue.\n")
    adopt(vault, "--yes")
    for own, advice in (("Hello.\n", "change them by hand"), (line, "go through them: memory-core review")):
        for name in ("b", "c"):
            write(Path(f"memory/{name}.md"), own)
        assert main(["tidy", "--state-dir", str(state)]) == 0
        shown = capsys.readouterr().out
        assert "repeated, ~/vault/Archive/bank.md:3" in shown
        assert advice in shown.splitlines()[-1]


def test_the_counts_of_what_is_served_and_indexed_add_up(
    home: Path, state: Path, adopt: Adopt, capsys: pytest.CaptureFixture[str]
) -> None:
    vault = make_vault(home, "a.md b.md c/.d.md.icloud c/.e.txt.icloud")
    (vault / "c.md").write_bytes(b"a\0b")
    adopt(vault, "--yes")
    named = ["--state-dir", str(state), "--json"]
    assert main(["index", *named]) == 0
    capsys.readouterr()
    assert main(["status", *named]) == 0
    status = json.loads(capsys.readouterr().out)
    assert (status["files"], status["extra"]) == (2, {"~/vault": 2})
    assert {each["path"]: each["reason"][:8] for each in status["failures"]} == {
        "~/vault/c.md": "is binar",
        "~/vault/c/d.md": "is in iC",
    }


def test_a_note_that_icloud_puts_away_is_still_found_and_named(home: Path, state: Path, adopt: Adopt) -> None:
    vault = make_vault(home, "a.md b.md")
    adopt(vault, "--yes")
    assert paths_of(state, "millstone of the mill") == {"a.md", "b.md"}
    (vault / "b.md").rename(vault / ".b.md.icloud")
    assert paths_of(state, "millstone of the mill") == {"a.md", "b.md"}
    with memory_core.open_memory(state_dir=state) as memory:
        assert [each.path for each in memory.status().failures] == ["~/vault/b.md"]


def test_explain_names_the_comment_in_which_a_word_stands(home: Path, state: Path, adopt: Adopt) -> None:
    vault = write(home / "vault" / "Car.md", "# Car\n\nThe car has winter tyres. %%Its rebate is 20.%%\n").parent
    (vault / ".obsidian").mkdir()
    adopt(vault, "--yes")
    with memory_core.open_memory(state_dir=state) as memory:
        memory.sync()
        for place in ("~/vault/Car.md", "~/vault/Car.md#L3"):
            assert "'rebate' stands between %% and %%" in memory.explain("rebate", place).verdict.reason
        assert memory.explain("tyres", "~/vault/Car.md").verdict.stage == "shown"


def test_what_obsidian_excludes_later_is_left_out_from_then_on(home: Path, state: Path, adopt: Adopt) -> None:
    vault = make_vault(home, "a.md private/b.md private/c.md Old.md")
    write(vault / ".obsidian" / "app.json", '{"userIgnoreFilters": ["Old"]}')
    adopt(vault, "--yes")
    assert paths_of(state, "millstone of the mill") == {"a.md", "b.md", "c.md"}
    write(vault / ".obsidian" / "app.json", '{"userIgnoreFilters": ["private/", "/a$/"]}')
    assert paths_of(state, "millstone of the mill") == {"a.md", "Old.md"}
    with memory_core.open_memory(state_dir=state) as memory:
        verdict = memory.explain("millstone", "~/vault/private/b.md").verdict
    write(vault / ".obsidian" / "app.json", '{"userIgnoreFil')
    write(vault / "private" / "d.md", "The mill has a millstone.\n")
    assert paths_of(state, "millstone of the mill") == {"a.md", "Old.md"}
    assert "left out by Obsidian" in verdict.reason
    assert "Excluded files" in (verdict.action or "")


def test_what_a_vault_in_a_folder_or_around_it_excludes_is_left_out(home: Path, state: Path, adopt: Adopt) -> None:
    vault = make_vault(home, "Notes/a.md Notes/Tpl/t.md Private/b.md")
    write(home / "other.md", "The mill has a millstone. %%Its hull is teal.%%\n")
    write(vault / "Notes" / "hull.md", "The boat is new. %%Its hull is teal.%%\n")
    write(vault / ".obsidian" / "app.json", '{"userIgnoreFilters": ["Private/"]}')
    write(vault / ".obsidian" / "templates.json", '{"folder": "Notes/Tpl"}')
    assert "3 notes, without vault/Private/, vault/Notes/Tpl/" in adopt(home)
    adopt(home, "--yes")
    assert paths_of(state, "millstone of the mill") == {"a.md", "other.md"}
    assert paths_of(state, "a teal hull") == {"other.md"}
    adopt("--undo")
    assert "2 notes, in the vault ~/vault, without Tpl/" in adopt(vault / "Notes", "--yes")
    assert paths_of(state, "millstone of the mill") == {"a.md"}
    workspace = home.parent / "elsewhere"
    adopt(home, "--copy", "--yes", "--workspace", workspace)
    assert {path.name: "teal" in path.read_text() for path in workspace.rglob("*.md")} == {
        "a.md": False,
        "other.md": True,
        "hull.md": False,
    }


@pytest.mark.parametrize("place", ["Private", "Private/b.md"])
def test_what_a_vault_excludes_as_a_whole_is_not_adopted(
    home: Path, state: Path, capsys: pytest.CaptureFixture[str], place: str
) -> None:
    vault = make_vault(home, "a.md Private/b.md")
    write(vault / ".obsidian" / "app.json", '{"userIgnoreFilters": ["Private/"]}')
    assert main(["adopt", str(vault / place), "--yes", "--state-dir", str(state)]) == 2
    assert f"{vault / place} is left out by Obsidian" in capsys.readouterr().err


def test_what_a_vault_excludes_as_a_whole_later_is_found_no_more(home: Path, state: Path, adopt: Adopt) -> None:
    vault = make_vault(home, "Private/b.md")
    adopt(vault / "Private", "--yes")
    assert paths_of(state, "millstone of the mill") == {"b.md"}
    write(vault / ".obsidian" / "app.json", '{"userIgnoreFilters": ["Private/"]}')
    assert paths_of(state, "millstone of the mill") == set()


def test_a_folder_with_code_in_memory_is_adopted_like_any_other(home: Path, state: Path, adopt: Adopt) -> None:
    write(home / "code" / "memory" / "alloc.c", "int a;\n")
    write(home / "code" / "design.md", "The millstone of the mill is cracked.\n")
    assert "folder of Markdown" in adopt(home / "code", "--yes")
    assert paths_of(state, "millstone of the mill") == {"design.md"}


def test_one_file_is_adopted(home: Path, state: Path, adopt: Adopt) -> None:
    vault = make_vault(home, "a.md b.md")
    assert "Markdown file" in adopt(vault / "a.md", "--yes")
    assert paths_of(state, "millstone of the mill") == {"a.md"}


def test_what_git_ignores_is_left_out_but_not_the_folder_that_was_named(home: Path, state: Path, adopt: Adopt) -> None:
    vault = make_vault(home, "a.md b.draft.md private/c.md deep/private/d.md deep/e.md")
    subprocess.run(["git", "init", "-q", home], check=True)
    write(vault / ".gitignore", "*.draft.md\nprivate/\n")
    write(home / ".gitignore", "state/\n")
    adopt(vault, "--yes")
    assert paths_of(state, "millstone of the mill") == {"a.md", "e.md"}
    adopt("--undo")
    write(home / ".gitignore", "vault/\n")
    adopt(vault, "--yes")
    assert {"a.md", "e.md"} <= paths_of(state, "millstone of the mill")


def test_links_are_named(home: Path, adopt: Adopt) -> None:
    write(home / "dots" / "CLAUDE.md", "Prefer tabs.\n")
    (home / ".claude" / "projects").mkdir(parents=True)
    (home / ".claude" / "CLAUDE.md").symlink_to("../dots/CLAUDE.md")
    write(home / ".claude" / "rules" / "a.md", "Never mock the clock.\n")
    assert "~/.claude/CLAUDE.md is left out: it is a symbolic link" in adopt()


SPOKEN = [("user", "Where is the regatta?"), ("assistant", "In Flensburg."), ("user", "Thanks.")]


def make_chatgpt() -> list[dict[str, object]]:
    nodes: dict[str, object] = {"root": {"id": "root", "parent": None, "message": None}}
    told = [("system", "Be kind."), *SPOKEN[:1], ("tool", "[]"), *SPOKEN[1:]]
    for number, (role, text) in enumerate(told):
        parent = "root" if number == 0 else f"n{number - 1}"
        content = {"content_type": "text", "parts": [text]}
        message = {"author": {"role": role}, "content": content, "recipient": "all", "create_time": 1714725000.5}
        nodes[f"n{number}"] = {"id": f"n{number}", "parent": parent, "message": message}
    other = {"author": {"role": "assistant"}, "content": {"content_type": "text", "parts": ["In Kiel."]}}
    nodes["other"] = {"id": "other", "parent": "n2", "message": other}
    whole = {"title": "Regatta/2024", "create_time": 1714725000.5, "current_node": "n4", "mapping": nodes}
    return [whole, {"title": None, "mapping": {}}, {**whole, "current_node": "n4"}]


def make_claude() -> list[dict[str, object]]:
    texts = [{"type": "tool_use", "text": "no"}, {"type": "text", "text": "In Flensburg."}]
    messages = [
        {"sender": "human", "text": SPOKEN[0][1], "content": []},
        {"sender": "assistant", "text": "", "content": texts},
        {"sender": "human", "text": "Thanks."},
    ]
    return [
        {"uuid": "1", "name": "Regatta/2024", "created_at": "2024-05-03T08:30:00.000000Z", "chat_messages": messages}
    ]


@pytest.mark.parametrize("packed", ["file", "folder", "zip"])
@pytest.mark.parametrize(("source", "make"), [("chatgpt", make_chatgpt), ("claude", make_claude)])
def test_exported_conversations_become_notes(
    home: Path, adopt: Adopt, packed: str, source: str, make: Callable[[], list[dict[str, object]]]
) -> None:
    text, place = json.dumps(make()), home / "export" / "conversations.json"
    write(place, text)
    write(place.with_name("users.json"), "[{}]")
    if packed == "zip":
        with zipfile.ZipFile(home / "export.zip", "w") as archive:
            archive.writestr("data/conversations.json", text)
            archive.writestr("chat.html", "<html>")
    given = {"file": place, "folder": place.parent, "zip": home / "export.zip"}[packed]
    (home / "clawd").mkdir()
    assert "conversation" in adopt(given)
    adopt(given, "--copy", "--yes", "--workspace", home / "clawd")
    notes = sorted((home / "clawd" / "memory" / "imports" / source).iterdir())
    assert [note.name for note in notes][-1] == "2024-05-03 Regatta-2024.md"
    assert len(notes) == (2 if source == "chatgpt" else 1)
    assert notes[-1].read_text() == (
        "# Regatta/2024\n\nUser: Where is the regatta?\n\nAssistant: In Flensburg.\n\nUser: Thanks.\n"
    )
    assert "unchanged" in adopt(given, "--copy", "--yes", "--workspace", home / "clawd")
    adopt("--undo")
    assert not (home / "clawd" / "memory" / "imports" / source).exists()


def test_claudes_own_memory_and_openmemory_are_read(home: Path, adopt: Adopt) -> None:
    own = [
        {
            "conversations_memory": "**Work**\n\nBuilds boats.",
            "project_memories": {"p": "Sails are red."},
            "account_uuid": "a",
        }
    ]
    write(home / "memories.json", json.dumps(own))
    rows = [
        {"content": "Owns a dinghy.", "created_at": "2025-02-03T10:00:00+00:00", "state": "active"},
        {"content": "Owned a barge.", "state": "deleted"},
        {"content": "Sails on Sundays.", "created_at": 1738580400},
    ]
    with zipfile.ZipFile(home / "open.zip", "w") as archive:
        archive.writestr("memories.json", json.dumps({"user": {"user_id": "kim"}, "apps": [], "memories": rows}))
        archive.writestr("memories.jsonl.gz", b"x")
    (home / "clawd").mkdir()
    for name in ("memories.json", "open.zip"):
        adopt(home / name, "--copy", "--yes", "--workspace", home / "clawd")
    imports = home / "clawd" / "memory" / "imports"
    assert (imports / "claude" / "memory.md").read_text() == "# What Claude remembers\n\n**Work**\n\nBuilds boats.\n"
    assert "Sails are red." in (imports / "claude" / "memory (2).md").read_text()
    assert (imports / "openmemory" / "memories.md").read_text() == (
        "# Memories from OpenMemory\n\n## kim\n\n- 2025-02-03: Owns a dinghy.\n- 2025-02-03: Sails on Sundays.\n"
    )


def test_what_was_spoken_and_pasted_and_the_pages_of_projects_are_read(home: Path, adopt: Adopt) -> None:
    spoken = {"content_type": "audio_transcription", "text": "The mast is oiled."}
    parts = [{"content_type": "audio_asset_pointer"}, spoken]
    message = {"author": {"role": "user"}, "content": {"content_type": "multimodal_text", "parts": parts}}
    write(home / "gpt.json", json.dumps([{"title": "Mast", "mapping": {"a": {"message": message}}}]))
    pasted = {"sender": "human", "text": "", "attachments": [{"extracted_content": "Berth list: nine."}]}
    write(home / "claude" / "conversations.json", json.dumps([{"name": "Berths", "chat_messages": [pasted]}]))
    project = {"name": "Boat", "prompt_template": "Be brief.", "docs": [{"filename": "rig.md", "content": "A sloop."}]}
    write(home / "claude" / "projects.json", json.dumps([project]))
    (home / "clawd").mkdir()
    for name in ("gpt.json", "claude"):
        adopt(home / name, "--copy", "--yes", "--workspace", home / "clawd")
    imports = home / "clawd" / "memory" / "imports"
    assert {note.name: note.read_text() for note in imports.glob("*/*.md")} == {
        "Mast.md": "# Mast\n\nUser: The mast is oiled.\n",
        "Berths.md": "# Berths\n\nUser: Berth list: nine.\n",
        "Boat.md": "# Boat\n\nBe brief.\n",
        "Boat, rig.md": "# rig.md\n\nA sloop.\n",
    }


def test_days_of_an_export_are_those_of_the_configured_time_zone(home: Path, adopt: Adopt) -> None:
    write(home / "mem0.json", json.dumps([{"memory": "Owns a dinghy.", "created_at": "2025-02-03T12:00:00Z"}]))
    write(home / "far.json5", "{ agents: { defaults: { userTimezone: 'Pacific/Kiritimati' } } }")
    (home / "clawd").mkdir()
    adopt(home / "mem0.json", "--copy", "--yes", "--workspace", home / "clawd", "--config", home / "far.json5")
    assert "- 2025-02-04: Owns" in (home / "clawd" / "memory" / "imports" / "mem0" / "mem0.md").read_text()


@pytest.mark.parametrize(
    ("name", "text", "note"),
    [
        ("mem0.jsonl", '{"memory": "Owns a dinghy.", "user_id": "lea"}\n\n{"memory": "Sails.", "user_id": "lea"}\n',
         "# Memories from mem0\n\n## lea\n\n- Owns a dinghy.\n- Sails.\n"),
        ("one.ndjson", '{"memory": "Owns a dinghy."}\n', "# Memories from mem0\n\n- Owns a dinghy.\n"),
        ("facts.json", '["Owns a dinghy.", "", 4, "Sails."]', "# Memories from mem0\n\n- Owns a dinghy.\n- Sails.\n"),
        ("memory.json",
         '{"type": "entity", "name": "Lea", "observations": ["Sails.", 7]}\n'
         '{"type": "relation", "from": "Lea", "relationType": "owns", "to": "the dinghy"}\n',
         "# Memories from an MCP server\n\n## Lea\n\n- Sails.\n\n- Lea owns the dinghy\n"),
    ],
)  # fmt: skip
def test_memories_one_a_line_as_plain_texts_or_as_a_graph(home: Path, name: str, text: str, note: str) -> None:
    write(home / name, text)
    export = read_export(home / name)
    assert export is not None
    assert export.notes == {Path(name).stem: note}


@pytest.fixture
def far_east(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A machine whose clock is 14 hours before UTC."""
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "Pacific/Kiritimati")
        time.tzset()
        yield
    time.tzset()


@pytest.mark.usefixtures("far_east")
def test_a_memorys_day_is_that_of_the_persons_clock(home: Path) -> None:
    rows = [
        {"memory": "Dawn.", "created_at": 1738580400},
        {"memory": "Dusk.", "created_at": "2025-02-03T11:00:00Z"},
        {"memory": "Noon.", "created_at": "2025-02-03"},
    ]
    write(home / "memories.json", json.dumps({"results": rows}))
    export = read_export(home / "memories.json")
    assert export is not None
    assert export.notes["memories"].endswith("- 2025-02-04: Dawn.\n- 2025-02-04: Dusk.\n- 2025-02-03: Noon.\n")


@pytest.mark.parametrize(
    "data", [b"", b"{}", b"[1, {}]", b'[{"mapping": 5}]', b'[{"chat_messages": [1, {"sender": "human"}]}]', b"\xff" * 9]
)
@pytest.mark.parametrize("name", ["x.json", "x.zip"])
def test_what_is_no_export_is_refused(
    home: Path, state: Path, capsys: pytest.CaptureFixture[str], name: str, data: bytes
) -> None:
    (home / name).write_bytes(data)
    assert main(["adopt", "--state-dir", str(state), str(home / name)]) in {0, 2}
    assert "defect" not in capsys.readouterr().err
