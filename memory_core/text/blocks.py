"""Blocks of CommonMark, as far as appending to a note needs them: which of them blank lines do not end; pure.

Follows https://spec.commonmark.org/0.31.2/#appendix-a-parsing-strategy line by line, without what stands inside of blocks.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

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
