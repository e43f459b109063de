"""The recipe for Strands Agents."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from memory_core.hosts.messages.strands import to_openai
from memory_core.plugin import MemorySlot
from tests.frameworks.conftest import converse
from tests.servers.chat import ChatServer

strands: Any = pytest.importorskip("strands", reason="make test-hosts installs Strands Agents")


def test_it_finds_appends_and_saves_once_before_each_compaction(
    slot: MemorySlot, server: ChatServer, notes: Path
) -> None:
    from strands.agent.conversation_manager import SummarizingConversationManager
    from strands.hooks import BeforeInvocationEvent
    from strands.models.openai import OpenAIModel
    from strands.tools.tools import PythonAgentTool

    from tests.frameworks.recipes import run_recipe

    model = OpenAIModel(client_args={"base_url": server.url, "api_key": "placeholder"}, model_id="rules")
    names = {"model": model, "Agent": strands.Agent, "PythonAgentTool": PythonAgentTool, "json": json}
    names |= {"SummarizingConversationManager": SummarizingConversationManager, "to_openai": to_openai}
    names |= {"BeforeInvocationEvent": BeforeInvocationEvent}
    agent = run_recipe("Strands Agents", slot, server, **names)["agent"]

    async def say(text: str) -> str:
        return str(await asyncio.to_thread(agent, text))

    async def compact(_number: int) -> None:
        for _ in range(5):
            await say("How are you?")
        before = len(agent.messages)
        agent.conversation_manager.reduce_context(agent)
        assert len(agent.messages) < before

    asyncio.run(converse(say, compact, server, notes, summaries=True))
