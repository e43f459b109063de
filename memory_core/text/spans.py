"""The days that symbols of time mean: patterns of one character a symbol, see periods.txt, the same for all languages. Pure."""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import date, timedelta
from typing import Any

from memory_core.text.dates import Period

# A container of weeks and days: a month, a season, a quarter or a year.
_Y = "(?:y|rY|Yr)"
_C = rf"(?:(?:m|s|oq|Q){_Y}|{_Y}?(?:m|s|oq|Q)|r[Mmsq]|[Mmsq]r|{_Y}|i)"
_NTH = r"(?:[or]n?|n[or])"
_DATE = rf"(?:w?(?:[no]m{_Y}?|{_Y}?m[no](?![dvkMY])y?|x))"
_Values = Mapping[str, list[Any]]


def _span(first: date, days: int) -> Period:
    return Period(first, first + timedelta(days - 1))


def _month(year: int, month: int) -> Period:
    return Period(date(year, month, 1), date(year, month, monthrange(year, month)[1]))


def _months_from(today: date, months: int) -> tuple[int, int]:
    year, month = divmod(today.year * 12 + today.month - 1 + months, 12)
    return year, month + 1


def _season(year: int, season: int) -> Period:
    """Return the three whole months of a season; winter begins in December of the year."""
    year_after, month = (year + 1, 2) if season == 3 else (year, 5 + 3 * season)
    return Period(date(year, 3 + 3 * season, 1), _month(year_after, month).last)


def _quarter(year: int, quarter: int) -> Period:
    return Period(date(year, 3 * quarter - 2, 1), _month(year, 3 * quarter).last)


def _latest(make: Callable[[int], Period], today: date, shift: int | None = None) -> Period:
    """Return the latest of yearly periods that has begun; -1: the latest that is over, 1: the first that has not begun."""
    several = [make(year) for year in range(today.year - 9, today.year + 9) if _exists(make, year)]
    if shift == 1:
        return next(each for each in several if each.first > today)
    if shift == -1:
        return next(each for each in reversed(several) if each.last < today)
    return next(each for each in reversed(several) if each.first <= today)


def _exists(make: Callable[[int], Period], year: int) -> bool:
    with suppress(ValueError):  # 29 February
        make(year)
        return True
    return False


def _year(values: _Values, today: date) -> int | None:
    """Return the year that is named beside a month or a season; None if none is."""
    year: int = values["y"][0] if "y" in values else 0
    return year or (today.year + values["r"][-1] if "Y" in values else None)


def _read_date(codes: str, values: _Values, today: date) -> Period:
    if "x" in codes:
        year, month, day = values["x"][0]
    else:
        year, month = _year(values, today) or 0, values["m"][0]
        day = values["n" if "n" in codes else "o"][0]
    if year:
        return _span(date(year, month, day), 1)
    return _latest(lambda year: _span(date(year, month, day), 1), today)


