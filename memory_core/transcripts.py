"""Session logs -> text with a line map: what user and assistant said, without secrets; pure but for the local timezone.

A log is JSONL. Two shapes are read: `{"type": "message", "message": {"role", "content"}}` as Clawdbot writes it, and plain
`{"role", "content"}`. Content is a string or a list of parts, of which only text counts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from memory_core.markdown import Line, heading, opened_fence, scan
from memory_core.redaction import redact
from memory_core.silent_reply import SILENT_REPLY, is_silent_reply

SPEAKERS = {"user": "User", "assistant": "Assistant"}

_TEXT_PARTS = frozenset({"text", "input_text", "output_text"})
_THOUGHTS = re.compile(r"\s*<(think|thinking|thought|reasoning)>.*?</\1>", re.DOTALL | re.IGNORECASE)
# Both contracts by which hosts ask for a flush turn end so, whatever the rest of the prompt says.
_FLUSH = re.compile(rf"\breply\s+with\s+(?:exactly\s+)?\W{{0,2}}{SILENT_REPLY}\b", re.IGNORECASE)
_SAVING = re.compile(r"\bmemor(?:y|ies)\b|\bstore\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Transcript:
    """What was said in one session.

    Attributes:
        text: A paragraph or more for each message, `User: ` or `Assistant: ` before it and a blank line behind; "" when
            nothing was said.
        lines: For every line of the text, the line of the log that holds its message, from 1.
        date: The day of the first entry with a timestamp, as YYYY-MM-DD here; None when none has one.
    """

    text: str
    lines: tuple[int, ...]
    date: str | None = None


def read_transcript(log: Iterable[bytes]) -> Transcript:
    """Read a session log.

    Left out are other roles, tool payloads, thinking, images, replies that say NO_REPLY, flush turns with all that was
    said in them, and lines that are no JSON, such as a last one that is still being written. A message keeps its own
    lines, but for headings, which would name what others say after it: they become bold.

    Args:
        log: The lines of the file as they are, line ends included.
    """
    text: list[str] = []
    numbers: list[int] = []
    date: str | None = None
    flushing = False
    for number, line in enumerate(log, start=1):
        entry = _entry(line)
        date = date or _date(entry)
        role, said = _message(entry)
        if not said:
            continue
        if role == "user":
            flushing = _is_flush(said)
        if not flushing and not is_silent_reply(said):
            message = _rendered(SPEAKERS[role], redact(said))
            text += message
            numbers += [number] * len(message)
    return Transcript("\n".join(text), tuple(numbers), date)


def _entry(line: bytes) -> Mapping[str, Any]:
    """The object on a line; empty when there is none."""
    try:
        value = json.loads(line.decode(errors="replace").strip("\ufeff"))
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _message(entry: Mapping[str, Any]) -> tuple[str, str]:
    """The role and the text of an entry; no text when it is none of user's or assistant's."""
    kind, inner = entry.get("type"), entry.get("message")
    message = inner if kind == "message" and isinstance(inner, dict) else entry if kind in {None, "message"} else {}
    role = message.get("role")
    if not isinstance(role, str) or role not in SPEAKERS:
        return "", ""
    return role, _clean(_text(message.get("content")))


def _text(content: object) -> str:
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    parts = (part.get("text") for part in content if isinstance(part, dict) and part.get("type") in _TEXT_PARTS)
    return "\n".join(part for part in parts if isinstance(part, str))


def _clean(text: str) -> str:
    r"""The text with `\n` for every line end and without thoughts, NULs and lone surrogates, which no index can hold."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "")
    while thought := _THOUGHTS.match(text):
        text = text[thought.end() :]
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").strip()


def _is_flush(text: str) -> bool:
    """Whether a user's message is a host's request to save memories before compaction."""
    return _FLUSH.search(text) is not None and _SAVING.search(text) is not None


def _rendered(speaker: str, text: str) -> list[str]:
    """The lines of one message, a blank one last, so that no fence or heading reaches into the next."""
    lines = text.split("\n")
    kinds = scan(lines)
    lines = [_bold(line) if kind is Line.HEADING else line for line, kind in zip(lines, kinds, strict=True)]
    if kinds[0] in {Line.TEXT, Line.HEADING}:
        lines[0] = f"{speaker}: {lines[0]}"
    else:  # a list, a fence or a table keeps its first line to itself
        lines.insert(0, f"{speaker}:")
    if fence := _open_fence(lines):
        lines.append(fence)
    return [*lines, ""]


def _bold(line: str) -> str:
    found = heading(line)
    return f"**{found[1]}**" if found and found[1] else ""


def _open_fence(lines: list[str]) -> str:
    """The fence that is still open behind the last line; "" when none is."""
    fence = ""
    for line, kind in zip(lines, scan(lines), strict=True):
        if kind in {Line.OPEN, Line.CLOSE}:
            fence = opened_fence(line) if kind is Line.OPEN else ""
    return fence


def _date(entry: Mapping[str, Any]) -> str | None:
    """The day of an entry's timestamp, ISO or Unix milliseconds, on this machine."""
    stamp = entry.get("timestamp")
    try:
        if isinstance(stamp, str):
            return datetime.fromisoformat(stamp).astimezone().date().isoformat()
        if isinstance(stamp, (int, float)) and not isinstance(stamp, bool):
            return datetime.fromtimestamp(stamp / 1000).astimezone().date().isoformat()
    except (ValueError, OverflowError, OSError):
        return None
    return None
