"""Moments of a history in the order in which they happened, and the versions that stood at them.

Times are repaired where a clock was wrong. Pure.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import accumulate, pairwise
from typing import NamedTuple

from memory_core.records import FileKey


class Version(NamedTuple):
    """The bytes of one note from one moment up to another; without the bytes.

    Attributes:
        id: In the history file.
        key: Of the note.
        hash: Of the bytes.
        mtime_ns: The time of the file's last change when it was recorded.
        in_vault: See `MemoryFile.in_vault`.
        since: Id of the moment from which it stood.
        until: Id of the moment from which it stood no more; None if it stands.
    """

    id: int
    key: FileKey
    hash: bytes
    mtime_ns: int
    in_vault: bool
    since: int
    until: int | None


class Moment(NamedTuple):
    """A sync that changed something, or a commit that was imported.

    Attributes:
        id: Higher is later, whatever the clock said.
        at_ms: Unix milliseconds, repaired: never falls from one moment to the next.
        origin: "sync", "git" or "import".
    """

    id: int
    at_ms: int
    origin: str

    @property
    def at(self) -> datetime:
        """The time in UTC."""
        return datetime.fromtimestamp(self.at_ms / 1000, UTC)


def repair_times(recorded: Sequence[int]) -> list[int]:
    """Return times that never fall, given those of a clock that may have been wrong for a while.

    The longest run of times that never falls is taken as right. What stands between two of its times was recorded with a wrong
    clock: it keeps the distances between its own times where they fit, and is put into the middle of the gap.

    Args:
        recorded: Milliseconds, in the order of the moments.
    """
    from memory_core.text.matching import find_longest_run

    times = list(recorded)
    right = find_longest_run(recorded)
    edges = [-1, *right, len(recorded)]
    for before, behind in pairwise(edges):
        if behind - before > 1:
            low = times[before] if before >= 0 else None
            high = recorded[behind] if behind < len(recorded) else None
            times[before + 1 : behind] = _place(recorded[before + 1 : behind], low, high)
    return times


def find_moment(moments: Sequence[Moment], instant_ms: int) -> Moment | None:
    """Return the last moment that is not later than an instant; None before the first."""
    number = bisect_right(moments, instant_ms, key=lambda moment: moment.at_ms)
    return moments[number - 1] if number else None


def _place(wrong: Sequence[int], low: int | None, high: int | None) -> list[int]:
    """Return times between two right ones for moments whose clock was wrong."""
    steps = [max(later - earlier, 0) for earlier, later in pairwise(wrong)]
    span = sum(steps)
    if low is None or high is None:
        first = low if low is not None else (high or 0) - span
    elif span <= high - low:
        first = low + (high - low - span) // 2
    else:  # the clock jumped more than once: spread evenly
        return [low + (high - low) * (number + 1) // (len(wrong) + 1) for number in range(len(wrong))]
    return [*accumulate(steps, initial=first)]
