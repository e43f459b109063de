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


def find_items(file: ItemsFile, wanted: Filter, *, ids: Sequence[str], query: str | None) -> list[Item]:
    """Return the items to be forgotten: all that is given must hold.

    Args:
        file: The items.
        wanted: Of a session, only what no other session has said.
        ids: These items; empty is any.
        query: Items that hold all of these words.

    Raises:
        InvalidArgument: Every item would meet the condition, or the query has no words.
    """
    if not ids and all(each is None for each in (query, wanted.session, wanted.after, wanted.before)):
        raise InvalidArgument("forget", "expected ids, a query, a session or a time range")
    if query is not None and not query.split():
        raise InvalidArgument("query", "expected at least one word")
    words = (query or "").casefold().split()
    return [
        item
        for item in file.load_all(wanted)
        if (not ids or item.id in ids)
        and all(word in item.content.casefold() for word in words)
        and (wanted.session is None or (item.session == wanted.session and not item.reinforced))
    ]


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
