"""Starts of processes over 1,000 chunks: python -m tests.benchmarks.starts [--beside FOLDER]

Whole commands, a hook of Claude Code, the first answer and the first search of an MCP server, and the first search of a process.
Seconds are wall time, as a user waits; medians of alternating runs. FOLDER is another checkout with its own `.venv`, started in
the same minute, so that a busy machine slows both. Exit code 1 if a figure of this checkout is above its limit.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.benchmarks.daily_notes import questions, write_daily_notes
from tests.command import REPOSITORY

NOTES = 213  # 999 chunks
RUNS = 7
OPENING = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
QUESTION = questions(1)[0]
# With what Python imports, and the model.
FIRST_OF_PROCESS = """
import sys, time, memory_core
memory = memory_core.open_memory()
begun = time.perf_counter()
memory.call_tool("memory_search", {"query": sys.argv[1]})
print(time.perf_counter() - begun)
memory.close()
"""
# In a process that has searched another index: what is measured is what an index needs, not what Python imports.
FIRST_SEARCH = """
import pathlib, sys, tempfile, time, memory_core
question = {"query": sys.argv[1]}
with tempfile.TemporaryDirectory() as other:
    pathlib.Path(other, "MEMORY.md").write_text("The lease of the boat house ends on 31 May.")
    with memory_core.open_memory(workspace=other, state_dir=other) as small:
        small.call_tool("memory_search", question)
        memory = memory_core.open_memory()
        begun = time.perf_counter()
        memory.call_tool("memory_search", question)
        print(time.perf_counter() - begun)
        memory.close()
"""
SESSION_START = {"hook_event_name": "SessionStart", "session_id": "s1", "source": "startup"}


@dataclass(frozen=True, slots=True)
class Checkout:
    """A checkout whose processes are started, with a state folder of its own."""

    folder: Path
    state: Path
    workspace: Path

    def environment(self, **more: str) -> dict[str, str]:
        """Return the environment of its processes."""
        given = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        return {
            **given, "PYTHONPATH": str(self.folder), "HOME": str(self.state), "MEMORY_CORE_STATE_DIR": str(self.state),
            "MEMORY_CORE_WORKSPACE": str(self.workspace), **more,
        }  # fmt: skip

    def run(self, *words: str, given: str = "", **environment: str) -> str:
        """Run Python with some arguments to its end, and return what it printed."""
        done = subprocess.run(
            [self.folder / ".venv/bin/python", *words], cwd=self.folder, env=self.environment(**environment),
            input=given, text=True, capture_output=True, check=True,
        )  # fmt: skip
        return done.stdout


def time_command(*words: str, given: str = "", **environment: str) -> Callable[[Checkout], float]:
    """Return what measures a whole command, in seconds."""

    def measure(checkout: Checkout) -> float:
        begun = time.perf_counter()
        checkout.run("-m", "memory_core", *words, given=given, **environment)
        return time.perf_counter() - begun

    return measure


def time_server(checkout: Checkout, *, search: bool) -> float:
    """Return the seconds from the start of an MCP server until its first answer, or until that of a search."""
    calls: list[Mapping[str, object]] = [{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": OPENING}]
    if search:
        asked = {"name": "memory_search", "arguments": {"query": QUESTION}}
        calls.append({"jsonrpc": "2.0", "method": "notifications/initialized"})
        calls.append({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": asked})
    begun = time.perf_counter()
    with subprocess.Popen(
        [checkout.folder / ".venv/bin/python", "-m", "memory_core", "mcp"], cwd=checkout.folder,
        env=checkout.environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("".join(json.dumps(call) + "\n" for call in calls))
        process.stdin.flush()
        for line in process.stdout:
            answer = json.loads(line)
            if answer.get("id") == len([call for call in calls if "id" in call]):
                seconds = time.perf_counter() - begun
                process.kill()
                return seconds
    raise SystemExit("the server has said nothing")


# Name -> the most seconds, None where no limit is set, and what measures them.
FIGURES: Mapping[str, tuple[float | None, Callable[[Checkout], float]]] = {
    "memory-core --version": (0.30, time_command("--version")),
    "memory-core search, by keyword": (0.30, time_command("search", QUESTION, MEMORY_CORE_PROVIDER="none")),
    "memory-core search, hybrid": (0.45, time_command("search", QUESTION)),
    "memory-core hook": (0.30, time_command("hook", given=json.dumps(SESSION_START))),
    "MCP server, first answer": (1.0, lambda checkout: time_server(checkout, search=False)),
    "MCP server, first search": (1.5, lambda checkout: time_server(checkout, search=True)),
    "first search of a process": (None, lambda checkout: float(checkout.run("-c", FIRST_OF_PROCESS, QUESTION))),
    "first search of an index": (0.04, lambda checkout: float(checkout.run("-c", FIRST_SEARCH, QUESTION))),
}


def main() -> int:
    """Measure all, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--beside", type=Path, metavar="FOLDER", help="another checkout, with its own .venv")
    parser.add_argument("--runs", type=int, default=RUNS)
    asked = parser.parse_args()
    missed = False
    with tempfile.TemporaryDirectory(prefix="memory-core-bench-") as folder:
        workspace = Path(folder) / "notes"
        write_daily_notes(workspace, NOTES)
        found = [path.resolve() for path in (REPOSITORY, asked.beside) if path is not None]
        checkouts = [Checkout(path, Path(folder) / f"state-{at}", workspace) for at, path in enumerate(found)]
        for checkout in checkouts:
            checkout.state.mkdir()
            checkout.run("-m", "memory_core", "index")
        for name, (most, measure) in FIGURES.items():
            for checkout in checkouts:
                measure(checkout)  # compiles what is not compiled yet
            runs = [[measure(checkout) for checkout in checkouts] for _ in range(asked.runs)]
            seconds = [statistics.median(column) for column in zip(*runs, strict=True)]
            beside = f", beside {seconds[1]:.3f}" if len(seconds) > 1 else ""
            is_above = most is not None and seconds[0] > most
            missed = missed or is_above
            limit = "" if most is None else f"; at most {most:g}{': MISSED' if is_above else ''}"
            print(f"{name:34s} {seconds[0]:6.3f} s{beside}{limit}")
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
