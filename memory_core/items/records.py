"""Values of items: a fact as it is kept, where it comes from, what a write did, and what a query found.

A fact is checked before it is written: `check_draft`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Literal, TypedDict

from memory_core.as_json import to_camel, to_json
from memory_core.config.fields import STRICT
from memory_core.config.problems import get_adapter
from memory_core.errors import InvalidArgument, expect
from memory_core.records import ITEM_KINDS, Author, Origin
from memory_core.sources.redaction import redact
from memory_core.text.folding import clean

DEFAULT_SCOPE = "default"
PROGRAM = Origin(by="import")  # of a fact of which nobody says where it comes from
FORMER_AUTHORS: Mapping[str, Author] = {
    "assistant": "agent",
    "host": "import",
}  # in files of before items had an origin

KINDS = (*ITEM_KINDS, "correction")
MAX_CHARS = 2000  # of a fact: what is longer is a note
MAX_TAGS, MAX_TAG_CHARS = 16, 64
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")

Outcome = Literal["added", "reinforced", "superseded"]
Strategy = Literal["embedding", "keyword"]
Tier = Literal["sure", "pending"]
Reason = Literal["secret", "recalled", "tool output", "forgotten", "unusable"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One fact.

    Attributes:
        id: Short, unique within the file.
        content: The fact, as it was written.
        scope: Facts of two scopes never meet: they are neither merged nor found together.
        tags: In the order given.
        agent: The id of the agent that wrote it.
        kind: "fact", "preference", "decision" or "correction".
        pending: A guess that waits to be said again or confirmed; it is listed, but neither found nor recalled.
        created, updated: Unix seconds.
        said: Unix seconds at which it was last said.
        recalled: Unix seconds at which it was last put in front of a model; None if never.
        reinforced: How many other sessions have said it since.
        origin: Where it was said first, and by whom; where the user has said it too, where the user did.
        superseded_by: The id of the item that corrects it; None while it holds.
    """

    __pydantic_config__: ClassVar[Mapping[str, Any]] = STRICT

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
    origin: Origin
    superseded_by: str | None


class Conditions(TypedDict, total=False):
    """The items that are asked for. All that is given must hold; None, where it is allowed, is as if it was not given.

    Attributes:
        scope, agent: Items of this scope, or that this agent wrote.
        tags: They have all of them.
        session: This session has said them, alone or not.
        after, before: Unix seconds between which they were last said, `before` not included.
    """

    scope: str | None
    tags: Sequence[str]
    agent: str | None
    session: str | None
    after: float | None
    before: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A fact to be written.

    Attributes:
        content: The fact, one or two sentences.
        scope, tags, kind, pending: See `Item`.
        origin: Where it was said, and by whom.
        said_at: Unix seconds; None is now.
        supersedes: The ids of items whose place it takes.
    """

    content: str
    scope: str = DEFAULT_SCOPE
    tags: tuple[str, ...] = ()
    kind: str = "fact"
    pending: bool = False
    origin: Origin = PROGRAM
    said_at: float | None = None
    supersedes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """The result of one write.

    Attributes:
        item: The item as it is kept now: the new one, or the one that was reinforced.
        outcome: "added", "reinforced" (the same fact was there) or "superseded" (added, and an older item is corrected by it).
        superseded: The ids of the items that it corrects.
        similar: Items that a new one neither repeats nor corrects, and that are about something like it: the nearest first.
        embedded: It has an embedding; else the backfill makes one later.
        warning: Why it has none, one sentence; None if it has one, or none is wanted.
    """

    item: Item
    outcome: Outcome
    superseded: tuple[str, ...] = ()
    similar: tuple[Item, ...] = ()
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
        tokens: That the model read and wrote, by its own count or by estimate; 0 if none was asked.
    """

    written: tuple[Written, ...] = ()
    refused: tuple[RefusedFact, ...] = ()
    by: Literal["model", "rules"] = "rules"
    warning: str | None = None
    tokens: int = 0

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Forgotten:
    """The result of forgetting.

    Attributes:
        items: Those that were deleted, or with a dry run would be.
        dry_run: Nothing was deleted.
        remains: Where the text still stands, one sentence each.
        of_person: Some of them are the person's, not a project's.
    """

    items: tuple[Item, ...]
    dry_run: bool
    remains: tuple[str, ...] = ()
    of_person: bool = False


def check_texts(name: str, given: object) -> tuple[str, ...]:
    """Return the texts of a list that a caller has given, such as tags or ids.

    Raises:
        InvalidArgument: It is no list of texts; one text is none.
    """
    if isinstance(given, str | Mapping) or not isinstance(given, Iterable):
        raise InvalidArgument(name, f"expected a list of texts, not {type(given).__name__}")
    texts = tuple(given)
    if wrong := [each for each in texts if not isinstance(each, str)]:
        raise InvalidArgument(name, f"expected a list of texts, not one with {type(wrong[0]).__name__}")
    return texts


