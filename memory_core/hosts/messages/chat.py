"""Parts of chat messages in OpenAI's form that all converters write and read."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from memory_core.completions import Message, join_text, parse_arguments

T = TypeVar("T")


def write_call(number: object, name: object, arguments: object) -> dict[str, Any]:
    """Return a tool call; arguments that are no text become JSON."""
    written = arguments if isinstance(arguments, str) else write_json({} if arguments is None else arguments)
    return {"id": str(number), "type": "function", "function": {"name": str(name), "arguments": written}}


def write_assistant(text: str, calls: Sequence[Mapping[str, Any]] = ()) -> Message:
    """Return an assistant's message."""
    if calls:
        return {"role": "assistant", "content": text or None, "tool_calls": list(calls)}
    return {"role": "assistant", "content": text}


def write_result(number: object, text: str) -> Message:
    """Return a tool's answer to the call of that id."""
    return {"role": "tool", "tool_call_id": str(number), "content": text}


def read_texts(messages: Iterable[Any]) -> list[Message]:
    """Return what the user and the assistant said, for messages of any framework that have a `role` and a `text` or `content`."""
    found: list[Message] = []
    for message in messages:
        role = str(getattr(message.role, "value", message.role))
        said = getattr(message, "text", None) or getattr(message, "content", None)
        if role in {"user", "assistant"} and isinstance(said, str):
            found.append({"role": role, "content": said})
    return found


def write_json(value: object) -> str:
    """Write a value as JSON; what JSON does not know is written as text."""
    return json.dumps(value, ensure_ascii=False, default=str)


def write_text(value: object) -> str:
    """Return a text as it is, and any other value as JSON; "" for None."""
    if value is None:
        return ""
    return value if isinstance(value, str) else write_json(value)


def pair_calls(messages: Iterable[Message]) -> list[Message]:
    """Return the messages without calls that have no answer, answers that have no call, and messages that say nothing.

    Chat endpoints refuse them. Answers follow the message with their calls at once.
    """
    waiting = list(messages)
    paired: list[Message] = []
    while waiting:
        message = waiting.pop(0)
        calls = message.get("tool_calls")
        if message["role"] == "tool":
            continue
        if not calls:
            if message.get("content"):
                paired.append(message)
            continue
        answers: dict[str, Message] = {}
        while waiting and waiting[0]["role"] == "tool":
            answer = waiting.pop(0)
            answers.setdefault(answer["tool_call_id"], answer)
        answered = {call["id"]: call for call in calls if call["id"] in answers}
        if answered or message.get("content"):
            paired.append(write_assistant(message.get("content") or "", list(answered.values())))
            paired += [answer for number, answer in answers.items() if number in answered]
    return paired


def list_calls(message: Mapping[str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
    """Return the id, name and arguments of a message's tool calls; {} for arguments that are no JSON object."""
    found = []
    for call in message.get("tool_calls") or ():
        function = call.get("function") or {}
        try:
            arguments = dict(parse_arguments(function.get("arguments")))
        except (ValueError, TypeError):
            arguments = {}
        found.append((str(call.get("id", "")), str(function.get("name", "")), arguments))
    return found


def name_calls(messages: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Return the names of the called tools by the ids of their calls."""
    return {number: name for message in messages for number, name, _ in list_calls(message)}


def split_system(messages: Iterable[Message]) -> tuple[str, list[Message]]:
    """Return the text of the system messages and all other messages, for frameworks that keep them apart."""
    system: list[str] = []
    others: list[Message] = []
    for message in messages:
        if message["role"] in {"system", "developer"}:
            system.append(join_text(message))
        else:
            others.append(message)
    return "\n\n".join(filter(None, system)), others


def group_parts(
    messages: Sequence[Message],
    write_text: Callable[[str], T],
    write_result: Callable[[str, str, str], T],
    write_call: Callable[[str, str, dict[str, Any]], T],
) -> list[tuple[bool, list[T]]]:
    """Return the parts of neighbours of one side together, and True with those of the assistant.

    Args:
        messages: None of them the system's.
        write_text: Makes a part of a text.
        write_result: Makes one of a tool's answer: of the call's id, the tool's name, and the text.
        write_call: Makes one of a tool's call: of its id, the tool's name, and the arguments.
    """
    names = name_calls(messages)
    grouped: list[tuple[bool, list[T]]] = []
    for message in messages:
        text, is_said = join_text(message), message["role"] == "assistant"
        parts = [write_call(*call) for call in list_calls(message)]
        if message["role"] == "tool":
            number = message["tool_call_id"]
            parts.insert(0, write_result(number, names.get(number, ""), text))
        elif text:
            parts.insert(0, write_text(text))
        if grouped and grouped[-1][0] == is_said:
            grouped[-1][1].extend(parts)
        elif parts:
            grouped.append((is_said, parts))
    return grouped
