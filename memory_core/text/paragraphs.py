"""Paragraphs of notes: cut them as CommonMark does, fingerprint them, and select those that a note lacks. Pure.

Blocks are told apart as far as appending to a note needs them: which of them blank lines do not end. That follows
https://spec.commonmark.org/0.31.2/#appendix-a-parsing-strategy line by line, without what stands inside of blocks.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from memory_core.text.markdown import Line, parse_heading, split_lines

MAX_NESTING = 100  # of quotes and list items; what is nested deeper is text

_FENCE = re.compile(r"\A(?:(`{3,})[^`]*|(~{3,}).*)\Z")
_HEADING = re.compile(r"\A#{1,6}(?: |\Z)")
_RULE = re.compile(r"\A(?:(?:\* *+){3,}|(?:- *+){3,}|(?:_ *+){3,})\Z")
_UNDERLINE = re.compile(r"\A(?:=+|-+) *+\Z")
_MARKER = re.compile(r"\A(?:[-+*]|(\d{1,9})[.)])(?= |\Z)")

_RAW = re.compile(r"\A<(script|pre|style|textarea)(?=[\s>]|\Z)", re.IGNORECASE)
_RAW_END = re.compile(r"</(?:script|pre|style|textarea)>", re.IGNORECASE)
# Beginnings of HTML that lasts until its end is met, however many blank lines there are before; see `_open_html` for <pre>.
_LASTING = (
    (re.compile(r"\A<!--"), "-->"),
    (re.compile(r"\A<\?"), "?>"),
    (re.compile(r"\A<![A-Za-z]"), ">"),
    (re.compile(r"\A<!\[CDATA\["), "]]>"),
)
# HTML that ends at a blank line.
_TAG = re.compile(
    r"""\A</?(?:address|article|aside|base|basefont|blockquote|body|caption|center|col|colgroup|dd|details|dialog|dir|div|dl|dt
    |fieldset|figcaption|figure|footer|form|frame|frameset|h[1-6]|head|header|hr|html|iframe|legend|li|link|main|menu|menuitem|nav
    |noframes|ol|optgroup|option|p|param|search|section|summary|table|tbody|td|tfoot|th|thead|title|tr|track|ul)(?=\s|/?>|\Z)""",
    re.IGNORECASE | re.VERBOSE,
)
_WHOLE_TAG = re.compile(
    r"""\A(?:<[A-Za-z][A-Za-z0-9-]*+
    (?:\s++[A-Za-z_:][\w.:-]*+(?:\s*+=\s*+(?:[^\s"'=<>`]++|'[^']*+'|"[^"]*+"))?)*+\s*+/?>|</[A-Za-z][A-Za-z0-9-]*+\s*+>)\s*+\Z""",
    re.VERBOSE | re.ASCII,
)


class _Container(NamedTuple):
    """A quote, or a list item whose text begins `offset` columns behind that of what is around it."""

    kind: Literal["quote", "item"]
    offset: int = 0


class _Leaf(NamedTuple):
    """An open block of lines.

    Attributes:
        kind: "html" lasts until its end is met, "tag" until a blank line.
        closer: The line that ends it; "" for those that a blank line ends, and for code that is indented.
    """

    kind: Literal["paragraph", "code", "fence", "html", "tag"]
    closer: str = ""


@dataclass(slots=True)
class Blocks:
    """The blocks of a text.

    Attributes:
        inside: For every line, True if it belongs to the fence or HTML of the line before, whatever it looks like.
        opening: The line that opens the fence or HTML which is open at the end, from 0; None if none is.
        closer: The line that closes it; "" if the next line without indentation does, since it stands in a quote or a list.
        takes_indented: The text ends in a list item or in indented code, to which an indented line would belong.
    """

    inside: list[bool] = field(default_factory=list)
    opening: int | None = None
    closer: str = ""
    takes_indented: bool = False


def scan_blocks(lines: Sequence[str]) -> Blocks:
    """Scan a text.

    Args:
        lines: Without their line ends.
    """
    scanner, blocks = _Scanner(), Blocks()
    for number, line in enumerate(lines):
        before = scanner.leaf
        blocks.inside.append(scanner.read(line.expandtabs(4)))
        if scanner.leaf is not before:
            blocks.opening = number
    leaf = scanner.leaf
    if leaf is None or leaf.kind not in ("fence", "html"):
        blocks.opening = None
    elif not scanner.containers:
        blocks.closer = leaf.closer
    items = any(container.kind == "item" for container in scanner.containers)
    blocks.takes_indented = items or (leaf is not None and leaf.kind == "code")
    return blocks


class _Scanner:
    """The blocks that are still open after the lines that were read."""

    def __init__(self) -> None:
        self.containers: list[_Container] = []
        self.leaf: _Leaf | None = None
        self._is_empty = False  # the innermost item has no text yet

    def read(self, line: str) -> bool:
        """Read a line; return True if it belongs to the fence or HTML of the line before."""
        matched, rest = self._match(line)
        leaf, is_matched = self.leaf, matched == len(self.containers)
        if leaf is not None and leaf.kind in ("fence", "html", "tag") and is_matched:
            if _ends(leaf, rest):
                self.leaf = None
            return True
        if leaf is not None and leaf.kind != "paragraph" and not is_matched:
            self._close(matched)
        rest, is_new = self._open_containers(matched, rest)
        if not rest.strip(" "):
            self._read_blank(matched, is_new=is_new)
        elif not self._open_leaf(rest, matched, is_new=is_new):
            self._read_text(rest, matched, is_new=is_new)
        return False

    def _match(self, line: str) -> tuple[int, str]:
        """Return how many containers a line goes on with, and the line behind their marks."""
        for number, container in enumerate(self.containers):
            indent = _indent(line)
            if container.kind == "quote":
                if indent > 3 or line[indent : indent + 1] != ">":
                    return number, line
                line = line[indent + 1 :].removeprefix(" ")
            elif not line.strip(" "):
                if self._is_empty and number == len(self.containers) - 1:
                    return number, line
            elif indent >= container.offset:
                line = line[container.offset :]
            else:
                return number, line
        return len(self.containers), line

    def _open_containers(self, matched: int, rest: str) -> tuple[str, bool]:
        """Open the quotes and list items that begin on a line; return what is behind their marks, and True if there are any."""
        is_new = False
        while (indent := _indent(rest)) <= 3 and (matched if not is_new else len(self.containers)) < MAX_NESTING:
            body = rest[indent:]
            if body.startswith(">"):
                container, rest = _Container("quote"), body[1:].removeprefix(" ")
            elif (offset := self._find_item(body, matched, is_new=is_new)) is not None:
                container, rest = _Container("item", indent + offset), body[offset:]
            else:
                break
            if not is_new:
                self._close(matched)
            self.leaf, is_new = None, True
            self.containers.append(container)
            self._is_empty = container.kind == "item" and not rest.strip(" ")
        return rest, is_new

    def _find_item(self, body: str, matched: int, *, is_new: bool) -> int | None:
        """Return the width of a list item's mark and the spaces behind it; None if the line begins no item."""
        found = None if _RULE.match(body) or self._is_underline(body, matched, is_new=is_new) else _MARKER.match(body)
        if found is None:
            return None
        behind = body[found.end() :]
        text = behind.lstrip(" ")
        if self._is_in_paragraph(matched, is_new=is_new) and (not text or (found[1] and int(found[1]) != 1)):
            return None
        spaces = len(behind) - len(text)
        return found.end() + (spaces if text and spaces <= 4 else 1)

    def _open_leaf(self, rest: str, matched: int, *, is_new: bool) -> bool:
        """Open or end a block with a line of another kind than text; return False if it is of that kind."""
        indent = _indent(rest)
        body = rest[indent:]
        if indent > 3:
            return False
        may_be_lazy = not is_new and self.leaf is not None and self.leaf.kind == "paragraph"
        leaf: _Leaf | None = None
        if fence := _FENCE.match(body):
            leaf = _Leaf("fence", fence[1] or fence[2])
        elif html := _open_html(body):
            leaf = None if _ends(html, body) else html
        elif _TAG.match(body) or (not may_be_lazy and _WHOLE_TAG.match(body)):
            leaf = _Leaf("tag")
        elif not (_HEADING.match(body) or _RULE.match(body) or self._is_underline(body, matched, is_new=is_new)):
            return False
        if not is_new:
            self._close(matched)
        self.leaf, self._is_empty = leaf, False
        return True

    def _read_blank(self, matched: int, *, is_new: bool) -> None:
        if not is_new and matched < len(self.containers):
            self._close(matched)
        elif self.leaf is not None and self.leaf.kind != "code":
            self.leaf = None

    def _read_text(self, rest: str, matched: int, *, is_new: bool) -> None:
        goes_on = not is_new and self.leaf is not None and self.leaf.kind == "paragraph"
        if goes_on:
            return  # also where it lacks the marks of quotes and the indentation of items: CommonMark calls that lazy
        if not is_new:
            self._close(matched)
        self.leaf, self._is_empty = _Leaf("code" if _indent(rest) > 3 else "paragraph"), False

    def _close(self, matched: int) -> None:
        """Close the containers behind the first ones, and the leaf."""
        if matched < len(self.containers):
            self._is_empty = False
        del self.containers[matched:]
        self.leaf = None

    def _is_in_paragraph(self, matched: int, *, is_new: bool) -> bool:
        is_paragraph = self.leaf is not None and self.leaf.kind == "paragraph"
        return is_paragraph and not is_new and matched == len(self.containers)

    def _is_underline(self, body: str, matched: int, *, is_new: bool) -> bool:
        return self._is_in_paragraph(matched, is_new=is_new) and _UNDERLINE.match(body) is not None


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _open_html(body: str) -> _Leaf | None:
    """Return the HTML that a line begins, if only its end will end it."""
    if raw := _RAW.match(body):
        return _Leaf("html", f"</{raw[1].lower()}>")
    return next((_Leaf("html", end) for begin, end in _LASTING if begin.match(body)), None)


def _ends(leaf: _Leaf, rest: str) -> bool:
    """Return True if a line ends a fence or HTML."""
    if leaf.kind == "tag":
        return not rest.strip(" ")
    if leaf.kind == "fence":
        body = rest.strip(" ")
        return _indent(rest) <= 3 and body.startswith(leaf.closer) and not body.strip(leaf.closer[0])
    return (_RAW_END.search(rest) if leaf.closer.startswith("</") else leaf.closer in rest) not in (None, False)


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
    return frozenset(fingerprint(part) for text in texts for part in _recalled_parts(clean(text)))


def is_recalled(text: str, recalled: frozenset[str]) -> bool:
    """Return True if a paragraph only repeats recalled text; quote marks, list markers and citations are ignored."""
    bare = _bare_lines(text)
    if not recalled or not bare:
        return False
    return fingerprint("\n".join(bare)) in recalled or all(fingerprint(line) in recalled for line in bare)


def _recalled_parts(text: str) -> Iterator[str]:
    for one in split_paragraphs(text):
        bare = _bare_lines(one.text)
        if bare:
            yield "\n".join(bare)
            yield from bare


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
    """Tell blank lines and headings from text, but take what is never closed for text: else all below were one paragraph."""
    blocks = scan_blocks(lines)
    end = len(lines) if blocks.opening is None else blocks.opening
    return [
        Line.TEXT if inside and number < end else _plain_kind(line)
        for number, (line, inside) in enumerate(zip(lines, blocks.inside, strict=True))
    ]


def _plain_kind(line: str) -> Line:
    if not line.strip():
        return Line.BLANK
    return Line.HEADING if parse_heading(line) else Line.TEXT
