"""Tables of words and patterns beside the code, such as phrases.txt: sections in brackets, and in them lines "name: text"."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path


@cache
def read_table(path: Path) -> Mapping[str, Mapping[str, str]]:
    """Return the texts of a table by section and name.

    A text goes on in the lines below it that are indented by two spaces; other lines that begin with "#" are comments.
    """
    table: dict[str, dict[str, str]] = {}
    entries: dict[str, str] = {}
    name = ""
    for line in path.read_text(encoding="utf-8").split("\n"):
        if line.startswith("["):
            entries = table.setdefault(line[1:-1], {})
        elif line.startswith("  "):
            entries[name] = f"{entries[name]}\n{line[2:]}".lstrip("\n")
        elif line and not line.startswith("#"):
            name, _, text = line.partition(":")
            entries[name] = text.strip()
    return table


PHRASES = read_table(Path(__file__).with_name("phrases.txt"))


@cache
def join_lines(name: str) -> str:
    """Return the regular expressions that stand under a name for all languages, as one; <NAME> stands for those of that name."""
    joined = PHRASES["all"][name].replace("\n", "|")
    return re.sub("<([a-z ]+)>", lambda found: f"(?:{join_lines(found[1])})", joined)
