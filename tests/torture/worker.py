"""One worker process: reads case numbers, one a line, and answers each with its outcome, one line of JSON."""

from __future__ import annotations

import argparse
import contextlib
import faulthandler
import os
import resource
import sys
from importlib import import_module
from pathlib import Path

from tests.torture.attack import Attack, Outcome
from tests.torture.watch import brief

MAX_BYTES = 4 << 30  # of data: a case that takes more gets a MemoryError, and the machine lives


_ATTACKS = {  # their classes, by the names of their modules
    "review": "ReviewAttack",
    "provider": "ProviderAttack",
    "tools": "ToolAttack",
    "damage": "DamageAttack",
    "items": "ItemsAttack",
    "mcp": "McpAttack",
    "past": "PastAttack",
    "postgres": "PostgresAttack",
    "kills": "KillAttack",
    "people": "PeopleAttack",
    "sync": "SyncAttack",
}


def attack_named(name: str) -> type[Attack]:
    """The attack of that name; its module is imported now."""
    attack: type[Attack] = getattr(import_module(f"tests.torture.{name}"), _ATTACKS[name])
    return attack


def run_case(attack: Attack, number: int) -> Outcome:
    """Run one case; what it raises is a finding, since cases expect what they can."""
    try:
        return attack.run(number)
    except Exception as error:  # noqa: BLE001 - that any came is the finding
        outcome = Outcome()
        outcome.add("down", f"raises {type(error).__name__} where nothing may be raised", brief(error))
        return outcome


def main() -> None:
    """Serve until standard input ends."""
    parser = argparse.ArgumentParser()
    parser.add_argument("attack")
    parser.add_argument("seed", type=int)
    parser.add_argument("folder", type=Path)
    arguments = parser.parse_args()
    faulthandler.enable()  # the parent sends SIGABRT to one that hangs, and reads where
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_DATA, (MAX_BYTES, MAX_BYTES))
    import_module("tests.guard.sitecustomize")  # refuses what would leave this machine

    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what anybody prints is no answer
    attack = attack_named(arguments.attack)(arguments.folder, arguments.seed)
    try:
        for line in sys.stdin:
            answers.write(run_case(attack, int(line)).dumped() + "\n")
            answers.flush()
    finally:
        attack.close()


if __name__ == "__main__":
    main()
