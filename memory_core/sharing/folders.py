"""Merge two versions of a folder of notes: renamed notes, lines that moved from one note to another, then each note. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from memory_core.sharing.atoms import split
from memory_core.sharing.merge import Conflict, merge, merge_notes

Tree = Mapping[str, str]  # the hash of a note's text by its path
Read = Callable[[str], str]  # returns the text of a hash

SHORT_CHARS = 8  # lines that are not longer, such as "- yes", say nothing about where they come from


class _Versions(NamedTuple):
    """The hashes of one note: of the base, the first and the second side; None where it is not there."""

    base: str | None
    first: str | None
    second: str | None


def merge_folders(
    base: Tree, first: Tree, second: Tree, read: Read
) -> tuple[dict[str, str | None], list[tuple[str, Conflict]]]:
    """Merge two versions of a folder.

    Returns:
        The text of each note whose versions differ, None where it is gone; and the paths of conflicts with them.
    """
    renamed = find_renamed(base, first, read), find_renamed(base, second, read)
    notes = _collect(base, first, second, renamed)
    dropped, moved = _find_moved(notes, read)
    merged: dict[str, str | None] = {}
    conflicts: list[tuple[str, Conflict]] = []
    for path, versions in notes.items():
        text: str | None = None
        for each in sorted(versions, key=lambda one: one.base is None):
            if each.base is not None and {each.first, each.second} <= {each.base, None} and None in each:
                continue  # deleted on one side, and unchanged on the other
            texts = (read(blob) if blob else "" for blob in each)
            result = merge_notes(*texts, drop=(dropped[0][path], dropped[1][path]), moved=moved)
            conflicts += [(path, conflict) for conflict in result.conflicts]
            if each.base is None or result.text or None not in each:
                text = result.text if text is None else merge("", text, result.text)
        merged[path] = text
    for path in first.keys() | second.keys():
        if first.get(path) != second.get(path):
            merged.setdefault(path, None)
    return merged, conflicts


def _collect(
    base: Tree, first: Tree, second: Tree, renamed: tuple[Mapping[str, str], Mapping[str, str]]
) -> dict[str, list[_Versions]]:
    """Return the versions to merge under each path: several where a note was renamed to one that is there."""
    notes: dict[str, list[_Versions]] = defaultdict(list)
    used: tuple[set[str], set[str]] = (set(), set())
    for path, blob in base.items():
        names = [names.get(path, path) for names in renamed]
        found = _Versions(blob, first.get(names[0]), second.get(names[1]))
        for name, taken in zip(names, used, strict=True):
            taken.add(name)
        if names != [path, path] or not found.base == found.first == found.second:
            notes[names[0] if names[0] != path else names[1]].append(found)
    for path in sorted(first.keys() | second.keys()):
        one, two = (
            side.get(path) if path not in taken else None for side, taken in zip((first, second), used, strict=True)
        )
        if one != two:
            notes[path].append(_Versions(None, one, two))
    return notes


def find_renamed(base: Tree, side: Tree, read: Read) -> dict[str, str]:
    """Find the notes that one side gave another name: with the same text, or with half of its lines."""
    gone, new = sorted(base.keys() - side.keys()), sorted(side.keys() - base.keys())
    found: dict[str, str] = {}
    for is_near in (False, True):
        lines = {path: _list_long(read(side[path]).split("\n")) for path in new} if is_near and gone else {}
        for path in [each for each in gone if each not in found]:
            mine = _list_long(read(base[path]).split("\n")) if lines else set()
            for name in [each for each in new if each not in found.values()]:
                if side[name] == base[path] or (mine and 2 * len(mine & lines.get(name, set())) >= len(mine)):
                    found[path] = name
                    break
    return found


def _list_long(lines: Iterable[str]) -> set[str]:
    return {line.strip() for line in lines if len(line.strip()) > SHORT_CHARS}


def _find_moved(
    notes: Mapping[str, Iterable[_Versions]], read: Read
) -> tuple[tuple[Mapping[str, set[str]], Mapping[str, set[str]]], set[str]]:
    """Find the atoms that stand in one note of the base and in another one of a side.

    Returns:
        For each side those that are not to stand where it has moved them to, by the path, because the other side has deleted,
        changed or moved them; and all that were moved.
    """
    places: tuple[dict[str, list[str]], ...] = tuple(defaultdict(list) for _ in range(3))
    for path, versions in notes.items():
        for each in versions:
            for place, blob in zip(places, each, strict=True):
                for atom in split(read(blob)) if blob else ():
                    if len(text := atom.text.strip()) > SHORT_CHARS:
                        place[text].append(path)
    dropped: tuple[dict[str, set[str]], dict[str, set[str]]] = (defaultdict(set), defaultdict(set))
    moved = set()
    for text, at in places[0].items():
        ends = [place.get(text, []) for place in places[1:]]
        left = [number for number, end in enumerate(ends) if end and at[0] not in end]
        if len(at) != 1 or not left:
            continue
        moved.add(text)
        loser = int(ends[0] <= ends[1]) if len(left) == 2 else left[0]
        if (len(left) == 2 or not all(ends)) and max(map(len, ends)) == 1:
            dropped[loser][ends[loser][0]].add(text)
    return dropped, moved
