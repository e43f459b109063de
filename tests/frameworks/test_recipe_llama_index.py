"""The recipe for LlamaIndex."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

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

    from tests.frameworks.recipes import run_recipe

    llm = OpenAILike(
        model="rules", api_base=server.url, api_key="placeholder", is_chat_model=True, is_function_calling_model=True
    )

    ejected: list[int] = []

    class CountingBlock(BaseMemoryBlock[str]):  # type: ignore[misc]  # untyped where it is not installed
        """Counts how often messages are ejected from short-term memory."""

        async def _aget(self, messages: Any = None, **_: Any) -> str:
            return ""

        async def _aput(self, messages: Any) -> None:
            ejected.append(len(messages))

    class SmallMemory:
        """Makes the memory of the recipe, with a size that a test reaches."""

        @staticmethod
        def from_defaults(**given: Any) -> Any:
            blocks = [*given["memory_blocks"], CountingBlock(name="count")]
            small = {"memory_blocks": blocks, "token_limit": 3_000, "token_flush_size": 1_000}
            return Memory.from_defaults(**given | small)

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
            if len(ejected) == number:
                break
        assert len(ejected) == number
        assert_saved_once_before_each(server, notes, number)
    assert "4711" in await say("What is the gate code?")
