"""The recipe for Google's ADK."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from memory_core.hosts.messages.adk import to_openai
from memory_core.plugin import MemorySlot
from tests.frameworks.conftest import converse
from tests.servers.chat import ChatServer

pytest.importorskip("google.adk", reason="make test-hosts installs ADK")


def test_it_finds_appends_and_saves_once_before_each_compaction(
    slot: MemorySlot, server: ChatServer, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # else it asks the network for prices
    asyncio.run(_chat(slot, server, notes))


async def _chat(slot: MemorySlot, server: ChatServer, notes: Path) -> None:
    from google.adk.agents import LlmAgent
    from google.adk.apps.app import App, EventsCompactionConfig
    from google.adk.apps.llm_event_summarizer import LlmEventSummarizer
    from google.adk.models.lite_llm import LiteLlm
    from google.adk.runners import InMemoryRunner
    from google.adk.tools.base_tool import BaseTool
    from google.genai.types import Content, FunctionDeclaration, Part

    from tests.frameworks.recipes import run_recipe

    model = LiteLlm(model="openai/rules", api_base=server.url, api_key="placeholder")
    names: dict[str, Any] = {"BaseTool": BaseTool, "FunctionDeclaration": FunctionDeclaration, "LlmAgent": LlmAgent}
    names |= {"LlmEventSummarizer": LlmEventSummarizer, "to_openai": to_openai, "model": model, "asyncio": asyncio}
    space = run_recipe("Google ADK", slot, server, **names)
    compaction = EventsCompactionConfig(
        summarizer=space["Summarizer"](llm=model), compaction_interval=4, overlap_size=0
    )
    app = App(name="app", root_agent=space["agent"], events_compaction_config=compaction)
    runner = InMemoryRunner(app=app)
    await runner.session_service.create_session(app_name="app", user_id="u", session_id="s")

    async def say(text: str) -> str:
        said = ""
        message = Content(role="user", parts=[Part(text=text)])
        async for event in runner.run_async(user_id="u", session_id="s", new_message=message):
            said += (
                "".join(part.text or "" for part in (event.content.parts or []) if event.content)
                if event.content
                else ""
            )
        return said

    async def compact(number: int) -> None:
        for _ in range(30):
            await say("How are you?")
            if server.kinds["summary"] == number:
                break
        assert server.kinds["summary"] == number

    await converse(say, compact, server, notes, summaries=True)
    await runner.close()
