"""The part of a unit that is shown where the whole is too long for a snippet. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from memory_core.text.terms import find_words
from memory_core.text.units import find_sentence_starts

GAP = "…"  # stands on a line of its own where units between are left out, and where a unit is cut
TINY = 10  # characters of a snippet, below which there is no room around a match

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Mark:
    """A word of a question in a text: its offsets, its stem, and its share of the question."""

    start: int
    end: int
    stem: str
    weight: float


def find_marks(
    text: str, span: Span, weights: Mapping[str, float], stems: Callable[[str], Sequence[str]]
) -> list[Mark]:
    """Find the words of a question in a part of a text, in order.

    Args:
        weights: The share that each word has in the question, by its stem.
        stems: The stemmer of the keyword index.
    """
    found = ((start, end, stem) for start, end, word in find_words(text, *span) for stem in stems(word)[:1])
    return [Mark(start, end, stem, weights[stem]) for start, end, stem in found if stem in weights]


def cut_around(text: str, span: Span, max_chars: int, found: Sequence[Mark]) -> Span:
    """Choose the part of a text to show: where most of the question stands, from the beginning of a sentence if that fits.

    Args:
        text: Any text.
        span: The part of it to choose from.
        max_chars: The most characters to show, with a `GAP` on each side where something is left out.
        found: The words of the question within the span, in order; if empty, the beginning is shown.

    Returns:
        Offsets within the span; the whole span when it fits.
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


def _densest(found: Sequence[Mark], room: int) -> Span:
    """Find the stretch, no longer than the room, in which most of the question stands; the shortest of equals."""
    return max((_stretch(found[index:], room) for index in range(len(found))), key=lambda each: each[:2])[2]


def _stretch(found: Sequence[Mark], room: int) -> tuple[float, int, Span]:
    """Measure the share of the question within the room from the first mark on: (share, negative length, its span)."""
    begin = end = found[0].start
    held: dict[str, float] = {}
    for mark in found:
        if mark.end - begin <= room and mark.stem not in held:
            held[mark.stem] = mark.weight
            end = mark.end
    return round(sum(held.values()), 9), begin - end, (begin, end)


def _begin(text: str, span: Span, max_chars: int, matched: Span) -> int:
    """Find where to begin so that all that matched is shown: at the sentence of the match, another one, or else a word."""
    start, end = span
    room = max_chars - 2
    sentences = [at for at in (start, *find_sentence_starts(text, start, end)) if matched[1] - room <= at <= matched[0]]
    if sentences:
        to_the_end = [at for at in sentences if end - at <= max_chars - 1]
        return to_the_end[0] if to_the_end else sentences[-1]
    middle = max(start, matched[0] - (room - (matched[1] - matched[0])) // 2)
    words = (at for at in range(middle, matched[0] + 1) if text[at - 1].isspace() and not text[at].isspace())
    return start if middle == start else next(words, middle)
