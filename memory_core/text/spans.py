"""The days that symbols of time mean: patterns of one character a symbol, see periods.txt, the same for all languages. Pure."""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import date, timedelta
from typing import Any, NamedTuple

from memory_core.text.dates import Period

_Y = "(?:y|rY|Yr)"
_YEARS_AGO = "(?:AnY|nYa)"
# What holds weeks and days: a month, a season, a quarter, a half of a year or a year.
_PART = "(?:m|s|o[qh]|[qh]n|Q)"
_C = rf"(?:[ms]{_YEARS_AGO}|{_YEARS_AGO}[ms]|{_PART}{_Y}|[Mmsqh]r(?![a-zA-Z])|{_Y}?{_PART}|r[Mmsqh]|[Mmsqh]r|{_Y}|i)"
LATER = "n[dvMY]"  # where a word for "in" stands before it, or one for "later" behind it
_NTH = r"(?:[or]n?|n[or])[dvkw]"
_DATE = rf"(?:w?(?:[no]m(?!D){_Y}?|{_Y}?m[no](?![dvkMY])y?|(?:{_Y}|r)?mD(?:{_Y}(?!m)|{_YEARS_AGO})?|x))"
_EASTER = rf"(?:E(?:nd)?(?:{_Y}|{_YEARS_AGO})?|(?:{_Y}|{_YEARS_AGO}|r)E(?:nd)?)"
MOST_TO_NUMBERED_WEEKDAY = 31  # days from where "Thursday 26" is said to that day
_Values = Sequence[Any]


class Vantage(NamedTuple):
    """The day on which a period is named, and where it is looked for from there.

    Attributes:
        today: The day from which "yesterday" is counted.
        ahead: A day, month or weekday without a year is the next to come, not the latest that has begun.
    """

    today: date
    ahead: bool = False


def _get(codes: str, values: _Values, wanted: str, default: Any = None) -> Any:
    """Return the value of the first of some symbols."""
    return next((value for code, value in zip(codes, values, strict=True) if code in wanted), default)


def _span(first: date, days: int) -> Period:
    return Period(first, first + timedelta(days - 1))


def _month(year: int, month: int) -> Period:
    return Period(date(year, month, 1), date(year, month, monthrange(year, month)[1]))


def _month_from(today: date, months: int) -> Period:
    year, month = divmod(today.year * 12 + today.month - 1 + months, 12)
    return _month(year, month + 1)


def _season(year: int, season: int) -> Period:
    """Return the three whole months of a season; winter begins in December of the year."""
    first = date(year, 3 + 3 * season, 1)
    return Period(first, _month_from(first, 2).last)


def _part(year: int, part: tuple[int, int]) -> Period:
    """Return a part of a year, such as a quarter, by the months in it and its number."""
    size, number = part
    return Period(date(year, size * (number - 1) + 1, 1), _month(year, size * number).last)


def _choose_year(make: Callable[[int], Period], codes: str, values: _Values, asked: Vantage) -> Period:
    """Return a yearly period of the year that is named, else the latest that has begun, or the first that is not over.

    With "last" it is over, with "next" it has not begun; with "this" it is one to come only if that of this year is not over.
    """
    shift = _get(codes, values, "r")
    of_today = asked.today.year + (-values[codes.index("Y") - 1] if "nY" in codes else shift or 0)
    if year := _get(codes, values, "y", of_today if "Y" in codes else None):
        return make(year)

    def is_meant(period: Period) -> bool:
        if shift:
            return period.first > asked.today if shift > 0 else period.last < asked.today
        return period.last >= asked.today if step == 1 else period.first <= asked.today

    is_coming = shift is None or (shift == 0 and make(asked.today.year).last >= asked.today)  # of "this summer"
    step = 1 if (shift or 0) > 0 or (asked.ahead and is_coming) else -1
    for year in range(asked.today.year - step, asked.today.year + 9 * step, step):
        with suppress(ValueError):  # 29 February
            if is_meant(make(year)):
                return make(year + step * (abs(shift or 1) - 1))  # further with "before last"
    raise ValueError(codes)


