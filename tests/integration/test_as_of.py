"""A search of the past equals a search of a fresh index of the notes as they stood, and says what stands there now."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

import memory_core
from memory_core.plugin.memory import Memory
from memory_core.records import CallContext
from tests.history import WORDS, Writer, write_notes
from tests.servers.openai import OpenAIServer

CALLER = CallContext.local("main")
QUESTIONS = (
    *(f"{one} {other}" for one, other in zip(WORDS, WORDS[4:], strict=False)),
    "What did Lena say about the invoice?",
    "2026-01-03",
    "lamp 2",
)


def _configure(provider: str, **more: Any) -> dict[str, Any]:
    return {
        "agents": {
            "defaults": {"memorySearch": {"provider": provider, "chunking": {"tokens": 60, "overlap": 12}, **more}}
        }
    }


def _ask(memory: Memory, **asked: Any) -> list[list[dict[str, Any]]]:
    """Return the hits of every question, without what only those of the past have."""
    answers = [
        memory.call_tool("memory_search", {"query": query, "minScore": 0.1, **asked}, CALLER) for query in QUESTIONS
    ]
    own = {"now", "citation", "supersededBy"}
    return [[{key: hit[key] for key in hit if key not in own} for hit in answer["results"]] for answer in answers]


def _tick() -> str:
    """Return the time now, which no later moment has."""
    now = datetime.now().astimezone().isoformat(timespec="milliseconds")
    time.sleep(0.002)
    return now


def _compare_with_fresh(tmp_path: Path, config: dict[str, Any], seed: int, *, moments: int) -> None:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    writer, stood = Writer(workspace, seed), []
    with memory_core.open_memory(config, workspace=workspace, state_dir=tmp_path / "state") as memory:
        for number in range(moments):
            writer.change(1 + number % 5)
            memory.sync(force=number == moments // 2)
            stood.append((_tick(), dict(writer.notes)))
        for number, (at, notes) in enumerate(stood):
            fresh = tmp_path / f"fresh{number}"
            (fresh / "memory").mkdir(parents=True)
            write_notes(fresh, notes)
            with memory_core.open_memory(config, workspace=fresh, state_dir=tmp_path / f"state{number}") as anew:
                anew.sync()
                expected = _ask(anew)
            assert _ask(memory, asOf=at) == expected
        assert any(expected)
        assert _ask(memory) == expected  # the last moment is the present


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("provider", ["none", "static"])
def test_it_equals_a_search_of_a_fresh_index(tmp_path: Path, provider: str, seed: int) -> None:
    _compare_with_fresh(tmp_path, _configure(provider), seed, moments=8)


def test_embeddings_that_the_cache_lost_are_made_again_and_cosines_judged_anew(tmp_path: Path) -> None:
    with OpenAIServer(dimensions=64) as server:
        remote = {"baseUrl": server.url, "apiKey": "sk-test"}
        config = _configure("openai-compatible", model="any", remote=remote, cache={"enabled": False})
        _compare_with_fresh(tmp_path, config, 7, moments=6)


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    (tmp_path / "workspace").mkdir()
    with memory_core.open_memory(
        _configure("none"), workspace=tmp_path / "workspace", state_dir=tmp_path / "state"
    ) as opened:
        yield opened


def _hit(memory: Memory, query: str, at: str) -> dict[str, Any]:
    answer = memory.call_tool("memory_search", {"query": query, "asOf": at}, CALLER)
    hit: dict[str, Any] = answer["results"][0]
    assert answer["asOf"]["moment"] <= answer["asOf"]["instant"]
    return hit


def test_a_hit_says_what_stands_there_now(memory: Memory) -> None:
    workspace, path = memory.config().workspace, "memory/house.md"
    write_notes(workspace, {path: "# House\n\nThe rent is 700.\n\nThe boiler is from 1998.\n"})
    memory.sync()
    at = _tick()
    write_notes(workspace, {path: "# House\n\nWe moved.\n\nThe rent is 800.\n\nThe boiler is from 1998.\n"})
    rent, boiler = _hit(memory, "rent 700", at), _hit(memory, "boiler 1998", at)
    assert "The rent is 700." in rent["snippet"]
    assert rent["now"]["status"] == "changed"
    assert "The rent is 800." in rent["now"]["text"]
    assert boiler["now"]["status"] in {"changed", "unchanged"}
    assert rent["citation"].endswith(")")
    cited = memory.call_tool("memory_get", {"path": rent["citation"]}, CALLER)
    assert "The rent is 700." in cited["text"]
    write_notes(workspace, {"MEMORY.md": "- nothing\n"})
    assert _hit(memory, "rent 700", at)["now"] == {"status": "gone"}
    assert memory.call_tool("memory_search", {"query": "rent 700"}, CALLER)["results"] == []


def test_the_past_before_the_first_moment_is_an_error_and_an_empty_one_a_warning(memory: Memory) -> None:
    write_notes(memory.config().workspace, {"MEMORY.md": "- one\n"})
    memory.sync()
    early = memory.call_tool("memory_search", {"query": "one", "asOf": "2020-01-01"}, CALLER)
    assert "the history begins at" in early["error"]
    write_notes(memory.config().workspace, {})
    memory.sync()
    at = _tick()
    write_notes(memory.config().workspace, {"MEMORY.md": "- one\n"})
    answer = memory.call_tool("memory_search", {"query": "one", "asOf": at}, CALLER)
    assert (answer["results"], answer["warning"]) == ([], "There were no notes at that time")


def test_a_session_that_may_not_write_may_ask(memory: Memory) -> None:
    write_notes(memory.config().workspace, {"MEMORY.md": "- the lamp is red\n"})
    memory.sync()
    at = _tick()
    write_notes(memory.config().workspace, {"MEMORY.md": "- the lamp is blue\n"})
    memory.sync()
    reader = CallContext.local("main", access="ro")
    answer = memory.call_tool("memory_search", {"query": "lamp", "asOf": at}, reader)
    assert [hit["snippet"] for hit in answer["results"]] == ["- the lamp is red"]


def test_asking_for_the_past_leaves_the_present_as_it_was(memory: Memory) -> None:
    writer = Writer(memory.config().workspace, 5)
    writer.change(20)
    memory.sync()
    at = _tick()
    writer.change(20)
    memory.sync()
    before, store = _ask(memory), memory.config().store_path
    chunks = memory.status().chunks
    _ask(memory, asOf=at)
    assert _ask(memory) == before
    assert memory.status().chunks == chunks
    assert {file.name.partition(".")[2] for file in store.parent.iterdir()} >= {"sqlite", "history.sqlite"}
