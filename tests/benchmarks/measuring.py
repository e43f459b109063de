"""What a default search shows on the workspaces of judged sets: the measures of every question, and what passes the gate."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from memory_core.backends.builtin import BuiltinBackend
from memory_core.config.agent import AgentConfig
from memory_core.config.settings import QuerySettings, SearchSettings
from memory_core.hookspecs import BackendContext
from memory_core.records import Hit, Query
from memory_core.tools.schemas import read_query
from tests.benchmarks.gates import Passed, Probes, probes
from tests.benchmarks.judged import Judged, collapsed, find_sets, load_questions, merge

Search = Callable[[Query], Sequence[Hit]]
MERGED = "-merged"  # behind the name of a set: its workspaces are one


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


def read_question(text: str) -> Query:
    """The query that `memory_search` makes of a question and nothing else."""
    return read_query({"query": text}, QuerySettings())


def measure(
    question: Judged,
    search: Search,
    *,
    quick: bool,
    ranked_chars: int = 700,
    read: Callable[[str], Query] = lambda text: Query(text=text),
) -> Figures:
    """Ask one question, as `read` makes a query of it, and again for a long ranking with snippets of `ranked_chars`."""
    query = read(question.text)
    started = time.perf_counter()
    shown = search(query)
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
    """Yield every set with its workspaces; unless `quick`, one of several workspaces comes again merged into one."""
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
        merged = name + MERGED
        if len(folders) > 1 and not quick and (not only or merged in only):
            yield merged, [Workspace(merged, scratch / merged, merge(folders, scratch / merged), None)]


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
            measure(question, lambda query: backend.memory_search(query).hits, quick=quick, read=read_question)
            for question in workspace.questions
        ]
        passed.add("own", len(figures), len(figures) - round(sum(each.nothing for each in figures)))
        for kind, texts in asdict(workspace.probes).items() if workspace.probes else ():
            passed.add(kind, len(texts), sum(bool(backend.memory_search(Query(text=text)).hits) for text in texts))
        return figures
    finally:
        backend.memory_close()


def interval(ours: Sequence[float], theirs: Sequence[float]) -> tuple[float, float, float]:
    """The mean difference and the ends of its 95 % interval: 2,000 paired bootstrap samples, the same in every run."""
    differences = np.subtract(ours, theirs)
    count = len(differences)
    samples = np.random.default_rng(0).integers(count, size=(2000, count), dtype=np.int32)
    means = np.sort(differences[samples].mean(axis=1))
    return float(differences.mean()), float(means[49]), float(means[1949])
