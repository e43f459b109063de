"""memory-core beside memsearch 0.4.23 and QMD 2.8.3, on the same notes in the same minute: python -m tests.benchmarks.peers

200 daily notes are indexed into a fresh store each time, synced again with nothing changed, and asked twenty questions. memsearch
and memory-core embed through the same OpenAI-compatible endpoint, a process of its own that takes 20 ms a request and 0.1 ms an
input. QMD embeds with models of its own only, so that it stands beside memory-core without vectors: text indexed, nothing
changed, and a search by keyword, each a command. All three get environments of their own in .cache, made at the first run, with
nothing in them but what they need. They take turns, and the median counts. Exit code 1 when a target is missed.

  --notes 200 --runs 3   other numbers of notes, and of turns
  --json FILE            write the figures, too
  --keep                 keep them for docs/search.md; `make docs` writes it anew
  --no-targets           exit with 0 whatever was measured
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tests.benchmarks.daily_notes import questions, write_daily_notes
from tests.benchmarks.drivers import install
from tests.command import REPOSITORY
from tests.servers.loopback import Reply, Request, Server

VERSION = "0.4.23"
REQUEST_SECONDS, INPUT_SECONDS = 0.020, 0.0001
DIMENSIONS = 1536
MEMSEARCH = REPOSITORY / ".cache" / f"memsearch-{VERSION}"
QMD = REPOSITORY / ".cache" / "qmd"
KEPT = Path(__file__).with_suffix(".json")
OWN = REPOSITORY / ".cache" / "memory-core-alone"
COMMANDS = 5  # one-shot commands in a turn

OURS = """
import json, resource, statistics, sys, time
from pathlib import Path
from memory_core.backends.builtin import BuiltinBackend
from memory_core.hookspecs import BackendContext
from memory_core.config.agent import AgentConfig
from memory_core.config.settings import Remote, SearchSettings, Secret
from memory_core.records import Query
import httpx, numpy
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
print(json.dumps({"index_s": seconds, "chunks": report.chunks, "nothing_s": nothing, "search_s": statistics.median(times),
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
print(json.dumps({"index_s": seconds, "chunks": chunks, "nothing_s": nothing, "search_s": statistics.median(times),
                  "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}))
"""


@dataclass(frozen=True)
class Run:
    """One turn of a program: seconds to index, to sync nothing, of the median search in the process and of a search by command;
    the peak of the process in MB; and what the endpoint saw meanwhile.
    """

    index_s: float
    nothing_s: float
    search_s: float
    peak_mb: float
    chunks: int
    command_s: float
    requests: int = 0
    inputs: int = 0


@dataclass(frozen=True)
class TextRun:
    """One turn without vectors, all by command: seconds to index, to sync nothing, and to search; the highest peak in MB."""

    index_s: float
    nothing_s: float
    command_s: float
    peak_mb: float


# What the figure of memsearch, divided by ours, must reach at least.
TARGETS = {"index_s": 8.0, "nothing_s": 50.0, "search_s": 2.0, "command_s": 4.0, "peak_mb": 1 / 0.6}
NAMES = {
    "index_s": "cold index, s",
    "nothing_s": "sync of nothing, s",
    "search_s": "search in process, s",
    "command_s": "search by command, s",
    "peak_mb": "peak memory, MB",
}


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


def install_memory_core() -> Path:
    """Return the folder of our programs, in an environment that holds this repository as it is now and what it needs."""
    return install(OWN, str(REPOSITORY), always=True)


def install_memsearch() -> Path:
    """Return the folder of memsearch's programs; its environment is made when it is not there."""
    return install(MEMSEARCH, f"memsearch=={VERSION}")


def install_qmd() -> Path:
    """Return the program of QMD, which is installed when it is not there."""
    subprocess.run([sys.executable, "tests/qmd/install.py", QMD], cwd=REPOSITORY, check=True, stdout=subprocess.DEVNULL)
    return QMD / "bin" / "qmd"


class Turns:
    """Runs the programs on the same notes."""

    def __init__(self, programs: Path, notes: Path, scratch: Path, url: str, asked: Sequence[str]) -> None:
        self._programs = programs
        self._notes = notes
        self._scratch = scratch
        self._url = url
        self._asked = asked

    def run_ours(self) -> Run:
        """Index, sync and search with memory-core."""
        with tempfile.TemporaryDirectory(dir=self._scratch) as store:
            config = Path(store) / "config.json"
            remote = {"baseUrl": f"{self._url}/v1", "apiKey": "sk-loopback"}
            search = {"provider": "openai", "remote": remote, "store": {"path": f"{store}/main.sqlite"}}
            config.write_text(json.dumps({"memorySearch": search}), encoding="utf-8")
            told = self._run_process(self._programs / "python", OURS, store)
            command = self._time_searches([self._program, "search"], self._ours(Path(store), config=config))
        return Run(**told, command_s=command)

    def run_memsearch(self, programs: Path) -> Run:
        """The same with memsearch."""
        with tempfile.TemporaryDirectory(dir=self._scratch) as store:
            told = self._run_process(programs / "python", THEIRS, store)
            store_options = ["--milvus-uri", f"{store}/milvus.db", "--base-url", f"{self._url}/v1"]
            words = [str(programs / "memsearch"), "search", *store_options, "--api-key", "sk-loopback"]
            command = self._time_searches(words, {**os.environ, "HOME": store})
        return Run(**told, command_s=command)

    def run_ours_without_vectors(self) -> TextRun:
        """Index, sync and search by command, with the provider "none"."""
        with tempfile.TemporaryDirectory(dir=self._scratch) as store:
            environment = self._ours(Path(store), provider="none")
            return self._run_commands([self._program, "index"], [self._program, "search"], environment)

    def run_qmd(self, program: Path) -> TextRun:
        """The same with QMD; its first command names the folder as a collection, which indexes it."""
        with tempfile.TemporaryDirectory(dir=self._scratch) as store:
            environment = {**os.environ, "HOME": store, "XDG_CACHE_HOME": f"{store}/c", "XDG_CONFIG_HOME": f"{store}/f"}
            first = [str(program), "collection", "add", str(self._notes / "memory"), "--name", "memory"]
            return self._run_commands(first, [str(program), "search"], environment, again=[str(program), "update"])

    def _run_process(self, python: Path, script: str, store: str) -> dict[str, Any]:
        import httpx

        words = [str(python), "-c", script, str(self._notes), store, f"{self._url}/v1", *self._asked]
        done = subprocess.run(words, cwd=self._scratch, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(done.stderr)
        told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        told |= httpx.get(f"{self._url}/seen", trust_env=False).json()
        return told

    def _ours(self, state: Path, *, config: Path | None = None, provider: str | None = None) -> dict[str, str]:
        """Return the environment of our commands."""
        ours = {"MEMORY_CORE_WORKSPACE": str(self._notes), "MEMORY_CORE_STATE_DIR": str(state), "HOME": str(state)}
        ours |= {} if config is None else {"MEMORY_CORE_CONFIG": str(config)}
        ours |= {} if provider is None else {"MEMORY_CORE_PROVIDER": provider}
        kept = {key: value for key, value in os.environ.items() if not key.startswith("MEMORY_CORE_")}
        return {**kept, **ours}

    @property
    def _program(self) -> str:
        return str(self._programs / "memory-core")

    def _time_searches(self, words: Sequence[str], environment: Mapping[str, str]) -> float:
        return statistics.median(_time([*words, text], environment)[0] for text in self._asked[:COMMANDS])

    def _run_commands(
        self, first: Sequence[str], search: Sequence[str], environment: Mapping[str, str], *, again: Sequence[str] = ()
    ) -> TextRun:
        index, peak = _time(first, environment)
        nothing, _ = _time(again or first, environment)
        return TextRun(index, nothing, self._time_searches(search, environment), peak)


def _time(words: Sequence[str], environment: Mapping[str, str]) -> tuple[float, float]:
    """Run a command; return its seconds, and its peak in MB."""
    begun = time.perf_counter()
    process = subprocess.Popen(words, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    assert process.stderr is not None
    with process.stderr as stderr:
        said = stderr.read().decode(errors="replace")
    _, status, used = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - begun
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{' '.join(words[:2])}: {said}")
    return seconds, used.ru_maxrss / (1024 if sys.platform != "darwin" else 1024**2)


def _find_medians(runs: Sequence[Any]) -> dict[str, float]:
    rows = [asdict(run) for run in runs]
    return {name: statistics.median(row[name] for row in rows) for name in rows[0]}


def compare(notes: int, runs: int) -> list[dict[str, Any]]:
    """Print and return the figures of all, with the ratios of their medians."""
    own, memsearch, qmd = install_memory_core(), install_memsearch(), install_qmd()
    command = [sys.executable, "-m", "tests.benchmarks.peers", "--serve"]
    ours: list[Run] = []
    theirs: list[Run] = []
    text: list[TextRun] = []
    qmds: list[TextRun] = []
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="memory-core-bench-")))
        server = stack.enter_context(
            subprocess.Popen(command, cwd=REPOSITORY, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        )
        assert server.stdin is not None
        assert server.stdout is not None
        stack.callback(server.stdin.close)
        write_daily_notes(scratch / "notes", notes)
        turns = Turns(own, scratch / "notes", scratch, server.stdout.readline().strip(), questions(20))
        for number in range(runs):
            ours.append(turns.run_ours())
            theirs.append(turns.run_memsearch(memsearch))
            text.append(turns.run_ours_without_vectors())
            qmds.append(turns.run_qmd(qmd))
            print(f"  turn {number + 1} of {runs}: {ours[-1].index_s:.2f} s, {theirs[-1].index_s:.2f} s", flush=True)
    pace = f"{REQUEST_SECONDS * 1e3:g} ms a request, {INPUT_SECONDS * 1e3:g} ms an input"
    print(f"\n{notes} daily notes, {pace}; load {os.getloadavg()[0]:.1f}")
    for name, first in (("memory-core", ours[0]), (f"memsearch {VERSION}", theirs[0])):
        print(f"{name}: {first.chunks} chunks, {first.requests} requests, {first.inputs} inputs")
    rows = _tabulate("memsearch", _find_medians(ours), _find_medians(theirs), TARGETS)
    return rows + _tabulate("QMD", _find_medians(text), _find_medians(qmds), {})


def _tabulate(
    peer: str, ours: Mapping[str, float], theirs: Mapping[str, float], targets: Mapping[str, float]
) -> list[dict[str, Any]]:
    without = "" if targets else ", without vectors"
    print(f"\n{f'beside {peer}{without}':32s} {'ours':>9s} {'theirs':>9s} {'ratio':>8s} {'target':>8s}")
    rows = []
    for key, name in NAMES.items():
        if key not in ours:
            continue
        ratio, target = theirs[key] / ours[key], targets.get(key)
        met = None if target is None else ratio >= target
        verdict = "" if target is None else f"{target:8.2f} {'ok' if met else 'MISSED'}"
        print(f"{name:32s} {ours[key]:9.3f} {theirs[key]:9.3f} {ratio:8.2f} {verdict}")
        rows.append({"peer": peer, "name": name, "ours": ours[key], "theirs": theirs[key], "ratio": ratio,
                     "target": target, "met": met})  # fmt: skip
    return rows


def main() -> int:
    """Compare, or serve for the comparison."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--notes", type=int, default=200)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--json", type=Path, action="append", default=[])
    parser.add_argument("--keep", dest="json", action="append_const", const=KEPT)
    parser.add_argument("--no-targets", action="store_true")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve()
        return 0
    rows = compare(options.notes, options.runs)
    for path in options.json:
        path.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    return int(not options.no_targets and any(row["met"] is False for row in rows))


if __name__ == "__main__":
    sys.exit(main())
