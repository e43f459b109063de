"""Copies: the same passage in several places, of which the plainest one is shown and the others are named. Pure.

Programs that sync make copies under names of their own, archives and digests hold them, reports and session logs quote notes.
What two daily notes say of two days are two statements, however alike; so are short lines under different headings.
"""

from __future__ import annotations

import math
import posixpath
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial

from memory_core.records import Hit
from memory_core.sources.session_logs import SOURCE
from memory_core.stores.values import IndexedChunk
from memory_core.text.dates import MONTHS_AND_DAYS, WEEKDAYS
from memory_core.text.folding import fold
from memory_core.text.tables import PHRASES, join_lines
from memory_core.text.tokens import WORD, compile_once

MOST_NAMED = 10  # places of one passage
QUOTED = 3  # words of a passage that a report or a log quotes, at least
ADDED = 4  # words around it in a message, at most: more may say something about it
STANDS_ALONE, WHOLE = 6, 10  # words of a line that says of whom it speaks: mostly, and surely
_REPORT = re.compile(r"(?:\A|/)(?:\.?dream(?:ing|s)/|dreams\.md\Z)", re.IGNORECASE)
# The section of a daily note in which OpenClaw writes the same, with the evidence for each line.
_SECTION = re.compile(r"^## (.+?)[ \t]*$", re.MULTILINE)
_REPORTED = frozenset({"Light Sleep", "REM Sleep", "Deep Sleep"})
_DAILY = re.compile(r"(?:\A|/)[\d\s._-]+\.\w+\Z")
_HEADING = re.compile(
    r"^ {0,3}#{1,6}[ \t].*$|^[ \t>]*(?:\[!\w+\]|!!! |::: ?\w).*$", re.MULTILINE
)  # also that of a callout
_BOX = re.compile(r"^[ \t>]*(?:[-*+]|\d{1,3}[.)])[ \t]+\[([ xX])\][ \t]", re.MULTILINE)
# Of a list, or a block's name; other marks are no words.
_MARK = re.compile(
    r"^[ \t>]*(?:(?:[-*+][ \t]+|\d{1,3}[.)][ \t]+)?\[[ xX]\]|\d{1,3}[.)])[ \t]|[ \t]\^[\w-]+[ \t]*$", re.MULTILINE
)
_DATE = re.compile(rf"(?:\d{{4}} \d\d \d\d |(?:{'|'.join(WEEKDAYS)}) )+")  # before what a digest quotes of a day
_SPEAKER = re.compile(r"(?:user|assistant) ")
_SENTENCE = re.compile(r"[^.!?。！？؟\n]+[.!?。！？؟]*")
# In lower case. What begins a word stands in one group, which takes a quarter of the time.
_TELLS_NOTHING = partial(compile_once, rf"[?？؟]|\b(?:{join_lines('knows not')})|{join_lines('knows not within')}")


def is_report(path: str) -> bool:
    """Return True for what a host writes about the notes, such as OpenClaw's `memory/dreaming/light/2026-04-20.md`."""
    return _REPORT.search(path) is not None


def is_reported(chunk: IndexedChunk, index: int) -> bool:
    """Return True for a unit of what a host writes about the notes, also within a daily note."""
    if is_report(chunk.path) or "evidence" not in chunk.text:
        return is_report(chunk.path)
    above = _SECTION.findall(chunk.text, 0, chunk.units[index].end)
    return not _REPORTED.isdisjoint(above[-1:] or chunk.context.partition("\n")[0].split(" > "))


def is_plain(chunk: IndexedChunk) -> bool:
    """Return True for a chunk of a note, neither of a session log nor of a report about notes."""
    return chunk.source != SOURCE and not is_report(chunk.path)


@cache
def _load_archives() -> frozenset[str]:
    return frozenset(map(fold, PHRASES["all"]["archives"].split()))


def is_archived(path: str) -> bool:
    """Return True for a note in a folder whose name says that it holds what is old: an archive, a backup, a trash."""
    return not _load_archives().isdisjoint(words_of(posixpath.dirname(path)))


def rank_place(path: str, source: str = "") -> tuple[object, ...]:
    """Return what sorts the places of a passage, the plainest first: notes in use, high up, of a day, with a short name."""
    return (
        source == SOURCE,
        is_report(path),
        is_archived(path),
        path.count("/"),
        _DAILY.search(path) is None,
        len(path),
        path,
    )