def _find_easter(year: int) -> date:
    """Return Easter Sunday of the Gregorian calendar, by the method in Nature of 20 April 1876 (volume 13, page 487)."""
    century, of_century = divmod(year, 100)
    golden = year % 19
    epact = (19 * golden + century - century // 4 - (century - (century + 8) // 25 + 1) // 3 + 15) % 30
    weekday = (32 + 2 * (century % 4) + 2 * (of_century // 4) - epact - of_century % 4) % 7
    month, day = divmod(epact + weekday - 7 * ((golden + 11 * epact + 22 * weekday) // 451) + 114, 31)
    return date(year, month, day + 1)


def _read_easter(codes: str, values: _Values, asked: Vantage) -> Period:
    """Return a holiday, or some days, so many days from Easter Sunday."""
    shift, days = timedelta(_get(codes, values, "E")), values[codes.index("d") - 1] if "d" in codes else 1
    return _choose_year(lambda year: _span(_find_easter(year) + shift, days), codes, values, asked)


def _read_date(codes: str, values: _Values, asked: Vantage) -> Period:
    if "x" not in codes:
        month, day = _get(codes, values, "m"), _get(codes, values, "noD")
    else:
        year, month, day = _get(codes, values, "x")
        codes, values = ("y", [year]) if year else ("", [])
    return _choose_year(lambda year: _span(date(year, month, day), 1), codes, values, asked)


def _read_container(codes: str, values: _Values, asked: Vantage) -> Period:
    shift = _get(codes, values, "r", 0)
    if "i" in codes:
        return _month(*_get(codes, values, "i"))
    if "M" in codes:
        return _month_from(asked.today, shift)
    if size := 3 * ("q" in codes) + 6 * ("h" in codes):
        if number := _get(codes, values, "on"):
            return _choose_year(lambda year: _part(year, (size, number)), codes, values, asked)
        first = _month_from(asked.today, size * shift - (asked.today.month - 1) % size).first
        return Period(first, _month_from(first, size - 1).last)
    kinds: dict[str, Callable[[int, Any], Period]] = {"m": _month, "s": _season, "Q": _part}
    if kind := next((code for code in codes if code in kinds), ""):
        return _choose_year(lambda year: kinds[kind](year, _get(codes, values, kind)), codes, values, asked)
    year = _get(codes, values, "y", asked.today.year + shift)
    return Period(date(year, 1, 1), date(year, 12, 31))


def _read_nth(codes: str, values: _Values, asked: Vantage) -> Period:
    """Return the first week, the last three days, the second weekend of a container."""
    found = re.fullmatch(rf"(?P<own>{_NTH})(?P<of>{_C})", codes) or re.fullmatch(rf"(?P<of>{_C})(?P<own>{_NTH})", codes)
    assert found is not None  # as the pattern of the reader
    own, of = slice(*found.span("own")), slice(*found.span("of"))
    whole, unit = _read_container(codes[of], values[of], asked), codes[own][-1]
    nth = _get(codes[own], values[own], "o", _get(codes[own], values[own], "r"))
    if nth == 0 or (nth != -1 and "o" not in codes[own]):
        raise ValueError(codes)
    if unit in "kw":
        weekday = _get(codes[own], values[own], "w", 5)
        days = [whole.first + timedelta(each) for each in range((whole.last - whole.first).days + 1)]
        return _span([day for day in days if day.weekday() == weekday][nth - (nth > 0)], 2 if unit == "k" else 1)
    size = (7 if unit == "v" else 1) * _get(codes[own], values[own], "n", 1)
    return _span(whole.last - timedelta(size - 1) if nth < 0 else whole.first + timedelta((nth - 1) * size), size)


def _read_edge(codes: str, values: _Values, asked: Vantage) -> Period:
    """Return a third or a half of a container or a week, or some days at an end of it."""
    if codes.startswith("of"):  # "the second half of"
        codes, values = f"e{codes[2:]}", [2 + values[0], *values[2:]]
    within = slice(len(codes) - len(codes.lstrip("ne")), len(codes.rstrip("ne")))
    whole = (_read_unit if "v" in codes else _read_container)(codes[within], values[within], asked)
    days, edge = (whole.last - whole.first).days + 1, _get(codes, values, "e")
    is_month = 28 <= days <= 31
    if edge > 2:
        half = 15 if is_month else (days - 2) // 2 if days > 364 else days // 2
        return _span(whole.first, half) if edge == 3 else Period(whole.first + timedelta(half), whole.last)
    size = _get(codes, values, "n", 10 if is_month else -(-days // 3))
    if edge == 2 and is_month and "n" not in codes:
        return Period(whole.first + timedelta(20), whole.last)
    return _span(whole.last - timedelta(size - 1) if edge == 2 else whole.first + timedelta(edge * size), size)


def _read_unit(codes: str, values: _Values, asked: Vantage) -> Period:
    """Return this, the last or the next week, weekend or day; or the last three of them."""
    shift, unit = _get(codes, values, "r", 0), codes.strip("rn")
    if "n" in codes:
        size = timedelta(_get(codes, values, "n") * {"d": 1, "v": 7, "k": 7, "M": 30, "Y": 365}[unit])
        return Period(asked.today, asked.today + size) if shift > 0 else Period(asked.today - size, asked.today)
    if unit == "d":
        return _span(asked.today + timedelta(shift), 1)
    return _span(get_monday(asked.today) + timedelta(7 * shift + (5 if unit == "k" else 0)), 2 if unit == "k" else 7)


def _read_weekend_of(codes: str, values: _Values, asked: Vantage) -> Period:
    """Return "the weekend of last week", or "the weekend two weeks ago"."""
    return _read_unit("rk", [_get(codes, values, "r", -_get(codes, values, "n", 0)), None], asked)


def _read_weekend(_: str, __: _Values, asked: Vantage) -> Period:
    """Return the weekend that began last, or the first that is not over: that of "at the weekend"."""
    if asked.ahead:
        return _span(get_monday(asked.today) + timedelta(5), 2)
    return _span(asked.today - timedelta((asked.today.weekday() - 5) % 7), 2)


def _read_beside(codes: str, values: _Values, asked: Vantage) -> Period:
    """Return the day, week, weekend, month or weekday before or after a date or holiday; or what lies so many of them from it."""
    at = next(place for place, code in enumerate(codes) if code in "<A>")
    whole = (_read_easter if "E" in codes else _read_date)(codes[at + 1 :], values[at + 1 :], asked)
    unit, step = codes[at - 1], 1 if codes[at] == ">" else -1
    # Easter has four days, Whitsun two, of which the last but one is Sunday.
    day = whole.first if step < 0 and unit == "k" else whole.last - timedelta(whole.first < whole.last)
    if count := _get(codes[:at], values[:at], "n"):
        return _read_ago("n" + unit, [-step * count, None], Vantage(day))
    if unit in "kw":
        first = _read_weekday("rw", [step, values[at - 1] if unit == "w" else 5], Vantage(day)).first
        return _span(first, 2 if unit == "k" else 1)
    if unit == "M":
        return _month_from(day, step)
    first, last = sorted((day + timedelta(step), day + timedelta(7 * step if unit == "v" else step)))
    return Period(first, last)


def _read_weekday(codes: str, values: _Values, asked: Vantage) -> Period:
    """Return a weekday: the last before today, or the next after it; in this or another week where one is named."""
    day, shift = _get(codes, values, "w"), values[codes.rindex("r")] if "r" in codes else None
    if "n" in codes:  # "Tuesday two weeks ago"
        shift = _get(codes, values, "n") * (1 if ">" in codes else -1)
    if "v" in codes or shift == 0:
        return _span(get_monday(asked.today) + timedelta(7 * (shift or 0) + day), 1)
    days = (day - asked.today.weekday() - 1) % 7 + 1
    is_next = asked.ahead if shift is None else shift > 0
    further = 7 * (abs(shift or 1) - 1)  # of "the Friday before last"
    return _span(asked.today + timedelta(days + further if is_next else (days - 7 if days < 7 else -7) - further), 1)


def _read_ago(codes: str, values: _Values, asked: Vantage) -> Period:
    """Return a period as coarse as its unit: three days ago is a day, two weeks ago a week; with "today" it is one day."""
    count, unit = _get(codes, values, "no"), codes.strip("Anoat>") or "d"
    asked = Vantage(asked.today + timedelta(_get(codes, values, "t", 0)))  # "a week ago yesterday"
    if unit in "YM" and "t" in codes:  # "a year ago today"
        whole = _month_from(asked.today, -count * (12 if unit == "Y" else 1))
        return _span(min(whole.first + timedelta(asked.today.day - 1), whole.last), 1)
    if unit == "Y":
        return _read_container("y", [asked.today.year - count], asked)
    if unit == "M":
        return _month_from(asked.today, -count)
    if unit == "k":
        return _span(get_monday(asked.today) + timedelta(5 - 7 * count), 2)
    slack = 3 if unit == "v" and "t" not in codes else 0
    return _span(asked.today - timedelta(count * (7 if unit == "v" else 1) + slack), 2 * slack + 1)


def _read_later(codes: str, values: _Values, asked: Vantage) -> Period:
    """Return what lies as far ahead as `_read_ago` lies back: of "in three weeks"."""
    at = codes.index("n")  # behind "today" and a sign
    return _read_ago(codes[at:] + codes[:at], [-values[at], *values[at + 1 :], *values[:at]], asked)


def _read_week_number(codes: str, values: _Values, asked: Vantage) -> Period:
    if "I" in codes:
        codes, values = "yn", _get(codes, values, "I")
    week = _get(codes, values, "no")
    return _choose_year(lambda year: _span(date.fromisocalendar(year, week, 1), 7), codes, values, asked)


def _read_day(codes: str, values: _Values, asked: Vantage) -> Period:
    return _span(asked.today + timedelta(_get(codes, values, "t")), 1)


def _read_week_of(codes: str, values: _Values, asked: Vantage) -> Period:
    read = _read_day_of_month if codes[1:] in ("o", "D") else _read_date
    monday = get_monday(read(codes, values, asked).first)
    return _span(monday + timedelta(5), 2) if "k" in codes else _span(monday, 7)


def _read_day_of_month(codes: str, values: _Values, asked: Vantage) -> Period:
    """Return "the 5th" or "Monday the 5th": the latest day of that number, and weekday, up to today, or the first from today."""
    number, weekday = _get(codes, values, "oD"), _get(codes, values, "w")
    step = 1 if asked.ahead else -1
    days = (asked.today + timedelta(step * each) for each in range(366 * 2))
    return _span(next(day for day in days if day.day == number and weekday in (None, day.weekday())), 1)


def _read_day_of_another_month(codes: str, values: _Values, asked: Vantage) -> Period:
    """Return "the 5th of last month"."""
    return _span(
        _read_container("rM", [_get(codes, values, "r"), None], asked).first.replace(day=_get(codes, values, "oD")), 1
    )


def _read_weekday_of_month(codes: str, values: _Values, asked: Vantage) -> Period:
    """Return "Thursday 26": the nearest day within a month that is both; else the number is no day."""
    number, weekday = _get(codes, values, "n"), _get(codes, values, "w")
    ways = (1, -1) if asked.ahead else (-1, 1)
    days = (asked.today + timedelta(way * each) for way in ways for each in range(MOST_TO_NUMBERED_WEEKDAY))
    return _span(next(day for day in days if (day.day, day.weekday()) == (number, weekday)), 1)


def _read_days_of_month(codes: str, values: _Values, asked: Vantage) -> Period:
    """Return "3 to 5 October", also of "the week of 3 to 9 October"."""
    at = codes.index("~" if "~" in codes else "&")
    end = _read_date(codes[: at - 1] + codes[at + 1 :], [*values[: at - 1], *values[at + 1 :]], asked)
    if values[at - 1] > end.first.day:
        raise ValueError(codes)
    return Period(end.first.replace(day=values[at - 1]), end.last)


_Read = Callable[[str, _Values, Vantage], Period]
_READERS: Sequence[tuple[re.Pattern[str], _Read]] = [
    (re.compile(pattern), read)
    for pattern, read in (
        (rf"[vk]?[no][~&][no]m{_Y}?|(?:[vk][no]|o)[~&]x", _read_days_of_month),
        (r"m[no][~][no](?![dvkMYm])y?|mD~D", _read_days_of_month),
        (rf"(?:n[dvkMY]|r?[dvkMw])[<A>](?:{_DATE}|{_EASTER})", _read_beside),
        (rf"[vk](?:{_DATE}|[oD])|{_Y}?mD[vk]", _read_week_of),
        (r"w?[oD]", _read_day_of_month),
        ("wn", _read_weekday_of_month),
        (_DATE, _read_date),
        (_EASTER, _read_easter),
        (r"rM[oD]|Mr[oD]|[oD]rM|[oD]Mr", _read_day_of_another_month),
        (rf"{_NTH}{_C}|{_C}{_NTH}", _read_nth),
        (rf"n?e(?:{_C}|rv|vr|[YMqhv])|(?:{_C}|rv|vr)(?:(?<=[Yy])rY|(?<=M)rM)?n?e|of{_C}", _read_edge),
        ("k", _read_weekend),
        # The first r may be a verb: "s'est passé mardi de la semaine dernière".
        (r"r?w(?:rv|vr)|w(?:Anv|nva|>nv)|(?:rv|vr|Anv|nva)w|rw|wr|w", _read_weekday),
        (_C, _read_container),
        (r"k(?:Anv|nva|rv|vr)", _read_weekend_of),
        (r"rn[dvkMY]|nrn?[dvkMY]|n[dvkMY]r|r[vkd]|[vkd]r(?![dvkMY])", _read_unit),
        (r"t?An[dvkMY]|n[dvkMY]at|t?n[dvkMY]a|oa", _read_ago),
        (rf"(?:t>)?{LATER}", _read_later),
        (r"tw?|wt", _read_day),
        (r"[Wv]ny?|oWy?|I", _read_week_number),
    )
]


def read_longest(codes: str, values: _Values, at: int, asked: Vantage) -> tuple[int, Period] | None:
    """Read the longest period that begins at a symbol.

    Args:
        codes: The symbols.
        values: Of each symbol.
        at: The place of the symbol.
        asked: When it is named.

    Returns:
        The place behind the period, and its days; None if no period of the calendar begins there.
    """
    found = [(match.end(), read) for pattern, read in _READERS if (match := pattern.match(codes, at))]
    for end, read in sorted(found, key=lambda each: -each[0]):
        with suppress(ValueError, OverflowError, StopIteration, IndexError):  # 30 February, the sixth week
            return end, read(codes[at:end], values[at:end], asked)
    return None


def stretch(period: Period, other: Period) -> Period:
    """Return the days from one period to the end of another, which the first precedes."""
    if 0 < (period.first - other.last).days < 7 and period.first == period.last:  # "from Monday to Wednesday"
        return Period(period.first - timedelta(7), other.last)
    first, last = period.first, other.last
    if first > last:  # "March to May 2024", "November to January"
        with suppress(ValueError):
            return Period(first.replace(year=last.year - ((first.month, first.day) > (last.month, last.day))), last)
    return Period(min(first, other.first), last)


def join(period: Period, other: Period) -> Period | None:
    """Return the days of two periods of which one follows the other without a gap; None of any others."""
    first, last = sorted((period, other), key=lambda each: each.first)
    return Period(first.first, last.last) if first.last + timedelta(1) == last.first else None


def get_monday(day: date) -> date:
    """Return the first day of the week of a day."""
    return day - timedelta(day.weekday())
