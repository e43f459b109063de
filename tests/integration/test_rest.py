"""A memory at rest: model, vectors and connections are let go of, and the next search finds what it would have found."""

from __future__ import annotations

import itertools
import threading
from pathlib import Path
from typing import Any

import pytest

import memory_core
from memory_core.concurrency.rest import rest
from memory_core.embeddings.static import _Loaded
from memory_core.plugin.memory import Memory
from memory_core.stores.sqlite.vectors import VectorIndex
from tests.benchmarks.daily_notes import questions, write_daily_notes

QUESTIONS = questions(8)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("rest")
    write_daily_notes(folder / "notes", 40)
    with open_memory(folder) as memory:
        memory.sync()
    return folder


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
        assert _Loaded._shared() is not None
        assert rest()
        assert _Loaded._shared() is None  # nobody else keeps the model
        assert not rest()
        assert [ask(memory, question) for question in QUESTIONS] == before


def test_searches_and_syncs_beside_a_process_that_rests_all_the_time(place: Path) -> None:
    over = threading.Event()

    def rest_again_and_again() -> None:
        while not over.is_set():
            rest()

    with open_memory(place) as memory:
        expected = [ask(memory, question) for question in QUESTIONS]
        threads = [threading.Thread(target=rest_again_and_again) for _ in range(2)]
        for thread in threads:
            thread.start()
        try:
            for number, (question, found) in itertools.islice(
                enumerate(itertools.cycle(zip(QUESTIONS, expected, strict=True))), 40
            ):
                assert ask(memory, question) == found
                if not number % 10:
                    assert memory.sync(force=True).files == 40
        finally:
            over.set()
            for thread in threads:
                thread.join()


def test_an_index_whose_vectors_are_screened_by_their_signs_rests_too(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memory_core.stores.sqlite.vectors.EXACT_BYTES", 1024)
    with open_memory(place) as memory:
        before = [ask(memory, question) for question in QUESTIONS]
        (index,) = [each for each in _find_indexes() if each._signs is not None]
        rest()
        assert index._signs is None
        assert [ask(memory, question) for question in QUESTIONS] == before


def _find_indexes() -> list[VectorIndex]:
    from memory_core.concurrency import rest as room

    return [owner for owner in room._owners if isinstance(owner, VectorIndex)]
