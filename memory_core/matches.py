"""Where the terms of a question stand in the chunks that may answer it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import compress, pairwise

from memory_core.candidates import Candidate
from memory_core.question import Question, Term
from memory_core.store.connection import Tokenize
from memory_core.terms import cut_cjk

_BREAK = "\ue000u"  # stands before every text: a private character, so that no note holds it, which no stemmer changes
_BEFORE = 2  # texts of a candidate before its units: its headings, and what it repeats of the chunk before


class Matches:
    """Term counts of all candidates and of their units, as the keyword index would count them.

    Attributes:
        units: (number of the candidate, number of the unit in it) of every unit, in order.
        counts: For every unit, how often it holds which term.
        lengths: Words of every unit.
        chunk_counts: For every candidate, how often it holds which term, its headings and what it repeats of the chunk
            before included.
        chunk_lengths: Words of every candidate, counted alike.
        found: For every candidate, which words of the question it holds, its headings, date and name included, what it
            repeats left out; words that name a period are held by the notes of its days.
        identified: For every candidate, whether it or its headings hold an identifier of the question.
    """

    def __init__(self, question: Question, found: Sequence[Candidate], tokenize: Tokenize) -> None:
        self.units: list[tuple[int, int]] = []
        self.counts: list[dict[int, int]] = []
        self.lengths: list[int] = []
        self.chunk_counts: list[dict[int, int]] = []
        self.chunk_lengths: list[int] = []
        self.found: list[list[bool]] = []
        self.identified: list[bool] = []
        texts = [text for candidate in found for text in _texts(candidate)]
        counts, words = _counted(question.terms, texts, tokenize)
        begin = 0
        for number, candidate in enumerate(found):
            first = begin + _BEFORE
            end = first + len(candidate.units)
            self.units += [(number, index) for index in range(len(candidate.units))]
            self.counts += counts[first:end]
            self.lengths += words[first:end]
            own = _sum([counts[begin], *counts[first:end]])
            dated = question.period_words if candidate.date in (question.period or ()) else ()
            self.found.append([word in own or word in dated for word in range(len(question.words))])
            self.identified.append(not question.identifiers.isdisjoint(own))
            self.chunk_counts.append(_sum([own, *counts[begin + 1 : first]]))
            self.chunk_lengths.append(sum(words[begin:end]))
            begin = end

    def best(self, weights: Sequence[float]) -> list[float]:
        """For every candidate, the largest share of the question's words that one of its units holds, 0..1."""
        best = [0.0] * len(self.found)
        for (number, _), counts in zip(self.units, self.counts, strict=True):
            if counts:
                best[number] = max(best[number], sum(weights[term] for term in counts if term < len(weights)))
        whole = sum(weights)
        return [share / whole for share in best]


def _texts(candidate: Candidate) -> Iterator[str]:
    """The context of a candidate, what it repeats of the chunk before, and its units; CJK cut into pairs."""
    text = candidate.text
    context = f"{candidate.context} {candidate.date} {candidate.path}" if candidate.named else candidate.context
    texts = [context, text[: candidate.units[0].start], *(text[unit.start : unit.end] for unit in candidate.units)]
    return iter(texts) if text.isascii() and context.isascii() else map(cut_cjk, texts)


def _counted(terms: Sequence[Term], texts: Sequence[str], tokenize: Tokenize) -> tuple[list[dict[int, int]], list[int]]:
    """For every text, how often it holds which term, by the term's number, and how many words; in one call of the tokenizer."""
    stems = tokenize("".join(f" {_BREAK} {text}" for text in texts).encode())
    if stems.count(_BREAK) != len(texts):  # a note holds the break itself
        stems = [
            stem for text in texts for stem in (_BREAK, *(own for own in tokenize(text.encode()) if own != _BREAK))
        ]
    wanted = _by_first_stem(terms, stems)
    marked = {_BREAK, *wanted}
    counts: list[dict[int, int]] = []
    breaks: list[int] = []
    for at in compress(range(len(stems)), map(marked.__contains__, stems)):
        stem = stems[at]
        if stem == _BREAK:
            counts.append({})
            breaks.append(at)
            continue
        held = counts[-1]
        for number, run in wanted[stem]:
            if len(run) == 1 or tuple(stems[at : at + len(run)]) == run:
                held[number] = held.get(number, 0) + 1
    return counts, [end - start - 1 for start, end in pairwise([*breaks, len(stems)])]


def _by_first_stem(terms: Sequence[Term], stems: Iterable[str]) -> Mapping[str, Sequence[tuple[int, tuple[str, ...]]]]:
    """The numbers and stems of terms by the first one, which of a prefix is every stem that begins with it."""
    wanted: dict[str, list[tuple[int, tuple[str, ...]]]] = {}
    for number, term in enumerate(terms):
        firsts = {stem for stem in stems if stem.startswith(term.stems)} if term.prefix else term.stems[:1]
        for first in firsts:
            wanted.setdefault(first, []).append((number, term.stems))
    return wanted


def _sum(several: Iterable[Mapping[int, int]]) -> dict[int, int]:
    total: dict[int, int] = {}
    for counts in filter(None, several):
        for term, count in counts.items():
            total[term] = total.get(term, 0) + count
    return total
