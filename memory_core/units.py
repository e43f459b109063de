"""The text of one chunk -> units, which are ranked and shown, and windows of units, which are embedded; pure."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise

from memory_core.markdown import Line, cut_long, is_delimiter, quarters, scan
from memory_core.records import Unit, Window

SHORT = 40  # quarters of a token: shorter sentences say little alone and go with a neighbour
LONG = 500  # quarters of a token: longer units do not fit a snippet and are cut
CODE_CHARS = 200  # lines of code are grouped up to here
WRAP_COLUMNS = 160  # nobody wraps text behind this column: lines that long are paragraphs of their own

Span = tuple[int, int]

_SENTENCE_END = re.compile(r"[.!?…]+[\"'”’)\]*_]*\s+|[。！？｡]+[」』”’）]*\s*")
_ABBREVIATIONS = re.compile(
    r"(?:mrs?|ms|dr|prof|st|sr|jr|vs|etc|e\.g|i\.e|cf|al|approx|ca|fig|no|nr|vol|eds?|pp|dept|est|inc|ltd|co|corp"
    r"|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec|z\.b|d\.h|u\.a|bzw|usw)$",
    re.IGNORECASE,
)
# A line that begins with its speaker, key or time is no continuation; "so: this" may well be one.
_LABEL = re.compile(
    r"\s*(?:>\s*)?(?:[*_]{0,2}(?![a-zß-öø-ÿ])[^\W\d_][\w .'-]{0,30}[*_]{0,2}[:：][*_]{0,2}(?:\s|$)|\[?\d{1,2}:\d\d)"
)


def split_units(text: str, *, skip_lines: int = 0, fence: str = "") -> list[Unit]:
    """Cut the text of a chunk into units.

    A unit is a list item, a table row (the head with its row of dashes), a few lines of code, or one or more sentences
    of a paragraph, which may be wrapped over lines. Headings open the first unit of the text under them, and are units of
    their own above code, above a unit that is as long as one may be, and where no text follows. Fence lines are left out.

    Args:
        text: The chunk's text, or any Markdown.
        skip_lines: So many lines at the start have no units: the chunk's overlap.
        fence: The fence that is open before the first line that counts; "" when none is.

    Returns:
        Units in order, disjoint, without white space around them (code keeps its indentation). They cover all other
        lines; none for a blank text.
    """
    lines = text.split("\n")
    starts = list(accumulate((len(line) + 1 for line in lines), initial=0))
    kinds = [Line.BLANK] * skip_lines + scan(lines[skip_lines:], fence=fence)
    units: list[Unit] = []
    for head, first, last in _blocks(lines, kinds):
        spans = _spans(text, (starts[first], starts[last + 1] - 1), kinds[first])
        if head < first:
            together = _strip(text, starts[head], spans[0][1], indented=False)
            if _is_long(text, together):
                above = (_spans(text, (starts[i], starts[i + 1] - 1), Line.HEADING) for i in range(head, first))
                spans = [span for own in above for span in own] + spans
            else:
                spans[0] = together
        units += [_unit(starts, span, head, last) for span in spans]
    return units


def sentence_starts(text: str, start: int, end: int) -> list[int]:
    """Where sentences behind the first one begin in a part of a text, in order; `end` is among them if one ends there."""
    return [match.end() for match in _SENTENCE_END.finditer(text, start, end) if _ends_sentence(text, start, match)]


_PROSE = frozenset({Line.TEXT, Line.MORE})


def split_windows(text: str, units: Sequence[Unit], *, max_tokens: int = 100) -> list[Window]:
    """Pack units into windows of at most `max_tokens` by estimate; a unit that is longer is a window alone.

    Args:
        text: The text that the units were cut from.
        units: In order.
        max_tokens: The most that a window holds, line ends included.

    Returns:
        Windows in order; every unit is in exactly one.
    """
    windows: list[Window] = []
    first = used = 0
    texts: list[str] = []
    for index, unit in enumerate(units):
        piece = text[unit.start : unit.end]
        length = quarters(piece) + 1
        if texts and used + length > 4 * max_tokens + 1:
            windows.append(Window(first, index - 1, "\n".join(texts)))
            first, used, texts = index, 0, []
        used += length
        texts.append(piece)
    if texts:
        windows.append(Window(first, len(units) - 1, "\n".join(texts)))
    return windows


def _blocks(lines: Sequence[str], kinds: Sequence[Line]) -> Iterator[tuple[int, int, int]]:
    """What is looked at as one: an item, a row, a paragraph, lines of code.

    Yields:
        The line of the first heading that goes with it, or its own first line; its own first line; its last, included.
    """
    headings: list[int] = []
    i = 0
    while i < len(lines):
        kind = kinds[i]
        if kind is Line.HEADING:
            headings.append(i)
        elif kind is Line.OPEN:  # no unit reaches over a fence
            yield from ((line, line, line) for line in headings)
            headings.clear()
        elif kind >= Line.ROW or (kind is Line.CODE and lines[i].strip()):
            last = _last_line(lines, kinds, i)
            yield (headings[0] if headings else i), i, last
            headings.clear()
            i = last
        i += 1
    yield from ((line, line, line) for line in headings)


def _last_line(lines: Sequence[str], kinds: Sequence[Line], first: int) -> int:
    """The last line of the block that begins with a non-blank line."""
    kind = kinds[first]
    i = first + 1
    if kind is Line.CODE:
        room = CODE_CHARS - len(lines[first])
        while i < len(lines) and kinds[i] is Line.CODE and lines[i].strip() and len(lines[i]) < room:
            room -= len(lines[i]) + 1
            i += 1
    elif kind is Line.ROW:
        i += i < len(lines) and kinds[i] is Line.ROW and is_delimiter(lines[i])
    else:
        more = Line.TEXT if kind is Line.TEXT else Line.MORE
        while i < len(lines) and kinds[i] is more:
            i += 1
    return i - 1


def _spans(text: str, block: Span, kind: Line) -> list[Span]:
    """The spans of a block without the white space around them."""
    found = (_strip(text, *span, indented=kind is Line.CODE) for span in _bounded(text, block, prose=kind in _PROSE))
    return [span for span in found if span[0] < span[1]]


def _bounded(text: str, block: Span, *, prose: bool) -> Iterator[Span]:
    """The spans of a block: sentences of prose and of what is too long, cut further where a sentence is too long."""
    for start, end in _prose(text, block) if prose or _is_long(text, block) else [block]:
        if _is_long(text, (start, end)):
            yield from ((start + a, start + b) for a, b in cut_long(text[start:end], LONG // 4))
        else:
            yield start, end


def _is_long(text: str, span: Span) -> bool:
    start, end = span
    return end - start > LONG // 4 and quarters(text[start:end]) > LONG


def _prose(text: str, span: Span) -> list[Span]:
    """The sentences of a paragraph, short ones joined with a neighbour."""
    start, end = span
    if _is_short(text, start, end):
        return [span]
    cuts = sentence_starts(text, start, end)
    if text.find("\n", start, end) >= 0:
        cuts = sorted({*cuts, *_hard_breaks(text, start, end)})
    return _join_short(text, [start, *(cut for cut in cuts if cut < end), end])


def _join_short(text: str, bounds: Sequence[int]) -> list[Span]:
    spans: list[Span] = []
    start = bounds[0]
    for end in bounds[1:]:
        if not _is_short(text, start, end):
            spans.append((start, end))
            start = end
    if start < bounds[-1]:  # the last one is short and has no follower
        before = spans.pop()[0] if spans else start
        spans.append((before, bounds[-1]))
    return spans


def _is_short(text: str, start: int, end: int) -> bool:
    return end - start < SHORT and quarters(text[start:end].strip()) < SHORT


def _ends_sentence(text: str, start: int, match: re.Match[str]) -> bool:
    """Whether a full stop does not belong to an abbreviation, an initial or an ellipsis amid a sentence."""
    if match[0][0] not in ".…":
        return True
    after = text[match.end() : match.end() + 1]
    if after.islower():
        return False
    words = text[max(start, match.start() - 12) : match.start()].split()
    word = words[-1].lstrip("(\"'“‘*_") if words else ""
    return not _ABBREVIATIONS.match(word) and not (len(word) == 1 and word.isupper())


def _hard_breaks(text: str, start: int, end: int) -> Iterator[int]:
    """Offsets of lines of a paragraph that begin something new, rather than go on with a wrapped sentence."""
    lines = text[start:end].split("\n")
    width = max(map(len, lines))
    at = start
    for line, following in pairwise(lines):
        at += len(line) + 1
        word = following.split(None, 1)[0]
        unfilled = len(line) + 1 + len(word) < 0.6 * width  # wrapping would have put the word on this line
        if unfilled or width > WRAP_COLUMNS or line.endswith(("  ", "\\")) or _LABEL.match(following):
            yield at


def _strip(text: str, start: int, end: int, *, indented: bool) -> Span:
    piece = text[start:end]
    left = 0 if indented else len(piece) - len(piece.lstrip())
    return start + left, start + len(piece.rstrip())


def _unit(starts: Sequence[int], span: Span, first: int, last: int) -> Unit:
    """The unit of a span that lies between two lines."""
    if first == last:
        return Unit(*span, first, last)
    return Unit(*span, bisect_right(starts, span[0]) - 1, bisect_right(starts, span[1] - 1) - 1)
