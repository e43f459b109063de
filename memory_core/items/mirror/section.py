"""The section of a daily note that mirrors items: one list item for each, with its id in a comment. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from memory_core.items.records import Item
from memory_core.text.markdown import parse_heading, split_lines

HEADING = "Learned from conversations"
_MARKED = re.compile(r"\s*(?:[-*+]\s+)?(?P<text>.*?)\s*<!--\s*m:(?P<id>[0-9a-f]{4,32})\s*-->\s*")
_BULLET = re.compile(r"\s*[-*+]\s+(?P<text>.+)")


@dataclass(frozen=True, slots=True)
class MirrorLine:
    """One line of the section; `id` is None for a line that a person has added."""

    id: str | None
    text: str


@dataclass(frozen=True, slots=True)
class MirrorSection:
    """The lines of a note that are about items.

    Attributes:
        lines: Lines with an id anywhere in the note, and list items without one in the section; in order.
        is_there: The note has the heading. Without it nothing follows from what is missing.
    """

    lines: tuple[MirrorLine, ...]
    is_there: bool


def write_section(items: Iterable[Item]) -> str:
    """Return the Markdown that is appended for items."""
    return "\n".join([f"## {HEADING}", "", *(f"- {show(item)} <!--m:{item.id}-->" for item in items)])


def show(item: Item) -> str:
    """Return the text of an item as its line has it: nothing in it opens a comment."""
    return item.content.replace("<!--", "<! --")


def read_section(note: str) -> MirrorSection:
    """Read what a note says of items."""
    lines: list[MirrorLine] = []
    inside = is_there = False
    for line in split_lines(note):
        if heading := parse_heading(line):
            inside = heading[1].strip() == HEADING
            is_there = is_there or inside
        elif marked := _MARKED.fullmatch(line):
            lines.append(MirrorLine(marked["id"], " ".join(marked["text"].split())))
        elif inside and (bullet := _BULLET.fullmatch(line)):
            lines.append(MirrorLine(None, " ".join(bullet["text"].split())))
    return MirrorSection(tuple(lines), is_there)


def leave_out_mirrored(passage: str) -> str:
    """Return a passage in which the lines that mirror items are empty."""
    if "<!--" not in passage:
        return passage
    return "\n".join("" if _MARKED.fullmatch(line) else line for line in passage.split("\n"))
