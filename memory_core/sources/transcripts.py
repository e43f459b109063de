"""A line of a transcript, of whichever host: who says what in it. Pure, and little to import, since every hook reads some."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

from memory_core.text.messages import TEXT_PARTS, replace_surrogates, strip_reasoning

SHOWN = "sessions/"  # the prefix under which search shows a log
SUFFIX = ".jsonl"
SPEAKERS = {"user": "User", "assistant": "Assistant"}

# Types of entries in which hosts speak in the user's name, too, and where the message is in each.
_BY_HOST = {
    "user": "message",
    "assistant": "message",
    "response_item": "payload",
    "user.message": "data",
    "assistant.message": "data",
}
_NOT_SAID = ("isMeta", "isSidechain", "isCompactSummary", "agentId")  # marks of such entries
_HOST_BLOCK = (
    r"<(?P<tag>system-reminder|command-\w+|local-command-\w+|bash-(?:input|stdout|stderr)|task-notification|ide_\w+"
    r"|environment_context|user_instructions|INSTRUCTIONS|turn_aborted|hook_context|session_context|[\w-]+-hook"
    r"|(?!user)[a-z]+[-_](?:message|reminder|notification|context|output|feedback|instructions))\b[^<>]*>.*?(?:</(?P=tag)>|\Z)"
    r"|\A# AGENTS\.md instructions.*\Z|\A\[Request interrupted by user[^\]]*\]"
    r"|\A(?:\w+ hook feedback:|Another \w+ session sent a message:|@\S+\s+Contents of ).*\Z"
)


class Said(NamedTuple):
    """A message of user or assistant.

    Attributes:
        role: "user" or "assistant".
        text: Not empty; secrets are in it.
        at: The time, as ISO 8601; "" if nobody knows.
        name: The host's id of the message; "" if it has none.
    """

    role: str
    text: str
    at: str = ""
    name: str = ""


def parse_said(line: bytes) -> Said | None:
    """Parse a line of a transcript, of whichever host; None unless a user or an assistant says something in it.

    The forms are `{"role", "content"}`, plain, as `message` of an entry of the type "message" (Clawdbot), "user" or "assistant"
    (Claude Code), or as `payload` of one of the type "response_item" (Codex), and `{"content"}` as `data` of one of the type
    "user.message" or "assistant.message" (Copilot CLI). Of the latter three, what the host itself says in the user's name is left
    out, and so are sub-agents.
    """
    entry = parse_entry(line)
    role, text = parse_message(entry)
    if not text:
        return None
    at, name = entry.get("timestamp"), entry.get("uuid") or entry.get("id")
    if isinstance(at, (int, float)) and not isinstance(at, bool):
        try:
            at = datetime.fromtimestamp(at / 1000, UTC).isoformat()
        except (ValueError, OverflowError, OSError):
            at = ""
    return Said(role, text, at if isinstance(at, str) else "", name if isinstance(name, str) else "")


def parse_entry(line: bytes) -> dict[str, Any]:
    """Parse the object on a line; empty if there is none."""
    try:
        value = json.loads(line.decode(errors="replace").strip("\ufeff"))
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def parse_message(entry: Mapping[str, Any]) -> tuple[str, str]:
    """Return the role and the text of an entry; no text unless it is a message of user or assistant."""
    kind, inner = entry.get("type"), entry.get("message")
    place = _BY_HOST.get(kind) if isinstance(kind, str) else None
    message: Mapping[str, Any] = {}
    if place is not None:
        inner = entry.get(place)
        if isinstance(inner, dict) and not any(map(entry.get, _NOT_SAID)):
            message = inner
            if place == "data":  # with a source, a skill or another agent speaks
                message = {} if inner.get("source") else {**inner, "role": str(kind).partition(".")[0]}
    else:
        message = inner if kind == "message" and isinstance(inner, dict) else entry if kind in (None, "message") else {}
    role = message.get("role")
    if not isinstance(role, str) or role not in SPEAKERS:
        return "", ""
    text = _clean(_join_text(message.get("content")))
    if place is not None:
        return role, drop_asides(text) if role == "user" else text
    from memory_core.text.envelopes import is_by_host, strip_envelope  # which no host with hooks needs

    return role, "" if is_by_host(role, text) else strip_envelope(text)


def drop_asides(text: str) -> str:
    """Leave out what a host says itself in a message of the user, as what hooks have added."""
    return re.sub(_HOST_BLOCK, "", text, flags=re.DOTALL).strip()


def _join_text(content: object) -> str:
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    parts = (part.get("text") for part in content if isinstance(part, dict) and part.get("type") in TEXT_PARTS)
    return "\n".join(part for part in parts if isinstance(part, str))


def _clean(text: str) -> str:
    r"""Make every line end `\n`, and remove reasoning, NULs and lone surrogates, which no index can hold."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "")
    return replace_surrogates(strip_reasoning(text)).strip()
