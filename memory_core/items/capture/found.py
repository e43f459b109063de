"""A fact that capture has found, before it is written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

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
        speaker: Who said it.
    """

    content: str
    kind: str = "fact"
    tier: Tier = "sure"
    said_at: float | None = None
    speaker: Literal["user", "assistant"] = "user"
