"""The items of a project travel with its remote, those of the person with the person's alone, however a workspace is named."""

from __future__ import annotations

import os
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from memory_core.config.agent import LOCAL, AgentConfig
from memory_core.config.load import load_config
from memory_core.items.layered import open_items
from memory_core.items.records import Draft
from memory_core.plugin.sharing import open_sharing
from tests.machines import make_remote, run_git


@pytest.fixture
def shop(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The repository of a project, in which a session has learned a preference and a fact."""
    shop = Path(os.path.realpath(home)) / "code" / "shop"
    (shop / "memory").mkdir(parents=True)
    subprocess.run(["git", "init", "--quiet", str(shop)], check=True)
    (shop / "MEMORY.md").write_text("- The release goes out on Thursdays.\n")
    monkeypatch.chdir(shop)
    with closing(open_items(find(home))) as items:
        items.write_many(
            [Draft(content="I like green tea.", kind="preference"), Draft(content="The shop sells boats.")]
        )
    return shop


def find(home: Path, workspace: Path | None = None) -> AgentConfig:
    return load_config({}, workspace=workspace, state_dir=home / "state").agent("main")


def init(config: AgentConfig, *, personal: bool = False) -> Path:
    config.workspace.mkdir(parents=True, exist_ok=True)
    remote = make_remote(config.state_dir.parent / f"{config.workspace.name}.git")
    with open_sharing(config, personal=personal) as sharing:
        sharing.init(str(remote))
    return remote


def sync(config: AgentConfig) -> None:
    with open_sharing(config) as sharing:
        sharing.sync()


def read_past(remote: Path) -> str:
    """All that a remote has ever had."""
    return run_git(remote, "log", "-p", "--format=", "main") if run_git(remote, "for-each-ref") else ""


def test_a_project_s_remote_has_its_own_items_also_where_its_folder_is_named(home: Path, shop: Path) -> None:
    remote = init(find(home))
    assert "boats" in read_past(remote)
    with closing(open_items(find(home))) as items:
        items.write_many([Draft(content="The shop has two doors."), Draft(content="I like rice.", kind="preference")])
    sync(find(home, shop))
    sync(find(home))
    told = read_past(remote)
    assert ("boats" in told, "doors" in told, "tea" in told, "rice" in told) == (True, True, False, False)
    with closing(open_items(find(home))) as items:
        assert items.count() == 4


def test_the_folder_of_a_repository_or_of_local_that_is_named_takes_no_items(
    home: Path, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    local = find(home).find_named(LOCAL)
    assert local is not None
    monkeypatch.chdir(home)
    for folder in (shop, local.workspace):
        config = find(home, folder)
        config.workspace.mkdir(parents=True, exist_ok=True)
        (config.workspace / "memory").mkdir(exist_ok=True)
        (config.workspace / "memory" / "a.md").write_text("# A\n\n- A note.\n")
        remote = init(config)
        sync(config)
        assert "A note" in read_past(remote)
        assert "items" not in run_git(remote, "ls-tree", "-r", "--name-only", "main")


def test_the_items_of_the_person_travel_with_the_person_s_notes_and_where_somebody_says_so(
    home: Path, shop: Path
) -> None:
    own = home / ".memory-core" / "person"
    kept = home / "kept"
    (kept / "memory").mkdir(parents=True)
    subprocess.run(["git", "init", "--quiet", str(kept)], check=True)
    for remote in (init(find(home, own)), init(find(home, kept), personal=True)):
        told = read_past(remote)
        assert ("tea" in told, "boats" in told) == (True, False)
    with closing(open_items(find(home))) as items:
        items.write_many([Draft(content="I like rice.", kind="preference")])
    sync(find(home, kept))
    assert "rice" in read_past(remote)


def test_notes_that_the_configuration_names_are_the_person_s_own(home: Path, shop: Path) -> None:
    notes = home / "notes"
    (notes / "memory").mkdir(parents=True)
    subprocess.run(["git", "init", "--quiet", str(notes)], check=True)
    document = {"agents": {"defaults": {"workspace": str(notes)}}}
    assert "tea" in read_past(init(load_config(document, state_dir=home / "state").agent("main")))
