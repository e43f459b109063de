"""The section of a daily note that mirrors items: one list item for each, with its id in a comment. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from memory_core.items.records import Item
from memory_core.text.markdown import Line, parse_heading, scan, split_lines
from memory_core.text.paragraphs import scan_blocks

HEADING = "Learned from conversations"
END = "<!-- end of what was learned -->"  # below each list: what is appended to the note lands behind it
_MARK = re.compile(r"<!--\s*m:(?P<id>[0-9a-f]{4,32})\s*-->\Z")
_BULLET = re.compile(r"[-*+]\s+")


@dataclass(frozen=True, slots=True)
class MirrorLine:
    """One line of a note that may be about an item.

    Attributes:
        id: None for a list item without one.
        text: Without bullet and id, white space folded.
        beside: For a list item without an id: the ids in its list, if that list is closed by `END`. Each id counts where the
            note has it first, so that a copied line says nothing of its neighbours.
    """

    id: str | None
    text: str
    beside: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MirrorSection:
    """The lines of a note that may be about items.

    Attributes:
        lines: Lines with an id, and list items without one; in order.
        is_there: The note has the heading. Without it nothing follows from what is missing.
    """

    lines: tuple[MirrorLine, ...]
    is_there: bool


def write_section(items: Iterable[Item]) -> str:
    """Return the Markdown that is appended for items."""
    return "\n".join([f"## {HEADING}", "", *(f"- {show(item.content)} <!--m:{item.id}-->" for item in items), END])


def show(content: str) -> str:
    """Return the text of an item as its line has it: nothing in it opens a comment."""
    return content.replace("<!--", "<! --")


def read_section(note: str) -> MirrorSection:
    """Read what a note says of items."""
    lines = split_lines(note)
    found: list[MirrorLine] = []
    known: set[str] = set()
    is_there = False
    for listed, is_closed in _cut_lists(lines):
        ids = tuple(line.id for line in listed if line.id is not None and line.id not in known)
        known.update(ids)
        found += [MirrorLine(line.id, line.text, ids if is_closed and line.id is None else ()) for line in listed]
    for line in lines:
        heading = parse_heading(line)
        is_there = is_there or (heading is not None and heading[1].strip() == HEADING)
    return MirrorSection(tuple(found), is_there)


def _cut_lists(lines: list[str]) -> Iterator[tuple[list[MirrorLine], bool]]:
    """Yield the lists between blank lines, headings and fences; with each, True if `END` closes it."""
    listed: list[MirrorLine] = []
    for line, kind, inside in zip(lines, scan(lines), scan_blocks(lines).inside, strict=True):
        body = line.strip()
        if body == END and not inside:
            yield listed, True
            listed = []
            continue
        if inside or kind in (Line.BLANK, Line.HEADING, Line.OPEN, Line.CLOSE, Line.CODE):
            yield listed, False
            listed = []
        mark = _MARK.search(body)
        text = body[: mark.start()] if mark else body
        bullet = _BULLET.match(text)
        text = " ".join(text[bullet.end() if bullet else 0 :].split())
        if (
            kind is Line.MORE and not inside and listed and listed[-1].id is None
        ):  # the list item goes on in a further line
            listed[-1] = MirrorLine(mark["id"] if mark else None, f"{listed[-1].text} {text}".strip())
        elif mark or bullet:
            listed.append(MirrorLine(mark["id"] if mark else None, text))
    yield listed, False


def leave_out_mirrored(passage: str) -> str:
    """Return a passage in which the lines that mirror items are empty."""
    if "<!--" not in passage:
        return passage
    return "\n".join("" if _is_ours(line.strip()) else line for line in passage.split("\n"))


def _is_ours(line: str) -> bool:
    return line == END or _MARK.search(line) is not None
