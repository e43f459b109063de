"""ADK's own agents with the memory service: its tools find notes, and what is said is learned."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest

from memory_core.plugin import MemorySlot
from memory_core.records import CallContext
from tests.frameworks.conftest import NOTE, TOLD, has_learned, read_daily
from tests.servers.chat import ChatServer

pytest.importorskip("google.adk", reason="make test-hosts installs ADK")


def test_its_own_tools_find_notes(slot: MemorySlot, server: ChatServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # else it asks the network for prices
    asyncio.run(_chat(slot, server))


async def _chat(slot: MemorySlot, server: ChatServer) -> None:
    from google.adk.agents import LlmAgent
    from google.adk.models.lite_llm import LiteLlm
    from google.adk.runners import Runner
    from google.adk.sessions import InMemorySessionService
    from google.adk.tools import load_memory, preload_memory
    from google.genai.types import Content, Part

    from memory_core.hosts.adk import NotesMemoryService

    model = LiteLlm(model="openai/rules", api_base=server.url, api_key="placeholder")
    agent = LlmAgent(name="assistant", model=model, tools=[load_memory, preload_memory])
    sessions = InMemorySessionService()
    runner = Runner(app_name="app", agent=agent, session_service=sessions, memory_service=NotesMemoryService(slot))
    session = await sessions.create_session(app_name="app", user_id="u", session_id="s")
    question = "When does the lease of the boat house end?"
    server.script = [("load_memory", {"query": question})]
    message = Content(role="user", parts=[Part(text=question)])
    async for _ in runner.run_async(user_id="u", session_id=session.id, new_message=message):
        pass
    await runner.close()
    first, second = server.requests
    assert NOTE in json.dumps(first["messages"]), "preload_memory puts it before the question"
    assert NOTE in json.dumps([each for each in second["messages"] if each["role"] == "tool"])


class Heard(MemorySlot):
    """A slot that remembers which turns were reported."""

    heard: ClassVar[list[list[str]]] = []

    def turn_ended(self, context: CallContext | None, messages: Any, complete: Any = None, *, host: str = "") -> None:
        self.heard.append([message["content"] for message in messages])
        super().turn_ended(context, messages, complete, host=host)


@pytest.fixture
def capturing(notes: Path, tmp_path: Path, at_once: None) -> Iterator[Heard]:
    search = {"provider": "none", "items": {"enabled": True, "capture": {"enabled": True}}}
    with Heard({"memorySearch": search}, workspace=notes, state_dir=tmp_path / "state") as slot:
        yield slot


def test_sessions_and_events_are_learned_from_once(capturing: Heard) -> None:
    from google.adk.events import Event
    from google.adk.sessions import Session
    from google.genai.types import Content, Part

    from memory_core.hosts.adk import NotesMemoryService

    def say(author: str, text: str) -> Event:
        role = "user" if author == "user" else "model"
        return Event(author=author, content=Content(role=role, parts=[Part(text=text)]))

    service = NotesMemoryService(capturing)
    said = [say("user", TOLD), say("assistant", "I will."), say("user", "Thanks."), say("assistant", "Gladly.")]
    session = Session(id="s", app_name="app", user_id="u", events=said)
    asyncio.run(service.add_session_to_memory(session))
    asyncio.run(service.add_session_to_memory(session))
    session.events.append(say("user", "Bye."))
    asyncio.run(service.add_session_to_memory(session))
    asyncio.run(service.add_events_to_memory(app_name="app", user_id="u", events=[say("user", "Again.")]))
    assert capturing.heard == [[TOLD, "I will."], ["Thanks.", "Gladly."], ["Bye."], ["Again."]]
    assert has_learned(capturing)


def test_a_memory_is_added_to_the_note_of_the_day(slot: MemorySlot, notes: Path) -> None:
    from google.adk.memory.memory_entry import MemoryEntry
    from google.genai.types import Content, Part

    from memory_core.hosts.adk import NotesMemoryService

    memory = MemoryEntry(content=Content(parts=[Part(text="- The gate code is 4711.")]))
    asyncio.run(NotesMemoryService(slot).add_memory(app_name="app", user_id="u", memories=[memory]))
    assert "- The gate code is 4711." in read_daily(notes)
