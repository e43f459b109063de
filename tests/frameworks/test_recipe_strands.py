"""The recipe for Strands Agents."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from memory_core.hosts.messages.strands import to_openai
from memory_core.plugin import MemorySlot
from tests.frameworks.conftest import (
    FACTS,
    NOTE,
    assert_recalled,
    assert_saved_once_before_each,
    read_daily,
    write_old_note,
)
from tests.servers.chat import REMEMBER, ChatServer

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

    def say(text: str) -> str:
        return str(agent(text))

    write_old_note(notes)
    assert "31 May" in say("When does the lease of the boat house end?")
    assert NOTE in str(server.requests[0]["messages"][0])
    say(f"{REMEMBER}the cat is called Minka")
    assert "the cat is called Minka" in read_daily(notes)
    number = len(server.requests)
    say("Where does the anchor lie?")
    assert_recalled(server, number)
    for number, fact in enumerate(FACTS, start=1):
        server.stores = fact
        for _ in range(5):
            say("How are you?")
        before = len(agent.messages)
        agent.conversation_manager.reduce_context(agent)
        assert len(agent.messages) < before
        assert_saved_once_before_each(server, notes, number, summaries=True)
    assert "4711" in say("What is the gate code?")
