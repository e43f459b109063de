"""Change one entry in the text of a configuration file: JSON with or without comments, TOML or YAML. Pure.

Comments and order stay. All else in JSON and TOML stays letter by letter; in YAML, spaces within lines may change. A changed text
is read again, and refused unless it says exactly what is wanted.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import partial
from io import StringIO
from typing import Any

from memory_core.config.documents import parse_json5, parse_toml

log = logging.getLogger(__name__)

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


def place_setting(document: MutableMapping[str, Any], keys: Sequence[str]) -> tuple[str, ...]:
    """Return the path of a setting in a document of any spelling: where it stands, else where settings like it stand.

    Args:
        document: A configuration of ours or of OpenClaw's family.
        keys: The path of the setting, such as memorySearch.extraPaths.
    """
    if keys[0] != "memorySearch":
        return tuple(keys)
    sections = [("memorySearch",), ("memory", "search"), ("agents", "defaults", "memorySearch")]
    places = [place for place in sections if find_entry(document, place) is not None]
    usual = sections[-1 if "agents" in document else 0]
    named = (place for place in places if find_entry(document, (*place, *keys[1:])) is not None)
    return (*next(named, [*places, usual][0]), *keys[1:])


def put_entry(text: str, suffix: str, keys: Sequence[str], value: Any) -> str:
    """Return the text with a value at a path.

    Raises:
        NotEditable: It is not possible.
    """
    return _change(text, suffix, partial(_put, keys=keys, value=value))


def take_entry(text: str, suffix: str, keys: Sequence[str]) -> str:
    """Return the text without the entry at a path, and without mappings on the way that it leaves empty.

    Raises:
        NotEditable: It is not possible.
    """
    return _change(text, suffix, partial(_take, keys=keys))


def _parse(text: str, suffix: str) -> tuple[Any, str]:
    """Return what a text says, and "", or None and what is wrong, which quotes no values."""
    if suffix != ".yaml":
        return parse_toml(text) if suffix == ".toml" else parse_json5(text)
    import yaml

    try:
        return yaml.safe_load(text) or {}, ""
    except yaml.MarkedYAMLError as error:
        line = f"line {error.problem_mark.line + 1}: " if error.problem_mark else ""
        return None, f"{line}{error.problem or 'is not YAML'}"
    except (yaml.YAMLError, ValueError, RecursionError):  # a character, a date or a depth that YAML does not have
        return None, "is not YAML"


def _change(text: str, suffix: str, edit: _Edit) -> str:
    """Return the text of a document as `edit` changes that in place."""
    present, wanted = read_document(text, suffix), read_document(text, suffix)
    edit(wanted)
    try:
        if suffix == ".toml":
            changed = _edit_toml(_end_line(text), edit)
            if parse_toml(changed)[0] != wanted:  # a table that tomlkit puts between dotted keys takes up those below
                changed = f"{_end_line(text)}\n{_edit_toml('', edit)}"
        elif suffix == ".yaml":
            changed = _edit_yaml(_end_line(text), edit)
        else:
            changed = _edit_json(text if text.strip() else "{}\n", (), present, wanted)
    except Exception as error:  # noqa: BLE001 - whatever the libraries raise, the text cannot be changed
        log.debug("the text cannot be changed: %s", type(error).__name__)  # its message may quote a key
        changed = None
    if changed is None or read_document(changed, suffix) != wanted:
        raise NotEditable(_REFUSAL)  # outside any handler, as above
    return changed


def _edit_toml(text: str, edit: _Edit) -> str:
    import tomlkit

    document = tomlkit.parse(text)
    edit(document)
    return _settle_comments(text, tomlkit.dumps(document))


def _edit_yaml(text: str, edit: _Edit) -> str:
    from ruamel.yaml import YAML

    yaml = YAML()
    yaml.preserve_quotes, yaml.width = True, len(text) + 4096
    if inner := re.search(r"^( +)[^\s#-]", text, re.MULTILINE):
        yaml.indent(mapping=len(inner[1]))
    if listed := re.search(r"^( *)[^\s#-][^\n]*:\n( *)- ", text, re.MULTILINE):
        offset = len(listed[2]) - len(listed[1])
        yaml.indent(sequence=offset + 2, offset=offset)
    written = StringIO()
    loaded = yaml.load(text)
    document = {} if loaded is None else loaded
    edit(document)
    yaml.dump(document, written)
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


# JSON, of which no library keeps comments and white space: what is read is JSON5, and what is written is JSON.

_GAP = re.compile(r"(?:\s|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING = re.compile(r"\"(?:\\.|[^\"\\])*+\"|'(?:\\.|[^'\\])*+'", re.DOTALL)
_BARE = re.compile(r"[^\s,:\[\]{}\"'/]+")
_REST_OF_LINE = re.compile(r"[ \t]*+(?://[^\n]*|/\*[^\n]*?\*/[ \t]*+)?(?=\n|$)")


@dataclass(slots=True)
class _Span:
    """The span of a value in the text.

    Attributes:
        start, end: Of the value.
        members: Of an object or a list, the places of its values.
        key, key_start: Of a member of an object: its key, and where that begins.
        comma: Where the comma behind the value is; None without one.
    """

    start: int
    end: int
    members: list[_Span] = field(default_factory=list)
    key: str = ""
    key_start: int = 0
    comma: int | None = None


def _edit_json(text: str, keys: Sequence[str], present: Any, wanted: Any) -> str:
    """Return the text with another value at a path; of an object only members that differ are written, so that comments stay."""
    is_emptied = keys and not wanted  # as a whole: the comments of its members go with them
    if is_emptied or not (isinstance(present, dict) and isinstance(wanted, dict)):
        place = _find_place(text, keys)
        return text[: place.start] + _write(wanted, _indent_at(text, place.start), _step(text)) + text[place.end :]
    for key, value in wanted.items():
        if key not in present:
            text = _add_member(text, _find_place(text, keys), key, value)
        elif present[key] != value:
            text = _edit_json(text, [*keys, key], present[key], value)
    for key in present:
        if key not in wanted:
            text = _cut_member(text, _find_place(text, keys), key)
    return text


def _find_place(text: str, keys: Sequence[str]) -> _Span:
    place = _locate(text, 0)
    for key in keys:
        place = next(member for member in place.members if member.key == key)
    return place


def _add_member(text: str, place: _Span, key: str, value: object) -> str:
    outer = _indent_at(text, place.start)
    step = _step(text)
    inner = _indent_at(text, place.members[0].key_start) if place.members else outer + step
    written = f"{json.dumps(key, ensure_ascii=False)}: {_write(value, inner, step)}"
    if not place.members:
        rest = text[place.start + 1 : place.end - 1]
        closing = rest if rest.strip() else f"\n{outer}"
        comma = "," if rest.strip() else ""  # a comment may name settings to be uncommented
        return f"{text[: place.start + 1]}\n{inner}{written}{comma}{closing}{text[place.end - 1 :]}"
    last = place.members[-1]
    comma = "" if last.comma is None else ","
    after = last.end if last.comma is None else last.comma + 1
    behind = _REST_OF_LINE.match(text, after)
    line_end = after if behind is None else behind.end()
    between = text[after:line_end]  # a comment on the last member
    return f"{text[: last.end]},{between}\n{inner}{written}{comma}{text[line_end:]}"


def _cut_member(text: str, place: _Span, key: str) -> str:
    members = place.members
    number = [each.key for each in members].index(key)
    member = members[number]
    end = member.end if member.comma is None else member.comma + 1
    start = member.key_start
    line = text.rfind("\n", 0, start)
    if line >= 0 and not text[line:start].strip():
        start = line
    if member.comma is None and number:
        before = members[number - 1]
        comma = before.comma if before.comma is not None else before.end
        return text[:comma] + text[comma + 1 : start] + text[end:]
    if len(members) == 1 and not text[end : place.end - 1].strip():
        end = place.end - 1
    return text[:start] + text[end:]


def _write(value: object, indent: str, step: str) -> str:
    """Return a value as JSON over several lines; lists stand in one line."""
    if not isinstance(value, Mapping) or not value:
        return json.dumps(value, ensure_ascii=False)
    lines = [
        f"{indent}{step}{json.dumps(key, ensure_ascii=False)}: {_write(inner, indent + step, step)}"
        for key, inner in value.items()
    ]
    return "{\n" + ",\n".join(lines) + f"\n{indent}}}"


def _indent_at(text: str, position: int) -> str:
    """Return the white space at the beginning of a position's line."""
    line = text[text.rfind("\n", 0, position) + 1 : position]
    return line[: len(line) - len(line.lstrip())]


