"""The items file: many processes at once, kill -9, and damage; no fact is lost, doubled, merged with another or brought back.

All cases share one life: first many processes keep, say again, recall and forget facts; then processes that do the same are
killed, one or two at a time, and what they were promised is looked for; at last copies of the file are damaged, and notes have
to be found all the same.
"""

from __future__ import annotations

import random
import select
import shutil
import subprocess
import sys
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from memory_core import CallContext
from memory_core.items.store.file import ItemsFile
from memory_core.plugin import MemorySlot
from tests.torture.attack import Attack, Outcome
from tests.torture.keeper import common_fact, open_items
from tests.torture.notes import WORDS, finds, write_notes
from tests.torture.watch import watching

PROCESSES = 8
KILLS, DAMAGES = 50, 5
READY_SECONDS = 60.0
CALLER = CallContext.local("agent:main:main")
CONFIG = {
    "memorySearch": {
        "provider": "static",
        "items": {"enabled": True},
        "recall": {"enabled": True, "timeoutMs": 30_000},
        "sync": {"watch": False, "onSearchBudgetMs": 5000},
    }
}


@dataclass(slots=True)
class Told:
    """What processes said of their facts: by word, or for common ones by number the processes that said each."""

    kept: set[str] = field(default_factory=set)
    keeping: set[str] = field(default_factory=set)
    forgot: set[str] = field(default_factory=set)
    forgetting: set[str] = field(default_factory=set)
    said: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    saying: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))