def only_asks(text: str, words: Collection[str]) -> bool:
    """Return True for a text that holds words only in its questions, and where it says that nothing is known."""
    silent, text = _TELLS_NOTHING(), text.lower()
    if silent.search(text) is None:
        return False
    told = (sentence for sentence in _SENTENCE.findall(text) if silent.search(sentence) is None)
    return words_of(" ".join(told)).isdisjoint(words)


def tells(text: str) -> bool:
    """Return True for a text, as of a unit, that holds more, below its headings, than questions and that nothing is known."""
    unit, silent = text.lower(), _TELLS_NOTHING()
    if silent.search(unit) is None:
        return WORD.search(unit) is not None
    below = _MARK.sub("", _HEADING.sub("", unit))
    sentences = _SENTENCE.findall(below if WORD.search(below) else unit)
    return any(WORD.search(sentence) and not silent.search(sentence) for sentence in sentences)


def may_answer(chunk: IndexedChunk) -> bool:
    """Return True for a plain chunk that tells something, as a list of open questions does not."""
    return is_plain(chunk) and any(tells(chunk.quote_unit(index)) for index in range(len(chunk.units)))


def words_of(text: str) -> set[str]:
    """Return the words of a text, folded."""
    return set(WORD.findall(fold(text)))


def _join_words(text: str) -> str:
    return " ".join(WORD.findall(fold(_MARK.sub("", _HEADING.sub("", text)))))


def _read_unit(chunk: IndexedChunk, index: int) -> str:
    """Return the words of a unit, without headings, the date with which it begins, and who said it."""
    words = _join_words(chunk.quote_unit(index))
    words = words[found.end() :] if (found := _DATE.match(words)) else words
    return _SPEAKER.sub("", words, count=1) if chunk.source == SOURCE else words


def count_words(chunk: IndexedChunk, index: int) -> int:
    """Return the number of words of a unit, without headings and who said it."""
    return len(_read_unit(chunk, index).split())


def _is_quotation(chunk: IndexedChunk, index: int) -> bool:
    """Return True for a unit that a note quotes, below its headings."""
    return _HEADING.sub("", chunk.quote_unit(index)).lstrip().startswith(">")


def _read_end(chunk: IndexedChunk, index: int) -> tuple[str, ...]:
    """Return the last two words of a unit."""
    unit = chunk.units[index]
    return tuple(WORD.findall(fold(_MARK.sub("", chunk.text[max(unit.start, unit.end - 32) : unit.end])))[-2:])


def _is_done(chunk: IndexedChunk, index: int) -> bool | None:
    """Return True if the box of a unit is ticked, False if it is open; None without one."""
    box = _BOX.search(chunk.quote_unit(index))
    return box and box[1] != " "


def _find_day(chunk: IndexedChunk) -> str | None:
    """Return the day of a chunk of a daily note; None for one of another note."""
    return chunk.date if chunk.date and _DAILY.search(chunk.path) else None


def _repeats(one: IndexedChunk, other: IndexedChunk, words: str, *, shares: bool = False) -> bool:
    """Return True if what two chunks say in the same words is one statement; `shares` says that they have another in common."""
    if (one.source, one.path) == (other.source, other.path):
        return False
    if not (is_plain(one) and is_plain(other)):
        return True
    days = {_find_day(one), _find_day(other)} - {None}
    count = words.count(" ") + 1
    first, second = (
        {
            word
            for word in words_of(f"{chunk.context} {_HEADING.findall(chunk.text)}") - MONTHS_AND_DAYS
            if word.isalpha()
        }
        for chunk in (one, other)
    )
    alike = (
        count >= WHOLE
        or first == second
        or ((shares or count >= STANDS_ALONE) and (first <= second or second <= first))
    )
    return alike and len(days) < 2


def join_chunks(chunks: Iterable[IndexedChunk]) -> list[list[IndexedChunk]]:
    """Group chunks with the same text, the plainest first in each group; the groups stay in order."""
    groups: list[list[IndexedChunk]] = []
    by_text: defaultdict[str, list[list[IndexedChunk]]] = defaultdict(list)
    for chunk in chunks:
        same = by_text[chunk.text]
        group = next((each for each in same if _repeats(each[0], chunk, chunk.text)), None)
        if group is None:
            group = []
            groups.append(group)
            same.append(group)
        group.append(chunk)
    for group in groups:
        if len(group) > 1:
            group.sort(key=lambda each: rank_place(each.path, each.source))
    return groups


