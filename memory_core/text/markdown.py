"""The lines of Markdown: headings, list items, rows of tables, fences; front matter; marks that readers hide. Pure.

Chunks, units, paragraphs and transcripts all read Markdown through this one scanner, so that they agree on what a fence or
a heading is.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import IntEnum
from functools import lru_cache
from itertools import chain, islice
from typing import TYPE_CHECKING, NamedTuple

from memory_core.text.dates import get_day

if TYPE_CHECKING:
    import yaml


class Line(IntEnum):
    """The kind of a line."""

    BLANK = 0  # outside fences
    HEADING = 1  # ATX
    OPEN = 2  # the line that opens a fence
    CODE = 3  # inside a fence, blank or not
    CLOSE = 4
    ROW = 5  # of a table, its delimiter row included; also in HTML, if it is whole
    ITEM = 6  # the first line of a list item
    MORE = 7  # a further line of a list item
    TEXT = 8


# Of GitHub's linguist those of Markdown that notes have, MDX, and those of R Markdown, which Quarto has, too.
SUFFIXES = (".md", ".markdown", ".mdown", ".mdwn", ".mdx", ".mkd", ".mkdn", ".mkdown", ".livemd", ".qmd", ".rmd")


def is_markdown(path: str) -> bool:
    """Return True if a file's name says that it is Markdown, in small letters or capitals."""
    return path.lower().endswith(SUFFIXES)


def strip_suffix(path: str) -> str:
    """Return the path of a note without the suffix of Markdown."""
    return path[: path.rindex(".")] if is_markdown(path) else path


# Python 3.11 takes half a microsecond to look a member up in its class, as often as ten times a line.
BLANK, HEADING, OPEN, CODE, CLOSE, ROW, ITEM, MORE, TEXT = Line

_TAG_MARK = re.compile("#[^# ]")  # or what may be one
_LINK_MARKS = ("[[", "](", "]:")
_HEADING = re.compile(r" {0,3}(#{1,6})(?![^ \t])")
_FENCE = re.compile(r"\A([>\s]*)(?:(`{3,})[^`]*$|(~{3,}))")
_ITEM = re.compile(r"(?:[-*+]|\d{1,9}[.)])(?:[ \t]|$)")
_DELIMITER = re.compile(r"\A[\s>]*+\|?\s*+:?-++:?\s*+(?:\|\s*+:?-++:?\s*+)*+\|?\s*+$")


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
    """Return the backticks or tildes with which a line opens a fence, behind the marks of its quote; "" if it opens none."""
    match = _FENCE.match(line)
    return ">" * match[1].count(">") + (match[2] or match[3]) if match else ""


def find_unclosed_fence(kinds: Sequence[Line]) -> int | None:
    """Find the line that opens a fence which lasts to the end; None if every fence is closed.

    Args:
        kinds: The kinds of a text's lines, as `scan` returns them.
    """
    last = next((index for index in reversed(range(len(kinds))) if kinds[index] is not CODE), None)
    return last if last is not None and kinds[last] is OPEN else None


def close_fence(lines: list[str]) -> None:
    """Append the closing line of a fence that is still open: an open fence turns all that follows into code."""
    opening = find_unclosed_fence(scan(lines))
    if opening is not None:
        lines.append(parse_fence(lines[opening]))


def is_delimiter(line: str) -> bool:
    """Return True if a line is the row of dashes under a table's head."""
    return _DELIMITER.match(line) is not None


def looks_like_row(text: str) -> bool:
    """Return True for a line that may be a row of a table, by its bars alone; a quoted one may be, too."""
    return text.lstrip("> \t").startswith("|") or " | " in text.partition("\n")[0]


TABLE = "|"  # in place of a fence: the lines begin among the rows of a table, which may have no outer bars


