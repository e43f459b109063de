"""A fact that capture has found, before it is written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from memory_core.items.capture.short_corrections import ShortCorrection

Tier = Literal["sure", "pending"]
KINDS = ("fact", "preference", "decision", "correction")


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
