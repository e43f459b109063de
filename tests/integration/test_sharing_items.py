"""Items of two machines that are synced while sessions learn."""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from memory_core import open_memory
from memory_core.errors import SharingFailed
from memory_core.items.items import Items
from memory_core.items.records import Draft, Item, write_items
from memory_core.plugin.sharing import UNREAD, open_sharing
from memory_core.sharing import list_due
from memory_core.sharing.losses import Losses
from memory_core.sharing.sharing import SharedText, Sharing, list_remains
from tests.machines import Machine, make_machines, run_git, sync_with_items


@pytest.fixture
def machines(tmp_path: Path) -> tuple[Machine, Machine]:
    laptop, desktop = make_machines(tmp_path, ["laptop", "desktop"])
    return laptop, desktop


def learn(machine: Machine, *facts: str) -> None:
    with closing(Items(machine.config)) as items:
        items.write_many([Draft(content=fact) for fact in facts])


def list_items(machine: Machine) -> list[Item]:
    with closing(Items(machine.config, access="ro")) as items:
        return [*items.export()]


def list_facts(machine: Machine) -> set[str]:
    return {item.content for item in list_items(machine)}


def forget(machine: Machine, *facts: str) -> None:
    with closing(Items(machine.config)) as items:
        for item in [each for each in items.export() if each.content in facts]:
            items.delete(item.id)


def lose_items(machine: Machine) -> None:
    with closing(Items(machine.config)) as items:
        path = items.path
    for file in path.parent.glob(f"{path.name}*"):
        file.unlink()


def keep_on(work: Callable[[int], None], until: threading.Event) -> threading.Thread:
    """Start a thread that works, with rising numbers, until it is told to end."""

    def run() -> None:
        number = 0
        while not until.wait(0.01):
            work(number)
            number += 1

    thread = threading.Thread(target=run)
    thread.start()
    return thread


def test_what_is_learned_during_a_sync_stays_and_travels(machines: tuple[Machine, Machine]) -> None:
    laptop, desktop = machines
    done, learned = threading.Event(), list[str]()
    with closing(Items(desktop.config)) as items:

        def write(number: int) -> None:
            fact = f"The parcel {number * 7919} is in the yard."
            items.write(fact)
            learned.append(fact)

        thread = keep_on(write, done)
        try:
            for number in range(4):
                learn(laptop, f"The laptop has told number {number * 104729}.")
                sync_with_items(laptop.config)
                sync_with_items(desktop.config)
        finally:
            done.set()
            thread.join()
        assert set(learned) <= list_facts(desktop)
        assert not any(items.was_forgotten(Draft(content=fact, said_at=0.0)) for fact in learned)
    sync_with_items(desktop.config)
    sync_with_items(laptop.config)
    assert list_facts(laptop) == list_facts(desktop) >= set(learned)


ITEMS = "items/main.jsonl"


def change_items(machine: Machine, change: Callable[[str], str | None]) -> None:
    """Change what the remote has, as a machine with another version may; None takes the file away."""
    new = change(run_git(machine.remote, "show", f"main:{ITEMS}"))
    text = (new or "").encode()
    head = "commit refs/heads/main\ncommitter a <a@b> 1 +0000\ndata 1\nx\nfrom refs/heads/main^0\n"
    command = ["git", f"--git-dir={machine.remote}", "fast-import", "--quiet"]
    given = f"{head}M 100644 inline {ITEMS}\ndata {len(text)}\n".encode() + text + b"\n"
    subprocess.run(
        command, input=f"{head}D {ITEMS}\n".encode() if new is None else given, check=True, capture_output=True
    )


