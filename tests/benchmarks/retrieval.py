"""The share of the evidence that a default search shows, on sets of judged questions.

    python -m tests.benchmarks.retrieval DATA [--sets NAMES] [--quick] [--model MODEL.gguf] [--ablation]
                                         [--save FILE] [--against FILE] [--state FOLDER]

DATA holds, at any depth, one folder a workspace: MEMORY.md or memory/*.md, and questions.json, a list of {id, question, category,
gold: [[path, line], ...], gold_text?: [text, ...]}. The folder above a workspace is its set. Questions of categories 1 to 4 with
gold lines are used. Printed are for every set:

seen     share of the evidence (gold_text, else the gold lines) that stands wholly in the snippets of one default search
R4000    the same in the first 4,000 characters of the ranked text (maxResults 100, no minScore)
R@6      share of gold lines inside the line ranges of the first six results
MRR      mean reciprocal rank of the first result that holds a gold line in its range
nothing  share of questions without any result at the default minScore

Ours, keyword-only and the baselines answer the same questions in the same run; differences come with 95 % intervals from a paired
bootstrap over questions. With a GGUF model (convert_minilm writes one) so do the provider local and a remote one that has the
model's vectors and no tokens. Below stands what passes the default minScore: see gates.py. At the end follow the
conversations in workspaces of several sizes, and how long a search takes among 12,000 chunks.

--quick prints seen, nothing and the gate of the products alone, in a minute. --save keeps every question's seen, and a later run
with --against prints its differences to them. --ablation takes one part at a time out of the product instead. Indexes are
kept in --state and brought up to date.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import random
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from unittest import mock

from memory_core.builtin.backend import BuiltinBackend
from memory_core.config.agent import AgentConfig
from memory_core.config.settings import Local, Remote, SearchSettings, SyncSettings
from memory_core.hookspecs import BackendContext
from memory_core.ranking import passages, scores
from memory_core.records import Hit, Query
from memory_core.search import similarity
from tests.benchmarks import size, thresholds
from tests.benchmarks.baselines import Baselines
from tests.benchmarks.gates import Passed, Probes, probes
from tests.benchmarks.judged import Judged, collapsed, conversations, find_sets, load_questions, merge
from tests.benchmarks.replay import ReplayServer
from tests.command import REPOSITORY

Search = Callable[[Query], Sequence[Hit]]
STATE = REPOSITORY / ".cache" / "retrieval"
MERGED = "locomo"  # the set whose workspaces are searched as one, too


@dataclass(frozen=True)
class Figures:
    """The measures of one question; `seconds` is the time of the default search. With --quick, only it was made."""

    seen: float
    nothing: float
    seconds: float
    r4000: float = 0.0
    r6: float = 0.0
    reciprocal_rank: float = 0.0


@dataclass(frozen=True)
class Workspace:
    """One folder of notes with its judged questions and what else is asked there; `key` names its indexes."""

    key: str
    folder: Path
    questions: Sequence[Judged]
    probes: Probes | None


def measure(question: Judged, search: Search, *, quick: bool, ranked_chars: int = 700) -> Figures:
    """Ask one question as an agent would, and again for a long ranking with snippets of `ranked_chars`."""
    started = time.perf_counter()
    shown = search(Query(text=question.text))
    seconds = time.perf_counter() - started
    text = collapsed("\n".join(hit.snippet for hit in shown))
    seen = sum(gold in text for gold in question.evidence) / len(question.evidence)
    if quick:
        return Figures(seen, float(not shown), seconds)
    ranked = search(Query(text=question.text, max_results=100, min_score=0.0, max_snippet_chars=ranked_chars))
    head = collapsed("\n".join(hit.snippet for hit in ranked)[:4000])
    ranks = [
        rank
        for rank, hit in enumerate(ranked, 1)
        for path, line, _ in question.gold
        if hit.path == path and hit.start_line <= line <= hit.end_line
    ]
    inside = sum(
        any(hit.path == path and hit.start_line <= line <= hit.end_line for hit in ranked[:6])
        for path, line, _ in question.gold
    )
    return Figures(
        seen=seen,
        nothing=float(not shown),
        seconds=seconds,
        r4000=sum(gold in head for gold in question.evidence) / len(question.evidence),
        r6=inside / len(question.gold),
        reciprocal_rank=1 / min(ranks) if ranks else 0.0,
    )


def workspaces(data: Path, scratch: Path, only: Sequence[str], *, quick: bool) -> Iterator[tuple[str, list[Workspace]]]:
    """Every set with its workspaces; the conversations come again merged into one."""
    sets = find_sets(data)
    questions = {name: [load_questions(folder) for folder in folders] for name, folders in sets.items()}
    known = {name: [each for several in own for each in several] for name, own in questions.items()}
    for name, folders in sets.items():
        if not only or name in only:
            yield (
                name,
                [
                    Workspace(f"{name}-{folder.name}", folder, own, probes(name, number, len(folders), known, own))
                    for number, (folder, own) in enumerate(zip(folders, questions[name], strict=True))
                ],
            )
    if MERGED in sets and not quick and (not only or "merged" in only):
        target = scratch / "merged"
        yield "merged", [Workspace("merged", target, merge(sets[MERGED], target), None)]


def evaluate(
    workspace: Workspace, state: Path, settings: SearchSettings, passed: Passed, *, quick: bool
) -> list[Figures]:
    """Index one workspace and ask all its questions; counts in `passed` what gets a result."""
    state.mkdir(parents=True, exist_ok=True)
    config = AgentConfig(
        agent="main", workspace=workspace.folder, state_dir=state, store_path=state / "index.sqlite", search=settings
    )
    backend = BuiltinBackend(BackendContext(config=config))
    try:
        backend.memory_sync(force=False, progress=None)
        figures = [
            measure(question, lambda query: backend.memory_search(query).hits, quick=quick)
            for question in workspace.questions
        ]
        passed.add("own", len(figures), len(figures) - round(sum(each.nothing for each in figures)))
        for kind, texts in asdict(workspace.probes).items() if workspace.probes else ():
            passed.add(kind, len(texts), sum(bool(backend.memory_search(Query(text=text)).hits) for text in texts))
        return figures
    finally:
        backend.memory_close()


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


def interval(ours: Sequence[float], theirs: Sequence[float]) -> str:
    """The mean difference with its 95 % interval: 2,000 paired bootstrap samples, the same in every run."""
    differences = [a - b for a, b in zip(ours, theirs, strict=True)]
    rng = random.Random(0)
    count = len(differences)
    means = sorted(sum(rng.choices(differences, k=count)) / count for _ in range(2000))
    return f"{sum(differences) / count:+.3f} [{means[49]:+.3f}, {means[1949]:+.3f}]"


def compare(ours: Sequence[Figures], theirs: Sequence[Figures], *, quick: bool) -> str:
    seen = interval([each.seen for each in ours], [each.seen for each in theirs])
    return f"seen {seen}" + (
        "" if quick else f"  R4000 {interval([each.r4000 for each in ours], [each.r4000 for each in theirs])}"
    )


# What is taken out, and how: (module, constant, value).
ABLATIONS: dict[str, tuple[object, str, object]] = {
    "late interaction": (scores, "WITH_TABLE", scores.WITHOUT_TOKENS),
    "late interaction with the chunk around": (similarity, "AROUND", 0.0),
    "cosines of windows": (scores, "WITH_TABLE", (0.0, 1.0)),
    "BM25 of units": (scores, "UNIT_SHARE", 0.0),
    "BM25 of chunks": (scores, "UNIT_SHARE", 1.0),
    "dates in questions": (scores, "PERIOD_BONUS", 0.0),
    "passages of several units": (passages, "SPAN", -1),
    "sharing of room in long lists": (passages, "SHARED", 100),
}


def products(model: ReplayServer | None) -> dict[str, SearchSettings]:
    """The product as it comes, without vectors, and with a model: local, and its vectors from a remote provider."""
    if model is None:
        return dict(thresholds.OFFLINE)
    sync, name = SyncSettings(on_search=False), model.model.stem
    local, remote = Local(model_path=str(model.model)), Remote(base_url=model.url)
    return {
        **thresholds.OFFLINE,
        f"local {name}": SearchSettings(provider="local", local=local, sync=sync),
        f"remote {name}": SearchSettings(provider="openai-compatible", model=name, remote=remote, sync=sync),
    }


@dataclass(frozen=True)
class Run:
    """One way to measure: which systems, where their indexes are kept, and with or without long rankings."""

    systems: Mapping[str, SearchSettings]
    state: Path
    ablation: bool
    quick: bool

    def measure(self, several: Sequence[Workspace]) -> tuple[dict[str, list[Figures]], dict[str, Passed]]:
        """The figures of every system on the workspaces of a set, the product as it comes first, and what passes the gate."""
        found: dict[str, list[Figures]] = {}
        gates: dict[str, Passed] = {}
        for workspace in several:
            for name, settings in self.systems.items():
                figures = self._evaluate(workspace, settings, gates.setdefault(name, Passed()))
                found.setdefault(name, []).extend(figures)
            default = next(iter(self.systems.values()))
            for name, patch in ABLATIONS.items() if self.ablation else ():
                with mock.patch.object(*patch):
                    figures = self._evaluate(workspace, default, gates.setdefault(f"without {name}", Passed()))
                    found.setdefault(f"without {name}", []).extend(figures)
            if not self.quick and not self.ablation:
                folder = self._folder(workspace, default)
                for name, figures in evaluate_baselines(workspace.questions, folder).items():
                    found.setdefault(name, []).extend(figures)
        return found, gates

    def _evaluate(self, workspace: Workspace, settings: SearchSettings, passed: Passed) -> list[Figures]:
        return evaluate(workspace, self._folder(workspace, settings), settings, passed, quick=self.quick)

    def _folder(self, workspace: Workspace, settings: SearchSettings) -> Path:
        return self.state / f"{workspace.key}-{settings.provider}"

    def report(self, title: str, found: Mapping[str, Sequence[Figures]]) -> None:
        """One table: every system, then how far the first is ahead of each other."""
        print(f"\n{title}")
        ours, *others = found
        for name, figures in found.items():
            print(line(name, figures, quick=self.quick))
        for name in others:
            print(f"  default minus {name:26s} {compare(found[ours], found[name], quick=self.quick)}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--sets", default="", help="some sets, by name, with commas between; `merged` is one of them")
    parser.add_argument("--quick", action="store_true", help="only the products, only seen, nothing and the gate")
    parser.add_argument("--save", type=Path, metavar="FILE", help="keep the figures of every question")
    parser.add_argument("--against", type=Path, metavar="FILE", help="compare with the figures kept in a file")
    parser.add_argument("--state", type=Path, default=STATE, help="where indexes are kept; default: .cache/retrieval")
    either = parser.add_mutually_exclusive_group()
    either.add_argument("--model", type=Path, metavar="MODEL.gguf", help="also with this model, local and remote")
    either.add_argument("--ablation", action="store_true", help="leave out one part at a time instead")
    options = parser.parse_args()
    only = [name for name in options.sets.split(",") if name]
    kept: dict[str, dict[str, list[float]]] = {}
    before = json.loads(options.against.read_text(encoding="utf-8")) if options.against else {}
    with contextlib.ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="memory-core-bench-")))
        systems = products(stack.enter_context(ReplayServer(options.model.absolute())) if options.model else None)
        run = Run(systems, options.state.absolute(), options.ablation, options.quick)
        for name, several in workspaces(options.data.absolute(), scratch, only, quick=options.quick):
            found, gates = run.measure(several)
            questions = sum(len(each.questions) for each in several)
            run.report(f"{name}, {questions} questions in {len(several)} workspace(s)", found)
            for system, passed in gates.items():
                print(f"  gate, {system:26s} {passed}", flush=True)
            kept[name] = {system: [each.seen for each in figures] for system, figures in found.items()}
            for system, seen in before.get(name, {}).items():
                if system in found:
                    print(f"  now minus before, {system:18s} seen {interval(kept[name][system], seen)}", flush=True)
        if options.save:
            options.save.write_text(json.dumps(kept), encoding="utf-8")
        if options.quick or only or not conversations(options.data):
            return
        tables = thresholds.ablated if options.ablation else thresholds.tables
        for table in tables(options.data, scratch, systems):
            print(table, flush=True)
        if not options.ablation:
            print()
            for provider in size.PROVIDERS:
                print(size.measured(options.data, scratch / f"size-{provider}", provider=provider), flush=True)


if __name__ == "__main__":
    main()
