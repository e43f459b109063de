"""Marks of other programs that readers of their notes do not see: Obsidian's comments, Hermes' separators of entries."""

from __future__ import annotations

import re

from memory_core.text.markdown import Line, scan, split_lines

SECTION_SIGN = re.compile(r"^§[ \t]*$", re.MULTILINE)  # stands alone on a line between two entries of Hermes
MARK = "%%"
_CODE = re.compile(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)")


def leave_out_separators(text: str) -> str:
    """Empty the lines that hold a section sign alone, so that each entry is a paragraph; lines keep their numbers."""
    return SECTION_SIGN.sub("", text) if "§" in text else text


def leave_out_comments(text: str) -> str:
    """Remove `%%comments%%`, also those of several lines; line ends stay, so that lines keep their numbers.

    Marks in code are text, and so is the last mark if it closes nothing.
    """
    if MARK not in text:
        return text
    spots = _find_marks(text)
    parts, at = [], 0
    for first, last in zip(spots[::2], spots[1::2], strict=False):
        parts += [text[at:first], "\n" * text.count("\n", first, last)]
        at = last + len(MARK)
    return "".join([*parts, text[at:]])


def _find_marks(text: str) -> list[int]:
    lines = split_lines(text)
    spots, at = [], 0
    for line, kind in zip(lines, scan(lines), strict=True):
        if kind not in {Line.OPEN, Line.CODE, Line.CLOSE}:
            hidden = [match.span() for match in _CODE.finditer(line)]
            marks = (match.start() for match in re.finditer(MARK, line))
            spots += [at + mark for mark in marks if not any(first <= mark < last for first, last in hidden)]
        at += len(line) + 1
    return spots
