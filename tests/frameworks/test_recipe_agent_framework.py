"""The recipe for Microsoft Agent Framework."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from memory_core.plugin import MemorySlot
from tests.frameworks.conftest import converse
from tests.servers.chat import ChatServer

agent_framework: Any = pytest.importorskip("agent_framework", reason="make test-hosts installs Agent Framework")


def test_it_finds_appends_and_saves_once_before_each_compaction(
    slot: MemorySlot, server: ChatServer, notes: Path
) -> None:
    asyncio.run(_chat(slot, server, notes))


async def _chat(slot: MemorySlot, server: ChatServer, notes: Path) -> None:
    from agent_framework.openai import OpenAIChatCompletionClient

    from tests.frameworks.recipes import run_recipe

    shortened: list[int] = []

    class SmallStrategy(agent_framework.TruncationStrategy):  # type: ignore[misc]  # untyped where it is not installed
        """The strategy of the recipe, with a size that a test reaches."""

        def __init__(self, **given: Any) -> None:
            super().__init__(**given | {"max_n": 16, "compact_to": 4})

        async def __call__(self, messages: list[Any]) -> bool:
            changed = bool(await super().__call__(messages))
            shortened.extend([len(messages)] * changed)
            return changed

    client = OpenAIChatCompletionClient("rules", api_key="placeholder", base_url=server.url)
    names = {name: getattr(agent_framework, name) for name in ("Agent", "ContextProvider", "FunctionTool")}
    names |= {"TruncationStrategy": SmallStrategy, "client": client, "asyncio": asyncio}
    agent = run_recipe("Microsoft Agent Framework", slot, server, **names)["agent"]
    session = agent.create_session()

    async def say(text: str) -> str:
        return str((await agent.run(text, session=session)).text)

    async def compact(number: int) -> None:
        for _ in range(30):
            await say("How are you?")
            if len(shortened) == number:
                break
        assert len(shortened) == number

    await converse(say, compact, server, notes)
