"""Records as JSON, and the names of their attributes as documents spell them. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any


@cache
def to_camel(name: str) -> str:
    """Return an attribute's name as documents spell it: `watch_debounce_ms` becomes `watchDebounceMs`."""
    head, *rest = name.split("_")
    return head + "".join(word.capitalize() for word in rest)


def to_json(value: Any, *, brief: bool = False) -> Any:
    """Return a value for JSON: records become objects with camelCase keys, paths become text.

    Args:
        value: A record, or any value of them.
        brief: Leave out what is None or False in a record, where that is the default.

    >>> to_json({"folder": Path("notes"), "days": (1, 2)})
    {'folder': 'notes', 'days': [1, 2]}
    """
    if value is None or isinstance(value, str | int | float):
        return value
    if is_dataclass(value) and not isinstance(value, type):
        pairs = [(each, getattr(value, each.name)) for each in fields(value)]
        return {
            to_camel(each.name): to_json(item, brief=brief)
            for each, item in pairs
            if not (brief and item is each.default and (item is None or item is False))
        }
    if isinstance(value, Mapping):
        return {str(key): to_json(item, brief=brief) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_json(item, brief=brief) for item in value]
    return str(value) if isinstance(value, Path) else value
