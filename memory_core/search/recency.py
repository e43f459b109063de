"""Newer statements before older ones, where a question asks how things are; older ones first, where it asks how they were.

A newer statement may repeat words of the older one rather than of the question: "Plusway costs more from May" after "Broadband:
Plusway". `find_later` looks for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta

from memory_core.search.confidence import Confidence
from memory_core.search.copies import is_plain
from memory_core.search.scores import coverage_weight
from memory_core.stores.interface import Reader
from memory_core.stores.values import DateRange, IndexedChunk, Term
from memory_core.text.tense import tells_change
from memory_core.text.terms import extract_words

# Statements of one matter have at least half of the best rank, and support within .1 of the best; those that tell a change,
# within .5, since they say no more than what is new. Where the best has little support, nobody knows what the matter is.
RANKED, ALIKE, ALIKE_CHANGED, LEAST = 0.5, 0.1, 0.5, 0.3
# Added to ranks, as shares of the best one: for the newest, if it tells a change, or if not; for the oldest, where that is asked.
CHANGED, NEWER, OLDER = 0.3, 0.05, 0.3
# A line says the same thing as an older one of so many WORDS at most, since longer ones tell what has happened, if it repeats so
# much of it, or, telling a change, CHANGES of it, and at least SAID of information: the sum of `coverage_weight`. It is looked
# for by words that at most HELD chunks hold, in so many chunks; its rank is ABOVE times the best one.
REPEATS, CHANGES, SAID, WORDS, HELD, CHUNKS, ABOVE = 0.5, 0.3, 3.0, 8, 50, 6, 1.01
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


def compare_ages(confidence: Confidence, ranks: Sequence[float]) -> Recency:
    """Find the statements of the matter that is asked about, and what their age adds to their ranks.

    A note without a date is older than all others, where the present is asked; where the past is, it is older than a line that
    tells a change, and of no age beside others. What is said in a conversation states nothing: there "now" and "new" stand
    everywhere.
    """
    question, counts = confidence.question, confidence.counts
    asked = None if question.cjk else question.time
    best = max(ranks, default=0.0)
    if asked is None or best <= 0:
        return Recency()
    alike, changes = _find_alike(confidence, [rank / best for rank in ranks])
    if not alike:
        return Recency()
    first = max(alike, key=ranks.__getitem__)
    since = alike[first]
    if asked == "then":
        earlier = {unit: day for unit, day in alike.items() if day < since and (day or first in changes)}
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


def find_later(
    reader: Reader, confidence: Confidence, ranks: Sequence[float], dates: DateRange
) -> tuple[IndexedChunk, int] | None:
    """Find a later line that says the same as the best unit, if the question asks how things are; None if there is none.

    Args:
        reader: Of the index.
        confidence: Of the units of the search.
        ranks: Of these units.
        dates: Those of the notes that are searched.

    Returns:
        Its chunk, and the number of the unit in it.
    """
    question = confidence.question
    if not ranks or question.cjk or question.time != "now":
        return None
    best = max(range(len(ranks)), key=ranks.__getitem__)
    number, index = confidence.counts.units[best]
    chunk = confidence.candidates[number].chunk
    if _is_said(chunk, index) or confidence.support(best) < LEAST:
        return None

    def measure(text: str) -> float:
        return sum(weights[stem] for stem in weights.keys() & {*reader.stem(text)})

    words = extract_words(chunk.quote_unit(index))
    stems = {stem: word for word in words if not word.isdigit() for stem in reader.stem(word)[:1]}
    held = reader.count_by_stem(stems) if len(stems) <= WORDS else {}
    weights = {stem: coverage_weight(question.chunks, held.get(stem, 1)) for stem in stems}
    repeated = sorted((held[stem], stem) for stem in stems if held.get(stem, 0) > 1)
    whole, most = sum(weights.values()), sum(weights[stem] for _, stem in repeated)
    changes, repeats = max(SAID, CHANGES * whole), max(SAID, REPEATS * whole)
    terms = [Term(stems[stem], (stem,), count) for count, stem in repeated if count <= HELD]
    if most < changes or not terms:
        return None
    found: list[tuple[float, str, int, IndexedChunk]] = []
    if chunk.date:
        day = date.fromisoformat(chunk.date) + timedelta(days=1)
        dates = dates._replace(first=max(day, dates.first or day))
    for later in reader.load_chunks(reader.find_by_keyword(terms, dates, CHUNKS)):
        if not later.date or not is_plain(later) or measure(later.text) < changes:
            continue
        for place, unit in enumerate(later.units):
            text = later.text[unit.start : unit.end]
            said = measure(text)
            if said >= repeats or (said >= changes and tells_change(text)):
                found.append((said, later.date, -place, later))
    best_found = max(found, key=lambda each: each[:3], default=None)
    return best_found and (best_found[3], -best_found[2])


def _find_alike(confidence: Confidence, shares: Sequence[float]) -> tuple[dict[int, str], set[int]]:
    """Return the statements of the matter with the dates of their notes, "" for none; and those that tell a change."""
    candidates, counts = confidence.candidates, confidence.counts
    support = {at: confidence.support(at) for at, share in enumerate(shares) if share >= RANKED and counts.counts[at]}
    best = max(support, key=support.__getitem__, default=None)
    if best is None or support[best] < LEAST:
        return {}, set()
    most, matter = support[best], {*counts.counts[best], *counts.above[best]}
    alike: dict[int, str] = {}
    changes: set[int] = set()
    for unit, share in support.items():
        number, index = counts.units[unit]
        chunk = candidates[number].chunk
        if share < most - ALIKE_CHANGED or _is_said(chunk, index):
            continue
        of_matter = not matter.isdisjoint((*counts.counts[unit], *counts.above[unit]))
        if of_matter and tells_change(chunk.quote_unit(index)):
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
