"""Judges whether one statement takes the place of an older one; pure.

A pair is scored by what the two share near their values, and by how the newer one tells a change. Where the evidence is thin, the
score stays below `SHOWN`: two people of one name, a plan, an event or an exception replace nothing.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable
from datetime import date
from functools import cache
from typing import Literal, NamedTuple

from memory_core.text.folding import strip_marks
from memory_core.text.tense import list_words
from memory_core.upkeep.statements import UNDATED, Statement, Value, stem

SHOWN = 5.0  # from which score a pair becomes a proposal
STRONG = 6.0  # and from which search marks the line
LEAST_BITS = 2.5  # of a word that two statements must share
MOST_BITS = 7.0
NEAR = 0.6  # the weight of a word of the sentence before or of the heading
BESIDE = 32  # characters between a value and the word to which it belongs
NEARLY = 2.2  # scores below the best of the older statements that one replaces
CLOSE = 1.5  # scores below the best of its successors
SOON = 14  # days within which a single appointment may be moved
MOST_WORDS = 14  # of a sentence that says who or what something is

# "Ann's", "of Ann", "von Ann": whose it is.
_OWNER = re.compile(
    r"\b([A-ZÀ-Þ][^\W\d_]+)['’]s\b|\b(?:of(?: the)?|von|de(?: la| el| los)?|di|van|du|do|da) ([A-ZÀ-Þ][^\W\d_]+)"
)
_CLAUSE = re.compile(r"[.;:!?(\n|–—]|,(?!\d)")
Bits = Callable[[str], float]


class Comparison(NamedTuple):
    """The outcome of comparing two statements.

    Attributes:
        score: See `SHOWN`.
        kind: "value", "name" or "role".
        old, new: The values that differ; None where names do.
        beside: A word that both share stands close to the values.
    """

    score: float
    kind: str
    old: Value | None
    new: Value | None
    beside: bool = False


def judge(old: Statement, new: Statement, bits: Bits) -> Comparison | None:
    """Return how likely the newer statement replaces the older one; None if it clearly does not.

    Args:
        old: The older statement.
        new: The newer one.
        bits: Returns the information of a stem, from its frequency in the notes.
    """
    tells = "change" in new.flags
    if not old.date < new.date or old.text == new.text or (not tells and "event" in (*old.flags, *new.flags)):
        return None
    own = [word for word in new.own if word in old.own]
    people = _list_stems(new.language, "people")
    units = {value.kind.partition(":")[2] for value in (*old.values, *new.values)}
    wide = [
        word
        for word in dict.fromkeys((*new.own, *new.near))
        if word in old.own or (word in new.own and word in old.near)
    ]
    anchors = [word for word in wide if bits(word) >= LEAST_BITS and word not in people and word not in units]
    if not anchors or _has_other_owner(old, new, people):
        return None
    first, last = ({*each.own, *each.near} for each in (old, new))
    led = bool(set(old.head) & set(anchors)) and set(old.head) <= last
    follows = bool(set(new.head) & set(anchors)) and set(new.head) <= first
    about, same = led or follows, led and follows
    stands = old.date == UNDATED or bool({"state", "change"} & set(old.flags))
    if not tells and not (
        about and stands and (same or "state" in new.flags) and "event" not in {*old.flags, *new.flags}
    ):
        return None
    best = _compare_values(old, new, anchors, plain=not tells, about=about) or _compare_names(
        old, new, anchors, about=about
    )
    if best is None or not (about or best.kind == "role" or (best.beside and len(anchors) > 1)):
        return None
    shared = sum(bits(word) for word in own)
    shared += NEAR * sum(bits(word) for word in new.own if word in old.near and word not in own)
    shared += NEAR * sum(bits(word) for word in old.own if word in new.near and word not in own)
    score = best.score + min(3.2, shared / 5) + 0.8 * best.beside
    score += 0.8 * about + 0.7 * same
    score += 0.9 * tells + 0.4 * ("new" in new.flags) + 0.5 * ("state" in new.flags) + 0.4 * ("state" in old.flags)
    score -= 0.9 * ("event" in old.flags) + 0.6 * ("event" in new.flags and not tells)
    score += 1.5 * (_cover(own, old, new, bits) - 0.3)
    if old.key and new.key:
        score += 0.8 if old.key == new.key else -0.8
    return best._replace(score=score)


class Pair(NamedTuple):
    """A statement that may replace an older one, by their ids.

    Attributes:
        old, new: The ids.
        date: Of the newer one.
        score: See `SHOWN`.
    """

    old: int
    new: int
    date: str
    score: float


def select(pairs: Iterable[Pair]) -> dict[int, Pair]:
    """Choose what is shown: for each older statement the newest of its best successors; return them by the older one.

    A newer statement replaces only what fits it nearly as well as its best. Where a successor is replaced itself, its own takes
    its place.
    """
    shown = [pair for pair in pairs if pair.score >= SHOWN]
    best: defaultdict[int, float] = defaultdict(float)
    for pair in shown:
        best[pair.new] = max(best[pair.new], pair.score)
    successors: defaultdict[int, list[Pair]] = defaultdict(list)
    for pair in shown:
        if pair.score >= best[pair.new] - NEARLY:
            successors[pair.old].append(pair)
    chosen = {}
    for old, several in successors.items():
        top = max(pair.score for pair in several)
        chosen[old] = max(
            (pair for pair in several if pair.score >= top - CLOSE), key=lambda pair: (pair.date, pair.score)
        )
    for old, pair in chosen.items():
        last = pair
        while last.new in chosen and chosen[last.new].date > last.date:
            last = chosen[last.new]
        chosen[old] = Pair(old, last.new, last.date, pair.score)
    return chosen


def _cover(own: list[str], old: Statement, new: Statement, bits: Bits) -> float:
    """Return the share of the shorter statement's information that the other one has, too."""
    totals = [sum(map(bits, each.own)) for each in (old, new)]
    return sum(map(bits, own)) / max(min(totals), 1.0)


