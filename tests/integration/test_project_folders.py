"""The notes of a project are found from its subfolders, worktrees and submodules, by commands, hooks and the server alike."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from memory_core.config.projects import find_project
from memory_core.config.resolution import find_usual_workspace
from tests.command import REPOSITORY
from tests.machines import git


def make_repository(folder: Path, *ignored: str) -> Path:
    git(folder, "init", "-q")
    (folder / ".gitignore").write_text("".join(f"{name}\n" for name in ignored))
    (folder / "src").mkdir()
    (folder / "src" / "a.txt").write_text("x")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "first")
    return folder


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return Path(os.path.realpath(tmp_path)) / "home"


@pytest.fixture
def project(home: Path) -> Path:
    """A repository with notes that it does not track."""
    made = make_repository(home / "shop", "memory/", "MEMORY.md")
    (made / "memory").mkdir()
    (made / "MEMORY.md").write_text("- The staging key rotates on Mondays.\n")
    return made


def test_a_subfolder_finds_the_project(project: Path, home: Path) -> None:
    (project / "src" / "deep" / "er").mkdir(parents=True)
    for folder in (project, project / "src", project / "src" / "deep" / "er"):
        assert find_project(folder, str(home)) == project


@pytest.mark.parametrize(
    ("files", "counts"),
    [
        ([], False),
        (["memory/"], True),
        (["memory/.gitkeep", "memory/.DS_Store"], True),
        (["memory/alloc.c"], False),
        (["memory/.gitkeep", "memory/alloc.c"], False),
        (["memory/arch/alloc.c"], False),
        (["memory/alloc.c", "memory/old/2026-01-05.md"], True),
        (["memory/alloc.c", "MEMORY.md"], True),
        (["memory"], False),
    ],
)
def test_a_folder_of_code_that_is_called_memory_makes_no_workspace(home: Path, files: list[str], counts: bool) -> None:
    (home / "here").mkdir(parents=True)
    for name in files:
        path = home / "here" / name
        (path if name.endswith("/") else path.parent).mkdir(parents=True, exist_ok=True)
        if not name.endswith("/"):
            path.write_text("x")
    (home / "here" / "src").mkdir()
    for folder in (home / "here", home / "here" / "src"):
        assert find_project(folder, str(home)) == (home / "here" if counts else None)


@pytest.mark.parametrize("place", ["../elsewhere/fox", ".claude/worktrees/fox", "fox"])
def test_a_worktree_finds_the_main_one(project: Path, home: Path, place: str) -> None:
    git(project, "worktree", "add", "-q", place, "-b", "fox")
    assert find_project((project / place).resolve() / "src", str(home)) == project


def test_a_worktree_finds_the_folder_around_a_bare_repository(project: Path, home: Path) -> None:
    around = home / "boats"
    git(home, "clone", "-q", "--bare", str(project), str(around / ".bare"))
    (around / ".git").write_text("gitdir: ./.bare\n")
    (around / "MEMORY.md").write_text("- The slip is booked for May.\n")
    git(around, "worktree", "add", "-q", "review/one", "-b", "one")
    assert find_project(around / "review" / "one" / "src", str(home)) == around


def test_worktrees_share_the_notes_of_the_main_one(home: Path) -> None:
    made = home / "shop"
    (made / "memory").mkdir(parents=True)
    (made / "memory" / "a.md").write_text("x")
    make_repository(made)
    git(made, "worktree", "add", "-q", "../fox", "-b", "fox")
    assert find_project(home / "fox", str(home)) == find_project(home / "fox" / "src", str(home)) == made
    (made / "memory" / "a.md").unlink()
    assert find_project(home / "fox" / "src", str(home)) == made, "an empty folder of notes is one, too"
    (made / "memory").rmdir()
    assert find_project(home / "fox" / "src", str(home)) == home / "fox"


def test_a_submodule_finds_the_repository_around_it(project: Path, home: Path) -> None:
    make_repository(home / "part")
    git(project, "submodule", "add", "-q", str(home / "part"), "parts/part")
    assert find_project(project / "parts" / "part" / "src", str(home)) == project


def test_the_way_up_ends_at_the_root_of_the_repository(project: Path, home: Path) -> None:
    inner = make_repository(project / "vendor" / "other")
    assert find_project(inner / "src", str(home)) is None


def test_the_way_up_ends_at_the_home_folder(home: Path) -> None:
    (home / "code" / "deep").mkdir(parents=True)
    for folder in (home, home.parent):
        (folder / "MEMORY.md").write_text("x")
    assert find_project(home / "code" / "deep", str(home)) is None
    assert find_project(home, str(home)) == home


@pytest.mark.parametrize("variable", ["HOME", "USERPROFILE"])
def test_notes_of_the_home_folder_are_no_project_s_where_only_windows_names_it(home: Path, variable: str) -> None:
    (home / "code" / "deep").mkdir(parents=True)
    (home / "MEMORY.md").write_text("x")
    (home / "state" / "memory-core").mkdir(parents=True)
    (home / "state" / "memory-core" / "default-workspace").write_text(str(home / "notes"))
    found, project = find_usual_workspace({variable: str(home)}, home / "state", home / "code" / "deep")
    assert (found, project) == (home / "notes", None)


def test_a_file_that_only_says_to_be_a_worktree_leads_nowhere(project: Path, home: Path) -> None:
    git(project, "worktree", "add", "-q", "../fox", "-b", "fox")
    planted = home / "planted" / "src"
    planted.mkdir(parents=True)
    (planted.parent / ".git").write_text(f"gitdir: {project}/.git/worktrees/fox\n")
    assert find_project(planted, str(home)) is None
    (planted.parent / ".git").write_bytes(b"gitdir: \xff\xfe")
    assert find_project(planted, str(home)) is None


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives files away")
def test_the_way_up_ends_at_a_folder_of_another_owner(home: Path) -> None:
    folder = home / "theirs" / "mine"
    folder.mkdir(parents=True)
    (home / "theirs" / "MEMORY.md").write_text("x")
    assert find_project(folder, str(home)) == home / "theirs"
    os.chown(home / "theirs", 12345, 12345)
    assert find_project(folder, str(home)) is None


def test_a_folder_of_code_that_is_called_memory_holds_no_notes(home: Path) -> None:
    (home / "code" / "memory").mkdir(parents=True)
    (home / "code" / "memory" / "allocator.c").write_text("x")
    (home / "code" / "src").mkdir()
    assert find_project(home / "code" / "src", str(home)) is None


def call(folder: Path, home: Path, *words: str, feed: object = "") -> str:
    """Run the program in a folder as a user of this home; return what it prints."""
    start = [sys.executable, "-m", "memory_core", "--state-dir", str(home / "state"), *words]
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "PYTHONPATH": str(REPOSITORY)}
    environment["MEMORY_CORE_PROVIDER"] = "none"
    done = subprocess.run(
        start, cwd=folder, env=environment, input=json.dumps(feed), text=True, capture_output=True, check=True
    )
    return done.stdout


def start_session(folder: Path) -> dict[str, str]:
    return {"hook_event_name": "SessionStart", "session_id": "s", "cwd": str(folder), "source": "startup"}


def test_hooks_and_commands_find_the_same(project: Path, home: Path) -> None:
    git(project, "worktree", "add", "-q", "../fox", "-b", "fox")
    for folder in (project / "src", home / "fox"):
        assert "rotates on Mondays" in call(folder, home, "search", "staging key")
        for host in ("claude-code", "codex"):
            assert "rotates on Mondays" in call(home, home, "hook", host, feed=start_session(folder))


def test_a_session_without_notes_is_told_so(home: Path) -> None:
    (home / "empty").mkdir(parents=True)
    answer = json.loads(call(home, home, "hook", feed=start_session(home / "empty")))
    told = answer["hookSpecificOutput"]["additionalContext"]
    assert told.startswith(f"memory-core has no notes for this session: the workspace {home}/clawd does not exist.")
    assert "--workspace" in told


def test_a_repository_without_notes_has_items(home: Path) -> None:
    shop, other = (make_repository(home / name) for name in ("shop", "other"))
    call(shop, home, "items", "add", "--kind", "preference", "I write commit messages in English.")
    call(shop, home, "items", "add", "The shop sells boats.")
    listed = call(other, home, "items", "list")
    assert "in English" in listed
    assert "boats" not in listed
    assert "boats" in call(shop, home, "items", "list")
