"""Items of OpenAI's Responses API, as its `input` takes them and OpenAI Agents keeps them in sessions.

https://platform.openai.com/docs/api-reference/responses/input-items
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from memory_core.completions import Message, join_text
from memory_core.hosts.messages import chat

Item = dict[str, Any]

_TEXT = {"input_text", "output_text", "text", "summary_text"}
_CALLS = {"function_call": "arguments", "custom_tool_call": "input"}
_RESULTS = {"function_call_output", "custom_tool_call_output"}


def to_openai(items: Iterable[Mapping[str, Any]]) -> list[Message]:
    """Return chat messages for items; calls of tools that OpenAI runs itself are left out."""
    return chat.pair_calls(_convert(items))


def read_answer(items: Iterable[Mapping[str, Any]]) -> Message:
    """Return the chat message for a model's output, with calls that have no answer yet."""
    said = [message for message in _convert(items) if message["role"] == "assistant"]
    calls = [call for message in said for call in message.get("tool_calls", ())]
    return chat.write_assistant("\n\n".join(message["content"] for message in said if message["content"]), calls)


def _convert(items: Iterable[Mapping[str, Any]]) -> list[Message]:
    messages: list[Message] = []
    for item in items:
        kind = item.get("type") or "message"
        if kind == "message":
            role = str(item.get("role", "user"))
            messages.append({"role": "system" if role == "developer" else role, "content": _join(item.get("content"))})
        elif kind in _CALLS:
            given = item.get(_CALLS[kind])  # JSON, but for a custom tool free text
            arguments = {"input": given} if kind == "custom_tool_call" else chat.write_text(given) or "{}"
            _add_call(messages, chat.write_call(item.get("call_id"), item.get("name"), arguments))
        elif kind in _RESULTS:
            messages.append(chat.write_result(item.get("call_id"), _join(item.get("output"))))
    return messages


def from_openai(messages: Iterable[Message]) -> list[Item]:
    """Return items for chat messages."""
    items: list[Item] = []
    for message in messages:
        text = join_text(message)
        if message["role"] == "tool":
            items.append({"type": "function_call_output", "call_id": message["tool_call_id"], "output": text})
            continue
        if text:
            items.append({"role": message["role"], "content": text})
        for call in message.get("tool_calls") or ():
            function = call["function"]
            items.append({"type": "function_call", "call_id": call["id"], **function})
    return items


def _add_call(messages: list[Message], call: dict[str, Any]) -> None:
    """Add a call to the assistant's message that was said just before it, or as a message of its own."""
    if messages and messages[-1]["role"] == "assistant":
        last = messages.pop()
        messages.append(chat.write_assistant(last.get("content") or "", [*last.get("tool_calls", ()), call]))
    else:
        messages.append(chat.write_assistant("", [call]))


def _join(content: object) -> str:
    """Return the text of an item's content, which is a string or a list of parts."""
    if not isinstance(content, list):
        return chat.write_text(content)
    return "".join(_read_part(part) for part in content if isinstance(part, Mapping))


def _read_part(part: Mapping[str, Any]) -> str:
    kind = str(part.get("type", ""))
    if kind in _TEXT:
        return str(part.get("text", ""))
    if kind == "refusal":
        return str(part.get("refusal", ""))
    return f"[{kind.removeprefix('input_') or 'file'}]"
