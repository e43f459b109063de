"""Items as lines of JSON: read back, and merged with those of another machine. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace

from memory_core.items.records import Item, parse_item
from memory_core.items.store.rows import fold
from memory_core.records import to_json


def write_items(items: Iterable[Item]) -> str:
    """Return items as they are synced: a line each, in the order of their ids, without when they were recalled here."""
    ordered = sorted(items, key=lambda item: item.id)
    return "".join(f"{json.dumps(to_json(replace(item, recalled=None)), ensure_ascii=False)}\n" for item in ordered)


def read_items(text: str) -> dict[str, Item]:
    """Return the items of `write_items`, by id."""
    items = (parse_item(json.loads(line)) for line in text.split("\n") if line)
    return {item.id: item for item in items}


def merge_items(base: str, first: str, second: str) -> str:
    """Merge the items of two machines.

    An item that one side has deleted is gone. Of two changes the later one counts, and of a fact that both have learned the item
    that is older. Clocks decide only where both sides have changed one item.
    """
    old, *sides = (read_items(text) for text in (base, first, second))
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
    return write_items(
        replace(item, superseded_by=replaced.get(item.superseded_by or "", item.superseded_by))
        for item in facts.values()
    )
