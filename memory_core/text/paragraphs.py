"""Paragraphs of notes: cut them as CommonMark does, fingerprint them, and select those that a note lacks. Pure.

Blocks are told apart as far as appending to a note needs them: which of them blank lines do not end.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Literal

from memory_core.text.markdown import parse_heading, split_lines

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

MAX_NESTING = 100  # of quotes and list items; what is nested deeper is text

# HTML that lasts until its end is met, however many blank lines there are before: its kinds 1 to 5 in CommonMark.
_RAW = re.compile(r"<(script|pre|style|textarea)(?=[\s>]|\Z)", re.IGNORECASE)
_RAW_END = re.compile(r"</(?:script|pre|style|textarea)>", re.IGNORECASE)
_LASTING = (("<!--", "-->"), ("<?", "?>"), ("<![CDATA[", "]]>"), ("<!", ">"))


@dataclass(slots=True)
class Blocks:
    """The blocks of a text.

    Attributes:
        inside: For every line, True if it belongs to the fence or HTML of the line before, whatever it looks like.
        opening: The line that opens the fence or HTML which is open at the end, from 0; None if none is.
        closer: The line that closes it; "" if the next line without indentation does, since it stands in a quote or a list.
        takes_indented: The text ends in a list item or in indented code, to which an indented line would belong.
    """

    inside: list[bool]
    opening: int | None = None
    closer: str = ""
    takes_indented: bool = False


def scan_blocks(lines: Sequence[str]) -> Blocks:
    """Find the fences and the HTML of a text.

    Args:
        lines: Without their line ends.
    """
    blocks = Blocks([False] * len(lines))
    tokens = _open_parser().parse("\n".join([*lines, ""]))
    for token in tokens:
        if token.type in ("fence", "html_block") and token.map is not None:
            first, end = token.map
            blocks.inside[first + 1 : end] = [True] * (end - first - 1)
            if end == len(lines) and (closer := _find_closer(token, end - first)):
                blocks.opening, blocks.closer = first, "" if token.level else closer
    blocks.takes_indented = bool(tokens) and tokens[-1].type in (
        "bullet_list_close", "ordered_list_close", "code_block",
    )  # fmt: skip
    return blocks


@cache
def _open_parser() -> MarkdownIt:
    """Return a parser of CommonMark that leaves alone what stands inside of blocks."""
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"maxNesting": MAX_NESTING})
    parser.core.ruler.enableOnly(["block"])
    return parser


def _find_closer(token: Token, size: int) -> str:
    """Return the line that ends the fence or HTML of so many lines; "" if it has ended, or a blank line ends it."""
    if token.type == "fence":
        return token.markup if token.content.count("\n") == size - 1 else ""
    html = token.content.lstrip(" ")
    if raw := _RAW.match(html):
        return "" if _RAW_END.search(html) else f"</{raw[1].lower()}>"
    closer = next((end for begin, end in _LASTING if html.startswith(begin)), "")
    return "" if closer in html else closer


CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
# Marks of a recalled line that are not the note's own words: quote marks, a list marker, the ellipsis of a cut.
DRESSING = re.compile(r"^[\s>]*+(?:[-*+]\s++)?…?\s*+|(?<!\s)\s*+(?:…\s*+)?$")
CITATION = re.compile(r"\s*+>?\s*+Source: \S+#L\d+(?:-L\d+)?\s*")

Reason = Literal["already there", "recalled"]


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Lines without a blank one between them, a heading alone, or a whole fence or HTML block.

    Attributes:
        text: The lines, joined by line ends, without blank lines around them.
        level: 1..6 for a heading, else 0.
        heading: The fingerprint of the heading above it, for a heading the next one of a higher rank; "" if there is none.
    """

    text: str
    level: int
    heading: str


@dataclass(frozen=True, slots=True)
class Skipped:
    """A paragraph that was not appended, and the reason: "already there" or "recalled"."""

    text: str
    reason: Reason


