"""Rows of other tenants, whose writers may put anything into them: what of it a search can use."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from memory_core.records import Unit


def has_valid_units(units: Sequence[Unit], text: str) -> bool:
    """Return True if a chunk has units, all lie in its text, and their lines count up from 0."""
    return bool(units) and all(
        0 <= unit.start <= unit.end <= len(text) and 0 <= unit.first_line <= unit.last_line for unit in units
    )


def read_day(day: str | None) -> str | None:
    """Return an ISO date; None for none, and for what is no date."""
    try:
        return None if day is None else date.fromisoformat(day).isoformat()
    except ValueError:
        return None
