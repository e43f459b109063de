"""Hits for people: on a terminal wrapped to its width, with what matched highlighted; elsewhere plain, one line for one line."""

from __future__ import annotations

import os
import re
import shutil
import sys
import textwrap
from collections.abc import Mapping
from typing import Any

INDENT = "    "
MOST_COLUMNS = 100  # longer lines are hard to read, however wide the window is
LEAST_COLUMNS = 30
MATCH, PLACE, RESET = "\x1b[1;33m", "\x1b[1m", "\x1b[0m"
_MARK = re.compile(r"[-*+] +|\d{1,9}[.)] +|> ?")


def format_hit(hit: Mapping[str, Any], query: str, *, columns: int | None = None, colours: bool = False) -> str:
    """Return a hit as text: its place and score, and its snippet, indented.

    Args:
        hit: As memory_search returns it.
        query: The question, whose words are highlighted.
        columns: Of the terminal, to which lines are wrapped; None wraps none.
        colours: Highlight place and words.
    """
    place = f"{hit['path']}:L{hit['startLine']}-L{hit['endLine']}"
    lines = [line.rstrip() for line in hit["snippet"].splitlines()]
    if columns is not None:
        lines = [part for line in lines for part in wrap_line(line, columns - len(INDENT))]
    if colours:
        lines = [_highlight(line, query) for line in lines]
        place = f"{PLACE}{place}{RESET}"
    return "\n".join([f"{place}  {hit['score']:.2f}", *(f"{INDENT}{line}".rstrip() for line in lines)])


def find_columns() -> int | None:
    """Return the columns to which text for a terminal is wrapped; None if standard output is no terminal."""
    if not sys.stdout.isatty():
        return None
    return max(min(shutil.get_terminal_size().columns, MOST_COLUMNS), LEAST_COLUMNS)


def shows_colours() -> bool:
    """Return True on a terminal that shows colours, unless NO_COLOR is set (https://no-color.org)."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def wrap_line(line: str, columns: int) -> list[str]:
    """Cut one line into lines of at most so many columns; further lines of a list item stand under its text.

    A word that is longer, such as a URL, is left whole, so that it can be copied.
    """
    body = line.lstrip()
    indent = line[: len(line) - len(body)]
    mark = _MARK.match(body)
    hanging = indent + " " * (len(mark[0]) if mark else 0)
    if len(line) <= columns or len(hanging) > columns // 2:
        return [line]
    return textwrap.wrap(
        body, columns, initial_indent=indent, subsequent_indent=hanging, break_long_words=False, break_on_hyphens=False
    )


def _highlight(line: str, query: str) -> str:
    from memory_core.text.languages import STOP_WORDS
    from memory_core.text.terms import detect_language

    stop_words = STOP_WORDS[detect_language(query) or "en"]
    words = {word.lower() for word in re.findall(r"\w[\w-]*", query)} - stop_words
    stems = sorted({_cut(word) for word in words if len(word) > 1 or not word.isascii()}, key=len, reverse=True)
    if not stems:
        return line
    pattern = "|".join(rf"\b{re.escape(stem)}\w*" if stem.isascii() else re.escape(stem) for stem in stems)
    return re.sub(pattern, lambda match: f"{MATCH}{match[0]}{RESET}", line, flags=re.IGNORECASE)


def _cut(word: str) -> str:
    """Return a word without a common ending, so that "lessons" marks "lesson", too."""
    for ending in ("ing", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            return word.removesuffix(ending)
    return word
