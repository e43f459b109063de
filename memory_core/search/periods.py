"""The notes of a period that a question names, and lines of other notes that name its day."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import date, timedelta
from functools import cache, partial
from typing import NamedTuple

from memory_core.records import Query
from memory_core.search import scores
from memory_core.search.passages import SHARED, Passage, PlacedUnit, count_matter
from memory_core.stores.interface import Reader
from memory_core.stores.values import DateRange, IndexedChunk
from memory_core.text.calendar_words import (
    is_short,
    list_day_figures,
    list_day_spellings,
    list_near_days,
    list_spellings,
)
from memory_core.text.dates import Period
from memory_core.text.markdown import parse_heading
from memory_core.text.periods import (
    HALF_YEAR,
    NamedPeriod,
    find_either,
    find_period,
    find_written_day,
    names_weekday,
)
from memory_core.text.tense import find_tense, tells_yearly
from memory_core.text.terms import detect_language, extract_words, find_cjk_share

MOST_CHUNKS = 400  # of a period that are read
MOST_NAMING = 100  # that may name it, and are read line by line
MOST_LEVEL = 6  # of a heading
MOST_TO_WEEKDAY, MOST_NEAR = 13, 3  # days from that of a note to one that it calls "next Friday", or "tomorrow"


class Dated(NamedTuple):
    """The chunks that belong to a period, by their ids.

    Attributes:
        own: Of its notes and sections, in the order of their dates and places.
        naming: Of other notes that name its only day, or the week of it, or a part of a week or month that is to come: the
            numbers of the units that do, or stand under a heading that does, with the first day they name. Where there is
            nothing else, of notes without a date that name its weekday: "bins on Mondays".
        is_ahead: The period is to come: notes can only name it.
        is_weak: They name the weekday of a date that was asked for, which many a Monday is.
    """

    own: Sequence[int]
    naming: dict[int, dict[int, date]]
    is_ahead: bool = False
    is_weak: bool = False


NOTHING = Dated((), {})


def choose_period(reader: Reader, text: str, today: date, dates: DateRange) -> tuple[NamedPeriod | None, Dated]:
    """Find the period that a question names, and the chunks that belong to it; a day or a month may be the last or the next.

    Its verbs say which; where no note tells of that one, it is the other, but what was is never sought in what is to come. A list
    of words asks for the one of which more of its other words are told.
    """
    passed, coming = find_period(text, today), find_period(text, today, ahead=True)
    if coming is None or (passed is None and not coming.is_later):
        return None, NOTHING
    tense = find_tense(text.replace(coming.text, "…"), coming.language)
    if passed is None:  # "in three days", unless that is how long something took
        return (None, NOTHING) if tense == "past" else (coming, find_dated(reader, coming, dates, today))
    several = [passed]
    if coming.period.first > passed.period.first:
        is_near = (coming.period.first - today).days <= HALF_YEAR
        if tense == "future" or (tense == "present" and is_near):
            several = [coming, passed]
        elif tense is None and is_near:
            several = [passed, coming]
    found = ((each, find_dated(reader, each, dates, today)) for each in several)
    told: Iterable[tuple[NamedPeriod, Dated]] = (each for each in found if each[1].own or each[1].naming)
    if several == [passed, coming]:
        words = {*extract_words(text)}.difference(extract_words(passed.text))

        def fit(each: tuple[NamedPeriod, Dated]) -> tuple[int, bool, timedelta]:
            named, dated = each
            return -_count_told(reader, dated, words), not dated.own, abs(named.period.first - today)

        told = sorted(told, key=fit)  # a line may mean either day: the nearer
    chosen = next(iter(told), None)
    return chosen or (several[0], _find_weak(reader, several[0], dates, today))


def _find_weak(reader: Reader, named: NamedPeriod, dates: DateRange, today: date) -> Dated:
    """Find lines that name the weekday of a date to come, of which no note tells, where nothing else is asked for."""
    if not (named.alone and named.is_date and named.is_day and named.period.first >= today):
        return NOTHING
    return Dated((), _find_weekly(reader, named, dates), is_weak=True)


def _count_told(reader: Reader, dated: Dated, words: Collection[str]) -> int:
    """Return how many of some words one chunk of a period holds, or its lines that name the period."""
    stems, most = {each for word in words for each in reader.stem(word)}, 0
    for chunk in reader.load_chunks({*dated.own, *dated.naming}) if words else ():
        lines = map(chunk.quote_unit, dated.naming.get(chunk.id, range(len(chunk.units))))
        most = max(most, len(stems.intersection(reader.stem("\n".join([chunk.context, *lines])))))
    return most


def find_dated(reader: Reader, named: NamedPeriod, dates: DateRange, today: date) -> Dated:
    """Find the chunks that belong to a period, within the dates that are searched."""
    period = named.period
    is_ahead = period.last > today and (period.last - period.first).days < scores.LONG_PERIOD
    first = max(period.first, dates.first or period.first)
    last = min(period.last, dates.last or period.last)
    own = reader.find_dated(first, last, MOST_CHUNKS)
    naming = _find_naming(reader, named, own, dates) if named.is_day or is_ahead else {}
    if named.is_day and not named.is_date and not own and not naming:
        naming = _find_weekly(reader, named, dates)
    return Dated(own, naming, is_ahead=period.first > today)


def _find_naming(
    reader: Reader, named: NamedPeriod, own: Collection[int], dates: DateRange
) -> dict[int, dict[int, date]]:  # fmt: skip
    period, language = named.period, named.language
    days = [period.first + timedelta(number) for number in range((period.last - period.first).days + 1)]
    if len(days) <= 7:
        spellings = [each for day in days for each in list_day_spellings(day)]
    else:
        spellings = [
            each for day in days for each in (*list_day_figures(day), *list_spellings(("m", day.month), language))
        ]
    found = {*reader.find_phrases([*dict.fromkeys(spellings)], dates)}
    # "Tomorrow" and "yesterday" are said in the notes of the days around, "next Friday" in those of two weeks.
    weekdays = [each for day in days[:7] for each in list_spellings(("w", day.weekday()), language)]
    near_days = list_near_days()
    for words, before, behind in ((weekdays, MOST_TO_WEEKDAY, 7), (near_days, MOST_NEAR, MOST_NEAR)):
        first = max(_move(period.first, -before), dates.first or date.min)
        last = min(_move(period.last, behind), dates.last or date.max)
        found.update(reader.find_phrases(words, DateRange(first, last)))
    stem = cache(reader.stem)
    known = [_list_parts(phrases, stem) for phrases in (spellings, weekdays, near_days)]
    years = {f"{day:{form}}" for day in (period.first, period.last) for form in ("%Y", "%y")}

    def find_day(text: str, written: date) -> date | None:
        held, age = {*reader.stem(text)}, (period.first - written).days
        may_tell = age <= HALF_YEAR or held & years or tells_yearly(text)
        near = known[: 1 + (age <= MOST_TO_WEEKDAY) + (age <= MOST_NEAR)] if may_tell else ()
        may_name = any(each <= held for parts in near for word in held for each in parts.get(word, ()))
        return _find_day(text, written, period) if may_name or find_cjk_share(text) > 0 else None

    naming: dict[int, dict[int, date]] = {}
    for chunk in reader.load_chunks(sorted(found.difference(own))[-MOST_NAMING:]):
        written = date.fromisoformat(chunk.date) if chunk.date else period.first
        if numbers := dict(_list_naming(chunk, partial(find_day, written=written))):
            naming[chunk.id] = numbers
    return naming


def _move(day: date, days: int) -> date:
    """Return the day so many days later or earlier, within the calendar."""
    return date.fromordinal(min(max(day.toordinal() + days, 1), date.max.toordinal()))


def _list_parts(phrases: Iterable[str], stem: Callable[[str], Sequence[str]]) -> dict[str, set[frozenset[str]]]:
    """Return the stems of each phrase, by the first of them, which is a number if it holds one."""
    found: dict[str, set[frozenset[str]]] = {}
    for words in {frozenset(phrase.split()) for phrase in phrases}:
        if stems := frozenset(each for word in words for each in stem(word)):
            found.setdefault(min(stems), set()).add(stems)
    return found


def _list_naming(chunk: IndexedChunk, find_day: Callable[[str], date | None]) -> Iterator[tuple[int, date]]:
    """Yield the units of a chunk that name a day of a period, or stand under a heading that does: their numbers, and the day."""
    titles = chunk.context.partition("\n")[0].split(" > ")
    above = next(filter(None, map(find_day, (title for title in titles if title != chunk.date))), None)
    level = MOST_LEVEL
    for number, unit in enumerate(chunk.units):
        text = chunk.text[unit.start : unit.end]
        for heading in filter(None, map(parse_heading, text.split("\n"))):
            if day := find_day(heading[1]):
                level, above = heading[0], day
            elif heading[0] <= level:
                above = None
        if day := find_day(text) or above:
            yield number, day


def _find_weekly(reader: Reader, named: NamedPeriod, dates: DateRange) -> dict[int, dict[int, date]]:
    day, language = named.period.first, named.language
    words = list_spellings(("w", day.weekday()), language, only=True)
    short = [*filter(is_short, words)]  # which most notes hold, as "so"
    found: dict[int, None] = {}
    for phrases in ([word for word in words if word not in short], short):
        found |= dict.fromkeys(sorted(reader.find_phrases(phrases, dates)) if phrases else ())
    chunks = [chunk for chunk in reader.load_chunks([*found][:MOST_CHUNKS]) if chunk.date is None]
    naming = {
        chunk.id: {
            at: day
            for at, text in enumerate(map(chunk.quote_unit, range(len(chunk.units))))
            if names_weekday(text, day.weekday(), language)
            and find_written_day(text) is None  # "Thu 6 Aug 2026" is no weekly day
        }
        for chunk in chunks
    }
    return {chunk_id: numbers for chunk_id, numbers in naming.items() if numbers}


def _find_day(text: str, written: date, asked: Period) -> date | None:
    """Return the first day of a period that a line names which was written on some day; of a part of it, or of a day's week.

    Without a year, that is the last one or the next one: notes tell what was, and what will be. A weekday is the next one, unless
    the line is about what was. Of a range of days those at its ends are named. A birthday is one of every year.
    """
    most = max(asked.last - asked.first, timedelta(6))
    is_yearly = tells_yearly(text)
    for passed, coming in find_either(text, written):
        distance = (coming.period.first - passed.period.first).days
        told = [passed.period]
        if 0 < distance <= 7:
            rest = text.replace(passed.text, "…")
            is_past = "past" in (find_tense(rest, passed.language), find_tense(rest, detect_language(rest) or "en"))
            told = [passed.period if is_past else coming.period]
        elif (coming.period.first - written).days <= HALF_YEAR:
            told.append(coming.period)
        for each in told:
            named = [each.first, each.last] if passed.is_range else []
            if is_yearly and passed.is_day:
                named = [day for year in {asked.first.year, asked.last.year} if (day := _move_to(each.first, year))]
            if days := [day for day in named if day in asked]:
                return min(days)
            if each.first <= asked.last and each.last >= asked.first and each.last - each.first <= most:
                return max(each.first, asked.first)
    return None


def _move_to(day: date, year: int) -> date | None:
    """Return the day of another year; None of 29 February in most."""
    with suppress(ValueError):
        return day.replace(year=year)
    return None


def list_notes(
    chunks: Sequence[IndexedChunk], query: Query, naming: Mapping[int, Mapping[int, date]]
) -> tuple[list[Passage], int]:
    """Pack the notes of a period into passages, in order of time.

    Args:
        chunks: Those of `Dated.own`, in order, and after them those that name its day.
        query: Its snippets' length and number bound the whole: `SHARED` snippets, or half of the hits; a long note takes several.
        naming: See `Dated`; other units of those chunks are left out.

    Returns:
        The passages, and the number of notes that have no room. Of more notes than hits, those evenly spread over the
        period are shown.
    """
    notes: dict[tuple[date, str, str], list[PlacedUnit]] = {}
    for number, chunk in enumerate(chunks):
        named, matter = naming.get(chunk.id), count_matter(chunk)
        for index in range(len(chunk.units)) if named is None else sorted(named):
            if chunk.units[index].last_line >= matter:
                day = date.min if named is None else named[index]
                own = notes.setdefault((day, chunk.source, chunk.path), [])
                own.append(PlacedUnit.of(chunk, number, index, matter).cut(query.max_snippet_chars, lambda _: ()))
    most = query.max_results
    several = [notes[key] for key in sorted(notes, key=lambda key: key[0])]
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
