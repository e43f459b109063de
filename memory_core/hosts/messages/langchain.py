"""LangChain's messages (`langchain_core.messages`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from memory_core.completions import Message, join_text
from memory_core.hosts.messages import chat

if TYPE_CHECKING:
    from langchain_core.messages import AnyMessage, BaseMessage

_ROLES = {"human": "user", "system": "system"}
_CHAT_ROLES = {"assistant": "assistant", "model": "assistant", "system": "system"}
_TEXT = {"text", "input_text", "output_text"}
# Kinds of content that are told elsewhere in the message, or to nobody.
_SILENT = {"tool_use", "tool_call", "function_call", "reasoning", "thinking", "redacted_thinking", "non_standard"}


def to_openai(messages: Iterable[BaseMessage]) -> list[Message]:
    """Return chat messages for LangChain's; removals and functions of the time before tools are left out."""
    return chat.pair_calls(filter(None, map(_convert, messages)))


def read_answer(message: BaseMessage) -> Message:
    """Return the chat message for a model's answer, with calls that have no answer yet."""
    return chat.write_assistant(_join(message.content), _list_calls(message))


def from_openai(messages: Iterable[Message]) -> list[AnyMessage]:
    """Return LangChain's messages for chat messages."""
    from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage

    converted: list[AnyMessage] = []
    for message in messages:
        text = join_text(message)
        if message["role"] == "assistant":
            calls = [{"id": number, "name": name, "args": args} for number, name, args in chat.list_calls(message)]
            converted.append(AIMessage(content=text, tool_calls=calls))
        elif message["role"] == "tool":
            converted.append(ToolMessage(content=text, tool_call_id=message["tool_call_id"]))
        elif message["role"] in {"system", "developer"}:
            converted.append(SystemMessage(content=text))
        else:
            converted.append(HumanMessage(content=text))
    return converted


def _convert(message: BaseMessage) -> Message | None:
    kind = message.type.removesuffix("MessageChunk").lower()  # a chunk is named for its class
    text = _join(message.content)
    if kind == "ai":
        return chat.write_assistant(text, _list_calls(message))
    if kind == "tool":
        return chat.write_result(getattr(message, "tool_call_id", ""), text)
    if kind == "chat":
        return {"role": _CHAT_ROLES.get(str(getattr(message, "role", "")), "user"), "content": text}
    return {"role": _ROLES[kind], "content": text} if kind in _ROLES else None


def _list_calls(message: BaseMessage) -> list[dict[str, Any]]:
    return [chat.write_call(call["id"], call["name"], call["args"]) for call in getattr(message, "tool_calls", ())]


def _join(content: str | list[str | dict[str, Any]]) -> str:
    if isinstance(content, str):
        return content
    return "".join(part if isinstance(part, str) else _read_part(part) for part in content)


def _read_part(part: Mapping[str, Any]) -> str:
    kind = str(part.get("type", ""))
    if kind in _TEXT:
        return str(part.get("text", ""))
    return "" if kind in _SILENT else f"[{kind.removesuffix('_url') or 'file'}]"
