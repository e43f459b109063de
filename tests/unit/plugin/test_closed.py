"""After `close` nothing opens again: each call answers that memory is closed, and no thread stays behind."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping
from datetime import date
from pathlib import Path
from typing import Any

import pytest

import memory_core
from memory_core import Memory
from memory_core.errors import MemoryClosed
from memory_core.plugin import MemorySlot
from memory_core.plugin.flush.policy import FlushTurn, Session
from memory_core.records import CallContext
from tests.waiting import eventually

MAIN = CallContext.local("agent:main:main")
QUESTION = {"query": "What is the fence made of?"}
SILENT = {"role": "assistant", "content": "NO_REPLY"}
SESSION = Session(agent="main", key="agent:main:main", total_tokens=199_000, context_window=200_000)
TURN = FlushTurn(
    agent="main", session_key="agent:main:main", session_id="s", compaction_count=0, prompt="", system_prompt="",
    tools={}, target="memory/2026-03-01.md", day=date(2026, 3, 1),
)  # fmt: skip
CONFIG = {"memorySearch": {"provider": "none", "sync": {"watchDebounceMs": 10}}}
OFF = {"memorySearch": {"enabled": False}}


async def keep_silent(*_: object, **__: object) -> dict[str, Any]:
    return SILENT


# Each method of a slot -> the answer of a closed one.
SLOT_CALLS: Mapping[str, tuple[Callable[[MemorySlot], object], object]] = {
    "tool_schemas": (lambda slot: slot.tool_schemas(MAIN), []),
    "all_tool_schemas": (lambda slot: slot.all_tool_schemas(), []),
    "call_tool": (lambda slot: is_unavailable(slot.call_tool("memory_search", QUESTION, MAIN)), True),
    "call_tool get": (lambda slot: is_unavailable(slot.call_tool("memory_get", {"path": "MEMORY.md"})), True),
    "call_tool append": (lambda slot: is_unavailable(slot.call_tool("memory_append", {"text": "An elm."})), True),
    "acall_tool": (lambda slot: is_unavailable(asyncio.run(slot.acall_tool("memory_search", QUESTION))), True),
    "prompt_section": (lambda slot: slot.prompt_section(MAIN), ""),
    "system_text": (lambda slot: slot.system_text(MAIN), ""),
    "recall": (lambda slot: slot.recall(MAIN, "What is the fence made of?"), ""),
    "recall_for_message": (lambda slot: slot.recall_for_message("What is the fence made of?", MAIN).pieces, ()),
    "compact": (lambda slot: getattr(slot.compact(MAIN, [], lambda *_, **__: SILENT), "status", None), "failed"),
    "acompact": (lambda slot: getattr(asyncio.run(slot.acompact(MAIN, [], keep_silent)), "status", None), "failed"),
    "session_context": (lambda slot: slot.session_context(MAIN), ""),
    "find_workspace": (lambda slot: slot.find_workspace(MAIN), None),
    "explain_no_workspace": (lambda slot: slot.explain_no_workspace(MAIN), "this memory was closed"),
    "list_notes": (lambda slot: slot.list_notes(MAIN), ()),
    "list_missing_workspaces": (lambda slot: slot.list_missing_workspaces(MAIN), ()),
    "make_workspace": (lambda slot: slot.make_workspace(Path("elsewhere"), MAIN), False),
    "change_note": (lambda slot: is_unavailable(slot.change_note("MEMORY.md", lambda _: "x", MAIN)), True),
    "read_note": (lambda slot: is_unavailable(slot.read_note("MEMORY.md", MAIN)), True),
    "session_started": (lambda slot: slot.session_started(MAIN), None),
    "session_updated": (lambda slot: slot.session_updated("agent:main:main"), None),
    "turn_ended": (lambda slot: slot.turn_ended(MAIN, [{"role": "user", "content": "The fence is red."}]), None),
    "session_ended": (lambda slot: slot.session_ended(MAIN), None),
    "session": (lambda slot: slot.session(MAIN, "agent:main:main").key, "agent:main:main"),
    "should_flush": (lambda slot: "closed" in slot.should_flush(SESSION, compacting=True).reason, True),
    "before_compaction": (lambda slot: slot.before_compaction(SESSION, compacting=True), None),
    "compacted": (lambda slot: slot.compacted(MAIN), None),
    "flush_handlers": (lambda slot: slot.flush_handlers(TURN), {}),
    "record_flush": (lambda slot: slot.record_flush(TURN, "stored"), False),
    "run_flush": (lambda slot: slot.run_flush(TURN, lambda *_, **__: SILENT).status, "failed"),
    "status": (lambda slot: "closed" in slot.status().warnings[0], True),
    "start": (lambda slot: slot.start(), None),
    "rest": (lambda slot: slot.rest(), None),
    "close": (lambda slot: slot.close(), ()),
}

MEMORY_CALLS: Mapping[str, Callable[[Memory], object]] = {
    "check": lambda memory: memory.check(),
    "items": lambda memory: memory.items,
    "recall_for_message": lambda memory: memory.recall_for_message("What is the fence made of?"),
    "recall": lambda memory: memory.recall(MAIN, "What is the fence made of?"),
    "prompt_section": lambda memory: memory.prompt_section(MAIN),
    "session_context": lambda memory: memory.session_context(MAIN),
    "system_text": lambda memory: memory.system_text(MAIN),
    "allows": lambda memory: memory.allows(MAIN),
    "session_started": lambda memory: memory.session_started(MAIN),
    "turn_ended": lambda memory: memory.turn_ended([{"role": "user", "content": "The fence is red."}], None, MAIN),
    "session_ended": lambda memory: memory.session_ended(MAIN.session_key),
    "compacted": lambda memory: memory.compacted(MAIN),
    "explain": lambda memory: memory.explain("What is the fence made of?"),
    "list_activity": lambda memory: memory.list_activity(),
    "related": lambda memory: memory.related("fence"),
    "sync": lambda memory: memory.sync(),
    "finish_sync": lambda memory: memory.finish_sync("builtin"),
    "status": lambda memory: memory.status(),
    "probe": lambda memory: memory.probe(),
    "diagnose": lambda memory: memory.diagnose(),
}
MEMORY_ANSWERS: Mapping[str, tuple[Callable[[Memory], object], object]] = {
    "tool_schemas": (lambda memory: memory.tool_schemas(), []),
    "call_tool": (lambda memory: is_unavailable(memory.call_tool("memory_search", QUESTION)), True),
    "sync_soon": (lambda memory: memory.sync_soon(), None),
    "session_updated": (lambda memory: memory.session_updated("agent:main:main"), None),
    "start": (lambda memory: memory.start(), None),
    "rest": (lambda memory: memory.rest(), None),
    "close": (lambda memory: memory.close(), ()),
}


def is_unavailable(answer: Mapping[str, Any]) -> bool:
    """True for an answer that says that memory is closed, and what to do."""
    return bool(
        answer.get("unavailable") is True
        and answer["results"] == []
        and "closed" in answer["error"]
        and "open" in answer["action"]
    )


def ours() -> set[threading.Thread]:
    """Threads that run now and were started by us, or by watchdog for us."""
    return {thread for thread in threading.enumerate() if thread is not threading.current_thread()}


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "ws"
    folder.mkdir()
    (folder / "MEMORY.md").write_text("The fence is made of oak.\n", encoding="utf-8")
    return folder


@pytest.mark.parametrize("config", [CONFIG, OFF], ids=["on", "off"])
def test_a_closed_slot_answers_so_and_starts_nothing(config: Any, notes: Path, tmp_path: Path) -> None:
    before = ours()
    slot = MemorySlot(config, workspace=notes, state_dir=tmp_path / "state")
    slot.start()
    slot.call_tool("memory_search", QUESTION, MAIN)
    assert slot.close() == ()
    assert slot.close() == ()
    text = (notes / "MEMORY.md").read_text(encoding="utf-8")
    for name, (call, answer) in SLOT_CALLS.items():
        assert call(slot) == answer, name
    assert (notes / "MEMORY.md").read_text(encoding="utf-8") == text
    assert not (notes / "memory").exists()
    assert eventually(lambda: ours() <= before)


def test_every_method_of_a_closed_slot_is_tried() -> None:
    known = {name for name in dir(MemorySlot) if not name.startswith("_")}
    assert {name.split()[0] for name in SLOT_CALLS} | {"manifest"} == known


@pytest.mark.parametrize("config", [CONFIG, OFF], ids=["on", "off"])
def test_a_closed_memory_raises_one_error_or_answers_so(config: Any, notes: Path, tmp_path: Path) -> None:
    before = ours()
    memory = memory_core.open_memory(config, workspace=notes, state_dir=tmp_path / "state")
    memory.start()
    memory.call_tool("memory_search", QUESTION)
    assert memory.close() == ()
    assert memory.close() == ()
    for name, (answer_of, answer) in MEMORY_ANSWERS.items():
        assert answer_of(memory) == answer, name
    for call in MEMORY_CALLS.values():
        with pytest.raises(MemoryClosed, match="closed"):
            call(memory)
    assert eventually(lambda: ours() <= before)


def test_every_method_of_a_closed_memory_is_tried() -> None:
    known = {name for name in vars(Memory) if not name.startswith("_")}
    assert MEMORY_CALLS.keys() | MEMORY_ANSWERS.keys() | {"config", "recalled", "forget_session"} == known


def test_a_start_that_meets_a_close_leaves_no_thread(notes: Path, tmp_path: Path) -> None:
    """Whatever is started while it is being closed is closed, too."""
    before = ours()
    for turn in range(10):
        slot = MemorySlot(CONFIG, workspace=notes, state_dir=tmp_path / "state")
        starts = [threading.Thread(target=slot.start), threading.Thread(target=slot.session_started, args=(MAIN,))]
        for thread in starts:
            thread.start()
        if turn % 2:
            slot.call_tool("memory_search", QUESTION, MAIN)
        assert slot.close() == ()
        for thread in starts:
            thread.join(30)
    assert eventually(lambda: ours() <= before), ours() - before


def test_items_that_a_script_has_kept_refuse_after_close(tmp_path: Path) -> None:
    memory = memory_core.open_memory(CONFIG, workspace=tmp_path, state_dir=tmp_path / "state")
    items = memory.items
    items.write("The fence is made of larch.")
    memory.close()
    with pytest.raises(MemoryClosed, match="was closed"):
        items.query("fence")
