"""Hits whose lines were replaced by a line of a later note: the same key under the same heading, with another value."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date
from typing import NamedTuple

from memory_core.records import Hit, Successor
from memory_core.sources.notes import find_note_date
from memory_core.text.succession import find_headings, find_key, find_keyed, list_possible_keys

MOST_NOTES = 3  # that hold a key: one that stands in more of them begins the entries of a log

LoadLines = Callable[[str], Sequence[str] | None]


class _Keyed(NamedTuple):
    """A line of a hit that has a key, and its note's date."""

    date: str
    hit: int
    line: int
    value: str
    text: str


def mark_superseded(hits: Sequence[Hit], load_lines: LoadLines, today: date) -> list[Hit]:
    """Return hits, those that another hit replaces with `superseded_by`.

    Only hits of one answer are compared, since lines with the same key and heading answer the same questions; only dated notes
    are, since others do not say which is newer.

    Args:
        hits: Of the notes as they stand.
        load_lines: Returns the lines of a note; None if it cannot be read.
        today: Notes of later days replace nothing yet.
    """
    marked = list(hits)
    for key, numbers in _find_shared_keys(hits).items():
        groups: defaultdict[tuple[str, ...], list[_Keyed]] = defaultdict(list)
        for number in numbers:
            lines = load_lines(hits[number].path)
            if lines is not None:
                _add_line(groups, lines, key, hits[number], number)
        for keyed in groups.values():
            standing = sorted(each for each in keyed if each.date <= today.isoformat())
            if not standing:
                continue
            *older, newest = standing
            if {each.value for each in older if each.date == newest.date} - {newest.value}:
                continue
            for each in older:
                if each.date < newest.date and each.value != newest.value:
                    path = hits[newest.hit].path
                    successor = Successor(path, newest.line, newest.text.strip(), newest.date)
                    marked[each.hit] = replace(marked[each.hit], superseded_by=successor)
    return marked


def _find_shared_keys(hits: Sequence[Hit]) -> dict[str, list[int]]:
    """Return the keys that stand in hits of several notes, but not of many, with those hits."""
    held: defaultdict[str, dict[int, str]] = defaultdict(dict)
    for number, hit in enumerate(hits):
        if hit.source != "sessions":
            for key, line in list_possible_keys(hit.snippet):
                held[key][number] = line
    shared = {}
    for key, lines in held.items():
        if len(lines) > 1 and 1 < len({hits[number].path for number in lines}) <= MOST_NOTES:
            judged = [number for number, line in lines.items() if (found := find_key(line)) and found[0] == key]
            if len(judged) > 1:
                shared[key] = judged
    return shared


def _add_line(
    groups: defaultdict[tuple[str, ...], list[_Keyed]], lines: Sequence[str], key: str, hit: Hit, number: int
) -> None:
    """Add the line of a hit that has a key, by its headings, unless its note has the key there more than once."""
    noted = find_note_date(hit.path, "\n".join(lines))
    if noted is None:
        return
    for line in range(hit.start_line, min(hit.end_line, len(lines)) + 1):
        found = find_key(lines[line - 1])
        if found is not None and found[0] == key:
            headings = find_headings(lines, line)
            if headings and find_keyed(lines, key, headings) == [line]:
                groups[headings].append(_Keyed(noted, number, line, found[1], lines[line - 1]))
