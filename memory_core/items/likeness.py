"""Words of short texts by the static model, and two facts compared by them: do they say the same, or does one correct the other?

The model needs no index and no network. Cosines alone don't tell: "I live in Ghent" and "I live in Antwerp" are as near as two
wordings of one fact, so whatever carries the value (numbers, names, days, opposites, the one word that differs) must agree. A
wrong merge loses a fact, a missed one costs a line: in doubt two facts are different.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from typing import TYPE_CHECKING

from memory_core.items.grammar import compile_pattern, read_rows, read_words
from memory_core.text.dates import MONTHS, WEEKDAYS
from memory_core.text.languages import STOP_WORDS, stem_words
from memory_core.text.tense import names_end, tells_change, tells_end
from memory_core.text.terms import detect_language

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

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


def list_told_as(word: str, question: str) -> list[str]:
    """Return a word of a question; of one for the user's own name with those by which people tell it, "name" with "call"."""
    rows = read_rows("recall", "told_as") if compile_pattern("recall", "asks_name").search(question) else []
    return next((row for row in rows if row[0] == word), [word])


class Words:
    """The static model's knowledge of words.

    Attributes:
        rarity: See `_measure_rarity`; each word is measured once.
    """

    def __init__(self, model: StaticProvider) -> None:
        self._model = model
        self._vector = lru_cache(KEPT)(self._make_vector)
        self.rarity = lru_cache(KEPT)(self._measure_rarity)

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
        """Return how rare a word is in text at large, in bits: 5 for the commonest, 15 and more for names."""
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
MOST_NEW = 1  # words that a fact may add beside "not X"

_ELISION = re.compile(r"\b(?:[jnlmtsdc]|qu)['’]", re.IGNORECASE)
_NUMBER = re.compile(r"(?<![\w-])(?:[^\W\d]|-)*\d[\w.,:-]*")  # with the letters around it: a0 and b0 are two things
_NAME = re.compile(r"(?<=[a-z,:] )(?!I\b)[A-Z][\w.]*|^[A-Z]\w+(?= (?:is|runs|has|lives|hates))")
_DAYS = frozenset((*WEEKDAYS, *MONTHS))
_DOER = re.compile(r"\b(?:I|we|he|she|they|(?!The|My|Our|An?|This|That|His|Her|Their)[A-Z]\w+) ([a-z]+)\b")
_TO = frozenset(("to", "nach", "à", "a"))  # what has moved to a place was in another one
_compile = partial(compile_pattern, "likeness")
_read = partial(read_words, "likeness")


def _finds(name: str, text: str) -> bool:
    return _compile(name).search(text) is not None


