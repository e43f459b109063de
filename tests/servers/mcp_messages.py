"""Messages to an MCP server as no client should send them: from nearly right to noise, the same for the same dice."""

from __future__ import annotations

import json
import random
from typing import Any

VALUES: tuple[Any, ...] = (
    None, True, False, -1, 0, 1, 1.5, 10**40, "", "x", "\0", "2", [], {}, [[]], {"a": {}}, "é" * 500, "../x", {"_meta": 5},
    "memory:///MEMORY.md", "memory:///../x", "memory:///%00%ff", "file:///etc/passwd", "2025-06-18", ["memory:///MEMORY.md"],
    "half \ud83d", "\udc00", "a\u2028b\x85",
)  # fmt: skip
KEYS = (
    "query", "path", "text", "from", "lines", "maxResults", "requestId", "progressToken", "_meta", "name", "uri", "cursor",
    "arguments", "protocolVersion", "capabilities", "clientInfo", "notifications", "resourceSubscriptions", "message", "level",
)  # fmt: skip
METHODS = (
    "initialize", "ping", "tools/list", "tools/call", "notifications/cancelled", "notifications/progress",
    "notifications/initialized", "logging/setLevel", "completion/complete", "resources/read", "resources/list",
    "resources/templates/list", "resources/subscribe", "resources/unsubscribe", "prompts/list", "prompts/get",
    "server/discover", "subscriptions/listen", "roots/list", "sampling/createMessage", "x", "",
)  # fmt: skip
TOOLS = ("memory_search", "memory_get", "memory_append", "flush", "recall", 5, None, "x")
OPENING = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
}


def make_message(dice: random.Random, number: int) -> bytes:
    """Return one message, without line ends.

    Args:
        dice: Decide all.
        number: Makes its id its own, if it has a sensible one.
    """
    if dice.random() < 0.05:
        return dice.randbytes(dice.randrange(1, 200)).replace(b"\n", b" ").replace(b"\r", b" ")
    inner = {dice.choice(KEYS): dice.choice(VALUES) for _ in range(dice.randrange(4))}
    if dice.random() < 0.2:
        inner["_meta"] = _spoil(dice, dict(ENVELOPE))
    named = {"name": dice.choice(TOOLS), "arguments": inner}
    params = dice.choice([inner, inner, named, named, _spoil(dice, dict(OPENING)), dice.choice(VALUES)])
    message: dict[str, Any] = {"jsonrpc": "2.0", "method": dice.choice(METHODS), "params": params}
    if dice.random() < 0.7:
        message["id"] = dice.choice([f"r{number}", 1000 + number])
    if dice.random() < 0.1:
        message |= dice.choice([{"result": inner}, {"error": inner}, {"error": {"code": 1, "message": "x"}}])
    _spoil(dice, message)
    line = bytearray(json.dumps(message if dice.random() < 0.95 else [message, message]).encode())
    if dice.random() < 0.3:
        for _ in range(dice.randrange(1, 6)):
            line[dice.randrange(len(line))] = dice.choice(b'{}[]",:\\0aN\xff\0')
    if dice.random() < 0.05:
        del line[dice.randrange(len(line)) :]
    mark = b"\xef\xbb\xbf" if dice.random() < 0.05 else b""
    return mark + bytes(line).replace(b"\n", b" ").replace(b"\r", b" ") or b" x"


def _spoil(dice: random.Random, document: dict[str, Any]) -> dict[str, Any]:
    """Put another value in a few places, or take them out."""
    for key in list(document):
        fate = dice.random()
        if fate < 0.05:
            document[key] = dice.choice(VALUES)
        elif fate < 0.08:
            del document[key]
    return document