def scan(lines: Sequence[str], *, fence: str = "") -> list[Line]:
    """Determine the kind of every line.

    Args:
        lines: Without their line ends.
        fence: The fence that is open before the first line, such as three backticks; `TABLE` inside a table; else "".

    Returns:
        One kind for each line. An unclosed fence lasts to the end of its quote, or of the text.
    """
    kinds: list[Line] = []
    before = ROW if fence == TABLE else BLANK
    fence = fence.removeprefix(TABLE)
    item_indent = -1  # the indentation of the list item that a line may belong to; -1 outside
    for line in lines:
        body = line.lstrip()
        if fence and (inner := _leave_out_quote(body, fence.count(">"))) is not None:
            kind = CLOSE if inner.startswith(fence.lstrip(">")) and not inner.rstrip().strip(fence[-1]) else CODE
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


def _leave_out_quote(body: str, marks: int) -> str | None:
    """Return what stands behind the marks of a quote; None if a line has fewer of them."""
    for _ in range(marks):
        if body[:1] != ">":
            return None
        body = body[1:].lstrip()
    return body


_HTML_ROW = re.compile(r"(?:</?t(?:able|head|body|r)\b[^<>]*>\s*){0,3}<tr\b", re.IGNORECASE)
_IN_ITEM = (ITEM, MORE)
_END_ITEM = (HEADING, TEXT, ROW)


def _kind(line: str, body: str, before: Line) -> Line:
    """The kind of a line outside fences, looking at no more than the line before it."""
    if not body:
        return BLANK
    first = body[0]
    if first in "`~>" and parse_fence(body):
        return OPEN
    if first == "#" and _HEADING.match(line):
        return HEADING
    quoted = body.lstrip("> \t") if first == ">" else body
    is_html = first == "<" and _HTML_ROW.match(body) is not None
    if is_html or quoted[:1] == "|" or ("|" in body and (before is ROW or (before is TEXT and is_delimiter(line)))):
        return ROW
    if (first in "-*+" or first.isdigit()) and _ITEM.match(body):
        return ITEM
    return TEXT


def may_hold_links(text: str) -> bool:
    """Return False if a text holds neither links nor tags; a quick look."""
    return any(map(text.__contains__, _LINK_MARKS)) or _TAG_MARK.search(text) is not None


SECTION_SIGN = re.compile(r"^§[ \t]*$", re.MULTILINE)  # stands alone on a line between two entries of Hermes
MARK = "%%"
CODE_KINDS = frozenset({Line.OPEN, Line.CODE, Line.CLOSE})
_CODE_OR_MARK = r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)|%%"
_QUOTE = re.compile(r"\A(?: {0,3}+> ?+)++")
_IN_COMMENT = re.compile(_CODE_OR_MARK)
_OUTSIDE = re.compile(rf"{_CODE_OR_MARK}|\$\$(?:.|\n(?![ \t>]*\n))*?\$\$")


def leave_out_separators(text: str) -> str:
    """Empty the lines that hold a section sign alone, so that each entry is a paragraph; lines keep their numbers."""
    return SECTION_SIGN.sub("", text) if "§" in text else text


