"""pydantic-ai's own agents with the capability."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from memory_core import CallContext
from memory_core.plugin import MemorySlot
from tests.frameworks.conftest import NOTE, OLD, TOLD, converse, has_learned, write_old_note
from tests.frameworks.programs import assert_conversations_are_recalled, make_talking_program
from tests.servers.chat import ChatServer

pydantic_ai: Any = pytest.importorskip("pydantic_ai", reason="make test-hosts installs pydantic-ai")
pytest.importorskip("openai")


def test_it_finds_appends_and_saves_once_before_each_compaction(
    slot: MemorySlot, server: ChatServer, notes: Path
) -> None:
    asyncio.run(_chat(slot, server, notes))


async def _chat(slot: MemorySlot, server: ChatServer, notes: Path) -> None:
    from openai import AsyncOpenAI
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    from memory_core.hosts.pydantic_ai import MemoryCapability, keep_turns

    async with AsyncOpenAI(base_url=server.url, api_key="placeholder") as client:
        model = OpenAIChatModel("rules", provider=OpenAIProvider(openai_client=client))
        memory = MemoryCapability(slot, compaction=keep_turns(1, max_tokens=700), recall=True)
        agent = pydantic_ai.Agent(model, capabilities=[memory], instructions="Be brief.")
        history: list[Any] = []

        async def say(text: str) -> str:
            result = await agent.run(text, message_history=history)
            history[:] = result.all_messages()
            return str(result.output)

        async def count() -> int:
            return len(history)

        async def compact(_number: int) -> None:
            for _ in range(20):
                before = await count()
                await say("How are you?")
                if await count() <= before:
                    break
            assert await count() <= before

        await converse(say, compact, server, notes)
        system = "".join(
            str(message["content"]) for message in server.requests[-1]["messages"] if message["role"] == "system"
        )
        assert "Be brief." in system
        assert NOTE in system


def test_what_is_said_in_a_turn_is_learned(capturing: MemorySlot) -> None:
    from pydantic_ai.models.test import TestModel

    from memory_core.hosts.pydantic_ai import MemoryCapability

    agent = pydantic_ai.Agent(TestModel(call_tools=[]), capabilities=[MemoryCapability(capturing)])
    asyncio.run(agent.run(TOLD))
    assert has_learned(capturing)


def test_each_session_is_offered_its_own_tools_and_recalls_again(
    server: ChatServer, notes: Path, tmp_path: Path
) -> None:
    """Memory is on for Ann alone; what her message calls to mind stands in all requests of a run, and comes again."""
    from openai import AsyncOpenAI
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    from memory_core.hosts.pydantic_ai import MemoryCapability

    write_old_note(notes)
    search = {"enabled": True, "provider": "static", "recall": {"enabled": True, "timeoutMs": 60_000}}
    listed = [{"id": "ann", "workspace": str(notes), "memorySearch": search}]
    config = {"agents": {"defaults": {"memorySearch": {"enabled": False}}, "list": listed}}

    async def run(slot: MemorySlot) -> None:
        async with AsyncOpenAI(base_url=server.url, api_key="placeholder") as client:
            model = OpenAIChatModel("rules", provider=OpenAIProvider(openai_client=client))
            memory = MemoryCapability(
                slot, context=lambda run: CallContext.local(str(run.conversation_id), agent=run.deps), recall=True
            )
            agent = pydantic_ai.Agent(model, capabilities=[memory], deps_type=str)
            for question in ("Where does the anchor lie?", "Behind what does the old anchor lie?"):
                sent = len(server.requests)
                await agent.run(question, deps="ann")
                asked = server.requests[sent:]
                assert len(asked) > 1
                assert all(OLD in json.dumps(request["messages"][0]) for request in asked)
            names = [tool["function"]["name"] for tool in server.requests[-1]["tools"]]
            assert names == ["memory_search", "memory_get", "memory_append"]
            await agent.run("Where does the anchor lie?", deps="bob")
            assert not server.requests[-1].get("tools")

    with MemorySlot(config, state_dir=tmp_path / "state") as slot:
        asyncio.run(run(slot))


SAY = """
from openai import AsyncOpenAI
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from memory_core.hosts.pydantic_ai import MemoryCapability

client = AsyncOpenAI(base_url=url, api_key="placeholder")
model = OpenAIChatModel("rules", provider=OpenAIProvider(openai_client=client))
agent = Agent(model, capabilities=[MemoryCapability(slot, recall=True)])
runner = asyncio.Runner()

def say(text):
    return str(runner.run(agent.run(text)).output)
"""


def test_a_session_that_ended_and_one_that_was_killed_are_recalled(
    server: ChatServer, notes: Path, tmp_path: Path
) -> None:
    program = make_talking_program(SAY, notes, tmp_path / "state", server.url)
    assert_conversations_are_recalled(program, server, "pydantic-ai", tmp_path / "state")
