"""The converter of the messages of Strands Agents on its own types."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_core.hosts.messages import strands
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

content: Any = pytest.importorskip("strands.types.content", reason="make test-hosts installs Strands Agents")
pydantic = pytest.importorskip("pydantic")

ANSWERS = st.lists(
    st.fixed_dictionaries({"text": TEXTS}) | st.fixed_dictionaries({"json": JSON}), max_size=2
)  # fmt: skip
BLOCKS = st.one_of(
    st.fixed_dictionaries({"text": TEXTS}),
    st.just({"image": {"format": "png", "source": {"bytes": b"x"}}}),
    st.just({"cachePoint": {"type": "default"}}),
    st.just({"reasoningContent": {"reasoningText": {"text": "hm"}}}),
    st.builds(
        lambda number, name, given: {"toolUse": {"toolUseId": number, "name": name, "input": given}},
        IDS,
        NAMES,
        ARGUMENTS,
    ),
    st.builds(
        lambda number, said: {"toolResult": {"toolUseId": number, "status": "success", "content": said}}, IDS, ANSWERS
    ),
)
MESSAGES = st.lists(
    st.fixed_dictionaries({"role": st.sampled_from(["user", "assistant"]), "content": st.lists(BLOCKS, max_size=4)}),
    max_size=8,
)


@given(conversations())
def test_what_it_makes_is_what_strands_takes(messages: list[Message]) -> None:
    _, converted = strands.from_openai(messages)
    pydantic.TypeAdapter(
        list[content.Message], config=pydantic.ConfigDict(arbitrary_types_allowed=True)
    ).validate_python(converted)


@given(MESSAGES)
def test_any_messages_become_some_that_an_endpoint_accepts(messages: list[Any]) -> None:
    converted = strands.to_openai(messages)
    assert_acceptable(converted)
    for message in messages:
        for block in message["content"]:
            if message["role"] == "user" and block.get("text"):
                assert block["text"] in texts_of(converted, "user")