def _read_container(codes: str, values: _Values, today: date) -> Period:
    shift = values["r"][0] if "r" in codes else None
    year = _year(values, today) if "Y" in codes or "y" in codes else None
    make: Callable[[int], Period]
    if "i" in codes:
        return _month(*values["i"][0])
    if "M" in codes:
        return _month(*_months_from(today, shift or 0))
    if "q" in codes and "o" not in codes:
        months = 3 * (shift or 0) - (today.month - 1) % 3
        begin = date(*_months_from(today, months), 1)
        return _quarter(begin.year, begin.month // 3 + 1)
    if "m" in codes:
        make = lambda year: _month(year, values["m"][0])  # noqa: E731
    elif "s" in codes:
        make = lambda year: _season(year, values["s"][0])  # noqa: E731
    elif "Q" in codes or "q" in codes:
        make = lambda year: _quarter(year, values["Q" if "Q" in codes else "o"][0])  # noqa: E731
    else:
        whole = year or today.year
        return Period(date(whole, 1, 1), date(whole, 12, 31))
    return make(year) if year else _latest(make, today, shift)


def _read_nth(codes: str, values: _Values, today: date) -> Period:
    """Return the first week, the last three days, the second weekend of a container."""
    if found := re.fullmatch(rf"({_NTH}[dvkw])({_C})", codes):
        unit, at, outer = found[1][-1], 0, len(found[1])
    else:
        found = re.fullmatch(rf"({_C})({_NTH}[dvkw])", codes)
        assert found is not None  # as the pattern of the reader
        unit, at, outer = codes[-1], len(found[1]), 0
    mine = _take(values, codes, at, len(found[1 + (at > 0)]))
    inner = found[2 - (at > 0)]
    whole = _read_container(inner, _take(values, codes, outer, len(inner)), today)
    nth = mine["o"][0] if "o" in mine else mine["r"][0]
    if nth == 0 or ("o" not in mine and nth != -1):
        raise ValueError(codes)
    count = mine["n"][0] if "n" in mine else 1
    if unit in "kw":
        weekday = mine["w"][0] if unit == "w" else 5
        days = [whole.first + timedelta(each) for each in range((whole.last - whole.first).days + 1)]
        days = [day for day in days if day.weekday() == weekday]
        return _span(days[nth - 1 if nth > 0 else nth], 2 if unit == "k" else 1)
    size = (7 if unit == "v" else 1) * count
    if nth < 0:
        return Period(whole.last - timedelta(size - 1), whole.last)
    first = whole.first + timedelta((nth - 1) * size)
    if first > whole.last:
        raise ValueError(codes)
    return Period(first, min(first + timedelta(size - 1), whole.last))


def _take(values: _Values, codes: str, start: int, size: int) -> dict[str, list[int]]:
    """Return the values of a part of the symbols."""
    taken: dict[str, list[int]] = {}
    for place in range(start, start + size):
        code = codes[place]
        taken.setdefault(code, []).append(values[code][codes[:place].count(code)])
    return taken


def _read_edge(codes: str, values: _Values, today: date) -> Period:
    """Return a third or a half of a container or a week."""
    inner = codes.strip("ne")
    whole = (_read_unit if "v" in inner else _read_container)(inner, values, today)
    days = (whole.last - whole.first).days + 1
    edge = values["e"][0]
    if edge > 2:
        middle = whole.first + timedelta(15 if 28 <= days <= 31 else days // 2)
        return Period(whole.first, middle - timedelta(1)) if edge == 3 else Period(middle, whole.last)
    if "n" in values:
        count = timedelta(values["n"][0] - 1)
        return Period(whole.last - count, whole.last) if edge == 2 else Period(whole.first, whole.first + count)
    third = 10 if 28 <= days <= 31 else -(-days // 3)
    first = whole.first + timedelta(edge * third)
    return Period(first, whole.last if edge == 2 else first + timedelta(third - 1))


def _read_unit(codes: str, values: _Values, today: date) -> Period:
    """Return this, the last or the next week, weekend or day; or the last three of them."""
    shift, unit = values["r"][0], codes.strip("rn")
    if "n" in codes:
        count = values["n"][0]
        size = count * {"d": 1, "v": 7, "k": 7, "M": 30, "Y": 365}[unit]
        if unit in "MY":
            year, month = _months_from(today, shift * count * (12 if unit == "Y" else 1))
            size = abs((date(year, month, min(today.day, 28)) - today).days)
        if shift > 0:
            return Period(today, today + timedelta(size))
        return Period(today - timedelta(size), today)
    if unit == "d":
        return _span(today + timedelta(shift), 1)
    monday = get_monday(today) + timedelta(7 * shift)
    if unit == "k":
        return _span(monday + timedelta(5), 2)
    return _span(monday, 7)


def _read_weekday(codes: str, values: _Values, today: date) -> Period:
    """Return a weekday: the last before today; in this or another week where one is named."""
    day, shift = values["w"][0], values["r"][0] if "r" in codes else None
    if "v" in codes or shift == 0:
        return _span(get_monday(today) + timedelta(7 * (shift or 0) + day), 1)
    if shift is not None and shift > 0:
        return _span(today + timedelta((day - today.weekday() - 1) % 7 + 1), 1)
    return _span(today - timedelta((today.weekday() - day - 1) % 7 + 1), 1)


def _read_ago(codes: str, values: _Values, today: date) -> Period:
    """Return a period as coarse as its unit: three days ago is a day, two weeks ago a week, two months ago a month."""
    count = values["o" if "o" in codes else "n"][0]
    unit = codes.strip("Anoat") or "d"
    if unit == "Y":
        return Period(date(today.year - count, 1, 1), date(today.year - count, 12, 31))
    if unit == "M":
        return _month(*_months_from(today, -count))
    if unit == "k":
        return _span(get_monday(today) + timedelta(5 - 7 * count), 2)
    slack = 3 if unit == "v" and "t" not in codes else 0
    return _span(today - timedelta(count * (7 if unit == "v" else 1) + slack), 2 * slack + 1)


def _read_week_number(codes: str, values: _Values, today: date) -> Period:
    if "I" in codes:
        year, week = values["I"][0]
        return _span(date.fromisocalendar(year, week, 1), 7)
    week = values["n"][0]
    if "y" in codes:
        return _span(date.fromisocalendar(values["y"][0], week, 1), 7)
    return _latest(lambda year: _span(date.fromisocalendar(year, week, 1), 7), today)


def _read_day(_: str, values: _Values, today: date) -> Period:
    return _span(today + timedelta(values["t"][0]), 1)


def _read_week_of(codes: str, values: _Values, today: date) -> Period:
    return _span(get_monday(_read_date(codes, values, today).first), 7)


def _read_days_of_month(codes: str, values: _Values, today: date) -> Period:
    """Return "3 to 5 October"."""
    first, last = (values.get("n", []) + values.get("o", []))[:2]
    end = _read_date("nm" + codes[codes.index("m") + 1 :], {**values, "n": [last]}, today).last
    return Period(end.replace(day=first), end) if first <= end.day else _span(end, 1)


_Read = Callable[[str, _Values, date], Period]
_READERS: Sequence[tuple[re.Pattern[str], _Read]] = [
    (re.compile(pattern), read)
    for pattern, read in (
        (rf"[no][~&][no]m{_Y}?", _read_days_of_month),
        (r"m[no][~][no](?![dvkMYm])y?", _read_days_of_month),
        (rf"v{_DATE}", _read_week_of),
        (_DATE, _read_date),
        (rf"{_NTH}[dvkw]{_C}|{_C}{_NTH}[dvkw]", _read_nth),
        (rf"n?e(?:{_C}|rv|vr)|(?:{_C}|rv|vr)n?e", _read_edge),
        (r"w(?:rv|vr)|(?:rv|vr)w|rw|wr|w", _read_weekday),
        (_C, _read_container),
        (r"rn[dvkMY]|nr[dvkMY]|n[dvkMY]r|r[vkd]|[vkd]r", _read_unit),
        (r"t?An[dvkMY]|n[dvkMY]at?|oa", _read_ago),
        (r"tw?|wt", _read_day),
        (r"Wny?|I", _read_week_number),
    )
]


def read_longest(codes: str, values: Sequence[object], at: int, today: date) -> tuple[int, Period] | None:
    """Read the longest period that begins at a symbol.

    Args:
        codes: The symbols.
        values: Of each symbol.
        at: The place of the symbol.
        today: The day from which "yesterday" is counted.

    Returns:
        The place behind the period, and its days; None if no period of the calendar begins there.
    """
    found = [(match.end(), read) for pattern, read in _READERS if (match := pattern.match(codes, at))]
    for end, read in sorted(found, key=lambda each: -each[0]):
        several: dict[str, list[Any]] = {}
        for code, value in zip(codes[at:end], values[at:end], strict=True):
            several.setdefault(code, []).append(value)
        with suppress(ValueError, OverflowError, StopIteration, IndexError, KeyError):  # 30 February, the sixth week
            return end, read(codes[at:end], several, today)
    return None


def stretch(period: Period, other: Period) -> Period:
    """Return the days from one period to the end of another, which the first precedes."""
    if period.first > other.last:
        with suppress(ValueError):
            return Period(period.first.replace(year=period.first.year - 1), other.last)
    return Period(min(period.first, other.first), other.last)


def get_monday(day: date) -> date:
    """Return the first day of the week of a day."""
    return day - timedelta(day.weekday())
