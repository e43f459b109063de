"""NO_REPLY, the reply by which a model asks that nothing be shown; pure."""

from __future__ import annotations

import json
import re

SILENT_REPLY = "NO_REPLY"
MAX_CHARS = 100_000  # longer replies are never taken for silent

_INVISIBLE = re.compile("[\u200b-\u200d\u2060\ufeff]")
_REASONING = re.compile(r"\s*+<(think|thinking|thought|reasoning)>.*?</\1>\s*", re.DOTALL | re.IGNORECASE)
_DRESSING = r"[\s\"'`*_~.!“”‘’«»()\[\]<>]*"
_SILENT = re.compile(rf"\A(?:```\w*\n)?{_DRESSING}(?:NO\\?_REPLY{_DRESSING})+", re.IGNORECASE)


def is_silent_reply(text: str | None) -> bool:
    """Return True if a reply says NO_REPLY and nothing else, in any form that models give it.

    Ignored are case, quotes, emphasis, code marks, brackets, full stops, repetition, an escaped underscore, reasoning in
    tags before it, and `{"action": "NO_REPLY"}` around it. Other words are not ignored, nor is a question mark.
    """
    if not text or len(text) > MAX_CHARS:
        return False
    bare = strip_reasoning(_INVISIBLE.sub("", text)).strip()
    return _SILENT.fullmatch(bare) is not None or _is_envelope(bare)


def strip_reasoning(text: str) -> str:
    """Remove the reasoning in tags with which a reply begins, such as `<think>...</think>`."""
    at = 0
    while found := _REASONING.match(text, at):
        at = found.end()
    return text[at:]


def _is_envelope(text: str) -> bool:
    if not text.startswith("{"):
        return False
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return set(value) == {"action"} and str(value["action"]).strip().upper() == SILENT_REPLY
