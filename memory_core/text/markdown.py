"""The lines of Markdown: which are headings, list items, rows of tables, or inside fences; pure.

Chunks, units, paragraphs and transcripts all read Markdown through this one scanner, so that they agree on what a fence or
a heading is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import IntEnum


class Line(IntEnum):
    """The kind of a line."""

    BLANK = 0  # outside fences
    HEADING = 1  # ATX
    OPEN = 2  # the line that opens a fence
    CODE = 3  # inside a fence, blank or not
    CLOSE = 4
    ROW = 5  # of a table, its delimiter row included
    ITEM = 6  # the first line of a list item
    MORE = 7  # a further line of a list item
    TEXT = 8


# Python 3.11 takes half a microsecond to look a member up in its class, as often as ten times a line.
BLANK, HEADING, OPEN, CODE, CLOSE, ROW, ITEM, MORE, TEXT = Line

_TAG_MARK = re.compile("#[^# ]")  # or what may be one
_LINK_MARKS = ("[[", "](", "]:")
_HEADING = re.compile(r" {0,3}(#{1,6})(?![^ \t])")
_FENCE = re.compile(r"(`{3,})[^`]*$|(~{3,})")
_ITEM = re.compile(r"(?:[-*+]|\d{1,9}[.)])(?:[ \t]|$)")
_DELIMITER = re.compile(r"\s*+\|?\s*+:?-++:?\s*+(?:\|\s*+:?-++:?\s*+)*+\|?\s*+$")


def split_lines(text: str) -> list[str]:
    r"""Split a text into lines at `\n` alone, as editors count them; a `\r` before the cut is dropped.

    A line end at the end of the text opens no further line; an empty text has no lines.
    """
    lines = text.replace("\r\n", "\n").split("\n")
    if not lines[-1]:
        lines.pop()
    return lines


def parse_heading(line: str) -> tuple[int, str] | None:
    """Return the level, 1..6, and the title of an ATX heading; None for any other line. The title may be empty."""
    match = _HEADING.match(line)
    if not match:
        return None
    title = line[match.end() :].strip()
    closed = title.rstrip("#")  # "## Title ##", but not "## C#"
    return len(match[1]), closed.rstrip() if not closed or closed[-1] in " \t" else title


def parse_fence(line: str) -> str:
    """Return the backticks or tildes with which a line opens a fence; "" if it opens none."""
    match = _FENCE.match(line.lstrip())
    return (match[1] or match[2]) if match else ""


def find_unclosed_fence(kinds: Sequence[Line]) -> int | None:
    """Find the line that opens a fence which lasts to the end; None if every fence is closed.

    Args:
        kinds: The kinds of a text's lines, as `scan` returns them.
    """
    for index in range(len(kinds) - 1, -1, -1):
        if kinds[index] is OPEN:
            return index
        if kinds[index] is not CODE:
            return None
    return None


def close_fence(lines: list[str]) -> None:
    """Append the closing line of a fence that is still open: an open fence turns all that follows into code."""
    opening = find_unclosed_fence(scan(lines))
    if opening is not None:
        lines.append(parse_fence(lines[opening]))


def is_delimiter(line: str) -> bool:
    """Return True if a line is the row of dashes under a table's head."""
    return _DELIMITER.match(line) is not None


def scan(lines: Sequence[str], *, fence: str = "") -> list[Line]:
    """Determine the kind of every line.

    Args:
        lines: Without their line ends.
        fence: The fence that is open before the first line, such as three backticks; "" if none is.

    Returns:
        One kind for each line. An unclosed fence lasts to the end.
    """
    kinds: list[Line] = []
    before = BLANK
    item_indent = -1  # the indentation of the list item that a line may belong to; -1 outside
    for line in lines:
        body = line.lstrip()
        if fence:
            kind = CLOSE if _closes(body, fence) else CODE
            fence = "" if kind is CLOSE else fence
        else:
            indent = len(line) - len(body)
            kind = _kind(line, body, before)
            if kind is TEXT and item_indent >= 0 and (before in _IN_ITEM or indent > item_indent):
                kind = MORE
            elif kind is ROW and before is TEXT and is_delimiter(line):
                kinds[-1] = ROW  # the head of a table without outer bars
            fence = parse_fence(body) if kind is OPEN else ""
            if kind is ITEM:
                item_indent = indent
            elif kind in _END_ITEM or (kind is OPEN and indent <= item_indent):
                item_indent = -1
        kinds.append(kind)
        before = kind
    return kinds


_IN_ITEM = (ITEM, MORE)
_END_ITEM = (HEADING, TEXT, ROW)


def _kind(line: str, body: str, before: Line) -> Line:
    """The kind of a line outside fences, looking at no more than the line before it."""
    if not body:
        return BLANK
    first = body[0]
    if first in "`~" and parse_fence(body):
        return OPEN
    if first == "#" and _HEADING.match(line):
        return HEADING
    if first == "|" or ("|" in body and (before is ROW or (before is TEXT and is_delimiter(line)))):
        return ROW
    if (first in "-*+" or first.isdigit()) and _ITEM.match(body):
        return ITEM
    return TEXT


def _closes(body: str, fence: str) -> bool:
    return body.startswith(fence) and not body.rstrip().strip(fence[0])


def may_hold_links(text: str) -> bool:
    """Return False if a text holds neither links nor tags; a quick look."""
    return any(map(text.__contains__, _LINK_MARKS)) or _TAG_MARK.search(text) is not None
