"""The protocols that chat models speak, each between its own bodies and messages in OpenAI's chat form.

https://platform.openai.com/docs/api-reference/chat-streaming, https://platform.openai.com/docs/api-reference/responses-streaming,
https://docs.anthropic.com/en/docs/build-with-claude/streaming, https://ai.google.dev/api/generate-content
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

Message = dict[str, Any]
Body = dict[str, Any]

_NUMBERS = itertools.count(1)  # clients take two messages of one id for parts of one
USED = "used tokens"  # in a body that was read: how many tokens its answer reports; 10 without it
PIECE = 5  # characters of text or arguments in one event, so that words and JSON are torn


@dataclass(frozen=True, slots=True)
class Wire:
    """One protocol.

    Attributes:
        read: Returns the messages and the names of the tools of a request.
        write: Returns the answer to a request that asks for no stream: the model's message is its content or its calls.
        stream: Yields the events of the stream instead, each with its type.
        end: What the stream ends with.
    """

    read: Callable[[Body], tuple[list[Message], list[str]]]
    write: Callable[[Body, Message], Body]
    stream: Callable[[Body, Message], Iterator[Body]]
    end: bytes = b""


def read_text(content: Any) -> str:
    """The text of a content, which may be a list of parts."""
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content or ())


def _tear(text: str) -> list[str]:
    return [text[start : start + PIECE] for start in range(0, len(text), PIECE)]


# Chat completions.


def _read_chat(body: Body) -> tuple[list[Message], list[str]]:
    return body["messages"], [tool["function"]["name"] for tool in body.get("tools", [])]


def _write_chat(body: Body, message: Message) -> Body:
    calls = [
        {"id": call["id"], "type": "function", "function": {"name": call["name"], "arguments": call["arguments"]}}
        for call in message.get("tool_calls", [])
    ]
    said = {"role": "assistant", "content": message.get("content")} | ({"tool_calls": calls} if calls else {})
    choice = {"index": 0, "message": said, "finish_reason": "tool_calls" if calls else "stop"}
    return _chunk(body, choice) | {"object": "chat.completion", "created": 0, "usage": _count(body)}


def _stream_chat(body: Body, message: Message) -> Iterator[Body]:
    for delta in ({"role": "assistant", "content": ""}, *_deltas(message)):
        yield _chunk(body, {"index": 0, "delta": delta, "finish_reason": None})
    ended = "tool_calls" if "tool_calls" in message else "stop"
    yield _chunk(body, {"index": 0, "delta": {}, "finish_reason": ended})
    if (body.get("stream_options") or {}).get("include_usage"):
        yield _chunk(body, None) | {"usage": _count(body)}


def _count(body: Body) -> Body:
    used = body.get(USED, 10)
    return {"prompt_tokens": used, "completion_tokens": 10, "total_tokens": used + 10}


def _chunk(body: Body, choice: Body | None) -> Body:
    choices = [] if choice is None else [choice]
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 0,
        "model": body["model"],
        "choices": choices,
    }


def _deltas(message: Message) -> Iterator[Body]:
    """The message in pieces: the name and id of a call come first, its arguments torn."""
    for piece in _tear(message.get("content", "")):
        yield {"content": piece}
    for index, call in enumerate(message.get("tool_calls", [])):
        opening = {"name": call["name"], "arguments": ""}
        yield {"tool_calls": [{"index": index, "id": call["id"], "type": "function", "function": opening}]}
        for piece in _tear(call["arguments"]):
            yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}


# Responses.


def _read_responses(body: Body) -> tuple[list[Message], list[str]]:
    messages = [{"role": "system", "content": body.get("instructions") or ""}]
    given = body["input"]
    for item in [{"role": "user", "content": given}] if isinstance(given, str) else given:
        kind = item.get("type", "message")
        if kind == "message":
            messages.append({"role": item["role"], "content": read_text(item["content"])})
        elif kind == "function_call":
            messages.append({"role": "assistant", "content": None})
        elif kind == "function_call_output":
            messages.append({"role": "tool", "content": read_text(item["output"])})
    names = []
    for tool in body.get("tools", []):  # tools of an MCP server may come as one namespace
        inner = tool.get("tools", []) if tool.get("type") == "namespace" else [tool]
        names += [f"{tool['name']}/{each['name']}" if each is not tool else each.get("name", "") for each in inner]
    return messages, names


def _list_items(message: Message) -> list[Body]:
    if calls := message.get("tool_calls"):
        items = []
        for call in calls:
            namespace, _, name = call["name"].rpartition("/")
            item = {"type": "function_call", "id": f"fc_{call['id']}", "call_id": call["id"], "name": name}
            item |= {"arguments": call["arguments"], "status": "completed"} | (
                {"namespace": namespace} if namespace else {}
            )
            items.append(item)
        return items
    text = {"type": "output_text", "text": message["content"], "annotations": []}
    return [
        {
            "type": "message",
            "id": f"msg_{next(_NUMBERS)}",
            "role": "assistant",
            "status": "completed",
            "content": [text],
        }
    ]


def _write_responses(body: Body, message: Message) -> Body:
    used = body.get(USED, 10)
    usage: Body = {"input_tokens": used, "output_tokens": 10, "total_tokens": used + 10}
    usage |= {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
    output = _list_items(message)
    fixed = {
        "id": f"resp_{next(_NUMBERS)}",
        "object": "response",
        "created_at": 0,
        "status": "completed",
        "model": body["model"],
    }
    asked = {"tools": [], "tool_choice": "auto", "parallel_tool_calls": False}
    return fixed | asked | {"output": output, "usage": usage}


def _stream_responses(body: Body, message: Message) -> Iterator[Body]:
    whole = _write_responses(body, message)
    yield {"type": "response.created", "response": whole | {"status": "in_progress", "output": [], "usage": None}}
    for number, item in enumerate(whole["output"]):
        place = {"output_index": number}
        yield {"type": "response.output_item.added", **place, "item": item}
        if item["type"] == "message":
            for piece in _tear(item["content"][0]["text"]):
                yield {
                    "type": "response.output_text.delta",
                    **place,
                    "item_id": item["id"],
                    "content_index": 0,
                    "delta": piece,
                }
        yield {"type": "response.output_item.done", **place, "item": item}
    yield {"type": "response.completed", "response": whole}


# Anthropic's messages.


def _read_anthropic(body: Body) -> tuple[list[Message], list[str]]:
    messages = [{"role": "system", "content": read_text(body.get("system") or "")}]
    for message in body["messages"]:
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        for block in blocks:
            if block["type"] == "tool_result":
                messages.append({"role": "tool", "content": read_text(block.get("content"))})
            elif block["type"] == "text":
                messages.append({"role": message["role"], "content": block["text"]})
    return messages, [tool["name"] for tool in body.get("tools", [])]


def _list_blocks(message: Message) -> list[Body]:
    if calls := message.get("tool_calls"):
        return [
            {
                "type": "tool_use",
                "id": f"toolu_{call['id']}",
                "name": call["name"],
                "input": json.loads(call["arguments"]),
            }
            for call in calls
        ]
    return [{"type": "text", "text": message["content"]}]


def _write_anthropic(body: Body, message: Message) -> Body:
    ended = "tool_use" if "tool_calls" in message else "end_turn"
    fixed = {
        "id": f"msg_{next(_NUMBERS)}",
        "type": "message",
        "role": "assistant",
        "model": body["model"],
        "stop_sequence": None,
    }
    usage = {"input_tokens": 10, "output_tokens": 10}
    return fixed | {"content": _list_blocks(message), "stop_reason": ended, "usage": usage}


def _stream_anthropic(body: Body, message: Message) -> Iterator[Body]:
    whole = _write_anthropic(body, message)
    yield {"type": "message_start", "message": whole | {"content": [], "stop_reason": None}}
    for index, block in enumerate(whole["content"]):
        if block["type"] == "text":
            empty, kind, key, text = block | {"text": ""}, "text_delta", "text", block["text"]
        else:
            empty, kind, key, text = (
                block | {"input": {}},
                "input_json_delta",
                "partial_json",
                json.dumps(block["input"]),
            )
        yield {"type": "content_block_start", "index": index, "content_block": empty}
        for piece in _tear(text):
            yield {"type": "content_block_delta", "index": index, "delta": {"type": kind, key: piece}}
        yield {"type": "content_block_stop", "index": index}
    ended = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": ended, "usage": whole["usage"]}
    yield {"type": "message_stop"}


# Gemini's own.


def _read_gemini(body: Body) -> tuple[list[Message], list[str]]:
    messages = [{"role": "system", "content": read_text((body.get("systemInstruction") or {}).get("parts"))}]
    for content in body["contents"]:
        for part in content["parts"]:
            if "functionResponse" in part:
                messages.append({"role": "tool", "content": str(part["functionResponse"]["response"].get("output"))})
            elif "text" in part:
                messages.append({"role": "user" if content["role"] == "user" else "assistant", "content": part["text"]})
    return messages, [each["name"] for tool in body.get("tools", []) for each in tool.get("functionDeclarations", [])]


def _write_gemini(body: Body, message: Message) -> Body:
    calls = [
        {"functionCall": {"id": call["id"], "name": call["name"], "args": json.loads(call["arguments"])}}
        for call in message.get("tool_calls", [])
    ]
    content = {"role": "model", "parts": calls or [{"text": message["content"]}]}
    used = body.get(USED, 10)
    usage = {"promptTokenCount": used, "candidatesTokenCount": 10, "totalTokenCount": used + 10}
    return {"candidates": [{"index": 0, "content": content, "finishReason": "STOP"}], "usageMetadata": usage}


def _stream_gemini(body: Body, message: Message) -> Iterator[Body]:
    yield _write_gemini(body, message)


STREAMS = "streamGenerateContent"  # Gemini asks for a stream by its path
_GEMINI = Wire(_read_gemini, _write_gemini, _stream_gemini)
# By the end of the path; Gemini names the model in what stands before it.
WIRES = {
    "generateContent": _GEMINI,
    STREAMS: _GEMINI,
    "/v1/chat/completions": Wire(_read_chat, _write_chat, _stream_chat, b"data: [DONE]\n\n"),
    "/v1/responses": Wire(_read_responses, _write_responses, _stream_responses),
    "/v1/messages": Wire(_read_anthropic, _write_anthropic, _stream_anthropic),
}