@dataclass(frozen=True)  # without slots, so that what is compared again and again is computed once
class Fact:
    """A fact with what comparisons need of it."""

    text: str

    @cached_property
    def words(self) -> list[str]:
        """Its words without stop words."""
        ignored = STOP_WORDS[detect_language(self.text) or "en"]
        return [word for word in list_words(_ELISION.sub(" ", self.text)) if word not in ignored]

    @cached_property
    def stems(self) -> frozenset[str]:
        """The stems of its words."""
        return frozenset(map(stem, self.words))

    @cached_property
    def head(self) -> str:
        """The name or thing with which it begins, which it is about; "" if it begins otherwise."""
        first = self.text.split(maxsplit=1)[0].removesuffix("'s").lower().strip(".,:") if self.text.split() else ""
        return stem(first) if self.words[:1] == [first] and not self.is_own else ""

    @cached_property
    def values(self) -> tuple[list[str], ...]:
        """Its numbers, days, names and mail addresses, each kind in its order."""
        return (
            [each.strip(".,:-").lower() for each in _NUMBER.findall(self.text)],
            [word.rstrip("s") for word in self.words if word.rstrip("s") in _DAYS],
            [name for name in self.names if name.rstrip("s") not in _DAYS],
            _find_mail_addresses(self.text),
        )

    @cached_property
    def names(self) -> list[str]:
        """Its names, in order."""
        return [name.lower().strip(".") for name in _NAME.findall(self.text) if name.lower() not in _DAYS]

    @cached_property
    def is_negative(self) -> bool:
        """True if it denies something."""
        return _finds("negation", self.text)

    @cached_property
    def is_own(self) -> bool:
        """True if it is about the speaker."""
        return _finds("first_person", self.text)

    @cached_property
    def belongings(self) -> frozenset[str]:
        """The words for what is the speaker's own, as "dentist" in "my dentist"."""
        return frozenset(each.lower() for each in _compile("belonging").findall(self.text))

    @cached_property
    def is_event(self) -> bool:
        """True if it tells what has happened, which may have happened twice."""
        doing = [word for word in _DOER.findall(self.text) if not word.endswith(("s", "ing"))]
        verbs = [each for each in stem_words(doing, "en") if each.stem.startswith("to ") and each.stem != "to be"]
        return any(each.stem != f"to {each.word}" for each in verbs) or _finds("past", self.text)

    @cached_property
    def ways(self) -> Mapping[str, int]:
        """Its words that stand behind a word of a way: 0 for those to which one goes, 1 for those from which."""
        sides = _read("ways")
        pairs = re.findall(r"([^\W\d]+)['’ ](?=([^\W\d]+))", self.text.lower())
        return {word: sides[before] for before, word in pairs if before in sides}

    @cached_property
    def subjects(self) -> frozenset[str]:
        """The relatives and belongings of the speaker that it is about."""
        return frozenset(each.lower() for each in _compile("subject").findall(self.text))

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
    if _begin_otherwise(one, other) or (one.subjects and other.subjects and one.subjects != other.subjects):
        return False
    left, right = one.list_left_over(other), other.list_left_over(one)
    swapped = len(left) == len(right) == 1 and not {*left, *right} & _read("generic").keys()
    if swapped and words.nearness(left[0], right) < SWAPPED_WORD:
        return False  # one word changed: another value
    pairs = [(word, other.words) for word in left] + [(word, one.words) for word in right]
    telling = [(word, others) for word, others in pairs if _is_telling(word, words)]
    return all(words.nearness(word, others) >= SAME_WORD for word, others in telling)


def corrects(newer: Fact, older: Fact, words: Words, cosine: float, *, cued: bool = False) -> bool:
    """Return True if a newer fact takes the place of an older one of the same person or thing.

    It says that what the older one tells is over, not so or to be forgotten, or that somebody has moved, has another name or
    another favourite; or both give a value for one thing: see `_gives_new_value`.

    Args:
        newer, older: The facts.
        words: The static model.
        cosine: Of the two by that model.
        cued: It was said as a correction, "no, ...": then the last word may differ, a negation, or the order of the words.
    """
    if newer.subjects != older.subjects or _begin_otherwise(newer, older) or _goes_otherwise(newer, older):
        return False
    renames = _finds("called", newer.text) and _finds("called", older.text)
    if renames or (_finds("moved", newer.text) and _finds("residence", older.text)):
        return renames or newer.is_own == older.is_own
    only = _compile("only_one").match(newer.text)
    if only and older.text.lower().startswith(only[0].lower()):
        return newer.is_negative == older.is_negative
    if tells_end(newer.text) or find_taken_back(newer.text):
        return not older.is_negative and not older.is_event and _ends(newer, older, words)
    left = older.list_left_over(newer)
    denies = newer.is_negative and not older.is_negative and all(map(_is_value, left))
    reverses = denies or (older.is_negative and not newer.is_negative and not left)
    swaps = newer.stems == older.stems and newer.words != older.words  # "no, port 8080 forwards to port 80"
    if cued and (swaps or (reverses and _ends(newer, older, words))):
        return True
    return _gives_new_value(newer, older, words, cosine, cued=cued)


def _begin_otherwise(one: Fact, other: Fact) -> bool:
    """Return True if two facts are about persons or things of different names."""
    return bool(one.head and other.head) and one.head not in other.stems and other.head not in one.stems


def _goes_otherwise(one: Fact, other: Fact) -> bool:
    """Return True if one fact tells of a way to a place, and the other of one from it."""
    return any(other.ways.get(word, way) != way for word, way in one.ways.items())


