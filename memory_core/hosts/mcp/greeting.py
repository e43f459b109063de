"""The first answers of the MCP server over standard input and output, made without the package mcp.

Importing that package takes one to four seconds, and some clients begin their first turn without the tools of a server that
has not answered by then. So the first messages of a session are answered here, word for word as the server would, and the
server hears afterwards what it has to know. What is in any way unusual is left to the server.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from memory_core.__about__ import __version__
from memory_core.config.names import SLOT_ID
from memory_core.plugin.slot import MemorySlot
from memory_core.records import CallContext
from memory_core.sources.roots import MAKE_IT, find_workspace_problem

HANDSHAKE_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
STATELESS_VERSION = "2026-07-28"  # has no handshake: every request says who asks

MAX_BYTES = 16_384  # of all answers; the smallest pipe of Linux and macOS holds them even if the client reads none
MAX_LINE_CHARS = 64 * 1024

_PREFIX = "io.modelcontextprotocol/"
_VERSION, _INFO, _CAPABILITIES = f"{_PREFIX}protocolVersion", f"{_PREFIX}clientInfo", f"{_PREFIX}clientCapabilities"
_INFO_TEXTS = {"name", "version", "title", "description", "websiteUrl"}
_SWITCHES = {"applyDefaults", "listChanged"}  # the capabilities that are true or false; all others are objects


class Greeting:
    """The beginning of one session.

    Attributes:
        opening: The id of the request that opened the session and is answered; None before.
        heard: The lines that the server has to hear once it is there, first the opening.
    """

    def __init__(self, slot: MemorySlot, context: CallContext, *, instructions: str) -> None:
        self.opening: int | str | None = None
        self.heard: list[bytes] = []
        self._slot = slot
        self._context = context
        self._instructions = instructions
        self._stateless = False
        self._bytes = 0

    def answer(self, line: bytes | None) -> bytes | None:
        """Return the answer to a line, as a line; b"" if it needs none, None if the server has to answer.

        Args:
            line: One line; None for one that is too long.
        """
        message = _read(line)
        if line is None or message is None:
            return None
        if message.keys() == {"jsonrpc", "method"} and message["method"] == "notifications/initialized":
            if self.opening is None or self._stateless:
                return None
            if len(self.heard) == 1:  # a client that repeats it says nothing new
                self.heard.append(line)
            return b""
        number = message.get("id")
        result = self._answer(message) if _is_id(number) else None
        if result is None:
            return None
        document = {"jsonrpc": "2.0", "id": number, "result": result}
        answer = json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
        if self._bytes + len(answer) > MAX_BYTES:
            return None
        self._bytes += len(answer)
        if self.opening is None:
            self.opening = number
            self.heard.append(line)
        return answer

    def _answer(self, message: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the result of a request; None if the server has to answer."""
        return self._open(message) if self.opening is None else self._reply(message)

    def _open(self, message: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the result of the first request of a session."""
        params = message.get("params")
        if message["method"] == "server/discover" and _is_envelope(params):
            self._stateless = True
            told = {"supportedVersions": [STATELESS_VERSION], "capabilities": make_capabilities(stateless=True)}
            return _stamp(told | self._instruct())
        if message["method"] != "initialize" or not isinstance(params, dict):
            return None
        if params.keys() != {"protocolVersion", "capabilities", "clientInfo"}:
            return None
        version = params["protocolVersion"]
        if version not in HANDSHAKE_VERSIONS or not _is_client(params["clientInfo"], params["capabilities"]):
            return None
        told = {"protocolVersion": version, "capabilities": make_capabilities(stateless=False), "serverInfo": SERVER}
        return told | self._instruct()

    def _reply(self, message: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the result of a later request."""
        params = message.get("params")
        if not (_is_envelope(params) if self._stateless else params in (None, {})):
            return None
        if message["method"] == "tools/list":
            tools = {"tools": self._slot.tool_schemas(self._context, form="mcp")}
            return _stamp(tools) if self._stateless else tools
        return {} if message["method"] == "ping" and not self._stateless else None

    def _instruct(self) -> dict[str, Any]:
        return {"instructions": self._instructions} if self._instructions else {}


def instruct(slot: MemorySlot, context: CallContext) -> str:
    """Return what a client puts into the system prompt; "" while memory is off.

    The section on memory speaks of the workspace. The client's own may be another folder, so the path is told.
    """
    section, workspace = slot.prompt_section(context), slot.find_workspace(context)
    if not section or workspace is None:
        return section
    problem = find_workspace_problem(workspace)
    told = (
        f"The workspace of this memory is {workspace}."
        if problem is None
        else f"But {problem}; tell the user: {MAKE_IT}."
    )
    return f"{section}\n\n{told}"


SERVER = {"name": SLOT_ID, "version": __version__}


def make_capabilities(*, stateless: bool) -> dict[str, Any]:
    """Return what the server says that it can do.

    Args:
        stateless: To a client of `STATELESS_VERSION`, which asks in one way for all kinds of changes.
    """
    return {
        "prompts": {"listChanged": stateless},
        "resources": {"subscribe": True, "listChanged": True},
        "tools": {"listChanged": True},
    }


def _stamp(result: dict[str, Any]) -> dict[str, Any]:
    """Return a result as `STATELESS_VERSION` wants it."""
    return (
        {"cacheScope": "private", "resultType": "complete", "ttlMs": 0}
        | result
        | {"_meta": {f"{_PREFIX}serverInfo": SERVER}}
    )


def _read(line: bytes | None) -> dict[str, Any] | None:
    """Return the JSON-RPC message in a line; None if it is anything else or unusually long."""
    if line is None or len(line) > MAX_LINE_CHARS:
        return None
    try:
        document = json.loads(line.decode(), parse_constant=_refuse)
        json.dumps(document, ensure_ascii=False).encode()
    except (ValueError, RecursionError):  # no JSON, no UTF-8, or half a character
        return None
    if not isinstance(document, dict) or not document.keys() <= {"jsonrpc", "id", "method", "params"}:
        return None
    return document if document.get("jsonrpc") == "2.0" and isinstance(document.get("method"), str) else None


def _refuse(constant: str) -> None:
    raise ValueError(constant)


def _is_id(number: object) -> bool:
    if isinstance(number, str):
        return True
    return isinstance(number, int) and not isinstance(number, bool) and abs(number) < 2**53


def _is_envelope(params: object) -> bool:
    """Return True for params that say only, and plainly, who asks in `STATELESS_VERSION`."""
    if not isinstance(params, dict) or params.keys() != {"_meta"} or not isinstance(params["_meta"], dict):
        return False
    meta = params["_meta"]
    return meta.get(_VERSION) == STATELESS_VERSION and (
        (meta.keys() == {_VERSION, _CAPABILITIES} and _is_client(None, meta[_CAPABILITIES]))
        or (meta.keys() == {_VERSION, _CAPABILITIES, _INFO} and _is_client(meta[_INFO], meta[_CAPABILITIES]))
    )


def _is_client(info: object, capabilities: object) -> bool:
    """Return True if the server would certainly accept how a client describes itself."""
    if info is not None and not (
        isinstance(info, dict)
        and {"name", "version"} <= info.keys() <= _INFO_TEXTS
        and all(isinstance(text, str) for text in info.values())
    ):
        return False
    return isinstance(capabilities, dict) and all(
        isinstance(value, dict) and all(isinstance(each, dict) for each in value.values())
        if name in ("experimental", "extensions")
        else isinstance(value, dict) and _is_plain(value)
        for name, value in capabilities.items()
    )


def _is_plain(capability: Mapping[str, Any]) -> bool:
    return all(
        isinstance(value, bool) if name in _SWITCHES else isinstance(value, dict) and _is_plain(value)
        for name, value in capability.items()
    )
