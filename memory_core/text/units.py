"""Text of a chunk -> units, which are ranked and shown, and windows of units, which are embedded; pure."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise

from memory_core.records import Unit, Window
from memory_core.text.calendar_words import names_month
from memory_core.text.languages import STOP_WORDS
from memory_core.text.markdown import BLANK, CODE, HEADING, ITEM, MORE, OPEN, ROW, TEXT, Line, is_delimiter, scan
from memory_core.text.tables import join_lines
from memory_core.text.terms import detect_language
from memory_core.text.tokens import count_quarters, cut_long

SHORT = 40  # quarters of a token: shorter sentences say little alone and are joined with a neighbour
LONG = 500  # quarters of a token: longer units do not fit a snippet and are cut
MOST_LEAD, MOST_LEADING = 200, 6  # characters of a line that introduces others, and such lines: the nearest
CODE_CHARS = 200  # lines of code are grouped up to this length
WRAP_COLUMNS = 160  # nobody wraps text at a later column: a longer line is a paragraph of its own

Span = tuple[int, int]

# A run of stops is read from its first one alone: tried from each, a long one would take quadratic time.
_SENTENCE_END = re.compile(r"(?<![.!?…])[.!?…]++[\"'”’)\]*_]*+\s+|[。！？｡]+[」』”’）]*\s*")
_ORDINAL = re.compile(r"(?<![\d.,:])\d{1,2}\Z")  # before its full stop
_NEXT_WORD = re.compile(r"[^\W\d_]+")
# Words of German that may stand before the number of "im 2. Stock".
_BEFORE_ORDINAL = {
    *"am ans beim im ins vom zum zur der die das den dem des ein eine einen einem einer jede jeden jedem jeder jedes".split(),  # noqa: SIM905
    *"diese diesen diesem dieser dieses unser unsere unseren mein meine meinen bis und oder ab seit".split(),  # noqa: SIM905
}
_ABBREVIATIONS = re.compile(join_lines("abbreviations"), re.IGNORECASE)
# A line that begins with a speaker, key or time starts something new; "so: this" may continue a sentence.
_LABEL = re.compile(
    r"\s*(?:>\s*)?(?:[*_]{0,2}(?![a-zß-öø-ÿ])[^\W\d_][\w .'-]{0,30}[*_]{0,2}[:：][*_]{0,2}(?:\s|$)|\[?\d{1,2}:\d\d)"
)


def split_units(text: str, *, skip_lines: int = 0, fence: str = "") -> list[Unit]:
    """Cut the text of a chunk into units.

    A unit is a list item, a table row (the head with its row of dashes), a few lines of code, or one or more sentences
    of a paragraph, which may be wrapped over lines. Headings open the first unit of the text under them, and are units of
    their own above code, above a unit that is as long as one may be, and where no text follows. Fence lines are left out.

    Args:
        text: The chunk's text, or any Markdown.
        skip_lines: The number of lines at the start that get no units: the chunk's overlap.
        fence: The fence that is open before the first line behind those; "" if none is.

    Returns:
        Units in order, disjoint, without white space around them (code keeps its indentation), which cover all other
        lines. None for a blank text.
    """
    lines = text.split("\n")
    starts = list(accumulate((len(line) + 1 for line in lines), initial=0))
    kinds = [BLANK] * skip_lines + scan(lines[skip_lines:], fence=fence)
    units: list[Unit] = []
    for head, first, last in _blocks(lines, kinds):
        spans = _cut_spans(text, (starts[first], starts[last + 1] - 1), kinds[first])
        if head < first:
            together = _strip(text, starts[head], spans[0][1], indented=False)
            if _is_long(text, together):
                above = (_cut_spans(text, (starts[i], starts[i + 1] - 1), HEADING) for i in range(head, first))
                spans = [span for own in above for span in own] + spans
            else:
                spans[0] = together
        units += [_to_unit(starts, span, head, last) for span in spans]
    return units


def find_leads(lines: Sequence[str], kinds: Sequence[Line]) -> list[tuple[int, ...]]:
    """Find for every line the lines that introduce it, in order.

    Of a row of a table, those are its head with the dashes below; of an item of a list, the line above the list and the items of
    which it is a child.
    """
    leads: list[tuple[int, ...]] = []
    head: tuple[int, ...] = ()
    intro: tuple[int, ...] = ()
    items: list[tuple[int, int]] = []  # the open ones: indentation and line
    before = BLANK
    for at, kind in enumerate(kinds):
        lead: tuple[int, ...] = ()
        html = lines[at].lower() if "<" in lines[at] else ""
        if "<table" in html:
            head = ()
        if kind is ROW:
            if html.lstrip().startswith("<"):
                head = (at,) if "<th" in html and not (head and "<td" in html) else head
            elif before is not ROW:
                head = (at, at + 1) if at + 1 < len(lines) and is_delimiter(lines[at + 1]) else ()
            lead = head if at not in head else ()
        elif kind is ITEM or (items and kind not in (HEADING, TEXT)):
            indent = len(lines[at]) - len(lines[at].lstrip())
            if kind is ITEM:
                items = [each for each in items if each[0] < indent]
            lead = (*intro, *(line for _, line in items))
            if kind is ITEM:
                items.append((indent, at))
        elif kind is not BLANK or not lines[at - 1].rstrip(" \t*_").endswith((":", "：")):
            intro = (at,) if kind is TEXT else ()
        if kind in (HEADING, TEXT, ROW):
            items = []
        leads.append(lead[-MOST_LEADING:])
        before = kind
    return leads


def find_sentence_starts(text: str, start: int, end: int) -> list[int]:
    """Find where sentences behind the first one begin in a part of a text, in order, and `end` if a sentence ends there."""
    return [match.end() for match in _SENTENCE_END.finditer(text, start, end) if _ends_sentence(text, start, match)]


_PROSE = (TEXT, MORE)


def split_windows(text: str, units: Sequence[Unit], *, max_tokens: int = 100) -> list[Window]:
    """Pack units into windows of at most `max_tokens` by estimate; a unit that is longer is a window alone.

    Args:
        text: The text that the units were cut from.
        units: In order.
        max_tokens: The most tokens of a window, line ends included.

    Returns:
        Windows in order; every unit is in exactly one.
    """
    windows: list[Window] = []
    first = used = 0
    texts: list[str] = []
    for index, unit in enumerate(units):
        piece = text[unit.start : unit.end]
        length = count_quarters(piece) + 1
        if texts and used + length > 4 * max_tokens + 1:
            windows.append(Window(first, index - 1, "\n".join(texts)))
            first, used, texts = index, 0, []
        used += length
        texts.append(piece)
    if texts:
        windows.append(Window(first, len(units) - 1, "\n".join(texts)))
    return windows


def _blocks(lines: Sequence[str], kinds: Sequence[Line]) -> Iterator[tuple[int, int, int]]:
    """Group lines into blocks: an item, a row, a paragraph, lines of code.

    Yields:
        For each block the line of the first heading above it, or else its first line; its first line; its last line,
        included.
    """
    headings: list[int] = []
    i = 0
    while i < len(lines):
        kind = kinds[i]
        if kind is HEADING:
            headings.append(i)
        elif kind is OPEN:  # no unit reaches over a fence
            yield from ((line, line, line) for line in headings)
            headings.clear()
        elif kind >= ROW or (kind is CODE and lines[i].strip()):
            last = _find_last_line(lines, kinds, i)
            yield (headings[0] if headings else i), i, last
            headings.clear()
            i = last
        i += 1
    yield from ((line, line, line) for line in headings)


def _find_last_line(lines: Sequence[str], kinds: Sequence[Line], first: int) -> int:
    """Find the last line of the block that begins with a non-blank line."""
    kind = kinds[first]
    i = first + 1
    if kind is CODE:
        room = CODE_CHARS - len(lines[first])
        while i < len(lines) and kinds[i] is CODE and lines[i].strip() and len(lines[i]) < room:
            room -= len(lines[i]) + 1
            i += 1
    elif kind is ROW:
        i += i < len(lines) and kinds[i] is ROW and is_delimiter(lines[i])
    else:
        more = TEXT if kind is TEXT else MORE
        while i < len(lines) and kinds[i] is more:
            i += 1
    return i - 1


def _cut_spans(text: str, block: Span, kind: Line) -> list[Span]:
    """Cut a block into spans without white space around them."""
    cut = _cut_block(text, block) if kind in _PROSE or _is_long(text, block) else (block,)
    found = [_strip(text, *span, indented=kind is CODE) for span in cut]
    return [span for span in found if span[0] < span[1]]


def _cut_block(text: str, block: Span) -> Iterator[Span]:
    """Cut prose, or a block that is too long, into sentences, and a sentence that is too long further."""
    for start, end in _cut_sentences(text, block):
        if _is_long(text, (start, end)):
            yield from ((start + a, start + b) for a, b in cut_long(text[start:end], LONG // 4))
        else:
            yield start, end


def _is_long(text: str, span: Span) -> bool:
    start, end = span
    return end - start > LONG // 4 and count_quarters(text[start:end]) > LONG


def _cut_sentences(text: str, span: Span) -> list[Span]:
    """Cut a paragraph into sentences, short ones joined with a neighbour."""
    start, end = span
    cuts = sorted({*find_sentence_starts(text, start, end), *_find_hard_breaks(text, start, end)})
    return _join_short(text, [start, *(cut for cut in cuts if cut < end), end])


def _join_short(text: str, bounds: Sequence[int]) -> list[Span]:
    spans: list[Span] = []
    start = bounds[0]
    for end in bounds[1:]:
        if not _is_short(text, start, end):
            spans.append((start, end))
            start = end
    if start < bounds[-1]:  # the last one is short and has no follower
        before = spans.pop()[0] if spans else start
        spans.append((before, bounds[-1]))
    return spans


def _is_short(text: str, start: int, end: int) -> bool:
    return end - start < SHORT and count_quarters(text[start:end].strip()) < SHORT


def _ends_sentence(text: str, start: int, match: re.Match[str]) -> bool:
    """Return False for a full stop of an abbreviation, an initial, an ordinal number or an ellipsis amid a sentence."""
    if match[0][0] not in ".…":
        return True
    after = text[match.end() : match.end() + 1]
    if after.islower():
        return False
    words = text[max(start, match.start() - 12) : match.start()].split()
    word = words[-1].lstrip("(\"'“‘*_") if words else ""
    if word.isdigit():
        return not _is_ordinal(text, start, match, words[-2] if len(words) > 1 else "")
    return not _ABBREVIATIONS.match(word) and not (len(word) == 1 and word.isupper())


def _is_ordinal(text: str, start: int, stop: re.Match[str], before: str) -> bool:
    """Return True for the number of "3. Februar", and in German of "im 2. Stock": an article stands before it, a noun behind.

    Args:
        text: The text.
        start: Where the sentence's paragraph begins.
        stop: The full stop behind the number.
        before: The word before the number.
    """
    behind = _NEXT_WORD.match(text, stop.end())
    if behind is None or not _ORDINAL.search(text, max(start, stop.start() - 4), stop.start()):
        return False
    is_attached, language = before.lower() in _BEFORE_ORDINAL, detect_language(text[start : stop.start()])
    if names_month(behind[0]):  # but "We bought 7. March is better.", and "12. May I"
        return (is_attached or language != "en") and behind[0].lower() not in STOP_WORDS["en"]
    is_german = language == "de" or before.lower() not in STOP_WORDS["en"]
    return is_attached and is_german and behind[0].lower() not in STOP_WORDS["de"]


def _find_hard_breaks(text: str, start: int, end: int) -> Iterator[int]:
    """Find the lines of a paragraph that begin something new rather than continue a wrapped sentence; yields offsets."""
    lines = text[start:end].split("\n")
    width = max(map(len, lines))
    at = start
    for line, following in pairwise(lines):
        at += len(line) + 1
        word = following.split(None, 1)[0]
        unfilled = len(line) + 1 + len(word) < 0.6 * width  # wrapping would have put the word on this line
        if unfilled or width > WRAP_COLUMNS or line.endswith(("  ", "\\")) or _LABEL.match(following):
            yield at


def _strip(text: str, start: int, end: int, *, indented: bool) -> Span:
    piece = text[start:end]
    left = 0 if indented else len(piece) - len(piece.lstrip())
    return start + left, start + len(piece.rstrip())


def _to_unit(starts: Sequence[int], span: Span, first: int, last: int) -> Unit:
    """Make the unit of a span that lies between two lines."""
    if first == last:
        return Unit(*span, first, last)
    return Unit(*span, bisect_right(starts, span[0]) - 1, bisect_right(starts, span[1] - 1) - 1)