def _ends(newer: Fact, older: Fact, words: Words) -> bool:
    """Return True if an older fact holds all that a newer one says is over; the verb and "in March" add nothing to that.

    "I no longer use vim" does not end "I use vim keybindings".
    """
    clauses = _compile("clause").split(newer.text)
    # "Not to the gym, any more" tells it in no clause of its own.
    ended = next((each for each in clauses if tells_end(each) or _finds("negation", each)), newer.text)
    taken_back = find_taken_back(newer.text)
    over = _list_over(taken_back or ended, older)
    parts = _list_parts(older, over[-1]) if over else []
    longer = any(part in older.list_left_over(newer) and _is_telling(part, words) for part in parts)
    of_one = newer.is_own == older.is_own or taken_back or not newer.belongings.isdisjoint(older.belongings)
    return _holds_all(older, over) and not longer and bool(of_one)


def _list_over(text: str, older: Fact) -> list[str]:
    """Return the words of a clause that say what is over, of which an older fact may tell."""
    ignored = _read("held").keys() | STOP_WORDS[detect_language(older.text) or "en"]
    return [word for word in Fact(text).words if not (names_end(word) or _is_moment(word) or word in ignored)]


def find_taken_back(text: str) -> str:
    """Return what a text asks to forget: "I speak Danish" of "Forget that I speak Danish, ..."; "" if it asks for nothing.

    >>> find_taken_back("Please forget what I said about the car."), find_taken_back("Don't forget the car.")
    ('the car.', '')
    """
    found = compile_pattern("messages", "takes_back").match(text)
    return _compile("clause").split(text[found.end() :])[0] if found else ""


def takes_back(text: str, older: str) -> bool:
    """Return True if a text asks to forget what an older fact says."""
    return _holds_all(Fact(older), _list_over(find_taken_back(text), Fact(older)))


def _holds_all(older: Fact, over: Sequence[str]) -> bool:
    """Return True if a fact holds all of some words, in whatever form; False where there are none."""
    held = [each for each in older.stems if len(each) > 2]
    return bool(over) and all(
        own in older.stems or any(each.startswith(own) or own.startswith(each) for each in held)
        for own in map(stem, over)
    )


def _list_parts(fact: Fact, word: str) -> list[str]:
    """Return the words behind a noun that belong to it, as in "I use vim keybindings"; a verb ("I smoke cigars") has none."""
    no_verb = r"(?<=\w )(?<!\bI )(?<!\b(?:we|je) )(?<!\bich )(?<!\bwir )"
    found = re.findall(rf"{no_verb}{re.escape(word)} ([a-z]+)", fact.text, re.IGNORECASE)
    return [part for part in found if part not in _read("often")]


def _gives_new_value(newer: Fact, older: Fact, words: Words, cosine: float, *, cued: bool) -> bool:
    """Return True if two facts give different values for one thing.

    The newer one says "not X" and the older one says X; or it tells a change, and its value stands behind the same word, "in" or
    "at", as that of the older one; or the two differ in numbers, days, or addresses alone, of which there can be only one.
    """
    common = newer.stems & older.stems
    old, new = older.list_left_over(newer), newer.list_left_over(older)
    places = _list_places(newer, new), _list_places(older, old)
    if _is_named_by_number(newer, new) or _is_named_by_number(older, old):
        return False
    denied = _compile("not_what").search(newer.text)
    if denied and common and stem(denied[1].lower().strip(".,")) in older.stems:
        plain = [word for word in new if word not in _read("generic") and not _is_moment(word)]
        telling = [word for word in new if not _is_value(word) and _is_telling(word, words)]
        # "not X, but Y" has a Y; where nothing takes the place of X, the rest says the same.
        return len(telling) <= MOST_NEW if _finds("contrast", newer.text.rstrip(" .!")) else not plain
    shared = sum(min(max(words.rarity(word) - 9, 0), 5) for word in set(older.words) if stem(word) in common)
    if _finds("change", newer.text) and (shared >= SHARED_BITS or cosine >= CORRECTED_COSINE):
        plain = [word for word in new if word in newer.text and not _is_value(word)]
        added = [word for word in plain if not tells_change(word) and not _is_moment(word)]
        return not all(places) or (not added and not places[0].isdisjoint(places[1] | _TO))
    last = cued and len(old) == len(new) == 1 and (old, new) == (older.words[-1:], newer.words[-1:])
    if last and (newer.words[:-1] == older.words[:-1] or (shared >= SHARED_VALUE_BITS and cosine >= CORRECTED_COSINE)):
        return True
    if all(map(_is_value, (*old, *new))) and old and new and places[0] == places[1] and "of" not in places[0]:
        # What has happened once may have happened twice, and what is done on Mondays be done on Fridays, too.
        several = newer.is_event or any(word.removesuffix("s") in _DAYS for word in new if word[-1] == "s")
        return shared >= SHARED_VALUE_BITS and (cued or not several)
    only_denied = (
        cued and newer.is_negative != older.is_negative and not any(_is_telling(word, words) for word in (*old, *new))
    )
    return only_denied and shared >= SHARED_NEGATION_BITS


