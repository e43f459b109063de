"""The score that a hit shows: how surely a unit answers, apart from the evidence that is compared with `minScore`.

Evidence is that of a chunk: its words may be those of several matters. Here the words count that stand in the unit, above it and
beside it; words that are near by the model's table of tokens count in part. A question of few words says little of what it means,
so it is trusted less.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TypeAlias

from memory_core.search.candidates import DIALLED, TermCounts, names_telephone
from memory_core.search.question import Question
from memory_core.text.periods import names_day
from memory_core.text.tables import PHRASES
from memory_core.text.tense import asks_time, find_tense
from memory_core.text.terms import detect_language
from memory_core.text.tokens import WORD, compile_once

# The worth of a word of the question that stands in the headings above a unit, and one or two units away: in it, it is 1.
ABOVE, BESIDE = 0.9, (0.5, 0.3)
_AROUND = ((-2, BESIDE[1]), (2, BESIDE[1]), (-1, BESIDE[0]), (1, BESIDE[0]))
# Of the cosine of the unit's window, as a score. To a table of tokens any two texts of another language than English are near, so
# that it counts there as far as words agree: times the root of the share of the question that the unit holds.
MEANING, TABLE_MEANING = 0.4, 0.54
# Taken where the question asks for a number, one that is dialled or a time, and the unit has none, and where the other one of two
# speakers says it. What a dated note tells of the past has its time.
LACKS_NUMBER, LACKS_TELEPHONE, LACKS_TIME, OTHER_SPEAKER = 0.1, 0.1, 0.1, 0.1
LACKS_NAME = 0.05  # taken where a word that the question writes with a capital stands neither in the unit nor above it
# The confidence at which a hit shows .35, .6 and 1, with straight lines between: docs/search.md says what they mean.
SHOWN = (0.35, 0.6, 1.0)
Points: TypeAlias = tuple[float, float, float]
WITH_TABLE: Points = (0.1, 0.5, 1.0)
WITH_CONTEXT: Points = (0.15, 0.58, 1.1)  # of a local model with tokens in their context: all-MiniLM-L6-v2
BY_KEYWORD: Points = (0.05, 0.38, 1.0)


_NUMBER = re.compile(r"\d")


@dataclass(frozen=True)  # without slots, so that what units share is computed once
class Confidence:
    """Tells how surely the units of a search answer its question.

    Attributes:
        counts: Of the candidates of the question.
        others: For every unit how weak it is: 1 where the other one of two speakers says it.
        score_window: The score of the cosine of a unit's window, 0..1, by the unit's number; None without vectors.
        alike: For every unit what each word of the question counts at least, as a share of the question; None without a table.
        points: The confidences at which hits show `SHOWN`; None where that was not measured, and they show their evidence.
    """

    counts: TermCounts
    others: Sequence[float]
    score_window: Callable[[int], float] | None = None
    alike: Sequence[Sequence[float]] | None = None
    points: Points | None = BY_KEYWORD

    @property
    def question(self) -> Question:
        """The question."""
        return self.counts.question

    def support(self, unit: int) -> float:
        """Return the share of the question that a unit holds, 0..1; words that stand near it count less."""
        counts, (number, index) = self.counts, self.counts.units[unit]
        chunk = counts.candidates[number].chunk
        places = range(unit - index, unit - index + len(chunk.units))
        held: dict[int, float] = {}
        for away, worth in _AROUND:
            if unit + away in places and (terms := counts.counts[unit + away]):
                for term, count in terms.items():
                    held[term] = worth * count if count < 1 else worth
        for term in counts.above[unit]:
            held[term] = ABOVE
        for term, count in counts.counts[unit].items():
            held[term] = count if count < 1 else 1.0
        if self.question.period_words and self.question.is_dated(chunk):
            held.update(dict.fromkeys(self.question.period_words, 1.0))
        values = [0.0] * len(self._shares) if self.alike is None else [*self.alike[unit]]
        for term, worth in held.items():
            if term < len(values):  # else a phrase
                values[term] = max(values[term], worth * self._shares[term])
        return sum(values)

    def measure(self, unit: int) -> float:
        """Return how surely a unit answers the question; it may be below 0."""
        support = self.support(unit)
        value = support * len(self._shares) / (len(self._shares) + 1) - OTHER_SPEAKER * self.others[unit]
        if self.score_window is not None and self.others[unit] <= 1:  # what only asks is near, and answers nothing
            value += (MEANING if self.alike is None else TABLE_MEANING * support**0.5) * self.score_window(unit)
        if self.lack_names(unit):
            value -= LACKS_NAME
        said = self.counts.quote(unit)
        if self._asks_number and not _NUMBER.search(said):
            value -= LACKS_NUMBER
        if self._asks_telephone and not DIALLED.search(" ".join(WORD.findall(said))):
            value -= LACKS_TELEPHONE
        if self._asks_time and not self._tells_time(unit):
            value -= LACKS_TIME
        return value

    def _tells_time(self, unit: int) -> bool:
        """Return True if a unit names a time; the date of its note is the time of what was, not of an appointment in it."""
        said = self.counts.quote(unit)
        if self.counts.get_chunk(unit).date is None:
            return _names_time(said)
        return self._asks_past or _names_time(_HEADINGS.sub("", said))

    def lack_names(self, unit: int) -> float:
        """Return the share of the question's names that stand neither in a unit nor above it; 0 where it has none."""
        held, above = self.counts.counts[unit], self.counts.above[unit]
        lacking = sum([name not in held and name not in above for name in self.names])
        return lacking / len(self.names) if lacking else 0.0

    def rate(self, unit: int, evidence: float) -> float:
        """Return the score that a hit of a unit shows, 0..1.

        Args:
            unit: Its number.
            evidence: That of its chunk. Below .35 it is the score; from there on the score is at least .35.
        """
        least, sure, most = self.points or (0.0, 0.0, 0.0)
        if evidence < SHOWN[0] or self.points is None:
            return evidence
        value = self.measure(unit)
        if value < sure:
            return SHOWN[0] + max(value - least, 0.0) / (sure - least) * (SHOWN[1] - SHOWN[0])
        return min(SHOWN[1] + (value - sure) / (most - sure) * (SHOWN[2] - SHOWN[1]), SHOWN[2])

    @cached_property
    def _asks_number(self) -> bool:
        return _asks_for_number().search(self.question.text) is not None

    @cached_property
    def _asks_telephone(self) -> bool:
        return any(names_telephone(word.text) for word in self.question.words)

    @cached_property
    def _asks_time(self) -> bool:
        return asks_time(self.question.text)

    @cached_property
    def _asks_past(self) -> bool:
        return find_tense(self.question.text, detect_language(self.question.text) or "en") == "past"

    @cached_property
    def _shares(self) -> list[float]:
        """The share of each word in the question."""
        whole = sum(self.question.weights) or 1.0
        return [weight / whole for weight in self.question.weights]

    @cached_property
    def names(self) -> list[int]:
        """The numbers of the words that the question writes with a capital, though no sentence begins with them."""
        text = self.question.text
        capitals = {
            found[0].lower()
            for found in WORD.finditer(text)
            if found[0][0].isupper() and text[: found.start()].rstrip()[-1:] not in {"", ".", "?", "!"}
        }
        return [number for number, word in enumerate(self.question.words) if word.text in capitals]


_asks_for_number = partial(compile_once, rf"(?xi)\b(?:{PHRASES['all']['asks number']})\b")
_HEADINGS = re.compile(r"^ {0,3}#{1,6}[ \t].*$", re.MULTILINE)
_CLOCK = re.compile(r"\b\d{1,2}(?:[:.h]\d\d|\s?(?:h|Uhr|[ap]m)\b)")


def _names_time(text: str) -> bool:
    """Return True if a text names a day, a month, or a time of the day."""
    return _CLOCK.search(text) is not None or names_day(text)
