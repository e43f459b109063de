"""Passages: which units of a chunk are shown, and the text and lines that result. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from memory_core.records import Unit

GAP = "…"  # stands on a line of its own where units between are left out


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


def passage(text: str, units: Sequence[Unit], chosen: Sequence[int], max_chars: int) -> Passage:
    """The text of the chosen units in file order; neighbours as they stand in the file, others joined by a gap line."""
    parts = [text[units[chosen[0]].start : units[chosen[0]].end]]
    for before, after in pairwise(chosen):
        joint = text[units[before].end : units[after].start] if after == before + 1 else f"\n{GAP}\n"
        parts += [joint, text[units[after].start : units[after].end]]
    shown = "".join(parts)
    if len(shown) > max_chars:
        shown = shown[: max_chars - 1].rstrip() + GAP
    return Passage(shown, units[chosen[0]].first_line, units[chosen[-1]].last_line)
