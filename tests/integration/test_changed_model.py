"""A model that gives vectors of other dimensions under the same name: noticed, said, and embedded anew by the next command.

Every `with` block is a memory of its own, as each command has one: nothing is known from the one before but the index.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import memory_core
from memory_core import Memory
from tests.servers.openai import OpenAIServer

QUESTION = {"query": "Where is the kettle?", "minScore": 0}
Open = Callable[..., Memory]


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer(dimensions=8) as running:
        yield running


@pytest.fixture
def opened(tmp_path: Path, server: OpenAIServer) -> Open:
    (tmp_path / "MEMORY.md").write_text("The kettle is in the kitchen.\n\n# Music\n\nThe violin is on the shelf.\n")

    def open_one(*, on_search: bool = True) -> Memory:
        search = {
            "provider": "openai-compatible",
            "model": "m",
            "remote": {"baseUrl": server.url},
            "sync": {"onSearch": on_search, "onSearchBudgetMs": 30_000},
            "query": {"embedTimeoutMs": 30_000},
        }
        return memory_core.open_memory({"memorySearch": search}, workspace=tmp_path, state_dir=tmp_path / "state")

    with open_one() as memory:
        assert memory.sync().embedded > 0
    server.dimensions = 12
    return open_one


def test_a_sync_that_was_asked_for_notices_and_embeds(opened: Open) -> None:
    with opened() as memory:
        report = memory.sync()
        assert (report.embedded > 0, report.pending) == (True, 0)
    with opened() as memory:
        assert memory.call_tool("memory_search", QUESTION)["mode"] == "hybrid"
        assert memory.status().warnings == ()


def test_a_search_notices_and_the_next_one_is_whole_again(opened: Open) -> None:
    with opened() as memory:
        answer = memory.call_tool("memory_search", QUESTION)
        assert (answer["mode"], answer["results"][0]["path"]) == ("keyword", "MEMORY.md")
        assert "12 dimensions now, and gave 8" in answer["warning"]
    with opened() as memory:
        status = memory.status()
        assert "m gives 12 dimensions now, and gave 8: the next sync embeds all notes anew" in status.warnings
        assert status.pending > 0
    with opened() as memory:
        assert memory.call_tool("memory_search", QUESTION)["mode"] == "hybrid"
        assert (memory.status().pending, memory.status().warnings) == (0, ())


def test_searches_of_one_process_are_whole_again(opened: Open, server: OpenAIServer) -> None:
    server.dimensions = 8
    with opened() as memory:
        for _ in range(3):  # until it is known that nothing changes
            assert memory.call_tool("memory_search", QUESTION)["mode"] == "hybrid"
        server.dimensions = 12
        question = {**QUESTION, "query": "Where is the violin?"}  # the vector of the other one is kept
        assert "12 dimensions now" in memory.call_tool("memory_search", question)["warning"]
        assert memory.call_tool("memory_search", question)["mode"] == "hybrid"


def test_probe_and_doctor_say_so(opened: Open) -> None:
    with opened(on_search=False) as memory:
        probe = memory.probe()
        assert (probe.ok, probe.dimensions, probe.action) == (True, 12, "run: memory-core index")
        assert "12 dimensions now, and gave 8" in str(probe.warning)
        (finding,) = [finding for finding in memory.diagnose() if finding.subject == "provider"]
        assert finding.level == "warn"
        assert "12 dimensions now, and gave 8" in finding.message
    with opened() as memory:
        assert memory.sync().embedded > 0
        assert memory.probe().warning is None


def test_a_model_that_changes_back_costs_no_embedding_twice(opened: Open, server: OpenAIServer) -> None:
    with opened() as memory:
        memory.sync()
    server.dimensions = 8
    with opened() as memory:
        assert memory.sync().embedded == 0  # they are in the cache
        assert memory.call_tool("memory_search", QUESTION)["mode"] == "hybrid"


def test_a_rebuild_uses_the_new_dimensions(opened: Open) -> None:
    with opened() as memory:
        report = memory.sync(force=True)
        assert (report.embedded > 0, report.pending) == (True, 0)
        assert memory.call_tool("memory_search", QUESTION)["mode"] == "hybrid"
