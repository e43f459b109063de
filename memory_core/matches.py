"""Where the terms of a question stand in the chunks that may answer it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from memory_core.candidates import Candidate
from memory_core.question import Question
from memory_core.store.connection import Tokenize
from memory_core.terms import cut_cjk

_BREAK = "\ue000u"  # a word of a private character, which no stemmer changes and no note holds: stands between units


class Matches:
    """Term counts of the units of all candidates.

    Attributes:
        units: (number of the candidate, number of the unit in it) of every unit, in order.
        counts: For every unit, how often it holds which term.
        lengths: Words of every unit.
        found: For every candidate, which words of the question it holds, its headings, date and name included.
    """

    def __init__(self, question: Question, found: Sequence[Candidate], tokenize: Tokenize) -> None:
        self.units: list[tuple[int, int]] = []
        self.counts: list[dict[int, int]] = []
        self.lengths: list[int] = []
        self.found: list[list[bool]] = []
        self._wanted: dict[str, list[tuple[int, tuple[str, ...]]]] = {}  # by first stem
        for number, term in enumerate(question.terms):
            self._wanted.setdefault(term.stems[0], []).append((number, term.stems))
        for number, candidate in enumerate(found):
            context = f"{candidate.context} {candidate.date} {candidate.path}" if candidate.named else candidate.context
            held = set(tokenize(cut_cjk(context).encode()))
            for index, stems in enumerate(_stems_of_units(candidate, tokenize)):
                self.units.append((number, index))
                self.lengths.append(len(stems))
                distinct = set(stems)
                self.counts.append(self._count(stems, distinct))
                held |= distinct
            self.found.append([word.held_by(held) for word in question.words])

    def best(self, weights: Sequence[float]) -> list[float]:
        """For every candidate, the largest share of the question's words that one of its units holds, 0..1."""
        best = [0.0] * len(self.found)
        for (number, _), counts in zip(self.units, self.counts, strict=True):
            if counts:
                best[number] = max(best[number], sum(weights[term] for term in counts if term < len(weights)))
        whole = sum(weights)
        return [share / whole for share in best]

    def _count(self, stems: list[str], distinct: set[str]) -> dict[int, int]:
        counts = {}
        for first in self._wanted.keys() & distinct:
            for number, wanted in self._wanted[first]:
                counts[number] = stems.count(first) if len(wanted) == 1 else _count_run(stems, wanted)
        return counts


def _count_run(stems: list[str], wanted: tuple[str, ...]) -> int:
    """How often the stems of a phrase stand together."""
    size = len(wanted)
    return sum(tuple(stems[at : at + size]) == wanted for at in range(len(stems) - size + 1))


def _stems_of_units(candidate: Candidate, tokenize: Tokenize) -> Iterator[list[str]]:
    """The stems of every unit, through one call of the tokenizer."""
    texts = [candidate.text[unit.start : unit.end] for unit in candidate.units]
    stems = tokenize(cut_cjk(f" {_BREAK} ".join(texts)).encode())
    if stems.count(_BREAK) != len(texts) - 1:  # a note that holds the break itself
        yield from (tokenize(cut_cjk(text).encode()) for text in texts)
        return
    start = 0
    for _ in texts[1:]:
        end = stems.index(_BREAK, start)
        yield stems[start:end]
        start = end + 1
    yield stems[start:]
