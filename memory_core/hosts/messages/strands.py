"""Messages of Strands Agents (`strands.types.content`), which are those of Bedrock's Converse API.

https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Message.html
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from memory_core.completions import Message, join_text
from memory_core.hosts.messages import chat

if TYPE_CHECKING:
    from strands.types.content import Message as StrandsMessage

_MEDIA = ("image", "document", "video", "audio")


def to_openai(messages: Iterable[StrandsMessage]) -> list[Message]:
    """Return chat messages for those of Strands; the system prompt is not among them."""
    converted: list[Message] = []
    for message in messages:
        blocks: list[Mapping[str, Any]] = [dict(block) for block in message["content"]]
        text = "\n\n".join(filter(None, map(_read_block, blocks)))
        uses = [block["toolUse"] for block in blocks if "toolUse" in block]
        if message["role"] == "assistant":
            calls = [chat.write_call(use["toolUseId"], use["name"], use["input"]) for use in uses]
            converted.append(chat.write_assistant(text, calls))
            continue
        for result in (block["toolResult"] for block in blocks if "toolResult" in block):
            said = "\n\n".join(filter(None, map(_read_block, result["content"])))
            converted.append(chat.write_result(result["toolUseId"], said))
        converted.append({"role": "user", "content": text})
    return chat.pair_calls(converted)


def from_openai(messages: Iterable[Message]) -> tuple[str, list[StrandsMessage]]:
    """Return the system prompt and the messages of Strands for chat messages.

    Neighbours of one role are one message, since Bedrock wants the roles to alternate.
    """
    system, others = chat.split_system(messages)
    converted: list[StrandsMessage] = []
    for message in others:
        text = join_text(message)
        blocks: list[Any] = []
        if message["role"] == "tool":
            content = [{"text": text}] if text else []
            result = {"toolUseId": message["tool_call_id"], "status": "success", "content": content}
            blocks.append({"toolResult": result})
        elif text:
            blocks.append({"text": text})
        for number, name, arguments in chat.list_calls(message):
            blocks.append({"toolUse": {"toolUseId": number, "name": name, "input": arguments}})
        if converted and converted[-1]["role"] == ("assistant" if message["role"] == "assistant" else "user"):
            converted[-1]["content"] += blocks
        elif blocks:
            converted.append({"role": "assistant" if message["role"] == "assistant" else "user", "content": blocks})
    return system, converted


def _read_block(block: Mapping[str, Any]) -> str:
    """Return the text of a block; "" for a call, its result, reasoning, and marks of caches."""
    if "text" in block:
        return str(block["text"])
    if "json" in block:
        return chat.write_json(block["json"])
    return next((f"[{kind}]" for kind in _MEDIA if kind in block), "")
