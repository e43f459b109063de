"""Lone surrogates: halves of a character that JSON and Python's strings can hold, and UTF-8 cannot. Pure."""

from __future__ import annotations


def replace_surrogates(text: str) -> str:
    """Return a text in which every lone surrogate is U+FFFD, and two that belong together are their character.

    No store, no tokenizer, no endpoint and no protocol takes them. Of a text without any, nothing is copied.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
