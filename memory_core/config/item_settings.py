"""The settings of items, as `settings` has those of everything else: short facts, their ranking, recall and capture."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from memory_core.config.fields import Section, about


@dataclass(frozen=True, slots=True, kw_only=True)
class Salience(Section):
    """The worth of an item apart from any question."""

    reinforcement: float = field(
        default=0.1, metadata=about("Added to 1 for each doubling of the sessions that said it.", ge=0, le=10)
    )
    reinforcement_cap: float = field(
        default=1.3, metadata=about("The factor that no number of repetitions exceeds.", ge=1, le=10)
    )
    half_life_days: float = field(
        default=90, metadata=about("Days since it was last said after which half of its recency is left.", gt=0)
    )
    floor: float = field(
        default=0.8, metadata=about("The share of its worth that an item keeps at any age.", ge=0, le=1)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Capture(Section):
    """Items that are learned from what users say, without anybody asking for it."""

    enabled: bool = field(default=False, metadata=about("Learn items from the turns of main private sessions."))
    turns: int = field(default=5, metadata=about("Turns after which a session is read.", ge=1, le=100))
    idle_minutes: float = field(
        default=5, metadata=about("Minutes without a turn after which a session is read.", gt=0, le=1440)
    )
    max_tokens: int = field(
        default=4000,
        metadata=about("Tokens that are read at once, at most; more are read earlier.", ge=200, le=100_000),
    )
    use_model: bool = field(
        default=True, metadata=about("Let the host's model find the facts, where the host offers it; else rules do.")
    )
    notes: bool = field(
        default=False,
        metadata=about("Write what is learned into the daily note, where edited and deleted lines change the items."),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemSettings(Section):
    """Short facts beside the notes."""

    enabled: bool = field(
        default=False, metadata=about("Offer the tools for items, and embed items in the background.")
    )
    scope: str = field(
        default="default", metadata=about("Where tools keep and look for items; scopes never meet.", min_length=1)
    )
    similarity: Literal["cosine", "inverseDistance"] = field(
        default="cosine", metadata=about("The formula of similarity: the cosine, or 1 / (1 + distance).")
    )
    salience: Salience = field(default_factory=Salience)
    capture: Capture = field(default_factory=Capture)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallSettings(Section):
    """Notes and items that a host puts in front of a message, unasked."""

    enabled: bool = field(
        default=False, metadata=about("Let hosts put what fits a message from notes and items in front of it.")
    )
    limit: int = field(default=5, metadata=about("Items for one message, at most.", ge=1, le=100))
    max_chars: int = field(
        default=1500, metadata=about("Characters for one message, framing included.", ge=200, le=20_000)
    )
    timeout_ms: int = field(
        default=300,
        metadata=about("Milliseconds that a message waits; a late answer is an empty one.", gt=0, le=60_000),
    )
