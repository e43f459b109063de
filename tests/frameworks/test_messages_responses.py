"""The converter of Responses items on the types of OpenAI's package."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from memory_core.hosts.messages import responses
from tests.frameworks.conversations import Message, conversations

openai_responses: Any = pytest.importorskip("openai.types.responses", reason="make test-hosts installs OpenAI Agents")
chat: Any = pytest.importorskip("openai.types.chat")
pydantic = pytest.importorskip("pydantic")


@given(conversations())
def test_what_it_makes_is_what_openai_takes(messages: list[Message]) -> None:
    items = responses.from_openai(messages)
    pydantic.TypeAdapter(list[openai_responses.ResponseInputItemParam]).validate_python(items)
    pydantic.TypeAdapter(list[chat.ChatCompletionMessageParam]).validate_python(responses.to_openai(items))


def test_outputs_of_a_model_are_items_too() -> None:
    text = openai_responses.ResponseOutputText(annotations=[], text="One moment.", type="output_text")
    said = openai_responses.ResponseOutputMessage(
        id="msg_1", content=[text], role="assistant", status="completed", type="message"
    )
    call = openai_responses.ResponseFunctionToolCall(
        arguments='{"query": "lease"}', call_id="1", name="memory_search", type="function_call"
    )
    thought = openai_responses.ResponseReasoningItem(id="rs_1", summary=[], type="reasoning")
    output = [item.model_dump(exclude_unset=True) for item in (thought, said, call)]
    answer = {"type": "function_call_output", "call_id": "1", "output": "found"}
    first, second = responses.to_openai([*output, answer])
    assert first["content"] == "One moment."
    assert first["tool_calls"][0]["function"] == {"name": "memory_search", "arguments": '{"query": "lease"}'}
    assert second == {"role": "tool", "tool_call_id": "1", "content": "found"}
