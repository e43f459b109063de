"""Messages of Strands Agents (`strands.types.content`), which are those of Bedrock's Converse API.

https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Message.html
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from memory_core.completions import Message
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

    def write_result(number: str, _: str, text: str) -> Any:
        content = [{"text": text}] if text else []
        return {"toolResult": {"toolUseId": number, "status": "success", "content": content}}

    def write_call(number: str, name: str, arguments: dict[str, Any]) -> Any:
        return {"toolUse": {"toolUseId": number, "name": name, "input": arguments}}

    system, others = chat.split_system(messages)
    grouped = chat.group_parts(others, lambda text: {"text": text}, write_result, write_call)
    return system, [{"role": "assistant" if said else "user", "content": parts} for said, parts in grouped]


def _read_block(block: Mapping[str, Any]) -> str:
    """Return the text of a block; "" for a call, its result, reasoning, and marks of caches."""
    if "text" in block:
        return str(block["text"])
    if "json" in block:
        return chat.write_json(block["json"])
    return next((f"[{kind}]" for kind in _MEDIA if kind in block), "")
