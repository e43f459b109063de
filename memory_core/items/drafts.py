"""Checks of facts before they are written, and the tags that a correction takes over. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from memory_core.errors import InvalidArgument
from memory_core.items.records import DEFAULT_SCOPE, Draft, Item
from memory_core.sources.redaction import redact

MAX_CHARS = 2000  # of a fact: what is longer is a note
MAX_TAGS, MAX_TAG_CHARS = 16, 64
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")


def check_draft(draft: Draft) -> Draft:
    """Return a fact on one line, without control characters.

    Raises:
        InvalidArgument: It is empty, too long, or holds a secret.
    """
    content = " ".join(_CONTROL.sub(" ", draft.content.encode("utf-8", "replace").decode()).split())
    if not content:
        raise InvalidArgument("content", "is empty")
    if len(content) > MAX_CHARS:
        raise InvalidArgument(
            "content", f"is {len(content):,} characters long, {MAX_CHARS:,} are allowed", action="write a note instead"
        )
    tags = tuple(dict.fromkeys(" ".join(tag.split()) for tag in draft.tags))
    if len(tags) > MAX_TAGS or not all(0 < len(tag) <= MAX_TAG_CHARS for tag in tags):
        raise InvalidArgument("tags", f"expected at most {MAX_TAGS} words of at most {MAX_TAG_CHARS} characters")
    if any(redact(text) != text for text in (content, *tags)):
        raise InvalidArgument("content", "holds what looks like a secret", action="keep secrets elsewhere")
    if not draft.scope.strip():
        raise InvalidArgument("scope", "is empty", action=f"leave it out for {DEFAULT_SCOPE!r}")
    return replace(draft, content=content, tags=tags)


def take_over_tags(draft: Draft, corrected: Iterable[Item]) -> Draft:
    """Return a fact with its own tags first, then those of the items that it corrects, as many as an item may have."""
    tags = dict.fromkeys([*draft.tags, *(tag for item in corrected for tag in item.tags)])
    return replace(draft, tags=tuple(tags)[:MAX_TAGS])
