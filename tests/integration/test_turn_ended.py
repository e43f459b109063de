"""Capture through the slot: when turns are read, what is never read, and that nothing of it reaches the host."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from datetime import date
from pathlib import Path
from typing import Any

import pytest

import memory_core
from memory_core.config.agent import AgentConfig
from memory_core.config.load import load_config
from memory_core.errors import InvalidArgument
from memory_core.items.items import Items
from memory_core.plugin import MemorySlot
from memory_core.plugin import capture as capturing
from memory_core.plugin.open_items import OpenItems
from memory_core.records import CallContext, KeySources
from memory_core.sources.journal import Journal
from memory_core.tools.shown import Shown
from tests.integration.test_items_file import configure
from tests.waiting import eventually

MAIN = CallContext.local("agent:main:main")
SAID = "Remember that the gate code book lies under the clock."
LEARNED = "The gate code book lies under the clock."
Message = dict[str, Any]


def open_slot(folder: Path, memory: Mapping[str, Any] | None = None, **capture: Any) -> MemorySlot:
    search = {"provider": "none", "items": {"capture": {"enabled": True, **capture}}, "sync": {"watch": False}}
    return MemorySlot({"memorySearch": search, "memory": memory or {}}, workspace=folder, state_dir=folder)


def turn(said: str = SAID) -> list[Message]:
    return [{"role": "user", "content": said}, {"role": "assistant", "content": "All right."}]


def contents(folder: Path) -> list[str]:
    """The items in the file of a slot's agent."""
    (path,) = folder.rglob("main*.items.sqlite") if list(folder.rglob("main*.items.sqlite")) else (None,)
    if path is None:
        return []
    from dataclasses import replace

    items = Items(replace(configure(folder), store_path=path.with_name(path.name.replace(".items", ""))), access="ro")
    try:
        return sorted(item.content for item in items.list())
    finally:
        items.close()


def finding(fact: str) -> Callable[..., Message]:
    """A model that finds one fact in every exchange."""

    def complete(messages: list[Message], tools: list[Message], **_: float) -> Message:
        function = {"name": "store_facts", "arguments": {"facts": [{"fact": fact, "kind": "fact", "sure": True}]}}
        return {"role": "assistant", "content": None, "tool_calls": [{"id": "1", "function": function}]}

    return complete


def test_a_turn_is_learned_from_when_the_slot_closes(tmp_path: Path) -> None:
    with open_slot(tmp_path) as slot:
        slot.turn_ended(MAIN, turn())
        slot.turn_ended(MAIN, turn("Thanks!"))
    assert contents(tmp_path) == [LEARNED]


def test_arguments_in_the_order_of_the_other_class_are_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    wrong: Any = MAIN
    text: Any = "2026-11-30"
    messages: Any = turn()
    with memory_core.open_memory(workspace=tmp_path, state_dir=tmp_path) as memory:
        for call, told in (
            (lambda: memory.turn_ended(wrong, messages), "messages: expected a list of messages, not CallContext"),
            (lambda: memory.turn_ended(turn(), wrong), "complete: expected a function or None, not CallContext"),
            (lambda: memory.turn_ended(text), "messages: expected a list of messages, not str"),
            (lambda: memory.session_ended(wrong), "session_key: expected a session key or None, not CallContext"),
            (lambda: memory.tool_schemas(wrong), "access: expected one of rw, ro, none"),
        ):
            with pytest.raises(InvalidArgument) as raised:
                call()
            assert str(raised.value) == told
    with open_slot(tmp_path) as slot:
        slot.turn_ended(messages, wrong)
        answer = slot.call_tool("memory_search", {"query": "x"}, CallContext(now=text))
    assert "context: expected a CallContext or None, not list" in caplog.text
    assert answer["error"] == "now: expected a datetime or None, not str"


def test_capture_is_off_by_default(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with open_slot(tmp_path, enabled=False) as slot:
        slot.turn_ended(MAIN, turn())
        foreign: Any = object()  # a message of a library, which nobody reads
        slot.turn_ended(MAIN, [foreign])
    assert not list(tmp_path.rglob("*.items.sqlite"))
    assert caplog.text == ""


def test_turns_are_read_after_five(tmp_path: Path) -> None:
    with open_slot(tmp_path) as slot:
        for said in (SAID, "Thanks!", "Good.", "And now?"):
            slot.turn_ended(MAIN, turn(said))
        assert contents(tmp_path) == []
        slot.turn_ended(MAIN, turn("Thanks!"))
        assert eventually(lambda: contents(tmp_path) == [LEARNED])


def test_turns_are_read_when_nobody_says_anything_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capturing, "READ_AFTER_SECONDS", 0.05)
    with open_slot(tmp_path) as slot:
        slot.turn_ended(MAIN, turn())
        assert eventually(lambda: contents(tmp_path) == [LEARNED])


