"""Strike secrets out of foreign messages, in whatever spelling a server gives them back: plain, encoded or cut. Pure."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Sequence

_KEY_SHAPES = re.compile(
    r"\b(?:sk|pk|pa|rk)-[\w-]{12,}|\bAIza[\w-]{20,}|(?i:bearer)\s{1,9}[\w.~+/=-]{8,}|(?i:[?&](?:api_)?key=)[^&\s'\"]+"
)
# A piece of this many characters of a key gives it away; vendors themselves show up to seven.
PIECE = 8
_READ_CHARS = 8192  # of a message, of which a line is shown
MASK = "***"

# One character as URLs, HTML, JSON and Python escape it, also twice over.
_ESCAPED = re.compile(
    r"%(?:25)*(?P<url>[0-9a-fA-F]{2})"
    r"|&(?:amp;)*#(?:[xX](?P<html>[0-9a-fA-F]{1,6})|(?P<decimal>[0-9]{1,7}));"
    r"|&(?:amp;)*(?P<named>amp|lt|gt|quot|apos);"
    r"|\\+(?:u(?P<json>[0-9a-fA-F]{4})|x(?P<python>[0-9a-fA-F]{2})|(?P<quoted>[\"'/\\]))"
)
_NAMED = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}
_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def scrub(text: str, secrets: Sequence[str] = (), *, limit: int = 300) -> str:
    """Strike known secrets and texts that look like a key out of a foreign message, and put it on one line.

    Args:
        text: Of the message.
        secrets: What may not be shown, nor any piece of `PIECE` characters of it, however it is encoded.
        limit: The most characters to return.
    """
    text = _strike(text[:_READ_CHARS], secrets)
    line = " ".join(_UNPRINTABLE.sub(" ", _KEY_SHAPES.sub(MASK, text)).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def _strike(text: str, secrets: Sequence[str]) -> str:
    """Replace every piece of a secret, plain or encoded, by `MASK`."""
    characters, ends = _read(text)
    struck = bytearray(len(text))
    for secret in secrets:
        for form, piece in _forms(secret):
            # Hexadecimal digits come in both cases, and so may whatever a server has folded.
            folded = "".join(map(_fold, form))
            pieces = {folded[at : at + piece] for at in range(max(1, len(folded) - piece + 1))}
            for at in range(len(characters) - piece + 1):
                if characters[at : at + piece] in pieces:
                    first = ends[at - 1] if at else 0
                    struck[first : ends[at + piece - 1]] = b"\1" * (ends[at + piece - 1] - first)
    return "".join(_masked(text, struck))


def _read(text: str) -> tuple[str, list[int]]:
    """Return the text without escapes, in lower case, and for each of its characters where that ends in the text."""
    characters: list[str] = []
    ends: list[int] = []
    at = 0
    for found in _ESCAPED.finditer(text):
        for place in range(at, found.start()):
            characters.append(_fold(text[place]))
            ends.append(place + 1)
        characters.append(_fold(_unescape(found)))
        ends.append(found.end())
        at = found.end()
    for place in range(at, len(text)):
        characters.append(_fold(text[place]))
        ends.append(place + 1)
    return "".join(characters), ends


def _fold(character: str) -> str:
    """Return a character in lower case, as one character."""
    lower = character.lower()
    return lower if len(lower) == 1 else character


def _unescape(found: re.Match[str]) -> str:
    kind = str(found.lastgroup)
    value = found[kind]
    if kind == "quoted":
        return value
    if kind == "named":
        return _NAMED[value]
    number = int(value, 10 if kind == "decimal" else 16)
    return chr(number) if number < 0x110000 else "?"


def _forms(secret: str) -> Iterator[tuple[str, int]]:
    """Yield the spellings of a secret, each with the length of the pieces that give it away."""
    whole = len(secret) < PIECE
    raw = secret.encode("utf-8", "replace")
    yield secret, len(secret) if whole else PIECE
    yield raw.hex(), len(raw) * 2 if whole else 2 * PIECE
    for shift in range(3):
        # What stands before the secret moves its six-bit groups; the first and the last of them hold foreign bits.
        inner = base64.b64encode(b"\0" * shift + raw).decode()[4 if shift else 0 : -4 if len(raw) > 3 else None]
        piece = len(inner) if whole else min(len(inner), 4 * PIECE // 3)
        if piece >= 4:
            yield inner, piece
            yield inner.translate(str.maketrans("+/", "-_")), piece


def _masked(text: str, struck: bytearray) -> Iterator[str]:
    at = 0
    while at < len(text):
        end = struck.find(b"\0" if struck[at] else b"\1", at)
        end = len(text) if end < 0 else end
        yield MASK if struck[at] else text[at:end]
        at = end
