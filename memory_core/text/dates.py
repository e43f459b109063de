"""Dates as people write them: days and times given to us, and days in notes. Pure."""

from __future__ import annotations

import logging
import re
from contextlib import suppress
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from functools import lru_cache
from typing import NamedTuple

from memory_core.errors import InvalidArgument

log = logging.getLogger(__name__)

MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december",
)  # fmt: skip
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
MONTHS_AND_DAYS = frozenset(form for name in (*MONTHS, *WEEKDAYS) for form in (name, name[:3]))

MILLISECONDS, LAST_STAMP = 1e11, 1e14  # times above are no seconds, which would lie in the year 5138, or no times
_LAST = timedelta(milliseconds=1)  # moments are told to the millisecond
_CLOCK = re.compile(r"\d{1,2}:\d\d(?::\d\d)?", re.ASCII)
_SLASHED = re.compile(r"(\d\d?)/(\d\d?)(?:/\d+)?\Z", re.ASCII)
_AGO = re.compile(r"(\d{1,4}|an?) (minute|hour)s? ago", re.ASCII | re.IGNORECASE)


def parse_day(text: str, argument: str, *, timezone: str | None = None, today: date | None = None) -> date:
    """Return the day that an argument names: YYYY-MM-DD, or as questions name it, such as "yesterday".

    Args:
        text: The text.
        argument: The name of the argument, for the error.
        timezone: See `get_today`.
        today: From which "yesterday" is counted; None is the present day.

    Raises:
        InvalidArgument: It names no single day.
    """
    try:
        return _read_day(text.strip(), today or get_today(timezone, datetime.now(UTC)))
    except (ValueError, OverflowError) as error:
        raise InvalidArgument(argument, f"expected a date as YYYY-MM-DD, not {text!r:.60}") from error


def parse_instant(
    value: str, argument: str = "asOf", *, timezone: str | None = None, today: date | None = None
) -> datetime:
    """Return the instant that a text names: the end of a day, or of a second, unless it has a fraction.

    Answers show moments to the second, so that what they show can be asked for.

    Args:
        value: ISO 8601, such as 2026-03-01, 20260301, 2026-03-01T18:30 or 2026-03-01T17:30:00Z; 18:30; "2 hours ago"; or a day
            as questions name it.
        argument: The name of the argument, for the error.
        timezone: Of a text that names none; see `get_today`.
        today: From which "yesterday" is counted; None is the present day.

    Raises:
        InvalidArgument: It is no such text.
    """
    text = value.strip()
    now = datetime.now(UTC)
    try:
        if ago := _AGO.fullmatch(text):
            number = int(ago[1]) if ago[1].isdigit() else 1
            return now - number * timedelta(**{f"{ago[2].lower()}s": 1})
        day = today or get_today(timezone, now)
        if _CLOCK.fullmatch(text):
            return parse_instant(f"{day}T{text:0>5}", argument, timezone=timezone)
        with suppress(ValueError):
            return begin_day(timezone, date.fromisoformat(text) + timedelta(days=1)) - _LAST
        with suppress(ValueError):
            instant = _place(timezone, datetime.fromisoformat(text))
            names_fraction = "." in text or "," in text  # ".000" is that instant, not the whole second
            return instant if names_fraction else instant + timedelta(seconds=1) - _LAST
        return begin_day(timezone, _read_day(text, day) + timedelta(days=1)) - _LAST
    except (ValueError, OverflowError, OSError) as error:
        expected = 'expected a day, such as 2026-03-01 or "yesterday", or a time, such as 2026-03-01T18:30 or 18:30'
        raise InvalidArgument(argument, f"{expected}, not {value!r:.60}") from error


def _read_day(text: str, today: date) -> date:
    """Return the day that a text names.

    Raises:
        ValueError: It names no single day.
    """
    with suppress(ValueError):
        return date.fromisoformat(text)
    from memory_core.text.periods import find_period

    if (parts := _SLASHED.match(text)) and parts[1] != parts[2] and max(int(parts[1]), int(parts[2])) <= len(MONTHS):
        raise ValueError("nobody knows which of them is the month")
    named = find_period(text, today)
    if named is None or not named.alone or named.period.first != named.period.last:
        raise ValueError("it names no single day")
    return named.period.last


def get_today(timezone: str | None, now: datetime) -> date:
    """Return the date in a time zone by its IANA name; in this machine's if there is none, or it is unknown.

    Args:
        timezone: The name.
        now: The present time, aware.
    """
    return now.astimezone(_find_zone(timezone) if timezone else None).date()


def read_time(stamp: object) -> float | None:
    """Return the Unix seconds of a time as programs write it, in ISO 8601, seconds or milliseconds; None if it is none.

    >>> read_time("2026-01-02T03:04:05Z"), read_time(1767323045), read_time(1767323045000), read_time("soon")
    (1767323045.0, 1767323045.0, 1767323045.0, None)
    """
    try:
        if isinstance(stamp, str):
            return datetime.fromisoformat(stamp).timestamp()
    except (ValueError, OverflowError, OSError):
        return None
    if isinstance(stamp, (int, float)) and not isinstance(stamp, bool) and 0 < stamp < LAST_STAMP:
        return stamp / 1000 if stamp > MILLISECONDS else float(stamp)
    return None


def get_day(timezone: str | None, seconds: float) -> date:
    """Return the date at an instant in Unix seconds; see `get_today`."""
    return get_today(timezone, datetime.fromtimestamp(seconds, UTC))


def begin_day(timezone: str | None, day: date) -> datetime:
    """Return the first instant of a day in a time zone; see `get_today`."""
    return _place(timezone, datetime.combine(day, time.min))


def _place(timezone: str | None, instant: datetime) -> datetime:
    """Return an instant in a time zone, unless it names its own."""
    zone = _find_zone(timezone) if timezone else None
    return instant.astimezone() if zone is None or instant.tzinfo else instant.replace(tzinfo=zone)


@lru_cache(maxsize=8)  # warns once
def _find_zone(name: str) -> tzinfo | None:
    from zoneinfo import ZoneInfo

    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):  # zoneinfo raises these for unknown, ill-formed and folder names
        log.warning("The timezone %r is unknown; this machine's is used", name)
        return None


def ordinal(number: int) -> str:
    """Return a number as it is spoken of: 1st, 2nd, 13th."""
    ending = "th" if 10 <= number % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


class Period(NamedTuple):
    """Days from `first` to `last`, both included."""

    first: date
    last: date

    def __contains__(self, day: object) -> bool:
        """Return True if a day, or a note's date as YYYY-MM-DD, lies within."""
        iso = day.isoformat() if isinstance(day, date) else day
        return isinstance(iso, str) and self.first.isoformat() <= iso <= self.last.isoformat()


def leave_out_time(text: str) -> str:
    """Return a question without "originally", "at that time", "as of 1 March" and their like.

    What may be what it asks about stays: "before June", "in 2024", "used to". So does a question that would be empty.
    """
    from memory_core.text.tables import join_lines
    from memory_core.text.tokens import compile_once

    left = compile_once(f"(?i){join_lines('back then')}").sub("", text)
    return left.strip() if left != text and re.search(r"\w", left) else text
