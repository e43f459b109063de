"""Points in time as people and models write them."""

from __future__ import annotations

from contextlib import suppress
from datetime import date, datetime, time, timedelta

from memory_core.errors import InvalidArgument

_LAST = timedelta(milliseconds=1)  # moments are told to the millisecond


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
