"""A process that keeps, says again, recalls and forgets facts: `python -m tests.torture.keeper STATE NAME SECONDS`.

Says on standard output what it is about to do, and what it has been told was done.
"""

from __future__ import annotations

import os
import random
import sys
import time
from pathlib import Path

from memory_core import MemoryCoreError
from memory_core.config.agent import AgentConfig
from memory_core.config.settings import SearchSettings
from memory_core.items.items import Items
from memory_core.records import Origin

COMMON = 40  # facts that every process says
_LETTERS = "bcdfghjklmnprstvwxz"


def open_items(state: Path) -> Items:
    """Open the items in a state folder."""
    search = SearchSettings(provider="static")
    config = AgentConfig(
        agent="main", workspace=state, state_dir=state, store_path=state / "main.sqlite", search=search
    )
    return Items(config)


def own_fact(word: str, number: int) -> str:
    """A fact that only one process says; the word is found in it and nowhere else."""
    return f"Locker {number} belongs to {word}."


def common_fact(number: int) -> str:
    """A fact that every process says."""
    return f"Comet {number} passes over tower {number}."


def make_word(dice: random.Random) -> str:
    """A word that no text holds by accident."""
    return "".join(dice.choices(_LETTERS, k=12))


class Keeper:
    """Works on one items file until the time is up.

    Args:
        state: The folder of the file.
        name: Of this process; also the key of its session.
    """

    def __init__(self, state: Path, name: str) -> None:
        self._items = open_items(state)
        self._name = name
        self._dice = random.Random(name)
        self._kept: dict[str, str] = {}  # ids by word
        self._number = 0
        self._commons = iter(self._dice.sample(range(COMMON), COMMON))

    def work(self, seconds: float) -> None:
        """Work, and close the file."""
        until = time.monotonic() + seconds
        actions = {"keep": 4, "common": 3, "ask": 3, "forget": 3}
        tell("ready")
        while time.monotonic() < until:
            action = self._dice.choices(list(actions), list(actions.values()))[0]
            try:
                getattr(self, f"_{action}")()
            except MemoryCoreError as error:
                tell(f"failed {action} {error!r}")
        self._items.close()
        tell("done")

    def _keep(self) -> None:
        word = make_word(self._dice)
        self._number += 1
        tell(f"keeping {word}")
        written = self._items.write(
            own_fact(word, self._dice.randrange(10**9)), origin=Origin(by="import", session=self._name)
        )
        tell(f"kept {word}" if written.outcome == "added" else f"merged {word} with {written.item.content}")
        self._kept[word] = written.item.id

    def _common(self) -> None:
        number = next(self._commons, None)
        if number is not None:
            tell(f"saying {number}")
            self._items.write(common_fact(number), origin=Origin(by="import", session=self._name))
            tell(f"said {number}")

    def _ask(self) -> None:
        if self._kept:
            word = self._dice.choice(list(self._kept))
            hits = self._items.query(f"Which locker belongs to {word}?").hits
            if not any(word in hit.item.content for hit in hits):
                tell(f"missed {word}: {[hit.item.content for hit in hits]}")

    def _forget(self) -> None:
        if self._kept:
            word = self._dice.choice(list(self._kept))
            tell(f"forgetting {word}")
            gone = self._items.forget(ids=[self._kept.pop(word)])
            tell(f"forgot {word}" if len(gone.items) == 1 else f"failed forget: it was gone: {word}")


def tell(line: str) -> None:
    """Write a line at once."""
    os.write(1, f"{line}\n".encode())


if __name__ == "__main__":
    Keeper(Path(sys.argv[1]), sys.argv[2]).work(float(sys.argv[3]))
