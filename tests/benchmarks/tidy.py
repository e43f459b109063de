"""`make bench-tidy DATA=folder`: how much of what tidy proposes for notebooks with judged questions is right, and what it misses.

A folder holds notebooks as `make bench-notebooks` takes them: their questions of the kinds "current" and "then" name outdated
lines and the lines that replace them. A proposal that these do not name is right or wrong by the list
tests/data/tidy/judged.txt: a reader has judged each from its two lines alone. What stands in neither counts as wrong, and is
printed.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

from memory_core.config.load import load_config
from memory_core.upkeep.proposals import Proposal
from memory_core.upkeep.tidy import Tidy

DATA = Path(__file__).parents[1] / "data/tidy"
Place = tuple[str, int]


class Notebook(NamedTuple):
    """A notebook: its notes by path, and for each outdated line those that may replace it."""

    name: str
    notes: Mapping[str, str]
    later: Mapping[Place, set[Place]]


class Score(NamedTuple):
    """The counts of a notebook: lines that were proposed, and lines that were to be found."""

    proposals: int
    right: int
    found: int
    outdated: int
    others: int
    seconds: float


def load_judged(folder: Path) -> Notebook:
    """Load a notebook with questions.json."""
    notes = {path.relative_to(folder).as_posix(): path.read_text("utf-8") for path in sorted(folder.rglob("*.md"))}
    later: defaultdict[Place, set[Place]] = defaultdict(set)
    for question in json.loads((folder / "questions.json").read_text("utf-8")):
        gold, stale = ([(path, line) for path, line in question.get(key) or ()] for key in ("gold", "stale"))
        if question["kind"] == "current":
            chain = sorted([*stale, *gold[-1:]], key=lambda place: _find_day(place[0]))
            for number, place in enumerate(chain[:-1]):
                later[place].update(chain[number + 1 :])
        elif question["kind"] == "then":
            for place in gold:
                later[place].update(stale)
    return Notebook(folder.name, notes, later)


def load_marked(file: Path) -> Notebook:
    """Load a notebook of one file: "== path" begins a note, and a line may end with the number of the fact that it states."""
    notes: dict[str, list[str]] = {}
    states: defaultdict[str, list[Place]] = defaultdict(list)
    for line in file.read_text("utf-8").splitlines():
        if line.startswith("== "):
            lines = notes.setdefault(line[3:], [])
            continue
        text, _, mark = line.partition(" «")
        lines.append(text)
        if mark:
            states[mark].append((next(reversed(notes)), len(lines)))
    later = {place: set(places[at + 1 :]) for places in states.values() for at, place in enumerate(places[:-1])}
    return Notebook(file.stem, {path: "\n".join(lines) + "\n" for path, lines in notes.items()}, later)


def _find_day(path: str) -> str:
    found = re.search(r"\d{4}-\d\d-\d\d", path)
    return found[0] if found else ""


def sign(proposal: Proposal) -> str:
    """Return the name of a pair of lines in the list of what was judged."""
    return blake2b(f"{proposal.text}\n{proposal.evidence[0].text}".encode(), digest_size=6).hexdigest()


def read_judged() -> dict[str, bool]:
    """Return which pairs a reader has found right."""
    lines = [
        line.split() for line in (DATA / "judged.txt").read_text("utf-8").splitlines() if line[:1] not in ("#", "")
    ]
    return {name: verdict == "right" for verdict, name in lines}


def measure(notebook: Notebook, scratch: Path) -> tuple[Score, list[tuple[bool, Proposal]]]:
    """Run tidy on a notebook, and judge its proposals for outdated lines."""
    for path, text in notebook.notes.items():
        place = scratch / "ws" / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, "utf-8")
    tidy = Tidy(load_config({}, workspace=scratch / "ws", state_dir=scratch / "state").agent("main"))
    begun = time.perf_counter()
    found = tidy.run(shown_chars=16_000)
    seconds = time.perf_counter() - begun
    tidy.close()
    judged, verdicts, hit = read_judged(), [], set()
    for each in found:
        if each.kind == "outdated":
            line = (each.path, each.line)
            named = (each.evidence[0].path, each.evidence[0].line) in notebook.later.get(line, ())
            hit.update([line] if named else [])
            verdicts.append((named or judged.get(sign(each), False), each))
    right = sum(good for good, _ in verdicts)
    others = len(found) - len(verdicts)
    return Score(len(verdicts), right, len(hit), len(notebook.later), others, seconds), verdicts


def _find_notebooks(folder: Path) -> Iterator[Notebook]:
    yield from (load_judged(each.parent) for each in sorted(folder.glob("*/questions.json")))
    yield from (load_marked(each) for each in sorted(folder.glob("*.txt")))


def main(folder: Path) -> None:
    """Print a row for each notebook, and what is wrong."""
    scores = []
    for notebook in _find_notebooks(folder):
        with tempfile.TemporaryDirectory() as scratch:
            score, verdicts = measure(notebook, Path(scratch))
        for good, each in verdicts:
            if not good:
                print(
                    f"  wrong? {sign(each)} {each.score} {each.path}:{each.line} {each.text} => {each.evidence[0].text}"
                )
        print(_describe(notebook.name, score), f"{score.others} other proposals, {score.seconds:.1f} s", flush=True)
        scores.append(score)
    proposals, right, found, outdated = (sum(each[at] for each in scores) for at in range(4))
    print(_describe("all", Score(int(proposals), int(right), int(found), int(outdated), 0, 0.0)))


def _describe(name: str, score: Score) -> str:
    precision, recall = score.right / max(score.proposals, 1), score.found / max(score.outdated, 1)
    counts = f"{score.proposals} proposals, {score.right} right ({precision:.2f})"
    return f"{name}: {counts}, found {score.found} of {score.outdated} outdated lines ({recall:.2f})"


if __name__ == "__main__":
    main(Path(sys.argv[1]))
