"""The forms of a fact in which it is looked for and compared. Pure."""

from __future__ import annotations

import hashlib
import unicodedata
from dataclasses import dataclass

from memory_core.items.records import Draft
from memory_core.text.terms import cut_cjk


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemText:
    """The forms of an item's text in which it is looked for; see the columns of the same names."""

    terms: str
    folded: str
    hash: bytes
    text_hash: bytes


def index_text(draft: Draft) -> ItemText:
    """Return what is looked for in a fact: two that differ in case, white space or the last full stop alone are equal."""
    searched = " ".join([draft.content, *draft.tags])
    return ItemText(
        terms=cut_cjk(searched),
        folded=searched.casefold(),
        hash=_digest(fold(draft.content)),
        text_hash=_digest(draft.content),
    )


def fold(content: str) -> str:
    """Return the words of a fact, which are the same for equal facts."""
    return " ".join(unicodedata.normalize("NFC", content).casefold().split()).rstrip(".!。！ ")


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=16).digest()
