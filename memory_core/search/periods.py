"""The notes of a period that a question names, and lines of other notes that name its day."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import partial

from memory_core.records import Query
from memory_core.search import scores
from memory_core.search.passages import SHARED, Passage, PlacedUnit, count_matter, leave_out_matter
from memory_core.stores.interface import Reader
from memory_core.stores.values import DateRange, IndexedChunk
from memory_core.text.dates import Period
from memory_core.text.markdown import parse_heading
from memory_core.text.periods import (
    HALF_YEAR,
    NamedPeriod,
    find_period,
    find_periods,
    find_written_day,
    list_day_figures,
    list_day_spellings,
    list_month_spellings,
    list_near_days,
    list_weekday_spellings,
)
from memory_core.text.tense import find_tense
from memory_core.text.terms import detect_language, find_cjk_share

MOST_CHUNKS = 400  # of a period that are read
MOST_NAMING = 100  # that may name it, and are read line by line
MOST_LEVEL = 6  # of a heading
NEAR = timedelta(13)  # from the notes that name a day by its weekday or as yesterday


@dataclass(frozen=True, slots=True)
class Dated:
    """The chunks that belong to a period, by their ids.

    Attributes:
        own: Of its notes and sections, in the order of their dates and places.
        naming: Of other notes that name its only day, or the week of it, or a part of a week or month that is to come: the
            numbers of the units that do, or stand under a heading that does. Where there is nothing else, of notes without a
            date that name its weekday: "bins on Mondays".
        is_ahead: The period is to come: notes can only name it.
    """

    own: Sequence[int]
    naming: dict[int, list[int]]
    is_ahead: bool = False


NOTHING = Dated((), {})


def choose_period(reader: Reader, text: str, today: date, dates: DateRange) -> tuple[NamedPeriod | None, Dated]:
    """Find the period that a question names, and the chunks that belong to it; a day or a month may be the last or the next.

    Its verbs say which; where no note tells of that one, it is the other, but what was is never sought in what is to come.
    """
    passed, coming = find_period(text, today), find_period(text, today, ahead=True)
    if passed is None or coming is None:
        return None, NOTHING
    several = [passed]
    if coming.period.first > passed.period.first:
        tense = find_tense(text.replace(passed.text, "…"), passed.language)
        is_near = (coming.period.first - today).days <= HALF_YEAR
        if tense == "future" or (tense == "present" and is_near):
            several = [coming, passed]
        elif tense is None and is_near and passed.is_day:
            several = [passed, coming]
    found = [(each, find_dated(reader, each, dates, today)) for each in several]
    told = [each for each in found if each[1].own or each[1].naming]
    if several[0] is passed and not any(dated.own for _, dated in told):  # a line may mean either: the nearer
        told.sort(key=lambda each: abs(each[0].period.first - today))
    return told[0] if told else (several[0], NOTHING)


def find_dated(reader: Reader, named: NamedPeriod, dates: DateRange, today: date) -> Dated:
    """Find the chunks that belong to a period, within the dates that are searched."""
    period = named.period
    is_ahead = period.last > today and (period.last - period.first).days < scores.LONG_PERIOD
    first = max(period.first, dates.first or period.first)
    last = min(period.last, dates.last or period.last)
    own = reader.find_dated(first, last, MOST_CHUNKS)
    naming = _find_naming(reader, named, own, dates) if named.is_day or is_ahead else {}
    naming = naming or (_find_weekly(reader, named, dates) if named.is_day and not own else {})
    return Dated(own, naming, is_ahead=period.first > today)


def _find_naming(
    reader: Reader, named: NamedPeriod, own: Collection[int], dates: DateRange
) -> dict[int, list[int]]:  # fmt: skip
    period, language = named.period, named.language
    days = [period.first + timedelta(number) for number in range((period.last - period.first).days + 1)]
    if len(days) <= 7:
        spellings = [each for day in days for each in list_day_spellings(day)]
    else:
        spellings = [each for day in days for each in (*list_day_figures(day), *list_month_spellings(day, language))]
    found = {*reader.find_phrases([*dict.fromkeys(spellings)], dates)}
    # "Tomorrow" is said in the note of the day before, "yesterday" in that of the next, "next Friday" in those of two weeks.
    words = list_near_days() + [each for day in days[:7] for each in list_weekday_spellings(day, language)]
    first = max(period.first - NEAR, dates.first or date.min)
    last = min(period.last + NEAR, dates.last or date.max)
    found.update(reader.find_phrases(words, DateRange(first, last)))
    found -= set(own)
    stems = [{*reader.stem(each)} for each in dict.fromkeys((*spellings, *words))]

    def names(text: str, written: date) -> bool:
        held = {*reader.stem(text)}
        return (find_cjk_share(text) > 0 or any(each <= held for each in stems)) and _names(text, written, period)

    naming: dict[int, list[int]] = {}
    for chunk in reader.load_chunks(sorted(found)[-MOST_NAMING:]):
        written = date.fromisoformat(chunk.date) if chunk.date else period.first
        if numbers := [*_list_naming(chunk, partial(names, written=written))]:
            naming[chunk.id] = numbers
    return naming


def _list_naming(chunk: IndexedChunk, names: Callable[[str], bool]) -> Iterator[int]:
    """Yield the numbers of the units of a chunk that name a period or a part of it, or stand under a heading that does."""
    titles = chunk.context.partition("\n")[0].split(" > ")
    level = MOST_LEVEL if any(names(title) for title in titles if title != chunk.date) else 0
    for number, unit in enumerate(chunk.units):
        text = chunk.text[unit.start : unit.end]
        for heading in filter(None, map(parse_heading, text.split("\n"))):
            if names(heading[1]):
                level = heading[0]
            elif heading[0] <= level:
                level = 0
        if level or names(text):
            yield number


def _find_weekly(reader: Reader, named: NamedPeriod, dates: DateRange) -> dict[int, list[int]]:
    words = list_weekday_spellings(named.period.first, named.language, only=True)
    found = {*reader.find_phrases(words, dates)}
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


def _names(text: str, written: date, asked: Period) -> bool:
    """Return True if a line that was written on some day names a period, a part of it, or the week of a day.

    Without a year, that is the last one or the next one: notes tell what was, and what will be. A weekday is the next one, unless
    the line is about what was.
    """
    most = max(asked.last - asked.first, timedelta(6))
    for passed, coming in zip(find_periods(text, written), find_periods(text, written, ahead=True), strict=False):
        distance = (coming.period.first - passed.period.first).days
        told = [passed.period]
        if 0 < distance <= 7:
            rest = text.replace(passed.text, "…")
            is_past = "past" in (find_tense(rest, passed.language), find_tense(rest, detect_language(rest) or "en"))
            told = [passed.period if is_past else coming.period]
        elif (coming.period.first - written).days <= HALF_YEAR:
            told.append(coming.period)
        if any(
            each.first <= asked.last and each.last >= asked.first for each in told if each.last - each.first <= most
        ):
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
        bare = (leave_out_matter(chunk, index) for index in range(len(chunk.units)))
        notes.setdefault((chunk.source, chunk.path), []).extend(
            PlacedUnit(
                chunk.start_line + unit.first_line, chunk.start_line + unit.last_line, unit.start, unit.end,
                chunk.path, chunk.source, number, index, chunk.text,
            ).cut(query.max_snippet_chars, lambda _: ())
            for index, unit in enumerate(bare)
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
