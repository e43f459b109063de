"""Change one entry in the text of a TOML or YAML document by whole lines; all other lines stay as they are. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence


def put_table(text: str, keys: Sequence[str], value: Mapping[str, object]) -> str:
    """Return TOML with a table of scalars and lists, in the place of the one that is there, or else at the end."""
    lines = [f"[{'.'.join(keys)}]", *(f"{key} = {json.dumps(each, ensure_ascii=False)}" for key, each in value.items())]
    written = "\n".join(lines) + "\n"
    found = _find_table(text, keys)
    if found:
        return text[: found[0]] + written + text[found[1] :]
    if not text:
        return written
    return text + ("" if text.endswith("\n") else "\n") + "\n" + written


def take_table(text: str, keys: Sequence[str]) -> str:
    """Return TOML without a table; KeyError if there is none that is written with a header of its own."""
    found = _find_table(text, keys)
    if found is None:
        raise KeyError(".".join(keys))
    start, end = found
    if text[:start].endswith("\n\n") and not text[end:].strip():
        start -= 1
    return text[:start] + text[end:]


def _find_table(text: str, keys: Sequence[str]) -> tuple[int, int] | None:
    """Return where a table begins and where its last entry ends; comments behind it belong to what follows."""
    name = r"\s*\.\s*".join(rf"(?:{re.escape(key)}|\"{re.escape(key)}\"|'{re.escape(key)}')" for key in keys)
    header = re.search(rf"^[ \t]*\[[ \t]*{name}[ \t]*\][^\n]*(?:\n|\Z)", text, re.MULTILINE)
    if header is None:
        return None
    end = header.end()
    following = re.search(r"^[ \t]*\[", text[end:], re.MULTILINE)
    body = text[end : end + following.start()] if following else text[end:]
    for line in body.splitlines(keepends=True)[::-1]:
        if line.strip() and not line.lstrip().startswith("#"):
            break
        body = body[: -len(line)]
    return header.start(), end + len(body)


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
