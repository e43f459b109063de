"""Indexing, a sync of nothing and searches through an OpenAI-compatible endpoint, beside memsearch 0.4.23 with its defaults.

    python -m tests.benchmarks.memsearch_comparison [--files 200] [--runs 3]

The same 1,000 sections, each one chunk for both, in a fresh store each time; the endpoint is a process of its own that takes
20 ms a request and 0.1 ms an input. memsearch gets an environment of its own in .cache, made at the first run. Both are timed
in their own process after their imports, in turn; the median counts. Each asks twenty questions.
"""

from __future__ import annotations

import argparse
import base64
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tests.command import REPOSITORY, SAMPLE
from tests.servers.loopback import Reply, Request, Server

VERSION = "0.4.23"
SECTIONS = 1000
SECTION_CHARS = 1200  # below the largest chunk of both: 400 tokens here, 1,500 characters there
REQUEST_SECONDS, INPUT_SECONDS = 0.020, 0.0001
DIMENSIONS = 1536
QUESTIONS = [f"What was entry {number} about?" for number in range(40, 60)]
ENVIRONMENT = REPOSITORY / ".cache" / f"memsearch-{VERSION}"

OURS = """
import json, sys, time
from pathlib import Path
from memory_core.builtin.backend import BuiltinBackend
from memory_core.hookspecs import BackendContext
from memory_core.config.agent import AgentConfig
from memory_core.config.settings import Remote, SearchSettings, Secret
from memory_core.records import Query
import httpx, numpy, resource, statistics
notes, store, url = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
search = SearchSettings(provider="openai", remote=Remote(base_url=url, api_key=Secret("sk-loopback")))
begun = time.perf_counter()
backend = BuiltinBackend(BackendContext(config=AgentConfig(
    agent="main", workspace=notes, state_dir=store, store_path=store / "main.sqlite", search=search)))
report = backend.memory_sync(force=False, progress=None)
seconds = time.perf_counter() - begun
assert not report.pending and not report.failures, report
begun = time.perf_counter()
backend.memory_sync(force=False, progress=None)
nothing = time.perf_counter() - begun
times = []
for text in sys.argv[4:]:
    begun = time.perf_counter()
    assert backend.memory_search(Query(text=text, max_results=10)).hits
    times.append(time.perf_counter() - begun)
backend.memory_close()
print(json.dumps({"seconds": seconds, "chunks": report.chunks, "nothing": nothing, "search": statistics.median(times),
                  "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}))
"""
THEIRS = """
import asyncio, json, resource, statistics, sys, time
from memsearch import MemSearch
import openai, pymilvus
run = asyncio.new_event_loop().run_until_complete  # its client's connections belong to one loop
begun = time.perf_counter()
memory = MemSearch([sys.argv[1]], milvus_uri=sys.argv[2] + "/milvus.db", embedding_base_url=sys.argv[3],
                   embedding_api_key="sk-loopback")
chunks = run(memory.index())
seconds = time.perf_counter() - begun
begun = time.perf_counter()
run(memory.index())
nothing = time.perf_counter() - begun
times = []
for text in sys.argv[4:]:
    begun = time.perf_counter()
    assert run(memory.search(text, top_k=10))
    times.append(time.perf_counter() - begun)
memory.close()
print(json.dumps({"seconds": seconds, "chunks": chunks, "nothing": nothing, "search": statistics.median(times),
                  "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}))
"""


@dataclass(frozen=True)
class Run:
    """One process: seconds to index, to sync nothing, and of the median search; its peak; what the endpoint saw."""

    seconds: float
    nothing: float
    search: float
    peak_mb: float
    chunks: int
    requests: int
    inputs: int


class Endpoint(Server):
    """Embeds at a stated pace; every answer is made of vectors that were written down beforehand."""

    def __init__(self) -> None:
        super().__init__()
        rows = np.random.default_rng(0).standard_normal((64, DIMENSIONS)).astype("<f4")
        self.floats = [json.dumps([round(float(value), 6) for value in row]) for row in rows]
        self.base64 = [json.dumps(base64.b64encode(row.tobytes()).decode()) for row in rows]

    def answer(self, request: Request) -> Reply:
        if request.path == "/seen":
            sent = [len(sent.json()["input"]) for sent in self.sent("/embeddings")]
            self.requests.clear()
            return Reply(200, {"requests": len(sent), "inputs": sum(sent)})
        begun = time.perf_counter()
        body = request.json()
        vectors = self.base64 if body.get("encoding_format") == "base64" else self.floats
        items = ",".join(
            f'{{"object":"embedding","index":{n},"embedding":{vectors[hash(text) % 64]}}}'
            for n, text in enumerate(body["input"])
        )
        usage = '"usage":{"prompt_tokens":1,"total_tokens":1}'
        content = f'{{"object":"list","model":"m",{usage},"data":[{items}]}}'.encode()
        pace = REQUEST_SECONDS + INPUT_SECONDS * len(body["input"])
        time.sleep(max(0.0, begun + pace - time.perf_counter()))
        return Reply(200, content, {"Content-Type": "application/json"})