def test_a_newer_version_on_another_machine_stops_nothing(machines: tuple[Machine, Machine]) -> None:
    laptop, desktop = machines
    learn(laptop, "I like tea.", "I like salt.")
    sync_with_items(laptop.config)
    sync_with_items(desktop.config)

    def write_anew(text: str) -> str:
        first, second = text.splitlines()
        mood = json.dumps({"mood": "sure", **json.loads(first)}, ensure_ascii=False)
        strange = json.loads(second) | {"origin": "of another kind"}
        return f"{mood}\n{json.dumps(strange)}\n{{torn\n"

    change_items(laptop, write_anew)
    written = run_git(laptop.remote, "show", f"main:{ITEMS}")
    laptop.write("MEMORY.md", "# Memory\n\n- The cat is called Mia.\n")
    for _ in range(2):
        done = sync_with_items(laptop.config)
        assert list(done.left_out) == [f"{ITEMS}:2", f"{ITEMS}:3"]
        assert "no item that this version can read; it is kept and synced" in done.left_out[f"{ITEMS}:2"]
    assert sorted(run_git(laptop.remote, "show", f"main:{ITEMS}").splitlines()) == sorted(written.splitlines())
    assert list_facts(laptop) == {"I like tea.", "I like salt."}
    learn(desktop, "I like pepper.")
    sync_with_items(desktop.config)
    sync_with_items(laptop.config)
    assert desktop.read("MEMORY.md").endswith("Mia.\n")
    assert list_facts(laptop) == list_facts(desktop) == {"I like tea.", "I like salt.", "I like pepper."}
    told = run_git(laptop.remote, "show", f"main:{ITEMS}")
    assert {*written.splitlines()} < {*told.splitlines()}
    before = run_git(laptop.remote, "rev-list", "--count", "main")
    assert (
        sync_with_items(desktop.config).sent,
        sync_with_items(laptop.config).sent,
        sync_with_items(desktop.config).taken,
    ) == ((), (), ())
    assert run_git(laptop.remote, "rev-list", "--count", "main") == before


def test_what_a_machine_could_not_read_before_it_was_updated_is_taken_then(machines: tuple[Machine, Machine]) -> None:
    """An update is a state that another version has left: items that were synced, and are not held."""
    laptop, desktop = machines
    learn(desktop, "I like tea.", "I like salt.")
    sync_with_items(desktop.config)
    sync_with_items(laptop.config)
    with closing(Items(laptop.config)) as items:
        for item in [*items.export()]:
            items.delete(item.id)
    (laptop.config.sharing_dir / UNREAD).write_text(f"{item.id}\n")
    sync_with_items(laptop.config)
    sync_with_items(desktop.config)
    assert list_facts(laptop) == list_facts(desktop) == {item.content}
    with closing(Items(laptop.config)) as items:
        items.delete(item.id)
    sync_with_items(laptop.config)
    sync_with_items(desktop.config)
    assert list_facts(desktop) == set()


FACTS = ("I like tea.", "I like salt.", "I like pepper.", "I like rice.")


@pytest.mark.parametrize("way", ["restore", "init", "delete"])
@pytest.mark.parametrize("facts", [FACTS[:2], FACTS], ids=["two", "four"])
def test_a_lost_items_file_deletes_no_items_elsewhere_unless_the_person_says_so(
    machines: tuple[Machine, Machine], way: str, facts: tuple[str, ...]
) -> None:
    laptop, desktop = machines
    learn(laptop, *facts)
    sync_with_items(laptop.config)
    sync_with_items(desktop.config)
    lose_items(laptop)
    learn(laptop, "I like mint.")
    with pytest.raises(SharingFailed, match=f"has lost {len(facts)} of its {len(facts)} items") as error:
        sync_with_items(laptop.config)
    assert "sync --restore" in error.value.action
    sync_with_items(desktop.config)
    assert list_facts(desktop) == {*facts}
    if way == "init":
        with open_sharing(laptop.config) as sharing:
            sharing.init(str(laptop.remote))
    else:
        sync_with_items(laptop.config, "restore" if way == "restore" else "delete")
    sync_with_items(desktop.config)
    kept = set() if way == "delete" else {*facts}
    assert list_facts(laptop) == list_facts(desktop) == {"I like mint.", *kept}


def test_most_items_are_deleted_only_if_the_person_says_so_and_few_without_a_question(
    machines: tuple[Machine, Machine],
) -> None:
    laptop, desktop = machines
    learn(laptop, *FACTS)
    sync_with_items(laptop.config)
    sync_with_items(desktop.config)
    held = list_items(laptop)
    for kept in (1, 2):
        lose_items(laptop)  # as with an older copy of the file
        with closing(Items(laptop.config)) as items:
            items.restore(held[:kept])
        if kept == 1:
            with pytest.raises(SharingFailed, match="has lost 3 of its 4 items"):
                sync_with_items(laptop.config)
            sync_with_items(laptop.config, "restore")
            assert list_facts(laptop) == {*FACTS}
    sync_with_items(laptop.config)
    sync_with_items(desktop.config)
    assert list_facts(laptop) == list_facts(desktop) == {each.content for each in held[:2]}


@pytest.mark.parametrize("way", ["refuse", "restore", "join"])
@pytest.mark.parametrize("parts", [[3], [4], [2, 2]], ids=["most", "all", "all, in two syncs"])
def test_what_is_forgotten_is_not_lost(machines: tuple[Machine, Machine], way: Losses, parts: list[int]) -> None:
    laptop, desktop = machines
    learn(laptop, *FACTS)
    sync_with_items(laptop.config)
    sync_with_items(desktop.config)
    left = [*FACTS]
    for count in parts:
        forget(laptop, *left[:count])
        sync_with_items(laptop.config, way)
        del left[:count]
    assert list_facts(laptop) == {*left}
    sync_with_items(desktop.config)
    assert list_facts(desktop) == {*left}


