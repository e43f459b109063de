"""kill -9 of two processes that sync changed notes into the history, beside a reader that may not write.

Ten kills share a life: one workspace with its index and history. After each, every old version unpacks, the moments are in order,
no version stands beside another one of its note, and the next sync makes the history equal to the notes.
`python -m tests.torture.past WORKSPACE STATE NAME` is the process that is killed.
"""

from __future__ import annotations

import os
import random
import select
import shutil
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path
from typing import ClassVar

import memory_core
from memory_core import CallContext, MemoryCoreError
from memory_core.config.agent import AgentConfig
from memory_core.history.history import History
from memory_core.plugin.memory import Memory
from memory_core.sources.notes import hash_bytes
from tests.torture.attack import Attack, Outcome
from tests.torture.notes import finds, write_notes
from tests.torture.victim import CONFIG

READER = CallContext(session_key="agent:main:main", chat_type="direct", access="ro")
READY_SECONDS, SEARCH_SECONDS = 40.0, 15.0
WORD = "copperkettle"  # stands in a note that nobody changes


class PastAttack(Attack):
    """See the module."""

    name: ClassVar[str] = "past"
    full: ClassVar[int] = 50
    group: ClassVar[int] = 10
    share: ClassVar[float] = 0.08
    limit_seconds: ClassVar[float] = 120.0

    def __init__(self, folder: Path, seed: int) -> None:
        super().__init__(folder, seed)
        self._life: tuple[int, Path] | None = None

    def run(self, number: int) -> Outcome:
        base, dice, outcome = self._life_of(number), self.dice(number), Outcome()
        workspace, state = base / "workspace", base / "state"
        with memory_core.open_memory(CONFIG, workspace=workspace, state_dir=state) as reader:
            victims = [_start(base, f"k{number}v{at}s{self.seed}") for at in range(2)]
            try:
                if not all(_is_ready(victim) for victim in victims):
                    outcome.add("down", "a process does not start on what the one before left")
                until = time.monotonic() + dice.uniform(0, 0.6)
                while True:
                    _search(reader, outcome)
                    if time.monotonic() >= until:
                        break
                    time.sleep(0.01)
            finally:
                for victim in victims:
                    victim.kill()
                for victim in victims:
                    _hear(victim, outcome)
            _search(reader, outcome)
            _check_history(reader.config(), outcome)
        with memory_core.open_memory(CONFIG, workspace=workspace, state_dir=state) as survivor:
            report = survivor.sync()
            if report.warnings:
                outcome.add("down", "a sync after a kill warns", report.warnings)
            _check_history(survivor.config(), outcome, workspace)
        return outcome

    def close(self) -> None:
        if self._life is not None:
            shutil.rmtree(self._life[1], ignore_errors=True)
            self._life = None

    def _life_of(self, number: int) -> Path:
        if self._life is None or self._life[0] != number // self.group:
            self.close()
            base = self.folder / f"past-{number}"
            write_notes(base / "workspace")
            with memory_core.open_memory(CONFIG, workspace=base / "workspace", state_dir=base / "state") as memory:
                memory.sync()
            self._life = number // self.group, base
        return self._life[1]


def _start(base: Path, name: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "tests.torture.past", str(base / "workspace"), str(base / "state"), name]
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def _is_ready(victim: subprocess.Popen[bytes]) -> bool:
    assert victim.stdout is not None
    return bool(select.select([victim.stdout], [], [], READY_SECONDS)[0]) and victim.poll() is None


def _hear(victim: subprocess.Popen[bytes], outcome: Outcome) -> None:
    """Note what a killed process had said."""
    out, err = victim.communicate(timeout=30)
    lines = out.decode().split()
    outcome.figures["syncs before the kill"] += lines.count("synced")
    outcome.count("killed in a sync" if lines and lines[-1] == "sync" else "killed between syncs")
    if b"Traceback" in err:
        outcome.add("down", "a process that was to be killed raises", err.decode(errors="replace"))


def _search(reader: Memory, outcome: Outcome) -> None:
    """Search the present by a session that may not write."""
    began = time.monotonic()
    answer = reader.call_tool("memory_search", {"query": WORD}, READER)
    if not finds(answer, WORD):
        outcome.add("down", "a search beside a sync that is killed does not find a note", answer)
    if time.monotonic() - began > SEARCH_SECONDS:
        outcome.add("down", "a search waits for the history", f"{time.monotonic() - began:.1f} s")
    outcome.count("searches of the reader")


def _check_history(config: AgentConfig, outcome: Outcome, workspace: Path | None = None) -> None:
    """Check that a history is whole, and that what stands in it equals the notes of a workspace."""
    history = History(config, writable=False)
    try:
        moments = history.list_moments()
        numbers, times = [moment.id for moment in moments], [moment.at_ms for moment in moments]
        if numbers != sorted(set(numbers)) or times != sorted(times) or not moments:
            outcome.add("down", "moments are not in order", moments)
        _check_versions(history, set(numbers), outcome)
        if problems := [*history.list_problems(), *history.list_set_aside()]:
            outcome.add("lost", "a history is set aside or has problems", problems)
        if workspace is not None:
            _compare(history, workspace, outcome)
    except MemoryCoreError as error:
        outcome.add("lost", f"the history after a kill: {type(error).__name__}", error)
    finally:
        history.close()


def _check_versions(history: History, moments: set[int], outcome: Outcome) -> None:
    for path in {path for paths in history.list_changes().values() for path in paths}:
        versions = history.list_versions(path)
        for version in versions:
            outcome.count("versions that unpack")
            if hash_bytes(history.load_bytes(version)) != version.hash:
                outcome.add("lost", "a version holds other bytes than were recorded", version)
            if not {version.since, version.until} <= {*moments, None}:
                outcome.add("lost", "a version names a moment that is not there", version)
        if any(one.until is None or one.until > other.since for one, other in pairwise(versions)):
            outcome.add("lost", "two versions of a note stand at once", versions)


def _compare(history: History, workspace: Path, outcome: Outcome) -> None:
    """Check that what stands in a history is what stands in the notes."""
    alive = history.list_alive(history.list_moments()[-1])
    recorded = {key.path: history.load_bytes(version) for key, version in alive.items()}
    stand = {file.relative_to(workspace).as_posix(): file.read_bytes() for file in workspace.rglob("*.md")}
    if recorded != stand:
        differ = [path for path in recorded.keys() | stand.keys() if recorded.get(path) != stand.get(path)]
        outcome.add("lost", "what stands in the history is not what stands in the notes", differ)


def main() -> None:
    """Change notes and sync, for ever."""
    workspace, state, name = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
    dice = random.Random(name)
    folder = workspace / "memory" / "topics"
    folder.mkdir(parents=True, exist_ok=True)
    with memory_core.open_memory(CONFIG, workspace=workspace, state_dir=state) as memory:
        memory.tool_schemas()
        os.write(1, b"ready\n")
        while True:
            file = folder / f"changed-{dice.randrange(5)}.md"
            draft = file.with_suffix(f".draft{os.getpid()}")
            lines = [f"- Shelf {at} holds {dice.randrange(3)} lamps." for at in range(dice.choice([5, 400]))]
            draft.write_text("# Changed\n\n" + "\n".join(lines) + "\n")
            draft.replace(file)
            os.write(1, b"sync\n")
            try:
                memory.sync()
                os.write(1, b"synced\n")
            except MemoryCoreError:  # the other one is at work
                os.write(1, b"busy\n")


if __name__ == "__main__":
    main()
