"""A search that keywords alone answer says why, whatever left it without vectors."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import memory_core
from memory_core import Memory
from memory_core.records import CallContext
from tests.servers.loopback import Reply
from tests.servers.openai import OpenAIServer

READER = CallContext(session_key="agent:main:main", chat_type="direct", access="ro")
QUESTION = {"query": "Where is the copper kettle?"}


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer() as server:
        yield server


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "ws"
    folder.mkdir()
    (folder / "MEMORY.md").write_text("The copper kettle is in the cellar.\n", encoding="utf-8")
    return folder


def opened(server: OpenAIServer, workspace: Path, **sync: Any) -> Memory:
    remote = {"baseUrl": server.url, "apiKey": "sk-keywords"}
    search = {"provider": "openai", "model": "m", "remote": remote, "sync": {"watch": False, **sync}}
    return memory_core.open_memory({"memorySearch": search}, workspace=workspace, state_dir=workspace.parent / "state")


def test_a_question_without_a_direction(server: OpenAIServer, workspace: Path) -> None:
    """All zeros: no note is nearer to it than another."""
    with opened(server, workspace) as memory:
        memory.sync()
        server.replaced[QUESTION["query"]] = [0.0] * server.dimensions
        answer = memory.call_tool("memory_search", QUESTION, READER)
    assert answer["mode"] == "keyword"
    assert "keyword search only" in answer["warning"]
    assert answer["results"]


def test_notes_that_the_provider_refused(server: OpenAIServer, workspace: Path) -> None:
    """A refusal of the texts is no outage, so that nothing else tells of it."""
    with opened(server, workspace) as memory:
        server.max_characters = 10
        memory.sync()
        server.max_characters = 100_000
        answer = memory.call_tool("memory_search", QUESTION, READER)
    assert answer["mode"] == "keyword"
    assert "keyword search only" in answer["warning"]


def test_notes_whose_first_embeddings_are_still_being_made(server: OpenAIServer, workspace: Path) -> None:
    gate = threading.Event()

    def answer_late(request: Any) -> Reply:
        texts = request.json()["input"]
        if texts != [QUESTION["query"]]:
            gate.wait(60)
        return server.embeddings(request.json())

    server.answer = answer_late  # type: ignore[method-assign]
    try:
        with opened(server, workspace, onSearchBudgetMs=300) as memory:
            answer = memory.call_tool("memory_search", QUESTION)
            gate.set()
    finally:
        gate.set()
    assert answer["mode"] == "keyword"
    assert answer["stale"]
    assert "keyword search only" in answer["warning"]
