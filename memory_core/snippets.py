"""Passages: which units of a chunk are shown, which part of one that is too long, and the text and lines that result. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from memory_core.records import Unit
from memory_core.terms import words_at
from memory_core.units import sentence_starts

GAP = "…"  # stands on a line of its own where units between are left out, and where a unit is cut
TINY = 10  # characters of a snippet, below which there is no room around a match

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Mark:
    """A word of a question in a text: its offsets, its stem, and what share of the question it is."""

    start: int
    end: int
    stem: str
    weight: float


def marks(text: str, span: Span, weights: Mapping[str, float], stems: Callable[[str], Sequence[str]]) -> list[Mark]:
    """Where the words of a question stand in a part of a text, in order.

    Args:
        weights: What share of the question each of its words is, by its stem.
        stems: The stemmer of the keyword index.
    """
    found = ((start, end, stem) for start, end, word in words_at(text, *span) for stem in stems(word)[:1])
    return [Mark(start, end, stem, weights[stem]) for start, end, stem in found if stem in weights]


def around(text: str, span: Span, max_chars: int, found: Sequence[Mark]) -> Span:
    """The part of a text to show: where most of the question stands, from the beginning of a sentence where that fits.

    Args:
        text: Any text.
        span: The part of it to choose from.
        max_chars: The most characters to show, with a `GAP` on each side where something is left out.
        found: The words of the question within the span, in order; without any it is the beginning.

    Returns:
        Offsets within the span; all of it when it fits.
    """
    start, end = span
    if end - start <= max_chars:
        return span
    first, matched = start, (start, start)
    if found and max_chars >= TINY:
        matched = _densest(found, max_chars - 2)
        first = _begin(text, span, max_chars, matched)
    last = first + max_chars - 1 - (first > start)
    if last + 1 >= end:
        return first, end
    behind = max(first + max_chars // 2, matched[1])  # a cut between words, if that wastes less than half
    space = next((at for at in range(last, behind - 1, -1) if text[at].isspace()), last)
    return first, first + len(text[first:space].rstrip())


def quoted(text: str, span: Span, part: Span) -> str:
    """A part of a span, with a `GAP` on each side where it leaves something out."""
    return GAP * (part[0] > span[0]) + text[part[0] : part[1]] + GAP * (part[1] < span[1])


def _densest(found: Sequence[Mark], room: int) -> Span:
    """The stretch, no longer than the room, in which most of the question stands; the shortest of equals."""
    return max((_stretch(found[index:], room) for index in range(len(found))), key=lambda each: each[:2])[2]


def _stretch(found: Sequence[Mark], room: int) -> tuple[float, int, Span]:
    """What share of the question stands within the room from the first mark on; how short that is, negative; where."""
    begin = end = found[0].start
    held: dict[str, float] = {}
    for mark in found:
        if mark.end - begin <= room and mark.stem not in held:
            held[mark.stem] = mark.weight
            end = mark.end
    return round(sum(held.values()), 9), begin - end, (begin, end)


def _begin(text: str, span: Span, max_chars: int, matched: Span) -> int:
    """Where to begin so that all that matched is shown: at a sentence, at best the one it begins with, else at a word."""
    start, end = span
    room = max_chars - 2
    sentences = [at for at in (start, *sentence_starts(text, start, end)) if matched[1] - room <= at <= matched[0]]
    if sentences:
        to_the_end = [at for at in sentences if end - at <= max_chars - 1]
        return to_the_end[0] if to_the_end else sentences[-1]
    middle = max(start, matched[0] - (room - (matched[1] - matched[0])) // 2)
    words = (at for at in range(middle, matched[0] + 1) if text[at - 1].isspace() and not text[at].isspace())
    return start if middle == start else next(words, middle)


@dataclass(frozen=True, slots=True)
class Passage:
    """What is shown of one chunk.

    Attributes:
        text: The snippet.
        first_line: First line shown, within the chunk, from 0.
        last_line: Last line shown, included.
    """

    text: str
    first_line: int
    last_line: int


def choose_units(units: Sequence[Unit], ranked: Iterable[int], max_chars: int) -> list[int]:
    """Indexes of the units to show, in file order: by rank, as long as they fit into `max_chars` with their gaps.

    The best unit is always among them, cut when it is longer alone.
    """
    chosen: list[int] = []
    for index in ranked:
        candidate = sorted([*chosen, index])
        if not chosen or _length(units, candidate) <= max_chars:
            chosen = candidate
    return chosen


def _length(units: Sequence[Unit], chosen: Sequence[int]) -> int:
    """Length of the passage of these units: the units, a line end or space between, and a gap line where some are missing."""
    total = sum(units[index].end - units[index].start for index in chosen)
    for before, after in pairwise(chosen):
        total += units[after].start - units[before].end if after == before + 1 else len(GAP) + 2
    return total


def passage(
    text: str, units: Sequence[Unit], chosen: Sequence[int], max_chars: int, found: Sequence[Mark] = ()
) -> Passage:
    """The text of the chosen units in file order; neighbours as they stand in the file, others joined by a gap line.

    A single unit that is too long is cut `around` the words that were found in it.
    """
    first, last = units[chosen[0]], units[chosen[-1]]
    if len(chosen) == 1:
        part = around(text, (first.start, first.end), max_chars, found)
        line = first.first_line + text.count("\n", first.start, part[0])
        return Passage(quoted(text, (first.start, first.end), part), line, line + text.count("\n", *part))
    parts = [text[first.start : first.end]]
    for before, after in pairwise(chosen):
        joint = text[units[before].end : units[after].start] if after == before + 1 else f"\n{GAP}\n"
        parts += [joint, text[units[after].start : units[after].end]]
    return Passage("".join(parts), first.first_line, last.last_line)
