"""Session logs -> what user and assistant said, without secrets; pure but for the local timezone.

A log is JSONL. Entries have one of two shapes: `{"type": "message", "message": {"role", "content"}}`, as Clawdbot writes
it, or plain `{"role", "content"}`. Content is a string or a list of parts, of which only text counts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from memory_core.sources.redaction import redact
from memory_core.text.markdown import Line, close_fence, parse_heading, scan
from memory_core.text.silent_reply import SILENT_REPLY, is_silent_reply, strip_reasoning
from memory_core.text.surrogates import replace_surrogates

SPEAKERS = {"user": "User", "assistant": "Assistant"}

_TEXT_PARTS = frozenset({"text", "input_text", "output_text"})
# Hosts ask for a flush turn under two contracts; the prompts of both end like this, whatever stands before.
_FLUSH = re.compile(rf"\breply\s+with\s+(?:exactly\s+)?\W{{0,2}}{SILENT_REPLY}\b", re.IGNORECASE)
_SAVING = re.compile(r"\bmemor(?:y|ies)\b|\bstore\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Conversation:
    """The messages of user and assistant in one session.

    Attributes:
        text: One or more paragraphs for each message, with `User: ` or `Assistant: ` before it and a blank line behind it;
            "" if nothing was said.
        lines: For each line of the text, the line of the log that holds its message, from 1.
        date: The local day of the first entry with a timestamp, as YYYY-MM-DD; None if no entry has one.
    """

    text: str
    lines: tuple[int, ...]
    date: str | None = None


def read_transcript(log: Iterable[bytes]) -> Conversation:
    """Read a session log.

    Left out are other roles, tool payloads, thinking, images, NO_REPLY, flush turns with all replies in them, and lines
    that are no JSON, such as a last line that is still being written. A message keeps its own lines; headings become
    bold, since they would also cover the messages after it.

    Args:
        log: The lines of the file, line ends included.
    """
    text: list[str] = []
    numbers: list[int] = []
    date: str | None = None
    flushing = False
    for number, line in enumerate(log, start=1):
        entry = _parse_entry(line)
        date = date or _parse_day(entry)
        role, said = _parse_message(entry)
        if not said:
            continue
        if role == "user":
            flushing = _is_flush(said)
        if not flushing and not is_silent_reply(said):
            message = _render(SPEAKERS[role], redact(said))
            text += message
            numbers += [number] * len(message)
    return Conversation("\n".join(text), tuple(numbers), date)


def _parse_entry(line: bytes) -> Mapping[str, Any]:
    """Parse the object on a line; empty if there is none."""
    try:
        value = json.loads(line.decode(errors="replace").strip("\ufeff"))
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _parse_message(entry: Mapping[str, Any]) -> tuple[str, str]:
    """Return the role and the text of an entry; no text unless it is a message of user or assistant."""
    kind, inner = entry.get("type"), entry.get("message")
    message = inner if kind == "message" and isinstance(inner, dict) else entry if kind in {None, "message"} else {}
    role = message.get("role")
    if not isinstance(role, str) or role not in SPEAKERS:
        return "", ""
    return role, _clean(_join_text(message.get("content")))


def _join_text(content: object) -> str:
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    parts = (part.get("text") for part in content if isinstance(part, dict) and part.get("type") in _TEXT_PARTS)
    return "\n".join(part for part in parts if isinstance(part, str))


def _clean(text: str) -> str:
    r"""Make every line end `\n`, and remove reasoning, NULs and lone surrogates, which no index can hold."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "")
    return replace_surrogates(strip_reasoning(text)).strip()


def _is_flush(text: str) -> bool:
    """Return True if a user's message is the host's request to save memories before compaction."""
    return _FLUSH.search(text) is not None and _SAVING.search(text) is not None


def _render(speaker: str, text: str) -> list[str]:
    """Render one message as lines, the last one blank, so that no fence or heading reaches into the next message."""
    lines = text.split("\n")
    kinds = scan(lines)
    lines = [_embolden(line) if kind is Line.HEADING else line for line, kind in zip(lines, kinds, strict=True)]
    if kinds[0] in {Line.TEXT, Line.HEADING}:
        lines[0] = f"{speaker}: {lines[0]}"
    else:  # a list, a fence or a table keeps its first line to itself
        lines.insert(0, f"{speaker}:")
    close_fence(lines)
    return [*lines, ""]


def _embolden(line: str) -> str:
    found = parse_heading(line)
    return f"**{found[1]}**" if found and found[1] else ""


def _parse_day(entry: Mapping[str, Any]) -> str | None:
    """Parse the timestamp of an entry, ISO or Unix milliseconds; returns the local day."""
    stamp = entry.get("timestamp")
    try:
        if isinstance(stamp, str):
            return datetime.fromisoformat(stamp).astimezone().date().isoformat()
        if isinstance(stamp, (int, float)) and not isinstance(stamp, bool):
            return datetime.fromtimestamp(stamp / 1000).astimezone().date().isoformat()
    except (ValueError, OverflowError, OSError):
        return None
    return None
