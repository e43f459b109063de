"""Counts of a question's terms in the candidates and their units."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import compress, pairwise
from typing import TypeAlias

from memory_core.search.candidates import Candidate
from memory_core.search.question import Question
from memory_core.search.reader import Term
from memory_core.text.terms import cut_cjk

Stem: TypeAlias = Callable[[str], list[str]]

_BREAK = "\ue000u"  # stands before every text: a private character, so that no note holds it, which no stemmer changes
_BEFORE = 2  # texts of a candidate before its units: its headings, and what it repeats of the chunk before


class TermCounts:
    """Term counts of all candidates and of their units, as the keyword index would count them.

    Attributes:
        units: (number of the candidate, number of the unit in it) of every unit, in order.
        counts: For every unit, the number of times it holds each term.
        lengths: Words of every unit.
        chunk_counts: For every candidate, the number of times it holds each term, its headings and what it repeats of the
            chunk before included.
        chunk_lengths: Words of every candidate, counted alike.
        found: For every candidate, True for each word of the question that it holds, its headings, date and name included,
            what it repeats left out; words that name a period are held by the notes of its days.
        identified: For every candidate, True if it or its headings hold an identifier of the question.
    """

    def __init__(self, question: Question, candidates: Sequence[Candidate], stem: Stem) -> None:
        self.units: list[tuple[int, int]] = []
        self.counts: list[dict[int, int]] = []
        self.lengths: list[int] = []
        self.chunk_counts: list[dict[int, int]] = []
        self.chunk_lengths: list[int] = []
        self.found: list[list[bool]] = []
        self.identified: list[bool] = []
        texts = [text for candidate in candidates for text in _texts(candidate)]
        counts, words = _count(question.terms, texts, stem)
        begin = 0
        for number, candidate in enumerate(candidates):
            size = len(candidate.chunk.units)
            first = begin + _BEFORE
            end = first + size
            self.units += [(number, index) for index in range(size)]
            self.counts += counts[first:end]
            self.lengths += words[first:end]
            own = _add_up([counts[begin], *counts[first:end]])
            dated = question.period_words if candidate.chunk.date in (question.period or ()) else ()
            self.found.append([word in own or word in dated for word in range(len(question.words))])
            self.identified.append(not question.identifiers.isdisjoint(own))
            self.chunk_counts.append(_add_up([own, *counts[begin + 1 : first]]))
            self.chunk_lengths.append(sum(words[begin:end]))
            begin = end

    def best_shares(self, weights: Sequence[float]) -> list[float]:
        """For every candidate, the largest share of the weight of terms, the first ones, that one of its units holds, 0..1."""
        best = [0.0] * len(self.found)
        for (number, _), counts in zip(self.units, self.counts, strict=True):
            if counts:
                share = sum([weights[term] for term in counts if term < len(weights)])
                best[number] = max(best[number], share)
        whole = sum(weights)
        return [share / whole for share in best]


def _texts(candidate: Candidate) -> Iterator[str]:
    """Yield the context of a candidate, what it repeats of the chunk before, and its units; CJK cut into pairs."""
    chunk = candidate.chunk
    text = chunk.text
    context = f"{chunk.context} {chunk.date} {chunk.path}" if candidate.is_named else chunk.context
    texts = [context, text[: chunk.units[0].start], *(text[unit.start : unit.end] for unit in chunk.units)]
    return iter(texts) if text.isascii() and context.isascii() else map(cut_cjk, texts)


def _count(terms: Sequence[Term], texts: Sequence[str], stem: Stem) -> tuple[list[dict[int, int]], list[int]]:
    """Count for every text the terms, by their numbers, and the words, in one call of the stemmer."""
    stems = stem("".join(f" {_BREAK} {text}" for text in texts))
    if stems.count(_BREAK) != len(texts):  # a note holds the break itself
        stems = [each for text in texts for each in (_BREAK, *(own for own in stem(text) if own != _BREAK))]
    wanted = _by_first_stem(terms, stems)
    marked = {_BREAK, *wanted}
    counts: list[dict[int, int]] = []
    breaks: list[int] = []
    for at in compress(range(len(stems)), map(marked.__contains__, stems)):
        found = stems[at]
        if found == _BREAK:
            counts.append({})
            breaks.append(at)
            continue
        held = counts[-1]
        for number, run in wanted[found]:
            if len(run) == 1 or tuple(stems[at : at + len(run)]) == run:
                held[number] = held.get(number, 0) + 1
    return counts, [end - start - 1 for start, end in pairwise([*breaks, len(stems)])]


def _by_first_stem(terms: Sequence[Term], stems: Iterable[str]) -> Mapping[str, Sequence[tuple[int, tuple[str, ...]]]]:
    """Group the numbers and stems of terms by their first stem; a prefix, one character, is under every stem that begins
    with it, and a word also under the stems of its forms.
    """
    wanted: dict[str, list[tuple[int, tuple[str, ...]]]] = {}
    beginnings: dict[str, list[str]] = {term.stems[0]: [] for term in terms if term.prefix}
    for stem in set(stems) if beginnings else ():
        if (beginning := beginnings.get(stem[0])) is not None:
            beginning.append(stem)
    for number, term in enumerate(terms):
        firsts = beginnings[term.stems[0]] if term.prefix else term.stems[:1]
        for first in firsts:
            wanted.setdefault(first, []).append((number, term.stems))
        for form in term.forms:
            wanted.setdefault(form.stem, []).append((number, (form.stem,)))
    return wanted


def _add_up(several: Iterable[Mapping[int, int]]) -> dict[int, int]:
    total: dict[int, int] = {}
    for counts in filter(None, several):
        for term, count in counts.items():
            total[term] = total.get(term, 0) + count
    return total
