"""The recipe for LlamaIndex."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from memory_core.plugin import MemorySlot
from tests.frameworks.conftest import converse
from tests.servers.chat import ChatServer

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

    async def compact(number: int) -> None:
        for _ in range(30):
            await say("How are you?")
            if len(ejected) == number:
                break
        assert len(ejected) == number

    await converse(say, compact, server, notes)
