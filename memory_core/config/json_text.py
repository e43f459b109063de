"""Change one entry in the text of a JSON document, with comments or without; all other characters stay as they are.

Pure. What is read is JSON5, of which JSON and JSON with comments are parts. What is written is JSON.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from memory_core.config.documents import parse_json5

_GAP = re.compile(r"(?:\s|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING = re.compile(r"\"(?:\\.|[^\"\\])*+\"|'(?:\\.|[^'\\])*+'", re.DOTALL)
_BARE = re.compile(r"[^\s,:\[\]{}\"'/]+")
_REST_OF_LINE = re.compile(r"[ \t]*+(?://[^\n]*|/\*[^\n]*?\*/[ \t]*+)?(?=\n|$)")


@dataclass(slots=True)
class _Value:
    """A value's place in the text; `members` only of an object."""

    start: int
    end: int = 0
    members: list[_Member] | None = None


@dataclass(slots=True)
class _Member:
    """A member of an object: its key, where that begins, its value, and the comma behind it."""

    key: str
    start: int
    value: _Value
    comma: int | None = field(default=None)


def put_entry(text: str, keys: Sequence[str], value: object) -> str:
    """Return the text with a value at a path of keys; objects on the way are made where they are missing.

    Where an object is replaced by another, only the members that differ are written, so that comments on the others stay.

    Raises:
        ValueError: The text is no JSON, or something on the way is no object.
    """
    if not text.strip():
        text = "{}\n"
    place = _parse(text)
    for depth, key in enumerate(keys):
        if place.members is None:
            raise ValueError(f"{'.'.join(keys[:depth]) or 'the document'} is no object")
        member = next((member for member in place.members if member.key == key), None)
        if member is None:
            nested = value
            for inner in reversed(keys[depth + 1 :]):
                nested = {inner: nested}
            return _add_member(text, place, key, nested)
        place = member.value
    if place.members and isinstance(value, Mapping) and value:
        for key, inner in value.items():
            text = put_entry(text, [*keys, key], inner)
        for member in place.members:
            if member.key not in value:
                text = take_entry(text, [*keys, member.key])
        return text
    if parse_json5(text[place.start : place.end]) == (value, ""):
        return text
    return text[: place.start] + _write(value, _indent_at(text, place.start), _step(text)) + text[place.end :]


def take_entry(text: str, keys: Sequence[str]) -> str:
    """Return the text without the entry at a path, and without objects on the way that it leaves empty.

    Raises:
        ValueError: The text is no JSON.
        KeyError: There is no such entry.
    """
    way: list[tuple[_Value, _Member]] = []
    place = _parse(text)
    for key in keys:
        member = next((member for member in place.members or () if member.key == key), None)
        if member is None:
            raise KeyError(".".join(keys))
        way.append((place, member))
        place = member.value
    while len(way) > 1 and len(way[-1][0].members or ()) == 1:
        way.pop()
    return _cut_member(text, *way[-1])


def _add_member(text: str, place: _Value, key: str, value: object) -> str:
    members = place.members or []
    outer = _indent_at(text, place.start)
    step = _step(text)
    inner = _indent_at(text, members[0].start) if members else outer + step
    written = f"{json.dumps(key, ensure_ascii=False)}: {_write(value, inner, step)}"
    if not members:
        rest = text[place.start + 1 : place.end - 1]
        closing = rest if rest.strip() else f"\n{outer}"
        return f"{text[: place.start + 1]}\n{inner}{written}{closing}{text[place.end - 1 :]}"
    last = members[-1]
    comma = "" if last.comma is None else ","
    after = last.value.end if last.comma is None else last.comma + 1
    behind = _REST_OF_LINE.match(text, after)
    line_end = after if behind is None else behind.end()
    between = text[after if comma else last.value.end : line_end]  # a comment on the last member
    return f"{text[: last.value.end]},{between}\n{inner}{written}{comma}{text[line_end:]}"


def _cut_member(text: str, place: _Value, member: _Member) -> str:
    members = place.members or []
    number = members.index(member)
    end = member.value.end if member.comma is None else member.comma + 1
    start = member.start
    line = text.rfind("\n", 0, start)
    if line >= 0 and not text[line:start].strip():
        start = line
    if member.comma is None and number:
        before = members[number - 1]
        comma = before.comma if before.comma is not None else before.value.end
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


def _parse(text: str) -> _Value:
    value = _parse_value(text, _skip(text, 0))
    if _skip(text, value.end) != len(text):
        raise ValueError(f"there is more behind the document, in line {text.count(chr(10), 0, value.end) + 1}")
    return value


def _skip(text: str, position: int) -> int:
    """Return the place behind white space and comments."""
    gap = _GAP.match(text, position)
    return position if gap is None else gap.end()


def _parse_value(text: str, start: int) -> _Value:
    opening = text[start : start + 1]
    if opening == "{":
        return _parse_object(text, start)
    if opening == "[":
        position = _skip(text, start + 1)
        while text[position : position + 1] != "]":
            position = _skip(text, _parse_value(text, position).end)
            if text[position : position + 1] == ",":
                position = _skip(text, position + 1)
        return _Value(start, position + 1)
    scalar = _STRING.match(text, start) or _BARE.match(text, start)
    if scalar is None:
        raise ValueError(f"a value is missing in line {text.count(chr(10), 0, start) + 1}")
    return _Value(start, scalar.end())


def _parse_object(text: str, start: int) -> _Value:
    members: list[_Member] = []
    position = _skip(text, start + 1)
    while text[position : position + 1] != "}":
        named = _STRING.match(text, position) or _BARE.match(text, position)
        colon = position if named is None else _skip(text, named.end())
        if named is None or text[colon : colon + 1] != ":":
            raise ValueError(f"a key is missing in line {text.count(chr(10), 0, position) + 1}")
        member = _Member(_read_key(named[0]), position, _parse_value(text, _skip(text, colon + 1)))
        members.append(member)
        position = _skip(text, member.value.end)
        if text[position : position + 1] == ",":
            member.comma = position
            position = _skip(text, position + 1)
    return _Value(start, position + 1, members)


def _read_key(written: str) -> str:
    if written.startswith('"'):
        return str(json.loads(written))
    return written[1:-1] if written.startswith("'") else written
