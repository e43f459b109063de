"""OpenAI Agents' own runner with the tools, the instructions and the session."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from memory_core.plugin import MemorySlot
from tests.frameworks.conftest import NOTE, TOLD, converse, has_learned
from tests.frameworks.programs import assert_conversations_are_recalled, make_talking_program
from tests.servers.chat import ChatServer

agents: Any = pytest.importorskip("agents", reason="make test-hosts installs OpenAI Agents")


def test_it_finds_appends_and_saves_once_before_each_compaction(
    slot: MemorySlot, server: ChatServer, notes: Path
) -> None:
    asyncio.run(_chat(slot, server, notes))


async def _chat(slot: MemorySlot, server: ChatServer, notes: Path) -> None:
    from openai import AsyncOpenAI

    from memory_core.hosts.openai_agents import MemorySession, memory_instructions, memory_tools

    agents.set_tracing_disabled(True)
    async with AsyncOpenAI(base_url=server.url, api_key="placeholder") as client:
        model = agents.OpenAIChatCompletionsModel("rules", client)
        instructions = memory_instructions(slot, "Be brief.", recall=True)
        agent = agents.Agent(name="a", instructions=instructions, tools=memory_tools(slot), model=model)
        inner = agents.SQLiteSession("t1")
        session = MemorySession(inner, slot, model, max_tokens=700, keep_turns=1)

        async def say(text: str) -> str:
            return str((await agents.Runner.run(agent, text, session=session)).final_output)

        async def count() -> int:
            return len(await inner.get_items())

        async def compact(_number: int) -> None:
            for _ in range(20):
                before = await count()
                await say("How are you?")
                if await count() <= before:
                    break
            assert await count() <= before

        await converse(say, compact, server, notes)
        system = server.requests[-1]["messages"][0]["content"]
        assert system.startswith("Be brief.")
        assert NOTE in system


def test_the_end_of_a_session_is_read_without_shortening_it(slot: MemorySlot, server: ChatServer) -> None:
    from memory_core.hosts.openai_agents import MemorySession

    async def run() -> None:
        inner = agents.SQLiteSession("t1")
        session = MemorySession(inner, slot, object(), max_tokens=1, keep_turns=1)
        await session.add_items([{"role": "user", "content": str(number)} for number in range(3)])
        assert [item["content"] for item in await session.get_items(2)] == ["1", "2"]
        assert (await session.pop_item())["content"] == "2"
        assert len(await inner.get_items()) == 2
        await session.clear_session()
        assert await session.get_items() == []

    asyncio.run(run())


def test_a_model_that_fails_in_the_flush_does_not_hold_up_the_session(slot: MemorySlot, server: ChatServer) -> None:
    from memory_core.hosts.openai_agents import MemorySession

    async def run() -> None:
        session = MemorySession(agents.SQLiteSession("t1"), slot, object(), max_tokens=1, keep_turns=1)
        await session.add_items([{"role": "user", "content": str(number)} for number in range(3)])
        assert [item["content"] for item in await session.get_items()] == ["2"]

    asyncio.run(run())


def test_what_is_said_in_a_turn_is_learned(capturing: MemorySlot) -> None:
    from memory_core.hosts.openai_agents import MemorySession

    session = MemorySession(agents.SQLiteSession("t1"), capturing, object(), max_tokens=100_000)
    answer = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Noted."}]}
    asyncio.run(session.add_items([{"role": "user", "content": TOLD}]))
    asyncio.run(session.add_items([answer]))
    assert has_learned(capturing)


SAY = """
import agents
from openai import AsyncOpenAI
from memory_core.hosts.openai_agents import MemorySession, memory_instructions, memory_tools

agents.set_tracing_disabled(True)
model = agents.OpenAIChatCompletionsModel("rules", AsyncOpenAI(base_url=url, api_key="placeholder"))
instructions = memory_instructions(slot, "Be brief.", recall=True)
agent = agents.Agent(name="a", instructions=instructions, tools=memory_tools(slot), model=model)
kept = MemorySession(agents.SQLiteSession(session), slot, model, max_tokens=90_000, keep_turns=9)
runner = asyncio.Runner()

def say(text):
    return str(runner.run(agents.Runner.run(agent, text, session=kept)).final_output)
"""


def test_a_session_that_ended_and_one_that_was_killed_are_recalled(
    server: ChatServer, notes: Path, tmp_path: Path
) -> None:
    program = make_talking_program(SAY, notes, tmp_path / "state", server.url)
    assert_conversations_are_recalled(program, server, "openai-agents", tmp_path / "state")
