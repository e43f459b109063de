"""A handful of cases of each attack of `make torture`, so that the attacks themselves keep working."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.torture.items import KILLS, ItemsAttack
from tests.torture.leaks import exposed, new_key, spelled
from tests.torture.sync import SyncAttack
from tests.torture.worker import attack_named

SEED = 14
PASSING = {
    "provider": (9, 21, 37, 44, 45, 54),
    "tools": (0, 1, 2, 3, 4, 6, 8, 11, 12),
    "damage": (2, 12, 16),
    "kills": (0,),
    "past": range(5),
    "people": range(16),
    "review": range(16, 20),
    "mcp": (*range(6), *range(50, 56)),
}


@pytest.mark.parametrize("name", PASSING)
def test_cases_that_pass(name: str, tmp_path: Path) -> None:
    attack = attack_named(name)(tmp_path, SEED)
    try:
        outcomes = [attack.run(number) for number in PASSING[name]]
    finally:
        attack.close()
    assert [outcome.findings for outcome in outcomes] == [[]] * len(PASSING[name])
    assert all(outcome.figures for outcome in outcomes)


def test_items_survive_processes_kills_and_damage(tmp_path: Path) -> None:
    attack = ItemsAttack(tmp_path, SEED, rush_seconds=4.0)
    outcomes = [attack.run(number) for number in (0, 1, 2, 1 + KILLS)]
    assert [outcome.findings for outcome in outcomes] == [[]] * len(outcomes)
    assert outcomes[0].figures["kept"] > 0


def test_a_short_history_of_three_machines_loses_nothing(tmp_path: Path) -> None:
    attack = SyncAttack(tmp_path, SEED)
    attack.operations = 60
    assert attack.run(0).findings == []


def test_a_key_is_recognised_in_every_spelling() -> None:
    for number in range(500):
        dice = random.Random(number)
        key = new_key(dice)
        shown = f"refused: {spelled(key, dice)} (see the manual)"
        assert exposed(shown, key) is not None, shown
    assert exposed("refused: sk-...1234", "sk-" + "a1B2" * 10) is None
