"""Damaged index files: the index is made anew by itself, what is not ours is left alone, notes are never touched.

Each case copies a state folder with a good index, damages one file in it, then searches, indexes, and searches again: through
the API, or for some through the command.
"""

# ruff: noqa: E501 - lists of hostile values are kept short in lines, which are long
from __future__ import annotations

import json
import random
import shutil
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import memory_core
from memory_core import CallContext, MemoryCoreError
from tests.command import Command
from tests.command import Outcome as Finished
from tests.torture.attack import Attack, Outcome
from tests.torture.notes import WORDS, contents, finds, write_notes
from tests.torture.watch import brief, watching

Damage = Callable[[random.Random, Path], str]
ASKING = CallContext(session_key="agent:main:main", chat_type="direct")
CALL_SECONDS = 15.0
CONFIG = {"memorySearch": {"provider": "static", "sync": {"watch": False, "onSearchBudgetMs": 5000}}}


class DamageAttack(Attack):
    """See the module."""

    name: ClassVar[str] = "damage"
    full: ClassVar[int] = 1000
    jobs: ClassVar[int] = 3
    share: ClassVar[float] = 0.25

    def __init__(self, folder: Path, seed: int) -> None:
        super().__init__(folder, seed)
        self._workspace = folder / "workspace"
        write_notes(self._workspace, sections=12)
        self._clean, self._live = folder / "clean", folder / "live"
        with memory_core.open_memory(CONFIG, workspace=self._workspace, state_dir=self._clean) as memory:
            memory.sync()
            for word in WORDS:
                memory.call_tool("memory_search", {"query": word}, ASKING)
            # As a process that is killed leaves it: with its -wal and -shm.
            shutil.copytree(self._clean, self._live)
        self._notes = contents(self._workspace)

    def run(self, number: int) -> Outcome:
        dice, outcome = self.dice(number), Outcome()
        # The index is bound to its workspace, so the copy takes the original's place.
        state = self.folder / "state"
        shutil.rmtree(state, ignore_errors=True)
        shutil.copytree(dice.choice([self._clean, self._live]), state)
        kind = dice.choice(list(_DAMAGES))
        index = next(path for path in state.rglob("*.sqlite") if path.is_file() and "history" not in path.name)
        what = _DAMAGES[kind](dice, index)
        foreign = {path: data for path, data in contents(state).items() if b"NOT OURS" in data}
        by_command = dice.random() < 0.04
        if by_command:
            self._by_command(kind, state, dice, outcome)
        else:
            self._by_api(kind, state, dice, outcome)
        after = contents(state)
        for path, data in foreign.items():
            if not any(data == now for now in after.values()):
                outcome.add("lost", f"a file that is not ours is changed or gone ({kind})", f"{path}; {what}")
        if contents(self._workspace) != self._notes:
            outcome.add("lost", f"notes are changed ({kind})", what)
            shutil.rmtree(self._workspace)
            write_notes(self._workspace, sections=12)
        for finding in outcome.findings:
            object.__setattr__(finding, "detail", f"{what}\n{finding.detail}")
        return outcome

    def _by_api(self, kind: str, state: Path, dice: random.Random, outcome: Outcome) -> None:
        words = dice.sample(list(WORDS), 3)
        with watching() as seen:
            with memory_core.open_memory(CONFIG, workspace=self._workspace, state_dir=state) as memory:
                first = memory.call_tool("memory_search", {"query": f"Where is the {words[0]}?"}, ASKING)
                try:
                    report = memory.sync()
                    problem = "; ".join(failure.reason for failure in report.failures)
                except MemoryCoreError as error:
                    problem = brief(error)
                answers = [
                    memory.call_tool("memory_search", {"query": f"Where is the {word}?"}, ASKING) for word in words
                ]
            # A new process must find it in order, too.
            with memory_core.open_memory(CONFIG, workspace=self._workspace, state_dir=state) as memory:
                answers.append(memory.call_tool("memory_search", {"query": f"Where is the {words[0]}?"}, ASKING))
        if seen.seconds > CALL_SECONDS:
            outcome.add("down", f"searching and indexing take too long ({kind})", f"{seen.seconds:.1f} s")
        if seen.stray:
            outcome.add("down", f"an error of a thread reaches nobody ({kind})", seen.stray[0])
        self._judge(kind, words, first, answers, problem=problem, outcome=outcome)

    def _by_command(self, kind: str, state: Path, dice: random.Random, outcome: Outcome) -> None:
        words = dice.sample(list(WORDS), 2)
        command = Command(self._workspace, state)
        begun = time.monotonic()
        asked = [
            command("search", words[0], "--json"),
            command("index"),
            *(command("search", word, "--json") for word in words),
        ]
        if time.monotonic() - begun > 4 * CALL_SECONDS:
            outcome.add("down", f"the commands take too long ({kind})", f"{time.monotonic() - begun:.1f} s")
        for done in asked:
            if "Traceback" in done.err or "defect" in done.err:
                outcome.add("down", f"a command ends with a traceback or calls itself defective ({kind})", done.err)
        first, indexed, *rest = asked
        problem = "" if indexed.code == 0 else indexed.err
        self._judge(kind, words, _answer(first), [_answer(done) for done in rest], problem=problem, outcome=outcome)

    def _judge(
        self,
        kind: str,
        words: list[str],
        first: dict[str, Any],
        answers: list[dict[str, Any]],
        *,
        problem: str,
        outcome: Outcome,
    ) -> None:
        """A foreign file in our place may keep memory down, with an error that says so; nothing else may."""
        if kind in _FOREIGN:
            outcome.count("foreign file: refused" if problem else "foreign file: worked around")
            return
        right = [finds(answer, word) for answer, word in zip(answers, [*words, words[0]], strict=False)]
        internal = next((answer for answer in [first, *answers] if "defect" in answer.get("action", "")), None)
        if internal is not None:
            outcome.add("down", f"a search answers an internal error ({kind})", internal)
        if not all(right):
            wrong = answers[right.index(False)]
            reason = (
                "indexing fails" if problem else "a search fails" if wrong.get("unavailable") else "an answer is wrong"
            )
            outcome.add("down", f"needs a person: {reason} ({kind})", f"{problem}\n{json.dumps(wrong)}")
        elif problem:
            outcome.add("down", f"indexing fails, though searches answer ({kind})", problem)
        elif any(answer.get("mode") != "hybrid" for answer in answers):
            outcome.add("down", f"searches stay without vectors ({kind})", json.dumps(answers))
        else:
            outcome.count("answers again at once" if finds(first, words[0]) else "answers again after an index")
        for answer in [first, *answers]:
            for hit in answer.get("results", []):
                if not self._quotes(hit):
                    outcome.add("down", f"a hit quotes what stands in no note ({kind})", hit)

    def _quotes(self, hit: dict[str, Any]) -> bool:
        """Return True if every line of a snippet stands in its note."""
        note = self._notes.get(hit["path"], b"").decode()
        lines = (line.strip(" .…") for line in hit["snippet"].splitlines())
        return all(line in note for line in lines if line)


