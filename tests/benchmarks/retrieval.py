"""The share of the evidence that a default search shows, on a folder of conversations with judged questions.

    python -m tests.benchmarks.retrieval DATA [--only NAME] [--model MODEL.gguf | --ablation]

DATA holds one folder a conversation: MEMORY.md, memory/*.md and questions.json, a list of
{id, question, category, gold: [[path, line], ...]}. Questions of categories 1 to 4 with gold lines are used. Printed are:

seen     share of gold lines whose text stands wholly in the snippets of one default search
R4000    share of gold lines wholly inside the first 4,000 characters of the ranked text (maxResults 100, no minScore)
R@6      share of gold lines inside the line ranges of the first six results
MRR      mean reciprocal rank of the first result that holds a gold line in its range
nothing  share of questions without any result at the default minScore

Ours, keyword-only and the baselines answer the same questions in the same run; differences come with 95 % intervals from a
paired bootstrap over questions. With a GGUF model (convert_minilm writes one) so do the provider local and a remote one that
has the model's vectors and no tokens. At the end stands what passes the default minScore, questions and what no note answers,
and how long a search takes among 12,000 chunks. --ablation takes one part at a time out of the product instead.
"""

from __future__ import annotations

import argparse
import contextlib
import random
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
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
from tests.benchmarks.judged import Judged, collapsed, conversations, load_questions, merge
from tests.benchmarks.replay import ReplayServer

Search = Callable[[Query], Sequence[Hit]]


@dataclass(frozen=True)
class Figures:
    """The measures of one question; `seconds` is the time of the default search."""

    seen: float
    r4000: float
    r6: float
    reciprocal_rank: float
    nothing: float
    seconds: float


def measure(question: Judged, search: Search, *, ranked_chars: int = 700) -> Figures:
    """Ask one question twice: as an agent would, and for a long ranking with snippets of `ranked_chars`."""
    started = time.perf_counter()
    shown = search(Query(text=question.text))
    seconds = time.perf_counter() - started
    ranked = search(Query(text=question.text, max_results=100, min_score=0.0, max_snippet_chars=ranked_chars))
    text = collapsed("\n".join(hit.snippet for hit in shown))
    head = collapsed("\n".join(hit.snippet for hit in ranked)[:4000])
    count = len(question.gold)
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
        seen=sum(gold in text for _, _, gold in question.gold) / count,
        r4000=sum(gold in head for _, _, gold in question.gold) / count,
        r6=inside / count,
        reciprocal_rank=1 / min(ranks) if ranks else 0.0,
        nothing=float(not shown),
        seconds=seconds,
    )


def workspaces(data: Path, scratch: Path) -> Iterator[tuple[str, Path, list[Judged]]]:
    """Every conversation alone, then all merged."""
    folders = conversations(data)
    for folder in folders:
        yield folder.name, folder, load_questions(folder)
    target = scratch / "merged"
    yield "merged", target, merge(folders, target)


def evaluate(workspace: Path, questions: Sequence[Judged], state: Path, settings: SearchSettings) -> list[Figures]:
    """Index one workspace and ask all its questions."""
    config = AgentConfig(
        agent="main", workspace=workspace, state_dir=state, store_path=state / "index.sqlite", search=settings
    )
    backend = BuiltinBackend(BackendContext(config=config))
    try:
        backend.memory_sync(force=False, progress=None)
        return [measure(question, lambda query: backend.memory_search(query).hits) for question in questions]
    finally:
        backend.memory_close()


def evaluate_baselines(questions: Sequence[Judged], state: Path) -> dict[str, list[Figures]]:
    """All baselines over the index that `evaluate` left; their ranked text is whole chunks."""
    baselines = Baselines(state / "index.sqlite")
    try:
        return {
            name: [measure(question, search, ranked_chars=10_000) for question in questions]
            for name, search in baselines.searches().items()
        }
    finally:
        baselines.close()


