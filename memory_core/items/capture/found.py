"""A fact that capture has found, before it is written. Pure.

A correction that names only what changes, "no, the blue one", is completed with the fact that it corrects.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from memory_core.text.dates import MONTHS, WEEKDAYS

Tier = Literal["sure", "pending"]
KINDS = ("fact", "preference", "decision", "correction")

_SHORT = re.compile(
    r"^(?P<cue>(?:(?:no|nope|sorry|actually|wait|correction|nein|oops)\b[\s,:;.!–—-]*+"
    r"|(?:I|we)(?:'ve| have)? changed (?:my|our) minds?[\s,:;.!–—-]++|I meant?[\s,:]++)*)"
    r"(?:it's |make (?:it|that) |I meant? |rather |we said )?(?:the |an? |in |on |at |with )*"
    r"(?P<new>[\w.:€$£%'-]++(?: (?-i:[A-Z])[\w-]++)?)(?P<one> one)?"
    r"(?:,? (?:and )?not (?:the |an? |in |on |at |with )*(?P<old>[\w.:€$£%'-]++)(?: one)?)?(?: (?:instead|please|now))?\s*[.!]*$",
    re.IGNORECASE,
)
_NO_VALUE = frozenset(
    """
    other one first second third last same next previous wrong right latter former it that this them those these problem worries
    need way thanks idea sorry wait really just yes no not never ok okay please longer more fine good true false sure nothing all
    """.split()  # noqa: SIM905 -- shorter
)
_VALUE = re.compile(r"[€$£]?\w[\w.:,%'-]*[\w%]|\w")
# Values of one sort. A word of a sort takes the place of the only other one of that sort.
_SORTS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"(?:{'|'.join(WEEKDAYS)})s?",
        r"[€$£]?\d[\w.:,%]*",
        "|".join(MONTHS),
        r"blue|red|green|grey|gray|black|white|yellow|orange|purple|pink|brown|silver|gold|golden|beige|turquoise|navy",
        r"(?-i:[A-ZÄÖÜÉ])[\w'-]+",
    )
)
_MODIFIER = re.compile(r"\b(?:the|an?|my|our|your|his|her|their) (\w+) (?=[a-z]\w)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ShortCorrection:
    """A correction that names only values.

    Attributes:
        new: The value that holds.
        old: The value that does not hold; None if it was not named.
        one: It says "the blue one": the value is said of a thing.
    """

    new: str
    old: str | None = None
    one: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundFact:
    """One fact that somebody said.

    Attributes:
        content: The fact, one or two sentences that can be understood alone.
        kind: One of `KINDS`.
        tier: "sure" is recalled from now on; "pending" waits to be said again or confirmed.
        said_at: Unix seconds; None is now.
        short: The correction that it is, if it names only what changes; then `content` is no fact yet.
        supersedes: The ids of items whose place it takes.
        turn: The index of its turn in the exchange.
        speaker: Who said it.
    """

    content: str
    kind: str = "fact"
    tier: Tier = "sure"
    said_at: float | None = None
    short: ShortCorrection | None = None
    turn: int = 0
    supersedes: tuple[str, ...] = ()
    speaker: Literal["user", "assistant"] = "user"


def read_short_correction(sentence: str) -> ShortCorrection | None:
    """Return the correction that a sentence is; None if it is none."""
    found = _SHORT.match(sentence.strip())
    if found is None or not (found["cue"] or found["old"]):
        return None
    new, old = found["new"].strip(".,:'"), (found["old"] or "").strip(".,:'")
    if not new or new.lower() in _NO_VALUE or old.lower() in _NO_VALUE:
        return None
    return ShortCorrection(new, old or None, one=found["one"] is not None)


def complete(correction: ShortCorrection, fact: str, heard: Iterable[str]) -> str | None:
    """Return a fact with the new value in the place of the old one; None if the correction is not about it.

    Args:
        correction: The correction.
        fact: The fact that may be meant.
        heard: What was said before the correction: a value that nobody said is not corrected.
    """
    said = {each.lower() for text in heard for each in _VALUE.findall(text)}
    old = correction.old or _find_old(correction, fact, said)
    if old is None:
        return None
    completed, count = re.subn(
        rf"(?<![\w-]){re.escape(old)}(?![\w-])", lambda _: correction.new, fact, count=1, flags=re.IGNORECASE
    )
    return completed if count else None


def _find_old(correction: ShortCorrection, fact: str, said: set[str]) -> str | None:
    """Return the only word of a fact that may be meant; None if there are several, or none."""
    new = correction.new
    sorts: Sequence[list[str]] = [
        [word for word in _VALUE.findall(fact[1:]) if sort.fullmatch(word)] for sort in _SORTS if sort.fullmatch(new)
    ]
    words = sorts[0] if sorts else _MODIFIER.findall(fact) if correction.one else []
    meant = {word for word in words if word.lower() in said and word.lower() != new.lower()}
    return meant.pop() if len(meant) == 1 else None