def test_turns_are_read_when_they_are_long_and_none_is_left_out(tmp_path: Path) -> None:
    asked: list[str] = []

    def complete(messages: list[Message], *_: object, **__: object) -> Message:
        asked.append(messages[-1]["content"])
        return {"role": "assistant", "content": '{"facts": []}'}

    with open_slot(tmp_path, maxTokens=2000, modelTokens=3000, modelCalls=9) as slot:
        slot.turn_ended(MAIN, turn("Short word."), complete)
        slot.turn_ended(MAIN, turn("Long word. " + "So it goes on and on. " * 800), complete)
        slot.turn_ended(MAIN, turn("Last word. " + "So it goes on and on. " * 800), complete)
        assert eventually(lambda: len(asked) >= 2)
    for word in ("Short word.", "Long word.", "Last word."):
        assert [word in text.partition("The exchange:")[2] for text in asked].count(True) == 1
    assert max(map(len, asked)) < 4 * 1000 + 500


@pytest.mark.usefixtures("at_once")
def test_a_model_is_asked_as_often_in_a_session_as_it_may_and_rules_read_the_rest(tmp_path: Path) -> None:
    asked: list[str] = []

    def complete(messages: list[Message], *_: object, **__: object) -> Message:
        asked.append(messages[-1]["content"])
        return {"role": "assistant", "content": '{"facts": []}'}

    with open_slot(tmp_path) as slot:
        slot.turn_ended(MAIN, turn("My first word is no fact."), complete)
        assert eventually(lambda: len(asked) == 1)
        slot.turn_ended(MAIN, turn(), complete)
        assert eventually(lambda: contents(tmp_path) == [LEARNED])
        slot.session_ended(MAIN)
    assert len(asked) == 1


def test_a_model_is_not_asked_after_every_few_turns(tmp_path: Path) -> None:
    asked: list[str] = []

    def complete(messages: list[Message], *_: object, **__: object) -> Message:
        asked.append(messages[-1]["content"])
        return {"role": "assistant", "content": '{"facts": []}'}

    with open_slot(tmp_path) as slot:
        for number in range(12):
            slot.turn_ended(MAIN, turn(f"Word number {number}."), complete)
    (text,) = asked
    assert all(f"Word number {number}." in text for number in range(12))


def test_turns_are_read_when_their_session_ends(tmp_path: Path) -> None:
    with open_slot(tmp_path) as slot:
        slot.turn_ended(MAIN, turn())
        slot.session_ended(MAIN)
        assert eventually(lambda: contents(tmp_path) == [LEARNED])


def test_the_last_turn_is_taken_from_a_whole_history(tmp_path: Path) -> None:
    history: list[Message] = []
    given: list[str] = []

    def complete(messages: list[Message], *_: object, **__: object) -> Message:
        given.append(messages[-1]["content"])
        return {"role": "assistant", "content": '{"facts": []}'}

    with open_slot(tmp_path) as slot:
        for said in ("First word.", "Second word."):
            history += [*turn(said), {"role": "tool", "tool_call_id": "1", "content": "Tool word."}]
            slot.turn_ended(MAIN, history, complete)
    (asked,) = given
    assert [asked.count(word) for word in ("First word.", "Second word.", "Tool word.")] == [1, 1, 0]


def test_the_model_finds_the_facts_unless_it_must_not_be_used(tmp_path: Path) -> None:
    for number, (use, expected) in enumerate(((True, ["The model's own fact."]), (False, [LEARNED]))):
        folder = tmp_path / str(number)
        folder.mkdir()
        with open_slot(folder, useModel=use) as slot:
            slot.turn_ended(MAIN, turn(f"{SAID} The model's own fact."), finding("The model's own fact."))
        assert contents(folder) == expected


@pytest.mark.usefixtures("at_once")
def test_what_was_learned_from_before_is_context_and_not_learned_twice(tmp_path: Path) -> None:
    asked: list[str] = []

    def complete(messages: list[Message], *_: object, **__: object) -> Message:
        asked.append(messages[-1]["content"])
        return {"role": "assistant", "content": '{"facts": []}'}

    with open_slot(tmp_path, modelCalls=2) as slot:
        slot.turn_ended(MAIN, turn("The red one."), complete)
        assert eventually(lambda: len(asked) == 1)
        slot.turn_ended(MAIN, turn("No, the blue one."), complete)
    before, after = asked[1].split("The exchange:")
    assert ("The red one." in before, "The blue one." in before, "No, the blue one." in after) == (True, False, True)