def _compare_values(
    old: Statement, new: Statement, anchors: list[str], *, plain: bool, about: bool
) -> Comparison | None:
    """Return the values of one kind that differ and stand nearest to a word that both statements share."""
    found = []
    for value in new.values:
        alike = [each for each in old.values if each.kind == value.kind]
        if value.kind == "month" or not alike or value.text in {each.text for each in alike}:
            continue
        former = alike[0]
        named = any(each.text == former.text for each in new.values)
        if (
            (former.rate and value.rate and former.rate != value.rate)
            or (value.kind == "date" and _is_over(former.text, old.date, new.date))
            or (value.kind in ("weekday", "clock") and not _lasts(old, new))
            or (named and (plain or not about))
            or (
                value.kind.startswith("number:")
                and ((plain and not value.rate) or "event" in old.flags or len(alike) > 1)
            )
        ):
            continue
        beside = any(_stands_beside(word, former, old) and _stands_beside(word, value, new) for word in anchors)
        weight = 0.5 if value.kind == "number:" else 1.0
        found.append(
            Comparison(weight + 0.7 * bool(former.rate and value.rate) + 0.8 * named, "value", former, value, beside)
        )
    return max(found, key=lambda each: (each.beside, each.score), default=None)


def _stands_beside(word: str, value: Value, statement: Statement) -> bool:
    """Return True if a word stands close to a value, in the same clause."""
    text = strip_marks(statement.text.lower())
    at = text.find(word)
    first, last = sorted((at, value.start))
    return at >= 0 and last - first < BESIDE and not _CLAUSE.search(text, first, last)


def _lasts(old: Statement, new: Statement) -> bool:
    """Return True unless the older statement names one day or hour, which is over."""
    if old.date == UNDATED or {"state", "change"} & set(old.flags) or {"state", "change"} <= set(new.flags):
        return True
    return "change" in new.flags and (date.fromisoformat(new.date) - date.fromisoformat(old.date)).days <= SOON


def _is_over(day: str, written: str, today: str) -> bool:
    """Return True if a day was over when the newer note was written.

    Args:
        day: "YYYY-MM-DD", or without the year.
        written: The day of the note that names it.
        today: That of the newer note.
    """
    year, rest = day[:-6], day[-5:]
    if not year:
        if written == UNDATED:
            return rest < today[5:]
        year = written[:4] if rest >= written[5:] else str(int(written[:4]) + 1)
    return f"{year}-{rest}" < today


def _compare_names(old: Statement, new: Statement, anchors: list[str], *, about: bool) -> Comparison | None:
    """Return a judgement if two statements name different people, places or firms for one role."""
    before, after = set(old.names), set(new.names)
    if len(new.own) > MOST_WORDS or len(old.own) > MOST_WORDS or not {"state", "change"} & set(new.flags):
        return None
    dwell = [_list_stems(each.language, "dwell") & set(each.own) for each in (old, new)]
    if all(dwell) and before - after and after - before:
        whose = [word for word in anchors if word not in {*dwell[0], *dwell[1]}]
        if any(each.startswith(word) for word in whose for each in (*before, *after, *_find_capitals(old))):
            return Comparison(2.2, "role", None, None)
    heads = set(old.head) & set(new.head) - _list_stems(new.language, "people")
    roles = [word for word in anchors if word in heads and not any(name.startswith(word) for name in before)]
    fillers = {old.filler, new.filler}
    if about and roles and all(fillers) and len(fillers) > 1 and not fillers & before & after:
        return Comparison(1.3, "name", None, None)
    return None


def _find_capitals(statement: Statement) -> list[str]:
    return [strip_marks(word.lower()) for word in statement.text.split() if word[:1].isupper()]


def _has_other_owner(old: Statement, new: Statement, people: frozenset[str]) -> bool:
    """Return True if the two speak of different people: of a relative or a possessor whom the other one lacks."""
    if (set(new.own) & people) - {*old.own, *old.near}:
        return True
    said = {strip_marks(word.lower()) for word in re.findall(r"[^\W\d_]+", old.text)}
    owners = {strip_marks(name.lower()) for found in _OWNER.findall(new.text) for name in found if name}
    if owners and not owners & said and not owners & {each.lower() for each in old.names}:
        return True
    first, second = (set(each.names) for each in (old, new))
    mine, theirs = ({"1", "3"} & set(each.flags) for each in (old, new))
    return bool(mine and theirs and not mine & theirs and not first & second)


@cache
def _list_stems(language: str, name: Literal["people", "dwell"]) -> frozenset[str]:
    return frozenset(stem(list_words(language, name), language))
