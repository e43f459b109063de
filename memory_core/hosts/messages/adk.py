"""Contents of Google's ADK (`google.genai.types.Content`), as its events and requests hold them."""

from __future__ import annotations

import json
from collections import defaultdict, deque
from collections.abc import Iterable, Mapping
from itertools import count
from typing import TYPE_CHECKING, Any

from memory_core.completions import Message
from memory_core.hosts.messages import chat

if TYPE_CHECKING:
    from google.genai.types import Content, FunctionCall, FunctionResponse, Part

_ONLY_TEXT = "result"  # ADK's own key around what a function returns that is no object


def to_openai(contents: Iterable[Content]) -> list[Message]:
    """Return chat messages for contents; the system instruction is not among them.

    Calls without an id, as Gemini makes them, are numbered, and answered in their order by name.
    """
    converted: list[Message] = []
    made = count(1)
    open_calls: defaultdict[str | None, deque[str]] = defaultdict(deque)  # those without an id, by name

    def number_call(call: FunctionCall) -> str:
        if not call.id:
            open_calls[call.name].append(f"call-{next(made)}")
        return call.id or open_calls[call.name][-1]

    def find_call(answer: FunctionResponse) -> str:
        waiting = open_calls[answer.name]
        return answer.id or (waiting.popleft() if waiting else "")

    for content in contents:
        parts = content.parts or []
        text = "\n\n".join(filter(None, map(_read_part, parts)))
        if content.role == "model":
            calls = [part.function_call for part in parts if part.function_call]
            written = [chat.write_call(number_call(call), call.name, call.args) for call in calls]
            converted.append(chat.write_assistant(text, written))
            continue
        for answer in (part.function_response for part in parts if part.function_response):
            said = _read_response(answer.response)
            converted.append(chat.write_result(find_call(answer), said))
        converted.append({"role": "user", "content": text})
    return chat.pair_calls(converted)


def from_openai(messages: Iterable[Message]) -> tuple[str, list[Content]]:
    """Return the system instruction and the contents for chat messages; neighbours of one role are one content."""
    from google.genai.types import Content, FunctionCall, FunctionResponse, Part

    def write_result(number: str, name: str, text: str) -> Part:
        return Part(function_response=FunctionResponse(id=number, name=name, response=_write_response(text)))

    def write_call(number: str, name: str, arguments: dict[str, Any]) -> Part:
        return Part(function_call=FunctionCall(id=number, name=name, args=arguments))

    system, others = chat.split_system(messages)
    grouped = chat.group_parts(others, lambda text: Part(text=text), write_result, write_call)
    return system, [Content(role="model" if said else "user", parts=parts) for said, parts in grouped]


def _read_part(part: Part) -> str:
    """Return the text of a part; "" for a call, its answer, and a thought."""
    if part.thought:
        return ""
    if part.text:
        return str(part.text)
    medium = part.inline_data or part.file_data
    return f"[{(medium.mime_type or 'file').partition('/')[0]}]" if medium else ""


def _read_response(response: Mapping[str, Any] | None) -> str:
    if response is not None and response.keys() == {_ONLY_TEXT} and isinstance(response[_ONLY_TEXT], str):
        return str(response[_ONLY_TEXT])
    return chat.write_json(response or {})


def _write_response(text: str) -> dict[str, Any]:
    """Return a tool's answer as the object that Gemini wants."""
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    return value if isinstance(value, dict) and value.keys() != {_ONLY_TEXT} else {_ONLY_TEXT: text}
