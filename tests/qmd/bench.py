"""The cost of the backend over the bare command, from paired runs: python -m tests.qmd.bench CACHE [PAIRS].

CACHE is the folder that `install.py` filled. Each pair asks one question of the sample workspace twice, in random order:
once as the bare program (or a bare POST to the warm server), once through the backend. Printed are milliseconds.
"""

from __future__ import annotations

import http.client
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from memory_core.records import Query
from memory_qmd.backend import QmdBackend
from memory_qmd.config import QmdDaemon
from memory_qmd.home import QmdHome
from tests.command import SAMPLE
from tests.qmd.conftest import QmdAgent, agent_on

QUESTION = "What did commit 0ad3e88 change?"
DOCUMENT = "lex: 0ad3e88\nlex: change\nlex: commit"


def measure(work: Callable[[], object]) -> float:
    """Run once and return the milliseconds."""
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1000


def compare(name: str, bare: Callable[[], object], adapter: Callable[[], object], pairs: int) -> None:
    """Run pairs and print the medians, and the median of the differences."""
    order = random.Random(1)
    bare_times: list[float] = []
    adapter_times: list[float] = []
    for _ in range(pairs):
        works = [(bare, bare_times), (adapter, adapter_times)]
        order.shuffle(works)
        for work, times in works:
            times.append(measure(work))
    overhead = statistics.median(b - a for a, b in zip(bare_times, adapter_times, strict=True))
    medians = statistics.median(bare_times), statistics.median(adapter_times)
    print(f"{name:12} bare {medians[0]:7.1f}   adapter {medians[1]:7.1f}   overhead {overhead:6.1f}   ({pairs} pairs)")


def compare_command(agent: QmdAgent, program: Path, pairs: int) -> None:
    """Compare on the command line: one process for each question."""
    backend = agent.open()
    home = QmdHome.of(agent.config)
    backend.memory_sync(force=False, progress=None)
    names = ["-c", "memory-root-main", "-c", "memory-dir-main"]
    command = [str(program), "--index", "index", "query", "--no-rerank", "-n", "24", *names, "--json", "--", DOCUMENT]

    def bare() -> None:
        subprocess.run(command, env=home.build_environment(), cwd=home.path, check=True, capture_output=True)

    compare("command", bare, lambda: ask_once(backend), pairs)


def compare_warm_server(agent: QmdAgent, pairs: int) -> None:
    """Compare on the backend's warm server."""
    backend = agent.open(daemon=QmdDaemon(enabled=True))
    backend.memory_start()
    while backend.memory_status().details["warm server"] != "ready":
        ask_once(backend)
    port = backend._warm._port
    body = json.dumps(
        {
            "searches": [{"type": "lex", "query": line.removeprefix("lex: ")} for line in DOCUMENT.split("\n")],
            "collections": ["memory-root-main", "memory-dir-main"],
            "limit": 24,
            "rerank": False,
        }
    )

    def bare() -> None:
        connection = http.client.HTTPConnection("localhost", port, timeout=10)
        connection.request("POST", "/query", body, {"Content-Type": "application/json"})
        connection.getresponse().read()
        connection.close()

    compare("warm server", bare, lambda: ask_once(backend), pairs * 3)


def ask_once(backend: QmdBackend) -> None:
    """Ask one question, which finds its note."""
    hits = backend.memory_search(Query(text=QUESTION)).hits
    assert hits[0].path == "memory/2026-02-04.md"


def main() -> None:
    """Print both comparisons."""
    program = Path(sys.argv[1]) / "bin" / "qmd"
    pairs = int(sys.argv[2]) if len(sys.argv) > 2 else 40
    with tempfile.TemporaryDirectory() as folder:
        agent = agent_on(Path(folder), SAMPLE, program)
        try:
            compare_command(agent, program, pairs)
            compare_warm_server(agent, pairs)
        finally:
            for backend in agent.opened:
                backend.memory_close()


if __name__ == "__main__":
    main()
