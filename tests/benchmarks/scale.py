"""A search at every size, with the defaults, on daily notes: python -m tests.benchmarks.scale [--notes 213,2130,20000]

For each number of notes: the index is made by the command, whose processor time, peak memory and files are told; the command is
run again with nothing changed; then a process that stays is asked questions, and again after edits, each told as processor and
wall time: with the defaults, and with `sync.watch` off, as on systems that tell no changes. Exit code 1 if a figure is above its
limit. A million chunks: --notes 212800 (20 minutes, 7 GB of disk).

  --dimensions 1536   vectors of a loopback endpoint in OpenAI's form instead of the built-in model's
  --asked 100000      ask a server that many questions over MCP, too, and tell if its memory grows; a thousand take 8 s
  --keep FOLDER       keep notes and indexes there, and take those that are there
  --json FILE         write the figures, too
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zlib import crc32

import numpy as np

import memory_core
from memory_core.hosts.serving import REST_SECONDS
from memory_core.sync.watcher import LOOK_SECONDS
from tests.benchmarks.daily_notes import questions, write_daily_notes
from tests.benchmarks.starts import OPENING
from tests.command import REPOSITORY
from tests.servers.loopback import Reply, Request, Server

if TYPE_CHECKING:
    from numpy.typing import NDArray

ASKED, WARM, EDITS = 200, 20, 7
# Milliseconds of a search by the number of chunks; above the last, none is set.
SEARCH_MS = {1_000: 7.0, 10_021: 12.0, 100_000: 30.0, 1_000_300: 160.0}
WIDE_SEARCH_MS = 40.0  # with 1,536 dimensions, at 100,000 chunks
EDIT_MS, NOTHING_MS, MOST_EDITED = 80.0, 10.0, 100_000  # with a watch, up to so many chunks
COLD_SECONDS, MOST_MB = 60.0, 340.0  # to index up to as many, and of the index on disk
UNWATCHED_EDIT_MS = 150.0  # where the system tells no changes
NOTHING_SECONDS = 0.1  # of a command's sync, which has no watch, up to as many
EVENT_SECONDS = 0.02  # until the system has told of an edit; part of the figure
GROWTH = 1.05  # of a server's memory, from a thousand questions on
GROWTH_LATER = 1.03  # from its first look at all files on


@dataclass
class Report:
    """Prints figures as they come, and keeps them.

    Attributes:
        rows: name, value, unit, limit (None for none).
    """

    rows: list[dict[str, Any]] = field(default_factory=list)

    def tell(self, name: str, value: float, unit: str, limit: float | None = None) -> None:
        """Add a figure, which is to be at most its limit."""
        verdict = "" if limit is None else f"at most {limit:g}{'' if value <= limit else ': MISSED'}"
        print(f"  {name:54s} {value:10.2f} {unit:3s} {verdict}", flush=True)
        self.rows.append({"name": name, "value": round(value, 3), "unit": unit, "limit": limit})

    @property
    def is_missed(self) -> bool:
        """True if a figure is above its limit."""
        return any(row["limit"] is not None and row["value"] > row["limit"] for row in self.rows)


class Endpoint(Server):
    """Embeds as the sum of vectors of words, each drawn at random."""

    def __init__(self, dimensions: int) -> None:
        super().__init__()

        @cache
        def draw(word: str) -> NDArray[np.float32]:
            row: NDArray[np.float32] = np.random.default_rng(crc32(word.encode())).standard_normal(
                dimensions, np.float32
            )
            return row

        self._draw = draw

    def answer(self, request: Request) -> Reply:
        texts = request.json()["input"]
        self.requests.clear()
        rows = [np.sum([self._draw(word) for word in re.findall(r"\w+", text) or [text]], axis=0) for text in texts]
        data = [
            {
                "object": "embedding",
                "index": number,
                "embedding": base64.b64encode(row.astype("<f4").tobytes()).decode(),
            }
            for number, row in enumerate(rows)
        ]
        return Reply(
            200, {"object": "list", "model": "m", "data": data, "usage": {"prompt_tokens": 1, "total_tokens": 1}}
        )


@contextmanager
def serve(dimensions: int) -> Iterator[str]:
    """Run an endpoint in a process of its own; yield its URL."""
    command = [sys.executable, "-m", "tests.benchmarks.scale", "--serve", str(dimensions)]
    with subprocess.Popen(command, cwd=REPOSITORY, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield f"{process.stdout.readline().strip()}/v1"
        finally:
            process.stdin.close()


@dataclass(frozen=True)
class Place:
    """Where notes and their index lie, and how they are embedded."""

    notes: Path
    state: Path
    search: Mapping[str, Any]

    def environment(self) -> dict[str, str]:
        """Return the environment of a command on these notes; writes the configuration that it names."""
        self.state.mkdir(parents=True, exist_ok=True)
        config = self.state / "config.json"
        config.write_text(json.dumps({"memorySearch": self.search}), encoding="utf-8")
        kept = {key: value for key, value in os.environ.items() if not key.startswith("MEMORY_CORE_")}
        kept.pop("PYTHONDONTWRITEBYTECODE", None)  # with it, each start would compile all modules
        return kept | {
            "MEMORY_CORE_WORKSPACE": str(self.notes),
            "MEMORY_CORE_STATE_DIR": str(self.state),
            "MEMORY_CORE_CONFIG": str(config),
            "HOME": str(self.state),
        }


def run_index(place: Place) -> tuple[float, float, str]:
    """Index by command; return its seconds of processor time, its peak in MB, and what it printed."""
    words = [sys.executable, "-m", "memory_core", "index", "--json"]
    with subprocess.Popen(
        words, cwd=REPOSITORY, env=place.environment(), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout is not None
        said = process.stdout.read()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"memory-core index failed: {said}")
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, said


def measure(report: Report, place: Place, *, is_wide: bool) -> int:
    """Tell all figures of one index; return its number of chunks."""
    is_new = not any(place.state.glob("**/*.sqlite"))
    seconds, peak, said = run_index(place)
    chunks = int(json.loads(said)["chunks"])
    print(f"{chunks:,} chunks of {len(list((place.notes / 'memory').iterdir())):,} notes", flush=True)
    if is_new:
        most = COLD_SECONDS if chunks <= MOST_EDITED and not is_wide else None
        report.tell("cold index by command, processor time", seconds, "s", most)
        report.tell(
            "cold index by command, peak memory", peak, "MB", None if is_wide else 600.0 if chunks > 200_000 else 300.0
        )
    size = sum(file.stat().st_size for file in place.state.glob("**/*.sqlite") if ".history." not in file.name)
    most = MOST_MB if chunks <= MOST_EDITED and not is_wide else None
    report.tell("index on disk, without the history", size / 1e6, "MB", most)
    nothing = [run_index(place) for _ in range(3)]
    report.tell("the command again, nothing changed, whole", statistics.median(run[0] for run in nothing), "s")
    synced = statistics.median(json.loads(run[2])["seconds"] for run in nothing)
    report.tell("of that its sync, wall time", synced, "s", NOTHING_SECONDS if chunks <= MOST_EDITED else None)
    limit = WIDE_SEARCH_MS if is_wide else next((ms for most, ms in SEARCH_MS.items() if chunks <= most), None)
    small = chunks <= MOST_EDITED
    _measure_process(report, place, Way("", place.search, limit, NOTHING_MS if small else None), edits=small)
    if small and not is_wide:
        off = {**place.search, "sync": {"watch": False}}
        _measure_process(report, place, Way(", watch off", off, None, None, UNWATCHED_EDIT_MS), edits=True)
    return chunks


@dataclass(frozen=True)
class Way:
    """How a process that stays learns of changes.

    Attributes:
        name: Added to the names of its figures.
        search: Its `memorySearch`.
        search_ms: The limit of a search.
        nothing_ms: The limit of a sync of nothing.
        edit_ms: The limit of an edit with the search that finds it.
    """

    name: str
    search: Mapping[str, Any]
    search_ms: float | None
    nothing_ms: float | None
    edit_ms: float = EDIT_MS


def _measure_process(report: Report, place: Place, way: Way, *, edits: bool) -> None:
    """Tell the figures of a process that stays; with edits if they are not too many for a search to wait for."""
    with memory_core.open_memory(
        {"memorySearch": dict(way.search)}, workspace=place.notes, state_dir=place.state
    ) as memory:
        memory.start()  # as a host that stays does
        begun = time.perf_counter()
        memory.sync()
        first = (time.perf_counter() - begun) * 1000
        again = _time(memory.sync, runs=EDITS)[1]
        asked = iter(questions(WARM + ASKED))

        def ask(text: str | None = None) -> None:
            answer = memory.call_tool("memory_search", {"query": text or next(asked)})
            if "error" in answer:
                raise SystemExit(str(answer))

        _time(ask, runs=WARM)
        cpu, wall = _time(ask, runs=ASKED)
        report.tell(f"search, median of processor time{way.name}", cpu, "ms", way.search_ms)
        report.tell(f"search, median of wall time{way.name}", wall, "ms", way.search_ms)
        report.tell(f"first sync of a process, nothing changed{way.name}", first, "ms")
        report.tell(f"sync of nothing, in a process{way.name}", again, "ms", way.nothing_ms)
        if not edits:  # their sync goes on in the background, and the answer says so
            return
        note = min((place.notes / "memory").iterdir())
        text = note.read_text(encoding="utf-8")
        numbers = iter(range(EDITS))

        def edit() -> None:
            number = next(numbers)
            note.write_text(f"{text}- The quokka number {number} sleeps.\n", encoding="utf-8")
            time.sleep(EVENT_SECONDS)
            answer = memory.call_tool("memory_search", {"query": f"quokka number {number}"})
            if not any(f"quokka number {number}" in hit["snippet"] for hit in answer["results"]):
                raise SystemExit(f"the edit was not found: {answer}")

        try:
            _, edited = _time(edit, runs=EDITS)
        finally:
            note.write_text(text, encoding="utf-8")
        memory.sync()
        report.tell(f"edit, then the search that finds it, wall{way.name}", edited, "ms", way.edit_ms)


def _time(run: Callable[[], object], *, runs: int) -> tuple[float, float]:
    """Return the medians of processor time, of all threads, and of wall time, in milliseconds."""
    cpu, wall = [], []
    for _ in range(runs):
        begun, used = time.perf_counter(), time.process_time()
        run()
        cpu.append((time.process_time() - used) * 1000)
        wall.append((time.perf_counter() - begun) * 1000)
    return statistics.median(cpu), statistics.median(wall)


class McpServer:
    """A server of one index over standard streams."""

    def __init__(self, place: Place) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "memory_core", "mcp"], cwd=REPOSITORY, env=place.environment(), stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        self._number = 0
        self.call("initialize", OPENING)

    def call(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """Send a request and return its answer."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._number += 1
        request = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        while line := self._process.stdout.readline():
            answer: dict[str, Any] = json.loads(line)
            if answer.get("id") == self._number:
                return answer
        raise SystemExit("the server has ended")

    def ask(self, texts: Sequence[str]) -> None:
        """Search for each text."""
        for text in texts:
            answer = self.call("tools/call", {"name": "memory_search", "arguments": {"query": text}})
            if "result" not in answer or answer["result"].get("isError"):
                raise SystemExit(str(answer))

    def read_memory(self) -> tuple[float, float]:
        """Return what the process holds, and how much of it is its own and no page of a file, in MB."""
        rollup = Path(f"/proc/{self._process.pid}/smaps_rollup").read_text(encoding="utf-8")
        held, own = (
            int(re.findall(rf"^{name}:\s+(\d+)", rollup, re.MULTILINE)[0]) / 1024 for name in ("Rss", "Anonymous")
        )
        return held, own

    def close(self) -> None:
        """End it."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(30)


def measure_server(report: Report, place: Place, asked: int, *, chunks: int) -> None:
    """Tell the memory of a server that answers, and how much it grows."""
    texts = questions(1000)
    server = McpServer(place)
    try:
        server.ask(texts)
        held, own = server.read_memory()
        limit = 135.0 if chunks <= SEARCH_AT_REST else None
        report.tell("a server, all of its memory", held, "MB", limit)
        report.tell("of that its own, no page of a file", own, "MB")
        begun = time.perf_counter()
        while time.perf_counter() - begun < LOOK_SECONDS + 15:  # the look at all files comes beside searches
            server.ask(texts)
        since = server.read_memory()
        begun = time.perf_counter()
        for first in range(0, asked, len(texts)):
            server.ask(texts[: asked - first])
        rate = asked / (time.perf_counter() - begun)
        later = server.read_memory()
        _edit(place, server)
        edited = server.read_memory()
        time.sleep(REST_SECONDS + 5)
        resting = server.read_memory()
    finally:
        server.close()
    report.tell("after its first look at all files", since[0], "MB", limit)
    report.tell("of that its own", since[1], "MB")
    most, own_most = (min(GROWTH * first, GROWTH_LATER * then) for first, then in zip((held, own), since, strict=True))
    report.tell(f"after {asked:,} questions more", later[0], "MB", most if limit is None else min(most, limit))
    report.tell("of that its own", later[1], "MB", own_most)
    report.tell(f"after {EDITS} edits", edited[0], "MB", limit)
    report.tell("of that its own", edited[1], "MB")
    report.tell("at rest, a minute after the last question", resting[0], "MB", limit)
    report.tell("of that its own", resting[1], "MB")
    report.tell("questions a second over MCP, one by one", rate, "")


def _edit(place: Place, server: McpServer) -> None:
    """Change a note a few times, and take the changes back; the server finds each."""
    note = min((place.notes / "memory").iterdir())
    text = note.read_text(encoding="utf-8")
    try:
        for number in range(EDITS):
            note.write_text(f"{text}- The quokka number {number} sleeps.\n", encoding="utf-8")
            server.ask([f"quokka number {number}"])
    finally:
        note.write_text(text, encoding="utf-8")
    server.ask(["quokka"])


SEARCH_AT_REST = 10_021  # chunks up to which a server's memory has a limit


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--notes", default="213,2130,20000", help="numbers of notes, divided by commas")
    parser.add_argument("--dimensions", type=int)
    parser.add_argument("--asked", type=int, default=0)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--serve", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        with Endpoint(options.serve) as endpoint:
            print(endpoint.origin, flush=True)
            sys.stdin.read()
        return 0
    report = Report()
    scratch = options.keep or Path(tempfile.mkdtemp(prefix="memory-core-bench-"))
    try:
        for notes in map(int, options.notes.split(",")):
            workspace = scratch / f"notes-{notes}"
            if not workspace.exists():
                write_daily_notes(workspace, notes)
            if options.dimensions is None:
                _measure_both(
                    report, Place(workspace, scratch / f"state-{notes}", {"provider": "static"}), options.asked
                )
                continue
            with serve(options.dimensions) as url:
                search = {"provider": "openai", "remote": {"baseUrl": url, "apiKey": "sk-loopback"}}
                state = scratch / f"state-{notes}-{options.dimensions}"
                measure(report, Place(workspace, state, search), is_wide=True)
    finally:
        if options.keep is None:
            shutil.rmtree(scratch)
    if options.json:
        options.json.write_text(json.dumps(report.rows, indent=1) + "\n", encoding="utf-8")
    return int(report.is_missed)


def _measure_both(report: Report, place: Place, asked: int) -> None:
    chunks = measure(report, place, is_wide=False)
    if asked:
        measure_server(report, place, asked, chunks=chunks)


if __name__ == "__main__":
    sys.exit(main())
