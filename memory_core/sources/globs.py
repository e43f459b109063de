"""Globs of the configuration -> regular expressions; pure."""

from __future__ import annotations

import re
from functools import lru_cache

_PARTS = {"**/": "(?:[^/]+/)*", "**": ".*", "*": "[^/]*", "?": "[^/]", "{": "(?:", "}": ")"}


@lru_cache(maxsize=64)
def compile_glob(pattern: str) -> re.Pattern[str] | None:
    """Compile a glob: `**/` matches any folders or none, `*` and `?` stay in one name, and `{a,b}` matches either.

    Returns:
        A pattern for a relative path, to be used with `match`; None for the default, which all Markdown matches.

    Raises:
        re.error: The pattern is no glob.
    """
    if pattern == "**/*.md":
        return None
    out = ""
    braces = 0
    for part in re.findall(r"\*\*/|\*\*|\[!?[^]]+\]|.", pattern.removeprefix("./"), re.DOTALL):
        braces += (part == "{") - (part == "}" and braces > 0)
        if part == "," and braces:
            out += "|"
        elif part.startswith("[") and len(part) > 1:
            out += "[^/" + part[2:] if part.startswith("[!") else part
        else:
            out += _PARTS.get(part, re.escape(part))
    return re.compile(out + r"\Z")
