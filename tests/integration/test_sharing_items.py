"""Items of two machines that are synced while sessions learn."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from memory_core.items.items import Items
from memory_core.items.records import Draft
from memory_core.plugin.sharing import open_sharing
from memory_core.sharing.sharing import Shared
from tests.machines import Machine, make_machines


@pytest.fixture
def machines(tmp_path: Path) -> tuple[Machine, Machine]:
    laptop, desktop = make_machines(tmp_path, ["laptop", "desktop"])
    return laptop, desktop


def sync(machine: Machine) -> Shared:
    with open_sharing(machine.config) as sharing:
        return sharing.sync()


def learn(machine: Machine, *facts: str) -> None:
    with closing(Items(machine.config)) as items:
        items.write_many([Draft(content=fact) for fact in facts])


def list_facts(machine: Machine) -> set[str]:
    with closing(Items(machine.config, access="ro")) as items:
        return {item.content for item in items.export()}


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
                sync(laptop)
                sync(desktop)
        finally:
            done.set()
            thread.join()
        assert set(learned) <= list_facts(desktop)
        assert not any(items.was_forgotten(Draft(content=fact, said_at=0.0)) for fact in learned)
    sync(desktop)
    sync(laptop)
    assert list_facts(laptop) == list_facts(desktop) >= set(learned)
