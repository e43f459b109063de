"""Text of notes made safe to quote: nothing in it steers a terminal, hides itself, or looks like a citation of ours; pure."""

from __future__ import annotations

import re

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
