"""LangChain's own agents with the tools and the middleware."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

from memory_core import CallContext
from memory_core.plugin import MemorySlot
from tests.frameworks.conftest import (
    FACTS,
    NOTE,
    OLD,
    TOLD,
    assert_saved_once_before_each,
    has_learned,
    read_daily,
    write_old_note,
)
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


def list_tools(server: ChatServer, number: int = -1) -> list[str]:
    """The names of the tools that a request offers the model."""
    return [tool["function"]["name"] for tool in server.requests[number].get("tools", ())]


def test_each_session_is_offered_its_own_tools(server: ChatServer, notes: Path, tmp_path: Path) -> None:
    """Agents may be listed after the model's agent was made; a call of a tool that is not offered is refused."""
    from memory_core.hosts.langchain import memory_tools

    listed: list[dict[str, Any]] = []
    on = {"enabled": True, "items": {"enabled": True}}

    def configure() -> dict[str, Any]:
        return {"agents": {"defaults": {"memorySearch": {"enabled": False, "provider": "none"}}, "list": listed}}

    def describe(thread: str) -> CallContext:
        agent, kind = thread.split()
        return CallContext(agent=agent, session_key=thread, chat_type=kind, main=kind == "direct")

    with MemorySlot(configure, state_dir=tmp_path / "state") as slot:
        assert memory_tools(slot, describe) == []
        chat = Chat(make_agent(slot, server, context=describe), asynchronous=False)
        listed.append({"id": "ann", "workspace": str(notes), "memorySearch": on})
        chat.config = {"configurable": {"thread_id": "ann direct"}}
        assert "31 May" in chat.say("When does the lease of the boat house end?")
        items = ["memory_store", "memory_recall", "memory_forget"]
        assert list_tools(server) == ["memory_search", "memory_get", "memory_append", *items]
        assert [tool.name for tool in memory_tools(slot, describe)] == list_tools(server)
        chat.config = {"configurable": {"thread_id": "ann group"}}
        chat.say("When does the lease of the boat house end?")
        assert list_tools(server) == ["memory_search", "memory_get", "memory_append"]
        server.script = [("memory_store", {"text": "The oars are kept in the shed."})]
        chat.say("Please keep that.")
        assert '"denied": true' in server.requests[-1]["messages"][-1]["content"]
        chat.config = {"configurable": {"thread_id": "bob direct"}}
        chat.say("When does the lease of the boat house end?")
        assert list_tools(server) == []
        assert [
            each["text"]
            for each in slot.call_tool("memory_recall", {"query": "oars"}, describe("ann direct"))["results"]
        ] == []


def test_what_is_recalled_stays_for_all_calls_of_a_turn_and_comes_again(
    server: ChatServer, notes: Path, tmp_path: Path
) -> None:
    write_old_note(notes)
    config = {"memorySearch": {"provider": "static", "recall": {"enabled": True, "timeoutMs": 60_000}}}
    with MemorySlot(config, workspace=notes, state_dir=tmp_path / "state") as slot:
        chat = Chat(make_agent(slot, server, recall=True), asynchronous=False)
        for question in ("Where does the anchor lie?", "Behind what does the old anchor lie?"):
            sent = len(server.requests)
            chat.say(question)
            prompts = [str(request["messages"][0]) for request in server.requests[sent:]]
            assert len(prompts) > 1
            assert all(OLD in prompt for prompt in prompts)


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_a_compaction_with_one_kind_of_hook_is_run(
    slot: MemorySlot, server: ChatServer, notes: Path, kind: str
) -> None:
    """LangChain runs a hook that is not asynchronous in a thread, and refuses to wait for one that is."""
    from langchain.agents.middleware import before_model
    from langchain_core.messages import RemoveMessage
    from langchain_openai import ChatOpenAI
    from langgraph.checkpoint.memory import InMemorySaver

    from memory_core.hosts.langchain import MemoryMiddleware

    def shorten(state: Any, runtime: Any) -> dict[str, Any] | None:
        said = state["messages"]
        return {"messages": [RemoveMessage(id=each.id) for each in said[:-1]]} if len(said) > 6 else None

    async def ashorten(state: Any, runtime: Any) -> dict[str, Any] | None:
        return shorten(state, runtime)

    model = ChatOpenAI(model="rules", base_url=server.url, api_key="placeholder")
    middleware = MemoryMiddleware(slot, model, compaction=before_model(shorten if kind == "sync" else ashorten))
    agent = agents.create_agent(model, middleware=[middleware], checkpointer=InMemorySaver())
    server.stores = FACTS[0]
    Chat(agent, asynchronous=True).compact()
    assert_saved_once_before_each(server, notes, 1)
    if kind == "async":
        with pytest.raises(TypeError, match="call the agent with ainvoke"):
            Chat(agent, asynchronous=False).say("How are you?")


def test_the_start_and_the_end_of_a_turn_do_not_hold_up_the_loop(slot: MemorySlot, server: ChatServer) -> None:
    """The slot is called in other threads than that of the loop."""
    threads: list[str] = []

    class Watched(MemorySlot):
        def session_started(self, context: CallContext | None = None) -> None:
            threads.append(threading.current_thread().name)
            super().session_started(context)

        def turn_ended(self, *said: Any, **options: Any) -> Any:
            threads.append(threading.current_thread().name)
            return super().turn_ended(*said, **options)

    with Watched({"memorySearch": {"enabled": False}}) as watched:
        Chat(make_agent(watched, server), asynchronous=True).say("How are you?")
    assert len(threads) == 2
    assert threading.main_thread().name not in threads


def test_wrong_parts_are_refused_when_it_is_made(slot: MemorySlot, notes: Path) -> None:
    import memory_core
    from memory_core.errors import InvalidArgument
    from memory_core.hosts.langchain import MemoryMiddleware, memory_tools

    with memory_core.open_memory(workspace=notes) as memory:
        wrong: Any = memory
        for make in (lambda: MemoryMiddleware(wrong, object()), lambda: memory_tools(wrong)):
            with pytest.raises(InvalidArgument, match="slot: expected MemorySlot, not Memory"):
                make()
    told: Any = CallContext.local("t")
    with pytest.raises(
        InvalidArgument, match="context: expected a function that returns a CallContext, not CallContext"
    ):
        MemoryMiddleware(slot, object(), context=told)
    told = "x"
    with pytest.raises(
        TypeError, match="compaction: expected a middleware that removes messages in before_model, not str"
    ):
        MemoryMiddleware(slot, object(), compaction=told)
