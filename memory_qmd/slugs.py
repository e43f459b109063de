"""The names under which versions of QMD before 2.5 know files. Pure."""

from __future__ import annotations

import re
import unicodedata


def list_slugs(path: str) -> frozenset[str]:
    """List what versions of QMD before 2.5 may call a file, lower case.

    They lower-case (up to 1.0), turn "___" into "/", every run of anything but letters, digits and "$" into "-", and
    some of them emoji into their code points; the extension stays. `handelize` in QMD's store.ts.
    """
    return frozenset(_slug(spell(path)) for spell in (_spell_symbols, str))


def _slug(path: str) -> str:
    *folders, name = path.replace("___", "/").split("/")
    stem, dot, extension = name.rpartition(".")
    if not stem:
        stem, dot, extension = name, "", ""
    cleaned = [_dash(part) for part in (*folders, stem)]
    return ("/".join(part for part in cleaned if part) + dot + extension).lower()


def _dash(segment: str) -> str:
    """Replace runs of anything but letters, digits and "$" by one dash, and strip dashes; JavaScript's \\p{L} and \\p{N}."""
    kept = "".join(char if char == "$" or unicodedata.category(char)[0] in "LN" else "-" for char in segment)
    return re.sub("-+", "-", kept).strip("-")


def _spell_symbols(path: str) -> str:
    """Replace every run of symbols (categories So and Sk) by their code points in hexadecimal, joined by dashes."""
    out: list[str] = []
    after_symbol = False
    for char in path:
        symbol = unicodedata.category(char) in {"So", "Sk"}
        out.append(("-" if after_symbol else "") + f"{ord(char):x}" if symbol else char)
        after_symbol = symbol
    return "".join(out)
