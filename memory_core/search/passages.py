"""Passages: the best units of a question put together by place, and the part of a long unit that is shown. Pure.

Units are taken as they rank. Each joins the first passage near by in its file that has room, or opens one of its own. Near
means within `SPAN` lines, so two passages may come from one file, even from one chunk, when it holds more than one snippet's
worth: on the benchmark that shows .05 more of the evidence than one passage a chunk.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice, pairwise
from typing import NamedTuple, TypeAlias

from memory_core.stores.values import IndexedChunk
from memory_core.text.markdown import find_front_matter
from memory_core.text.terms import find_words
from memory_core.text.units import find_sentence_starts

GAP = "…"  # stands on a line of its own where units between are left out, and where a unit is cut
_GAP_LINE = f"\n{GAP}\n"
TINY = 10  # characters of a snippet, below which there is no room around a match

Span = tuple[int, int]


class Mark(NamedTuple):
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
    """Find where to begin so that all that matched is shown: with the sentence of the match, another one, or else a word."""
    start, end = span
    room = max_chars - 2
    sentences = [at for at in (start, *find_sentence_starts(text, start, end)) if matched[1] - room <= at <= matched[0]]
    if sentences:
        to_the_end = [at for at in sentences if end - at <= max_chars - 1]
        return to_the_end[0] if to_the_end else sentences[-1]
    middle = max(start, matched[0] - (room - (matched[1] - matched[0])) // 2)
    words = (at for at in range(middle, matched[0] + 1) if text[at - 1].isspace() and not text[at].isspace())
    return start if middle == start else next(words, middle)


SPAN = 16  # lines, from the first to the last of a passage; 8 to 24 show the same within .006
LOOK = 20  # units looked at for each passage asked for: those that rank behind show nothing more
SHARED = 6  # passages' worth of text in one answer, which more results share: a long list shows the best of more places


def count_matter(chunk: IndexedChunk) -> int:
    """Return the number of lines of front matter with which a chunk begins; 0 if it holds nothing else."""
    if chunk.start_line > 1 or not chunk.text.startswith("---"):
        return 0
    matter = find_front_matter(chunk.text.split("\n"))
    return matter if chunk.units[-1].last_line >= matter else 0


@dataclass(slots=True, order=True)  # not frozen: a search makes a hundred, which takes three times as long
class PlacedUnit:
    """A unit with its place in the file; orders as the file does. Not to be changed.

    Attributes:
        first_line: In the file, from 1.
        last_line: Included.
        start: Offset in its chunk's text.
        end: Offset behind it.
        path: Of the file; with the source it says which file.
        source: "memory", "workspace" or "sessions".
        chunk: Number of its chunk among the candidates.
        index: Of the unit in its chunk.
        text: The chunk's text.
        matches: It answers the question by itself; another one opens no passage beside one of the same chunk.
        cut_before: Part of the unit, before what is shown, is left out.
        cut_after: And behind it.
    """

    first_line: int
    last_line: int
    start: int
    end: int
    path: str
    source: str
    chunk: int
    index: int
    text: str
    matches: bool = True
    cut_before: bool = False
    cut_after: bool = False

    @classmethod
    def of(cls, chunk: IndexedChunk, number: int, index: int, matter: int, *, matches: bool = True) -> PlacedUnit:
        """Place a unit of a chunk; the last lines of the front matter are left out where text follows in the same unit.

        Args:
            chunk: Its chunk.
            number, index, matches: See the class.
            matter: The number of lines of front matter with which the chunk begins.
        """
        unit = chunk.units[index]
        start, first = unit.start, unit.first_line
        if first < matter <= unit.last_line:
            start, first = sum(len(line) + 1 for line in chunk.text.split("\n")[:matter]), matter
        return cls(
            chunk.start_line + first, chunk.start_line + unit.last_line, start, unit.end,
            chunk.path, chunk.source, number, index, chunk.text, matches,
        )  # fmt: skip

    def __len__(self) -> int:
        return self.end - self.start + self.cut_before + self.cut_after

    @property
    def shown_text(self) -> str:
        """Its text, with a `GAP` where it is cut."""
        return GAP * self.cut_before + self.text[self.start : self.end] + GAP * self.cut_after

    def cut(self, max_chars: int, find_marks: Callable[[PlacedUnit], Sequence[Mark]]) -> PlacedUnit:
        """Cut the unit to a length around the words of the question; return it as it is when it is short enough.

        Args:
            max_chars: The most characters to show.
            find_marks: Finds the words of the question in a unit; called only when the unit is too long.
        """
        if len(self) <= max_chars:
            return self
        start, end = cut_around(self.text, (self.start, self.end), max_chars, find_marks(self))
        first = self.first_line + self.text.count("\n", self.start, start)
        return replace(
            self, first_line=first, last_line=first + self.text.count("\n", start, end), start=start, end=end,
            cut_before=start > self.start, cut_after=end < self.end,
        )  # fmt: skip


class Lead(NamedTuple):
    """The lines that introduce a unit: the head of its table, or those above it in a list.

    Attributes:
        text: Its lines.
        line: The last of them, in the file; 0 where another chunk holds it.
    """

    text: str
    line: int = 0


@dataclass(slots=True)
class Passage:
    """Units of one place, in file order; the first one taken ranks best.

    Attributes:
        units: At least one.
        max_chars: The most characters of its snippet.
        lead: What introduces the first unit, and is shown above it unless the units show it; not counted in the lines.
        length: Characters of its snippet; `max_chars` where its first unit is cut, so that nothing joins that one.
        first_line: First line shown, from 1.
        last_line: Last line shown, included.
    """

    units: list[PlacedUnit]
    max_chars: int
    lead: Lead | None = None
    length: int = field(init=False)
    first_line: int = field(init=False)
    last_line: int = field(init=False)

    def __post_init__(self) -> None:
        own = self.units[0]
        self.length = self.max_chars if own.cut_before or own.cut_after else len(own)
        if self.lead is not None:
            needed = len(self.lead.text) + len(_GAP_LINE)
            if self.length + needed <= self.max_chars:
                self.length += needed
            else:
                self.lead = None
        self.first_line, self.last_line = own.first_line, own.last_line

    def shows(self, chunk: int) -> bool:
        """Return True if it holds a unit of the chunk."""
        return any(unit.chunk == chunk for unit in self.units)

    def is_near(self, unit: PlacedUnit) -> bool:
        """Return True if a unit of the same file lies within `SPAN` lines of all units here."""
        return max(self.last_line, unit.last_line) - min(self.first_line, unit.first_line) <= SPAN

    def take(self, unit: PlacedUnit) -> int | None:
        """Add a unit if it is near and fits; return by how many characters the passage grew, None if it was not added.

        A unit that closes a gap may make the passage no longer, even shorter.
        """
        if self.length + len(unit) >= self.max_chars or not self.is_near(unit):
            return None
        units = sorted([*self.units, unit])
        gained = len(unit) + _measure_joints(units) - _measure_joints(self.units)
        if self.length + gained > self.max_chars:
            return None
        self.units = units
        self.length += gained
        self.first_line, self.last_line = min(self.first_line, unit.first_line), max(self.last_line, unit.last_line)
        return gained

    @property
    def snippet(self) -> str:
        """The text shown: neighbours as they stand in the file, others joined by a gap line."""
        parts = [self.units[0].shown_text]
        for before, unit in pairwise(self.units):
            parts += [_join(before, unit), unit.shown_text]
        if self.lead is not None and not {*self.lead.text.split("\n")} <= {*"".join(parts).split("\n")}:
            at, below = next((each for each in enumerate(self.units) if each[1].first_line > self.lead.line), (0, None))
            follows = below is not None and below.first_line == self.lead.line + 1
            parts.insert(2 * at, self.lead.text + ("\n" if follows else _GAP_LINE))
        return "".join(parts)


FindLead: TypeAlias = Callable[[PlacedUnit], Lead | None]


def pack(
    ranked: Iterable[PlacedUnit], *, count: int, max_chars: int, find_lead: FindLead = lambda _: None
) -> list[Passage]:
    """Fill passages with units.

    Args:
        ranked: The units, best first, none longer than a snippet; `LOOK` for each passage are looked at.
        count: The most passages.
        max_chars: The most characters of a snippet.
        find_lead: Finds what introduces a unit that opens a passage.

    Returns:
        Passages in the order of their best units, no unit in two of them. Together they hold `SHARED` times `max_chars`
        characters; when that is used up, further places show their best unit only.
    """
    passages: list[Passage] = []
    by_file: defaultdict[tuple[str, str], list[Passage]] = defaultdict(list)
    room = SHARED * max_chars
    for unit in islice(ranked, LOOK * count):
        if room <= 0 and len(passages) == count:
            break
        same_file = by_file[unit.path, unit.source]
        if room > 0:
            grown = (gained for passage in same_file if (gained := passage.take(unit)) is not None)
            if (gained := next(grown, None)) is not None:
                room -= gained
                continue
            beside = not unit.matches and any(passage.shows(unit.chunk) for passage in same_file)
        else:
            beside = any(passage.is_near(unit) for passage in same_file)
        if len(passages) < count and not beside:
            opened = Passage([unit], max_chars, find_lead(unit))
            passages.append(opened)
            same_file.append(opened)
            room -= opened.length
    return passages


def _measure_joints(units: Sequence[PlacedUnit]) -> int:
    """Return the number of characters between units that follow each other."""
    return sum(len(_join(before, unit)) for before, unit in pairwise(units))


def _join(before: PlacedUnit, after: PlacedUnit) -> str:
    """Return the text between two units that follow each other in a passage."""
    if after.chunk == before.chunk and after.index == before.index + 1:
        return before.text[before.end : after.start]
    return "\n" if after.first_line == before.last_line + 1 else _GAP_LINE
