"""Text that goes to a model or comes from one: quoted safely, in whole characters, and NO_REPLY told from an answer. Pure."""

from __future__ import annotations

import json
import re
from functools import partial

from memory_core.text.tables import join_lines
from memory_core.text.tokens import compile_once

TEXT_PARTS = ("text", "input_text", "output_text")  # of a message, by their type; a document or a file is none
# Line breaks of other systems, which split a line in some readers and not in others.
_breaks = partial(compile_once, "\r\n?|[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
# Controls, also those that begin an escape sequence; what turns the direction of text around; tags, which no screen shows.
_controls = partial(
    compile_once,
    "[\x00-\x08\x0e-\x1b\x1f\x7f-\x84\x86-\x9f\u202a-\u202e\u2066-\u2069\ufff9-\ufffb\U000e0000-\U000e007f]",
)
_invisible = partial(compile_once, "[\u00ad\u200b\u2060-\u2064\ufeff]")
_JOINERS = "[\u200c\u200d]*"  # stay, since some scripts need them, but hide no word
# `Source: path#L3`, under whatever marks; letters of other widths count.
_citation = partial(
    compile_once,
    r"(?im)^(?P<before>[^\w\n]*+)"
    rf"(?:{_JOINERS.join(f'[{letter.upper()}{letter}{chr(ord(letter) + 0xFEE0)}]' for letter in 'source')})"
    r"(?P<colon>[*_`]*[ \t]*[:\uff1a])(?=[^\n]*[#\uff03]\s?L?\d)",
)


def quote_safely(text: str) -> str:
    """Return a text of a note as it may be shown to a model or on a terminal.

    Control characters and marks that turn the direction of text become U+FFFD, other line breaks become spaces, invisible
    characters go. A line that reads like a citation, `Source: a.md#L3`, reads `quoted: a.md#L3`: under a snippet only ours
    stands. The text gets no longer; line ends and tabs stay.
    """
    plain = text.replace("\n", "").replace("…", "")
    if plain.isascii() and plain.isprintable() and "source" not in plain.lower():
        return text
    clean = _invisible().sub("", _controls().sub("\N{REPLACEMENT CHARACTER}", _breaks().sub(" ", text)))
    return _citation().sub(r"\g<before>quoted\g<colon>", clean)


def replace_surrogates(text: str) -> str:
    """Return a text in which every lone surrogate is U+FFFD, and two that belong together are their character.

    No store, no tokenizer, no endpoint and no protocol takes them. Of a text without any, nothing is copied.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


SILENT_REPLY = "NO_REPLY"
MAX_CHARS = 100_000  # longer replies are never taken for silent

_unseen = partial(compile_once, "[\u200b-\u200d\u2060\ufeff]")
_REASONING = re.compile(r"\s*+<(think|thinking|thought|reasoning)>.*?</\1>\s*", re.DOTALL | re.IGNORECASE)
_DRESSING = r"[\s\"'`*_~.!“”‘’«»()\[\]<>]*"
_silent = partial(compile_once, rf"(?i)\A(?:```\w*\n)?{_DRESSING}(?:NO\\?_REPLY{_DRESSING})+")


def is_silent_reply(text: str | None) -> bool:
    """Return True if a reply says NO_REPLY and nothing else, in any form that models give it.

    Ignored are case, quotes, emphasis, code marks, brackets, full stops, repetition, an escaped underscore, reasoning in
    tags before it, and `{"action": "NO_REPLY"}` around it. Other words are not ignored, nor is a question mark.
    """
    if not text or len(text) > MAX_CHARS:
        return False
    bare = strip_reasoning(_unseen().sub("", text)).strip()
    return _silent().fullmatch(bare) is not None or _is_envelope(bare)


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


def is_off_the_record(text: str) -> bool:
    """Return True if a message of the user says that it is not to be kept."""
    return re.search(join_lines("off the record"), text, re.IGNORECASE | re.MULTILINE) is not None
