"""Change one entry in the text of a configuration file: JSON with or without comments, TOML or YAML. Pure.

Comments and order stay. All else in JSON and TOML stays letter by letter; in YAML, spaces within lines may change. A changed text
is read again, and refused unless it says exactly what is wanted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, MutableMapping, Sequence
from contextlib import suppress
from difflib import SequenceMatcher
from functools import partial
from io import StringIO
from typing import Any

from memory_core.config import json_text
from memory_core.config.documents import parse_json5, parse_toml

_Edit = Callable[[MutableMapping[str, Any]], None]

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


def find_entry(document: MutableMapping[str, Any], keys: Sequence[str]) -> Any:
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
    return _change(
        text, suffix, partial(_put, keys=keys, value=value), partial(json_text.put_entry, keys=keys, value=value)
    )


def take_entry(text: str, suffix: str, keys: Sequence[str]) -> str:
    """Return the text without the entry at a path, and without mappings on the way that it leaves empty.

    Raises:
        NotEditable: It is not possible.
    """
    return _change(text, suffix, partial(_take, keys=keys), partial(json_text.take_entry, keys=keys))


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


def _change(text: str, suffix: str, edit: _Edit, edit_json: Callable[[str], str]) -> str:
    """Return the text as one of the two edits leaves it: `edit` changes a document in place, `edit_json` a text."""
    wanted = read_document(text, suffix)
    edit(wanted)
    changed = None
    if suffix == ".toml":
        changed = _edit_toml(text, edit)
    elif suffix == ".yaml":
        changed = _edit_yaml(text, edit)
    else:
        with suppress(KeyError, ValueError):
            changed = edit_json(text)
    if changed is None or read_document(changed, suffix) != wanted:
        raise NotEditable(_REFUSAL)  # outside any handler, as above
    return changed


def _edit_toml(text: str, edit: _Edit) -> str | None:
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    text = _end_line(text)
    try:
        document = tomlkit.parse(text)
        edit(document)
        return _settle_comments(text, tomlkit.dumps(document))
    except (TOMLKitError, KeyError, ValueError, RecursionError):
        return None


def _edit_yaml(text: str, edit: _Edit) -> str | None:
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    text = _end_line(text)
    yaml = YAML()
    yaml.preserve_quotes, yaml.width = True, len(text) + 4096
    if inner := re.search(r"^( +)[^\s#-]", text, re.MULTILINE):
        yaml.indent(mapping=len(inner[1]))
    if listed := re.search(r"^( *)[^\s#-][^\n]*:\n( *)- ", text, re.MULTILINE):
        offset = len(listed[2]) - len(listed[1])
        yaml.indent(sequence=offset + 2, offset=offset)
    written = StringIO()
    try:
        loaded = yaml.load(text)
        document = {} if loaded is None else loaded
        edit(document)
        yaml.dump(document, written)
    except (YAMLError, KeyError, ValueError, RecursionError):
        return None
    if loaded is None:
        return text + written.getvalue()  # ruamel.yaml forgets comments beside which nothing stands
    return _settle_comments(text, written.getvalue() if document else written.getvalue().removesuffix("{}\n"))


def _end_line(text: str) -> str:
    return text + "\n" if text and not text.endswith("\n") else text


def _put(document: MutableMapping[str, Any], keys: Sequence[str], value: Any) -> None:
    """Put a value at a path; a mapping that is there keeps the entries that it should have."""
    first, *others = keys
    present = document.get(first)
    if present is None:
        for key in reversed(others):
            value = {key: value}
        document[first] = value
    elif others:
        if not isinstance(present, dict):
            raise NotEditable(f"{first} is no mapping of keys")
        _put(present, others, value)
    elif isinstance(present, dict) and isinstance(value, dict):
        for key in [key for key in present if key not in value]:
            del present[key]
        for key, each in value.items():
            if key not in present or present[key] != each:
                present[key] = each
    else:
        document[first] = value


def _take(document: MutableMapping[str, Any], keys: Sequence[str]) -> None:
    first, *others = keys
    if others:
        _take(document[first], others)
        if document[first]:
            return
    del document[first]


def _settle_comments(text: str, changed: str) -> str:
    """Return a changed text with the comments above a section where they were.

    The libraries count them to the section before: what is added there comes behind them, and what is taken out takes them along.
    """
    before, after = text.splitlines(keepends=True), changed.splitlines(keepends=True)
    lines: list[str] = []
    for kind, start, end, first, last in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        added = after[first:last]
        if kind == "delete":
            taken, added = _cut_tail(before[start:end])
            while taken and added and not added[0].strip() and not (lines and lines[-1].strip()):
                added.pop(0)
        elif kind == "insert" and last < len(after):
            is_section = any(line.lstrip().startswith("[") for line in added)
            lines, tail = (lines, ["\n"]) if is_section else _cut_tail(lines)
            added += tail
        lines += added
    while len(after) < len(before) and lines and not lines[-1].strip():
        lines.pop()  # the blank line that stood above what was the last section
    return "".join(lines)


def _cut_tail(lines: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return lines in two parts: up to the last that is neither blank nor a comment, and behind it."""
    number = len(lines)
    while number and lines[number - 1].strip()[:1] in ("", "#"):
        number -= 1
    return list(lines[:number]), list(lines[number:])
