"""Words of short texts by the static model, and two facts compared by them: do they say the same, or does one correct the other?

The model needs no index and no network. Cosines alone don't tell: "I live in Ghent" and "I live in Antwerp" are as near as two
wordings of one fact, so whatever carries the value (numbers, names, days, opposites, the one word that differs) must agree. A
wrong merge loses a fact, a missed one costs a line: in doubt two facts are different.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from memory_core.text.dates import MONTHS, WEEKDAYS
from memory_core.text.languages import STOP_WORDS

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from memory_core.embeddings.static import StaticProvider


KEPT = 16_384  # words whose vector is kept, a kilobyte each
# The token ids of the model's vocabulary rise with rarity: the commonest words are below 2 ** 10.
COMMON_BITS, MOST_BITS = 10.0, 6.0
SPELLING_BITS = 1.5  # of rarity for each further token that a word is spelt with
_WORDS = re.compile(r"[\w@.+-]+")
_SUFFIX = re.compile(r"(?:ies|ing|ed|es|s|d|ly)\Z")


def list_words(text: str) -> list[str]:
    """Return the words of a text in lower case without stop words; mail addresses and numbers are one word each."""
    found = (word.strip(".,-+") for word in _WORDS.findall(text.lower()))
    return [word for word in found if word and word not in STOP_WORDS["en"]]


def stem(word: str) -> str:
    """Cut the commonest endings off a word of five letters or more."""
    return _SUFFIX.sub("", word) if len(word) > 4 else word


class Words:
    """The static model's knowledge of words."""

    def __init__(self, model: StaticProvider) -> None:
        self._model = model
        self._vector = lru_cache(KEPT)(self._make_vector)
        self._rarity = lru_cache(KEPT)(self._measure_rarity)

    def rarity(self, word: str) -> float:
        """Return how rare a word is in text at large, in bits: 5 for the commonest, 15 and more for names."""
        return self._rarity(word)

    def bits(self, word: str) -> float:
        """Return how much a word tells, 0 for common ones to `MOST_BITS`."""
        return min(max(self.rarity(word) - COMMON_BITS, 0.0), MOST_BITS)

    def nearness(self, word: str, others: Sequence[str]) -> float:
        """Return the cosine of a word and the nearest of others; 0 when there are none."""
        own = self._vector(word)
        return max((float(own @ self._vector(other)) for other in others), default=0.0)

    def embed(self, text: str) -> NDArray[np.float32]:
        """Return the vector of a text, of unit length or zero."""
        return self._model.embed_query(text)

    def _measure_rarity(self, word: str) -> float:
        ids = self._model.token_ids([word])[0]
        return math.log2(max(ids) + 1) + SPELLING_BITS * (len(ids) - 1) if ids else 0.0

    def _make_vector(self, word: str) -> NDArray[np.float32]:
        import numpy as np

        ids = self._model.token_ids([word])[0]
        if not ids:
            return np.zeros(self._model.token_vectors(np.array([1], dtype=np.uint16)).shape[1], dtype=np.float32)
        row: NDArray[np.float32] = self._model.token_vectors(np.array(ids, dtype=np.uint16)).mean(axis=0)
        return row / max(float(np.linalg.norm(row)), 1e-9)


SAME_COSINE = 0.65  # of the static model; at .85 alone 9 of 30 different facts would be merged, by these rules none
SAME_WORD = 0.2  # that the weakest word left over in one fact must have with its nearest in the other
SWAPPED_WORD = 0.75  # where one word differs and nothing else
TELLING = 10.0  # bits of rarity from which a word left over counts
SHARED_BITS = 2.5  # that a corrected fact shares with the correction
SHARED_VALUE_BITS, SHARED_NEGATION_BITS = 2.0, 3.0
CORRECTED_COSINE = 0.55

_NUMBER = re.compile(r"(?<![\w-])(?:[^\W\d]|-)*\d[\w.,:-]*")  # with the letters around it: a0 and b0 are two things
_NAME = re.compile(r"(?<=[a-z,:] )(?!I\b)[A-Z][\w.]*|^[A-Z]\w+(?= (?:is|runs|has|lives|hates))")
_NEGATION = re.compile(
    r"\b(?:not|no|never|n't|don't|doesn't|isn't|no longer|any ?more|quit|stopped)\b|n't\b", re.IGNORECASE
)
_DAYS = frozenset((*WEEKDAYS, *MONTHS))
# Words of one row exclude each other.
_OPPOSITES = {
    word: row
    for row, words in enumerate((
        "wife husband partner", "sister brother", "mother father", "son daughter", "always never", "open close opens closes",
        "more less", "window aisle", "british american", "before after", "boss neighbour", "production staging",
        "left right", "morning evening afternoon", "lunch dinner breakfast",
    ))
    for word in words.split()
}  # fmt: skip
# Words that change with the wording and carry no value; what is denied is looked at besides.
_GENERIC = frozenset(
    """
    never ever takes call name take place team send like best person say know home want need way thing lot really always every
    use using called runs run reads reading parked server database service
    """.split()  # noqa: SIM905 -- as above
)
_COMPARISON = re.compile(r"\b(?:more|less|better|worse|rather|than|before|after|instead|over)\b", re.IGNORECASE)
_SUBJECT = re.compile(
    r"\bmy (?:\w+ )?(wife|husband|sister|brother|mother|father|son|daughter|boss|phone|office|home)\b", re.IGNORECASE
)
_CHANGE = re.compile(
    r"\b(?:no longer|any ?more|now|these days|since (?:last|this)|from (?:now|next)|instead"
    r"|(?:moved|switched|changed) (?:to|from)|changed my mind|I've moved|(?:email|address|number|name) changed|quit|stopped"
    r"|it's \w+ now|correction|is moved)\b",
    re.IGNORECASE,
)
_NOT_WHAT = re.compile(r"\bnot (?:the |a |an |at |on )?([\w.,:]+)", re.IGNORECASE)