def serve() -> None:
    """Say where it listens, and serve until the parent closes the pipe."""
    with Endpoint() as endpoint:
        print(endpoint.origin, flush=True)
        sys.stdin.read()


def write_notes(folder: Path, files: int) -> None:
    """1,000 sections of words of the sample notes, the same each time, spread over so many daily notes."""
    words = " ".join(path.read_text(encoding="utf-8") for path in sorted(SAMPLE.rglob("*.md"))).split()
    plain = [word for word in words if word.isalpha() and word.isascii()]
    rng = random.Random(0)
    (folder / "memory").mkdir(parents=True)
    for number in range(files):
        sections = range(SECTIONS * number // files, SECTIONS * (number + 1) // files)
        text = "\n".join(_section(section, rng, plain) for section in sections)
        (folder / "memory" / f"note-{number:04}.md").write_text(text, encoding="utf-8")


def _section(number: int, rng: random.Random, words: Sequence[str]) -> str:
    lines, size = [f"## Entry {number}", ""], 0
    while size < SECTION_CHARS - 80:
        line = f"- {' '.join(rng.choices(words, k=12))}."
        lines.append(line)
        size += len(line) + 1
    return "\n".join([*lines, ""])


def set_up() -> Path:
    """The Python of memsearch's environment, made when it is not there."""
    python = ENVIRONMENT / "bin" / "python"
    if not (ENVIRONMENT / "done").exists():
        print(f"installing memsearch {VERSION} into {ENVIRONMENT}", flush=True)
        venv.create(ENVIRONMENT, with_pip=True, clear=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", f"memsearch=={VERSION}"], check=True)
        (ENVIRONMENT / "done").touch()
    return python


def index(python: Path, script: str, notes: Path, url: str) -> Run:
    """Index in a process of its own, into a store of its own."""
    import httpx

    with tempfile.TemporaryDirectory(prefix="memory-core-bench-") as store:
        done = subprocess.run(
            [python, "-c", script, notes, store, f"{url}/v1", *QUESTIONS],
            cwd=REPOSITORY,
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode:
        sys.exit(done.stderr)
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    seen = httpx.get(f"{url}/seen", trust_env=False).json()
    return Run(**told, **seen)


def compare(files: int, runs: int) -> None:
    """Print the figures of both and the ratio of their medians."""
    theirs_python = set_up()
    command = [sys.executable, "-m", "tests.benchmarks.memsearch_comparison", "--serve"]
    with (
        tempfile.TemporaryDirectory(prefix="memory-core-bench-") as folder,
        subprocess.Popen(command, cwd=REPOSITORY, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server,
    ):
        assert server.stdin is not None
        assert server.stdout is not None
        url = server.stdout.readline().strip()
        notes = Path(folder) / "notes"
        write_notes(notes, files)
        found: dict[str, list[Run]] = {"memory-core": [], f"memsearch {VERSION}": []}
        for _ in range(runs):
            for (name, done), (python, script) in zip(
                found.items(), [(Path(sys.executable), OURS), (theirs_python, THEIRS)], strict=True
            ):
                done.append(index(python, script, notes, url))
                print(f"  {name:18s} {done[-1].seconds:6.2f} s", flush=True)
        server.stdin.close()
    print(
        f"{SECTIONS} sections in {files} files, {REQUEST_SECONDS * 1e3:g} ms a request, {INPUT_SECONDS * 1e3:g} ms an input"
    )
    medians = {
        name: [
            statistics.median(getattr(run, field) for run in done)
            for field in ("seconds", "nothing", "search", "peak_mb")
        ]
        for name, done in found.items()
    }
    print(f"{'':18s} {'index s':>9s} {'nothing s':>9s} {'search s':>9s} {'peak MB':>9s}")
    for name, figures in medians.items():
        print(f"{name:18s}", *(f"{figure:9.3f}" for figure in figures))
    ours, theirs = medians.values()
    print(f"{'ratio':18s}", *(f"{b / a:9.1f}" for a, b in zip(ours, theirs, strict=True)))
    for name, done in found.items():
        one = done[0]
        print(f"{name}: {one.chunks} chunks, {one.requests} requests, {one.inputs} inputs")


def main() -> None:
    """Compare, or serve for the comparison."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=200)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    serve() if options.serve else compare(options.files, options.runs)


if __name__ == "__main__":
    main()