def line(name: str, figures: Sequence[Figures]) -> str:
    count = len(figures)

    def mean(pick: Callable[[Figures], float]) -> float:
        return sum(map(pick, figures)) / count

    p50 = sorted(figure.seconds for figure in figures)[count // 2] * 1000
    return (
        f"{name:28s} seen {mean(lambda f: f.seen):.3f}  R4000 {mean(lambda f: f.r4000):.3f}  R@6 {mean(lambda f: f.r6):.3f}"
        f"  MRR {mean(lambda f: f.reciprocal_rank):.3f}  nothing {mean(lambda f: f.nothing):.3f}  p50 {p50:5.1f} ms"
    )


def interval(ours: Sequence[Figures], theirs: Sequence[Figures], pick: Callable[[Figures], float]) -> str:
    """The mean difference with its 95 % interval: 2,000 paired bootstrap samples, the same in every run."""
    differences = [pick(a) - pick(b) for a, b in zip(ours, theirs, strict=True)]
    rng = random.Random(0)
    count = len(differences)
    means = sorted(sum(rng.choices(differences, k=count)) / count for _ in range(2000))
    return f"{sum(differences) / count:+.3f} [{means[49]:+.3f}, {means[1949]:+.3f}]"


def compare(ours: Sequence[Figures], name: str, theirs: Sequence[Figures]) -> str:
    seen, r4000 = interval(ours, theirs, lambda f: f.seen), interval(ours, theirs, lambda f: f.r4000)
    return f"  default minus {name:26s} seen {seen}  R4000 {r4000}"


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


def answers(
    workspace: Path, questions: Sequence[Judged], state: Path, systems: Mapping[str, SearchSettings]
) -> dict[str, list[Figures]]:
    """The figures of the products and of the baselines; the product as it comes first."""
    found = {
        name: evaluate(workspace, questions, state / settings.provider, settings) for name, settings in systems.items()
    }
    return found | evaluate_baselines(questions, state / "static")


def ablated(
    workspace: Path, questions: Sequence[Judged], state: Path, systems: Mapping[str, SearchSettings]
) -> dict[str, list[Figures]]:
    """The figures of the product and of the product without one part each."""
    whole, without_vectors = systems.values()
    found = {"default (static)": evaluate(workspace, questions, state / "static", whole)}
    for name, (module, constant, value) in ABLATIONS.items():
        with mock.patch.object(module, constant, value):
            found[f"without {name}"] = evaluate(workspace, questions, state / "static", whole)
    return found | {"without vectors": evaluate(workspace, questions, state / "none", without_vectors)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--only", help="one conversation, or merged")
    either = parser.add_mutually_exclusive_group()
    either.add_argument("--model", type=Path, metavar="MODEL.gguf", help="also with this model, local and remote")
    either.add_argument("--ablation", action="store_true", help="leave out one part at a time instead")
    options = parser.parse_args()
    every: dict[str, list[Figures]] = {}
    with contextlib.ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="memory-core-bench-")))
        systems = products(stack.enter_context(ReplayServer(options.model.absolute())) if options.model else None)
        for name, workspace, questions in workspaces(options.data, scratch):
            if options.only and name != options.only:
                continue
            measured = ablated if options.ablation else answers
            found = measured(workspace, questions, scratch / f"state-{name}", systems)
            report(f"{name}, {len(questions)} questions", found)
            if name != "merged":
                for system, figures in found.items():
                    every.setdefault(system, []).extend(figures)
        if options.only:
            return
        report("all conversations, each in its own workspace", every)
        tables = thresholds.ablated if options.ablation else thresholds.tables
        for table in tables(options.data, scratch, systems):
            print(table, flush=True)
        if not options.ablation:
            print()
            for provider in size.PROVIDERS:
                print(size.measured(options.data, scratch / f"size-{provider}", provider=provider), flush=True)


def report(title: str, found: Mapping[str, Sequence[Figures]]) -> None:
    """One table: every system, then how far the first is ahead of each other."""
    print(f"\n{title}")
    ours, *others = found
    for name, figures in found.items():
        print(line(name, figures))
    for name in others:
        print(compare(found[ours], name, found[name]), flush=True)


if __name__ == "__main__":
    main()
