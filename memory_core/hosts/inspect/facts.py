"""Items and the activity log for the page."""

from __future__ import annotations

from contextlib import closing
from typing import Any

from memory_core.config.agent import AgentConfig
from memory_core.items.items import Items
from memory_core.items.records import Item
from memory_core.sources.activity import Activity

MOST_ITEMS = 500  # that are listed, those said last
MOST_ENTRIES = 300  # of the activity log, the last ones


def list_items(config: AgentConfig) -> dict[str, Any]:
    """Return the items of every scope, the one said last first; the file is read only.

    Raises:
        MemoryCoreError: The file cannot be used.
    """
    with closing(Items(config, access="ro")) as items:
        found, total = items.list(limit=MOST_ITEMS), items.count()
        gone = items.get_many({item.superseded_by for item in found if item.superseded_by})
    corrected = {item.id: item.content for item in gone}
    return {
        "enabled": config.search.items.enabled, "total": total,
        "items": [{**_shape_item(item), "correctedBy": corrected.get(item.superseded_by or "")} for item in found],
    }  # fmt: skip


def list_activity(config: AgentConfig, entries: list[Activity]) -> dict[str, Any]:
    """Return entries of the activity log, the latest first, with the items that they name as far as those still stand."""
    ids = {place for entry in entries for place in entry.places if not _is_note(place)}
    with closing(Items(config, access="ro")) as items:
        standing = {item.id: item.content for item in items.get_many(ids)} if ids else {}
    return {
        "enabled": config.search.activity.enabled,
        "activity": [
            {
                "at": entry.at * 1000, "action": entry.action, "by": entry.by, "session": entry.session,
                "count": entry.count, "outcome": entry.outcome,
                "places": [_shape_place(place, standing) for place in entry.places],
            }
            for entry in entries
        ],
    }  # fmt: skip


def _shape_place(place: str, standing: dict[str, str]) -> dict[str, Any]:
    if _is_note(place):
        path, _, line = place.rpartition("#L")
        return {"place": place, "path": path or place, "line": int(line) if path and line.isdigit() else 0}
    return {"place": place, "text": standing.get(place)}


def _is_note(place: str) -> bool:
    """Return True for a note's path or citation, False for the id of an item."""
    return "." in place or "/" in place or "#" in place


def _shape_item(item: Item) -> dict[str, Any]:
    return {
        "id": item.id, "text": item.content, "scope": item.scope, "tags": list(item.tags), "kind": item.kind,
        "agent": item.agent, "session": item.session, "speaker": item.speaker, "reinforced": item.reinforced,
        "pending": item.pending, "created": item.created * 1000, "said": item.said * 1000,
        "recalled": item.recalled and item.recalled * 1000,
    }  # fmt: skip
