"""Passages: the best units of a question put together by place, as they are shown. Pure.

Units are taken as they rank. Each joins the first passage near by in its file that has room, or opens one of its own. Near
means within `SPAN` lines, so two passages may come from one file, even from one chunk, when it holds more than one snippet's
worth: on the benchmark that shows .05 more of the evidence than one passage a chunk.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice, pairwise

from memory_core.snippets import GAP, Mark, around

SPAN = 16  # lines, from the first to the last of a passage; 8 to 24 show the same within .006
LOOK = 20  # units a passage asked for: those that rank behind show nothing more
SHARED = 6  # passages' worth of text in one answer, which more results share: a long list shows the best of more places


@dataclass(slots=True, order=True)  # not frozen: a search makes a hundred, which takes three times as long
class Piece:
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
        matches: It answers the question, rather than its chunk: another opens no passage beside one of the same chunk.
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

    def __len__(self) -> int:
        return self.end - self.start + self.cut_before + self.cut_after

    @property
    def shown(self) -> str:
        """Its text, with a `GAP` where it is cut."""
        return GAP * self.cut_before + self.text[self.start : self.end] + GAP * self.cut_after

    def fitting(self, max_chars: int, found: Callable[[Piece], Sequence[Mark]]) -> Piece:
        """The same, cut to a length around the words of the question, which are only looked for when it is too long."""
        if len(self) <= max_chars:
            return self
        start, end = around(self.text, (self.start, self.end), max_chars, found(self))
        first = self.first_line + self.text.count("\n", self.start, start)
        return replace(
            self, first_line=first, last_line=first + self.text.count("\n", start, end), start=start, end=end,
            cut_before=start > self.start, cut_after=end < self.end,
        )  # fmt: skip


@dataclass(slots=True)
class Passage:
    """Units of one place, in file order; the first one taken ranks best."""

    pieces: list[Piece]
    max_chars: int
    length: int = field(init=False)

    def __post_init__(self) -> None:
        own = self.pieces[0]
        self.length = self.max_chars if own.cut_before or own.cut_after else len(own)

    @property
    def first_line(self) -> int:
        """First line shown, from 1."""
        return self.pieces[0].first_line

    @property
    def last_line(self) -> int:
        """Last line shown, included."""
        return max(piece.last_line for piece in self.pieces)

    def shows(self, chunk: int) -> bool:
        """Whether it holds a unit of a chunk."""
        return any(piece.chunk == chunk for piece in self.pieces)

    def near(self, piece: Piece) -> bool:
        """Whether a unit of the same file lies within `SPAN` lines of all that is here."""
        return max(self.last_line, piece.last_line) - min(self.first_line, piece.first_line) <= SPAN

    def take(self, piece: Piece) -> int | None:
        """Add a unit if it is near and fits; how many characters longer that made it, None when it was not added.

        One that closes a gap may make it no longer, even shorter.
        """
        if self.length + len(piece) >= self.max_chars or not self.near(piece):
            return None
        pieces = list(self.pieces)
        insort(pieces, piece)
        before, length = self.length, sum(map(len, pieces)) + sum(map(len, _joints(pieces)))
        if length > self.max_chars:
            return None
        self.pieces, self.length = pieces, length
        return length - before

    @property
    def snippet(self) -> str:
        """The text shown: neighbours as they stand in the file, others joined by a gap line."""
        parts = [self.pieces[0].shown]
        for joint, piece in zip(_joints(self.pieces), self.pieces[1:], strict=True):
            parts += [joint, piece.shown]
        return "".join(parts)


def pack(ranked: Iterable[Piece], *, count: int, max_chars: int) -> list[Passage]:
    """Fill at most `count` passages with units.

    Args:
        ranked: The units, best first, none longer than a snippet.
        count: So many passages at most.
        max_chars: A snippet is at most so long.

    Returns:
        Passages in the order of their best units, no unit in two of them. Together they hold `SHARED` times `max_chars`
        characters; when that is used up, further places show their best unit only.
    """
    passages: list[Passage] = []
    by_file: dict[tuple[str, str], list[Passage]] = {}
    room = SHARED * max_chars
    for piece in islice(ranked, LOOK * count):
        beside = by_file.setdefault((piece.path, piece.source), [])
        if room <= 0:
            opens = not any(passage.near(piece) for passage in beside)
        elif (gained := next((gain for held in beside if (gain := held.take(piece)) is not None), None)) is not None:
            opens = False
            room -= gained
        else:
            opens = len(passages) < count and (piece.matches or not any(held.shows(piece.chunk) for held in beside))
        if opens:
            passages.append(Passage([piece], max_chars))
            beside.append(passages[-1])
            room -= passages[-1].length
        if room <= 0 and len(passages) >= count:
            break
    return passages


def _joints(pieces: list[Piece]) -> Iterable[str]:
    """What stands between units of a passage."""
    for before, after in pairwise(pieces):
        if after.chunk == before.chunk and after.index == before.index + 1:
            yield before.text[before.end : after.start]
        elif after.first_line == before.last_line + 1:
            yield "\n"
        else:
            yield f"\n{GAP}\n"
