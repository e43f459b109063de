"""A search holds nothing for which anybody waits: not while its provider works, and not while it reads the index."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import memory_core
from memory_core.stores.sqlite.connections import BUSY_TIMEOUT_MS
from tests.command import REPOSITORY
from tests.servers.openai import HeldServer
from tests.waiting import HANG_GUARD_SECONDS

READING = """
import sys
from pathlib import Path
from memory_core.stores.sqlite.store import SqliteStore
store = SqliteStore(Path(sys.argv[1]))
with store.read() as reader:
    assert reader.count_chunks()
    before = reader.count_phrase("harbour"), reader.count_phrase("lighthouse")
    print("reading", flush=True)
    sys.stdin.readline()
    print(before == (reader.count_phrase("harbour"), reader.count_phrase("lighthouse")), *before, flush=True)
store.close()
"""


@pytest.fixture
def server() -> Iterator[HeldServer]:
    with HeldServer() as running:
        yield running
        running.may_answer.set()


def write(workspace: Path, name: str, text: str) -> None:
    (workspace / "memory").mkdir(parents=True, exist_ok=True)
    (workspace / "memory" / name).write_text(text, encoding="utf-8")


def test_nobody_waits_for_a_search_whose_provider_works(tmp_path: Path, server: HeldServer) -> None:
    workspace = tmp_path / "notes"
    write(workspace, "2026-02-01.md", "The harbour opens at dawn.\n")
    patient = {"embedTimeoutMs": 1000 * HANG_GUARD_SECONDS}
    search = {"provider": "openai", "remote": {"baseUrl": server.url, "apiKey": "sk-loopback"}, "query": patient}
    with (
        memory_core.open_memory({"memorySearch": search}, workspace=workspace, state_dir=tmp_path / "state") as memory,
        ThreadPoolExecutor() as threads,
    ):

        def run(call: Callable[[], Any]) -> Any:
            """Run what would wait for ever if it waited for the search that is held."""
            return threads.submit(call).result(HANG_GUARD_SECONDS)

        def ask(text: str) -> str:
            """Return all that is found."""
            return str(memory.call_tool("memory_search", {"query": text, "minScore": 0})["results"])

        memory.sync()
        held = threads.submit(ask, "held: when does the harbour open?")
        assert server.is_asked.wait(HANG_GUARD_SECONDS)
        write(workspace, "2026-02-02.md", "The lighthouse was painted.\n")
        assert run(memory.sync).added == 1
        assert "lighthouse" in run(lambda: ask("lighthouse"))
        assert "error" not in run(lambda: memory.call_tool("memory_append", {"text": "The ferry was late."}))
        assert "ferry" in run(lambda: ask("ferry"))
        assert run(lambda: memory.sync(force=True)).chunks == 3
        assert not held.done()
        server.may_answer.set()
        assert "harbour" in held.result(HANG_GUARD_SECONDS)


@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="needs a process that can be stopped")
def test_nobody_waits_for_a_process_that_stands_still_amid_its_reading(tmp_path: Path) -> None:
    workspace, state = tmp_path / "notes", tmp_path / "state"
    write(workspace, "2026-02-01.md", "The harbour opens at dawn.\n")
    with memory_core.open_memory(
        {"memorySearch": {"provider": "none"}}, workspace=workspace, state_dir=state
    ) as memory:
        memory.sync()
        (index,) = (path for path in state.rglob("*.sqlite") if ".history." not in path.name)
        with subprocess.Popen(
            [sys.executable, "-c", READING, str(index)], cwd=REPOSITORY, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            text=True,
        ) as reader:  # fmt: skip
            assert reader.stdin is not None
            assert reader.stdout is not None
            try:
                assert reader.stdout.readline() == "reading\n"
                reader.send_signal(signal.SIGSTOP)
                write(workspace, "2026-02-01.md", "The harbour opens at noon, and the lighthouse was painted.\n")
                begun = time.monotonic()
                with ThreadPoolExecutor() as threads:
                    assert threads.submit(memory.sync).result(HANG_GUARD_SECONDS).changed == 1
                    found = threads.submit(memory.call_tool, "memory_search", {"query": "lighthouse"})
                    assert "noon" in found.result(HANG_GUARD_SECONDS)["results"][0]["snippet"]
                    assert threads.submit(memory.sync, force=True).result(HANG_GUARD_SECONDS).chunks == 1
                assert time.monotonic() - begun < BUSY_TIMEOUT_MS / 1000
                reader.send_signal(signal.SIGCONT)
                reader.stdin.write("\n")
                reader.stdin.flush()
                assert reader.stdout.readline() == "True 1 0\n"  # as the index was when it began
            finally:
                reader.kill()
