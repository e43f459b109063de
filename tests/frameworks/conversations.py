"""Conversations in OpenAI's form for property tests of the converters."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from hypothesis import strategies as st

Message = dict[str, Any]

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
SAID = TEXTS.filter(bool)
NAMES = st.sampled_from(["memory_search", "memory_append", "look_up"])
IDS = st.sampled_from(["1", "2", "3"])  # few, so that calls and answers meet, and clash
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | SAID,
    lambda inner: st.lists(inner, max_size=2),
    max_leaves=3,
)
ARGUMENTS = st.dictionaries(SAID, JSON, max_size=3)


@st.composite
def conversations(draw: Callable[..., Any], *, system: bool = True) -> list[Message]:
    """Well-formed chats: users and assistants take turns, every call has its answer, ids are unique."""
    messages: list[Message] = [{"role": "system", "content": draw(SAID)}] if system and draw(st.booleans()) else []
    number = 0
    for _ in range(draw(st.integers(1, 4))):
        messages.append({"role": "user", "content": draw(SAID)})
        for _ in range(draw(st.integers(0, 2))):
            calls = []
            for _ in range(draw(st.integers(1, 2))):
                number += 1
                function = {"name": draw(NAMES), "arguments": json.dumps(draw(ARGUMENTS), ensure_ascii=False)}
                calls.append({"id": f"call_{number}", "type": "function", "function": function})
            messages.append({"role": "assistant", "content": draw(SAID | st.none()), "tool_calls": calls})
            messages += [{"role": "tool", "tool_call_id": call["id"], "content": draw(SAID)} for call in calls]
        messages.append({"role": "assistant", "content": draw(SAID)})
    return messages


def assert_acceptable(messages: Sequence[Message]) -> None:
    """A chat endpoint takes these: every answer follows its call, every call has one, and every message says something."""
    json.dumps(messages)
    waiting: set[str] = set()
    for message in messages:
        assert message["role"] in {"system", "user", "assistant", "tool"}
        assert isinstance(message["content"], str) or (message["content"] is None and message["tool_calls"])
        if message["role"] == "tool":
            waiting.remove(message["tool_call_id"])
            continue
        assert not waiting
        calls = message.get("tool_calls", [])
        assert message["content"] or calls
        waiting = {call["id"] for call in calls}
        assert len(waiting) == len(calls)
        for call in calls:
            assert call["type"] == "function"
            assert isinstance(call["function"]["name"], str)
            assert isinstance(call["function"]["arguments"], str)
    assert not waiting


def texts_of(messages: Sequence[Message], role: str) -> str:
    """Everything that a role has said."""
    return "\n".join(message["content"] or "" for message in messages if message["role"] == role)
