"""pydantic-ai's messages (`pydantic_ai.messages`)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from memory_core.completions import Message, join_text
from memory_core.hosts.messages import chat

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage, ModelRequestPart, ModelResponse, ModelResponsePart

_SAID = {"user-prompt", "speech", "compaction"}
_SPOKEN = {"text", "speech", "compaction"}


def to_openai(messages: Iterable[ModelMessage]) -> list[Message]:
    """Return chat messages for pydantic-ai's; calls of tools that the provider runs itself are left out."""
    converted: list[Message] = []
    for message in messages:
        if message.kind == "response":
            converted.append(read_answer(message))
        else:
            said = [_read_part(part) for part in message.parts]
            # Chat endpoints want the answers of tools right behind their calls.
            converted += sorted((part for part in said if part), key=lambda part: part["role"] != "tool")
    return chat.pair_calls(converted)


def read_answer(message: ModelResponse) -> Message:
    """Return the chat message for a model's answer, with calls that have no answer yet."""
    calls = [
        chat.write_call(part.tool_call_id, part.tool_name, part.args)
        for part in message.parts
        if part.part_kind == "tool-call"
    ]
    texts = [part.content for part in message.parts if part.part_kind in _SPOKEN]
    return chat.write_assistant("\n\n".join(filter(None, texts)), calls)


def from_openai(messages: Iterable[Message]) -> list[ModelMessage]:
    """Return pydantic-ai's messages for chat messages; neighbours that go to the model are one request."""
    from pydantic_ai import messages as kinds

    messages = list(messages)
    names = chat.name_calls(messages)
    converted: list[ModelMessage] = []
    asked: list[ModelRequestPart] = []  # of the request that is the last message, if one is
    for message in messages:
        text = join_text(message)
        if message["role"] == "assistant":
            said: list[ModelResponsePart] = [kinds.TextPart(text)] if text else []
            for call in message.get("tool_calls") or ():
                function = call["function"]
                said.append(kinds.ToolCallPart(function["name"], function["arguments"], tool_call_id=call["id"]))
            converted.append(kinds.ModelResponse(parts=said))
            asked = []
            continue
        if not asked:
            converted.append(kinds.ModelRequest(parts=asked))
        if message["role"] == "tool":
            number = message["tool_call_id"]
            asked.append(kinds.ToolReturnPart(names.get(number, ""), text, tool_call_id=number))
        else:
            is_system = message["role"] in {"system", "developer"}
            asked.append(kinds.SystemPromptPart(text) if is_system else kinds.UserPromptPart(text))
    return converted


def _read_part(part: Any) -> Message | None:
    """Return one part of a request as a message; None for what the framework tells itself."""
    kind = part.part_kind
    if kind == "system-prompt":
        return {"role": "system", "content": part.content}
    if kind == "tool-return":
        texts = [part.model_response_str(), *map(_read_content, part.files)]
        return chat.write_result(part.tool_call_id, "\n\n".join(filter(None, texts)))
    if kind in {"retry-prompt", "retry-feedback"}:
        text = part.model_response()
        return chat.write_result(part.tool_call_id, text) if getattr(part, "tool_name", None) else _say(text)
    if kind == "user-prompt" and not isinstance(part.content, str):
        return _say("\n\n".join(filter(None, map(_read_content, part.content))))
    return _say(part.content) if kind in _SAID and isinstance(part.content, str) else None


def _say(text: str) -> Message:
    return {"role": "user", "content": text}


def _read_content(part: Any) -> str:
    """Return the text of a part of a user's prompt; "" for a mark of a cache."""
    if isinstance(part, str):
        return part
    if isinstance(part.kind, str) and part.kind.endswith("-content"):
        return str(part.content)
    if part.kind == "cache-point":
        return ""
    # "image-url" and a binary of type image/png are both an image.
    name = part.media_type.partition("/")[0] if part.kind == "binary" else part.kind.removesuffix("-url")
    return f"[{name}]"
