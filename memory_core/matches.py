"""Where the terms of a question stand in the chunks that may answer it."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

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
        found: For every candidate, which words of the question it holds, its headings, date and name included; words that
            name a period are held by the notes of its days.
        identified: For every candidate, whether it or its headings hold an identifier of the question.
    """

    def __init__(self, question: Question, found: Sequence[Candidate], tokenize: Tokenize) -> None:
        self.units: list[tuple[int, int]] = []
        self.counts: list[dict[int, int]] = []
        self.lengths: list[int] = []
        self.found: list[list[bool]] = []
        self.identified: list[bool] = []
        wanted: dict[str, list[tuple[int, tuple[str, ...]]]] = {}  # by first stem
        for number, term in enumerate(question.terms):
            wanted.setdefault(term.stems[0], []).append((number, term.stems))
        for number, candidate in enumerate(found):
            stems, breaks = _stems(candidate, tokenize)
            held = set(stems)
            self.units += [(number, index) for index in range(len(candidate.units))]
            self.counts += _counts(stems, breaks, {first: wanted[first] for first in wanted.keys() & held})
            self.lengths += [end - start - 1 for start, end in pairwise([*breaks, len(stems)])]
            dated = question.period_words if candidate.date in (question.period or ()) else ()
            self.found.append([word.held_by(held) or n in dated for n, word in enumerate(question.words)])
            self.identified.append(any(_holds(stems, question.terms[number].stems) for number in question.identifiers))

    def best(self, weights: Sequence[float]) -> list[float]:
        """For every candidate, the largest share of the question's words that one of its units holds, 0..1."""
        best = [0.0] * len(self.found)
        for (number, _), counts in zip(self.units, self.counts, strict=True):
            if counts:
                best[number] = max(best[number], sum(weights[term] for term in counts if term < len(weights)))
        whole = sum(weights)
        return [share / whole for share in best]


def _counts(
    stems: list[str], breaks: Sequence[int], wanted: Mapping[str, Sequence[tuple[int, tuple[str, ...]]]]
) -> list[dict[int, int]]:
    """For every unit, how often it holds which term; terms by their first stem, as (number, stems)."""
    counts: list[dict[int, int]] = [{} for _ in breaks]
    for first, terms in wanted.items():
        for at in _places(stems, first, breaks[0]):
            held = counts[bisect(breaks, at) - 1]
            for number, term in terms:
                if len(term) == 1 or tuple(stems[at : at + len(term)]) == term:
                    held[number] = held.get(number, 0) + 1
    return counts


def _holds(stems: list[str], run: tuple[str, ...]) -> bool:
    """Whether the stems of a term stand together somewhere."""
    return any(tuple(stems[at : at + len(run)]) == run for at in _places(stems, run[0], 0))


def _places(stems: list[str], stem: str, start: int) -> Iterator[int]:
    """Where a stem stands, from a place on."""
    for _ in range(stems.count(stem)):
        try:
            start = stems.index(stem, start) + 1
        except ValueError:  # the others stand before
            return
        yield start - 1


def _stems(candidate: Candidate, tokenize: Tokenize) -> tuple[list[str], list[int]]:
    """The stems of the context and of the units, through one call of the tokenizer; a break stands before every unit.

    Returns:
        All of them, and where the breaks stand.
    """
    context = f"{candidate.context} {candidate.date} {candidate.path}" if candidate.named else candidate.context
    texts = [context, *(candidate.text[unit.start : unit.end] for unit in candidate.units)]
    if not (candidate.text.isascii() and context.isascii()):
        texts = [cut_cjk(text) for text in texts]
    stems = tokenize(f" {_BREAK} ".join(texts).encode())
    breaks = [*_places(stems, _BREAK, 0)]
    if len(breaks) == len(candidate.units):
        return stems, breaks
    stems, breaks = tokenize(texts[0].encode()), []  # a note that holds the break itself
    for text in texts[1:]:
        breaks.append(len(stems))
        stems += [_BREAK, *tokenize(text.encode())]
    return stems, breaks
