"""The stemmer of the keyword index in plain Python: words as unicode61 cuts them, stemmed as FTS5's porter does.

See Porter, https://tartarus.org/martin/PorterStemmer/def.txt, and ext/fts5/fts5_tokenize.c of SQLite.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from functools import cache

_WORD = re.compile(r"(?:[^\W_]|[\ue000-\uf8ff])+")
_STEP_2 = (
    "ational ate,tional tion,enci ence,anci ance,izer ize,logi log,bli ble,alli al,entli ent,eli e,ousli ous,ization ize,"
    "ation ate,ator ate,alism al,iveness ive,fulness ful,ousness ous,aliti al,iviti ive,biliti ble"
)
_STEP_3 = "ical ic,ness ,icate ic,iciti ic,ful ,ative ,alize al"
_STEP_4 = "al ,ance ,ence ,er ,ic ,able ,ible ,ant ,ement ,ment ,ent ,ion ,ou ,ism ,ate ,iti ,ous ,ive ,ize "
_LONGEST = 64  # bytes; longer words stay as they are


def stems(text: str) -> list[str]:
    """Return the stems of a text's words, in order."""
    plain = text if text.isascii() else "".join(map(_without_diacritics, text))
    return [stem(word) for word in _WORD.findall(plain.lower())]


@cache
def _without_diacritics(char: str) -> str:
    """Return the letter under the marks if it is one of ASCII, "" for a mark of its own, else the character."""
    if unicodedata.combining(char):
        return ""
    base = unicodedata.normalize("NFD", char)[0]
    return base if base.isascii() else char


@cache
def stem(word: str) -> str:
    """Return the stem of a word in lower case. Its bytes count, of which those beyond ASCII are consonants."""
    text = word.encode().decode("latin-1")
    if not 3 <= len(text) <= _LONGEST:
        return word
    for step in (_plural, _past, _final_y, _suffixes(_STEP_2, 0), _suffixes(_STEP_3, 0), _suffixes(_STEP_4, 1), _tidy):
        text = step(text)
    return text.encode("latin-1").decode()


def _plural(word: str) -> str:
    if word.endswith("es"):
        return (
            word[:-2] if (word.endswith("sses") and len(word) > 4) or (word[-3] == "i" and len(word) > 3) else word[:-1]
        )
    return word[:-1] if word.endswith("s") and word[-2] != "s" else word


def _past(word: str) -> str:
    if word.endswith("eed") and len(word) > 3:
        return word[:-1] if _measure(word[:-3]) > 0 else word
    cut = next((word[: -len(end)] for end in ("ed", "ing") if word.endswith(end) and len(word) > len(end)), "")
    if not _has_vowel(cut):
        return word
    if cut.endswith(("at", "bl", "iz")):
        return cut + "e"
    if len(cut) > 1 and cut[-1] == cut[-2] and cut[-1] not in "aeioulsz":
        return cut[:-1]
    return cut + "e" if _measure(cut) == 1 and _ends_short(cut) else cut


def _final_y(word: str) -> str:
    return word[:-1] + "i" if word.endswith("y") and _has_vowel(word[:-1]) else word


@cache
def _suffixes(table: str, above: int) -> Callable[[str], str]:
    """Replace the first suffix that a word has, if what is before it is long enough."""
    pairs = [pair.split(" ") for pair in table.split(",")]

    def step(word: str) -> str:
        for suffix, other in pairs:
            if word.endswith(suffix) and len(word) > len(suffix):
                rest = word[: -len(suffix)]
                fits = _measure(rest) > above and (suffix != "ion" or rest[-1] in "st")
                return rest + other if fits else word
        return word

    return step


def _tidy(word: str) -> str:
    if word.endswith("e"):
        rest = word[:-1]
        if _measure(rest) > 1 or (_measure(rest) == 1 and not _ends_short(rest)):
            word = rest
    return word[:-1] if word.endswith("ll") and _measure(word[:-1]) > 1 else word


def _kinds(word: str) -> str:
    """Return c for every consonant and v for every vowel; a y behind a consonant is a vowel."""
    kinds = ""
    for char in word:
        kinds += "v" if char in "aeiou" or (char == "y" and kinds.endswith("c")) else "c"
    return kinds


def _measure(word: str) -> int:
    """Count the vowels that a consonant follows, runs counting once."""
    return len(re.findall("v+c", _kinds(word)))


def _has_vowel(word: str) -> bool:
    return any(char in "aeiou" or (char == "y" and at > 0) for at, char in enumerate(word))


def _ends_short(word: str) -> bool:
    return _kinds(word)[-3:] == "cvc" and word[-1] not in "wxy"
