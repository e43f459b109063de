"""Values of items: a fact as it is kept, where it comes from, what a write did, and what a query found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

DEFAULT_SCOPE = "default"
SPEAKERS = ("user", "assistant", "tool", "host")

Outcome = Literal["added", "reinforced", "superseded"]
Strategy = Literal["embedding", "keyword"]
Tier = Literal["sure", "pending"]
Reason = Literal["secret", "recalled", "tool output", "forgotten", "unusable"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """The origin of a fact.

    Attributes:
        session: The key of the session in which it was said; None outside of sessions, as at the command line.
        said_at: Unix seconds; None is now.
        speaker: Who said it: "user", "assistant", "tool" or "host".
    """

    session: str | None = None
    said_at: float | None = None
    speaker: str = "host"


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One fact.

    Attributes:
        id: Short, unique within the file.
        content: The fact, as it was written.
        scope: Facts of two scopes never meet: they are neither merged nor found together.
        tags: In the order given.
        agent: The id of the agent that wrote it.
        kind: "fact", "preference", "decision", "correction" or another word of the writer.
        pending: A guess that waits to be said again or confirmed; it is listed, but neither found nor recalled.
        created, updated: Unix seconds.
        said: Unix seconds at which it was last said.
        recalled: Unix seconds at which it was last put in front of a model; None if never.
        reinforced: How many other sessions have said it since.
        session: The key of the session that said it first; None outside of sessions.
        speaker: As `Provenance.speaker`.
        superseded_by: The id of the item that corrects it; None while it holds.
    """

    id: str
    content: str
    scope: str
    tags: tuple[str, ...]
    agent: str
    kind: str
    pending: bool
    created: float
    updated: float
    said: float
    recalled: float | None
    reinforced: int
    session: str | None
    speaker: str
    superseded_by: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A fact to be written.

    Attributes:
        content: The fact, one or two sentences.
        scope, tags, kind, pending: See `Item`.
        provenance: Its origin.
        supersedes: The ids of items whose place it takes.
    """

    content: str
    scope: str = DEFAULT_SCOPE
    tags: tuple[str, ...] = ()
    kind: str = "fact"
    pending: bool = False
    provenance: Provenance = Provenance()
    supersedes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """The result of one write.

    Attributes:
        item: The item as it is kept now: the new one, or the one that was reinforced.
        outcome: "added", "reinforced" (the same fact was there) or "superseded" (added, and an older item is corrected by it).
        superseded: The ids of the items that it corrects.
        embedded: It has an embedding; else the backfill makes one later.
        warning: Why it has none, one sentence; None if it has one, or none is wanted.
    """

    item: Item
    outcome: Outcome
    superseded: tuple[str, ...] = ()
    embedded: bool = True
    warning: str | None = None

    @property
    def tier(self) -> Tier:
        """ "sure" is recalled from now on; "pending" waits to be said again in another session, or to be promoted."""
        return "pending" if self.item.pending else "sure"


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedFact:
    """A fact that was found and not kept.

    Attributes:
        text: The fact, secrets redacted.
        reason: "secret"; "recalled" (it comes from memory); "tool output" (a tool said it, not the user);
            "forgotten" (it was forgotten after it was said); "unusable" (it is
            too long).
    """

    text: str
    reason: Reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Memorized:
    """The outcome of learning from an exchange.

    Attributes:
        written: One for each fact that was kept, in the order in which they were said.
        refused: The facts that were found and not kept.
        by: Who found them: the host's model, or the rules.
        warning: Why the rules answered though a model was given, one sentence; None otherwise.
    """

    written: tuple[Written, ...] = ()
    refused: tuple[RefusedFact, ...] = ()
    by: Literal["model", "rules"] = "rules"
    warning: str | None = None

    @property
    def stored(self) -> tuple[Item, ...]:
        """The items that are new."""
        return tuple(each.item for each in self.written if each.outcome != "reinforced")

    @property
    def reinforced(self) -> tuple[Item, ...]:
        """The items that were known and were said again."""
        return tuple(each.item for each in self.written if each.outcome == "reinforced")

    @property
    def superseded(self) -> tuple[str, ...]:
        """The ids of the items that new ones correct."""
        return tuple(old for each in self.written for old in each.superseded)


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemHit:
    """An item that answers a query.

    Attributes:
        item: The fact.
        score: Similarity times salience; orders the hits.
        similarity: 0..1, of meaning or of words.
    """

    item: Item
    score: float
    similarity: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemAnswer:
    """The answer to a query.

    Attributes:
        hits: Best first; may be empty.
        strategy: "embedding", or "keyword" where no embedding of the question could be had.
        warning: Why keywords answered though a provider is configured; None otherwise.
    """

    hits: tuple[ItemHit, ...]
    strategy: Strategy
    warning: str | None = None
