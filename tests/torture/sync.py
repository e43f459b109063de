"""Three machines sync one memory: thousands of writes, edits, moves and deletions, kills, lost pushes and a machine that is away.

One case is one history. Every line is written once and known by its number, so that at the end it is certain which lines must
stand: all that nobody has deleted or changed, once, on every machine.
"""

from __future__ import annotations

import random
import re
import shutil
import signal
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from memory_core.errors import SharingFailed
from tests.machines import MARKS, Machine, make_machines, run_git
from tests.torture.attack import Attack, Outcome

DAYS = [f"memory/2026-03-0{day}.md" for day in range(1, 6)]
NOTES = ["MEMORY.md", *DAYS, "memory/topics/garden.md", "memory/topics/boat.md"]
WORDS = (
    "amber", "basket", "cellar", "dinner", "engine", "folder", "garden", "harbour", "island", "jacket", "kettle", "ladder",
)  # fmt: skip
NUMBER = re.compile(r"\bL\d+\b")
SKEWS = (0.0, 86_400.0, -86_400.0)  # of the clocks
LAST_STEP = 32  # runs of git and changes of files in a sync


@dataclass(slots=True)
class History:
    """The lines that were written, those that somebody has deleted or changed since, and those that ever had a child."""

    written: int = 0
    renamed: int = 0
    gone: set[str] = field(default_factory=set)
    texts: dict[str, str] = field(default_factory=dict)
    parents: set[str] = field(default_factory=set)

    def make(self, dice: random.Random, prefix: str) -> str:
        """Return a new line."""
        self.written += 1
        name = f"L{self.written}"
        line = f"{prefix}{name} {' '.join(dice.sample(WORDS, dice.randint(2, 5)))} {self.written * 7919 % 10007}"
        self.texts[name] = line.strip()
        return line

    def drop(self, lines: list[str]) -> None:
        """Remember that lines are gone."""
        self.gone.update(name for line in lines for name in NUMBER.findall(line))

    def note_parents(self, text: str) -> None:
        """Remember the headings, and the items that have a child: they may return with what is below them."""
        self.parents.update(re.findall(r"^#.* (L\d+)\b", text, re.MULTILINE))
        self.parents.update(re.findall(r"^- .*?\b(L\d+)\b.*\n(?=\n*  )", text, re.MULTILINE))


class SyncAttack(Attack):
    """Runs histories."""

    name = "sync"
    full = 3
    share = 0.2
    limit_seconds = 3600.0
    operations = 2000

    def run(self, number: int) -> Outcome:
        """Run one history and look at what stands at its end."""
        outcome, dice, history = Outcome(), self.dice(number), History()
        folder = self.folder / f"case-{number}"
        folder.mkdir()
        machines = list(make_machines(folder, ["laptop", "desktop", "server"]))
        for at in range(self.operations):
            which = dice.choices((0, 1, 2), (4, 4, 3))[0]
            machine = machines[which]
            is_away = which == 2 and self.operations < 4 * at < 3 * self.operations
            if dice.random() < 0.2 and not is_away:
                _sync(machine, SKEWS[which], dice, history, outcome)
                _note_parents(machine, history)
            else:
                _change(machine, dice, history, outcome)
        for machine in machines * 3:
            machine.sync()
            _note_parents(machine, history)
        _check(machines, history, outcome)
        shutil.rmtree(folder)
        return outcome


def _sync(machine: Machine, skew: float, dice: random.Random, history: History, outcome: Outcome) -> None:
    """Sync: undisturbed, killed at some step, or while somebody appends to notes."""
    outcome.count("syncs")
    way = dice.random()
    if way < 0.5:
        clock = time.time
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(time, "time", lambda: clock() + skew)
            try:
                done = machine.sync()
            except SharingFailed as error:
                outcome.add("down", "a sync fails", error)
                return
            outcome.figures["conflicts"] += len(done.conflicts)
        return
    before = run_git(machine.remote, "rev-parse", "-q", "--verify", "main^{commit}") if _has_branch(machine) else ""
    step = dice.randrange(LAST_STEP) if way < 0.75 else 1000
    process = machine.start_sync(step)
    for _ in range(2 if step == 1000 else 0):
        time.sleep(dice.uniform(0.0, 0.6))
        path = dice.choice([name for name in NOTES if machine.path(name).exists()] or DAYS)
        machine.append(path, history.make(dice, "- ") + "\n")
        outcome.figures["lines written during syncs"] += process.poll() is None
    code = process.wait(120)
    if code == -signal.SIGKILL:
        outcome.count("kills")
        after = run_git(machine.remote, "rev-parse", "-q", "--verify", "main^{commit}") if _has_branch(machine) else ""
        outcome.figures["lost pushes"] += after != before
    elif code:
        outcome.add("down", "a sync fails beside somebody who writes", code)


def _note_parents(machine: Machine, history: History) -> None:
    for data in machine.notes().values():
        history.note_parents(data.decode())


