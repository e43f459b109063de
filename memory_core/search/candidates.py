"""The chunks whose units are worth ranking, by keyword, by vector and by name, and the counts of the question's terms in them."""

from __future__ import annotations

import os
import re
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, islice
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from memory_core.records import Query
from memory_core.search import scores
from memory_core.search.copies import is_plain, join_chunks, may_answer, only_asks
from memory_core.search.question import Question
from memory_core.stores.interface import Reader, best_of
from memory_core.stores.values import DateRange, IndexedChunk, Term, sort_equals
from memory_core.text.folding import fold, strip_marks
from memory_core.text.markdown import parse_heading
from memory_core.text.tables import PHRASES
from memory_core.text.terms import is_single_cjk

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MIN_DEPTH = 32  # chunks of each side, even for few results
RANKED_CHUNKS = 16  # 24 show .005 more of conversations, .004 more of meetings, and take a sixth more time
RANKED_IN_CONTEXT = 32  # with tokens in their context, whose question takes far longer: .006 more of conversations
SURE_OF_BOTH = 0.25  # of these the best of both sides together, which may be best on none
SURE_OF_EACH = 0.5  # the best of each side, however low the other puts them: .004 more of conversations
OF_PERIOD = 24  # more of the period that the question names
LOOKED_AT = 8  # times as many, where copies, session logs or reports crowd out notes
RANKED_AMONG = 64  # of those that may be candidates, since only some of their units count


class Candidate(NamedTuple):
    """A chunk whose units are ranked.

    Attributes:
        chunk: It.
        is_named: The question names its file.
        copies: Chunks of other files with the same text.
    """

    chunk: IndexedChunk
    is_named: bool = False
    copies: Sequence[IndexedChunk] = ()


def find_candidates(
    reader: Reader,
    question: Question,
    query: Query,
    weights: scores.Weights,
    *,
    multiplier: int,
    find_near: Callable[[int], Mapping[int, float]],
    near_share: float = 1.0,
    among: Collection[int] | None = None,
    ranked: int = RANKED_CHUNKS,
) -> tuple[list[Candidate], Mapping[int, float], Mapping[int, float]]:
    """Find the chunks to rank: by keyword, by vector, by the names and the period in the question.

    Args:
        reader: Of the index.
        question: As the index understands it.
        query: Its dates and its number of results hold.
        weights: Of the two sides; a side without weight is not asked.
        multiplier: The number of chunks that are looked at for each result asked for.
        find_near: Returns the cosines of the nearest chunks by chunk id, given how many; none without vectors.
        near_share: What cosines count beside keywords, 0..1.
        among: The chunks that may be candidates; None allows all.
        ranked: The most candidates, unless more results are asked for; with `among` there are up to `RANKED_AMONG`.

    Returns:
        Those whose units are ranked, as `sort_equals` orders them: of units that rank alike, those of the first stay first; and
        the keyword scores, and the cosines, of all chunks that were looked at, by chunk id, best first.
    """
    dates = DateRange(query.after, query.before)
    period = _find_of_period(reader, question, among)

    def look(depth: int) -> tuple[Mapping[int, float], Mapping[int, float]]:
        texts: Mapping[int, float] = {}
        if weights.text and question.held:
            texts = reader.find_by_keyword(question.held, dates, depth if among is None else reader.count_chunks())
        if among is not None:
            texts = {chunk_id: score for chunk_id, score in texts.items() if chunk_id in among}
        return texts, find_near(depth)

    depth = max(MIN_DEPTH, query.max_results * multiplier)
    by_text, near = look(depth)
    count = max(ranked if among is None else RANKED_AMONG, query.max_results)
    named = dict.fromkeys(
        chunk_id
        for name in question.names
        for chunk_id in reader.find_by_name(name, dates, count)
        if among is None or chunk_id in among
    )
    merged = _merge(by_text, near, weights, near_share)
    ids = {**named}
    if by_text and near:
        for values, share in ((merged, SURE_OF_BOTH), (by_text, SURE_OF_EACH), (near, SURE_OF_EACH * near_share)):
            most = min(round(share * ranked), count - len(ids))
            ids.update(dict.fromkeys(best_of(reader, values, max(0, most))))
    others = {chunk_id: value for chunk_id, value in merged.items() if chunk_id not in ids}
    ids.update(dict.fromkeys(best_of(reader, others, max(0, count - len(ids)))))
    ids.update(dict.fromkeys(period))
    chunks = reader.load_chunks(ids)
    groups, words = join_chunks(sort_equals(chunks)), {fold(word.text) for word in question.words}
    if among is None and (len(groups) < len(chunks) or _are_crowded(reader, chunks, count, words)):
        for times in (LOOKED_AT, LOOKED_AT**2):
            by_text, near = look(depth * times)
            more = best_of(reader, _merge(by_text, near, weights, near_share), count * times)
            order = {chunk_id: place for place, chunk_id in enumerate(ids | more)}
            groups = join_chunks(sorted(reader.load_chunks(order), key=lambda chunk: order[chunk.id]))
            if sum(may_answer(group[0]) for group in groups) > query.max_results // 2 or len(more) < count * times:
                break
        kept = {group[0].id: group for group in _make_room(groups, max(count, len(ids)), words)}
        groups = [kept[chunk.id] for chunk in sort_equals([group[0] for group in kept.values()])]
    found = [Candidate(group[0], not named.keys().isdisjoint(each.id for each in group), group[1:]) for group in groups]
    return found, by_text, near


