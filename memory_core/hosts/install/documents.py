"""One entry in a configuration file of another program: JSON with or without comments, TOML or YAML. Pure.

A document is changed as text, so that comments and order stay, and then read again: a change that is not exactly the one that was
wanted is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from memory_core.config.documents import parse_json5, parse_toml
from memory_core.hosts.install import json_text, lines

Document = Mapping[str, Any]

# All other suffixes are JSON.
_PUTTERS: Mapping[str, Callable[..., str]] = {".toml": lines.put_table, ".yaml": lines.put_scalar}
_TAKERS: Mapping[str, Callable[..., str]] = {".toml": lines.take_table, ".yaml": lines.take_scalar}
_REFUSAL = "is written in a way in which only its owner can change it"


class NotEditable(ValueError):
    """A document cannot be changed without a risk; the message says why."""


def read_document(text: str, suffix: str) -> dict[str, Any]:
    """Read a document; {} for an empty one.

    Raises:
        NotEditable: It is not written as the suffix says.
    """
    document, problem = _parse(text, suffix) if text.strip() else ({}, "")
    if problem:
        # Raised outside any handler: the parsers' own errors carry the values of the document, keys included.
        raise NotEditable(f"cannot be read: {problem}")
    if not isinstance(document, dict):
        raise NotEditable("is no mapping of keys")
    return document


def _parse(text: str, suffix: str) -> tuple[Any, str]:
    """Return what a text says, and "", or None and what is wrong, which quotes no values."""
    if suffix == ".yaml":
        return _parse_yaml(text)
    return parse_toml(text) if suffix == ".toml" else parse_json5(text)


def _parse_yaml(text: str) -> tuple[Any, str]:
    import yaml

    try:
        return yaml.safe_load(text) or {}, ""
    except yaml.MarkedYAMLError as error:
        line = f"line {error.problem_mark.line + 1}: " if error.problem_mark else ""
        return None, f"{line}{error.problem or 'is not YAML'}"
    except (yaml.YAMLError, ValueError, RecursionError):  # a character, a date or a depth that YAML does not have
        return None, "is not YAML"


def find_entry(document: Document, keys: Sequence[str]) -> Any:
    """Return the value at a path; None if there is none."""
    value: Any = document
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def put_entry(text: str, suffix: str, keys: Sequence[str], value: Any) -> str:
    """Return the text with a value at a path.

    Raises:
        NotEditable: It is not possible.
    """
    wanted = read_document(text, suffix)
    place = wanted
    for key in keys[:-1]:
        place = place.setdefault(key, {})
        if not isinstance(place, dict):
            raise NotEditable(f"{key} is no mapping of keys")
    place[keys[-1]] = value
    change = _PUTTERS.get(suffix, json_text.put_entry)
    return _check(lambda: change(text, keys, value), suffix, wanted)


def take_entry(text: str, suffix: str, keys: Sequence[str]) -> str:
    """Return the text without the entry at a path, and without mappings on the way that it leaves empty.

    Raises:
        NotEditable: It is not possible.
    """
    wanted = read_document(text, suffix)
    _remove(wanted, keys)
    change = _TAKERS.get(suffix, json_text.take_entry)
    return _check(lambda: change(text, keys), suffix, wanted)


def _remove(document: dict[str, Any], keys: Sequence[str]) -> None:
    if len(keys) > 1:
        _remove(document[keys[0]], keys[1:])
        if document[keys[0]]:
            return
    del document[keys[0]]


def _check(change: Callable[[], str], suffix: str, wanted: Document) -> str:
    """Return a changed text if it says exactly what is wanted."""
    try:
        changed = change()
        if read_document(changed, suffix) == wanted:
            return changed
    except (KeyError, ValueError) as error:
        raise NotEditable(_REFUSAL) from error
    raise NotEditable(_REFUSAL)