class ItemsAttack(Attack):
    """See the module."""

    name: ClassVar[str] = "items"
    full: ClassVar[int] = 1 + KILLS + DAMAGES
    group: ClassVar[int] = full
    jobs: ClassVar[int] = 1
    share: ClassVar[float] = 0.15
    limit_seconds: ClassVar[float] = 300.0

    def __init__(self, folder: Path, seed: int, *, rush_seconds: float = 60.0) -> None:
        super().__init__(folder, seed)
        self._rush_seconds = rush_seconds
        self._state = folder / "state"
        self._state.mkdir(parents=True, exist_ok=True)
        self._told = Told()

    def run(self, number: int) -> Outcome:
        outcome, dice, at = Outcome(), self.dice(number), number % self.group
        if at <= KILLS:
            rush = at == 0
            names = [f"n{number}p{each}s{self.seed}" for each in range(PROCESSES if rush else dice.choice((1, 1, 2)))]
            with watching() as seen:
                self._let_work(names, dice, outcome, rush=rush)
                self._check(outcome)
            if seen.stray:
                outcome.add("down", "an error of a thread reaches nobody", seen.stray[0])
        else:
            self._damage(dice, outcome)
        return outcome

    def _let_work(self, names: list[str], dice: random.Random, outcome: Outcome, *, rush: bool) -> None:
        """Run processes to their end, or kill them at a random moment; note what they said."""
        seconds = self._rush_seconds if rush else 600.0
        running = {name: self._start(name, seconds) for name in names}
        try:
            if not all(_is_ready(process) for process in running.values()):
                outcome.add("down", "a process does not start on what the one before left")
            if not rush:
                time.sleep(dice.choice([dice.uniform(0, 0.1), dice.uniform(0, 1.0)]))
                for process in running.values():
                    process.kill()
            for name, process in running.items():
                self._hear(name, process, outcome, ends=rush)
        finally:
            for process in running.values():
                process.kill()
                process.wait()

    def _start(self, name: str, seconds: float) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "tests.torture.keeper", str(self._state), name, str(seconds)]
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def _hear(self, name: str, process: subprocess.Popen[bytes], outcome: Outcome, *, ends: bool) -> None:
        out, err = process.communicate(timeout=self._rush_seconds + 120)
        lines = out.decode().splitlines()
        for line in lines:
            what, _, rest = line.partition(" ")
            if what in {"said", "saying"}:
                getattr(self._told, what)[rest].add(name)
            elif what in {"kept", "keeping", "forgot", "forgetting"}:
                getattr(self._told, what).add(rest)
            elif what == "missed":
                outcome.add("lost", "a fact that was kept is not found", rest)
            elif what == "merged":
                outcome.add("lost", "a fact is taken for another one", rest)
            elif what == "failed":
                outcome.add("down", "an operation fails beside other processes", rest)
            outcome.count(what)
        if ends and lines[-1:] != ["done"]:
            outcome.add("down", f"a process ends with {process.returncode}", err.decode(errors="replace"))
        elif b"Traceback" in err:
            outcome.add("down", "a process that was to be killed raises", err.decode(errors="replace"))

    def _check(self, outcome: Outcome) -> None:
        """Compare the file with what was promised."""
        told, items = self._told, open_items(self._state)
        items.write("The checker was here.")  # also finishes what a killed process could not wipe
        found = list(items.export())
        items.close()
        contents = Counter(item.content for item in found)
        if twice := [text for text, count in contents.items() if count > 1]:
            outcome.add("lost", "a fact stands twice", twice)
        words = {item.content.rstrip(".").rsplit(" ", 1)[-1] for item in found if item.content.startswith("Locker")}
        if lost := told.kept - words - told.forgetting:
            outcome.add("lost", "a fact that was kept is gone", lost)
        if back := told.forgot & words:
            outcome.add("lost", "a forgotten fact is there again", back)
        if strange := words - told.keeping:
            outcome.add("lost", "a fact is there that nobody said", strange)
        counted = {item.content: item.reinforced for item in found}
        for number in told.saying:
            least, most = len(told.said[number]) - 1, len(told.saying[number]) - 1
            if not least <= counted.get(common_fact(int(number)), -1) <= most:
                outcome.add("lost", "a fact that many said is counted wrongly", f"{number}: not {least} to {most}")
        self._check_bytes(told.forgot, outcome)
        outcome.figures["facts in the file"] = max(outcome.figures["facts in the file"], len(found))

    def _check_bytes(self, forgot: set[str], outcome: Outcome) -> None:
        data = b"".join(path.read_bytes().lower() for path in self._state.rglob("*") if path.is_file())
        if left := [
            word for word in forgot if word[3:].encode() in data
        ]:  # FTS5 leaves out what words begin with alike
            outcome.add("leaked", "the bytes of a forgotten fact are still there", left)
        path = self._state / "main.items.sqlite"
        if (problem := ItemsFile(path).find_damage()) is not None:
            outcome.add("lost", "the file is damaged", problem)

    def _damage(self, dice: random.Random, outcome: Outcome) -> None:
        """Damage a copy of the file; notes are found all the same, and facts can be kept again."""
        base = self.folder / "damaged"
        shutil.rmtree(base, ignore_errors=True)
        write_notes(base / "workspace")
        word = dice.choice(list(WORDS))

        def open_slot() -> MemorySlot:
            return MemorySlot(CONFIG, workspace=base / "workspace", state_dir=base / "state")

        with open_slot() as slot:
            slot.call_tool("memory_store", {"text": "The first fact of all."}, CALLER)
        (path,) = (base / "state").rglob("*.items.sqlite")
        shutil.copyfile(self._state / "main.items.sqlite", path)
        data = bytearray(path.read_bytes())
        at, size = dice.randrange(len(data)), dice.choice((16, 512, 8192, len(data)))
        data[at : at + size] = dice.randbytes(min(size, len(data) - at))
        path.write_bytes(data if dice.random() < 0.8 else data[: dice.randrange(len(data))])
        with watching() as seen, open_slot() as slot:
            for _ in range(2):
                answer = slot.call_tool("memory_search", {"query": word}, CALLER)
                if not finds(answer, word):
                    outcome.add("down", "notes are not found beside a damaged items file", answer)
            recalled = slot.recall_for_message(f"Where is the {word}?", CALLER)
            outcome.count("recalled with damage" if recalled.pieces else "nothing recalled with damage")
            stored = [slot.call_tool("memory_store", {"text": f"Fact {number} after it."}, CALLER) for number in (1, 2)]
            if stored[-1].get("status") not in {"added", "reinforced"}:
                outcome.add("down", "no fact can be kept after damage", stored)
        if seen.stray:
            outcome.add("down", "an error of a thread reaches nobody", seen.stray[0])


def _is_ready(process: subprocess.Popen[bytes]) -> bool:
    """Wait for its first line; nothing is read here, for `communicate` would miss what a buffer has taken."""
    assert process.stdout is not None
    return bool(select.select([process.stdout], [], [], READY_SECONDS)[0]) and process.poll() is None
