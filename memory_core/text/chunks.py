"""Text -> chunks: whole lines of a note, or pieces of a line too long for one, that are searched together; pure.

The end of a chunk depends on the text around the cut alone, not on how full the chunks before it are: of the lines that
would leave the chunk at least half full, the one with the least (rank, crc32) opens the next chunk. So an edit moves the
cuts nearby, and the cuts further down stay; packing greedily would move them all.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import accumulate
from zlib import crc32

from memory_core.config.settings import Chunking
from memory_core.records import Chunk
from memory_core.text.markdown import (
    BLANK,
    CLOSE,
    CODE,
    HEADING,
    ITEM,
    MORE,
    OPEN,
    ROW,
    TABLE,
    TEXT,
    Line,
    is_delimiter,
    parse_fence,
    parse_heading,
    scan,
    split_lines,
)
from memory_core.text.tokens import count_quarters, cut_long
from memory_core.text.units import MOST_LEAD, find_leads, find_sentence_starts

# Ranks of lines as the first line of a chunk; less is better. A cut before a line up to LONELY tears nothing.
SECTION = 0  # a heading
BLOCK = 1  # the first line after a blank one
MEMBER = 2  # a list item, fence or table without a blank line before it
SOFT = 3  # a line of a paragraph, an item of a nested list
LONELY = 4  # would leave a heading without its text
TORN_AT_BLANK = 5  # inside a fence or list item, behind a blank line
TORN = 6  # inside a fence, table or list item
NEVER = 7  # the end of a fence, a blank line


def split_chunks(
    text: str,
    chunking: Chunking,
    *,
    date: str | None = None,
    title: str = "",
    days: Mapping[int, str | None] | None = None,
) -> list[Chunk]:
    """Cut a note into chunks.

    Args:
        text: The whole note.
        chunking: The size and the overlap, in tokens by `estimate_tokens`.
        date: The note's date, leading every context but those of sections with a day of their own.
        title: Other names of the note, which follow the date.
        days: The day of the section that begins at a line, from 0; chunks end where it changes. None has no such sections.

    Returns:
        Chunks in the order of the note that together hold every non-blank line; none for a blank text. No chunk is
        blank. Each is at most `chunking.tokens` long, its overlap included, and quotes its lines exactly. A line that is
        too long alone is cut into pieces, where sentences begin if it can be, each a chunk of its own with the same
        line number.
    """
    lines = split_lines(text)
    return _Splitter(lines, chunking, date, title).split_days(days or {})


class _Splitter:
    """One run over one note. Lines count from 0 here, and ends are excluded."""

    def __init__(self, lines: Sequence[str], chunking: Chunking, date: str | None, title: str) -> None:
        self.lines = lines
        self.tokens = chunking.tokens
        self.budget = 4 * chunking.tokens
        self.overlap_budget = 4 * chunking.overlap
        self.date, self.title = date, title
        self.kinds = scan(lines)
        self.ranks = _rank_lines(lines, self.kinds)
        # The length of all lines before each line, in quarters of a token; a line end counts as one.
        self.before = list(accumulate((count_quarters(line) + 1 for line in lines), initial=0))
        # For every line, level and title of the headings that apply to it.
        self.trails: list[list[tuple[int, str]]] = []
        self.fences: list[str] = []  # for every line the fence that is open before it
        trail, fence = list[tuple[int, str]](), ""
        for line, kind in zip(lines, self.kinds, strict=True):
            self.fences.append(fence)
            if kind is HEADING and (heading := parse_heading(line)):
                trail = [*(entry for entry in trail if entry[0] < heading[0]), heading]
            elif kind is not CODE:
                fence = parse_fence(line) if kind is OPEN else ""
            self.trails.append(trail)

    def split_days(self, days: Mapping[int, str | None]) -> list[Chunk]:
        """Cut the note into its chunks, each of one day; headings without a text of their own stay with what follows."""
        chunks: list[Chunk] = []
        start, of = 0, None
        for line, day in days.items():
            if day != of:
                if any(kind not in (HEADING, BLANK) for kind in self.kinds[start:line]):
                    chunks += self._split_day(start, line, of)
                    start = line
                of = day
        return [*chunks, *self._split_day(start, len(self.lines), of)]

    def _split_day(self, start: int, stop: int, day: str | None) -> Iterator[Chunk]:
        longest = self.budget + 1
        for line in [i for i in range(start, stop) if self.before[i + 1] - self.before[i] > longest]:
            yield from self._split_run(start, line, day)
            yield from self._split_line(line, day)
            start = line + 1
        yield from self._split_run(start, stop, day)

    def _split_line(self, line: int, day: str | None) -> list[Chunk]:
        """Cut a line that is too long alone into pieces."""
        text = self.lines[line]
        context = self._join_context(line, day) + self._join_lead(line)
        sentences = find_sentence_starts(text, 0, len(text))
        pieces = (text[start:end] for start, end in cut_long(text, self.tokens, sentences=sentences))
        return [
            Chunk(line + 1, line + 1, 0, context, piece, self.fences[line], day) for piece in pieces if piece.strip()
        ]

    def _split_run(self, start: int, stop: int, day: str | None) -> list[Chunk]:
        """Cut a range of lines none of which is too long alone."""
        chunks: list[Chunk] = []
        previous = start
        while (start := self._skip_blank(start, stop)) < stop:
            cut = end = self._find_cut(start, stop)
            while not self.lines[end - 1].strip():
                end -= 1
            first = self._find_overlap(previous, start, end)
            text = "\n".join(self.lines[first:end])
            context = self._join_context(start, day) + self._join_lead(first)
            inside = TABLE if self.kinds[start] is ROW and not is_delimiter(self.lines[start]) else self.fences[start]
            chunks.append(Chunk(first + 1, end, start - first, context, text, inside, day))
            previous, start = start, cut
        return chunks

    def _skip_blank(self, start: int, stop: int) -> int:
        while start < stop and not self.lines[start].strip():
            start += 1
        return start

    def _find_cut(self, start: int, stop: int) -> int:
        """Return the line at which the chunk that begins at `start` ends, excluded."""
        before, ranks, origin = self.before, self.ranks, self.before[start]
        full = self._skip_blank(bisect_right(before, origin + self.budget + 1) - 1, stop)
        if full >= stop:
            return stop
        half = bisect_left(before, origin + self.budget // 2, start + 1)
        quarter = bisect_left(before, origin + self.budget // 4, start + 1)
        best = min(range(half, full + 1), key=self._preference, default=full)
        if ranks[best] == SECTION:
            return best
        section = min((i for i in range(quarter, half) if ranks[i] == SECTION), key=self._preference, default=0)
        if section:
            return section
        if ranks[best] <= SOFT:
            return best
        return self._move_before_fence(start, self._find_block(start, min(half, full + 1), full, quarter) or best)

    def _move_before_fence(self, start: int, line: int) -> int:
        """Move a cut inside a fence before that fence, if the fence fits into a chunk, as in a list item that is too long."""
        opening = line
        while opening > start and self.kinds[opening] in (CODE, CLOSE):
            opening -= 1
        if opening in {start, line} or self.kinds[opening] is not OPEN:
            return line
        closing = line
        while closing + 1 < len(self.lines) and self.kinds[closing] is CODE:
            closing += 1
        return opening if self.before[closing + 1] - self.before[opening] - 1 <= self.budget else line

    def _preference(self, line: int) -> tuple[int, int, int]:
        """Return the sort key of a line as the first one of a chunk: by rank, then by level of heading, then by content."""
        text = self.lines[line]
        rank = self.ranks[line]
        found = parse_heading(text) if rank == SECTION else None
        return rank, found[0] if found else 0, crc32(text.encode("utf-8", "surrogatepass"))

    def _find_block(self, start: int, half: int, full: int, quarter: int) -> int:
        """Find the last line in the first half before which nothing is torn; 0 if the block after it would be torn anyway."""
        for limit, stop in ((SOFT, half), (LONELY, full + 1)):
            for line in range(stop - 1, start, -1):
                if self.ranks[line] <= limit:
                    if line >= quarter or self._block_fits(line):
                        return line
                    break
        return 0

    def _block_fits(self, line: int) -> bool:
        end = line + 1
        while end < len(self.lines) and self.ranks[end] > LONELY:
            end += 1
        while not self.lines[end - 1].strip():
            end -= 1
        return self.before[end] - self.before[line] - 1 <= self.budget

    def _find_overlap(self, previous: int, start: int, end: int) -> int:
        """Find the first line of the overlap, which stays in the section and leaves room for the body; `start` for none."""
        if self.kinds[start] is HEADING:
            return start
        lowest = max(self.before[start] - self.overlap_budget - 1, self.before[end] - self.budget - 1)
        first = start
        for line in range(start - 1, previous - 1, -1):
            if self.kinds[line] is HEADING or self.before[line] < lowest:
                break
            if self.lines[line].strip():
                first = line
        return first

    @cached_property
    def _leads(self) -> list[tuple[int, ...]]:
        return find_leads(self.lines, self.kinds)

    def _join_lead(self, line: int) -> str:
        """Return the lines that introduce one, each behind a line end and cut to its beginning."""
        if self.kinds[line] not in (ROW, ITEM, MORE):
            return ""
        return "".join(f"\n{self.lines[each].rstrip()[:MOST_LEAD]}" for each in self._leads[line])

    def _join_context(self, line: int, day: str | None) -> str:
        titles = (day or self.date, self.title, *(title for _, title in self.trails[line]))
        return " > ".join(dict.fromkeys(filter(None, titles)))


def _rank_lines(lines: Sequence[str], kinds: Sequence[Line]) -> list[int]:
    """Rank each line as the first line of a chunk."""
    ranks: list[int] = []
    before = BLANK
    lonely = False
    for i, kind in enumerate(kinds):
        if kind in (BLANK, CLOSE):
            ranks.append(NEVER)
        elif kind is CODE:
            blank_before = before is CODE and not lines[i - 1].strip()
            ranks.append(TORN_AT_BLANK if blank_before and lines[i].strip() else TORN)
        else:
            ranks.append(LONELY if lonely else _rank(lines[i], kind, before))
        if kind is not BLANK:
            lonely = kind is HEADING
        before = kind
    return ranks


def _rank(line: str, kind: Line, before: Line) -> int:
    """Rank a line outside fences as the first line of a chunk."""
    if kind is HEADING:
        return SECTION
    if kind is MORE or (kind is OPEN and line[0].isspace()):
        return TORN_AT_BLANK if before is BLANK else TORN
    if kind is ROW and before is ROW:
        return TORN
    if kind is ITEM and line[0].isspace():
        return SOFT
    if before is BLANK:
        return BLOCK
    return SOFT if kind is before is TEXT else MEMBER
