"""Values that tell what is related to a name: where notes link to it and mention it, and what stands beside it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

# "note": a note has this name. "tag": it is written as a tag, or not as a link. "link": notes link to it, and none has it.
# "found": it only looks like a name.
NameKind = Literal["note", "link", "tag", "found"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RelatedQuery:
    """A question about one name, or about all of them.

    Attributes:
        name: The name; None asks which names there are.
        max_results: The most entries of each list of the answer.
        deadline: The `time.monotonic()` until which the caller waits; None to wait for ever.
    """

    name: str | None = None
    max_results: int = 10
    deadline: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Mention:
    """A place that speaks of a name.

    Attributes:
        path: Of its note.
        line: From 1.
        date: Of its note, YYYY-MM-DD; None if it has none.
        text: That line, cut to 200 characters.
    """

    path: str
    line: int
    date: str | None
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbour:
    """A name that stands in the same paragraphs, list items or rows as another.

    Attributes:
        name: As notes spell it.
        count: The number of those places.
        first, last: The dates of the oldest and the newest note with one, YYYY-MM-DD; None if none has a date.
        places: Some of them, the newest first.
    """

    name: str
    count: int
    first: str | None
    last: str | None
    places: tuple[Mention, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownName:
    """A name that could be asked for.

    Attributes:
        name: As notes spell it.
        kind: How notes say that it is a name.
        count: The number of passages that mention it; of one that was only found, of those that were read.
        aliases: Its other names.
    """

    name: str
    kind: NameKind
    count: int
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Related:
    """The answer to a question about a name.

    Attributes:
        name: As notes spell it; None if no name was asked for.
        aliases: Its other names.
        notes: The paths of the notes that have this name.
        count: The number of places that link to it or mention it.
        first, last: The dates of the oldest and the newest note with such a place, YYYY-MM-DD; None if none has a date.
        days: The number of different dates.
        backlinks: Places that link to it or carry it as a tag, the newest first.
        mentions: Places that mention it without a link, likewise.
        beside: Names that stand beside it, the most frequent first.
        names: Names that are known, where none was asked for, or names near to one that no note holds.
        stale: Changes in the files are not indexed yet.
        warning: Why the answer lacks something; None if it does not.
        action: What to do about that; None if nothing.
    """

    name: str | None = None
    aliases: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    count: int = 0
    first: str | None = None
    last: str | None = None
    days: int = 0
    backlinks: tuple[Mention, ...] = ()
    mentions: tuple[Mention, ...] = ()
    beside: tuple[Neighbour, ...] = ()
    names: tuple[KnownName, ...] = ()
    stale: bool = False
    warning: str | None = None
    action: str | None = None
