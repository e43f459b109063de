"""A secret in all the spellings in which a server may give it back, and whether a text shows it in one of them."""

from __future__ import annotations

import base64
import html
import random
import re
from collections.abc import Iterator
from urllib.parse import quote, unquote

WINDOW = 12  # so many characters of a secret in a row give it away; vendors themselves show four to eight
_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
_ESCAPE = re.compile(r"\\+u([0-9a-fA-F]{4})|\\+x([0-9a-fA-F]{2})")


def new_key(dice: random.Random) -> str:
    """A key of 40 to 60 characters, in the shape of a vendor or in none."""
    shape = dice.choice(["sk-", "sk-proj-", "AIza", "", "", "key/", "pa-"])
    alphabet = _ALPHABET + dice.choice(["", "-_", "+/=", "&%?#@:", '"<>'])
    return shape + "".join(dice.choices(_ALPHABET, k=3)) + "".join(dice.choices(alphabet, k=dice.randint(36, 52))) + "x"


def spelled(key: str, dice: random.Random) -> str:
    """The key as an error page may give it back: plain, encoded or cut."""
    raw = key.encode()
    encode = dice.choice([base64.b64encode, base64.urlsafe_b64encode])
    size = dice.randint(14, 24)
    pieces = [key[at : at + size] for at in range(0, len(key), size)]
    ways = [
        key,
        key,
        f"Authorization: Bearer {key}",
        encode(dice.choice([b"", b"Bearer ", b"user:", b"x"]) + raw).decode(),
        f"Basic {base64.b64encode(b':' + raw).decode()}",
        f"https://host/v1?key={quote(key, safe='')}&x=1",
        "".join(f"%{byte:02x}" for byte in raw),
        raw.hex(),
        raw.hex().upper(),
        "".join(f"\\u{ord(mark):04x}" for mark in key),
        "".join(f"&#{ord(mark)};" for mark in key),
        key[: dice.randint(16, max(16, len(key) - 4))] + "...",
        dice.choice(["\n", " ", "…", '" "', "\\n", "-"]).join(pieces),
    ]
    return dice.choice(ways)


def exposed(text: str, key: str) -> str | None:
    """The spelling in which a text shows a secret, or a good part of it; None when it does not."""
    for spelling, form, window in _forms(key):
        for reading in _readings(text) if spelling == "plain" else (text,):
            if any(form[at : at + window] in reading for at in range(len(form) - window + 1)):
                return spelling
    return None


def _forms(key: str) -> Iterator[tuple[str, str, int]]:
    raw = key.encode()
    yield "plain", key, WINDOW
    yield "hex", raw.hex(), 2 * WINDOW
    yield "hex", raw.hex().upper(), 2 * WINDOW
    for shift in range(3):
        # What stands before the key moves its six-bit groups; the first and last of them hold foreign bits.
        inner = base64.b64encode(b"\0" * shift + raw).decode()[4 if shift else 0 : -4]
        yield "base64", inner, 4 * WINDOW // 3
        yield "base64", inner.translate(str.maketrans("+/", "-_")), 4 * WINDOW // 3


def _readings(text: str) -> Iterator[str]:
    yield text
    if "%" in text:
        yield unquote(text)
    if "&" in text:
        yield html.unescape(text)
    if "\\" in text:
        yield _ESCAPE.sub(lambda found: chr(int(found[1] or found[2], 16)), text)