def _step(text: str) -> str:
    found = re.search(r"\n([ \t]+)\S", text)
    return found[1] if found else "  "


def _locate(text: str, start: int) -> _Span:
    """Return the place of the value that begins at a position, or behind white space and comments there."""
    start = _skip(text, start)
    opening = text[start : start + 1]
    if opening not in ("{", "["):
        return _Span(start, start + len(_read_word(text, start)))
    places: list[_Span] = []
    position = _skip(text, start + 1)
    while text[position : position + 1] not in ("}", "]"):
        if opening == "[":
            place = _locate(text, position)
        else:
            name = _read_word(text, position)
            place = _locate(text, _skip(text, position + len(name)) + 1)  # behind the colon
            place.key, place.key_start = parse_json5(name)[0] if name[0] in "\"'" else name, position
        places.append(place)
        position = _skip(text, place.end)
        if text[position : position + 1] == ",":
            place.comma = position
            position = _skip(text, position + 1)
    return _Span(start, position + 1, places)


def _read_word(text: str, start: int) -> str:
    """Return the string, number, name or key that begins at a position."""
    found = _STRING.match(text, start) or _BARE.match(text, start)
    if found is None:
        raise ValueError("a key or a value is missing")
    return found[0]


def _skip(text: str, position: int) -> int:
    """Return the place behind white space and comments."""
    gap = _GAP.match(text, position)
    return position if gap is None else gap.end()
