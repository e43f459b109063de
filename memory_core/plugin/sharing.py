"""The sync of one agent's notes and items with other machines, as commands and sessions use it."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from memory_core.config.agent import AgentConfig
from memory_core.errors import MemoryCoreError
from memory_core.records import Finding
from memory_core.sharing import STATE, is_due
from memory_core.threads import start_call

if TYPE_CHECKING:
    from memory_core.items.records import Item
    from memory_core.sharing.sharing import Shared, Sharing

log = logging.getLogger(__name__)


@contextmanager
def open_sharing(config: AgentConfig) -> Iterator[Sharing]:
    """Open the sync of a workspace, with the items that belong to it alone: none of another layer."""
    from memory_core.items.items import Items
    from memory_core.sharing.sharing import ITEMS_FOLDER, SharedText, Sharing

    items = Items(config)
    text = SharedText(
        path=f"{ITEMS_FOLDER}{config.agent}.jsonl",
        read=lambda: write_shared(items.export()),
        merge=merge_items,
        write=lambda text: items.take_over(read_shared(text)),
    )
    with closing(items):
        yield Sharing(config, [text])


def write_shared(items: Iterable[Item]) -> str:
    """Return items as they are synced: a line each, in the order of their ids, without when they were recalled here."""
    from memory_core.items.records import write_items

    ordered = sorted(items, key=lambda item: item.id)
    return "".join(write_items(replace(item, recalled=None) for item in ordered))


def read_shared(text: str) -> dict[str, Item]:
    """Return the items of `write_shared`, by id."""
    from memory_core.items.records import read_items

    return {item.id: item for item in read_items(text)}


def merge_items(base: str, first: str, second: str) -> str:
    """Merge the items of two machines.

    An item that one side has deleted is gone. Of two changes the later one counts, and of a fact that both have learned the item
    that is older. Clocks decide only where both sides have changed one item.
    """
    from memory_core.items.store.rows import fold

    old, *sides = (read_shared(text) for text in (base, first, second))
    found: list[Item] = []
    for name in sides[0].keys() | sides[1].keys():
        versions = [side[name] for side in sides if name in side]
        changed = [each for each in versions if each != old.get(name)] or versions
        if len(versions) == 2 or name not in old:
            found.append(max(changed, key=lambda item: (item.updated, item.content)))
    facts: dict[tuple[str, str], Item] = {}
    replaced: dict[str, str] = {}
    for item in sorted(found, key=lambda item: (item.created, item.id)):
        fact = item.scope, fold(item.content)
        kept = facts.get(fact)
        if kept is not None:
            replaced[item.id] = kept.id
            item = replace(  # noqa: PLW2901  # said on both machines
                kept, said=max(kept.said, item.said), updated=max(kept.updated, item.updated),
                tags=tuple(dict.fromkeys((*kept.tags, *item.tags))), reinforced=kept.reinforced + item.reinforced + 1,
                pending=kept.pending and item.pending, superseded_by=kept.superseded_by and item.superseded_by,
            )  # fmt: skip
        facts[fact] = item
    return write_shared(
        replace(item, superseded_by=replaced.get(item.superseded_by or "", item.superseded_by))
        for item in facts.values()
    )


def diagnose_sharing(config: AgentConfig) -> list[Finding]:
    """Return a finding about the last sync with other machines, if it did not work."""
    if not (config.sharing_dir / STATE).exists():
        return []
    from memory_core.sharing.sharing import Sharing

    try:
        state = Sharing(config).load()
    except MemoryCoreError as error:
        return [Finding(subject="sync", level="fail", message=str(error), action=error.action)]
    if state is None or not state.on or not state.problem:
        return []
    action = "it will be tried again; see: memory-core sync status" if state.waits else state.action
    return [Finding(subject="sync", level="warn", message=f"the notes are not synced: {state.problem}", action=action)]


def propose(config: AgentConfig, done: Shared) -> None:
    """Propose to take away the other machine's version of each line that both have changed; `review` shows it."""
    from memory_core.upkeep.tidy import Tidy

    for path, conflict in done.conflicts:
        try:
            lines = (config.workspace / path).read_text(encoding="utf-8", errors="replace").split("\n")
            why = f"Two machines have changed this line; the other version is: {conflict.second.strip()}"
            with closing(Tidy(config)) as tidy:
                tidy.propose(path, lines.index(conflict.first) + 1, "", why)
        except (MemoryCoreError, OSError, ValueError) as error:
            log.info("both versions of a line stay in %s, and none is proposed: %s", path, error)


def sync_behind(config: AgentConfig) -> None:
    """Sync in the background; a problem is kept for `sync status`, and tried again after the next session."""
    try:
        with open_sharing(config) as sharing:
            propose(config, sharing.sync())
    except MemoryCoreError as error:
        log.info("the notes are not synced: %s", error)


def sync_if_due(config: AgentConfig, minutes: float = 0.0) -> None:
    """Sync in the background where that is set up, unless it was done within so many minutes."""
    if is_due(config, minutes):
        start_call(lambda: sync_behind(config), name="memory-core-sharing")