@dataclass(frozen=True)  # without slots, so that what is compared again and again is computed once
class Fact:
    """A fact with what comparisons need of it."""

    text: str

    @cached_property
    def words(self) -> list[str]:
        """Its words without stop words."""
        return list_words(self.text)

    @cached_property
    def stems(self) -> frozenset[str]:
        """The stems of its words."""
        return frozenset(map(stem, self.words))

    @cached_property
    def anchors(self) -> frozenset[tuple[str, str]]:
        """The words that carry its value: numbers, days, names, mail addresses."""
        found = {("number", each.strip(".,:-").lower()) for each in _NUMBER.findall(self.text)}
        found |= {("day", word.rstrip("s")) for word in self.words if word.rstrip("s") in _DAYS}
        names = (name.lower().strip(".") for name in _NAME.findall(self.text))
        found |= {("name", name) for name in names if name.rstrip("s") not in _DAYS}
        return frozenset(found | {("mail", each) for each in _find_mail_addresses(self.text)})

    @cached_property
    def is_negative(self) -> bool:
        """True if it denies something."""
        return _NEGATION.search(self.text) is not None

    @cached_property
    def subjects(self) -> frozenset[str]:
        """The relatives and belongings of the speaker that it is about."""
        return frozenset(each.lower() for each in _SUBJECT.findall(self.text))

    def list_left_over(self, other: Fact) -> list[str]:
        """Return the words that the other fact lacks."""
        return [word for word in self.words if stem(word) not in other.stems]


def is_same(one: Fact, other: Fact, words: Words, cosine: float) -> bool:
    """Return True if two facts say the same in other words.

    Args:
        one, other: The facts, in any order.
        words: The static model.
        cosine: Of the two by that model.
    """
    if cosine < SAME_COSINE or one.is_negative != other.is_negative or _conflict(one, other):
        return False
    compares = bool(_COMPARISON.search(one.text)) and bool(_COMPARISON.search(other.text))
    if compares and one.words != other.words and len(one.stems & other.stems) >= 0.9 * len(one.stems | other.stems):
        return False  # "tea rather than coffee" and "coffee rather than tea"
    if one.subjects and other.subjects and one.subjects != other.subjects:
        return False
    left, right = one.list_left_over(other), other.list_left_over(one)
    swapped = len(left) == len(right) == 1 and not {*left, *right} & _GENERIC
    if swapped and words.nearness(left[0], right) < SWAPPED_WORD:
        return False  # one word changed: another value
    pairs = [(word, other.words) for word in left] + [(word, one.words) for word in right]
    telling = [(word, others) for word, others in pairs if _is_telling(word, words)]
    return all(words.nearness(word, others) >= SAME_WORD for word, others in telling)


def corrects(newer: Fact, older: Fact, words: Words, cosine: float, *, cued: bool = False) -> bool:
    """Return True if a newer fact takes the place of an older one.

    It says "not X" and the older one says X; or it speaks of a change, and both are about one thing; or the two differ in a
    number, a day, an address or a negation alone.

    Args:
        newer, older: The facts.
        words: The static model.
        cosine: Of the two by that model.
        cued: It was said as a correction, "no, ...": then any one word may differ.
    """
    if newer.subjects != older.subjects and (newer.subjects or older.subjects):
        return False
    common = newer.stems & older.stems
    denied = _NOT_WHAT.search(newer.text)
    if denied and common and stem(denied[1].lower().strip(".,")) in older.stems:
        return True
    shared = sum(min(max(words.rarity(word) - 9, 0), 5) for word in set(older.words) if stem(word) in common)
    old, new = older.list_left_over(newer), newer.list_left_over(older)
    changed = _CHANGE.search(newer.text) and (shared >= SHARED_BITS or cosine >= CORRECTED_COSINE)
    swapped = cued and len(old) == len(new) == 1 and shared >= SHARED_VALUE_BITS and cosine >= CORRECTED_COSINE
    if changed or swapped:
        return True
    others = [word for word in (*old, *new) if not _is_value(word) and _is_telling(word, words)]
    if others:
        return False
    if any(map(_is_value, old)) and any(map(_is_value, new)):
        return shared >= SHARED_VALUE_BITS
    return newer.is_negative != older.is_negative and shared >= SHARED_NEGATION_BITS


def _conflict(one: Fact, other: Fact) -> bool:
    """Return True if both facts hold values, and either one some that the other lacks; or words that exclude each other."""
    if one.anchors - other.anchors and other.anchors - one.anchors:
        return True
    left = [word for word in one.words if word not in other.words and word in _OPPOSITES]
    right = [word for word in other.words if word not in one.words and word in _OPPOSITES]
    return any(_OPPOSITES[word] == _OPPOSITES[against] for word in left for against in right)


def _is_telling(word: str, words: Words) -> bool:
    return word not in _GENERIC and words.rarity(word) >= TELLING


def _find_mail_addresses(text: str) -> list[str]:
    words = (word.strip(".,:;!?()[]<>\"'").lower() for word in text.split())
    return [word for word in words if "@" in word[1:-1]]


def _is_value(word: str) -> bool:
    return bool(_NUMBER.fullmatch(word)) or word.rstrip("s") in _DAYS or "@" in word
