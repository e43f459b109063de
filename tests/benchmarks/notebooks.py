"""Measure what a default search shows of a person's dated notebooks, by kind of question.

    python -m tests.benchmarks.notebooks FOLDER... [--provider static|none] [--model FOLDER] [--json FILE] [--failures KIND]

A FOLDER holds, at any depth, notebooks: MEMORY.md, memory/*.md and questions.json, a list of {id, question, kind, gold: [[path,
line], ...], gold_text: [text, ...], stale: [[path, line], ...], today}. Every question is asked with one default call of
`memory_search`, on its day `today`. Printed are, by notebook and over all, for every kind:

seen     share of the gold text that is shown: in a snippet of its note, white space collapsed and list markers left out
first    share of questions whose first hit holds gold text
right    of current, then, person: the last gold text is shown, and no line of `stale` stands in a hit before it
nothing  share of questions without any hit

Of questions that the notes do not answer (kind none): answered, with any hit; confident, whose best score is at least .6. Then
auc: how often an answerable question (plain, verb, keywords, person, current) has a higher best score than one that is not. And
sure: the share of answerable ones (plain, verb, keywords) whose best score is at least .6. A last table tells what scores mean.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import pairwise
from pathlib import Path
from typing import Any

from memory_core.config.load import ConfigSource
from memory_core.plugin.memory import Memory
from tests.benchmarks.judged import collapsed, find_sets

KINDS = ("plain", "verb", "keywords", "person", "then", "current", "typo", "list", "date", "paraphrase")
JUDGED_RIGHT = ("person", "then", "current")
ANSWERABLE = ("plain", "verb", "keywords", "person", "current")
SURE = ("plain", "verb", "keywords")
BANDED = (*ANSWERABLE, "then", "list")
CONFIDENT, BANDS = 0.6, (0.35, 0.45, 0.6, 0.75, 0.9)


@dataclass(frozen=True)
class Asked:
    """One question with its figures, each 0..1; `best` is the score of the best hit, 0 without a hit."""

    notebook: str
    id: str
    kind: str
    question: str
    seen: float
    first: float
    right: float
    hits: int
    best: float
    missed: tuple[str, ...]


def load_line(folder: Path, path: str, number: int) -> str:
    """Return a line of a note, collapsed."""
    return collapsed((folder / path).read_text(encoding="utf-8").split("\n")[number - 1])


def holds(hit: Mapping[str, Any], path: str, text: str) -> bool:
    return bool(hit["path"] == path and text in collapsed(hit["snippet"]))


def ask(memory: Memory, folder: Path, row: Mapping[str, Any]) -> Asked:
    """Ask one question and judge the answer."""
    hits: Sequence[Mapping[str, Any]] = memory.call_tool("memory_search", {"query": row["question"]}).get("results", [])
    paths = [path for path, _ in row["gold"]]
    gold = [*zip(paths, map(collapsed, row["gold_text"]), strict=True)]
    stale = [(path, load_line(folder, path, line)) for path, line in row["stale"]]
    missed = tuple(text for path, text in gold if not any(holds(hit, path, text) for hit in hits))
    right = 0.0
    if gold:
        last = next((at for at, hit in enumerate(hits) if holds(hit, *gold[-1])), None)
        right = float(last is not None and not any(holds(hit, *each) for hit in hits[:last] for each in stale))
    return Asked(
        notebook=folder.name,
        id=row["id"],
        kind=row["kind"],
        question=row["question"],
        seen=1 - len(missed) / len(gold) if gold else 0.0,
        first=float(bool(hits) and any(holds(hits[0], *each) for each in gold)),
        right=right,
        hits=len(hits),
        best=max((hit["score"] for hit in hits), default=0.0),
        missed=missed,
    )


def evaluate(folder: Path, settings: Mapping[str, Any]) -> Iterator[Asked]:
    """Index one notebook into a temporary folder and ask all its questions, each on its day."""
    rows = json.loads((folder / "questions.json").read_text(encoding="utf-8"))
    day = date.fromisoformat(rows[0]["today"])
    with tempfile.TemporaryDirectory(prefix="memory-core-bench-") as state:
        source = ConfigSource({"memorySearch": settings}, workspace=folder.absolute(), state_dir=Path(state))
        with Memory(source, today=lambda: day) as memory:
            memory.sync()
            for row in rows:
                day = date.fromisoformat(row["today"])
                yield ask(memory, folder, row)


def mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def auc(asked: Sequence[Asked]) -> float:
    """Return the share of pairs in which the answerable question has the higher best score; equal scores count half."""
    others = [each.best for each in asked if each.kind == "none"]
    return mean([(each.best > o) + (each.best == o) / 2 for each in asked if each.kind in ANSWERABLE for o in others])


def summarise(asked: Sequence[Asked]) -> dict[str, dict[str, float]]:
    """Return the figures of every kind, of all answerable ones as "all", and of those that are not as "none"."""
    groups = {kind: [each for each in asked if each.kind == kind] for kind in KINDS}
    groups["all"] = [each for each in asked if each.kind != "none"]
    figures: dict[str, dict[str, float]] = {}
    for kind, rows in groups.items():
        if rows:
            figures[kind] = {
                "n": len(rows),
                "seen": mean([each.seen for each in rows]),
                "first": mean([each.first for each in rows]),
                **({"right": mean([each.right for each in rows])} if kind in JUDGED_RIGHT else {}),
                "nothing": mean([not each.hits for each in rows]),
            }
    none = [each for each in asked if each.kind == "none"]
    figures["none"] = {
        "n": len(none),
        "answered": mean([bool(each.hits) for each in none]),
        "confident": mean([each.best >= CONFIDENT for each in none]),
        "auc": auc(asked),
        "sure": mean([each.best >= CONFIDENT for each in asked if each.kind in SURE]),
    }
    return figures


def table(figures: Mapping[str, Mapping[str, float]]) -> str:
    """Return the figures as a Markdown table, the row of none below it."""
    columns = ("n", "seen", "first", "right", "nothing")
    lines = [f"| kind | {' | '.join(columns)} |", "|---" * (len(columns) + 1) + "|"]
    for kind, row in figures.items():
        if kind != "none":
            cells = (
                f"{row[name]:.0f}" if name == "n" else f"{row[name]:.3f}" if name in row else "" for name in columns
            )
            lines.append(f"| {kind} | {' | '.join(cells)} |")
    none = figures["none"]
    lines.append(
        f"\nnone ({none['n']:.0f}): answered {none['answered']:.3f}, confident {none['confident']:.3f};"
        f" auc {none['auc']:.3f}; sure {none['sure']:.3f}"
    )
    return "\n".join(lines)


def show_bands(asked: Sequence[Asked]) -> str:
    """Return a Markdown table of what the best score means, over all questions but those of paraphrases and misspelt words."""
    lines = ["| best score | answers | its answer is shown | the notes hold none |", "|---" * 4 + "|"]
    for low, high in pairwise((*BANDS, 1.01)):
        own = [each for each in asked if each.hits and each.kind in (*BANDED, "none") and low <= each.best < high]
        shown, none = mean([each.seen > 0 for each in own]), mean([each.kind == "none" for each in own])
        lines.append(f"| {low:.2f} to {min(high, 1.0):.2f} | {len(own)} | {shown:.2f} | {none:.2f} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, nargs="+", metavar="FOLDER")
    parser.add_argument("--provider", choices=("static", "none"), default="static")
    parser.add_argument("--model", type=Path, metavar="MODEL", help="a local model instead: a GGUF file or a folder")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write figures and questions there")
    parser.add_argument("--failures", metavar="KIND", help='print what is missed of a kind; "all" of every kind')
    options = parser.parse_args()
    settings: dict[str, Any] = {"provider": options.provider}
    if options.model:
        settings = {"provider": "local", "local": {"modelPath": str(options.model.absolute())}}
    settings["sync"] = {"onSearch": False}
    folders = sorted({path for data in options.data for several in find_sets(data).values() for path in several})
    asked: list[Asked] = []
    for folder in folders:
        own = [*evaluate(folder, settings)]
        asked += own
        print(f"\n{folder.name}\n\n{table(summarise(own))}", flush=True)
    if len(folders) > 1:
        print(f"\nall {len(folders)} notebooks\n\n{table(summarise(asked))}")
    print(f"\n{show_bands(asked)}")
    for each in asked:
        wrong = each.best >= CONFIDENT if each.kind == "none" else bool(each.missed)
        wrong = wrong or (each.kind in JUDGED_RIGHT and not each.right)
        if options.failures in (each.kind, "all") and wrong:
            print(f"\n{each.notebook} {each.id} [{each.best:.2f}] {each.question}")
            for text in each.missed:
                print(f"    {text}")
    if options.json:
        kept = {"figures": summarise(asked), "questions": [{**vars(each)} for each in asked]}
        options.json.write_text(json.dumps(kept, ensure_ascii=False, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
