"""The log of a workspace's git repository as the beginning of its history."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

import memory_core
from memory_core.errors import HistoryUnavailable
from memory_core.history.history import History
from memory_core.history.importing import Imported, import_git
from memory_core.history.notes import restore
from memory_core.plugin.memory import Memory
from memory_core.plugin.moving import import_memory
from tests.history import Writer, write_notes

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")

KEYWORDS = {"agents": {"defaults": {"memorySearch": {"provider": "none"}}}}
START = int(datetime(2026, 1, 1, 12, tzinfo=UTC).timestamp())
DAY = 86_400


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    """A memory whose workspace is a folder of a repository."""
    workspace = tmp_path / "repository" / "work space"
    workspace.mkdir(parents=True)
    _git(workspace.parent, "init", "-q", "-b", "main")
    with memory_core.open_memory(KEYWORDS, workspace=workspace, state_dir=tmp_path / "state") as opened:
        yield opened


def _git(folder: Path, *arguments: str, at: int = START) -> str:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")} | {
        "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "GIT_COMMITTER_DATE": f"{at} +0000",
        "GIT_AUTHOR_DATE": "2001-01-01T00:00:00", "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.org",
        "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@example.org",
    }  # fmt: skip
    done = subprocess.run(
        ["git", "-C", str(folder), *arguments], env=environment, check=True, capture_output=True, text=True
    )
    return done.stdout


def _commit(memory: Memory, notes: dict[str, str], day: float) -> None:
    workspace = memory.config().workspace
    write_notes(workspace, notes)
    _git(workspace, "add", "-A")
    _git(workspace, "commit", "-q", "--allow-empty", "-m", f"day {day}", at=START + int(day * DAY))


def _import(memory: Memory) -> Imported:
    memory.sync()
    return import_git(memory.config())


def _list_states(memory: Memory) -> list[tuple[str, str, dict[str, str]]]:
    """Return (origin, day, text by path) of all moments."""
    with closing(History(memory.config(), writable=False)) as history:
        return [
            (
                moment.origin,
                f"{moment.at:%m-%d}",
                {key.path: history.load_text(version).text for key, version in history.list_alive(moment).items()},
            )
            for moment in history.list_moments()
        ]


def test_history_reaches_back_to_the_first_commit(memory: Memory) -> None:
    _commit(memory, {"memory/house.md": "- rent 700\n", "other.md": "- no note\n"}, 0)
    _commit(memory, {"memory/house.md": "- rent 800\n"}, 1)
    _commit(memory, {"memory/home é.md": "- rent 800\n", "MEMORY.md": "- one\n"}, 2)
    _commit(memory, {"MEMORY.md": "- one\n"}, 3)
    assert _import(memory) == Imported(commits=4, versions=4, skipped=0)
    states = _list_states(memory)
    assert states[:4] == [
        ("git", "01-01", {"memory/house.md": "- rent 700\n"}),
        ("git", "01-02", {"memory/house.md": "- rent 800\n"}),
        ("git", "01-03", {"memory/home é.md": "- rent 800\n", "MEMORY.md": "- one\n"}),
        ("git", "01-04", {"MEMORY.md": "- one\n"}),
    ]
    assert states[4][2] == {"MEMORY.md": "- one\n"}
    found = memory.call_tool("memory_search", {"query": "rent", "asOf": "2026-01-01T13:00:00Z"})
    assert [hit["snippet"] for hit in found["results"]] == ["- rent 700"]
    assert found["asOf"]["moment"].startswith("2026-01-01")


def test_an_import_may_be_repeated(memory: Memory) -> None:
    writer = Writer(memory.config().workspace, 3)
    stood = []
    for day in range(20):
        writer.change(3)
        _commit(memory, dict(writer.notes), day)
        stood.append(dict(writer.notes))
    _import(memory)
    states = _list_states(memory)
    assert [each[2] for each in states if each[0] == "git"] == stood
    _commit(memory, {"MEMORY.md": "- later\n"}, 4000)
    for _ in range(2):
        _import(memory)
        assert [each for each in _list_states(memory) if each[0] == "git"] == states[:20]


def test_what_was_imported_in_front_of_the_commits_stays_when_they_are_imported_again(
    memory: Memory, tmp_path: Path
) -> None:
    _commit(memory, {"MEMORY.md": "- one\n"}, 0)
    assert _import(memory).commits == 1
    export = tmp_path / "export"
    (export / "versions").mkdir(parents=True)
    (export / "versions" / "old").write_text("- older\n")
    note = {"source": "memory", "path": "MEMORY.md", "inVault": False, "version": "old"}
    (export / "history.jsonl").write_text(json.dumps({"at": (START - DAY) * 1000, "notes": [note]}))
    (export / "memory-core.json").write_text(json.dumps({"format": 1, "notes": []}))
    (export / "items.jsonl").touch()
    assert import_memory(memory.config(), export).moments == 1
    states = _list_states(memory)
    assert [(origin, day) for origin, day, _ in states[:2]] == [("import", "12-31"), ("git", "01-01")]
    assert _import(memory).commits == 0
    assert _list_states(memory) == states


def test_a_branch_that_was_merged_is_one_moment(memory: Memory) -> None:
    workspace = memory.config().workspace
    _commit(memory, {"MEMORY.md": "- one\n"}, 0)
    _git(workspace, "checkout", "-q", "-b", "side")
    _commit(memory, {"MEMORY.md": "- one\n", "memory/side.md": "- draft\n"}, 1)
    _commit(memory, {"MEMORY.md": "- one\n", "memory/side.md": "- done\n"}, 2)
    _git(workspace, "checkout", "-q", "main")
    _git(workspace, "merge", "-q", "--no-ff", "-m", "merge", "side", at=START + 5 * DAY)
    _import(memory)
    assert _list_states(memory)[:2] == [
        ("git", "01-01", {"MEMORY.md": "- one\n"}),
        ("git", "01-06", {"MEMORY.md": "- one\n", "memory/side.md": "- done\n"}),
    ]


def test_a_clock_that_was_wrong_is_repaired(memory: Memory) -> None:
    days = [0, 1, 2, 900, 901, 4, 5]
    for number, day in enumerate(days):
        _commit(memory, {"MEMORY.md": f"- {number}\n"}, day)
    _import(memory)
    git = [each for each in _list_states(memory) if each[0] == "git"]
    assert [each[2]["MEMORY.md"] for each in git] == [f"- {number}\n" for number in range(7)]
    assert [each[1] for each in git] == sorted(each[1] for each in git)


def test_links_and_deleted_contents_are_no_notes(memory: Memory) -> None:
    workspace = memory.config().workspace
    _commit(memory, {"MEMORY.md": "- one\n", "memory/lost.md": "- lost\n"}, 0)
    (workspace / "memory" / "lost.md").unlink()
    (workspace / "memory" / "lost.md").symlink_to("/etc/hostname")
    _git(workspace, "add", "-A")
    _git(workspace, "commit", "-q", "-m", "link", at=START + DAY)
    blob = _git(workspace, "rev-parse", "HEAD~:./memory/lost.md").strip()
    (workspace.parent / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    done = _import(memory)
    assert done.skipped == 1
    assert done.left_out == (
        "not in the repository, as in a partial clone: memory/lost.md", "symbolic links: memory/lost.md",
    )  # fmt: skip
    assert [each[2] for each in _list_states(memory)[:2]] == [{"MEMORY.md": "- one\n"}] * 2


def test_the_repository_and_the_environment_run_nothing(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace, trap = memory.config().workspace, tmp_path / "trap"
    _commit(memory, {"MEMORY.md": "- one\n"}, 0)
    _commit(memory, {"MEMORY.md": "- two\n"}, 1)
    script = tmp_path / "trap.sh"
    script.write_text(f"#!/bin/sh\ntouch '{trap}'\ncat\n")
    script.chmod(0o755)
    settings = {
        "core.fsmonitor": script, "core.pager": script, "pager.log": script, "diff.external": script, "gpg.program": script,
        "log.showSignature": "true", "core.sshCommand": script, "diff.own.textconv": script, "filter.own.smudge": script,
        "diff.relative": "true", "diff.renames": "copies", "log.follow": "true", "core.quotePath": "true",
        "color.ui": "always", "format.pretty": "full", "log.date": "relative",
    }  # fmt: skip
    for name, value in settings.items():
        _git(workspace, "config", name, str(value))
    (workspace.parent / ".git" / "info").mkdir(exist_ok=True)
    (workspace.parent / ".git" / "info" / "attributes").write_text("*.md diff=own filter=own\n")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", str(script))
    monkeypatch.setenv("GIT_PAGER", str(script))
    assert _import(memory).versions == 2
    assert not trap.exists()


def test_a_workspace_without_commits_says_so(memory: Memory, tmp_path: Path) -> None:
    write_notes(memory.config().workspace, {"MEMORY.md": "- one\n"})
    assert _import(memory).commits == 0
    (tmp_path / "plain").mkdir()
    with memory_core.open_memory(KEYWORDS, workspace=tmp_path / "plain", state_dir=tmp_path / "other") as plain:
        write_notes(tmp_path / "plain", {"MEMORY.md": "- one\n"})
        with pytest.raises(HistoryUnavailable, match="lies in no git repository"):
            _import(plain)


SECRET = "quokkazebra77 marmalade"


def _purge(memory: Memory, text: str = SECRET) -> None:
    memory.sync()
    with closing(History(memory.config())) as history:
        history.purge_text(text)
    memory.sync()


def _find_text(memory: Memory, text: str = SECRET) -> list[str]:
    with closing(History(memory.config(), writable=False)) as history:
        return [version.key.path for version in history.find_text(text)]


def test_what_was_purged_is_not_imported_again(memory: Memory) -> None:
    """The commits hold it in more places than the versions from which it was purged."""
    house = f"# House\n\n- the safe opens with {SECRET}\n- more\n"
    _commit(memory, {"memory/safe.md": f"- {SECRET.upper()} it is\r\n", "MEMORY.md": "- one\n"}, 0)
    _commit(memory, {"memory/house.md": house, "MEMORY.md": "- one\n"}, 1)
    _commit(memory, {"memory/house.md": f"{house}- {SECRET}, {SECRET}!\n"}, 2)
    _commit(memory, {"MEMORY.md": "- clean\n", f"memory/{SECRET}.md": "- x\n"}, 3)
    _commit(memory, {"MEMORY.md": "- clean\n"}, 4)
    write_notes(memory.config().workspace, {"memory/house.md": house})
    memory.sync()
    write_notes(memory.config().workspace, {"MEMORY.md": "- clean\n"})
    _purge(memory)
    for _ in range(2):
        done = _import(memory)
        assert (done.commits, done.purged) == (5, 4)
        assert _find_text(memory) == []
        assert [each[2] for each in _list_states(memory)[:4]] == [
            {"memory/safe.md": "- [purged] it is\n", "MEMORY.md": "- one\n"},
            {"memory/house.md": house.replace(SECRET, "[purged]"), "MEMORY.md": "- one\n"},
            {"memory/house.md": f"{house}- {SECRET}, {SECRET}!\n".replace(SECRET, "[purged]")},
            {"MEMORY.md": "- clean\n"},
        ]


def test_a_purge_of_what_was_imported_holds_when_it_is_imported_again(memory: Memory) -> None:
    """Texts of two purges stand in one note, which no sync has seen."""
    text = "# Keys\n\n- front door: {0}; back door: {1}\n- safe: {0}\n"
    _commit(memory, {"memory/keys.md": text.format("ab 1234", "ﬁre 99")}, 0)
    _commit(memory, {"MEMORY.md": "- clean\n"}, 1)
    assert _import(memory).purged == 0
    _purge(memory, "AB 1234")
    _purge(memory, "fire 99")
    assert _import(memory).purged == 1
    assert _list_states(memory)[0][2] == {"memory/keys.md": text.format("[purged]", "[purged]")}


def test_a_note_that_was_never_committed_as_it_was_recorded_tells_by_its_lines(memory: Memory) -> None:
    line = f"- the safe opens with {SECRET}, twice\n"
    _commit(memory, {"memory/house.md": f"# House\n\n{line}"}, 0)
    _commit(memory, {"MEMORY.md": "- clean\n"}, 1)
    write_notes(
        memory.config().workspace, {"memory/house.md": f"# Home\n\n{line.replace(SECRET, SECRET.upper())}- more\n"}
    )
    memory.sync()
    write_notes(memory.config().workspace, {"MEMORY.md": "- clean\n"})
    _purge(memory)
    assert _import(memory).purged == 1
    assert _find_text(memory) == []


def test_other_commits_are_imported_as_they_are_after_a_purge(memory: Memory) -> None:
    _commit(memory, {"memory/rent.md": "- rent: 900\n", "memory/mark.md": "- it says [purged] here\n"}, 0)
    _commit(memory, {"MEMORY.md": "- one\n"}, 1)
    write_notes(memory.config().workspace, {"memory/other.md": "- rent: 700\n"})
    memory.sync()
    write_notes(memory.config().workspace, {"MEMORY.md": "- one\n"})
    _purge(memory, "700")
    assert _import(memory).purged == 0
    assert _list_states(memory)[0][2]["memory/rent.md"] == "- rent: 900\n"


def test_notes_that_were_purged_for_their_paths_are_told(memory: Memory) -> None:
    _commit(memory, {f"memory/{SECRET}.md": "- x\n"}, 0)
    _commit(memory, {"MEMORY.md": "- one\n"}, 1)
    _import(memory)
    _purge(memory)
    assert any("purge those paths again" in each for each in _import(memory).left_out)


def test_what_is_left_out_is_told(memory: Memory, tmp_path: Path) -> None:
    workspace = memory.config().workspace
    _commit(memory, {"MEMORY.md": "- one\n", "memory/a\tb.md": "- tab\n"}, 0)
    _git(tmp_path, "init", "-q", "-b", "main", "module")
    _git(tmp_path / "module", "commit", "-q", "--allow-empty", "-m", "x")
    for place in ("memory/module", "elsewhere/module"):
        _git(workspace, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(tmp_path / "module"), place)
    _git(workspace, "commit", "-q", "-m", "submodules", at=START + DAY)
    (workspace / "memory" / "a\tb.md").unlink()
    done = _import(memory)
    assert done.left_out == (
        "names that are refused: not UTF-8, or with characters that nobody sees: memory/a\N{REPLACEMENT CHARACTER}b.md",
        "submodules, which have commits of their own: memory/module",
    )
    _git(tmp_path, "clone", "-q", "--depth", "1", f"file://{workspace.parent}", "shallow")
    with memory_core.open_memory(
        KEYWORDS, workspace=tmp_path / "shallow" / "work space", state_dir=tmp_path / "other"
    ) as shallow:
        assert any("git fetch --unshallow" in each for each in _import(shallow).left_out)


def test_a_damaged_repository_is_named(memory: Memory) -> None:
    _commit(memory, {"MEMORY.md": "- one\n"}, 0)
    (memory.config().workspace.parent / ".git" / "HEAD").unlink()
    with pytest.raises(HistoryUnavailable, match="git cannot read the repository of") as caught:
        _import(memory)
    assert "git fsck" in str(caught.value.action)


def _commit_raw(memory: Memory, notes: dict[str, str], head: bytes) -> None:
    """Commit notes with a commit object as no git writes it; `head` stands below its parents."""
    workspace = memory.config().workspace
    write_notes(workspace, notes)
    _git(workspace, "add", "-A")
    tree, parent = _git(workspace, "write-tree").strip(), _git(workspace, "rev-parse", "HEAD").strip()
    done = subprocess.run(
        ["git", "-C", str(workspace), "hash-object", "-t", "commit", "-w", "--literally", "--stdin"],
        input=f"tree {tree}\nparent {parent}\n".encode() + head, check=True, capture_output=True,
    )  # fmt: skip
    _git(workspace, "reset", "-q", "--soft", done.stdout.decode().strip())


ODD_HEADS = {
    "no date": b"author n <a@b>\ncommitter n <a@b>\n\nx\n",
    "no committer": b"\nx\n",
    "words for a date": b"author n <a@b> abc +0000\ncommitter n <a@b> abc +0000\n\nx\n",
    "before 1970": b"author n <a@b> -5 +0000\ncommitter n <a@b> -5 +0000\n\nx\n",
    "far future": b"author n <a@b> 99999999999999999999 +0000\ncommitter n <a@b> 99999999999999999999 +0000\n\nx\n",
    "odd zone": b"author n <a@b> 1767355200 +99999\ncommitter n <a@b> 1767355200 +99999\n\nx\n",
    "odd encoding": b"author \xff <a@b> 1767355200 +0000\ncommitter \xe9 <a@b> 1767355200 +0000\nencoding none\n\n\xff\x01 1\n",
}


@pytest.mark.parametrize("head", ODD_HEADS.values(), ids=ODD_HEADS)
def test_an_odd_commit_is_imported_with_the_others(memory: Memory, head: bytes) -> None:
    _commit(memory, {"memory/a.md": "red"}, 0)
    _commit_raw(memory, {"memory/a.md": "blue"}, head)
    _commit(memory, {"memory/a.md": "green"}, 2)
    assert _import(memory).commits == 3
    with closing(History(memory.config())) as history:
        texts = [history.load_text(version).text for version in history.list_versions("memory/a.md")]
        years = {moment.at.year for moment in history.list_moments() if moment.origin == "git"}
    assert texts[:3] == ["red", "blue", "green"]
    assert years <= {2025, 2026}


def test_a_file_where_a_folder_was_and_a_submodule_where_notes_were(memory: Memory) -> None:
    workspace = memory.config().workspace
    _commit(memory, {"memory/a.md": "red", "memory/sub/x.md": "below"}, 0)
    (workspace / "memory/a.md").unlink()
    _commit(memory, {"memory/a.md/b.md": "inner"}, 1)
    shutil.rmtree(workspace / "memory/a.md")
    shutil.rmtree(workspace / "memory/sub")
    _commit(memory, {"memory/a.md": "again"}, 2)
    head = _git(workspace, "rev-parse", "HEAD").strip()
    _git(workspace, "update-index", "--add", "--cacheinfo", f"160000,{head},work space/memory/sub")
    _git(workspace, "commit", "-q", "-m", "sub", at=START + 3 * DAY)
    _git(workspace, "rm", "-q", "--cached", "memory/sub")
    _commit(memory, {"memory/sub/y.md": "own now"}, 4)
    done = _import(memory)
    assert done.left_out == ("submodules, which have commits of their own: memory/sub",)
    with closing(History(memory.config())) as history:
        for path, texts in {
            "memory/a.md": ["red", "again"],
            "memory/a.md/b.md": ["inner"],
            "memory/sub/x.md": ["below"],
        }.items():
            found = [history.load_text(version).text for version in history.list_versions(path)]
            assert found[: len(texts)] == texts, path


@pytest.mark.parametrize("damaged", ["tree", "commit", "blob"])
def test_what_git_cannot_read_is_named_and_the_rest_is_imported(memory: Memory, damaged: str) -> None:
    workspace = memory.config().workspace
    colours = ["red", "blue", "green", "white", "black"]
    for day, colour in enumerate(colours):
        _commit(memory, {"memory/a.md": colour}, day)
    second = _git(workspace, "rev-parse", "HEAD~3").strip()
    what = {"tree": f"{second}:work space/memory", "commit": second, "blob": f"{second}:work space/memory/a.md"}[
        damaged
    ]
    name = _git(workspace, "rev-parse", what).strip()
    (workspace.parent / ".git/objects" / name[:2] / name[2:]).unlink()
    done = _import(memory)
    with closing(History(memory.config())) as history:
        texts = [history.load_text(version).text for version in history.list_versions("memory/a.md")]
    assert any(
        "not in the repository" in each if damaged == "blob" else "git cannot read" in each for each in done.left_out
    )
    assert texts[: -1 - len(colours[3:])] == (
        ["red"] if damaged == "tree" else ["red", "green"] if damaged == "blob" else []
    )
    assert texts[-1 - len(colours[3:]) :][:2] == colours[3:]


def test_a_note_that_two_commits_of_one_second_made_and_removed_is_brought_back(memory: Memory) -> None:
    workspace = memory.config().workspace
    house = {"memory/house.md": "- rent 700\n"}
    _commit(memory, {**house, "memory/boat.md": "- moored in Thun\n"}, 1)
    _commit(memory, house, 1)
    _import(memory)
    with closing(History(memory.config(), writable=False)) as history:
        stood, gone, _ = history.list_moments()
        assert stood.at == gone.at
        file = restore(memory.config(), history, "memory/boat.md", gone.at)
    assert (file, file.read_text()) == (workspace / "memory/boat.md", "- moored in Thun\n")
