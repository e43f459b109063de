"""The recipe for LlamaIndex."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from memory_core.plugin import MemorySlot
from tests.frameworks.conftest import NOTE, read_daily
from tests.servers.chat import REMEMBER, ChatServer

pytest.importorskip("llama_index.core", reason="make test-hosts installs LlamaIndex")


def test_it_finds_appends_and_saves_before_messages_are_ejected(
    slot: MemorySlot, server: ChatServer, notes: Path
) -> None:
    asyncio.run(_chat(slot, server, notes))


async def _chat(slot: MemorySlot, server: ChatServer, notes: Path) -> None:
    from llama_index.core.agent.workflow import FunctionAgent
    from llama_index.core.memory import BaseMemoryBlock, Memory
    from llama_index.core.tools import FunctionTool, ToolMetadata
    from llama_index.llms.openai_like import OpenAILike

    from tests.frameworks.recipes import FACTS, assert_recalled, run_recipe, write_old_note

    llm = OpenAILike(
        model="rules", api_base=server.url, api_key="placeholder", is_chat_model=True, is_function_calling_model=True
    )

    class SmallMemory:
        """Makes the memory of the recipe, with a size that a test reaches."""

        @staticmethod
        def from_defaults(**given: Any) -> Any:
            return Memory.from_defaults(**given | {"token_limit": 400, "token_flush_size": 100})

    names = {"FunctionAgent": FunctionAgent, "BaseMemoryBlock": BaseMemoryBlock, "Memory": SmallMemory, "llm": llm}
    names |= {"FunctionTool": FunctionTool, "ToolMetadata": ToolMetadata, "asyncio": asyncio}
    space = run_recipe("LlamaIndex", slot, server, **names)

    async def say(text: str) -> str:
        return str(await space["agent"].run(text, memory=space["memory"]))

    write_old_note(notes)
    assert "31 May" in await say("When does the lease of the boat house end?")
    assert NOTE in str(server.requests[0]["messages"])
    await say(f"{REMEMBER}the cat is called Minka")
    assert "the cat is called Minka" in read_daily(notes)
    number = len(server.requests)
    await say("Where does the anchor lie?")
    assert_recalled(server, number)
    for number, fact in enumerate(FACTS, start=1):
        server.stores = fact
        for _ in range(30):
            await say("How are you?")
            if server.kinds["store"] == number:
                break
        assert server.kinds["store"] == number
        assert fact in read_daily(notes)
        server.stores = ""
    assert "4711" in await say("What is the gate code?")
