"""Text that goes to a model or comes from one: quoted safely, in whole characters, and NO_REPLY told from an answer. Pure.

`strip_envelope` leaves out what a host such as OpenClaw has put around the words of a message, as of its version 2026.9.
"""

from __future__ import annotations

import json
import re

from memory_core.text.tables import join_lines

TEXT_PARTS = ("text", "input_text", "output_text")  # of a message, by their type; a document or a file is none
# Line breaks of other systems, which split a line in some readers and not in others.
_BREAKS = re.compile("\r\n?|[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
# Controls, also those that begin an escape sequence; what turns the direction of text around; tags, which no screen shows.
_CONTROLS = re.compile(
    "[\x00-\x08\x0e-\x1b\x1f\x7f-\x84\x86-\x9f\u202a-\u202e\u2066-\u2069\ufff9-\ufffb\U000e0000-\U000e007f]"
)
_INVISIBLE = re.compile("[\u00ad\u200b\u2060-\u2064\ufeff]")
_JOINERS = "[\u200c\u200d]*"  # stay, since some scripts need them, but hide no word
# `Source: path#L3`, under whatever marks; letters of other widths count.
_CITATION = re.compile(
    rf"^(?P<before>[^\w\n]*+)(?:{_JOINERS.join(f'[{letter.upper()}{letter}{chr(ord(letter) + 0xFEE0)}]' for letter in 'source')})"
    r"(?P<colon>[*_`]*[ \t]*[:\uff1a])(?=[^\n]*[#\uff03]\s?L?\d)",
    re.MULTILINE | re.IGNORECASE,
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
    clean = _INVISIBLE.sub("", _CONTROLS.sub("\N{REPLACEMENT CHARACTER}", _BREAKS.sub(" ", text)))
    return _CITATION.sub(r"\g<before>quoted\g<colon>", clean)


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

_UNSEEN = re.compile("[\u200b-\u200d\u2060\ufeff]")
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
    bare = strip_reasoning(_UNSEEN.sub("", text)).strip()
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


# Labels of blocks that a host puts before a message, or behind it: "Sender (untrusted metadata):", "Context: ⟦openclaw:ctx⟧".
_BLOCK = re.compile(
    r"^[^\n]{1,80}?(?:[ ]\(untrusted[^)\n]{0,40}\):|[ ]⟦openclaw:ctx⟧)[ \t]*\n"
    r"(?:```\w*\n.*?(?:^```[ \t]*$|\Z)|\{\n.*?(?:^\}[ \t]*$|\Z)|(?:[^\n]*\S[^\n]*(?:\n|\Z))*)\n*",
    re.DOTALL | re.MULTILINE,
)
_DATED = r"\[[^\]\n]{0,120}?\d{4}-\d\d-\d\d[T ]\d\d:\d\d[^\]\n]{0,40}\]"
_CHANNELS = (
    "WebChat|WhatsApp|Telegram|Signal|Slack|Discord|Google Chat|iMessage|Teams|Matrix|Zalo|BlueBubbles|Feishu|LINE"
)
_HEAD = re.compile(
    rf"\A(?:(?:{_DATED}|\[(?:{_CHANNELS}) [^\]\n]{{1,160}}\]|\[cron:[^\]\n]{{1,160}}\])[ \t]*)?"
    r"(?:<media:\w{1,20}>\s*(?:Transcript:\s*)?)?"
)
# Of queued messages.
_LATER_HEAD = re.compile(rf"^\[(?:{_CHANNELS}) (?=[^\]\n]*\d\d:\d\d)[^\]\n]{{1,160}}\](?!\()[ \t]*", re.MULTILINE)
_MARKER = r"<<<(?:END_)?[A-Z_]*UNTRUSTED_[A-Z_]+[^\n>]*>>>"  # before and behind what comes from elsewhere
_HOST_LINE = re.compile(
    r"\[(?:\w+ )?message[_ ]id: *[^\]\n]+\][ \t]*$\n?|^\[Replying to [^\]\n]*\]\n(?s:.{0,4000}?)^\[/Replying\][ \t]*(?:\n|\Z)"
    r"|^[ \t]*(?:\[(?:from:|media attached|Queued messages|Chat messages since your last reply|Current message -)[^\]\n]*\]"
    r"|(?:---\s+)?Queued #\d+"
    rf"|To send an image back, [^\n]*|MEDIA:[^\n]+|System(?: \(untrusted\))?: {_DATED}[^\n]*|{_MARKER})[ \t]*(?:\n|\Z)",
    re.MULTILINE,
)
# Orders to the host that delivers a reply; they look like links.
DIRECTIVE = re.compile(r"\[\[ *(?:reply_to_current|reply_to *:[^\]\n]{1,80}|audio_as_voice) *\]\][ \t]*", re.IGNORECASE)
HOST_MARKER = re.compile(_MARKER)
# What a host has recalled for a message, and the marks around the part of a reply that it shows.
_RECALLED = re.compile(r"<(?P<tag>[a-z]+[-_]memor(?:y|ies))\b[^<>]*>.*?</(?P=tag)>\s*|</?final>", re.DOTALL)
_HEARTBEAT_OK = "HEARTBEAT_OK"
_SILENT_CHARS = 300  # beside HEARTBEAT_OK, up to which the host shows nobody a reply
_WAKING = re.compile(join_lines("waking"), re.IGNORECASE)


def strip_envelope(text: str) -> str:
    """Return the words of a message: without recalled memories, blocks of metadata, the head with channel and time, markers."""
    text = _RECALLED.sub("", text).lstrip() if "</" in text else text
    if "[" in text or "untrusted" in text or "UNTRUSTED" in text or "openclaw" in text or "<media:" in text:
        text = _HOST_LINE.sub("", _BLOCK.sub("", text)).lstrip()
        text = DIRECTIVE.sub("", _LATER_HEAD.sub("", _HEAD.sub("", text)))
    return text.strip()


def is_by_host(role: str, text: str) -> bool:
    """Return True for a message that nobody said: the host wakes the agent, or the agent answers that nothing is to be done."""
    if role == "user":
        return _WAKING.search(text) is not None or ("HEARTBEAT.md" in text and _HEARTBEAT_OK in text)
    rest = text.strip(" \n*`_~.!\"'")
    at_edge = rest.startswith(_HEARTBEAT_OK) or rest.endswith(_HEARTBEAT_OK)
    return at_edge and len(rest) - len(_HEARTBEAT_OK) <= _SILENT_CHARS


def is_off_the_record(text: str) -> bool:
    """Return True if a message of the user says that it is not to be kept."""
    return re.search(join_lines("off the record"), text, re.IGNORECASE | re.MULTILINE) is not None
