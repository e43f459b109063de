"""Time until the MCP server answers `initialize`, beside the start of a bare interpreter: python -m tests.benchmarks.mcp_start

Each run starts both, one after the other, so that a busy machine slows both. Seconds are wall time, as a client waits; their
ratio tells most on a busy machine.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

RUNS = 9
OPENING = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
LINE = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": OPENING}).encode() + b"\n"


def time_answer(words: list[str], environ: dict[str, str], line: bytes) -> float:
    """Start a program, give it a line, and return the seconds until its first line is there; it is ended then."""
    begun = time.perf_counter()
    with subprocess.Popen(words, env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write(line)
        process.stdin.flush()
        answer = process.stdout.readline()
        seconds = time.perf_counter() - begun
        process.kill()
    if not answer:
        raise SystemExit(f"{' '.join(words)} said nothing")
    return seconds


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="memory-core-bench-") as folder:
        (Path(folder) / "notes").mkdir()
        environ = {
            **os.environ,
            "HOME": folder,
            "MEMORY_CORE_STATE_DIR": folder,
            "MEMORY_CORE_WORKSPACE": f"{folder}/notes",
        }
        environ.pop("PYTHONDONTWRITEBYTECODE", None)  # with it, each start would compile all modules
        ours = [sys.executable, "-m", "memory_core", "mcp"]
        bare = [sys.executable, "-c", "print(input(), flush=True)"]
        time_answer(ours, environ, LINE)  # compiles what is not compiled yet
        pairs = [(time_answer(ours, environ, LINE), time_answer(bare, environ, LINE)) for _ in range(RUNS)]
    server, interpreter = (statistics.median(column) for column in zip(*pairs, strict=True))
    print(
        f"{'initialize over MCP, from the start':34s} {server * 1000:7.0f} ms, a bare interpreter {interpreter * 1000:.0f} ms"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
