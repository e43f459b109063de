"""Dates as people write them: days and times given to us, periods that questions name, and days in notes. Pure."""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta

from memory_core.errors import InvalidArgument

MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december",
)  # fmt: skip
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")

_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sep(?:t(?:ember)?)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
)
_WEEKDAY = r"(mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?"
_ORDINAL = r"(?:st|nd|rd|th)?"
_DAY = rf"(\d{{1,2}}){_ORDINAL}"
_YEAR = r"(?:19|20)\d\d"
_NUMBERS = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "ten": 10}
_WRITTEN = re.compile(r"(?<!\d)(\d{4})-(\d\d?)-(\d\d?)(?!\d)", re.ASCII)
_LAST = timedelta(milliseconds=1)  # moments are told to the millisecond


def parse_day(text: str, argument: str) -> date:
    """Return the day that an argument names, YYYY-MM-DD.

    Raises:
        InvalidArgument: It names none.
    """
    try:
        return date.fromisoformat(text)
    except ValueError as error:
        raise InvalidArgument(argument, f"expected a date as YYYY-MM-DD, not {text!r}") from error


def parse_instant(value: str, argument: str = "asOf") -> datetime:
    """Return the instant that a text names: the end of a day, or of a second, unless it has a fraction; by default local time.

    Answers show moments to the second, so that what they show can be asked for.

    Args:
        value: ISO 8601, such as 2026-03-01, 20260301, 2026-03-01T18:30 or 2026-03-01T17:30:00Z.
        argument: The name of the argument, for the error.

    Raises:
        InvalidArgument: It is no such text.
    """
    text = value.strip()
    try:
        with suppress(ValueError):
            return datetime.combine(date.fromisoformat(text) + timedelta(days=1), time.min).astimezone() - _LAST
        instant = datetime.fromisoformat(text).astimezone()
        names_fraction = "." in text or "," in text  # ".000" is that instant, not the whole second
        return instant if names_fraction else instant + timedelta(seconds=1) - _LAST
    except (ValueError, OverflowError, OSError) as error:
        raise InvalidArgument(
            argument, f"expected a day or a time, such as 2026-03-01 or 2026-03-01T18:30, not {value!r:.60}"
        ) from error


def find_day(text: str, *, short: bool = False) -> str | None:
    """Find the first day in a text that is written YYYY-MM-DD and exists; None if there is none.

    Args:
        text: Of a note.
        short: A month or a day of one digit is read, too, as in 2026-3-1.
    """
    for found in _WRITTEN.finditer(text):
        if short or len(found[0]) == len("YYYY-MM-DD"):
            with suppress(ValueError):  # 2026-02-30 is no date
                return date(int(found[1]), int(found[2]), int(found[3])).isoformat()
    return None


@dataclass(frozen=True, slots=True)
class Period:
    """Days from `first` to `last`, both included."""

    first: date
    last: date

    def __contains__(self, iso: object) -> bool:
        """Return True if a note's date, as YYYY-MM-DD, lies within."""
        return isinstance(iso, str) and self.first.isoformat() <= iso <= self.last.isoformat()


def find_period(text: str, today: date) -> tuple[Period, str] | None:
    """Find the period that a question names, and the words that name it, in lower case; None when it names none.

    It is a day, else a month, else one relative to today, else a year. Understood are ISO dates, "8 May 2023", "May 8th",
    "May 2023", "in May" (the latest that has begun), "2023年5月8日", "yesterday", "last week", "this month", "three days ago",
    "on Tuesday" (the latest before today), "in 2023". A day that never was is read as its month.
    """
    lowered = text.lower()
    for pattern, read in _READERS:
        for match in pattern.finditer(lowered):
            try:
                return read(match, today), match[0]
            except (ValueError, OverflowError):
                continue
    return None


def _day(year: int, month: int, day: int) -> Period:
    only = date(year, month, day)
    return Period(only, only)


def _month(year: int, month: int) -> Period:
    return Period(date(year, month, 1), date(year, month, monthrange(year, month)[1]))


def _year(year: int) -> Period:
    return Period(date(year, 1, 1), date(year, 12, 31))


def _find_name(names: tuple[str, ...], start: str) -> int:
    """Return the place of the month or weekday that begins as `start` does, from 0."""
    return next(place for place, name in enumerate(names) if name.startswith(start[:3]))


def _day_of_month(month: str, day: str, year: str | None, today: date) -> Period:
    number = _find_name(MONTHS, month) + 1
    if year:
        return _day(int(year), number, int(day))
    this = _day(today.year, number, int(day))
    return this if this.first <= today else _day(today.year - 1, number, int(day))


def _bare_month(match: re.Match[str], today: date) -> Period:
    number = _find_name(MONTHS, match[1]) + 1
    return _month(today.year if number <= today.month else today.year - 1, number)


