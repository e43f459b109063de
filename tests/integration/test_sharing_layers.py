"""The items of a project travel with its remote, those of the person with the person's alone, however a workspace is named."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from memory_core import open_memory
from memory_core.config.agent import LOCAL, AgentConfig
from memory_core.config.load import load_config
from memory_core.items.layered import open_items
from memory_core.items.records import Draft
from memory_core.plugin.sharing import judge_owner
from memory_core.sharing.sharing import ItemsOf, list_remains
from tests.machines import git, init_with_items, make_remote, run_git, sync_with_items


@pytest.fixture
def shop(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The repository of a project, in which a session has learned a preference and a fact."""
    shop = Path(os.path.realpath(home)) / "code" / "shop"
    (shop / "memory").mkdir(parents=True)
    git(shop, "init", "-q")
    (shop / "MEMORY.md").write_text("- The release goes out on Thursdays.\n")
    monkeypatch.chdir(shop)
    with closing(open_items(find(home))) as items:
        items.write_many(
            [Draft(content="I like green tea.", kind="preference"), Draft(content="The shop sells boats.")]
        )
    return shop


def find(home: Path, workspace: Path | None = None, document: Mapping[str, Any] | None = None) -> AgentConfig:
    return load_config(document or {}, workspace=workspace, state_dir=home / "state").agent("main")


def init(config: AgentConfig, whose: ItemsOf = "") -> Path:
    config.workspace.mkdir(parents=True, exist_ok=True)
    remote = make_remote(config.state_dir.parent / f"{config.workspace.name}.git")
    init_with_items(config, remote, whose)
    return remote


def read_past(remote: Path) -> str:
    """All that a remote has ever had."""
    return run_git(remote, "log", "-p", "--format=", "main") if run_git(remote, "for-each-ref") else ""


def test_a_project_s_remote_has_its_own_items_also_where_its_folder_is_named(home: Path, shop: Path) -> None:
    remote = init(find(home))
    assert "boats" in read_past(remote)
    with closing(open_items(find(home))) as items:
        items.write_many([Draft(content="The shop has two doors."), Draft(content="I like rice.", kind="preference")])
    sync_with_items(find(home, shop))
    sync_with_items(find(home))
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
        sync_with_items(config)
        assert "A note" in read_past(remote)
        assert "items" not in run_git(remote, "ls-tree", "-r", "--name-only", "main")


def test_the_items_of_the_person_travel_with_the_person_s_notes_and_where_somebody_says_so(
    home: Path, shop: Path
) -> None:
    own = home / ".memory-core" / "person"
    kept = home / "kept"
    (kept / "memory").mkdir(parents=True)
    git(kept, "init", "-q")
    for remote in (init(find(home, own)), init(find(home, kept), "person")):
        told = read_past(remote)
        assert ("tea" in told, "boats" in told) == (True, False)
    with closing(open_items(find(home))) as items:
        items.write_many([Draft(content="I like rice.", kind="preference")])
    sync_with_items(find(home, kept))
    assert "rice" in read_past(remote)


def test_what_is_forgotten_in_a_project_remains_also_where_the_items_of_the_person_are_synced(
    home: Path, shop: Path
) -> None:
    own = home / ".memory-core" / "person"
    remotes = [init(find(home)), init(find(home, own))]
    told = list_remains(find(home), ["an item"], of_person=True)
    assert [each.partition(", ")[0] for each in told] == [f"the past of {remote}" for remote in remotes]
    assert told[0].endswith(": memory-core sync purge")
    assert told[1].endswith(f": memory-core --workspace {own} sync purge")
    assert list_remains(find(home)) == told[:1], "of the project's notes the person's remote has none"
    (find(home, own).sharing_dir / "state.json").write_text("torn")
    assert list_remains(find(home), ["an item"]) == told[:1]
    torn = list_remains(find(home), ["an item"], of_person=True)[1]
    assert torn.startswith(f"it may remain where other notes were synced: {find(home, own).sharing_dir}")


def test_what_is_forgotten_of_a_project_alone_remains_in_the_project_s_remote_alone(home: Path, shop: Path) -> None:
    init(find(home))
    own = home / ".memory-core" / "person"
    init(find(home, own))
    document = {"memorySearch": {"items": {"enabled": True}}}
    with open_memory(document, state_dir=home / "state") as memory:
        for query, count in (("boats", 1), ("tea", 2)):
            (item,) = memory.items.forget(query=query, dry_run=True).items
            told = memory.call_tool("memory_forget", {"ids": [item.id]})
            assert sum("sync purge" in each for each in told["remains"]) == count


def test_notes_that_the_configuration_names_are_the_person_s_own(home: Path, shop: Path) -> None:
    notes = home / "notes"
    (notes / "memory").mkdir(parents=True)
    git(notes, "init", "-q")
    assert "tea" in read_past(init(find(home, document={"agents": {"defaults": {"workspace": str(notes)}}})))


def test_no_items_stays_no_items_however_the_folder_is_named_later(home: Path, shop: Path) -> None:
    remote = init(find(home, shop))
    sync_with_items(find(home))
    sync_with_items(find(home, document={"agents": {"defaults": {"workspace": str(shop)}}}))
    told = read_past(remote)
    assert ("Thursdays" in told, "boats" in told, "tea" in told) == (True, False, False)


def test_no_items_travel_where_the_home_folder_is_not_known(
    home: Path, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = find(home, shop)
    monkeypatch.setenv("HOME", "")
    assert judge_owner(config) == "nobody"
