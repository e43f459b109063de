"""Items to be forgotten: found by what is known of them; and the places where their text stands besides."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from memory_core.config.agent import AgentConfig
from memory_core.errors import InvalidArgument, MemoryCoreError
from memory_core.items.records import Item
from memory_core.items.store.file import ItemsFile
from memory_core.items.store.rows import Filter

log = logging.getLogger(__name__)

PAGE = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """The items to be forgotten: all that is given must hold.

    Attributes:
        ids: These items; empty is any.
        query: Items that hold all of these words.
        session: What only this session has said.
        after, before: Unix seconds between which an item was last said, `before` not included.
        scope: Only in this scope; None is all of them.
    """

    ids: tuple[str, ...] = ()
    query: str | None = None
    session: str | None = None
    after: float | None = None
    before: float | None = None
    scope: str | None = None

    def check(self) -> None:
        """Refuse a condition that every item meets.

        Raises:
            InvalidArgument: Nothing was given, or a query without words.
        """
        if not self.ids and all(each is None for each in (self.query, self.session, self.after, self.before)):
            raise InvalidArgument("forget", "expected ids, a query, a session or a time range")
        if self.query is not None and not self.query.split():
            raise InvalidArgument("query", "expected at least one word")

    @property
    def is_whole_session(self) -> bool:
        """True if a session is meant and nothing else."""
        others = (self.query, self.after, self.before, self.scope)
        return self.session is not None and not self.ids and all(each is None for each in others)


@dataclass(frozen=True, slots=True, kw_only=True)
class Forgotten:
    """The result of forgetting.

    Attributes:
        items: Those that were deleted, or with a dry run would be.
        dry_run: Nothing was deleted.
        remains: Where the text still stands, one sentence each.
    """

    items: tuple[Item, ...]
    dry_run: bool
    remains: tuple[str, ...] = ()


def find_items(file: ItemsFile, condition: Condition) -> list[Item]:
    """Return the items that meet a condition."""
    wanted = Filter(scope=condition.scope, session=condition.session, after=condition.after, before=condition.before)
    words = (condition.query or "").casefold().split()
    found = [item for item in load_all(file, wanted) if not condition.ids or item.id in condition.ids]
    found = [item for item in found if all(word in item.content.casefold() for word in words)]
    if condition.session is None:
        return found
    return [item for item in found if item.session == condition.session and not item.reinforced]


def load_all(file: ItemsFile, wanted: Filter) -> Sequence[Item]:
    """Return all items of a filter, the one said last first."""
    found: list[Item] = []
    while page := file.load_page(wanted, limit=PAGE, offset=len(found)):
        found += page
    return found


def list_remains(config: AgentConfig, file: ItemsFile, items: Sequence[Item]) -> tuple[str, ...]:
    """Say where the text of forgotten items may still stand, outside of their file."""
    if not items:
        return ()
    remains = [
        f"{aside.name}, a damaged items file that was set aside, holds what it held" for aside in file.list_asides()
    ]
    sessions = sorted({item.session for item in items if item.session is not None})
    if sessions:
        remains.append(f"the host's logs of these sessions hold what was said: {', '.join(sessions)}")
    remains += [f"{path} holds the text; edit or delete it there" for path in _find_in_notes(config, items)]
    return tuple(remains)


def _find_in_notes(config: AgentConfig, items: Sequence[Item]) -> Iterator[str]:
    """Yield the paths of the notes that hold the text of an item."""
    from memory_core.sources import files, notes

    wanted = [" ".join(item.content.casefold().split()).rstrip(".") for item in items]
    for file in files.list_files(config).files:
        try:
            text = " ".join(notes.read_note(file).text.casefold().split())
        except MemoryCoreError as error:
            log.debug("%s is not looked through: %s", file.path, error)
            continue
        if any(each in text for each in wanted):
            yield file.path
