"""Lines of a note as it stood, compared with the note as it stands now. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher

from memory_core.records import Now
from memory_core.text.succession import is_edit

MOST_LINES = 5_000  # of a note that is aligned line by line


def find_now(past: Sequence[str], now: Sequence[str] | None, first: int, last: int, *, max_chars: int) -> Now:
    """Return what became of the lines from `first` to `last`, included, of a note.

    Args:
        past: The lines of the note as it stood.
        now: Those of the note as it stands; None if there is none.
        first: From 1.
        last: Included.
        max_chars: The most characters of the text that stands there now.
    """
    if now is None:
        return Now(status="gone")
    block = list(past[first - 1 : last])
    size = len(block)
    places = [at for at in range(len(now) - size + 1) if now[at : at + size] == block]
    if places:
        nearest = min(places, key=lambda at: abs(at - (first - 1)))
        return Now(status="unchanged", start_line=nearest + 1, end_line=nearest + size)
    if len(past) + len(now) > MOST_LINES:
        return Now(status="changed")
    begin, end = _align(past, now, first - 1, last)
    lines = now[begin:end]
    if not any(line.strip() for line in lines):
        return Now(status="gone")
    text = "\n".join(lines)
    return Now(status="changed", start_line=begin + 1, end_line=end, text=text[:max_chars])


def find_edit(past: Sequence[str], now: Sequence[str], first: int, last: int) -> tuple[int, int] | None:
    """Return the first line among some of a note that was edited, and the line that it became, both from 1.

    Args:
        past: The lines of the note as it stood.
        now: Those of the note as it stands.
        first: From 1.
        last: Included.

    Returns:
        None if no line was edited, or too much was changed around it to tell.
    """
    if len(past) + len(now) > MOST_LINES:
        return None
    for kind, i1, i2, j1, j2 in SequenceMatcher(None, past, now, autojunk=False).get_opcodes():
        if kind != "replace":
            continue
        taken: set[int] = set()
        for old in range(i1, i2):
            new = next(
                (place for place in range(j1, j2) if place not in taken and is_edit(past[old], now[place])), None
            )
            if new is None:
                continue
            taken.add(new)
            if first - 1 <= old < last:
                return old + 1, new + 1
    return None


def _align(past: Sequence[str], now: Sequence[str], begin: int, end: int) -> tuple[int, int]:
    """Return the lines of `now` that stand in the place of those of `past`; begin from 0, end not included."""
    found: list[int] = []
    for kind, i1, i2, j1, j2 in SequenceMatcher(None, past, now, autojunk=False).get_opcodes():
        low, high = max(i1, begin), min(i2, end)
        if low < high and kind == "equal":
            found += [j1 + low - i1, j1 + high - i1]
        elif low < high and kind == "replace":
            found += [j1, j2]
    return (min(found), max(found)) if found else (0, 0)
