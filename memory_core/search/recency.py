"""Newer statements before older ones, where a question asks how things are; older ones first, where it asks how they were."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from memory_core.search.candidates import Candidate, TermCounts
from memory_core.search.confidence import Confidence
from memory_core.search.question import Question
from memory_core.stores.values import IndexedChunk
from memory_core.text.tense import Time, find_asked_time, tells_change

# Statements of one matter have at least .6 of the best rank, and support within .1 of the best; those that tell a change, within
# .35, since they say no more than what is new. Where the best has little support, nobody knows what the matter is.
RANKED, ALIKE, ALIKE_CHANGED, LEAST = 0.6, 0.1, 0.35, 0.3
# Added to ranks, as shares of the best one: for the newest, if it tells a change, or if not; for the oldest, where that is asked.
CHANGED, NEWER, OLDER = 0.3, 0.05, 0.3
_LABEL = re.compile(r"^[ \t>*+_-]{0,8}([^\W\d_][\w.' -]{0,40})\*{0,2}:", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Recency:
    """The findings about the age of statements.

    Attributes:
        bonuses: What is added to ranks, by the number of the unit.
        newest: The number of the unit that replaces others; None if there is none.
        replaced: The numbers of these.
    """

    bonuses: Mapping[int, float] = field(default_factory=dict)
    newest: int | None = None
    replaced: frozenset[int] = frozenset()


def compare_ages(
    question: Question,
    candidates: Sequence[Candidate],
    counts: TermCounts,
    confidence: Confidence,
    ranks: Sequence[float],
) -> Recency:
    """Find the statements of the matter that is asked about, and what their age adds to their ranks.

    A note without a date is older than all others, where the present is asked, and of no age, where the past is. What is said in
    a conversation states nothing: there "now" and "new" stand everywhere.
    """
    asked = None if question.cjk else find_asked_time(question.text)
    best = max(ranks, default=0.0)
    if asked is None or best <= 0:
        return Recency()
    alike, changes = _find_alike(asked, candidates, counts, confidence, [rank / best for rank in ranks])
    if not alike:
        return Recency()
    since = alike[max(alike, key=ranks.__getitem__)]
    if asked == "then":
        earlier = {unit: day for unit, day in alike.items() if day < since}
        places = _place(earlier.values())
        return Recency({unit: OLDER * best * (1 + 1 / len(places) - places[day]) for unit, day in earlier.items()})
    later = {unit: day for unit, day in alike.items() if day > since}
    places = _place(later.values())
    bonuses = {unit: (CHANGED if unit in changes else NEWER) * best * places[day] for unit, day in later.items()}
    newest = max(changes, key=alike.__getitem__, default=None)
    if newest is None:
        return Recency(bonuses)
    replaced = (unit for unit, day in alike.items() if "" < day < alike[newest])
    same = frozenset(unit for unit in replaced if counts.counts[unit].keys() == counts.counts[newest].keys())
    return Recency(bonuses, newest, same)


def _find_alike(
    asked: Time, candidates: Sequence[Candidate], counts: TermCounts, confidence: Confidence, shares: Sequence[float]
) -> tuple[dict[int, str], set[int]]:
    """Return the statements of the matter with the dates of their notes, "" for none; and those that tell a change."""
    support = {unit: confidence.support(unit) for unit, share in enumerate(shares) if share >= RANKED}
    most = max(support.values())
    alike: dict[int, str] = {}
    changes: set[int] = set()
    for unit, share in support.items():
        number, index = counts.units[unit]
        chunk = candidates[number].chunk
        dated = chunk.date is not None or asked == "now"
        if (
            most < LEAST
            or share < most - ALIKE_CHANGED
            or not (dated and counts.counts[unit])
            or _is_said(chunk, index)
        ):
            continue
        if tells_change(chunk.text[chunk.units[index].start : chunk.units[index].end]):
            changes.add(unit)
        elif share < most - ALIKE:
            continue
        alike[unit] = chunk.date or ""
    return alike, changes


def _is_said(chunk: IndexedChunk, index: int) -> bool:
    """Return True for lines of a conversation: one has a label that other lines of its chunk have, too."""
    found = _LABEL.search(chunk.text, chunk.units[index].start, chunk.units[index].end)
    return found is not None and chunk.text.count(f"{found[1]}:") > 1


def _place(days: Iterable[str]) -> dict[str, float]:
    """Return the place of each day among some, above 0 for the first, 1 for the last."""
    ordered = sorted({*days})
    return {day: place / len(ordered) for place, day in enumerate(ordered, start=1)}
