"""Whether a reply says NO_REPLY, by which a model says that nothing is to be shown; pure."""

from __future__ import annotations

import json
import re

SILENT_REPLY = "NO_REPLY"
MAX_CHARS = 100_000  # longer replies are shown without a look

_INVISIBLE = re.compile("[\u200b-\u200d\u2060\ufeff]")
_REASONING = re.compile(r"\s*<(think|thinking|thought|reasoning)>.*?</\1>\s*", re.DOTALL | re.IGNORECASE)
_DRESSING = r"[\s\"'`*_~.!“”‘’«»()\[\]<>]*"
_SILENT = re.compile(rf"(?:```\w*\n)?{_DRESSING}(?:NO\\?_REPLY{_DRESSING})+", re.IGNORECASE)


def is_silent_reply(text: str | None) -> bool:
    """Whether a reply says NO_REPLY and nothing else, in the forms that models give it.

    Case, quotes, emphasis, code marks, brackets, full stops, repetition, an escaped underscore, reasoning in tags before
    it, and `{"action": "NO_REPLY"}` around it don't count as something else. Words do, and so does a question mark.
    """
    if not text or len(text) > MAX_CHARS:
        return False
    bare = _without_reasoning(_INVISIBLE.sub("", text)).strip()
    return _SILENT.fullmatch(bare) is not None or _is_envelope(bare)


def _without_reasoning(text: str) -> str:
    while found := _REASONING.match(text):
        text = text[found.end() :]
    return text


def _is_envelope(text: str) -> bool:
    if not text.startswith("{"):
        return False
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return set(value) == {"action"} and str(value["action"]).strip().upper() == SILENT_REPLY