def _answer(done: Finished) -> dict[str, Any]:
    """A search command's answer in the tool's form."""
    try:
        found = done.json
    except ValueError:
        return {"unavailable": True, "error": done.err}
    return found if isinstance(found, dict) else {"unavailable": True, "error": done.out}


# Kinds of damage; each says what it did.

_FOREIGN = frozenset({"foreign database", "folder with a foreign file"})


def _beside(index: Path, suffix: str) -> Path:
    return index.with_name(index.name + suffix)


def _cut(dice: random.Random, index: Path) -> str:
    size = index.stat().st_size
    left = dice.choice([0, 1, 15, 16, 50, 99, 100, 512, 4096, 8192, size // 2, size - 1, dice.randrange(size)])
    with index.open("r+b") as file:
        file.truncate(left)
    return f"cut to {left} of {size} bytes"


def _zero_header(dice: random.Random, index: Path) -> str:
    count = dice.choice([1, 16, 18, 28, 68, 72, 100])
    return _overwrite(index, 0, bytes(count))


def _header_field(dice: random.Random, index: Path) -> str:
    at = dice.choice([16, 18, 19, 20, 24, 28, 36, 40, 44, 52, 56, 60, 64, 68, 92, 96, dice.randrange(100)])
    return _overwrite(index, at, dice.randbytes(dice.choice([1, 2, 4])))


def _flips(dice: random.Random, index: Path) -> str:
    size = index.stat().st_size
    places = sorted(dice.randrange(100, size) for _ in range(dice.choice([1, 3, 10, 100, 1000])))
    with index.open("r+b") as file:
        for place in places:
            file.seek(place)
            old = file.read(1)[0]
            file.seek(place)
            file.write(bytes([old ^ (1 << dice.randrange(8))]))
    return f"{len(places)} bits flipped, the first at {places[0]}"


def _page(dice: random.Random, index: Path) -> str:
    pages = max(1, index.stat().st_size // 8192)
    number = dice.randrange(pages)
    filling = dice.choice([bytes(8192), b"\xff" * 8192, dice.randbytes(8192)])
    return f"page {number + 1} of {pages}: " + _overwrite(index, number * 8192, filling)


def _swap(dice: random.Random, index: Path) -> str:
    data, pages = index.read_bytes(), index.stat().st_size // 8192
    one, other = dice.randrange(1, pages), dice.randrange(1, pages)
    _overwrite(index, one * 8192, data[other * 8192 : other * 8192 + 8192])
    return f"page {other + 1} written over page {one + 1}"


def _garbage(dice: random.Random, index: Path) -> str:
    data = dice.choice(
        [
            dice.randbytes(dice.choice([1, 100, 5000])),
            b"\0" * 4096,
            b"",
            b"SQLite format 3\0",
            b"<html>",
            b"version https://git-lfs.github.com\n",
        ]
    )
    index.write_bytes(data)
    return f"{len(data)} bytes of garbage: {data[:20]!r}"


def _side_file(dice: random.Random, index: Path) -> str:
    suffix = dice.choice(["-wal", "-shm", "-journal", ".lock"])
    path = _beside(index, suffix)
    old = path.read_bytes() if path.is_file() else b""
    cut = old[: dice.randrange(len(old))] if old else b"x"
    path.write_bytes(
        dice.choice([dice.randbytes(dice.choice([1, 32, 4096, 40_000])), b"\0" * 32_768, cut, b"\xff" * 100])
    )
    return f"{suffix}: {path.stat().st_size} bytes instead of {len(old)}"


def _side_flips(dice: random.Random, index: Path) -> str:
    path = _beside(index, dice.choice(["-wal", "-shm"]))
    if not path.is_file() or not path.stat().st_size:
        return _flips(dice, index)
    return f"{path.name}: " + _overwrite(path, dice.randrange(path.stat().st_size), dice.randbytes(8))


def _gone(dice: random.Random, index: Path) -> str:
    suffix = dice.choice(["", "-wal", "-shm", ".lock"])
    _beside(index, suffix).unlink(missing_ok=True)
    return f"{index.name}{suffix} is deleted"


def _folder(dice: random.Random, index: Path) -> str:
    path = _beside(index, dice.choice(["", "", "-wal", "-shm", ".lock"]))
    path.unlink(missing_ok=True)
    path.mkdir()
    return f"{path.name} is an empty folder"


def _link(dice: random.Random, index: Path) -> str:
    path = _beside(index, dice.choice(["", ".lock"]))
    path.unlink(missing_ok=True)
    path.symlink_to(dice.choice([index.parent / "nowhere", index.parent, path]))
    return f"{path.name} points to {path.readlink()}"


def _mixed(dice: random.Random, index: Path) -> str:
    """The main file of one moment beside the -wal of another."""
    wal = _beside(index, "-wal")
    if not wal.is_file():
        wal.write_bytes(dice.randbytes(8192))
    return _cut(dice, index) + ", and a -wal of another time"


def _inner(dice: random.Random, index: Path) -> str:
    """A database in order that holds what none of ours does, as after a bad restore."""
    statement = dice.choice([
        "DROP TABLE {}", "DROP TABLE {}", "PRAGMA user_version = 0", "PRAGMA writable_schema = 1; UPDATE sqlite_schema SET sql = 'nonsense'",
        "UPDATE meta SET value = 'x'", "DELETE FROM meta",
    ])  # fmt: skip
    with sqlite3.connect(index) as database:
        tables = [
            row[0]
            for row in database.execute(
                "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql NOT LIKE '%VIRTUAL%' ORDER BY name"
            )
        ]
        script = statement.format(dice.choice(tables))
        try:
            database.executescript(script)
        except sqlite3.Error as error:
            script += f" ({error})"
    database.close()
    return script


def _foreign(dice: random.Random, index: Path) -> str:
    for suffix in ("", "-wal", "-shm"):
        _beside(index, suffix).unlink(missing_ok=True)
    database = sqlite3.connect(index)
    database.execute("CREATE TABLE files (id INTEGER PRIMARY KEY, words TEXT)")
    database.execute("INSERT INTO files (words) VALUES ('NOT OURS')")
    database.commit()
    database.close()
    return "a database of another program"


def _foreign_folder(dice: random.Random, index: Path) -> str:
    path = _beside(index, dice.choice(["", "-wal", ".lock"]))
    path.unlink(missing_ok=True)
    path.mkdir()
    (path / "letter.txt").write_text("NOT OURS")
    return f"{path.name} is a folder with a file"


def _overwrite(path: Path, at: int, data: bytes) -> str:
    with path.open("r+b") as file:
        file.seek(at)
        file.write(data)
    return f"{len(data)} bytes written at {at}"


_DAMAGES: dict[str, Damage] = {
    "cut": _cut, "header zeroed": _zero_header, "header field": _header_field, "bits flipped": _flips, "page overwritten": _page, "pages swapped": _swap,
    "garbage": _garbage, "side file": _side_file, "side file flipped": _side_flips, "file deleted": _gone, "folder in its place": _folder,
    "link in its place": _link, "mixed": _mixed, "odd database": _inner, "foreign database": _foreign, "folder with a foreign file": _foreign_folder,
}  # fmt: skip
