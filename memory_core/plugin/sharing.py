"""The sync of one agent's notes and items with other machines, as commands and sessions use it."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

from memory_core.config.agent import AgentConfig
from memory_core.errors import MemoryCoreError
from memory_core.sharing import is_due
from memory_core.threads import start_call

if TYPE_CHECKING:
    from memory_core.sharing.sharing import Sharing
    from memory_core.sharing.syncing import Shared

log = logging.getLogger(__name__)


@contextmanager
def open_sharing(config: AgentConfig) -> Iterator[Sharing]:
    """Open the sync of a workspace, with the items that belong to it alone: none of another layer."""
    from memory_core.items.exported import merge_items, read_items, write_items
    from memory_core.items.items import Items
    from memory_core.sharing.sharing import ITEMS_FOLDER, Sharing
    from memory_core.sharing.syncing import SharedText

    items = Items(config)
    text = SharedText(
        path=f"{ITEMS_FOLDER}{config.agent}.jsonl",
        read=lambda: write_items(items.export()),
        merge=merge_items,
        write=lambda text: items.take_over(read_items(text)),
    )
    with closing(items):
        yield Sharing(config, [text])


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
