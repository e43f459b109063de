"""A person, an agent and `review` change one note at once, and review is killed at random moments.

Twenty sessions share one workspace. No accepted edit and no line of the person or the agent may be lost, and in the end
`undo` gives back every byte of what was accepted.
"""

from __future__ import annotations

import os
import random
import signal
import time
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from memory_core.config.agent import AgentConfig
from memory_core.config.load import load_config
from memory_core.errors import MemoryCoreError, NotUndone
from memory_core.sources import writer
from memory_core.upkeep.tidy import Tidy
from tests.torture.attack import Attack, Outcome

THINGS = ("otter", "heron", "badger", "walrus", "puffin", "marmot", "lynx", "gecko", "ibis", "newt")
LONGEST_SECONDS = 0.6  # of the life of a review
MOST_PAUSE = 0.5  # seconds between two lines of the others, so that a review finds the note as it has read it


@dataclass(slots=True)
class World:
    """One workspace through several sessions; `written` are the lines of the person and the agent."""

    config: AgentConfig
    written: list[str] = field(default_factory=list)

    @property
    def note(self) -> Path:
        return self.config.workspace / "MEMORY.md"


class ReviewAttack(Attack):
    """See the module."""

    name: ClassVar[str] = "review"
    full: ClassVar[int] = 2000
    group: ClassVar[int] = 20
    share: ClassVar[float] = 0.2

    def __init__(self, folder: Path, seed: int) -> None:
        super().__init__(folder, seed)
        self._held: tuple[int, World] | None = None

    def run(self, number: int) -> Outcome:
        world, dice, outcome = self._world_of(number), self.dice(number), Outcome()
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reading)
            try:
                _review(world.config, dice, writing)
            finally:
                os._exit(1)
        os.close(writing)
        until = time.monotonic() + dice.uniform(0.05, LONGEST_SECONDS)
        while time.monotonic() < until:
            _write(world, dice, f"{number}.{len(world.written)}")
            time.sleep(dice.uniform(0.01, MOST_PAUSE))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        with os.fdopen(reading, encoding="ascii") as pipe:
            outcome.figures["accepted"] += pipe.read().count("\n")
        outcome.figures["lines by others"] += len(world.written)
        _check(world, outcome, undone=False)
        if number % self.group == self.group - 1:
            with closing(Tidy(world.config)) as tidy:
                try:
                    while True:
                        tidy.undo()
                        outcome.count("undone")
                except NotUndone:
                    _check(world, outcome, undone=True)
        return outcome

    def _world_of(self, number: int) -> World:
        group = number // self.group
        if self._held is None or self._held[0] != group:
            folder = self.folder / f"review{group}"
            config = load_config({}, workspace=folder / "ws", state_dir=folder / "state").agent("main")
            (config.workspace / "memory").mkdir(parents=True)
            notes = {f"memory/2026-03-{at + 1:02}.md": _tell(at) + "\n" for at in range(len(THINGS))}
            lines = [_state(at) for at in range(len(THINGS))]
            for path, text in {"MEMORY.md": "\r\n".join(["# Memory", "", *lines, ""]), **notes}.items():
                (config.workspace / path).write_bytes(text.encode())
            self._held = group, World(config)
        return self._held[1]


def _state(at: int) -> str:
    return f"- Rent of the {THINGS[at]}: £{400 + at} a month"


def _tell(at: int) -> str:
    return f"The rent of the {THINGS[at]} goes up to £{800 + at} a month from now on."


def _review(config: AgentConfig, dice: random.Random, writing: int) -> None:
    """Accept, and sometimes undo, until killed; tell of each edit that was made."""
    while True:
        with closing(Tidy(config)) as tidy:
            try:
                found = [each for each in tidy.run(shown_chars=100_000) if each.kind == "outdated"]
                if found and dice.random() < 0.8:
                    tidy.accept(dice.choice(found))
                    os.write(writing, b"a\n")
                else:
                    tidy.undo()
            except MemoryCoreError:  # somebody else was quicker, or there is nothing to undo
                time.sleep(0.001)


def _write(world: World, dice: random.Random, name: str) -> None:
    """Append a line as an editor does, without a lock, or as the agent's tool does."""
    line = f"- seen {name}: {dice.random()}"
    if dice.random() < 0.5:
        with world.note.open("ab") as stream:
            stream.write(f"{line}\r\n".encode())
    else:
        writer.append(line, path="MEMORY.md", workspace=world.config.workspace, state_dir=world.config.state_dir)
    world.written.append(line)


def _check(world: World, outcome: Outcome, *, undone: bool) -> None:
    writer.finish_interrupted(workspace=world.config.workspace, state_dir=world.config.state_dir)
    text = world.note.read_bytes().decode()
    if lost := [line for line in world.written if text.count(line) != 1]:
        outcome.add("lost", "a line that somebody wrote beside a review is gone, or there twice", lost[:5])
    with closing(Tidy(world.config)) as tidy:
        tidy.run(shown_chars=100_000)  # finds out what the killed one did
        made = [edit.new.decode() for edit in tidy.store.list_edits(done=1)]
    for edit in made:
        if edit not in text:
            outcome.add("lost", "an accepted edit is gone", edit)
    lines = text.split("\r\n")
    for at in range(len(THINGS)):
        old = _state(at)
        new = old.replace(f"£{400 + at}", f"£{800 + at}")
        if lines.count(old) + lines.count(new) != 1 or (undone and lines[2 + at] != old):
            outcome.add(
                "lost", "a line that was reviewed is neither the old one nor the new one", lines[: len(THINGS) + 2]
            )
