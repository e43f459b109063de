"""The converter of Google ADK's contents on google.genai's own types."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_core.hosts.messages import adk
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

pytest.importorskip("google.adk", reason="make test-hosts installs Google ADK")
types = pytest.importorskip("google.genai.types")

NUMBERS = IDS | st.none()
PARTS = st.one_of(
    st.builds(lambda text: types.Part(text=text), TEXTS),
    st.builds(lambda text: types.Part(text=text, thought=True), TEXTS),
    st.just(types.Part(inline_data=types.Blob(mime_type="image/png", data=b"x"))),
    st.just(types.Part(file_data=types.FileData(file_uri="gs://a/b"))),
    st.builds(
        lambda number, name, args: types.Part(function_call=types.FunctionCall(id=number, name=name, args=args)),
        NUMBERS,
        NAMES,
        ARGUMENTS | st.none(),
    ),
    st.builds(
        lambda number, name, said: types.Part(
            function_response=types.FunctionResponse(id=number, name=name, response=said)
        ),
        NUMBERS,
        NAMES,
        ARGUMENTS | st.none(),
    ),
)
CONTENTS = st.lists(
    st.builds(
        lambda role, parts: types.Content(role=role, parts=parts),
        st.sampled_from(["user", "model", None]),
        st.lists(PARTS, max_size=4) | st.none(),
    ),
    max_size=8,
)


@given(conversations())
def test_they_come_back_as_the_same_messages(messages: list[Message]) -> None:
    system, contents = adk.from_openai(messages)
    opening = [{"role": "system", "content": system}] if system else []
    assert opening + adk.to_openai(contents) == messages


@given(CONTENTS)
def test_any_contents_become_messages_that_an_endpoint_accepts(contents: list[Any]) -> None:
    converted = adk.to_openai(contents)
    assert_acceptable(converted)
    for content in contents:
        for part in content.parts or ():
            if content.role == "user" and part.text and not part.thought:
                assert part.text in texts_of(converted, "user")


def test_calls_without_ids_are_answered_by_name_in_their_order() -> None:
    def call(query: str) -> Any:
        return types.Part(function_call=types.FunctionCall(name="memory_search", args={"query": query}))

    def answer(text: str) -> Any:
        return types.Part(function_response=types.FunctionResponse(name="memory_search", response={"result": text}))

    contents = [
        types.Content(role="model", parts=[call("lease"), call("cat")]),
        types.Content(role="user", parts=[answer("in May"), answer("Minka")]),
    ]
    said, first, second = adk.to_openai(contents)
    numbers = [call["id"] for call in said["tool_calls"]]
    assert [(first["tool_call_id"], first["content"]), (second["tool_call_id"], second["content"])] == list(
        zip(numbers, ["in May", "Minka"], strict=True)
    )
