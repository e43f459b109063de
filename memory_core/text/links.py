"""Links and tags in the Markdown of a note; what stands in code or in an HTML comment is none. Pure, linear time."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple
from urllib.parse import unquote

from memory_core.text.envelopes import DIRECTIVE, HOST_MARKER
from memory_core.text.markdown import CODE_KINDS, SUFFIXES, Line, find_front_matter, is_markdown, scan

LinkKind = Literal["wikilink", "link", "tag"]

# Not of a template, nor what a wiki puts a list in place of: [[{{title}}]], [[<% tp.date %>]], [[_TOC_]].
_WIKILINK = re.compile(r"\[\[(?!_[A-Z]+_\]\])((?:(?!\{\{|<%)[^\[\]\n]){1,300})\]\]")
_LINK = re.compile(r"\]\([ \t]{0,3}(?:<([^<>\n]{1,500})>|([^\s()<>]{1,500}))")
_DEFINITION = re.compile(r" {0,3}\[([^\[\]\n]{1,300})\]:[ \t]{0,9}(?:<([^<>\n]{1,500})>|([^\s<>]{1,500}))")
_REFERENCE = re.compile(r"(?<!\[)\[([^\[\]\n]{1,300})\](?:\[([^\[\]\n]{0,300})\])?+(?![(:\]])")
_TAG = re.compile(r"(?<![^\s(,;|])#([^\W\d_][\w/-]{0,99})")
_COLOUR = re.compile(r"(?=[a-f]{0,7}\d)(?:[\da-f]{3}|[\da-f]{6}|[\da-f]{8})\Z", re.IGNORECASE)
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]{0,30}:", re.IGNORECASE)
_EXTENSION = re.compile(r"\.[a-z][a-z0-9]{1,8}\Z", re.IGNORECASE)  # of an attachment; a name may end in .2
_TICKS = re.compile(r"`+")
_MARK = re.compile(r"(`+)|<!--")


class Link(NamedTuple):
    """A link to a note or a name, or a tag.

    Attributes:
        kind: How it is written.
        target: The note or name as written: without heading, block, shown text and `#`.
        line: Index of its line.
    """

    kind: LinkKind
    target: str
    line: int


class LinkText(NamedTuple):
    """The lines of a note as relations read them.

    Attributes:
        lines: Without comments, front matter but for its links, and wikilinks in code.
        prose: As many, without code either.
    """

    lines: list[str]
    prose: list[str]


def read_lines(lines: Sequence[str]) -> LinkText:
    """Blank what counts for nothing in the lines of a note.

    Args:
        lines: From the first of the note, without line ends.
    """
    matter = find_front_matter(lines)  # `read_front_matter` reads it; links in fields are links all the same
    kept = (line if "[[" in line and not line.startswith("alias") else "" for line in lines[:matter])
    lines = [*kept, *lines[matter:]] if matter else lines
    last_close = max((i for i, line in enumerate(lines) if "-->" in line), default=-1)
    shown: list[str] = []
    prose: list[str] = []
    in_comment = False
    for i, (line, kind) in enumerate(zip(lines, scan(lines), strict=True)):
        if kind in CODE_KINDS and not in_comment:
            shown.append(_WIKILINK.sub(" ", line))
            prose.append("")
            continue
        if "[[" in line or "<<<" in line:
            line = DIRECTIVE.sub("", HOST_MARKER.sub("", line))  # noqa: PLW2901
        bare = line
        if in_comment or "`" in line or "<!--" in line:
            line, bare, in_comment = _blank_marks(line, in_comment=in_comment, closes=i < last_close)  # noqa: PLW2901
        shown.append(line)
        prose.append(bare)
    return LinkText(shown, prose)


def find_links(prose: Sequence[str]) -> Iterator[Link]:
    """Find the links and tags of a note, line by line.

    Args:
        prose: See `LinkText`.
    """
    defined = _find_definitions(prose)
    for i, line in enumerate(prose):
        for written in _WIKILINK.findall(line):
            target = written.replace("\\|", "|").partition("|")[0].partition("#")[0].partition("^")[0].strip()
            if target and not is_attachment(target):
                yield Link("wikilink", target, i)
        yield from (Link("link", target, i) for target in _find_targets(line, defined))
        yield from (Link("tag", tag.rstrip("/-"), i) for tag in _TAG.findall(line) if not _COLOUR.match(tag))


def _find_targets(line: str, defined: Mapping[str, str]) -> Iterator[str]:
    """Yield the notes to which links of Markdown lead, those by a label behind the others."""
    found = (_read_target(bracketed or bare) for bracketed, bare in _LINK.findall(line))
    yield from (target for target in found if target is not None)
    for text, label in _REFERENCE.findall(line) if defined else ():
        target = defined.get(_make_label(label or text))
        if target is not None:
            yield target


def _find_definitions(prose: Sequence[str]) -> dict[str, str]:
    """Return the notes that a note links to by labels: `[label]: note.md`; of several for one label the first counts."""
    found: dict[str, str] = {}
    for line in prose:
        if definition := _DEFINITION.match(line):
            label, bracketed, bare = definition.groups()
            target = _read_target(bracketed or bare)
            if target is not None:
                found.setdefault(_make_label(label), target)
    return found


def _make_label(text: str) -> str:
    return " ".join(text.casefold().split())


def _read_target(written: str) -> str | None:
    """Return the note to which the target of a link leads; None if it leads elsewhere."""
    target = unquote(written.partition("#")[0]).strip()
    return target if is_markdown(target) and not _SCHEME.match(target) else None


def is_attachment(target: str) -> bool:
    """Return True if the target of a link is a file, but no note."""
    extension = _EXTENSION.search(target)
    return extension is not None and extension[0].lower() not in SUFFIXES


def find_blocks(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Find the blocks of a note: paragraphs, list items, and single lines of all else but blank ones.

    Args:
        lines: See `LinkText`.

    Yields:
        Indexes of the first and the last line, included.
    """
    kinds = scan(lines)
    first = 0
    while first < len(kinds):
        kind, last = kinds[first], first
        if kind in (Line.TEXT, Line.ITEM, Line.MORE):
            more = Line.TEXT if kind is Line.TEXT else Line.MORE
            while last + 1 < len(kinds) and kinds[last + 1] is more:
                last += 1
        if kind not in (Line.BLANK, Line.OPEN, Line.CLOSE):
            yield first, last
        first = last + 1


