"""The CPU time of a search beside that at another commit.

    python -m tests.benchmarks.search_cost COMMIT [--data FOLDER] [--most RATIO]

Both answer the same questions over the same notes, one after the other, each in a process of its own with the packages of this
environment. Of every question the shortest of three times counts; printed are the medians and the median of the ratios, which a
busy machine hardly moves. The notes are 200 and 2,000 made-up ones; with --data also the largest workspace of each set of judged
questions. Exit code 1 when the mean of the ratios of a provider is above --most.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from tests.benchmarks.bench import write_notes
from tests.benchmarks.daily_notes import questions
from tests.benchmarks.judged import find_sets, load_questions
from tests.command import REPOSITORY

WORKER = Path(__file__).with_name("search_worker.py")
PROVIDERS = ("static", "none")
NOTES = (200, 2000)
QUESTIONS = 120
ROUNDS = 4  # the first warms up
Workload = tuple[str, Path, Sequence[str]]


class _Process:
    """A process that searches one workspace with the code below `tree`.

    Attributes:
        chunks: The number of chunks in its index.
    """

    def __init__(self, tree: Path, workspace: Path, state: Path, provider: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-P", str(WORKER), str(workspace), str(state), provider],
            env={**os.environ, "PYTHONPATH": str(tree)},
            cwd=state,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.chunks = int(self._read())

    def time(self, question: str) -> float:
        """Search, and return the CPU seconds that it took."""
        assert self._process.stdin
        self._process.stdin.write(f"{question}\n")
        self._process.stdin.flush()
        return float(self._read())

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin
        self._process.stdin.close()
        self._process.wait()

    def _read(self) -> str:
        assert self._process.stdout
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit(f"the search of {self._process.args!r} ended with {self._process.wait()}")
        return line


def workloads(scratch: Path, data: Path | None) -> Iterator[Workload]:
    """Yield the name of some notes, their folder, and what is asked."""
    for count in NOTES:
        workspace = scratch / f"notes-{count}"
        write_notes(workspace, count)
        yield f"{count:,} made-up notes", workspace, questions(QUESTIONS)
    for name, folders in find_sets(data).items() if data else ():
        folder = max(folders, key=lambda each: sum(path.stat().st_size for path in each.rglob("*.md")))
        yield name, folder, [" ".join(each.text.split()) for each in load_questions(folder)][:QUESTIONS]


def compare(trees: Mapping[str, Path], workload: Workload, provider: str, scratch: Path) -> float:
    """Print the cost of a search at both commits; return the ratio of the second to the first."""
    title, workspace, asked = workload
    with contextlib.ExitStack() as stack:
        workers = []
        for tree in trees.values():
            state = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=scratch)))
            workers.append(_Process(tree, workspace, state, provider))
            stack.callback(workers[-1].close)
        times = np.array([[[each.time(question) for each in workers] for question in asked] for _ in range(ROUNDS)])
    shortest = times[1:].min(axis=0)  # of every question, with both
    ratio = float(np.median(shortest[:, 1] / shortest[:, 0]))
    medians = np.median(shortest, axis=0) * 1000
    costs = "  ".join(f"{name} {median:6.2f} ms" for name, median in zip(trees, medians, strict=True))
    print(f"{title:20s} {provider:7s} {workers[-1].chunks:6,} chunks  {costs}  ratio {ratio:.3f}", flush=True)
    return ratio


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("commit", help="what the working tree is compared with: any name of a commit that git knows")
    parser.add_argument("--data", type=Path, metavar="FOLDER", help="also the sets of judged questions below it")
    parser.add_argument("--most", type=float, default=1.15, metavar="RATIO", help="the ratio allowed; default: 1.15")
    options = parser.parse_args()
    failed = False
    with tempfile.TemporaryDirectory(prefix="memory-core-bench-") as folder:
        scratch = Path(folder)
        base = scratch / "base"
        base.mkdir()
        archive = subprocess.run(
            ["git", "archive", options.commit, "memory_core"], cwd=REPOSITORY, check=True, stdout=subprocess.PIPE
        )
        subprocess.run(["tar", "-x", "-C", str(base)], input=archive.stdout, check=True)
        trees = {options.commit[:12]: base, "now": REPOSITORY}
        several = list(workloads(scratch, options.data.absolute() if options.data else None))
        for provider in PROVIDERS:
            ratios = [compare(trees, workload, provider, scratch) for workload in several]
            mean = statistics.geometric_mean(ratios)
            failed |= mean > options.most
            print(f"{provider}: {mean:.3f} times the CPU time of {options.commit}, at most {options.most:g} allowed\n")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
