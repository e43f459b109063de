"""Converters whose messages are plain data: Responses items, and those of Strands."""

from __future__ import annotations

import itertools
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from memory_core.completions import split_turns
from memory_core.hosts.messages import chat, responses, strands
from tests.frameworks.conversations import IDS, NAMES, TEXTS, Message, assert_acceptable, conversations, texts_of


def call(number: str, name: str = "memory_search", arguments: str = '{"query": "lease"}') -> dict[str, Any]:
    return {"id": number, "type": "function", "function": {"name": name, "arguments": arguments}}


def tool(number: str, text: str = "found") -> Message:
    return {"role": "tool", "tool_call_id": number, "content": text}


def test_a_call_without_an_answer_is_left_out_and_so_is_an_answer_without_a_call() -> None:
    said: Message = {"role": "assistant", "content": "Let me look.", "tool_calls": [call("1"), call("2")]}
    kept = {"role": "assistant", "content": "Let me look.", "tool_calls": [call("2")]}
    assert chat.pair_calls([tool("0"), said, tool("2"), tool("2", "again"), tool("3")]) == [kept, tool("2")]


def test_a_message_with_open_calls_only_is_left_out() -> None:
    asked: Message = {"role": "user", "content": "When does the lease end?"}
    assert chat.pair_calls([asked, {"role": "assistant", "content": None, "tool_calls": [call("1")]}]) == [asked]


def test_messages_are_split_into_turns() -> None:
    said = [
        {"role": role, "content": text}
        for role, text in (("assistant", "0"), ("user", "1"), ("user", "2"), ("assistant", "3"))
    ]
    said += [tool("1"), {"role": "user", "content": "4"}]
    assert [[each["content"] for each in turn] for turn in split_turns(said)] == [
        ["0"],
        ["1", "2", "3", "found"],
        ["4"],
    ]
    assert split_turns([]) == []


def test_arguments_that_are_no_object_are_taken_for_none() -> None:
    calls = [call("1", arguments="{"), call("2", arguments="[1]"), call("3", arguments='{"a": 1}')]
    assert chat.list_calls({"tool_calls": calls}) == [
        ("1", "memory_search", {}),
        ("2", "memory_search", {}),
        ("3", "memory_search", {"a": 1}),
    ]


def test_items_that_a_run_of_openai_agents_keeps() -> None:
    items: list[dict[str, Any]] = [
        {
            "role": "user",
            "content": [{"type": "input_text", "text": "Look: "}, {"type": "input_image", "image_url": "x"}],
        },
        {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "hm"}]},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "One moment."}]},
        {"type": "function_call", "call_id": "1", "name": "memory_search", "arguments": '{"query": "lease"}'},
        {"type": "function_call", "call_id": "2", "name": "memory_get", "arguments": ""},
        {"type": "web_search_call", "id": "ws_1", "status": "completed"},
        {"type": "function_call_output", "call_id": "1", "output": "found"},
        {"type": "function_call_output", "call_id": "2", "output": [{"type": "input_text", "text": "read"}]},
        {"type": "message", "role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]},
        {"role": "developer", "content": "Be brief."},
    ]
    assert responses.to_openai(items) == [
        {"role": "user", "content": "Look: [image]"},
        {"role": "assistant", "content": "One moment.", "tool_calls": [call("1"), call("2", "memory_get", "{}")]},
        tool("1"),
        tool("2", "read"),
        {"role": "assistant", "content": "No."},
        {"role": "system", "content": "Be brief."},
    ]


def test_calls_in_turns_are_messages_of_their_own() -> None:
    items = [
        {"type": "function_call", "call_id": "1", "name": "memory_search", "arguments": '{"query": "lease"}'},
        {"type": "function_call_output", "call_id": "1", "output": "found"},
        {"type": "custom_tool_call", "call_id": "2", "name": "shell", "input": "ls"},
        {"type": "custom_tool_call_output", "call_id": "2", "output": "notes"},
    ]
    assert [message["role"] for message in responses.to_openai(items)] == ["assistant", "tool", "assistant", "tool"]


@given(conversations())
def test_responses_items_come_back_as_the_same_messages(messages: list[Message]) -> None:
    assert responses.to_openai(responses.from_openai(messages)) == messages


def part(kind: str) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({"type": st.just(kind), "text": TEXTS})


ITEMS = st.lists(
    st.one_of(
        st.fixed_dictionaries({
            "role": st.sampled_from(["user", "assistant", "system", "developer"]),
            "content": TEXTS | st.lists(part("input_text") | part("output_text") | part("input_file"), max_size=3),
        }),
        st.fixed_dictionaries({"type": st.just("function_call"), "call_id": IDS, "name": NAMES, "arguments": TEXTS}),
        st.fixed_dictionaries({"type": st.just("function_call_output"), "call_id": IDS, "output": TEXTS}),
        st.fixed_dictionaries({"type": st.sampled_from(["reasoning", "web_search_call", "item_reference", "compaction"])}),
    ),
    max_size=12,
)  # fmt: skip


@given(ITEMS)
def test_any_items_become_messages_that_an_endpoint_accepts(items: list[dict[str, Any]]) -> None:
    messages = responses.to_openai(items)
    assert_acceptable(messages)
    for item in items:
        if item.get("role") == "user" and isinstance(item["content"], str):
            assert item["content"] in texts_of(messages, "user")


def test_messages_of_strands() -> None:
    use = {"toolUseId": "1", "name": "memory_search", "input": {"query": "lease"}}
    result = {"toolUseId": "1", "status": "success", "content": [{"text": "found"}, {"json": {"line": 3}}]}
    messages: Any = [
        {"role": "user", "content": [{"text": "Look:"}, {"image": {"format": "png", "source": {"bytes": b""}}}]},
        {"role": "assistant", "content": [{"reasoningContent": {}}, {"text": "One moment."}, {"toolUse": use}]},
        {"role": "user", "content": [{"toolResult": result}, {"text": "Well?"}, {"cachePoint": {"type": "default"}}]},
    ]
    assert strands.to_openai(messages) == [
        {"role": "user", "content": "Look:\n\n[image]"},
        {"role": "assistant", "content": "One moment.", "tool_calls": [call("1")]},
        tool("1", 'found\n\n{"line": 3}'),
        {"role": "user", "content": "Well?"},
    ]


@given(conversations())
def test_messages_of_strands_come_back_as_the_same_messages(messages: list[Message]) -> None:
    system, converted = strands.from_openai(messages)
    roles = [message["role"] for message in converted]
    assert all(first != second for first, second in itertools.pairwise(roles))
    opening = [{"role": "system", "content": system}] if system else []
    assert opening + strands.to_openai(converted) == messages