def _relative_day(match: re.Match[str], today: date) -> Period:
    only = today - timedelta({"today": 0, "tonight": 0, "yesterday": 1}[match[1]])
    return Period(only, only)


def _last_or_this(match: re.Match[str], today: date) -> Period:
    """Return a whole week from Monday on, month or year: the current one, or the one before."""
    back = match[1] in ("last", "previous")
    if match[2] == "week":
        monday = today - timedelta(today.weekday() + 7 * back)
        return Period(monday, monday + timedelta(6))
    if match[2] == "year":
        return _year(today.year - back)
    return _months_back(today, int(back))


def _months_back(today: date, count: int) -> Period:
    months = today.year * 12 + today.month - 1 - count
    return _month(months // 12, months % 12 + 1)


def _ago(match: re.Match[str], today: date) -> Period:
    """Return a period as coarse as its unit: three days ago is a day, two weeks ago a week, two months ago a month."""
    count = _NUMBERS[match[1]] if match[1] in _NUMBERS else int(match[1])
    if match[2] == "year":
        return _year(today.year - count)
    if match[2] == "month":
        return _months_back(today, count)
    slack = 3 if match[2] == "week" else 0
    middle = today - timedelta(count * (7 if slack else 1))
    return Period(middle - timedelta(slack), middle + timedelta(slack))


def _weekday(match: re.Match[str], today: date) -> Period:
    back = (today.weekday() - _find_name(WEEKDAYS, match[1])) % 7 or 7
    only = today - timedelta(back)
    return Period(only, only)


_Reader = Callable[[re.Match[str], date], Period]
_READERS: tuple[tuple[re.Pattern[str], _Reader], ...] = tuple(
    (re.compile(pattern), read)
    for pattern, read in (
        (rf"\b({_YEAR})-(\d\d)-(\d\d)\b", lambda m, _: _day(int(m[1]), int(m[2]), int(m[3]))),
        (rf"({_YEAR})\s*年\s*(\d{{1,2}})\s*月\s*(\d{{1,2}})\s*日", lambda m, _: _day(int(m[1]), int(m[2]), int(m[3]))),
        (
            rf"\b{_DAY}(?: of)? ({_MONTH})(?:,? ({_YEAR}))?\b",
            lambda m, today: _day_of_month(m[2], m[1], m[3], today),
        ),
        (
            rf"\b({_MONTH}) {_DAY}(?:,? ({_YEAR}))?\b",
            lambda m, today: _day_of_month(m[1], m[2], m[3], today),
        ),
        (rf"\b({_MONTH})(?: of)?,? ({_YEAR})\b", lambda m, _: _month(int(m[2]), _find_name(MONTHS, m[1]) + 1)),
        (rf"\b({_YEAR})-(\d\d)\b", lambda m, _: _month(int(m[1]), int(m[2]))),
        (rf"({_YEAR})\s*年\s*(\d{{1,2}})\s*月", lambda m, _: _month(int(m[1]), int(m[2]))),
        (r"\b(today|tonight|yesterday)\b", _relative_day),
        (r"\b(last|previous|this) (week|month|year)\b", _last_or_this),
        (rf"\b(\d{{1,3}}|{'|'.join(_NUMBERS)}) (day|week|month|year)s? ago\b", _ago),
        (rf"\b(?:on|last) {_WEEKDAY}\b", _weekday),
        (rf"\b(?:in|during|since|last) ({_MONTH})(?=$|[\s?.,!])", _bare_month),
        (rf"\b(?:in|during|of) ({_YEAR})\b", lambda m, _: _year(int(m[1]))),
    )
)


_DATE = (
    rf"(?:{_YEAR}(?:-\d\d){{0,2}}|\d{{1,2}}{_ORDINAL} {_MONTH}(?:,? {_YEAR})?"
    rf"|{_MONTH}(?: \d{{1,2}}{_ORDINAL})?(?:,? {_YEAR})?)"
)
_PAST = re.compile(
    rf" ?(?<![\w\"'“‘`-])(?:originally|initially|formerly|back then|at that time|at the time(?= ?(?:[,:?.!]|$))"
    rf"|at first(?! (?:glance|sight|hand))|as of {_DATE})(?![\w\"'”’`-])[,:]?|当时[,，]?|当時(?:は|の)?[,、]?",
    re.IGNORECASE,
)


def leave_out_time(text: str) -> str:
    """Return a question without "originally", "at that time", "as of 1 March" and their like.

    What may be what it asks about stays: "before June", "in 2024", "used to". So does a question that would be empty.
    """
    left = _PAST.sub("", text)
    return left.strip() if left != text and re.search(r"\w", left) else text