@pytest.mark.parametrize("way", ["restore", "init", "delete"])
@pytest.mark.parametrize("facts", [FACTS[:2], FACTS], ids=["two", "four"])
@pytest.mark.parametrize("left", ["no file", "an empty file", "a new item"])
def test_a_remote_that_has_lost_the_items_deletes_none_here_unless_the_person_says_so(
    machines: tuple[Machine, Machine], left: str, facts: tuple[str, ...], way: str
) -> None:
    laptop, desktop = machines
    learn(desktop, "I like mint.")
    new = "".join(write_items(list_items(desktop)))
    forget(desktop, "I like mint.")
    learn(laptop, *facts)
    sync_with_items(laptop.config)
    sync_with_items(desktop.config)
    change_items(laptop, {"no file": lambda _: None, "an empty file": lambda _: "", "a new item": lambda _: new}[left])
    for machine in machines:
        with pytest.raises(SharingFailed, match=f"the remote has lost {len(facts)} of its {len(facts)} items") as error:
            sync_with_items(machine.config)
        assert "sync --restore" in error.value.action
        assert list_facts(machine) == {*facts}
    if way == "init":
        with open_sharing(laptop.config) as sharing:
            sharing.init(str(laptop.remote))
    else:
        sync_with_items(laptop.config, "restore" if way == "restore" else "delete")
    if way == "delete":  # nothing was sent that would tell the desktop
        sync_with_items(desktop.config, "delete")
    sync_with_items(desktop.config)
    kept = set() if way == "delete" else {*facts}
    assert list_facts(laptop) == list_facts(desktop) == kept | ({"I like mint."} if left == "a new item" else set())


@pytest.mark.parametrize("step", range(8, 17))
def test_items_that_are_lost_after_a_killed_sync_are_deleted_nowhere(
    machines: tuple[Machine, Machine], step: int
) -> None:
    laptop, desktop = machines
    learn(laptop, *FACTS[:2])
    sync_with_items(laptop.config)
    sync_with_items(desktop.config)
    learn(desktop, "I like mint.")
    desktop.write("MEMORY.md", "# Memory\n\n- The cat is called Mia.\n")
    sync_with_items(desktop.config)
    assert not laptop.sync_until(step, items=True)
    lose_items(laptop)
    with pytest.raises(SharingFailed, match=r"has lost . of its . items"):
        sync_with_items(laptop.config)
    sync_with_items(desktop.config)
    assert list_facts(desktop) == {*FACTS[:2], "I like mint."}
    sync_with_items(laptop.config, "restore")
    sync_with_items(laptop.config)
    assert list_facts(laptop) == {*FACTS[:2], "I like mint."}


def test_whatever_stops_a_sync_is_kept_for_status(machines: tuple[Machine, Machine]) -> None:
    laptop, _ = machines

    def fail(_: str) -> str:
        raise OSError("the disk is gone")

    text = SharedText(
        path=ITEMS, read=fail, merge=lambda *_: "", write=lambda *_: None, refuse=lambda _: {}, list_ids=lambda _: (),
        list_forgotten=lambda _: (),
    )  # fmt: skip
    with pytest.raises(OSError, match="the disk is gone"):
        Sharing(laptop.config, [text]).sync()
    state = laptop.sharing.load()
    assert state is not None
    assert state.problem == "the disk is gone"
    with open_memory(workspace=laptop.workspace, state_dir=laptop.folder / "state") as memory:
        assert "the notes are not synced: the disk is gone" in memory.status().warnings


def test_a_state_of_a_newer_version_is_read_and_a_torn_one_is_one_problem(machines: tuple[Machine, Machine]) -> None:
    laptop, _ = machines
    path = laptop.config.sharing_dir / "state.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"colour": "blue"}))
    sync_with_items(laptop.config)
    path.write_text(path.read_text()[:40])
    for call in (laptop.sharing.load, laptop.sync, laptop.sharing.switch_off):
        with pytest.raises(SharingFailed, match=r"state\.json, which names the remote, cannot be read"):
            call()
    assert "may remain where these notes were synced" in list_remains(laptop.config)[0]
    assert list_remains(laptop.config, []) == []
    assert not list_due(laptop.config)
    laptop.init()
    assert list_due(laptop.config)
