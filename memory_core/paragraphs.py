"""What a paragraph of a note is, which of them are new, and which came from recall; pure."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from memory_core.markdown import Line, heading, opened_fence, scan, split_lines

CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
# What a line of recalled text carries besides the note's own words: quote marks, a list marker, the ellipsis of a cut.
DRESSING = re.compile(r"^[\s>]*(?:[-*+]\s+)?…?\s*|\s*…?\s*$")
CITATION = re.compile(r"\s*>?\s*Source: \S+#L\d+(?:-L\d+)?\s*")

Reason = Literal["already there", "recalled"]


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Lines without a blank one between them, a heading alone, or a whole fenced block.

    Attributes:
        text: The lines, joined by line ends, without blank lines around.
        level: 1..6 for a heading, else 0.
        heading: The fingerprint of the heading it stands under, for a heading one of a higher rank; "" when there is none.
    """

    text: str
    level: int
    heading: str


@dataclass(frozen=True, slots=True)
class Skipped:
    """A paragraph that was not appended, and why: "already there" or "recalled"."""

    text: str
    reason: Reason


def clean(text: str) -> str:
    """Text as it may stand in a note: LF line ends, no control characters, no lone surrogates, every fence closed."""
    unified = text.replace("\r\n", "\n").replace("\r", "\n")
    printable = CONTROL.sub("", unified.encode("utf-8", "replace").decode("utf-8"))
    lines = printable.strip("\n").split("\n")
    opening = _open_fence(scan(lines))
    if opening is not None:  # a fence left open would turn every later note of the file into code
        lines.append(opened_fence(lines[opening]))
    return "\n".join(lines)


def fingerprint(text: str) -> str:
    """The content hash of a paragraph: equal for texts that differ in white space or Unicode composition only."""
    words = " ".join(unicodedata.normalize("NFC", text).split())
    return hashlib.sha256(words.encode("utf-8", "replace")).hexdigest()


def split(text: str) -> list[Paragraph]:
    """The paragraphs of a Markdown text, in order; empty for a blank one. Blank lines between them are left out."""
    above: list[tuple[int, str]] = []  # headings in force: level and fingerprint
    paragraphs = []
    for block in _blocks(split_lines(text)):
        joined = "\n".join(block)
        found = heading(block[0])
        level = found[0] if found else 0
        if level:
            above = [outer for outer in above if outer[0] < level]
        paragraphs.append(Paragraph(joined, level, above[-1][1] if above else ""))
        if level:
            above.append((level, fingerprint(joined)))
    return paragraphs


def fresh(
    paragraphs: Sequence[Paragraph], existing: Sequence[Paragraph], *, recalled: frozenset[str] = frozenset()
) -> tuple[list[Paragraph], list[Skipped]]:
    """Sort out what a note lacks.

    A paragraph is there already when its text stands under the same heading, or anywhere when it brings no heading. A
    heading with something under it is kept when some of that is kept, unless the note ends under that heading anyway.

    Args:
        paragraphs: What is offered, in order.
        existing: What the note holds.
        recalled: As `recalled_fingerprints` makes it.

    Returns:
        What is to be appended, and what is left out, both in order.
    """
    known = {(fingerprint(one.text), one.heading) for one in existing}
    anywhere = {text for text, _ in known}
    pending: list[Paragraph] = []
    kept: list[Paragraph] = []
    skipped: list[Skipped] = []
    for index, one in enumerate(paragraphs):
        if one.level:
            pending = [above for above in pending if above.level < one.level]
            if _has_body(paragraphs, index):
                pending.append(one)
                continue
        key = fingerprint(one.text), one.heading
        if is_recalled(one.text, recalled):
            skipped.append(Skipped(one.text, "recalled"))
        elif key in known or (key[0] in anywhere and not one.heading):
            skipped.append(Skipped(one.text, "already there"))
        else:
            repeats = not kept and len(pending) == 1 and _last_heading(existing) == fingerprint(pending[0].text)
            kept += [one] if repeats else [*pending, one]
            pending = []
            known.add(key)
            anywhere.add(key[0])
    return kept, skipped


def recalled_fingerprints(texts: Iterable[str]) -> frozenset[str]:
    """The fingerprints of texts that recall put before the model: of each paragraph and of each line."""
    return frozenset(fingerprint(part) for text in texts for part in _parts(clean(text)))


def is_recalled(text: str, recalled: frozenset[str]) -> bool:
    """Whether a paragraph says nothing but what was recalled; quote marks, list markers and citations do not count."""
    bare = _bare_lines(text)
    if not recalled or not bare:
        return False
    return fingerprint("\n".join(bare)) in recalled or all(fingerprint(line) in recalled for line in bare)


def _parts(text: str) -> Iterator[str]:
    for one in split(text):
        bare = _bare_lines(one.text)
        if bare:
            yield "\n".join(bare)
            yield from bare


def _bare_lines(text: str) -> list[str]:
    lines = (DRESSING.sub("", line) for line in text.split("\n") if not CITATION.fullmatch(line))
    return [line for line in lines if line]


def _last_heading(paragraphs: Sequence[Paragraph]) -> str:
    """The fingerprint of the heading under which a text ends; "" when it has none."""
    if not paragraphs:
        return ""
    last = paragraphs[-1]
    return fingerprint(last.text) if last.level else last.heading


def _has_body(paragraphs: Sequence[Paragraph], index: int) -> bool:
    following = paragraphs[index + 1] if index + 1 < len(paragraphs) else None
    return following is not None and (not following.level or following.level > paragraphs[index].level)


def _blocks(lines: list[str]) -> Iterator[list[str]]:
    block: list[str] = []
    for line, kind in zip(lines, _kinds(lines), strict=True):
        if kind in (Line.BLANK, Line.HEADING) and block:
            yield block
            block = []
        if kind is Line.HEADING:
            yield [line]
        elif kind is not Line.BLANK:
            block.append(line)
    if block:
        yield block


def _kinds(lines: list[str]) -> list[Line]:
    """As `scan`, but a fence that is never closed is ordinary text, or all below it would be one paragraph."""
    kinds = scan(lines)
    opening = _open_fence(kinds)
    if opening is not None:
        kinds[opening:] = (_plain(line) for line in lines[opening:])
    return kinds


def _plain(line: str) -> Line:
    if not line.strip():
        return Line.BLANK
    return Line.HEADING if heading(line) else Line.TEXT


def _open_fence(kinds: Sequence[Line]) -> int | None:
    """The index of the line whose fence is open at the end; None when none is."""
    for index in range(len(kinds) - 1, -1, -1):
        if kinds[index] is Line.OPEN:
            return index
        if kinds[index] is not Line.CODE:
            return None
    return None
