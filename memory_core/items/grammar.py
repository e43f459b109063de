"""Patterns and words of what people write, from grammars.toml, which tells how its lines are read. Pure."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from memory_core.text.tables import join_lines

# What a user has pasted into a message, told from the user's own words.
FENCED = re.compile(r"(?P<fence>`{3,}|~{3,}|\"{3}).*?(?:(?P=fence)|\Z)", re.DOTALL)
PASTED_LINE = re.compile(join_lines("pasted line"))
# A command about a text that follows: the text is no question.
PAYLOAD = re.compile(join_lines("payload"), re.IGNORECASE)


@cache
def _load() -> Mapping[str, Any]:
    return tomllib.loads(Path(__file__).with_name("grammars.toml").read_text(encoding="utf-8"))


@cache
def compile_pattern(section: str, name: str, kind: str | None = None) -> re.Pattern[str]:
    """Return the pattern of a name, or of a kind of fact, in a section: a language, or what all languages have together."""
    grammar = _load()[section]
    pieces = {**_load()["messages"]["pieces"], **grammar.get("pieces", {})}

    def fill(lines: str) -> str:
        patterns = "|".join(re.split(r"\n(?! )", lines.strip("\n")))
        return re.sub("<([A-Z]+)>", lambda found: f"(?:{fill(pieces[found[1]])})", patterns)

    filled = fill(grammar[name] if kind is None else grammar[name][kind])
    joined = re.sub(r"\n +", "", re.sub(r"(?<=\w)\n +(?=\w)", " ", filled))
    return re.compile(joined.replace("[A-Z]", "(?-i:[A-Z])"), re.IGNORECASE)


def list_kinds(language: str) -> Mapping[str, str]:
    """Return the kinds of facts of a language, the surest first, with their patterns."""
    kinds: Mapping[str, str] = _load()[language]["kinds"]
    return kinds


@cache
def read_rows(section: str, name: str) -> list[list[str]]:
    """Return the words of each line of a list."""
    return [row.split() for row in _load()[section][name].strip().splitlines()]


@cache
def read_words(section: str, name: str) -> Mapping[str, int]:
    """Return the words of a list, each with the number of its line."""
    return {word: number for number, row in enumerate(read_rows(section, name)) for word in row}