def check_text(name: str, given: object, *, optional: bool = True) -> None:
    """Raise unless a caller has given a text, or None where it is optional.

    Raises:
        InvalidArgument: It is neither.
    """
    expect(isinstance(given, str) or (optional and given is None), name, "a text", given)


def check_draft(draft: Draft) -> Draft:
    """Return a fact on one line, without control characters.

    Raises:
        InvalidArgument: It is none, empty, too long, or holds a secret.
    """
    if not isinstance(draft, Draft):
        raise InvalidArgument("drafts", f"expected a list of Draft, not one with {type(draft).__name__}")
    check_text("content", draft.content, optional=False)
    check_text("scope", draft.scope, optional=False)
    if draft.kind not in KINDS:
        raise InvalidArgument("kind", f"expected one of {', '.join(KINDS)}")
    content = " ".join(_CONTROL.sub(" ", draft.content.encode("utf-8", "replace").decode()).split())
    if not clean(content).strip():
        raise InvalidArgument("content", "is empty")
    if len(content) > MAX_CHARS:
        raise InvalidArgument(
            "content", f"is {len(content):,} characters long, {MAX_CHARS:,} are allowed", action="write a note instead"
        )
    tags = tuple(dict.fromkeys(" ".join(tag.split()) for tag in check_texts("tags", draft.tags)))
    if len(tags) > MAX_TAGS or not all(0 < len(tag) <= MAX_TAG_CHARS for tag in tags):
        raise InvalidArgument("tags", f"expected at most {MAX_TAGS} words of at most {MAX_TAG_CHARS} characters")
    if any(redact(text) != text for text in (content, *tags)):
        raise InvalidArgument("content", "holds what looks like a secret", action="keep secrets elsewhere")
    if not draft.scope.strip():
        raise InvalidArgument("scope", "is empty", action=f"leave it out for {DEFAULT_SCOPE!r}")
    return replace(draft, content=content, tags=tags)


def take_over(draft: Draft, corrected: Iterable[Item]) -> Draft:
    """Return a fact with what it has from the items that it corrects: their tags behind its own, as many as an item may have.

    The correction of a preference is a preference, which stands in the context of sessions in its place.
    """
    items = list(corrected)
    tags = dict.fromkeys([*draft.tags, *(tag for item in items for tag in item.tags)])
    prefers = draft.kind == "correction" and any(item.kind == "preference" for item in items)
    return replace(draft, tags=tuple(tags)[:MAX_TAGS], kind="preference" if prefers else draft.kind)


def write_items(items: Iterable[Item]) -> Iterator[str]:
    """Yield items as lines of JSON."""
    for item in items:
        yield f"{json.dumps(to_json(item), ensure_ascii=False)}\n"


def read_items(text: str, file: str = "the items") -> list[Item]:
    """Return the items of `write_items`; errors name the file.

    Raises:
        ValueError: A line is no item.
    """
    found = []
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            try:
                found.append(_read_item(line))
            except ValueError as error:
                raise ValueError(f"line {number} of {file} is no item: {error}") from error
    return found


def read_known(line: str) -> tuple[Item, bool]:
    """Return the item of a line without the fields that only a newer version knows, and False if there are any.

    Raises:
        ValueError: It is no item.
    """
    try:
        return _read_item(line), True
    except ValueError:
        try:
            raw = json.loads(line)
        except RecursionError as error:
            raise ValueError("its objects are nested too deeply") from error
        known = _leave_out_unknown(raw, Item)
        if isinstance(known, dict) and "origin" in known:
            known["origin"] = _leave_out_unknown(known["origin"], Origin)
        return _read_item(json.dumps(known)), False


def _leave_out_unknown(raw: Any, model: type[Item | Origin]) -> Any:
    names = {to_camel(each.name) for each in fields(model)}
    return {name: raw[name] for name in raw if name in names} if isinstance(raw, dict) else raw


def _read_item(line: str) -> Item:
    from pydantic import ValidationError

    if '"origin"' not in line:  # exported before items had one
        raw = json.loads(line)
        if isinstance(raw, dict) and "speaker" in raw:
            speaker = raw.pop("speaker")
            raw["origin"] = {"by": FORMER_AUTHORS.get(speaker, speaker), "session": raw.pop("session", None)}
            line = json.dumps(raw)
    try:
        item: Item = get_adapter(Item).validate_json(line)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise ValueError(f"{'.'.join(map(str, first['loc']))}: {first['msg']}".removeprefix(": ")) from error
    return item