def leave_out_comments(text: str) -> str:
    """Remove `%%comments%%`, also those of several lines; line ends stay, so that lines keep their numbers.

    Marks in code and formulas are text, and so is the last mark if it closes nothing.
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
    lines, before = text.split("\n"), BLANK
    for at, (line, kind) in enumerate(zip(lines, scan(lines), strict=True)):
        bare = _QUOTE.sub("", line)
        if kind is TEXT and before in (BLANK, CODE) and bare.startswith(("    ", "\t")):
            kind = CODE  # noqa: PLW2901 -- indented
        before = kind if bare.strip() else BLANK
        if kind in CODE_KINDS:
            lines[at] = " " * len(line)
    text, spots, at = "\n".join(lines), list[int](), 0
    while found := (_IN_COMMENT if len(spots) % 2 else _OUTSIDE).search(text, at):
        spots += [found.start()] * (found[0] == MARK)
        at = found.end()
    return spots


def says_something(text: str) -> bool:
    """Return True for a Markdown text with more than headings and HTML comments."""
    return any(line.strip() and not _HEADING.match(line) for line in leave_out_html_comments(text).splitlines())


def leave_out_html_comments(text: str) -> str:
    """Remove HTML comments that begin a line, which no reader of Markdown shows; line ends stay.

    What is in code is text, and so is a comment that never ends.
    """
    if "<!--" not in text:
        return text
    lines = split_lines(text)
    kinds, at = scan(lines), 0
    while at < len(lines):
        if kinds[at] not in CODE_KINDS and lines[at].lstrip().startswith("<!--"):
            end = next((number for number in range(at, len(lines)) if "-->" in lines[number]), None)
            if end is None:
                break
            lines[at:end] = [""] * (end - at)
            lines[end] = lines[end].partition("-->")[2]
            at = end
            continue  # another may begin behind it
        at += 1
    return "\n".join(lines) + "\n" * text.endswith("\n")


_HTML_ROW_END = re.compile(r"(</tr\b)|</?t(?:r|able|head|body|foot)\b", re.IGNORECASE)
MOST_ROW_LINES = 200  # of one row


def join_html_rows(text: str) -> str:
    """Put each row of a table in HTML on its first line; line ends stay, so that lines keep their numbers.

    What is in code is text, and so is a row that never ends.
    """
    if "<tr" not in text.lower():
        return text
    lines = split_lines(text)
    for at, kind in enumerate(scan(lines)):
        if kind is not ROW or not _HTML_ROW.match(lines[at].lstrip()) or "</tr" in lines[at].lower():
            continue
        for end in range(at + 1, min(at + MOST_ROW_LINES, len(lines))):
            if found := _HTML_ROW_END.search(lines[end]):
                behind = end + (found[1] is not None)
                lines[at] = " ".join(filter(None, map(str.strip, lines[at:behind])))
                lines[at + 1 : behind] = [""] * (behind - at - 1)
                break
    return "\n".join(lines) + "\n" * text.endswith("\n")


LONG_RUN = 64  # characters without a space, from which on they are looked at: a line of a certificate, a hash
HASH_DIGITS = 12  # of a long hash, which are left

# One in quotes ends with these.
_DATA_URI = re.compile(
    r"""(?P<mark>["'])?data:[\w.+-]+/[\w.+-]+(?:;[\w.=+-]+)*,(?(mark)(?:(?!(?P=mark)).){64,}+(?=(?P=mark))|[^\s()"'<>\]]{64,})"""
)
_PEM = re.compile(r"^(-----BEGIN ([A-Z0-9 ]+)-----)[^\n]*\n(.*?)(?=^-----END \2-----)", re.DOTALL | re.MULTILINE)
_RUN = re.compile(  # not of an address
    r"(?<![\w+/.-])(?!//)(?:(?P<hash>[\da-f]{64,}|[\dA-F]{64,})|[\w+/.-]{63,}[\w+/-]={0,2})(?![\w+/-])", re.ASCII
)
_JOINS = re.compile("[-_.]")  # pieces of a token, or words of a name


def leave_out_blobs(text: str) -> str:
    """Remove what nobody reads: pictures in the text, certificates, compressed drawings, and all but 12 digits of long hashes.

    "…" stands for what is left out of a line; line ends stay, so that lines keep their numbers.
    """
    if "-----BEGIN " in text:
        text = _PEM.sub(lambda found: found[1] + "\n" * (found[3].count("\n") + 1), text)
    if "data:" not in text and all(len(run) < LONG_RUN for run in text.split()):
        return text
    lines = text.split("\n")
    for at, line in enumerate(lines):
        if len(line) >= LONG_RUN:
            shown = _RUN.sub(_shorten, _DATA_URI.sub(r"\g<mark>data:…", line))
            lines[at] = "" if shown.strip(" \t>") == "…" else shown
    return "\n".join(lines)


def _shorten(found: re.Match[str]) -> str:
    """Return the beginning of a hash, "…" for letters and digits without a meaning, and a long word as it is."""
    run = found[0]
    if found["hash"]:
        return f"{run[:HASH_DIGITS]}…"
    pieces = _JOINS.split(run)
    noise = (p for p in pieces if all(any(map(kind, p)) for kind in (str.isdigit, str.isupper, str.islower)))
    return "…" if 2 * sum(map(len, noise)) > len(run) else run


logger = logging.getLogger(__name__)

MAX_CHARS = 16_384  # of the block; a longer one is text
MAX_NAMES = 64  # aliases and tags together
MAX_NAME_CHARS = 100
MAX_DEPTH = 50  # of lists and mappings, far more than anybody writes

_BLOCK = re.compile(r"\A---[ \t]*\n(.*?)^(?:---|\.\.\.)[ \t]*$", re.DOTALL | re.MULTILINE)
_YAML_LINE = re.compile(
    r"""\s*\Z|\s+\S|\#|-(?:\s|\Z)|[]}]|(?:"[^"]*"|'[^']*'|[^\s:\#\[\]{}*&!|>%@`"'-][^:]*)\s*:(?:\s|\Z)""", re.VERBOSE
)
_TOML = re.compile(r"\A\+\+\+[ \t]*\n(.*?)^\+\+\+[ \t]*$", re.DOTALL | re.MULTILINE)
# As programs and people name it, in small letters and without what joins words.
_DATES = (
    "date", "created", "datecreated", "createdat", "createdon", "createdtime", "createddate", "creationdate", "published",
    "publisheddate", "publishdate", "timestamp", "day", "datum", "dato", "data", "fecha", "tarih", "дата", "日付", "日期", "날짜",
)  # fmt: skip
# Such a field in the text: "**Date:** 3 May 2026", "date:: 2026-05-03".
_TEXT_FIELD = re.compile(r"^[ \t>*_-]*([^\W\d][\w -]{1,20})[*_]{0,2}::?[*_ \t]+(\S.*)", re.MULTILINE)
_HEAD_CHARS = 600  # in which it stands
# Fields at the very top, as Logseq has them instead of front matter: "tags:: garden, [[dry stone]]", "alias:: plot".
_PROPERTY = r"([\w/-]{1,64})::[^\S\n]{1,8}(\S.*)(?:\n|\Z)"
_PROPERTIES = re.compile(rf"\A(?:- )?(?:{_PROPERTY})+")
_NEXT_TAG = re.compile(r",|\s(?=#|\[\[)")
# Fields of tags, with what separates them.
_TAGS = {"tags": r"[,\s]", "tag": r"[,\s]", "keywords": ",", "category": ",", "categories": ","}
_JOINTS = re.compile(r"[\s_-]+")
_UNIX = re.compile(r"\d{10}(?:\d{3})?", re.ASCII)  # seconds or milliseconds
_NOTHING = frozenset({"", "~", "null"})


class FrontMatter(NamedTuple):
    """The parts of a note's front matter that count.

    Attributes:
        date: The first of `_DATES` that holds one, as YYYY-MM-DD; None if none does.
        aliases: `aliases` and `alias`, each once.
        tags: The fields of `_TAGS`, without `#` and the brackets of a link; each once.
        title: `title`; "" if there is none.
    """

    date: str | None = None
    aliases: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    title: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """Aliases, then tags; each once, at most `MAX_NAMES`."""
        return tuple(dict.fromkeys((*self.aliases, *self.tags)))[:MAX_NAMES]


_NONE = FrontMatter()


def read_front_matter(text: str) -> FrontMatter:
    """Read the front matter of a note, or the properties in its place; an empty one if it has neither."""
    if text.startswith("+++") and (given := _TOML.match(text[:MAX_CHARS])):
        return _read_toml(given[1])
    if properties := _PROPERTIES.match(text[:MAX_CHARS]):
        fields = re.findall(_PROPERTY, properties[0].removeprefix("- "))
        return _conclude({key: _NEXT_TAG.split(value) if key.lower() in _TAGS else value for key, value in fields})
    found = _BLOCK.match(text[: MAX_CHARS + 8]) if text.startswith("---") else None
    return _NONE if found is None else _read(found[1])


def find_front_matter(lines: Sequence[str]) -> int:
    """Return the number of lines of a note's front matter; 0 if it has none, as where a letterhead stands between two rules."""
    if not lines or lines[0].rstrip() != "---":
        return 0
    length = 0
    for at, line in enumerate(lines[1:], 1):
        if line.rstrip(" \t") in ("---", "..."):
            return at + 1
        length += len(line) + 1
        if length > MAX_CHARS or not _YAML_LINE.match(line):
            return 0
    return 0


@lru_cache(maxsize=4)  # a sync asks for the date and the names of one note in turn
def _read(block: str) -> FrontMatter:
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        root = yaml.compose(block, Loader=loader) if _is_shallow(yaml.parse(block, Loader=loader)) else None
    except (yaml.YAMLError, ValueError, OverflowError, RecursionError) as error:
        logger.debug("front matter is no YAML: %s", error)
        return _NONE
    if not isinstance(root, yaml.MappingNode):
        return _NONE
    return _conclude({key.value: _to_plain(value) for key, value in root.value if isinstance(key, yaml.ScalarNode)})


def _read_toml(block: str) -> FrontMatter:
    """Read a block of TOML, of its tables `[taxonomies]`, in which Zola has tags."""
    import tomllib

    try:
        root = tomllib.loads(block)
    except (ValueError, RecursionError) as error:
        logger.debug("front matter is no TOML: %s", error)
        return _NONE
    tables = root.get("taxonomies")
    fields = {**tables, **root} if isinstance(tables, dict) else root
    return _conclude(
        {key: [*map(str, value)] if isinstance(value, list) else str(value) for key, value in fields.items()}
    )


def _to_plain(node: yaml.Node) -> str | list[str]:
    """Return a scalar, or the scalars of a list."""
    import yaml

    if isinstance(node, yaml.ScalarNode):
        return str(node.value)
    items = islice(node.value, MAX_NAMES) if isinstance(node, yaml.SequenceNode) else ()
    return [item.value for item in items if isinstance(item, yaml.ScalarNode)]


def _conclude(fields: Mapping[str, str | list[str]]) -> FrontMatter:
    """Return what counts of the fields of a block."""
    values = {key.lower(): value for key, value in fields.items()}
    aliases = _keep(chain(_strings(values, "aliases", ","), _strings(values, "alias", ",")))
    tags = _keep(
        tag.strip().lstrip("#[").rstrip("]")
        for key, separator in _TAGS.items()
        for tag in _strings(values, key, separator)
    )
    return FrontMatter(
        _find_date((key, _strings(values, key, None)) for key in values),
        aliases,
        tags,
        next(iter(_keep(_strings(values, "title", None))), ""),
    )


def _keep(names: Iterable[str]) -> tuple[str, ...]:
    """Return names once each, cut to their longest."""
    return tuple(islice((name[:MAX_NAME_CHARS] for name in dict.fromkeys(names) if name), MAX_NAMES))


def _is_shallow(events: Iterable[yaml.Event]) -> bool:
    """Return False if collections are nested deeper than `MAX_DEPTH`: composing them would use up a thread's stack."""
    import yaml

    depth = 0
    for event in events:
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_DEPTH:
            return False
    return True


def _find_date(fields: Iterable[tuple[str, Iterable[str]]]) -> str | None:
    """Return the first day of the fields that name one, in the order of `_DATES`."""
    found = {_JOINTS.sub("", key.lower()): values for key, values in fields}
    values = chain.from_iterable(found.get(key, ()) for key in _DATES)
    return next(filter(None, map(_read_day, values)), None)


def find_field_date(text: str) -> str | None:
    """Find the day of a field with a date at the head of a text, as `Date: 3 May 2026`; None if there is none."""
    return _find_date((key, (value,)) for key, value in _TEXT_FIELD.findall(text[:_HEAD_CHARS]))


def _read_day(value: str) -> str | None:
    from memory_core.text.periods import HALF_YEAR, find_written_day

    if _UNIX.fullmatch(value):
        return get_day(None, int(value[:10])).isoformat()
    return find_written_day(value, HALF_YEAR)


def _strings(values: Mapping[str, str | list[str]], key: str, separator: str | None) -> Iterator[str]:
    """Yield the strings under a key, on one line each: of a list, or of one scalar cut at separators."""
    parts = values.get(key, [])
    if isinstance(parts, str):
        parts = [parts] if separator is None else re.split(separator, parts)
    for part in parts:
        line = " ".join(part.split())
        if line.lower() not in _NOTHING:
            yield line
