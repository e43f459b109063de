"""The slot's one call before a compaction, and its texts for the prompt."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from memory_core import CallContext
from memory_core.plugin import MemorySlot

Message = dict[str, Any]

SESSION = CallContext.local("thread-7")
HISTORY: list[Message] = [{"role": "user", "content": "The lease ends in May."}]


class Model:
    """Saves what it is told to save, a fact a turn, and then says that there is no more."""

    def __init__(self, *facts: str) -> None:
        self.facts = list(facts)
        self.seen: list[list[Message]] = []

    def __call__(self, messages: list[Message], tools: list[Any], **limits: float) -> Message:
        self.seen.append(messages)
        if messages[-1]["role"] == "tool" or not self.facts:
            return {"role": "assistant", "content": "NO_REPLY"}
        function = {"name": "memory_append", "arguments": json.dumps({"text": f"- {self.facts.pop(0)}"})}
        return {"role": "assistant", "content": None, "tool_calls": [{"id": "1", "function": function}]}


@pytest.fixture
def slot(tmp_path: Path) -> Iterator[MemorySlot]:
    (tmp_path / "notes").mkdir()
    config = {"memorySearch": {"provider": "none"}}
    with MemorySlot(config, workspace=tmp_path / "notes", state_dir=tmp_path / "state") as slot:
        yield slot


def saved(tmp_path: Path) -> list[str]:
    lines = [
        line for note in (tmp_path / "notes" / "memory").glob("*.md") for line in note.read_text("utf-8").splitlines()
    ]
    return [line.removeprefix("- ") for line in lines if line.startswith("- ")]


def test_every_compaction_is_asked_once_and_counted(slot: MemorySlot, tmp_path: Path) -> None:
    model = Model("in May", "the cat is Minka", "Tuesday")
    outcomes = [slot.compact(SESSION, HISTORY, model, total_tokens=100, context_window=200) for _ in range(3)]
    assert [outcome and outcome.status for outcome in outcomes] == ["stored"] * 3
    assert saved(tmp_path) == ["in May", "the cat is Minka", "Tuesday"]
    assert HISTORY[0] in model.seen[0]


def test_a_cycle_that_was_flushed_before_is_not_asked_again_but_counted(slot: MemorySlot) -> None:
    facts = slot.session(SESSION, "thread-7", total_tokens=199_000, context_window=200_000)
    turn = slot.before_compaction(facts)
    assert turn is not None
    assert slot.record_flush(turn, "stored")
    model = Model("in May")
    assert slot.compact(SESSION, HISTORY, model) is None
    assert slot.compact(SESSION, HISTORY, model) is not None


def test_a_session_that_may_not_write_is_not_asked(slot: MemorySlot) -> None:
    assert slot.compact(CallContext.local("thread-7", access="ro"), HISTORY, Model("in May")) is None


def test_a_model_that_fails_is_an_outcome(slot: MemorySlot) -> None:
    def fail(messages: list[Message], tools: list[Any], **limits: float) -> Message:
        raise ConnectionError("no route")

    outcome = slot.compact(SESSION, HISTORY, fail)
    assert outcome is not None
    assert outcome.status == "failed"
    assert "no route" in outcome.reason


def test_whatever_a_host_passes_nothing_is_raised(slot: MemorySlot) -> None:
    wrong: Any = 7
    for outcome in (slot.compact(wrong, HISTORY, Model()), slot.compact(SESSION, wrong, Model())):
        assert outcome is not None
        assert outcome.status == "failed"
    assert slot.compact(SESSION, HISTORY, Model(), no_such_fact=1) is not None


def test_an_asynchronous_model_is_awaited_in_the_loop_of_its_host(slot: MemorySlot, tmp_path: Path) -> None:
    model = Model("in May")
    threads = []

    async def complete(messages: list[Message], tools: list[Any], **limits: float) -> Message:
        await asyncio.sleep(0)
        threads.append(threading.current_thread())
        return model(messages, tools)

    outcome = asyncio.run(slot.acompact(SESSION, HISTORY, complete))
    assert outcome is not None
    assert outcome.status == "stored"
    assert saved(tmp_path) == ["in May"]
    assert set(threads) == {threading.current_thread()}


def test_a_model_of_the_wrong_kind_is_named(slot: MemorySlot, caplog: pytest.LogCaptureFixture) -> None:
    async def ask_later(*_: Any, **__: Any) -> Message:
        return {"role": "assistant", "content": "NO_REPLY"}

    def ask(*_: Any, **__: Any) -> Message:
        return {"role": "assistant", "content": "NO_REPLY"}

    now: Any = ask
    later: Any = ask_later
    none: Any = None
    outcomes = [
        slot.compact(SESSION, HISTORY, later),
        asyncio.run(slot.acompact(SESSION, HISTORY, now)),
        slot.compact(SESSION, HISTORY, none),
    ]
    assert [outcome and outcome.reason for outcome in outcomes] == [
        "complete: expected a function that returns a mapping, the completion, not one that returns a coroutine",
        "complete: expected a coroutine function, not one that returns a dict",
        "complete: expected a function, not NoneType",
    ]
    assert "Traceback" not in caplog.text


def test_the_system_text_explains_memory_and_quotes_the_notes(slot: MemorySlot, tmp_path: Path) -> None:
    (tmp_path / "notes" / "MEMORY.md").write_text("The fence is green.\n", encoding="utf-8")
    text = slot.system_text(SESSION)
    assert text.startswith("## Memory")
    assert "> The fence is green." in text
    assert slot.system_text(CallContext(access="none")) == ""


def test_the_system_text_for_a_message_adds_what_it_calls_to_mind(slot: MemorySlot, tmp_path: Path) -> None:
    (tmp_path / "notes" / "memory").mkdir()
    (tmp_path / "notes" / "memory" / "2020-01-01.md").write_text("The anchor lies in the barn.\n", encoding="utf-8")
    plain = slot.system_text(SESSION)
    assert "anchor" not in plain
    text = slot.system_text(SESSION, "Where does the anchor lie?")
    assert text.startswith(plain)
    assert "> The anchor lies in the barn." in text.removeprefix(plain)
    assert slot.system_text(CallContext(access="none"), "Where does the anchor lie?") == ""


def test_the_system_text_quotes_no_passage_that_stands_in_it(slot: MemorySlot, tmp_path: Path) -> None:
    (tmp_path / "notes" / "MEMORY.md").write_text("The anchor lies in the barn.\n", encoding="utf-8")
    text = slot.system_text(SESSION, "Where does the anchor lie?")
    assert text.count("The anchor lies in the barn.") == 1
    assert "The anchor" in slot.recall(SESSION, "Where does the anchor lie?"), "which knows of nothing beside it"


def test_the_system_text_stands_while_nothing_can_be_searched(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "MEMORY.md").write_text("The fence is green.\n", encoding="utf-8")
    other = tmp_path / "other.sqlite"
    with closing(sqlite3.connect(other)) as connection:
        connection.execute("CREATE TABLE of_another_program (id)")
    config = {"memorySearch": {"provider": "none", "store": {"path": str(other)}}}
    with MemorySlot(config, workspace=tmp_path / "notes", state_dir=tmp_path / "state") as slot:
        assert slot.recall(SESSION, "Which colour has the fence?") == ""
        text = slot.system_text(SESSION, "Which colour has the fence?")
    assert text.startswith("## Memory")
    assert "> The fence is green." in text


def test_a_message_calls_passages_of_notes_to_mind(slot: MemorySlot, tmp_path: Path) -> None:
    (tmp_path / "notes" / "MEMORY.md").write_text("The fence is green.\n", encoding="utf-8")
    text = slot.recall(SESSION, "Which colour has the fence?")
    assert "MEMORY.md#L1" in text
    assert "> The fence is green." in text
    assert slot.recall(SESSION, "zxqv") == ""
    assert slot.recall(SESSION, " \n") == ""
    assert slot.recall(CallContext.local("thread-7", access="none"), "Which colour has the fence?") == ""
