"""The converter of LangChain's messages on LangChain's own types."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_core.hosts.messages import langchain
from tests.frameworks.conversations import (
    ARGUMENTS,
    IDS,
    NAMES,
    TEXTS,
    Message,
    assert_acceptable,
    conversations,
    texts_of,
)

lc = pytest.importorskip("langchain_core.messages", reason="make test-hosts installs LangChain")

BLOCKS = st.one_of(
    TEXTS,
    st.fixed_dictionaries({"type": st.just("text"), "text": TEXTS}),
    st.just({"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}),
    st.just({"type": "thinking", "thinking": "hm"}),
)
CONTENT = TEXTS | st.lists(BLOCKS, max_size=3)
CALLS = st.lists(
    st.builds(lambda number, name, args: {"id": number, "name": name, "args": args}, IDS, NAMES, ARGUMENTS), max_size=3
)
MESSAGES = st.lists(
    st.one_of(
        st.builds(lambda text: lc.SystemMessage(content=text), CONTENT),
        st.builds(lambda text: lc.HumanMessage(content=text), CONTENT),
        st.builds(lambda text, calls: lc.AIMessage(content=text, tool_calls=calls), CONTENT, CALLS),
        st.builds(lambda text: lc.AIMessageChunk(content=text), CONTENT),
        st.builds(lambda text, number: lc.ToolMessage(content=text, tool_call_id=number), CONTENT, IDS),
        st.builds(lambda text: lc.ChatMessage(role="critic", content=text), TEXTS),
        st.builds(lambda text: lc.FunctionMessage(name="old", content=text), TEXTS),
        st.just(lc.RemoveMessage(id="1")),
    ),
    max_size=12,
)


@given(conversations())
def test_they_come_back_as_the_same_messages(messages: list[Message]) -> None:
    assert langchain.to_openai(langchain.from_openai(messages)) == messages


@given(MESSAGES)
def test_any_messages_become_some_that_an_endpoint_accepts(messages: list[Any]) -> None:
    converted = langchain.to_openai(messages)
    assert_acceptable(converted)
    for message in messages:
        if isinstance(message.content, str) and message.type in {"human", "system"}:
            assert message.content in texts_of(converted, "user" if message.type == "human" else "system")


def test_each_kind_of_message() -> None:
    asked = lc.HumanMessage(
        content=[
            {"type": "text", "text": "Look: "},
            {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}},
        ]
    )
    said = lc.AIMessage(
        content=[{"type": "text", "text": "One moment."}, {"type": "tool_use", "id": "1", "name": "x", "input": {}}],
        tool_calls=[{"id": "1", "name": "memory_search", "args": {"query": "lease"}}],
    )
    messages = [asked, said, lc.ToolMessage(content="found", tool_call_id="1"), lc.AIMessageChunk(content="In May.")]
    function = {"name": "memory_search", "arguments": '{"query": "lease"}'}
    assert langchain.to_openai(messages) == [
        {"role": "user", "content": "Look: [image]"},
        {
            "role": "assistant",
            "content": "One moment.",
            "tool_calls": [{"id": "1", "type": "function", "function": function}],
        },
        {"role": "tool", "tool_call_id": "1", "content": "found"},
        {"role": "assistant", "content": "In May."},
    ]
