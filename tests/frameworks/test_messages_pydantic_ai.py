"""The converter of pydantic-ai's messages on pydantic-ai's own types."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_core.hosts.messages import pydantic_ai
from tests.frameworks.conversations import (
    ARGUMENTS,
    IDS,
    JSON,
    NAMES,
    TEXTS,
    Message,
    assert_acceptable,
    conversations,
    texts_of,
)

pai = pytest.importorskip("pydantic_ai.messages", reason="make test-hosts installs pydantic-ai")

PROMPTS = st.one_of(
    TEXTS,
    st.builds(pai.TextContent, TEXTS),
    st.just(pai.ImageUrl(url="https://example.org/a.png")),
    st.just(pai.BinaryContent(b"x", media_type="application/pdf")),
    st.just(pai.CachePoint()),
)
RETURNED = JSON | st.just(pai.BinaryContent(b"x", media_type="image/png")) | st.just(date(2026, 5, 1))
ASKED = st.one_of(
    st.builds(pai.SystemPromptPart, TEXTS),
    st.builds(pai.UserPromptPart, TEXTS | st.lists(PROMPTS, max_size=3)),
    st.builds(lambda name, value, number: pai.ToolReturnPart(name, value, tool_call_id=number), NAMES, RETURNED, IDS),
    st.builds(
        lambda name, text, number: pai.ToolReturnPart(name, text, tool_call_id=number, outcome="failed"),
        NAMES,
        TEXTS,
        IDS,
    ),
)
SAID = st.one_of(
    st.builds(pai.TextPart, TEXTS),
    st.builds(pai.ThinkingPart, TEXTS),
    st.builds(
        lambda name, args, number: pai.ToolCallPart(name, args, tool_call_id=number),
        NAMES,
        ARGUMENTS | TEXTS | st.none(),
        IDS,
    ),
)
MESSAGES = st.lists(
    st.one_of(
        st.builds(lambda parts: pai.ModelRequest(parts=parts), st.lists(ASKED, max_size=4)),
        st.builds(lambda parts: pai.ModelResponse(parts=parts), st.lists(SAID, max_size=4)),
    ),
    max_size=6,
)


@given(conversations())
def test_they_come_back_as_the_same_messages(messages: list[Message]) -> None:
    assert pydantic_ai.to_openai(pydantic_ai.from_openai(messages)) == messages


@given(MESSAGES)
def test_any_messages_become_some_that_an_endpoint_accepts(messages: list[Any]) -> None:
    converted = pydantic_ai.to_openai(messages)
    assert_acceptable(converted)
    for part in (part for message in messages for part in message.parts):
        if part.part_kind == "user-prompt" and isinstance(part.content, str):
            assert part.content in texts_of(converted, "user")


def test_what_the_framework_tells_the_model_itself_is_the_users() -> None:
    feedback = pai.RetryFeedbackPart("Say it in one word.", retry=pai.RetryInfo(cause="model_retry"))
    (message,) = pydantic_ai.to_openai([pai.ModelRequest(parts=[feedback])])
    assert message["role"] == "user"
    assert "Say it in one word." in message["content"]