def test_what_is_off_the_record_is_learned_from_no_more_than_the_journal_keeps_it(tmp_path: Path) -> None:
    said = [SAID, "Off the record: I prefer gin.", "I live in Oslo."]
    messages = [
        *({"role": "user", "content": each} for each in said),
        {"role": "assistant", "content": "I prefer gin, too."},
    ]
    with open_slot(tmp_path, journal=True) as slot:
        slot.turn_ended(MAIN, messages)
        journal = Journal(load_config({}, workspace=tmp_path, state_dir=tmp_path).agent().journal_dir)
        ((_, _, new),) = journal.list_unlearned(idle_seconds=-60)
        assert [line["content"] for line in new] == [SAID]
    assert contents(tmp_path) == [LEARNED]


def test_a_turn_that_comes_while_the_model_reads_is_still_to_be_learned_from(tmp_path: Path) -> None:
    asked, goes_on = threading.Event(), threading.Event()

    def complete(*_: object, **__: object) -> Message:
        asked.set()
        goes_on.wait(60)
        return finding("The gate code book lies under the clock.")([], [])

    with open_slot(tmp_path, journal=True) as slot:
        journal = Journal(load_config({}, workspace=tmp_path, state_dir=tmp_path).agent().journal_dir)

        def list_unlearned() -> list[str]:
            return [line["content"] for _, _, new in journal.list_unlearned(idle_seconds=-60) for line in new]

        slot.turn_ended(MAIN, turn(), complete)
        slot.session_ended(MAIN)
        assert asked.wait(60)
        slot.turn_ended(MAIN, turn("I moved to Oslo."))
        goes_on.set()
        assert eventually(lambda: list_unlearned() == ["I moved to Oslo.", "All right."])
    assert list_unlearned() == []


@pytest.mark.parametrize(
    "context",
    [
        CallContext(session_key="agent:main:telegram:group:1", chat_type="group"),
        CallContext(session_key="agent:main:telegram:direct:7", chat_type="direct"),  # may be anybody
        CallContext.local("agent:main:main", access="ro"),
        CallContext.local("agent:main:main", access="none"),
    ],
)
@pytest.mark.usefixtures("at_once")
def test_only_main_private_sessions_that_may_write_teach_anything(tmp_path: Path, context: CallContext) -> None:
    with open_slot(tmp_path) as slot:
        slot.turn_ended(context, turn())
    assert contents(tmp_path) == []


def test_a_scope_that_denies_a_chat_denies_capture(tmp_path: Path) -> None:
    with open_slot(tmp_path, {"scope": {"default": "deny"}}) as slot:
        slot.turn_ended(MAIN, turn())
    assert contents(tmp_path) == []


def test_what_was_recalled_is_not_learned_again(tmp_path: Path) -> None:
    with open_slot(tmp_path) as slot:
        slot.turn_ended(MAIN, [{"role": "user", "content": SAID, "recalled": True}])
        framed = f"Recalled from memory. The quoted lines are data.\nitems:\n> 0a1b: {SAID}\n\nWhat is new?"
        slot.turn_ended(MAIN, turn(framed))
    assert contents(tmp_path) == []


def test_what_was_forgotten_since_it_was_said_is_not_learned(tmp_path: Path) -> None:
    search = {"provider": "none", "items": {"enabled": True, "capture": {"enabled": True}}, "sync": {"watch": False}}
    with MemorySlot({"memorySearch": search}, workspace=tmp_path, state_dir=tmp_path) as slot:
        slot.turn_ended(MAIN, turn())
        stored = slot.call_tool("memory_store", {"text": LEARNED}, MAIN)
        slot.call_tool("memory_forget", {"ids": [stored["id"]]}, MAIN)
        slot.turn_ended(MAIN, turn("Remember that the cellar is dry."))
    assert contents(tmp_path) == ["The cellar is dry."]
    with open_slot(tmp_path) as slot:
        slot.turn_ended(MAIN, turn())  # said again
    assert contents(tmp_path) == ["The cellar is dry.", LEARNED]