def _blank_marks(line: str, *, in_comment: bool, closes: bool) -> tuple[str, str, bool]:
    """Blank comments in a line, and code besides.

    Args:
        line: One line outside of fences.
        in_comment: A comment is open before it.
        closes: A later line ends comments; without one, none begins that this line does not end.

    Returns:
        The line without comments; without code spans, too; and whether a comment is open behind it.
    """
    last_end = line.rfind("-->")
    runs: dict[int, list[tuple[int, int]]] = defaultdict(list)  # the runs of backticks by their length, the last first
    for found in reversed([*_TICKS.finditer(line)]):
        runs[found.end() - found.start()].append(found.span())
    shown: list[str] = []
    prose: list[str] = []
    at = 0
    while True:
        if in_comment:
            end = line.find("-->", at)
            if end < 0:
                break
            in_comment, at = False, end + len("-->")
        begin = at
        while mark := _MARK.search(line, begin):
            begin = mark.end()
            is_code = mark[1] is not None
            same = runs[len(mark[1])] if is_code else []
            while same and same[-1][0] < begin:
                same.pop()
            if same:
                _, begin = same.pop()
                prose += (line[at : mark.start()], " ")
                shown += (line[at : mark.start()], _WIKILINK.sub(" ", line[mark.start() : begin]))
                at = begin
            elif not is_code and (begin <= last_end or closes):
                in_comment = True
                break
        end = len(line) if mark is None else mark.start()
        shown.append(line[at:end])
        prose.append(line[at:end])
        at = begin
        if mark is None:
            break
    return "".join(shown), "".join(prose), in_comment