def _are_crowded(reader: Reader, chunks: Sequence[IndexedChunk], count: int, words: Collection[str]) -> bool:
    """Return True if session logs and reports may take the places of better chunks: of notes, or of logs that do not only ask."""
    half = -(-len(chunks) // 2)
    if len([*islice(filter(may_answer, chunks), half)]) == half:
        return False
    return len(chunks) < count or any(only_asks(each.text, words) for each in chunks) or reader.holds_notes()


def _make_room(groups: Sequence[list[IndexedChunk]], count: int, words: Collection[str]) -> list[list[IndexedChunk]]:
    """Choose the first of some groups of equal chunks, at most half of them session logs and reports while there are notes.

    Those that only ask for the words come last, be they notes.
    """
    plain = [group for group in groups if may_answer(group[0])]
    room = max(count // 2, count - len(plain))
    others: list[list[IndexedChunk]] = []
    asking: list[list[IndexedChunk]] = []
    for group in groups:
        if len(others) == room:
            break
        if not may_answer(group[0]):
            only = is_plain(group[0]) or only_asks(group[0].text, words)
            (asking if only else others).append(group)
    others = [*others, *asking][:room]
    return [*plain[: count - len(others)], *others]


def _find_of_period(reader: Reader, question: Question, among: Collection[int] | None) -> Sequence[int]:
    """Find the chunks of the period that the question names: first those that hold most of its words."""
    named = question.named
    if named is None or (named.period.last - named.period.first).days >= scores.LONG_PERIOD:
        return ()
    own = dict.fromkeys((*question.dated.own, *question.dated.naming))
    within = DateRange(named.period.first, named.period.last)
    first = reader.find_by_keyword(question.held, within, len(own)) if question.held and len(own) > OF_PERIOD else {}
    ordered = dict.fromkeys((*(each for each in first if each in own), *own))
    return [each for each in ordered if among is None or each in among][:OF_PERIOD]


def compare_all(reader: Reader, space_id: int, vector: NDArray[np.float32], among: Collection[int]) -> dict[int, float]:
    """Compare all windows of some chunks: the cosine of the best one of each, by chunk id."""
    found: dict[int, float] = {}
    for window in reader.compare_windows(space_id, vector, among):
        found[window.chunk_id] = max(found.get(window.chunk_id, -1.0), window.cosine)
    return found


def _merge(
    by_text: Mapping[int, float], near: Mapping[int, float], weights: scores.Weights, share: float
) -> dict[int, float]:
    """Return the value of each chunk of both sides by the two together; higher is better."""
    ids = list({**by_text, **near})
    floor = min(near.values(), default=0.0)
    texts = scores.scale([by_text.get(chunk_id, 0.0) for chunk_id in ids])
    cosines = scores.spread([near.get(chunk_id, floor) for chunk_id in ids])
    return {
        chunk_id: bool(weights.text) * text + bool(weights.vector) * share * cosine
        for chunk_id, text, cosine in zip(ids, texts, cosines, strict=True)
    }


Stem: TypeAlias = Callable[[str], list[str]]

# Stands before every text: digits, which no stemmer changes, and which no note holds, as each process draws its own.
_BREAK = str(10**20 + int.from_bytes(os.urandom(8), "big"))
_BEFORE = 2  # texts of a candidate before its units: its headings, and what it repeats of the chunk before


class UnitPlace(NamedTuple):
    """The place of a unit: the number of its candidate, and its index among the units of that chunk, both from 0."""

    candidate: int
    within: int


class TermCounts:
    """The units of all candidates, with the terms that they and their chunks hold, as the keyword index would count them.

    The number of a unit counts the units of all candidates, from 0.

    Args:
        question: Its terms are counted.
        candidates: Their units are counted.
        stem: The stemmer of the keyword index.

    Attributes:
        question, candidates: As they were given.
        units: The place of every unit, by its number.
        firsts: For every candidate the number of its first unit.
        counts: For every unit, the number of times it holds each term.
        lengths: Words of every unit.
        chunk_counts: For every candidate, the number of times it holds each term, its headings and what it repeats of the
            chunk before included.
        chunk_lengths: Words of every candidate, counted alike.
        found: For every candidate, True for each word of the question that it holds, its headings, date and name included,
            what it repeats left out; words that name a period are held by the notes of its days.
        identified: For every candidate, True if it or its headings hold an identifier of the question.
        above: For every unit, the terms in the headings above it.
    """

    def __init__(self, question: Question, candidates: Sequence[Candidate], stem: Stem) -> None:
        self.question = question
        self.candidates = candidates
        self.units: list[UnitPlace] = []
        self.firsts: list[int] = []
        self.counts: list[dict[int, float]] = []
        self.lengths: list[int] = []
        self.chunk_counts: list[dict[int, float]] = []
        self.chunk_lengths: list[int] = []
        self.found: list[list[float]] = []
        self.identified: list[bool] = []
        self.above: list[Collection[int]] = []
        headings = [_find_headings(each.chunk) for each in candidates]
        texts = [_texts(*each) for each in zip(candidates, headings, strict=True)]
        # Each text begins with a line end, and each stem has a space before and behind it.
        stemmed = [f"\n {text}" for text in _stem([text for own in texts for text in own], stem)]
        counts = _count(question.terms, stemmed)
        words = [text.count(" ") - 1 for text in stemmed]
        begin = 0
        for number, candidate in enumerate(candidates):
            size = len(candidate.chunk.units)
            first = begin + _BEFORE
            end = first + size
            self.firsts.append(len(self.units))
            self.units += [UnitPlace(number, index) for index in range(size)]
            self.counts += counts[first:end]
            self.lengths += words[first:end]
            following = begin + len(texts[number])
            levels = [(unit, level) for unit, level, _ in headings[number]]
            self.above += _list_above(levels, counts[begin], counts[end:following], size)
            held = [*filter(None, (counts[begin], *counts[first:end]))]
            own = add_up(held)
            dated = question.period_words if question.is_dated(candidate.chunk) else ()
            best = {word: min(max(each.get(word, 0.0) for each in held), 1.0) for word in own}
            self.found.append([1.0 if word in dated else best.get(word, 0.0) for word in range(len(question.words))])
            self.identified.append(not question.identifiers.isdisjoint(own))
            self.chunk_counts.append(add_up([own, *counts[begin + 1 : first]]))
            self.chunk_lengths.append(sum(words[begin:end]))
            begin = following

    def get_chunk(self, unit: int) -> IndexedChunk:
        """Return the chunk of a unit, which is given by its number."""
        return self.candidates[self.units[unit].candidate].chunk

    def quote(self, unit: int) -> str:
        """Return the text of a unit, which is given by its number."""
        return self.get_chunk(unit).quote_unit(self.units[unit].within)

    def best_shares(self, weights: Sequence[float]) -> list[float]:
        """Return for every candidate the largest share of the weight of the first terms that one of its units holds, 0..1."""
        best = [0.0] * len(self.found)
        for (number, _), counts in zip(self.units, self.counts, strict=True):
            if counts:
                share = sum([weights[term] * min(count, 1.0) for term, count in counts.items() if term < len(weights)])
                best[number] = max(best[number], share)
        whole = sum(weights)
        return [share / whole for share in best]


_TELEPHONE = frozenset(PHRASES["all"]["telephone"].split())
# A number that is dialled among stems: nine digits and more.
DIALLED = re.compile(r"(?<!\S)(?!(?:19|20)\d\d [01]\d [0-3]\d )(?=(?:\d ?){9,15}(?: |\Z))\d{2,15}(?: \d{2,8})*(?!\S)")
SAID_OTHERWISE = 0.8  # what a word for it counts where the number stands


def names_telephone(word: str) -> bool:
    """Return True for a word for a number that is dialled."""
    return strip_marks(word) in _TELEPHONE


def _stem(texts: Sequence[str], stem: Stem) -> list[str]:
    """Return the stems of every text, with a space behind each."""
    stems = stem("".join([f"\n{_BREAK} {text}" for text in texts]))
    stemmed = " ".join([*stems, ""]).split(f"{_BREAK} ")[1:]
    if len(stemmed) == len(texts):
        return stemmed
    return ["".join([f"{each} " for each in stem(text)]) for text in texts]  # a note holds the break


def _find_headings(chunk: IndexedChunk) -> list[tuple[int, int, str]]:
    """Return the headings with which units of a chunk begin: the number of the unit, the level, the title."""
    found: list[tuple[int, int, str]] = []
    for index, unit in enumerate(chunk.units):
        if chunk.text.startswith("#", unit.start):
            for line in chunk.text[unit.start : unit.end].split("\n"):
                if (heading := parse_heading(line)) is not None:
                    found.append((index, *heading))
                elif line.strip():
                    break
    return found


def _list_above(
    levels: Sequence[tuple[int, int]], context: Collection[int], titles: Sequence[Collection[int]], count: int
) -> list[Collection[int]]:
    """Return for every unit of a chunk the terms in the headings above it.

    Args:
        levels: The numbers of the units that begin with headings, with the level of each.
        context: The terms in what stands above the chunk.
        titles: Those in each heading, behind those in the context without its last heading, which the first one replaces.
        count: Of the units.
    """
    if not levels or not (context or any(titles)):
        return [context] * count
    above = [context] * levels[0][0]
    trail: list[tuple[int, Collection[int]]] = [(0, titles[0])]
    for at, (_, level) in enumerate(levels):
        trail = [*(each for each in trail if each[0] < level), (level, titles[at + 1])]
        end = levels[at + 1][0] if at + 1 < len(levels) else count
        above += [{term for _, title in trail for term in title}] * (end - len(above))
    return above


def _texts(candidate: Candidate, headings: Sequence[tuple[int, int, str]]) -> list[str]:
    """Return the texts of a candidate of which terms are counted.

    Args:
        candidate: The candidate.
        headings: Those with which its units begin; see `_find_headings`.

    Returns:
        Its context, what it repeats of the chunk before, and its units, in order. Where it has headings, behind them its context
        without the last heading, and the title of each heading.
    """
    chunk = candidate.chunk
    text = chunk.text
    context = f"{chunk.context} {chunk.date} {chunk.path}" if candidate.is_named else chunk.context
    texts = [context, text[: chunk.units[0].start], *[text[unit.start : unit.end] for unit in chunk.units]]
    if headings:
        texts += [context.partition("\n")[0].rpartition(" > ")[0], *(title for _, _, title in headings)]
    return texts


def _count(terms: Sequence[Term], stemmed: Sequence[str]) -> list[dict[int, float]]:
    """Count the terms, by their numbers, in every text of all candidates; forms of less worth count where the word is missing."""
    whole = "".join(stemmed)
    starts = [*accumulate(map(len, stemmed), initial=0)]
    counts: list[dict[int, float]] = [{} for _ in starts[1:]]
    for number, wanted, worth in _list_wanted(terms):
        at = whole.find(wanted)
        while at >= 0:
            held = counts[bisect_right(starts, at) - 1]
            held[number] = held.get(number, 0) + 1 if worth == 1 else max(held.get(number, 0), worth)
            at = whole.find(wanted, at + 1)  # the space behind a word stands before the next one, too
    asked = [number for number, term in enumerate(terms) if names_telephone(term.text)]
    for found in DIALLED.finditer(whole) if asked else ():
        held = counts[bisect_right(starts, found.start()) - 1]
        if not held.keys() <= {*asked}:  # it stands with whose number it is
            held.update((number, max(held.get(number, 0), SAID_OTHERWISE)) for number in asked)
    return counts


def _list_wanted(terms: Sequence[Term]) -> Iterator[tuple[int, str, float]]:
    """Yield (number of the term, text to look for among stems, its worth) for every term and each of its other forms.

    Of a prefix, a single character, that is the beginning of a word.
    """
    for number, term in enumerate(terms):
        yield number, f" {term.stems[0]}" if term.prefix else f" {' '.join(term.stems)} ", 1
        for form in sorted(term.forms, key=lambda each: -each.worth):
            yield number, f" {form.stem}" if is_single_cjk(form.word) else f" {form.stem} ", form.worth


def add_up(several: Iterable[Mapping[int, float]]) -> dict[int, float]:
    """Return the sum of several counts of terms."""
    total: dict[int, float] = {}
    for counts in filter(None, several):
        for term, count in counts.items():
            total[term] = total.get(term, 0) + count
    return total