def clean(text: str) -> str:
    """Clean a text for a note: LF line ends, no control characters, no lone surrogates, every fence and all HTML closed."""
    unified = text.replace("\r\n", "\n").replace("\r", "\n")
    printable = CONTROL.sub("", unified.encode("utf-8", "replace").decode("utf-8"))
    lines = printable.strip("\n").split("\n")
    closer = scan_blocks(lines).closer
    return "\n".join([*lines, closer] if closer else lines)


def fingerprint(text: str) -> str:
    """Hash the words of a paragraph: texts that differ only in white space or Unicode composition are equal."""
    words = " ".join(unicodedata.normalize("NFC", text).split())
    return hashlib.sha256(words.encode("utf-8", "replace")).hexdigest()


def split_paragraphs(text: str) -> list[Paragraph]:
    """Cut a Markdown text into paragraphs, in order; none for a blank text. Blank lines between them are left out."""
    above: list[tuple[int, str]] = []  # the headings that apply: level and fingerprint
    paragraphs = []
    for block in _blocks(split_lines(text)):
        joined = "\n".join(block)
        found = parse_heading(block[0])
        level = found[0] if found else 0
        if level:
            above = [outer for outer in above if outer[0] < level]
        paragraphs.append(Paragraph(joined, level, above[-1][1] if above else ""))
        if level:
            above.append((level, fingerprint(joined)))
    return paragraphs


def select_new(
    paragraphs: Sequence[Paragraph], existing: Sequence[Paragraph], *, recalled: frozenset[str] = frozenset()
) -> tuple[list[Paragraph], list[Skipped]]:
    """Select the paragraphs that a note lacks.

    A paragraph is already there if its text stands under the same heading; if it comes without a heading, anywhere in
    the note. A heading with paragraphs under it is selected if one of those is, unless the note ends under that heading.

    Args:
        paragraphs: The paragraphs offered, in order.
        existing: The paragraphs of the note.
        recalled: The result of `fingerprint_recalled`.

    Returns:
        The paragraphs to append, and those that are left out, both in order.
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


def fingerprint_recalled(texts: Iterable[str]) -> frozenset[str]:
    """Fingerprint texts that recall put before the model: each paragraph and each line."""
    bare = [_bare_lines(one.text) for text in texts for one in split_paragraphs(clean(text))]
    return frozenset(fingerprint(part) for lines in bare if lines for part in ("\n".join(lines), *lines))


def is_recalled(text: str, recalled: frozenset[str]) -> bool:
    """Return True if a paragraph only repeats recalled text; quote marks, list markers and citations are ignored."""
    bare = _bare_lines(text)
    if not recalled or not bare:
        return False
    return fingerprint("\n".join(bare)) in recalled or all(fingerprint(line) in recalled for line in bare)


def _bare_lines(text: str) -> list[str]:
    lines = (DRESSING.sub("", line) for line in text.split("\n") if not CITATION.fullmatch(line))
    return [line for line in lines if line]


def _last_heading(paragraphs: Sequence[Paragraph]) -> str:
    """Return the fingerprint of the heading under which a text ends; "" if there is none."""
    if not paragraphs:
        return ""
    last = paragraphs[-1]
    return fingerprint(last.text) if last.level else last.heading


def _has_body(paragraphs: Sequence[Paragraph], index: int) -> bool:
    following = paragraphs[index + 1] if index + 1 < len(paragraphs) else None
    return following is not None and (not following.level or following.level > paragraphs[index].level)


def _blocks(lines: list[str]) -> Iterator[list[str]]:
    """Yield the lines of each paragraph; what is never closed is taken for text, else all below were one paragraph."""
    found = scan_blocks(lines)
    block: list[str] = []
    for number, (line, inside) in enumerate(zip(lines, found.inside, strict=True)):
        is_part = inside and (found.opening is None or number < found.opening)
        is_heading = not is_part and parse_heading(line) is not None
        if block and not is_part and (is_heading or not line.strip()):
            yield block
            block = []
        if is_heading:
            yield [line]
        elif is_part or line.strip():
            block.append(line)
    if block:
        yield block
