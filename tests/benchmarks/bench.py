"""Times of our operations, beside plain SQLite and numpy, which bound them: python -m tests.benchmarks.bench [--no-targets]

Every figure is a median of at least 30 runs (a cold index: of 3), wall clock, in milliseconds unless it says otherwise.
Beside each stands a baseline from the same run: the bare interpreter, a plain FTS5 query of the same index with all words
joined by OR, or numpy's product with all vectors. Exit code 1 when a target is missed.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from memory_core.backends.builtin import BuiltinBackend
from memory_core.config.agent import AgentConfig
from memory_core.config.load import ConfigSource
from memory_core.config.settings import ProviderId, SearchSettings, SyncSettings
from memory_core.hookspecs import BackendContext
from memory_core.plugin.memory import Memory
from memory_core.records import Query
from memory_core.text.terms import extract_words
from tests.benchmarks.daily_notes import Vocabulary, questions

RUNS = 31
NOTE_CHARS = 3500
CHUNKS_A_NOTE = 3.3


@dataclass
class Report:
    """Prints figures as they come and remembers which targets were missed."""

    missed: list[str] = field(default_factory=list)

    def line(self, name: str, value: float, unit: str, *, target: float | None = None, baseline: str = "") -> None:
        verdict = ""
        if target is not None:
            verdict = f"target {target:g} {'ok' if value < target else 'MISSED'}"
            if value >= target:
                self.missed.append(name)
        print(f"{name:44s} {value:9.2f} {unit:3s} {verdict:20s} {baseline}", flush=True)


def write_notes(workspace: Path, count: int, *, seed: int = 1) -> None:
    """Notes of about 3,500 characters under workspace/memory."""
    words, rng = Vocabulary(seed), random.Random(seed)
    (workspace / "memory").mkdir(parents=True)
    for number in range(count):
        lines, size = [f"# {words.text(3)}"], 0
        while size < NOTE_CHARS:
            lines += ["", f"## {words.text(3)}", ""] if rng.random() < 0.08 else []
            lines.append(f"- {words.text(rng.randint(8, 30))}")
            size += len(lines[-1])
        (workspace / "memory" / f"note-{number:05d}.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


def medians(run: Callable[[], object], *, runs: int = RUNS) -> tuple[float, float]:
    """Median and 95th percentile in milliseconds."""
    taken = []
    for _ in range(runs):
        started = time.perf_counter()
        run()
        taken.append((time.perf_counter() - started) * 1000)
    taken.sort()
    return statistics.median(taken), taken[int(len(taken) * 0.95)]


def backend(workspace: Path, state: Path, provider: ProviderId) -> BuiltinBackend:
    settings = SearchSettings(provider=provider, sync=SyncSettings(on_search=False))
    return BuiltinBackend(
        BackendContext(
            config=AgentConfig(
                agent="main",
                workspace=workspace,
                state_dir=state,
                store_path=state / f"{provider}.sqlite",
                search=settings,
            )
        )
    )


def process(arguments: Sequence[str], state: Path) -> None:
    """One whole process; it must succeed."""
    environment = {**os.environ, "MEMORY_CORE_STATE_DIR": str(state)}
    subprocess.run([sys.executable, *arguments], env=environment, check=True, stdout=subprocess.DEVNULL, timeout=60)


def bench_index(report: Report, scratch: Path) -> None:
    """200 notes: first sync, a sync that finds nothing to do, the memory it all takes."""
    workspace = scratch / "notes-200"
    size = sum(path.stat().st_size for path in workspace.rglob("*.md"))
    seconds = []
    for number in range(3):
        state = scratch / f"cold-{number}"
        store = backend(workspace, state, "static")
        started = time.perf_counter()
        store.memory_sync(force=False, progress=None)
        seconds.append(time.perf_counter() - started)
        store.memory_close()
    store = backend(workspace, scratch / "cold-0", "static")
    noop, _ = medians(lambda: store.memory_sync(force=False, progress=None))
    store.memory_close()
    read, _ = medians(lambda: [path.read_bytes() for path in workspace.rglob("*.md")])
    report.line(f"cold index, 200 notes, {size // 1000} kB, static", statistics.median(seconds), "s", target=2.5)
    report.line("sync with nothing to do", noop, "ms", target=100, baseline=f"reading all notes {read:.1f}")


def bench_search(report: Report, scratch: Path, chunks: int, target: float) -> None:
    """Search in a process that has searched before."""
    workspace = scratch / f"chunks-{chunks}"
    write_notes(workspace, round(chunks / CHUNKS_A_NOTE))
    asked = questions(RUNS * 4)
    providers: tuple[ProviderId, ...] = ("static", "none")
    for provider in providers:
        store = backend(workspace, scratch / f"state-{chunks}", provider)
        count = store.memory_sync(force=False, progress=None).chunks
        for text in asked[:10]:
            store.memory_search(Query(text=text))
        turn = iter(asked * 2)
        p50, p95 = medians(lambda: store.memory_search(Query(text=next(turn))), runs=len(asked))  # noqa: B023 -- run at once
        store.memory_close()
        plain = plain_fts(scratch / f"state-{chunks}" / f"{provider}.sqlite", asked)
        report.line(
            f"search p50, {count:,} chunks, {provider}", p50, "ms", target=target, baseline=f"plain FTS5 OR {plain:.1f}"
        )
        report.line(f"search p95, {count:,} chunks, {provider}", p95, "ms")
    report.line("  numpy product with all vectors", _numpy_product(scratch / f"state-{chunks}" / "static.sqlite"), "ms")


def bench_layers(report: Report, scratch: Path) -> None:
    """Search in three layers of 1,000 chunks each and in one of them, in turns, so that a busy machine slows both."""
    write_notes(scratch / "all", round(3_000 / CHUNKS_A_NOTE))
    folders = {f"layer-{number}": scratch / f"layer-{number}" for number in range(3)}
    for number, note in enumerate(sorted((scratch / "all").rglob("*.md"))):
        folder = folders[f"layer-{number % 3}"] / "memory"
        folder.mkdir(parents=True, exist_ok=True)
        note.rename(folder / note.name)
    first, *others = folders
    asked = questions(RUNS * 4)
    seconds: tuple[list[float], list[float]] = [], []
    with ExitStack() as opened:
        memories = []
        for layers in ([], others):
            settings = {
                "memorySearch": {"provider": "static", "sync": {"onSearch": False}},
                "memory": {"layers": {name: str(folders[name]) for name in layers}},
            }
            source = ConfigSource(settings, workspace=folders[first], state_dir=scratch / f"state-{len(layers)}-layers")
            memories.append(opened.enter_context(Memory(source)))
            memories[-1].sync()
        for text in [*asked[:10], *asked]:
            for memory, taken in zip(memories, seconds, strict=True):
                started = time.perf_counter()
                memory.call_tool("memory_search", {"query": text})
                taken.append((time.perf_counter() - started) * 1000)
    one, three = (statistics.median(taken[10:]) for taken in seconds)
    baseline = f"{three:.1f} ms beside {one:.1f}"
    report.line("three layers of 1,000 chunks beside one of them", three / one, "x", target=2.5, baseline=baseline)


def plain_fts(path: Path, asked: Sequence[str]) -> float:
    from memory_core.stores.sqlite.connections import open_reader
    from memory_core.stores.sqlite.reader import match_expression

    connection = open_reader(path)
    turn = iter(asked)
    sql = "SELECT rowid, bm25(chunks_fts) AS score FROM chunks_fts WHERE chunks_fts MATCH ? ORDER BY score LIMIT 50"
    p50, _ = medians(
        lambda: connection.execute(sql, (match_expression(extract_words(next(turn))),)).fetchall(), runs=len(asked)
    )
    connection.close()
    return p50


def _numpy_product(path: Path) -> float:
    import numpy as np

    from memory_core.stores.sqlite.connections import open_reader
    from memory_core.stores.sqlite.encoding import decode

    connection = open_reader(path)
    dimensions = int(connection.execute("SELECT max(dimensions) FROM spaces").get)
    found = connection.execute("SELECT embedding FROM embedding_cache").fetchall()
    rows = decode([cast("bytes", row[0]) for row in found], "int8", dimensions)
    connection.close()
    query = np.array(rows[0])
    return medians(lambda: rows @ query)[0]


def bench_processes(report: Report, scratch: Path) -> None:
    """Whole commands, and what an import costs."""
    workspace = scratch / "notes-200"
    state = scratch / "cli"
    bare, _ = medians(lambda: process(["-c", "pass"], state))

    def beside(milliseconds: float) -> str:
        return f"{milliseconds / bare:.1f} times the bare interpreter, {bare:.0f}"

    command = ["-m", "memory_core", "--workspace", str(workspace)]
    version, _ = medians(lambda: process(["-m", "memory_core", "--version"], state))
    report.line("memory-core --version", version, "ms", target=60, baseline=beside(version))
    imported, _ = medians(lambda: process(["-c", "import memory_core"], state))
    report.line(
        "import memory_core, beyond the interpreter", imported - bare, "ms", target=80, baseline=beside(imported)
    )
    for provider, target in (("none", 300.0), ("static", 600.0)):
        os.environ["MEMORY_CORE_PROVIDER"] = provider
        process([*command, "index"], state / provider)
        search = [*command, "search", "where was the decision about the harbour written down"]
        took, _ = medians(lambda: process(search, state / provider))  # noqa: B023 -- run at once
        report.line(f"memory-core search, provider {provider}", took, "ms", target=target, baseline=beside(took))
    del os.environ["MEMORY_CORE_PROVIDER"]


_PEAK = """
import resource, sys
from pathlib import Path
from memory_core.records import Query
from tests.benchmarks.bench import backend
store = backend(Path(sys.argv[1]), Path(sys.argv[2]), "static")
store.memory_sync(force=False, progress=None)
store.memory_search(Query(text="where was the decision about the harbour written down"))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 * 1024 if sys.platform == "darwin" else 1024))
"""


def bench_memory(report: Report, scratch: Path) -> None:
    """Peak resident memory of indexing and searching 200 notes in a process of its own."""
    command = [sys.executable, "-c", _PEAK, str(scratch / "notes-200"), str(scratch / "peak")]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=120)
    report.line("peak memory, index and search 200 notes", float(done.stdout), "MB", target=200)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--no-targets", action="store_true", help="print only; a busy machine misses targets")
    options = parser.parse_args()
    scratch = Path(tempfile.mkdtemp(prefix="memory-core-bench-"))
    report = Report()
    try:
        write_notes(scratch / "notes-200", 200)
        bench_memory(report, scratch)  # first: a child inherits the peak of the process that forks it
        bench_index(report, scratch)
        bench_search(report, scratch, 1_000, 5)
        bench_search(report, scratch, 10_000, 12)
        bench_layers(report, scratch)
        bench_processes(report, scratch)
    finally:
        shutil.rmtree(scratch)
    if report.missed:
        print("missed:", ", ".join(report.missed), file=sys.stderr)
    return 0 if options.no_targets else int(bool(report.missed))


if __name__ == "__main__":
    sys.exit(main())
