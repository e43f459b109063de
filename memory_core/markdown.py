"""What each line of a note is, how long text is in tokens, and where a long text may be cut; pure.

Chunks and units both read notes through this one scanner, so that they agree on what a fence or a heading is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from enum import IntEnum


class Line(IntEnum):
    """The part a line plays."""

    BLANK = 0  # outside fences
    HEADING = 1  # ATX
    OPEN = 2  # the line that opens a fence
    CODE = 3  # inside a fence, blank or not
    CLOSE = 4
    ROW = 5  # of a table, its delimiter row included
    ITEM = 6  # the first line of a list item
    MORE = 7  # a further line of a list item
    TEXT = 8


# Scripts that are written without spaces or syllable by syllable: Hangul, kana, Han, Yi, full-width forms.
_CJK = re.compile(
    "[\u1100-\u11ff\u2e80-\ua4cf\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\ufe30-\ufe4f\uff00-\uffef\U00020000-\U0003ffff]+"
)
_HEADING = re.compile(r" {0,3}(#{1,6})(?![^ \t])")
_FENCE = re.compile(r"(`{3,})[^`]*$|(~{3,})")
_ITEM = re.compile(r"(?:[-*+]|\d{1,9}[.)])(?:[ \t]|$)")
_DELIMITER = re.compile(r"\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*$")
_CLAUSE_END = re.compile(r".*(?:[.!?;:,](?=\s)|[。！？；：，、」』）])", re.DOTALL)
_SPACE = re.compile(r".*\s", re.DOTALL)


def split_lines(text: str) -> list[str]:
    r"""The lines of a note, cut at `\n` alone, so that numbers agree with editors; a `\r` before the cut is dropped.

    A line end at the end of the text opens no further line; an empty text has none.
    """
    lines = text.replace("\r\n", "\n").split("\n")
    if not lines[-1]:
        lines.pop()
    return lines


def quarters(text: str) -> int:
    """The estimated length in quarters of a token, which add up over pieces of a text: CJK four, all else one."""
    if text.isascii():
        return len(text)
    return len(text) + 3 * sum(map(len, _CJK.findall(text)))


def estimate_tokens(text: str) -> int:
    """The estimated length in tokens: one for each CJK character, one for four others, rounded up."""
    return -(-quarters(text) // 4)


def heading(line: str) -> tuple[int, str] | None:
    """The level, 1..6, and the title of an ATX heading; None for any other line. The title may be empty."""
    match = _HEADING.match(line)
    if not match:
        return None
    title = line[match.end() :].strip()
    closed = title.rstrip("#")  # "## Title ##", but not "## C#"
    return len(match[1]), closed.rstrip() if not closed or closed[-1] in " \t" else title


def opened_fence(line: str) -> str:
    """The backticks or tildes by which a line opens a fence; "" when it opens none."""
    match = _FENCE.match(line.lstrip())
    return (match[1] or match[2]) if match else ""


def is_delimiter(line: str) -> bool:
    """Whether a line is the row of dashes under a table's head."""
    return _DELIMITER.match(line) is not None


def scan(lines: Sequence[str], *, fence: str = "") -> list[Line]:
    """The kind of every line.

    Args:
        lines: Without their line ends.
        fence: The fence that is open before the first line, such as three backticks; "" when none is.

    Returns:
        As many kinds as there are lines. An unclosed fence lasts to the end.
    """
    kinds: list[Line] = []
    before = Line.BLANK
    item_indent = -1  # of the list item that a line may belong to, -1 outside
    for line in lines:
        body = line.lstrip()
        if fence:
            kind = Line.CLOSE if _closes(body, fence) else Line.CODE
            fence = "" if kind is Line.CLOSE else fence
        else:
            indent = len(line) - len(body)
            kind = _kind(line, body, before)
            if kind is Line.TEXT and item_indent >= 0 and (before in _IN_ITEM or indent > item_indent):
                kind = Line.MORE
            elif kind is Line.ROW and before is Line.TEXT and is_delimiter(line):
                kinds[-1] = Line.ROW  # the head of a table without outer bars
            fence = opened_fence(body) if kind is Line.OPEN else ""
            if kind is Line.ITEM:
                item_indent = indent
            elif kind in _END_ITEM or (kind is Line.OPEN and indent <= item_indent):
                item_indent = -1
        kinds.append(kind)
        before = kind
    return kinds


_IN_ITEM = frozenset({Line.ITEM, Line.MORE})
_END_ITEM = frozenset({Line.HEADING, Line.TEXT, Line.ROW})


def _kind(line: str, body: str, before: Line) -> Line:
    """The kind of a line outside fences, looking at no more than the line before it."""
    if not body:
        return Line.BLANK
    first = body[0]
    if first in "`~" and opened_fence(body):
        return Line.OPEN
    if first == "#" and _HEADING.match(line):
        return Line.HEADING
    if first == "|" or ("|" in body and (before is Line.ROW or (before is Line.TEXT and is_delimiter(line)))):
        return Line.ROW
    if (first in "-*+" or first.isdigit()) and _ITEM.match(body):
        return Line.ITEM
    return Line.TEXT


def _closes(body: str, fence: str) -> bool:
    return body.startswith(fence) and not body.rstrip().strip(fence[0])


def cut_long(text: str, max_tokens: int) -> Iterator[tuple[int, int]]:
    """Cut a text, without regard to lines, into pieces of at most `max_tokens`.

    A piece ends at the end of a clause if there is one in its second half, else at a space there, else anywhere.

    Yields:
        Start and end offsets, in order; together they are the whole text.
    """
    budget = 4 * max_tokens
    start = 0
    while start < len(text):
        end = start + _fitting(text[start : start + budget], budget)
        if end < len(text):
            middle = (start + end + 1) // 2
            match = _CLAUSE_END.match(text, middle, end) or _SPACE.match(text, middle, end)
            end = match.end() if match else end
        yield start, end
        start = end


def _fitting(text: str, budget: int) -> int:
    """How many characters from the start are at most `budget` quarters of a token long."""
    used = at = 0
    for run in () if text.isascii() else _CJK.finditer(text):
        used += run.start() - at
        if used >= budget:
            return run.start() - (used - budget)
        room = (budget - used) // 4
        if run.end() - run.start() > room:
            return run.start() + room
        used += 4 * (run.end() - run.start())
        at = run.end()
    return min(len(text), at + budget - used)
