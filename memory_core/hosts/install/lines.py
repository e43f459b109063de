"""Change one entry in the text of a TOML or YAML document by whole lines; all other lines stay as they are. Pure."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple


class _Table(NamedTuple):
    """The place of a table's lines, and the key of ours that it belongs to; "" for the table itself."""

    start: int
    end: int
    key: str


def put_table(text: str, keys: Sequence[str], value: Mapping[str, object]) -> str:
    """Return TOML with a table, in the place of the one that is there, or else at the end.

    Lines and tables within it that say what is wanted already stay as they are, and so do comments.
    """
    present: Any = tomllib.loads(text)
    for key in keys:
        present = present.get(key) if isinstance(present, dict) else None
    same = {"", *(key for key, each in value.items() if isinstance(present, dict) and present.get(key) == each)}
    text = _cut(text, [table for table in _find_tables(text, keys) if table.key not in same])
    tables = _find_tables(text, keys)
    apart = {table.key for table in tables}
    wanted = {key: each for key, each in value.items() if key not in apart}
    for table in tables:
        if not table.key:
            header, _, body = text[table.start : table.end].partition("\n")
            return f"{text[: table.start]}{header}\n{_put_entries(body, wanted)}{text[table.end :]}"
    written = f"[{'.'.join(keys)}]\n{_put_entries('', wanted)}"
    if not text:
        return written
    return text + ("" if text.endswith("\n") else "\n") + "\n" + written


def take_table(text: str, keys: Sequence[str]) -> str:
    """Return TOML without a table and those within it; KeyError if there is none that is written with a header."""
    tables = _find_tables(text, keys)
    if not tables:
        raise KeyError(".".join(keys))
    return _cut(text, tables)


def _cut(text: str, tables: Sequence[_Table]) -> str:
    for table in reversed(tables):
        is_behind_a_gap = text[: table.start].endswith("\n\n") and not text[table.end :].strip()
        text = text[: table.start - is_behind_a_gap] + text[table.end :]
    return text


def _find_tables(text: str, keys: Sequence[str]) -> list[_Table]:
    """Return a table and those within it; comments behind the last entry of each belong to what follows."""
    name = r"[ \t]*\.[ \t]*".join(rf"(?:{re.escape(key)}|\"{re.escape(key)}\"|'{re.escape(key)}')" for key in keys)
    inner = r"\.[ \t]*(?P<key>\"[^\"\n]*\"|'[^'\n]*'|[\w-]+)[^\n]*"
    headers = re.compile(rf"^[ \t]*\[\[?[ \t]*{name}[ \t]*(?:\][^\n]*|{inner})(?:\n|\Z)", re.MULTILINE)
    tables = []
    for header in headers.finditer(text):
        end = header.end()
        following = re.search(r"^[ \t]*\[", text[end:], re.MULTILINE)
        body = text[end : end + following.start()] if following else text[end:]
        for line in body.splitlines(keepends=True)[::-1]:
            if line.strip() and not line.lstrip().startswith("#"):
                break
            body = body[: -len(line)]
        tables.append(_Table(header.start(), end + len(body), (header["key"] or "").strip("\"'")))
    return tables


def _put_entries(body: str, wanted: Mapping[str, object]) -> str:
    """Return the lines below a header with these entries and no others; what is not written anew stays."""
    present = tomllib.loads(body)
    missing = dict(wanted)
    kept = []
    for statement in _split_statements(body):
        key = next(iter(tomllib.loads(statement)), None)
        if key is None or (key in wanted and present[key] == wanted[key]):
            kept.append(statement)
        elif key in missing:
            indent = statement[: len(statement) - len(statement.lstrip())]
            kept.append(f"{indent}{_write_key(key)} = {_write(wanted[key])}{_find_comment(statement)}\n")
        missing.pop(key or "", None)
    if kept and not kept[-1].endswith("\n"):
        kept.append("\n")
    return "".join([*kept, *(f"{_write_key(key)} = {_write(each)}\n" for key, each in missing.items())])


def _split_statements(body: str) -> list[str]:
    """Cut lines into entries, which may have several lines each, and lines without one."""
    statements, begun = [], ""
    for line in body.splitlines(keepends=True):
        begun += line
        try:
            tomllib.loads(begun)
        except ValueError:
            continue
        statements.append(begun)
        begun = ""
    return statements


def _find_comment(statement: str) -> str:
    """Return the comment behind an entry, with the space before it; "" if there is none."""
    said = tomllib.loads(statement)
    for mark in re.finditer(r"[ \t]*#", statement):
        try:
            if tomllib.loads(statement[: mark.start()]) == said:
                return statement[mark.start() :].rstrip("\n")
        except ValueError:
            continue
    return ""


def _write(value: object) -> str:
    """Return a value as TOML in one line; ValueError for dates, which no entry of a server has."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_write_key(key)} = {_write(each)}" for key, each in value.items()) + " }"
    if isinstance(value, list):
        return f"[{', '.join(map(_write, value))}]"
    if not isinstance(value, str | int | float):
        raise ValueError(f"{type(value).__name__} is not written here")  # noqa: TRY004 -- the value is the document's
    return json.dumps(value, ensure_ascii=False)


def _write_key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else json.dumps(key, ensure_ascii=False)


def put_scalar(text: str, keys: Sequence[str], value: str) -> str:
    """Return YAML with a text at a path of two keys; KeyError if the outer mapping is not written in block style."""
    outer, inner = keys
    opening = re.search(rf"^{re.escape(outer)}:[ \t]*(?:#[^\n]*)?(?:\n|\Z)", text, re.MULTILINE)
    if opening is None and re.search(rf"^[\"']?{re.escape(outer)}[\"']?[ \t]*:", text, re.MULTILINE):
        raise KeyError(outer)
    if opening is None:
        return text + ("\n" if text and not text.endswith("\n") else "") + f"{outer}:\n  {inner}: {value}\n"
    found = _find_scalar(text, opening.end(), inner)
    if found:
        return text[: found.start("value")] + value + text[found.end("value") :]
    indent = re.match(r"(?:[ \t]*(?:#[^\n]*)?\n)*([ ]+)\S", text[opening.end() :])
    head, rest = text[: opening.end()].rstrip("\n"), text[opening.end() :]
    return f"{head}\n{indent[1] if indent else '  '}{inner}: {value}\n{rest}"


def take_scalar(text: str, keys: Sequence[str]) -> str:
    """Return YAML without the line of an entry, nor that of a mapping it leaves empty; KeyError if there is none."""
    outer, inner = keys
    opening = re.search(rf"^{re.escape(outer)}:[ \t]*(?:#[^\n]*)?\n", text, re.MULTILINE)
    found = _find_scalar(text, opening.end(), inner) if opening else None
    if opening is None or found is None:
        raise KeyError(".".join(keys))
    rest = text[opening.end() : found.start()] + text[found.end() :]
    if re.match(r"(?:[ \t]*(?:#[^\n]*)?\n)*[ ]", rest):
        return text[: opening.end()] + rest
    return text[: opening.start()] + rest


def _find_scalar(text: str, start: int, key: str) -> re.Match[str] | None:
    """Return the line of a key in the block that begins at a place."""
    block = re.compile(r"(?:[ ]+[^\n]*(?:\n|\Z)|[ \t]*(?:#[^\n]*)?\n)*").match(text, start)
    line = re.compile(rf"^[ ]+{re.escape(key)}:[ \t]*(?P<value>[^\s#]*)[^\n]*(?:\n|\Z)", re.MULTILINE)
    return line.search(text, start, start if block is None else block.end())
