"""Strands' own agents with the memory store: its manager finds notes, adds to them, and reports what is said."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from memory_core.errors import MemoryCoreError
from memory_core.plugin import MemorySlot
from memory_core.records import CallContext
from tests.frameworks.conftest import NOTE, TOLD, has_learned, read_daily
from tests.servers.chat import ChatServer

strands: Any = pytest.importorskip("strands", reason="make test-hosts installs Strands Agents")


def _make_agent(server: ChatServer, store: Any) -> Any:
    from strands.memory import MemoryManager
    from strands.models.openai import OpenAIModel

    model = OpenAIModel(client_args={"base_url": server.url, "api_key": "placeholder"}, model_id="rules")
    return strands.Agent(model, memory_manager=MemoryManager(stores=[store], add_tool_config=True))


def test_its_manager_finds_notes_and_adds_to_them(slot: MemorySlot, server: ChatServer, notes: Path) -> None:
    from memory_core.hosts.strands import NotesMemoryStore

    agent = _make_agent(server, NotesMemoryStore(slot))
    question = "When does the lease of the boat house end?"
    server.script = [
        ("search_memory", {"query": question}),
        ("add_memory", {"entries": ["- The gate code is 4711."]}),
    ]
    agent(question)
    assert NOTE in json.dumps(server.requests[0]["messages"]), "what the message calls to mind stands before it"
    results = [each for each in server.requests[-1]["messages"] if each["role"] == "tool"]
    assert NOTE in json.dumps(results)
    assert "- The gate code is 4711." in read_daily(notes)


def test_what_is_said_is_learned(capturing: MemorySlot, server: ChatServer) -> None:
    from strands.memory import ExtractionConfig, InvocationTrigger

    from memory_core.hosts.strands import NotesMemoryStore

    store = NotesMemoryStore(capturing, extraction=ExtractionConfig(trigger=InvocationTrigger()))
    _make_agent(server, store)(TOLD)
    assert has_learned(capturing)


def test_a_session_that_may_not_write_says_so(slot: MemorySlot) -> None:
    from memory_core.hosts.strands import NotesMemoryStore

    store = NotesMemoryStore(slot, CallContext(session_key="main", access="ro"))
    with pytest.raises(MemoryCoreError, match="may not write"):
        asyncio.run(store.add("- x"))
