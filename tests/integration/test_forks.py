"""Memory in processes that were forked from one that uses it: each works at once, and neither harms the other."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from memory_core.concurrency import forks
from memory_core.tools.recalled import Recalled
from tests.command import REPOSITORY
from tests.servers.openai import OpenAIServer

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")

SYNC = {"watchDebounceMs": 10, "onSearchBudgetMs": 60_000}


def run(folder: Path, count: int, search: dict[str, Any], *more: str) -> list[str]:
    """Fork as often from a process of its own, and return what went wrong."""
    config = json.dumps({"memorySearch": {"sync": SYNC, **search}})
    done = subprocess.run(
        [sys.executable, "-m", "tests.forking", str(folder), str(count), config, *more],
        cwd=REPOSITORY, capture_output=True, text=True, timeout=280, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    problems: list[str] = json.loads(done.stdout.splitlines()[-1])["problems"]
    return [*problems, done.stderr] if problems else problems


def test_children_of_a_process_whose_memory_works_use_it_at_once(tmp_path: Path) -> None:
    """Its watcher, its syncs and its requests for embeddings are under way at every fork."""
    with OpenAIServer() as server:
        remote = {"baseUrl": server.url, "apiKey": "sk-fork"}
        assert run(tmp_path, 25, {"provider": "openai", "model": "m", "remote": remote}, "warm") == []


def test_children_of_a_process_that_loads_its_model_use_it_at_once(tmp_path: Path) -> None:
    assert run(tmp_path, 6, {"provider": "static"}) == []


def test_a_fork_waits_for_what_another_thread_loads(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, finish, owner = threading.Event(), threading.Event(), Recalled()

    def load() -> None:
        with forks.finish_before_fork():
            begun.set()
            finish.wait(30)

    thread = threading.Thread(target=load)
    thread.start()
    begun.wait(30)
    assert forks._is_loading()
    monkeypatch.setattr(forks, "WAIT_SECONDS", 0.01)
    forks._before()
    assert "forked while" in forks.explain_spoilt()
    forks._in_parent()
    assert forks.explain_spoilt() == ""
    finish.set()
    thread.join(30)
    assert not forks._is_loading()
    with forks.finish_before_fork():  # a thread never waits for itself
        assert not forks._is_loading()
    assert owner.of("") == frozenset()


def test_an_extension_can_be_loaded_twice() -> None:
    import apsw

    again = forks.load_anew(apsw)
    assert again.Connection is not apsw.Connection
    assert sys.modules["apsw"] is apsw
    assert again.Connection(":memory:").execute("SELECT 1").get == 1
