"""A call resolves the configuration once, and works with what it found to its end."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Mapping
from datetime import date
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest

from memory_core import CallContext, Memory
from memory_core.config.load import ConfigSource
from memory_core.hookspecs import BACKENDS_GROUP
from memory_core.plugin import MemorySlot
from memory_core.plugin.flush.policy import FlushTurn, Session
from tests.fakes import moody
from tests.fakes.installed import install

QUESTION = {"query": "What is the fence made of?"}
MAIN = CallContext(session_key="agent:main:main", chat_type="direct")
GROUP = CallContext(session_key="agent:main:telegram:group:42", chat_type="group")

Document = Mapping[str, Any]


class Host:
    """A host's configuration: `documents` in turn, one at each ask.

    Attributes:
        asked: Counts the asks.
    """

    def __init__(self, *documents: Document) -> None:
        self._documents = cycle(documents)
        self.asked = 0

    def __call__(self) -> Document:
        self.asked += 1
        return next(self._documents)


def document(workspace: Path, *, slot: str = "memory-core", **memory: Any) -> Document:
    return {
        "plugins": {"slots": {"memory": slot}},
        "memory": memory,
        "agents": {"defaults": {"workspace": str(workspace), "memorySearch": {"provider": "none"}}},
    }


@pytest.fixture
def oak(tmp_path: Path) -> Path:
    return note(tmp_path / "oak", "The fence is made of oak.\n")


@pytest.fixture
def iron(tmp_path: Path) -> Path:
    return note(tmp_path / "iron", "The fence is made of iron.\n")


def note(folder: Path, text: str) -> Path:
    folder.mkdir()
    (folder / "MEMORY.md").write_text(text, encoding="utf-8")
    return folder


def public_methods(kind: type) -> set[str]:
    return {name for name, _ in inspect.getmembers(kind, inspect.isfunction) if not name.startswith("_")}


SILENT = {"role": "assistant", "content": "NO_REPLY"}


async def keep_silent(*_: object, **__: object) -> dict[str, Any]:
    return SILENT


TURN = FlushTurn(
    agent="main", session_key="agent:main:main", session_id="s", compaction_count=0, prompt="", system_prompt="",
    tools={}, target="memory/2026-03-01.md", day=date(2026, 3, 1),
)  # fmt: skip
SESSION = Session(agent="main", key="agent:main:main")

SLOT_CALLS: Mapping[str, Callable[[MemorySlot], object]] = {
    "tool_schemas": lambda slot: slot.tool_schemas(MAIN),
    "all_tool_schemas": lambda slot: slot.all_tool_schemas(),
    "call_tool search": lambda slot: slot.call_tool("memory_search", QUESTION, MAIN),
    "call_tool get": lambda slot: slot.call_tool("memory_get", {"path": "MEMORY.md"}, MAIN),
    "call_tool append": lambda slot: slot.call_tool("memory_append", {"text": "The gate is green."}, MAIN),
    "call_tool unknown": lambda slot: slot.call_tool("memory_forget", {}, MAIN),
    "acall_tool": lambda slot: asyncio.run(slot.acall_tool("memory_search", QUESTION, MAIN)),
    "prompt_section": lambda slot: slot.prompt_section(MAIN),
    "system_text": lambda slot: slot.system_text(MAIN),
    "recall": lambda slot: slot.recall(MAIN, "What is the fence made of?"),
    "recall_for_message": lambda slot: slot.recall_for_message("What is the fence made of?", MAIN),
    "compact": lambda slot: slot.compact(MAIN, [], lambda *_, **__: SILENT),
    "acompact": lambda slot: asyncio.run(slot.acompact(MAIN, [], keep_silent)),
    "session_context": lambda slot: slot.session_context(MAIN),
    "find_workspace": lambda slot: slot.find_workspace(MAIN),
    "explain_no_workspace": lambda slot: slot.explain_no_workspace(MAIN),
    "list_notes": lambda slot: slot.list_notes(MAIN),
    "list_missing_workspaces": lambda slot: slot.list_missing_workspaces(MAIN),
    "make_workspace": lambda slot: slot.make_workspace(Path("elsewhere"), MAIN),
    "change_note": lambda slot: slot.change_note("MEMORY.md", lambda text: text, MAIN),
    "read_note": lambda slot: slot.read_note("MEMORY.md", MAIN),
    "session_started": lambda slot: slot.session_started(MAIN),
    "session_updated": lambda slot: slot.session_updated("agent:main:main"),
    "turn_ended": lambda slot: slot.turn_ended(MAIN, [{"role": "user", "content": "The fence is red."}]),
    "session_ended": lambda slot: slot.session_ended(MAIN),
    "session": lambda slot: slot.session(MAIN, "agent:main:main"),
    "should_flush": lambda slot: slot.should_flush(SESSION),
    "before_compaction": lambda slot: slot.before_compaction(SESSION),
    "compacted": lambda slot: slot.compacted(MAIN),
    "flush_handlers": lambda slot: slot.flush_handlers(TURN),
    "record_flush": lambda slot: slot.record_flush(TURN, "nothing"),
    "run_flush": lambda slot: slot.run_flush(TURN, lambda *_, **__: SILENT),
    "status": lambda slot: slot.status(),
    "start": lambda slot: slot.start(),
}
NEVER_ASK = {"rest": None, "close": None}

MEMORY_CALLS: Mapping[str, Callable[[Memory], object]] = {
    "config": lambda memory: memory.config(),
    "check": lambda memory: memory.check(),
    "tool_schemas": lambda memory: memory.tool_schemas(),
    "call_tool search": lambda memory: memory.call_tool("memory_search", QUESTION),
    "call_tool get": lambda memory: memory.call_tool("memory_get", {"path": "MEMORY.md"}),
    "call_tool append": lambda memory: memory.call_tool("memory_append", {"text": "The gate is green."}),
    "recall_for_message": lambda memory: memory.recall_for_message("What is the fence made of?"),
    "recall": lambda memory: memory.recall(MAIN, "What is the fence made of?"),
    "prompt_section": lambda memory: memory.prompt_section(MAIN),
    "session_context": lambda memory: memory.session_context(MAIN),
    "system_text": lambda memory: memory.system_text(MAIN),
    "allows": lambda memory: memory.allows(MAIN),
    "session_started": lambda memory: memory.session_started(MAIN),
    "turn_ended": lambda memory: memory.turn_ended([{"role": "user", "content": "The fence is red."}], None, MAIN),
    "session_ended": lambda memory: memory.session_ended("agent:main:main"),
    "compacted": lambda memory: memory.compacted(MAIN),
    "explain": lambda memory: memory.explain("What is the fence made of?"),
    "list_activity": lambda memory: memory.list_activity(),
    "related": lambda memory: memory.related("fence"),
    "sync": lambda memory: memory.sync(),
    "finish_sync": lambda memory: memory.finish_sync("builtin"),
    "sync_soon": lambda memory: memory.sync_soon(),
    "session_updated": lambda memory: memory.session_updated("agent:main:main"),
    "start": lambda memory: memory.start(),
    "status": lambda memory: memory.status(),
    "probe": lambda memory: memory.probe(),
    "diagnose": lambda memory: memory.diagnose(),
}


def test_every_public_method_is_tried() -> None:
    assert {name.split()[0] for name in SLOT_CALLS} | {"manifest", *NEVER_ASK} == public_methods(MemorySlot)
    assert {name.split()[0] for name in MEMORY_CALLS} | {"recalled", "forget_session", *NEVER_ASK} == public_methods(
        Memory
    )


@pytest.mark.parametrize("started", [False, True])
@pytest.mark.parametrize("name", SLOT_CALLS)
def test_a_call_of_the_slot_asks_once(name: str, started: bool, oak: Path, tmp_path: Path) -> None:
    """Twice in a row: for an agent that is called for the first time, and with another configuration than then."""
    host = Host(document(oak, citations="on"), document(oak, citations="off"))
    slot = MemorySlot(host, state_dir=tmp_path / "state")
    if started:
        slot.start()
    for _ in range(2):
        before = host.asked
        SLOT_CALLS[name](slot)
        assert host.asked == before + 1
    before = host.asked
    assert slot.close() == ()
    assert host.asked == before


@pytest.mark.parametrize("started", [False, True])
@pytest.mark.parametrize("name", MEMORY_CALLS)
def test_a_call_of_a_memory_asks_once(name: str, started: bool, oak: Path, tmp_path: Path) -> None:
    host = Host(document(oak, citations="on"), document(oak, citations="off"))
    memory = Memory(ConfigSource(host, state_dir=tmp_path / "state"))
    if started:
        memory.start()
    for _ in range(2):
        before = host.asked
        MEMORY_CALLS[name](memory)
        assert host.asked == before + 1
    before = host.asked
    assert memory.close() == ()
    assert host.asked == before


@pytest.mark.parametrize("started", [False, True])
def test_what_rests_or_is_described_asks_for_nothing(started: bool, oak: Path, tmp_path: Path) -> None:
    host = Host(document(oak))
    with (
        MemorySlot(host, state_dir=tmp_path / "a") as slot,
        Memory(ConfigSource(host, state_dir=tmp_path / "b")) as memory,
    ):
        if started:
            slot.start()
            memory.start()
        for _ in range(2):
            slot.call_tool("memory_search", QUESTION, MAIN)
            memory.call_tool("memory_search", QUESTION)
            before = host.asked
            slot.manifest()
            slot.rest()
            memory.rest()
            assert host.asked == before


def test_a_search_works_with_one_configuration(oak: Path, iron: Path, tmp_path: Path) -> None:
    """Notes, citations and the switch all stem from the same document, whichever of the three it was."""
    host = Host(document(oak, citations="on"), document(iron, citations="off"), document(oak, slot="none"))
    seen = []
    with MemorySlot(host, state_dir=tmp_path / "state") as slot:
        for _ in range(9):
            answer = slot.call_tool("memory_search", QUESTION, GROUP)
            if answer.get("disabled"):
                seen.append("off")
                continue
            (hit,) = answer["results"]
            where = "oak" if "oak" in hit["snippet"] else "iron"
            assert answer["citations"] == {"oak": "on", "iron": "off"}[where]
            assert ("citation" in hit) == (where == "oak")
            seen.append(where)
    assert {seen[place] for place in range(3)} == {"oak", "iron", "off"} == set(seen)


def test_notes_are_shown_by_the_scope_of_the_configuration_that_names_them(
    oak: Path, iron: Path, tmp_path: Path
) -> None:
    """A chat that may not see the notes in oak never sees them, though another configuration would allow it iron's."""
    closed = document(oak, scope={"default": "deny"})
    host = Host(closed, document(iron, scope={"default": "allow"}))
    seen = set()
    slot = MemorySlot(host, state_dir=tmp_path / "state")
    for _ in range(6):
        opening = slot.session_context(MAIN)
        page = slot.call_tool("memory_get", {"path": "MEMORY.md"}, MAIN)
        assert "oak" not in opening
        assert "oak" not in page.get("text", "")
        seen |= {bool(opening), page.get("denied", False)}
        slot.status()  # asks once more, so that the next round begins with the other configuration
    assert slot.close() == ()
    assert seen == {True, False}


def test_an_agent_that_was_called_before_the_start_is_started_too(
    oak: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(monkeypatch, tmp_path / "site", BACKENDS_GROUP, {"moody": "tests.fakes.moody:PLUGIN"})
    slot = MemorySlot(document(oak, backend="moody"), state_dir=tmp_path / "state")
    slot.status("late")
    slot.start()
    assert moody.OPENED["late"].did == ["status", "start"]
    assert slot.close() == ()