def _list_places(fact: Fact, left: Sequence[str]) -> set[str]:
    """Return the words, "in" or "at", behind which the values among the words left over stand; "" where there is none."""
    lowered, found = fact.text.lower(), set()
    for word in left:
        at = lowered.find(word)
        before = _compile("before").search(lowered[:at].rstrip()) if at > 0 else None
        if _is_value(word) or fact.text[at : at + 1].isupper():
            found.add(before[1] if before else "")
    return found


def _is_named_by_number(fact: Fact, left: Sequence[str]) -> bool:
    """Return True if a number that is left over names what a fact is about, as in "room 4"."""
    number = next((word for word in fact.words[1:2] if word in left and _NUMBER.fullmatch(word)), None)
    return number is not None and fact.text.lower().startswith(f"{fact.words[0]} {number}")


def _is_moment(word: str) -> bool:
    """Return True for a word that may say since when something is so."""
    return word in MONTHS or _compile("moment").fullmatch(word) is not None


def _conflict(one: Fact, other: Fact) -> bool:
    """Return True if neither fact holds all values of the other in their order, or if their words exclude each other.

    So do "tea rather than coffee" and "coffee rather than tea", and "from Bonn to Mainz" and "from Mainz to Bonn".
    """
    compares = _finds("comparison", one.text) and _finds("comparison", other.text)
    if compares and one.words != other.words and len(one.stems & other.stems) >= 0.9 * len(one.stems | other.stems):
        return True
    if not (_holds_values(one, other) or _holds_values(other, one)):
        return True
    if _goes_otherwise(one, other) or _swaps(one, other):
        return True
    rows = _read("opposites")
    left = [word for word in one.words if word not in other.words and word in rows]
    right = [word for word in other.words if word not in one.words and word in rows]
    return any(rows[word] == rows[against] for word in left for against in right)


def _holds_values(one: Fact, other: Fact) -> bool:
    """Return True if one fact holds all values of another in their order: in "port 80 forwards to port 8080" both have a part."""
    for held, wanted in zip(one.values, other.values, strict=True):
        left = iter(held)
        if not all(value in left for value in wanted):
            return False
    return True


def _swaps(one: Fact, other: Fact) -> bool:
    """Return True if two facts say the words that both have in another order, and it is not that a part has only moved.

    In "The gateway calls the scheduler" and "The scheduler calls the gateway" two are swapped; in "We meet at noon on Mondays"
    and "On Mondays we meet at noon" a part has moved.
    """
    left = [word for word in map(stem, one.words) if word in other.stems]
    right = [word for word in map(stem, other.words) if word in one.stems]
    while left and right and left[0] == right[0]:
        del left[0], right[0]
    while left and right and left[-1] == right[-1]:
        del left[-1], right[-1]
    return all(left[at:] + left[:at] != right for at in range(max(len(left), 1)))


def _is_telling(word: str, words: Words) -> bool:
    return word not in _read("generic") and words.rarity(word) >= TELLING


def _find_mail_addresses(text: str) -> list[str]:
    words = (word.strip(".,:;!?()[]<>\"'").lower() for word in text.split())
    return [word for word in words if "@" in word[1:-1]]


def _is_value(word: str) -> bool:
    return bool(_NUMBER.fullmatch(word)) or word.rstrip("s") in _DAYS or "@" in word
