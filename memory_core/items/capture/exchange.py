"""An exchange as capture reads it: the user's own words, the assistant's as context, and what neither of them said. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from memory_core.completions import join_text
from memory_core.errors import InvalidArgument
from memory_core.sources.redaction import redact
from memory_core.text.messages import replace_surrogates, strip_reasoning
from memory_core.text.tokens import estimate_tokens

READ_CHARS = 20_000  # of one message; what follows is a paste
MILLISECONDS = 1e11  # times above are no seconds: they would lie in the year 5138

_ROLES = frozenset({"user", "assistant", "tool", "function", "system", "developer"})
# Blocks that hosts put into a user's message: their tags name memory, context or the system.
_TAGGED = re.compile(
    r"<(?P<tag>[\w-]{0,40}(?:memor|recall|context|system|reminder|instruction|document|attachment|tool)[\w-]{0,40})\b[^>]*>"
    r".*?(?:</(?P=tag)\s*>|\Z)",
    re.DOTALL | re.IGNORECASE,
)
# The first lines of our own frames, as `tools.prompts` makes them.
_FRAME = re.compile(
    r"^\W*(?:Recalled from memory|Notes from memory follow|Standing preferences of the user, from memory)\b.*$"
)
_QUOTE = re.compile(r"^\s*>")
_PLACE = re.compile(r"^\s*\S[^.?!]*:\s*$")  # the line above a quote that says where it stands


Speaker = Literal["user", "assistant"]


@dataclass(frozen=True, slots=True)
class Turn:
    """One message.

    Attributes:
        speaker: Who says it.
        text: The own words of the speaker, without secrets, quotes, and what a host has put into the message.
        said_at: Unix seconds; None if the message has no time.
        new: Facts are looked for in it; else it is context.
        has_secret: A secret was taken out of the text.
    """

    speaker: Speaker
    text: str
    said_at: float | None
    new: bool
    has_secret: bool = False


@dataclass(frozen=True, slots=True)
class Exchange:
    """The words of user and assistant, and what neither of them said.

    Attributes:
        turns: In order, the last ones that fit.
        tool_texts: Outputs of tools, which are nobody's words.
        recalled_texts: Text that a host has put into messages from memory.
        dropped: Earlier messages that did not fit.
    """

    turns: tuple[Turn, ...]
    tool_texts: tuple[str, ...] = ()
    recalled_texts: tuple[str, ...] = ()
    dropped: int = 0


@dataclass(slots=True)
class _Parts:
    turns: list[Turn] = field(default_factory=list)
    tool_texts: list[str] = field(default_factory=list)
    recalled_texts: list[str] = field(default_factory=list)


def read_exchange(messages: Sequence[Mapping[str, Any]], *, first: int = 0, max_tokens: int) -> Exchange:
    """Read messages in OpenAI's form.

    Args:
        messages: Each has `role` and `content`, a string or a list of parts; and may have `time` or `timestamp` (ISO 8601, or
            Unix seconds or milliseconds) and a true `recalled`, which says that its text comes from memory.
        first: The index of the first message in which facts are looked for.
        max_tokens: The most tokens of all turns together; the last messages are kept.

    Raises:
        InvalidArgument: A message is no object, or has no known role.
    """
    reading = _Parts()
    for number, message in enumerate(messages):
        _read_message(reading, number, message, new=number >= first)
    turns: list[Turn] = []
    left = max_tokens
    for turn in reversed(reading.turns):
        left -= estimate_tokens(turn.text)
        if left < 0:
            break
        turns.append(turn)
    return Exchange(
        tuple(reversed(turns)), tuple(reading.tool_texts), tuple(reading.recalled_texts), len(reading.turns) - len(turns)
    )  # fmt: skip


def _read_message(parts: _Parts, number: int, message: object, *, new: bool) -> None:
    role = message.get("role") if isinstance(message, Mapping) else None
    if not isinstance(message, Mapping) or role not in _ROLES:
        raise InvalidArgument(f"conversation[{number}]", "expected a message: {'role': 'user', 'content': ...}")
    text = replace_surrogates(join_text(message))[:READ_CHARS]
    if message.get("recalled"):
        parts.recalled_texts.append(text)
    elif role in {"tool", "function"}:
        parts.tool_texts.append(text)
    elif role in {"user", "assistant"}:
        own, recalled = _split_injected(text) if role == "user" else (strip_reasoning(text).strip(), [])
        parts.recalled_texts += recalled
        if own:
            safe = redact(own)
            speaker: Speaker = "user" if role == "user" else "assistant"
            parts.turns.append(Turn(speaker, safe, _read_time(message), new, has_secret=safe != own))


def _split_injected(text: str) -> tuple[str, list[str]]:
    """Return the user's own words, and the blocks that a host has put around them."""
    blocks = [found[0] for found in _TAGGED.finditer(text)]
    kept: list[str] = []
    framed: list[str] = []
    in_frame = False
    for line in _TAGGED.sub("\n", text).split("\n"):
        if _FRAME.match(line):
            in_frame = True
        elif _QUOTE.match(line):
            if kept and _PLACE.match(kept[-1]):
                framed.append(kept.pop())
            framed.append(line)
            continue
        elif in_frame and _PLACE.match(line):
            framed.append(line)
            continue
        else:
            in_frame = False
            kept.append(line)
            continue
        framed.append(line)
    return "\n".join(kept).strip(), [*blocks, *(["\n".join(framed)] if framed else [])]


def _read_time(message: Mapping[str, Any]) -> float | None:
    """Return when a message was said as Unix seconds; None if it does not tell, or tells nonsense."""
    stamp = message.get("time", message.get("timestamp"))
    if isinstance(stamp, str):
        try:
            return datetime.fromisoformat(stamp).timestamp()
        except (ValueError, OverflowError, OSError):
            return None
    if isinstance(stamp, (int, float)) and not isinstance(stamp, bool) and 0 < stamp < 1e14:
        return stamp / 1000 if stamp > MILLISECONDS else float(stamp)
    return None
