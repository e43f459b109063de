"""Questions that ask for several things: how many there are, or which; pure."""

# ruff: noqa: SIM905 -- lists of words are shorter as text
from __future__ import annotations

import re
from itertools import pairwise, takewhile

from memory_core.text.terms import classify

MAX_CHARS = 1000  # of a question that are read
_NEAR = 8  # words behind "what are" among which the things asked for stand
_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?")
_KINDS = frozenset("kind kinds type types sort sorts".split())
# A word that ends the noun phrase behind "what" or "which".
_ENDS = frozenset("""
    about am and are at between by can could did do does during for from had has have in is may might of on or should that to
    was were will with would
""".split())  # fmt: skip
_PLURALS = frozenset("children feet men mice people teeth women".split())
_NOT_PLURAL = ("ss", "us", "is", "'s")
# Words that by themselves ask for several things, in other languages.
_FOREIGN = frozenset("""
    wieviele cuántos cuántas cuáles quantos quantas quais quels quelles quanti quante quali hoeveel сколько какие
""".split())  # fmt: skip
_PAIRS = frozenset({
    ("how", "many"), ("how", "often"), ("what", "has"), ("what", "have"), ("what", "had"),
    ("wie", "viele"), ("wie", "oft"), ("combien", "de"), ("hoe", "vaak"),
})  # fmt: skip
_CJK = re.compile("哪些|[几幾][个個次]|いくつ|何[人回個]|몇")


def asks_for_several(text: str) -> bool:
    """Return True for a question that asks for more than one thing: "how many pets", "which hobbies", "what has she read".

    English is told by its plural nouns, and by verbs that look like them ("which bus goes"): only a tagger tells those apart. Of
    other languages, only what one or two words tell is known.
    """
    text = text[:MAX_CHARS].lower().replace("’", "'")
    return _names_several(text) and classify(text) == "question"


def _names_several(text: str) -> bool:
    if not text.isascii() and _CJK.search(text):
        return True
    words = _WORD.findall(text)
    return (
        not _FOREIGN.isdisjoint(words)
        or not _PAIRS.isdisjoint(pairwise(words))
        or any(_asks_which(words[at : at + _NEAR]) for at, word in enumerate(words, 1) if word in ("what", "which"))
    )


def _asks_which(words: list[str]) -> bool:
    """Return True if what follows "what" or "which" asks for several things."""
    if words[:1] == ["are"] or words[:1] == ["were"]:
        return any(map(_is_plural, words))
    phrase = list(takewhile(lambda word: word not in _ENDS, words))
    if phrase and phrase[-1] in _KINDS and words[len(phrase) : len(phrase) + 1] == ["of"]:
        phrase += takewhile(lambda word: word not in _ENDS, words[len(phrase) + 1 :])
    return any(map(_is_plural, phrase))


def _is_plural(word: str) -> bool:
    return word in _PLURALS or (len(word) > 3 and word.endswith("s") and not word.endswith(_NOT_PLURAL))
