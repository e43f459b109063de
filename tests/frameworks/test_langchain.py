"""LangChain's own agents with the tools and the middleware."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from memory_core import CallContext
from memory_core.plugin import MemorySlot
from tests.frameworks.conftest import FACTS, NOTE, TOLD, assert_saved_once_before_each, has_learned, read_daily
from tests.frameworks.programs import assert_conversations_are_recalled, make_talking_program
from tests.servers.chat import REMEMBER, ChatServer

agents: Any = pytest.importorskip("langchain.agents", reason="make test-hosts installs LangChain")
pytest.importorskip("langchain_openai")
pytestmark = pytest.mark.filterwarnings("default::DeprecationWarning")


def make_agent(slot: MemorySlot, server: ChatServer, **options: Any) -> Any:
    from langchain.agents.middleware import SummarizationMiddleware
    from langchain_openai import ChatOpenAI
    from langgraph.checkpoint.memory import InMemorySaver

    from memory_core.hosts.langchain import MemoryMiddleware

    model = ChatOpenAI(model="rules", base_url=server.url, api_key="placeholder")
    compaction = SummarizationMiddleware(model, trigger=("messages", 8), keep=("messages", 2))
    middleware = MemoryMiddleware(slot, model, compaction=compaction, **options)
    return agents.create_agent(model, middleware=[middleware], checkpointer=InMemorySaver(), system_prompt="Be brief.")


class Chat:
    """One thread with an agent, asked in one way or the other."""

    def __init__(self, agent: Any, *, asynchronous: bool) -> None:
        self.agent, self.asynchronous = agent, asynchronous
        self.runner = asyncio.Runner()  # LangChain keeps connections of the loop it was first asked in
        self.config = {"configurable": {"thread_id": "t1"}}

    def say(self, text: str) -> str:
        asked = {"messages": [{"role": "user", "content": text}]}
        if self.asynchronous:
            state = self.runner.run(self.agent.ainvoke(asked, self.config))
        else:
            state = self.agent.invoke(asked, self.config)
        return str(state["messages"][-1].text)

    def count_messages(self) -> int:
        return len(self.agent.get_state(self.config).values.get("messages", []))

    def compact(self) -> None:
        """Chat until the session is shortened."""
        for _ in range(10):
            before = self.count_messages()
            self.say("How are you?")
            if self.count_messages() < before:
                return
        raise AssertionError("it was never compacted")


@pytest.mark.parametrize("asynchronous", [False, True], ids=["sync", "async"])
def test_it_finds_appends_and_saves_once_before_each_compaction(
    slot: MemorySlot, server: ChatServer, notes: Path, asynchronous: bool
) -> None:
    chat = Chat(make_agent(slot, server), asynchronous=asynchronous)
    assert "31 May" in chat.say("When does the lease of the boat house end?")
    chat.say(f"{REMEMBER}the cat is called Minka")
    assert "the cat is called Minka" in read_daily(notes)
    for number, fact in enumerate(FACTS, start=1):
        server.stores = fact
        chat.compact()
        assert_saved_once_before_each(server, notes, number)
    assert "4711" in chat.say("Which number has the archive box?")
    system = server.requests[-1]["messages"][0]
    assert system["role"] == "system"
    assert "Be brief." in str(system["content"])
    assert NOTE in str(system["content"])


def test_recall_puts_passages_behind_the_system_prompt(slot: MemorySlot, server: ChatServer, notes: Path) -> None:
    (notes / "boat.md").write_text("", encoding="utf-8")
    (notes / "memory").mkdir()
    (notes / "memory" / "2020-01-01.md").write_text("The anchor lies in the shed.\n", encoding="utf-8")
    Chat(make_agent(slot, server, recall=True), asynchronous=False).say("Where is the anchor?")
    assert "The anchor lies in the shed." in str(server.requests[0]["messages"][0])


@pytest.mark.parametrize("asynchronous", [False, True], ids=["sync", "async"])
def test_what_is_said_in_a_turn_is_learned(capturing: MemorySlot, server: ChatServer, asynchronous: bool) -> None:
    server.facts = {TOLD: {"fact": "The oars are kept in the shed.", "kind": "fact", "sure": True}}
    Chat(make_agent(capturing, server), asynchronous=asynchronous).say(TOLD)
    assert has_learned(capturing)
    assert server.kinds["capture"] == 1


SAY = """
from langchain.agents import create_agent
from langchain.agents.middleware import SummarizationMiddleware
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from memory_core.hosts.langchain import MemoryMiddleware

model = ChatOpenAI(model="rules", base_url=url, api_key="placeholder")
middleware = MemoryMiddleware(slot, model, compaction=SummarizationMiddleware(model, trigger=("messages", 99)), recall=True)
agent = create_agent(model, middleware=[middleware], checkpointer=InMemorySaver())

def say(text):
    asked = {"messages": [{"role": "user", "content": text}]}
    return agent.invoke(asked, {"configurable": {"thread_id": session}})["messages"][-1].text
"""


def test_a_session_that_ended_and_one_that_was_killed_are_recalled(
    server: ChatServer, notes: Path, tmp_path: Path
) -> None:
    program = make_talking_program(SAY, notes, tmp_path / "state", server.url)
    assert_conversations_are_recalled(program, server, "langchain", tmp_path / "state")


def test_each_thread_is_described_by_the_host(slot: MemorySlot, server: ChatServer) -> None:
    seen: list[str] = []

    def describe(thread: str) -> CallContext:
        seen.append(thread)
        return CallContext(session_key=f"agent:main:web:{thread}", chat_type="group", access="none")

    Chat(make_agent(slot, server, context=describe), asynchronous=False).say("When does the lease end?")
    assert set(seen) == {"t1"}
    assert "Memory" not in str(server.requests[0]["messages"][0])


def test_a_middleware_that_removes_nothing_is_refused(slot: MemorySlot) -> None:
    from langchain.agents.middleware import ToolRetryMiddleware

    from memory_core.hosts.langchain import MemoryMiddleware

    with pytest.raises(TypeError, match="removes messages"):
        MemoryMiddleware(slot, object(), compaction=ToolRetryMiddleware())