@dataclass(slots=True)
class Copies:
    """The copies among the units of a search.

    Attributes:
        shown: For the number of a unit that is a copy, the number of the one that is shown in its place.
        others: For a unit that is shown so, the numbers of its copies.
    """

    shown: dict[int, int] = field(default_factory=dict)
    others: defaultdict[int, list[int]] = field(default_factory=lambda: defaultdict(list))


def find_copies(chunks: Sequence[IndexedChunk], units: Mapping[int, tuple[int, int]]) -> Copies:
    """Find the copies among some units.

    Args:
        chunks: Of a search.
        units: The number of the chunk and of the unit in it, by the number of the unit.
    """
    reported = {at for at, (number, index) in units.items() if is_reported(chunks[number], index)}
    plain = all(map(is_plain, chunks)) and not reported
    files = {(_find_day(chunk), chunk.source, chunk.path) for chunk in chunks}
    days = {day for day, *_ in files if day}
    if plain and len(days) == len(files):  # daily notes of as many days
        return Copies()
    ends = {at: _read_end(chunks[number], index) for at, (number, index) in units.items()}
    if plain:  # no quotes: most units end like no other, and need not be read
        counts = Counter(ends.values())
        units = {at: unit for at, unit in units.items() if counts[ends[at]] > 1}
    by_words: defaultdict[str, list[int]] = defaultdict(list)
    later: list[tuple[int, str, float]] = []
    for at, (number, index) in units.items():
        chunk = chunks[number]
        if words := _read_unit(chunk, index):
            if is_plain(chunk) and at not in reported:
                by_words[words].append(at)
            else:
                later.append((at, words, math.inf if at in reported else ADDED))
    quoted = sorted((key for key in by_words if key.count(" ") + 1 >= QUOTED), key=len, reverse=True) if later else ()
    for at, words, room in later:
        held = (key for key in quoted if f" {key} " in f" {words} " and words.count(" ") - key.count(" ") <= room)
        by_words[next(held, words)].append(at)
    copies, sharing = Copies(), set[tuple[int, int]]()
    for words, numbers in sorted(by_words.items(), key=lambda each: -len(each[0])):
        if len(numbers) < 2:  # most are alone
            continue
        kept: list[int] = []
        places = {at: chunks[units[at][0]] for at in numbers}
        ranks = {
            at: (at in reported, _is_quotation(chunk, units[at][1]), *rank_place(chunk.path, chunk.source))
            for at, chunk in places.items()
        }
        done = {at: _is_done(chunk, units[at][1]) for at, chunk in places.items()}
        for at in sorted(ranks, key=ranks.__getitem__):
            pairs = {each: (units[each][0], units[at][0]) for each in kept}
            repeated = (
                each
                for each in kept
                if {done[each], done[at]} != {True, False}
                and (at in reported or _repeats(places[each], places[at], words, shares=pairs[each] in sharing))
            )
            shown = next(repeated, None)
            if shown is None:
                kept.append(at)
            else:
                sharing.add(pairs[shown])
                copies.shown[at] = shown
                copies.others[shown].append(at)
    return copies


def name_places(path: str, others: Iterable[str]) -> tuple[str, ...] | None:
    """Return other places than the one that is shown, the plainest first; None if there are none."""
    return tuple(sorted({*others} - {path}, key=rank_place)[:MOST_NAMED]) or None


def join_hits(hits: Iterable[Hit]) -> list[Hit]:
    """Return hits, of those with the same words the plainest in the place of the best, which names the others."""
    groups: defaultdict[tuple[str, str], list[Hit]] = defaultdict(list)
    for hit in hits:
        groups[_join_words(hit.snippet), hit.path if _DAILY.search(hit.path) else ""].append(hit)
    joined = []
    for held in groups.values():
        plainest = min(held, key=lambda hit: rank_place(hit.path, hit.source))
        also_in = name_places(plainest.path, (path for hit in held for path in (hit.path, *(hit.also_in or ()))))
        joined.append(replace(plainest, score=held[0].score, evidence=held[0].evidence, also_in=also_in))
    return joined
