"""The small rules of `tidy`: dead links, names in two spellings, relative dates, and MEMORY.md that has grown too long; pure."""

from __future__ import annotations

import posixpath
import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from datetime import date, timedelta
from itertools import accumulate
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from memory_core.text.languages import is_common
from memory_core.text.links import find_links, read_lines
from memory_core.text.markdown import parse_heading, read_front_matter, split_lines, strip_suffix
from memory_core.text.names import make_key, suggest_near
from memory_core.text.periods import NamedPeriod, find_periods, read_time_word
from memory_core.text.spelling import make_spelling_key, measure_distance

OFTEN = 5  # times that a name stands in one spelling before another one, which stands once, is taken for a slip

_NAME = re.compile(r"(?<![\w@/.-])[A-ZÀ-ÞΑ-ΩА-Я][^\W\d_A-ZÀ-ÞА-Я][^\W\d_]{4,28}(?!\w)")
_MONDAY = date(2024, 1, 1)


class Repair(NamedTuple):
    """A fault in a line, and its repair.

    Attributes:
        kind: As `Proposal.kind`.
        path, line: Where.
        old, new: The words to replace in the line; "" where the reader has to choose.
        why: A sentence.
        evidence: Other places that speak for it.
    """

    kind: str
    path: str
    line: int
    old: str
    new: str
    why: str
    evidence: tuple[tuple[str, int], ...] = ()


def read_marks(text: str, *, dated: bool) -> dict[str, Any]:
    """Return what these rules need of a note, as JSON has it: links, names, aliases and relative dates."""
    lines = split_lines(text)
    prose = read_lines(lines).prose
    names: dict[str, list[int]] = {}
    for number, line in enumerate(prose, start=1):
        for name in _NAME.findall(line):
            names.setdefault(name, []).append(number)
    marks: dict[str, Any] = {
        "links": [[each.line + 1, each.kind, each.target] for each in find_links(prose) if each.kind != "tag"],
        "names": {name: [len(at), at[0]] for name, at in names.items()},
        "aliases": [*(front := read_front_matter(text)).aliases, *([front.title] if front.title else [])],
    }
    if not dated:
        marks["relative"] = [
            [number, phrase.text]
            for number, line in enumerate(prose, start=1)
            for phrase in find_relative(line, _MONDAY)
        ]
    return marks


def find_relative(line: str, day: date) -> Iterator[NamedPeriod]:
    """Yield the periods in a line that name no day by themselves: "next Friday", "last week", "tomorrow"; no weekday alone."""
    found = [*find_periods(line, day)]
    later = [*find_periods(line, day + timedelta(days=15))] if found else []
    for number, each in enumerate(found):
        moved = number < len(later) and later[number].period != each.period
        alone = len(each.text.split()) == 1 and (read_time_word(each.text, each.language) or "?")[0] in ("w", "m")
        if moved and not alone and not re.search(r"\d", each.text):
            yield each


def find_links_that_lead_nowhere(notes: Mapping[str, Mapping[str, Any]]) -> Iterator[Repair]:
    """Yield the links to notes that do not exist, where one note is called nearly the same.

    Args:
        notes: What `read_marks` returned, by path.
    """
    by_name: defaultdict[str, list[str]] = defaultdict(list)
    for path, marks in notes.items():
        for name in (PurePosixPath(path).stem, strip_suffix(path), *marks["aliases"]):
            by_name[make_key(name)].append(path)
    for path, line, kind, target in ((path, *link) for path, marks in notes.items() for link in marks["links"]):
        place = PurePosixPath(path).parent / target if kind == "link" else PurePosixPath(target)
        bare = posixpath.normpath(place.as_posix())
        key = make_key(strip_suffix(PurePosixPath(target).name))
        if (
            bare in notes
            or posixpath.normpath(target) in notes
            or (kind == "wikilink" and (key in by_name or make_key(target) in by_name))
        ):
            continue
        near = by_name.get(key) or by_name.get(make_key((suggest_near(key, [*by_name], 1) or [""])[0]), [])
        if len(set(near)) == 1 and measure_distance(make_key(PurePosixPath(near[0]).stem), key, 2) <= 2:
            folder = PurePosixPath(path).parent.as_posix()
            new = PurePosixPath(near[0]).stem if kind == "wikilink" else posixpath.relpath(near[0], folder)
            yield Repair(
                "broken link", path, line, target, new, f"There is no note {target}, but {near[0]}.", ((near[0], 1),)
            )


def find_spellings(notes: Mapping[str, Mapping[str, Any]]) -> Iterator[Repair]:
    """Yield the names that stand once, a letter apart from one that stands often.

    Args:
        notes: What `read_marks` returned, by path.
    """
    counts: Counter[str] = Counter()
    places: dict[str, tuple[str, int]] = {}
    for path, marks in notes.items():
        for name, (count, line) in marks["names"].items():
            counts[name] += count
            places.setdefault(name, (path, line))
    near: defaultdict[str, list[str]] = defaultdict(list)
    for name in (name for name, count in counts.items() if count >= OFTEN):
        for each in _leave_one_out(name):
            near[each].append(name)
    for name in (name for name, count in counts.items() if count == 1):
        found = {each for part in _leave_one_out(name) for each in near.get(part, ()) if _is_slip(name, each)}
        found = {each for each in found if not is_common(each.lower(), None)}
        if len(found) == 1 and not is_common(name.lower(), None):
            right = found.pop()
            why = f"{right} stands {counts[right]} times, {name} once."
            yield Repair("spelling", *places[name], name, right, why, (places[right],))


def _leave_one_out(name: str) -> Iterable[str]:
    word = make_spelling_key(name.lower())
    return {word, *(word[:at] + word[at + 1 :] for at in range(len(word)))}


def _is_slip(name: str, right: str) -> bool:
    """Return True if a name may be a slip for another one: a letter apart, and not only in the ending, as inflected forms are."""
    one, other = name.lower(), right.lower()
    if make_spelling_key(one) == make_spelling_key(other):
        return True
    stem = min(len(one), len(other)) - 2
    return one[0] == other[0] and one[:stem] != other[:stem] and measure_distance(one, other, 1) <= 1


def find_overflow(path: str, text: str, shown_chars: int) -> Iterator[Repair]:
    """Yield where a note that is quoted at the start of a session is cut, and what could move.

    Args:
        path: Of the note.
        text: Of the note.
        shown_chars: The most characters that a session start shows.
    """
    lines = split_lines(text)
    used = [*accumulate(len(line) + 3 for line in lines)]
    if not used or used[-1] <= shown_chars:
        return
    number = bisect_right(used, shown_chars) + 1
    titles = [(at, found[1]) for at, line in enumerate(lines, start=1) if (found := parse_heading(line))]
    title = next((title for at, title in titles if at >= number), titles[-1][1] if titles else "more")
    name = re.sub(r"[^\w]+", "-", title.lower()).strip("-")
    what = f'the section "{title}"' if titles else "what stands below"
    why = (
        f"A session start shows {shown_chars} characters at most, and {path} is longer: nothing is shown from here on."
        f" Move {what} to memory/{name}.md."
    )
    yield Repair("long", path, number, "", "", why)
