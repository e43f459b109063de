"""A memory at rest: model and connections are let go of, and the next search finds what it would have found."""

from __future__ import annotations

import itertools
import threading
import time
import weakref
from pathlib import Path
from typing import Any

import pytest

import memory_core
from memory_core.embeddings import static
from memory_core.plugin import MemorySlot
from memory_core.plugin.memory import Memory
from tests.benchmarks.daily_notes import questions, write_daily_notes

QUESTIONS = questions(8)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("rest")
    write_daily_notes(folder / "notes", 40)
    with open_memory(folder) as memory:
        memory.sync()
    return folder


@pytest.fixture(autouse=True)
def model_of_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each test load the model itself, whoever else of this process keeps it."""
    monkeypatch.setattr(static, "_shared", weakref.WeakValueDictionary())


def open_memory(place: Path) -> Memory:
    config = {"memorySearch": {"provider": "static"}}
    return memory_core.open_memory(config, workspace=place / "notes", state_dir=place / "state")


def ask(memory: Memory, question: str) -> list[tuple[Any, ...]]:
    answer = memory.call_tool("memory_search", {"query": question, "minScore": 0})
    assert "error" not in answer
    assert answer["mode"] == "hybrid"
    return [(hit["path"], hit["startLine"], hit["score"]) for hit in answer["results"]]


def test_a_search_after_rest_finds_the_same(place: Path) -> None:
    with open_memory(place) as memory:
        before = [ask(memory, question) for question in QUESTIONS]
        assert all(before)
        assert static._shared
        memory.rest()
        assert not static._shared  # nobody else keeps the model
        memory.rest()
        assert [ask(memory, question) for question in QUESTIONS] == before


def test_searches_and_syncs_beside_a_process_that_rests_all_the_time(place: Path) -> None:
    over = threading.Event()

    def rest_again_and_again() -> None:
        pause = 0.1
        while not over.wait(pause):  # the larger the process, the longer a rest holds up all threads
            begun = time.monotonic()
            memory.rest()
            pause = max(pause, 2 * (time.monotonic() - begun))

    with open_memory(place) as memory:
        expected = [ask(memory, question) for question in QUESTIONS]
        threads = [threading.Thread(target=rest_again_and_again) for _ in range(2)]
        for thread in threads:
            thread.start()
        try:
            for number, (question, found) in itertools.islice(
                enumerate(itertools.cycle(zip(QUESTIONS, expected, strict=True))), 24
            ):
                assert ask(memory, question) == found
                if not number % 10:
                    assert memory.sync(force=True).files == 40
        finally:
            over.set()
            for thread in threads:
                thread.join()


def test_a_slot_lets_the_items_rest_too(place: Path) -> None:
    config = {"memorySearch": {"provider": "static", "items": {"enabled": True}}}
    with MemorySlot(config, workspace=place / "notes", state_dir=place / "state") as slot:
        assert slot.call_tool("memory_store", {"text": "The gate of the sheepfold is green."})["status"] == "added"
        found = slot.call_tool("memory_recall", {"query": "Which colour has the gate?"})
        assert found["results"]
        slot.rest()
        assert not static._shared
        again = slot.call_tool("memory_recall", {"query": "Which colour has the gate?"})
        assert [hit["id"] for hit in again["results"]] == [hit["id"] for hit in found["results"]]


def test_a_closed_memory_rests_without_a_word(place: Path) -> None:
    memory = open_memory(place)
    memory.close()
    memory.rest()
