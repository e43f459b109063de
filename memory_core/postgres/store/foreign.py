"""Rows of other tenants, whose writers may put anything into them: what of it a search can use."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from memory_core.embeddings.token_blobs import END_OF_UNIT
from memory_core.records import Unit

_MARK = END_OF_UNIT.to_bytes(2, "little")


def has_valid_units(units: Sequence[Unit], text: str) -> bool:
    """Return True if a chunk has units, all lie in its text, and their lines count up from 0."""
    return bool(units) and all(
        0 <= unit.start <= unit.end <= len(text) and 0 <= unit.first_line <= unit.last_line for unit in units
    )


def has_valid_tokens(tokens: bytes, units: int) -> bool:
    """Return True if token ids are packed as those of so many units are."""
    marks = [tokens[at : at + 2] == _MARK for at in range(0, len(tokens), 2)]
    return len(tokens) % 2 == 0 and sum(marks) == units and marks[-1]


def read_day(day: str | None) -> str | None:
    """Return an ISO date; None for none, and for what is no date."""
    try:
        return None if day is None else date.fromisoformat(day).isoformat()
    except ValueError:
        return None