def _has_branch(machine: Machine) -> bool:
    return bool(run_git(machine.remote, "for-each-ref", "refs/heads/main"))


def _change(machine: Machine, dice: random.Random, history: History, outcome: Outcome) -> None:
    """Change one note as a person or an agent does, but for lines that a killed sync has put into a second note already."""
    notes = {name: data.decode() for name, data in machine.notes().items() if name.endswith(".md")}
    held = [*notes]
    stands = Counter(NUMBER.findall("\n".join(notes.values())))
    name = dice.choice(NOTES)
    if name not in held:
        title = "# Memory" if name == "MEMORY.md" else f"# {Path(name).stem}"
        machine.write(name, f"{title}\n\n{history.make(dice, '- ')}\n")
        return
    lines = machine.read(name).split("\n")
    own = [
        at
        for at, line in enumerate(lines)
        if (found := NUMBER.findall(line)) and all(stands[each] == 1 for each in found)
    ]
    way = dice.random()
    if way < 0.34 or not own:
        prefix = f"- {dice.randint(0, 23):02}:{dice.randint(0, 59):02} " if name in DAYS else "- "
        machine.append(name, history.make(dice, prefix) + "\n")
        return
    at = dice.choice(own)
    if way < 0.5:
        lines.insert(at + 1, history.make(dice, dice.choice(["- ", "  - ", "- "])))
    elif way < 0.56:
        lines += ["", f"## {history.make(dice, '')}", "", history.make(dice, dice.choice(["- ", ""]))]
    elif way < 0.7:
        old = lines[at]
        kept = re.match(r"(#+ |\s*- (\d\d:\d\d )?)?", old)
        start = kept[0] if kept else ""
        new, words = history.make(dice, start), NUMBER.sub("", old.removeprefix(start)).split()[:-1]
        lines[at] = re.sub(r"(L\d+) .*", lambda found: f"{found[1]} {' '.join(words)} {history.written}", new)
        history.texts[f"L{history.written}"] = lines[at].strip()
        history.drop([old])
    elif way < 0.86:
        history.drop([lines.pop(at)])
    elif way < 0.92:
        lines.insert(dice.choice(own), lines.pop(at))
    elif way < 0.96 and not lines[at].startswith("#"):
        other = dice.choice([each for each in held if each != name] or [name])
        if other != name:
            machine.append(other, f"{lines.pop(at).strip()}\n")
            outcome.count("moves to another note")
    elif way < 0.98 and name.startswith("memory/topics/"):
        history.drop([lines[at] for at in own])
        machine.path(name).unlink()
        outcome.count("deleted notes")
        return
    elif name.startswith("memory/topics/"):
        history.renamed += 1
        machine.path(name).rename(machine.path(f"memory/topics/{history.renamed}.md"))
        outcome.count("renamed notes")
        return
    text = "\n".join(lines).rstrip("\n") + "\n"
    machine.write(name, text)
    history.note_parents(text)


def _find(notes: dict[str, bytes], line: str) -> str:
    """Return where a line stands, with what is around it."""
    found = []
    for path, data in notes.items():
        lines = data.decode().split("\n")
        found += [f"{path}: {lines[max(0, at - 2) : at + 2]}" for at, each in enumerate(lines) if each.strip() == line]
    return "\n".join(found)


def _check(machines: list[Machine], history: History, outcome: Outcome) -> None:
    """Look at what stands on all machines."""
    notes = [machine.notes() for machine in machines]
    if any(each != notes[0] for each in notes):
        outcome.add("lost", "machines hold different notes at the end")
    text = b"\n".join(notes[0].values()).decode()
    stands = Counter(NUMBER.findall(text))
    for name in (f"L{number}" for number in range(1, history.written + 1)):
        line = history.texts[name]
        if name not in history.gone and not stands[name]:
            outcome.add("lost", "a line is lost", line)
        if stands[name] > 1:
            outcome.add("lost", "a line stands twice", _find(notes[0], line))
        if name in history.gone and stands[name]:
            is_parent = name in history.parents
            outcome.count("deleted and back: parents" if is_parent else "deleted and back: others")
            if not is_parent:
                outcome.add("lost", "a deleted line is back", line)
    if any(line.startswith(MARKS) for line in text.splitlines()):
        outcome.add("lost", "a conflict mark is in a note")
    remote = machines[0].remote
    before = run_git(remote, "rev-list", "--count", "main")
    for machine in machines * 5:
        machine.sync()
    if run_git(remote, "rev-list", "--count", "main") != before:
        outcome.add("down", "idle syncs make commits")
    if run_git(remote, "rev-list", "--merges", "main"):
        outcome.add("down", "there are merge commits")
    for repository in (remote, *(machine.repository for machine in machines)):
        run_git(repository, "fsck", "--full", "--strict")
    outcome.figures.update({"commits": int(before), "lines": history.written})