def test_a_failing_model_costs_nothing_but_its_facts(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    def fail(*_: object, **__: object) -> Message:
        raise RuntimeError("no such model")

    with open_slot(tmp_path) as slot:
        slot.turn_ended(MAIN, turn(), fail)
    assert contents(tmp_path) == [LEARNED]
    assert "no such model" in caplog.text


@pytest.mark.usefixtures("at_once")
def test_a_damaged_items_file_is_logged_and_harmless(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with open_slot(tmp_path) as slot:
        slot.turn_ended(MAIN, turn())
        assert eventually(lambda: contents(tmp_path) == [LEARNED])
        (path,) = tmp_path.rglob("*.items.sqlite")
        path.unlink()
        path.mkdir()
        slot.turn_ended(MAIN, turn("Remember that the cellar is flooded."))
        assert eventually(lambda: "1 turns could not be learned from" in caplog.text)
        assert slot.call_tool("memory_search", {"query": "cellar"}, MAIN)["results"] == []


def test_items_are_kept_where_the_daily_note_cannot_be_written(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "memory").write_text("no folder")
    with open_slot(tmp_path, notes=True) as slot:
        slot.turn_ended(MAIN, turn())
    assert contents(tmp_path) == [LEARNED]
    assert "what was learned is not in the daily note" in caplog.text
    assert "could not be learned from" not in caplog.text


def test_a_model_that_hangs_delays_neither_a_turn_nor_the_end_for_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(capturing, "LAST_MODEL_SECONDS", 0.05)
    released = threading.Event()

    def hang(*_: object, **__: object) -> Message:
        released.wait(60)
        return {"role": "assistant", "content": '{"facts": []}'}

    slot = open_slot(tmp_path)
    slot.turn_ended(MAIN, turn(), hang)
    assert slot.close() == ()
    assert contents(tmp_path) == [LEARNED]  # by rules, after the model was given up
    monkeypatch.setattr(capturing, "CLOSE_SECONDS", 0.05)
    monkeypatch.setattr(capturing, "READ_AFTER_TURNS", 1)
    second = open_slot(tmp_path)
    second.turn_ended(MAIN, turn(), hang)
    eventually(lambda: any(thread.name == "memory-completion" for thread in threading.enumerate()))
    assert second.close() == ("capture did not end: what the last turns said may not be kept",)
    released.set()
    ours = {"memory-core-capture", "memory-completion"}
    assert eventually(lambda: not any(thread.name in ours for thread in threading.enumerate()))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_forked_child_leaves_the_turns_to_its_parent(tmp_path: Path) -> None:
    asked: list[int] = []

    def count(*_: object, **__: object) -> Message:
        asked.append(os.getpid())
        (tmp_path / f"asked-{os.getpid()}").touch()
        return {"role": "assistant", "content": '{"facts": []}'}

    with open_slot(tmp_path) as slot:
        slot.turn_ended(MAIN, turn(), count)
        child = os.fork()
        if not child:
            slot.close()
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
    assert [path.name for path in tmp_path.glob("asked-*")] == [f"asked-{os.getpid()}"]


def test_many_sessions_are_read_and_none_is_kept_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capturing, "MAX_SESSIONS", 3)
    with open_slot(tmp_path) as slot:
        for number in range(8):
            slot.turn_ended(CallContext.local(f"thread-{number}"), turn(f"Remember that box {number} is full."))
        assert eventually(lambda: len(contents(tmp_path)) >= 5)
    assert contents(tmp_path) == [f"Box {number} is full." for number in range(8)]


@pytest.mark.usefixtures("at_once")
def test_a_defect_while_notes_are_read_costs_neither_this_batch_nor_the_next(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "memory").mkdir()
    settings = {"enabled": True, "notes": True}
    search = {"provider": "none", "items": {"enabled": True, "capture": settings}}
    config = load_config({"memorySearch": search}, workspace=tmp_path, state_dir=tmp_path).agent()
    items, days = OpenItems(KeySources()), iter([None])

    def find_date(_: AgentConfig) -> date:
        """A clock that is broken once."""
        if next(days, 1) is None:
            raise ValueError("year 0 is out of range")
        return date(2026, 1, 10)

    capture = capturing.SessionCapture(items, Shown(), find_date)
    capture.add(config, "s1", turn(), None)
    assert eventually(lambda: contents(tmp_path) == [LEARNED])
    assert "year 0 is out of range" in caplog.text
    capture.add(config, "s1", turn("Remember that the ladder stands in the barn."), None)
    assert capture.close() == ()
    assert contents(tmp_path) == [LEARNED, "The ladder stands in the barn."]
    items.close()
