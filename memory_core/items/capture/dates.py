"""Days that a sentence names by their distance from today, made readable later. Pure."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

_DAYS = {
    "today": 0,
    "tonight": 0,
    "tomorrow": 1,
    "yesterday": -1,
    "heute": 0,
    "morgen": 1,
    "gestern": -1,
    "mañana": 1,
    "demain": 1,
}
_NEAR = re.compile(rf"\b(?:{'|'.join(_DAYS)})\b", re.IGNORECASE)
_WEEKDAY = "(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_VAGUE = re.compile(
    rf"\b(?:(?:next|this|last|coming) (?:week(?:end)?|month|year|spring|summer|autumn|fall|winter|quarter|{_WEEKDAY})"
    rf"|(?:on|by|until|till|since) {_WEEKDAY}(?!s)|in \w+ (?:days|weeks|months)|\w+ (?:days|weeks|months) ago"
    r"|(?:nächste|letzte)\w* \w+|la semana que viene|la semaine prochaine)\b",
    re.IGNORECASE,
)


def resolve_days(text: str, said_at: float) -> str:
    """Return a sentence with the date behind words like "tomorrow", or with the day on which it was said at its end.

    Args:
        text: A sentence.
        said_at: Unix seconds.
    """
    day = datetime.fromtimestamp(said_at).astimezone().date()

    def put_date(found: re.Match[str]) -> str:
        return f"{found[0]} ({(day + timedelta(days=_DAYS[found[0].lower()])).isoformat()})"

    dated, count = _NEAR.subn(put_date, text)
    if count or not _VAGUE.search(text):
        return dated
    return f"{dated.rstrip('.')} (said on {day.isoformat()})."
