"""The notes of a period that a question names, and lines of other notes that name its day."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from memory_core.records import Query
from memory_core.search.passages import SHARED, Passage, PlacedUnit, count_matter, leave_out_matter
from memory_core.stores.interface import Reader
from memory_core.stores.values import DateRange, IndexedChunk
from memory_core.text.markdown import parse_heading
from memory_core.text.periods import (
    NamedPeriod,
    find_periods,
    find_written_day,
    list_ahead,
    list_day_spellings,
    list_weekday_spellings,
)

MOST_CHUNKS = 400  # of a period that are read
MOST_LEVEL = 6  # of a heading


@dataclass(frozen=True, slots=True)
class Dated:
    """The chunks that belong to a period, by their ids.

    Attributes:
        own: Of its notes and sections, in the order of their dates and places.
        naming: Of other notes that name its only day, or the week of it: the numbers of the units that do, or stand under a
            heading that does. Where there is nothing else, of notes without a date that name its weekday: "bins on Mondays".
    """

    own: Sequence[int]
    naming: dict[int, list[int]]


NOTHING = Dated((), {})


def find_dated(reader: Reader, named: NamedPeriod, dates: DateRange) -> Dated:
    """Find the chunks that belong to a period, within the dates that are searched."""
    period = named.period
    first = max(period.first, dates.first or period.first)
    last = min(period.last, dates.last or period.last)
    own = reader.find_dated(first, last, MOST_CHUNKS)
    naming = _find_naming(reader, named, own, dates) if named.is_day else {}
    return Dated(own, naming or (_find_weekly(reader, named, dates) if named.is_day and not own else {}))


def _find_naming(
    reader: Reader, named: NamedPeriod, own: Collection[int], dates: DateRange
) -> dict[int, list[int]]:  # fmt: skip
    day = named.period.first
    spellings = list_day_spellings(day, named.language)
    found = {chunk_id for spelling in spellings for chunk_id in reader.find_phrase(spelling, dates)}
    # "Tomorrow" is said in the note of the day before, "next Friday" in those of two weeks.
    ahead = [(word, days, days) for word, days in list_ahead(named.language)]
    ahead += [(word, 13, 1) for word in list_weekday_spellings(day, named.language)]
    for word, most, least in ahead:
        first = max(day - timedelta(most), dates.first or date.min)
        last = min(day - timedelta(least), dates.last or date.max)
        found.update(reader.find_phrase(word, DateRange(first, last)))
    found -= set(own)
    naming: dict[int, list[int]] = {}
    for chunk in reader.load_chunks(sorted(found)[:MOST_CHUNKS]):
        written = date.fromisoformat(chunk.date) if chunk.date else day
        if numbers := [*_list_naming(chunk, written, day)]:
            naming[chunk.id] = numbers
    return naming


def _list_naming(chunk: IndexedChunk, written: date, day: date) -> Iterator[int]:
    """Yield the numbers of the units of a chunk that name a day, or stand under a heading that does."""
    titles = chunk.context.partition("\n")[0].split(" > ")
    level = MOST_LEVEL if any(_names(title, written, day) for title in titles if title != chunk.date) else 0
    for number, unit in enumerate(chunk.units):
        text = chunk.text[unit.start : unit.end]
        for heading in filter(None, map(parse_heading, text.split("\n"))):
            if _names(heading[1], written, day):
                level = heading[0]
            elif heading[0] <= level:
                level = 0
        if level or _names(text, written, day):
            yield number


def _find_weekly(reader: Reader, named: NamedPeriod, dates: DateRange) -> dict[int, list[int]]:
    words = list_weekday_spellings(named.period.first, named.language)
    found = {chunk_id for word in words for chunk_id in reader.find_phrase(word, dates)}
    chunks = [chunk for chunk in reader.load_chunks(sorted(found)[:MOST_CHUNKS]) if chunk.date is None]
    weekly = re.compile(rf"(?<![a-zà-ÿ])(?:{'|'.join(map(re.escape, words))})(?:s|en)?(?![a-zà-ÿ])", re.IGNORECASE)
    naming = {
        chunk.id: [
            at
            for at, unit in enumerate(chunk.units)
            if weekly.search(chunk.text, unit.start, unit.end)
            and find_written_day(chunk.text[unit.start : unit.end]) is None  # "Thu 6 Aug 2026" is no weekly day
        ]
        for chunk in chunks
    }
    return {chunk_id: numbers for chunk_id, numbers in naming.items() if numbers}


def _names(text: str, written: date, day: date) -> bool:
    """Return True if a line that was written on some day names another one, or its week.

    Without a year, that is the last one or the next one: notes tell what was, and what will be.
    """
    ahead = timedelta(182)  # whole weeks, by which what is relative moves
    for now, later in zip(find_periods(text, written), find_periods(text, written + ahead), strict=False):
        for period in (now.period, later.period):
            is_relative = period is later.period and later.period.first - now.period.first == ahead
            if day in period and period.last - period.first <= timedelta(6) and not is_relative:
                return True
    return False


def list_notes(chunks: Sequence[IndexedChunk], query: Query, naming: dict[int, list[int]]) -> tuple[list[Passage], int]:
    """Pack the notes of a period into passages, in order of time.

    Args:
        chunks: Those of `Dated.own`, in order, and after them those that name its day.
        query: Its snippets' length and number bound the whole: `SHARED` snippets, or half of the hits; a long note takes several.
        naming: See `Dated`; other units of those chunks are left out.

    Returns:
        The passages, and the number of notes that have no room. Of more notes than hits, those evenly spread over the
        period are shown.
    """
    notes: dict[tuple[str, str], list[PlacedUnit]] = {}
    for number, chunk in enumerate(chunks):
        wanted, matter = naming.get(chunk.id), count_matter(chunk)
        kept = enumerate(leave_out_matter(chunk, index) for index in range(len(chunk.units)))
        notes.setdefault((chunk.source, chunk.path), []).extend(
            PlacedUnit(
                chunk.start_line + unit.first_line, chunk.start_line + unit.last_line, unit.start, unit.end,
                chunk.path, chunk.source, number, index, chunk.text,
            ).cut(query.max_snippet_chars, lambda _: ())
            for index, unit in kept
            if (wanted is None or index in wanted) and unit.last_line >= matter
        )  # fmt: skip
    most = query.max_results
    several = [*notes.values()]
    chosen = [several[at * len(several) // most] for at in range(most)] if len(several) > most else several
    room = max(SHARED, most // 2) * query.max_snippet_chars
    shares: dict[int, int] = {}
    lengths = [sum(len(unit) + 1 for unit in units) for units in chosen]
    for left, at in zip(range(len(chosen), 0, -1), sorted(range(len(chosen)), key=lengths.__getitem__), strict=True):
        shares[at] = min(lengths[at], room // left)
        room -= shares[at]
    passages: list[Passage] = []
    for at, units in enumerate(chosen):
        passages += _pack_note(units, shares[at], query)
    return passages[: query.max_results], len(several) - len(chosen)


def _pack_note(units: Sequence[PlacedUnit], room: int, query: Query) -> Iterator[Passage]:
    """Yield passages of the first units of a note, as many as there is room for; the first unit is cut to the room."""
    passage: Passage | None = None
    for unit in units:
        shown = unit if passage else unit.cut(max(room, 1), lambda _: ())
        if len(shown) > room:
            break
        room -= len(shown) + 1
        if passage is None or not query.joined or passage.take(shown) is None:
            if passage is not None:
                yield passage
            passage = Passage([shown], query.max_snippet_chars)
    if passage is not None:
        yield passage
