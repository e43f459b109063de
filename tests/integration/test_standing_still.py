"""A process that holds a lock and stands still: readers do not wait, writers give up in time and name it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import memory_core
from memory_core.plugin.memory import Memory
from memory_core.sources.notes import find_intent
from tests.command import REPOSITORY

pytestmark = pytest.mark.skipif(not Path("/proc/locks").exists(), reason="only Linux says who holds a lock")
CONFIG = {
    "agents": {
        "defaults": {"memorySearch": {"provider": "none", "items": {"enabled": True}, "activity": {"enabled": True}}}
    }
}
READ_SECONDS = 5.0  # of wall time, on a busy machine
HOLD = "import sys, pathlib, memory_core.atomic as a\nwith a.locked(pathlib.Path(sys.argv[1]), timeout_seconds=5):\n"
WRITE = "import sys, apsw\ndb = apsw.Connection(sys.argv[1])\ndb.execute('BEGIN IMMEDIATE')\nif True:\n"
WAIT = "    print('held', flush=True)\n    sys.stdin.read()\n"


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    (tmp_path / "w").mkdir()
    (tmp_path / "w" / "MEMORY.md").write_text("The crane stands in the harbour.\n", encoding="utf-8")
    with memory_core.open_memory(CONFIG, workspace=tmp_path / "w", state_dir=tmp_path / "s") as opened:
        opened.sync()
        assert "error" not in opened.call_tool("memory_store", {"text": "The ferry leaves at nine."})
        yield opened


@contextmanager
def standing_still(program: str, path: Path) -> Iterator[int]:
    """Let a process hold a lock, and stop it; yields its number."""
    with subprocess.Popen(
        [sys.executable, "-c", program + WAIT, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=REPOSITORY
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        os.kill(process.pid, signal.SIGSTOP)
        try:
            yield process.pid
        finally:
            process.kill()


def holds(memory: Memory) -> dict[str, tuple[str, Path]]:
    config = memory.config()
    return {
        "sync": (HOLD, Path(f"{config.store_path}.lock")),
        "notes": (HOLD, find_intent(config.workspace, config.state_dir).with_suffix(".lock")),
        "activity": (HOLD, config.activity_path.with_suffix(".lock")),
        "mirror": (HOLD, Path(f"{config.items_path}.mirror.lock")),
        "index transaction": (WRITE, config.store_path),
        "items transaction": (WRITE, config.items_path),
        "history transaction": (WRITE, config.history_path),
    }


@pytest.mark.parametrize(
    "name", ["sync", "notes", "activity", "mirror", "index transaction", "items transaction", "history transaction"]
)
def test_readers_never_wait(memory: Memory, name: str) -> None:
    (memory.config().workspace / "memory").mkdir()
    (memory.config().workspace / "memory" / "a.md").write_text("A new note.\n", encoding="utf-8")
    with standing_still(*holds(memory)[name]):
        calls: list[tuple[str, dict[str, Any]]] = [
            ("memory_search", {"query": "crane harbour"}),
            ("memory_get", {"path": "MEMORY.md"}),
            ("memory_recall", {"query": "when does the ferry leave?"}),
        ]
        for tool, arguments in calls:
            begun = time.monotonic()
            answer = memory.call_tool(tool, arguments)
            assert time.monotonic() - begun < READ_SECONDS, tool
            assert "crane" in str(answer) or "ferry" in str(answer), answer
        begun = time.monotonic()
        memory.status()
        assert time.monotonic() - begun < READ_SECONDS


def test_an_append_gives_up_and_names_the_holder(memory: Memory) -> None:
    with standing_still(*holds(memory)["notes"]) as number:
        answer = memory.call_tool("memory_append", {"text": "- The gate is red."})
        assert f"process {number}, {sys.executable}" in str(answer["error"])


def test_a_sync_gives_up_and_names_the_holder(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    from memory_core.backends import engine

    monkeypatch.setattr(engine, "LOCK_SECONDS", 0.5)
    with standing_still(*holds(memory)["sync"]) as number, pytest.raises(memory_core.MemoryCoreError) as caught:
        memory.sync()
    assert f"process {number}, {sys.executable}" in str(caught.value)


def test_a_fact_gives_up_in_time(memory: Memory) -> None:
    with standing_still(*holds(memory)["items transaction"]):
        begun = time.monotonic()
        answer = memory.call_tool("memory_store", {"text": "The lamp is lit at six."})
        assert time.monotonic() - begun < 60
        assert "error" in answer
