"""The words of a question that only say that it asks of the past: a search with `asOf` is told so apart from it. Pure."""

from __future__ import annotations

import re

_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sep(?:t(?:ember)?)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
)
_DAY = r"\d{1,2}(?:st|nd|rd|th)?"
_YEAR = r"(?:19|20)\d\d"
_DATE = rf"(?:{_YEAR}(?:-\d\d){{0,2}}|{_DAY} {_MONTH}(?:,? {_YEAR})?|{_MONTH}(?: {_DAY})?(?:,? {_YEAR})?)"
_WORDS = re.compile(
    rf" ?(?<![\w\"'“‘`-])(?:originally|initially|formerly|back then|at that time|at the time(?= ?(?:[,:?.!]|$))"
    rf"|at first(?! (?:glance|sight|hand))|as of {_DATE})(?![\w\"'”’`-])[,:]?|当时[,，]?|当時(?:は|の)?[,、]?",
    re.IGNORECASE,
)


def leave_out_time(text: str) -> str:
    """Return a question without "originally", "at that time", "as of 1 March" and their like.

    What may be what it asks about stays: "before June", "in 2024", "used to". So does a question that would be empty.
    """
    left = _WORDS.sub("", text)
    return left.strip() if left != text and re.search(r"\w", left) else text
