"""kill -9 at random moments of processes that index, append and search: no note is lost or torn, the next run answers.

Ten kills share a life: one workspace with its index. After each the next run appends, indexes and searches.
"""

from __future__ import annotations

import random
import select
import shutil
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

import memory_core
from memory_core import MemoryCoreError
from tests.torture.attack import Attack, Outcome
from tests.torture.notes import WORDS, finds, write_notes
from tests.torture.victim import CALLER, CONFIG, is_whole, paragraph, word_of
from tests.torture.watch import brief, watching

READY_SECONDS = 40.0
RUN_SECONDS = 20.0


@dataclass(slots=True)
class Life:
    """One workspace through several deaths; `promised` are the words of all paragraphs said to be on the disk."""

    workspace: Path
    state: Path
    promised: set[str] = field(default_factory=set)
    begun: set[str] = field(default_factory=set)


class KillAttack(Attack):
    """See the module."""

    name: ClassVar[str] = "kills"
    full: ClassVar[int] = 300
    group: ClassVar[int] = 10
    share: ClassVar[float] = 0.2
    limit_seconds: ClassVar[float] = 120.0

    def __init__(self, folder: Path, seed: int) -> None:
        super().__init__(folder, seed)
        self._life: tuple[int, Life] | None = None

    def run(self, number: int) -> Outcome:
        life, dice, outcome = self._life_of(number), self.dice(number), Outcome()
        victims = [self._start(life, f"k{number}v{at}") for at in range(2 if dice.random() < 0.3 else 1)]
        try:
            if not all(_is_ready(victim) for victim in victims):
                outcome.add(
                    "down",
                    "a process does not start on what the one before left",
                    [victim.poll() for victim in victims],
                )
            _sleep(dice)
        finally:
            for victim in victims:
                victim.kill()
            for victim in victims:
                self._heard(victim, life, outcome)
        self._next_run(number, life, dice, outcome)
        if number % self.group == self.group - 1:
            self._equals_rebuild(life, outcome)
        return outcome

    def close(self) -> None:
        if self._life is not None:
            shutil.rmtree(self._life[1].workspace.parent, ignore_errors=True)
            self._life = None

    def _life_of(self, number: int) -> Life:
        if self._life is None or self._life[0] != number // self.group:
            self.close()
            base = self.folder / f"life-{number}"
            write_notes(base / "workspace")
            self._life = number // self.group, Life(base / "workspace", base / "state")
        return self._life[1]

    def _start(self, life: Life, name: str) -> subprocess.Popen[bytes]:
        command = [
            sys.executable,
            "-m",
            "tests.torture.victim",
            str(life.workspace),
            str(life.state),
            f"{name}s{self.seed}",
        ]
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def _heard(self, victim: subprocess.Popen[bytes], life: Life, outcome: Outcome) -> None:
        """Note what a killed process had said."""
        out, err = victim.communicate(timeout=30)
        lines = out.decode().splitlines()
        for line in lines:
            what, _, rest = line.partition(" ")
            if what == "appended":
                life.promised.add(rest)
            elif what == "down":
                outcome.add("down", "a search fails beside or after a killed process", rest)
            elif what == "refused":
                outcome.add("down", "an append is refused beside or after a killed process", rest)
            elif what == "busy":
                outcome.count("syncs that found another at work")
        doing = next(
            (line for line in reversed(lines) if line in {"append", "search", "index", "rebuild", "ready"}), "starting"
        )
        outcome.count(f"killed in {doing}")
        if b"Traceback" in err:
            outcome.add("down", "a process that was to be killed raises", err.decode(errors="replace"))

    def _next_run(self, number: int, life: Life, dice: random.Random, outcome: Outcome) -> None:
        own = f"k{number}check"
        before = set(life.promised)
        with (
            watching() as seen,
            memory_core.open_memory(CONFIG, workspace=life.workspace, state_dir=life.state) as memory,
        ):
            answer = memory.call_tool("memory_append", {"text": paragraph(own, 3)}, CALLER)
            if answer.get("status") == "appended":
                life.promised.add(own)
            else:
                outcome.add("down", "an append fails after a kill", answer)
            self._check_notes(life, outcome)
            try:
                report = memory.sync()
                if report.failures or report.pending:
                    outcome.add("down", "a sync after a kill leaves something out", report)
            except MemoryCoreError as error:
                outcome.add("down", f"a sync after a kill ends with {type(error).__name__}", brief(error))
            word = dice.choice(list(WORDS))
            found = memory.call_tool("memory_search", {"query": word}, CALLER)
            if not finds(found, word):
                outcome.add("down", "a search after a kill does not find a note", found)
            for promised in [own, *dice.sample(sorted(before), min(2, len(before)))]:
                found = memory.call_tool("memory_search", {"query": promised}, CALLER)
                if not any(promised in hit["snippet"] for hit in found["results"]):
                    outcome.add(
                        "down", "a search after a kill does not find an appended paragraph", f"{promised}: {found}"
                    )
        if seen.seconds > RUN_SECONDS:
            outcome.add("down", "the run after a kill takes too long", f"{seen.seconds:.1f} s")
        if seen.stray:
            outcome.add("down", "an error of a thread reaches nobody", seen.stray[0])

    def _check_notes(self, life: Life, outcome: Outcome) -> None:
        """Daily notes hold whole paragraphs only, each once, and all that were promised; the other notes are as they were."""
        found: Counter[str] = Counter()
        for file in sorted((life.workspace / "memory").glob("????-??-??.md")):
            relative = file.relative_to(life.workspace).as_posix()
            if relative in WORDS.values():
                continue
            heading, *paragraphs = file.read_bytes().decode(errors="replace").removesuffix("\n").split("\n\n")
            if heading != f"# {file.stem}":
                outcome.add("lost", "the heading of a note is lost", heading[:200])
            for text in paragraphs:
                if not is_whole(text):
                    outcome.add("lost", "a paragraph is torn", f"{len(text)} characters: {text[:200]}")
                found[word_of(text)] += 1
        for word in sorted(life.promised - set(found)):
            outcome.add("lost", "a paragraph that was said to be appended is not there", word)
        twice = [word for word, count in found.items() if count > 1]
        if twice:
            outcome.add("lost", "a paragraph stands twice", twice)
        for word, path in WORDS.items():
            if word not in (life.workspace / path).read_text():
                outcome.add("lost", "a note that nobody writes has changed", path)

    def _equals_rebuild(self, life: Life, outcome: Outcome) -> None:
        """Check that the survivor answers as a new index of the same notes does."""
        state = life.workspace.parent / "rebuilt"
        with (
            memory_core.open_memory(CONFIG, workspace=life.workspace, state_dir=life.state) as survivor,
            memory_core.open_memory(CONFIG, workspace=life.workspace, state_dir=state) as rebuilt,
        ):
            rebuilt.sync()
            survivor.sync()
            for question in ("dentist at the harbour", "fencepaint", "shelf in the cellar"):
                one, other = (
                    memory.call_tool("memory_search", {"query": question}, CALLER) for memory in (survivor, rebuilt)
                )
                if one["results"] != other["results"]:
                    outcome.add(
                        "down",
                        "the index that survived answers otherwise than one made anew",
                        f"{question}\n{one}\n{other}",
                    )
            counts = [(status.files, status.chunks) for status in (survivor.status(), rebuilt.status())]
            if counts[0] != counts[1]:
                outcome.add("down", "the index that survived holds something else than one made anew", counts)
        shutil.rmtree(state, ignore_errors=True)
        outcome.count("lives equal to a rebuild" if not outcome.findings else "lives with findings")


def _is_ready(victim: subprocess.Popen[bytes]) -> bool:
    """Wait for its first line; nothing is read here, for `communicate` would miss what a buffer has taken."""
    assert victim.stdout is not None
    return bool(select.select([victim.stdout], [], [], READY_SECONDS)[0]) and victim.poll() is None


def _sleep(dice: random.Random) -> None:
    """To a random moment: most soon after the start, where the first index is made, some later."""
    time.sleep(dice.choice([dice.uniform(0, 0.05), dice.uniform(0, 0.6), dice.uniform(0, 1.5)]))
