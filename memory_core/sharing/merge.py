"""Merge two versions of a note, or of a folder of notes, that were made from one. Pure; no result holds a conflict mark.

Of two versions of a note:

1. An atom of the base stays unless one side deleted it; an edit beats a deletion, and of two different edits both stand.
2. A new atom stands once, if both sides have it under one heading.
3. New and moved atoms follow what they followed: children, then blocks, by their time of day where all have one, then sections.
4. A deleted heading or item under which the other side has written returns; nothing else does.
"""

from __future__ import annotations

import heapq
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from itertools import chain, pairwise
from typing import NamedTuple

from memory_core.sharing.atoms import Atom, Key, Side, align, split
from memory_core.text.markdown import leave_out_html_comments

MOST_COMPARED = 4_000_000  # pairs of lines of two blocks; longer ones both stand
_TIME = re.compile(r"\A\s*+(?:[-*+]|\d{1,9}[.)])?\s*+\W{0,2}([01]?\d|2[0-3])[:.h]([0-5]\d)\b")


class Conflict(NamedTuple):
    """A part that both sides changed; both versions stand in the merged note.

    Attributes:
        base, first, second: Its lines as they were, and as each side has them.
    """

    base: str
    first: str
    second: str


class Merged(NamedTuple):
    """A merged note, and what it holds twice since both sides changed it."""

    text: str
    conflicts: tuple[Conflict, ...] = ()


def merge(base: str, first: str, second: str) -> str:
    """Return the note that `merge_notes` makes."""
    return merge_notes(base, first, second).text


def merge_notes(
    base: str,
    first: str,
    second: str,
    *,
    drop: tuple[Collection[str], Collection[str]] = ((), ()),
    moved: Collection[str] = (),
) -> Merged:
    """Merge two versions of a note.

    Args:
        base: The note that both were made from; "" if there is none.
        first: Its text goes first where both have written at one place: that of the remote, so that all machines agree.
        second: The other version.
        drop: By side, texts of its new atoms, without indentation, that are left out: it has moved them here from a note where
            the other side has deleted them, or has moved them, too.
        moved: Texts of atoms that one side moved to another note: no heading among them returns.
    """
    if not any(drop) and second in (first, base):
        return Merged(first)
    if not any(drop) and first == base:
        return Merged(second)
    atoms = split(base)
    sides = align(atoms, split(first)), align(atoms, split(second))
    for side, texts in zip(sides, drop, strict=True):
        side.dropped.update(own for own, atom in enumerate(side.atoms) if texts and atom.text.strip() in texts)
    merged = _Merge(atoms, sides, moved)
    if not merged.run():  # both sides' moves depend on each other in a circle
        merged = _Merge(atoms, sides, moved, ignores_moves=True)
        merged.run()
    return Merged(_join(merged.out, sides), tuple(merged.conflicts))


@dataclass(slots=True)
class _Merge:
    """One merge.

    Attributes:
        base: The atoms of the base.
        sides: The first and the second version.
        moved: See `merge_notes`.
        ignores_moves: What the second side has moved stays where it was.
        out: The merged atoms.
        kept: By the number of a base atom, what stands in its place.
        done: Base atoms that are placed.
        shown: Keys of new atoms that are placed.
    """

    base: Sequence[Atom]
    sides: tuple[Side, Side]
    moved: Collection[str]
    ignores_moves: bool = False
    out: list[Atom] = field(default_factory=list)
    conflicts: list[Conflict] = field(default_factory=list)
    kept: list[list[Atom]] = field(default_factory=list)
    done: set[int] = field(default_factory=set)
    shown: set[Key] = field(default_factory=set)

    def run(self) -> bool:
        """Merge; return False if some atoms have no place, since what they follow has none."""
        one, two = self.sides
        back = _find_returning(self.base, one, two) | _find_returning(self.base, two, one)
        self.kept = [self._decide(number, number in back) for number in range(len(self.base))]
        self._put_near(-1)
        self._put_sections(-1)
        for number, kept in enumerate(self.kept):
            if not kept or self._find_mover(number) is None:
                self._place(number)
            self._put_sections(number)
        missing = [number for number in range(len(self.base)) if number not in self.done]
        for number in missing if self.ignores_moves else ():
            self._place(number)
        return not missing

    def _decide(self, number: int, returns: bool) -> list[Atom]:
        """Return what stands in the place of a base atom."""
        atom = self.base[number]
        edited = [(side, side.edited[number]) for side in self.sides if number in side.edited]
        edits = [side.atoms[own] for side, own in edited if own not in side.dropped]
        if len(edits) == 2 and edits[0].text != edits[1].text:
            if atom.kind == "block":
                block, conflicts = _merge_block(atom, *edits)
                self.conflicts += conflicts
                return [block]
            self.conflicts.append(Conflict(atom.raw, edits[0].raw, edits[1].raw))
            return edits
        if edits:
            return edits[:1]
        stands = [side.atoms[side.of[number]] for side in self.sides if number in side.of]
        if len(stands) == 2:  # spaces at ends of lines, and blank lines, are those of the side that has changed them
            return stands[1:] if (stands[0].raw, stands[0].blanks) == (atom.raw, atom.blanks) else stands[:1]
        return [atom] if returns and atom.text.strip() not in self.moved else []

    def _find_mover(self, number: int) -> Side | None:
        sides = self.sides[: 1 if self.ignores_moves else 2]
        return next((side for side in sides if number in side.of and side.of[number] not in side.stable), None)

    def _place(self, number: int) -> None:
        """Put what stands in the place of a base atom, and what both sides have written behind it."""
        if number in self.done:
            return
        self.done.add(number)
        is_edited = any(number in side.edited for side in self.sides)
        for atom in self.kept[number]:
            if is_edited and atom.key in self.shown:  # the other side has the same as a new atom
                continue
            if is_edited:
                self.shown.add(atom.key)
            self.out.append(atom)
        self._put_near(number)

    def _put_near(self, number: int) -> None:
        for side in self.sides:
            self._show(side, side.children[number])
        for side, own in _order(self.sides, [side.blocks[number] for side in self.sides]):
            self._show(side, [own])

    def _put_sections(self, number: int) -> None:
        """Put new sections, which stay where they were written even if the atom above them was moved."""
        one, two = self.sides
        first, second = ([*side.sections[number]] for side in self.sides)
        for section in first:
            self._show(one, section[:1])
            rest = [section[1:], []]
            for other in [each for each in second if two.atoms[each[0]].key == one.atoms[section[0]].key]:
                rest[1] += other[1:]
                second.remove(other)
            for side, own in _order(self.sides, rest):
                self._show(side, [own])
        for section in second:
            self._show(two, section)

    def _show(self, side: Side, numbers: Iterable[int]) -> None:
        for own in numbers:
            atom = side.atoms[own]
            if own in side.same:  # moved here
                if self._find_mover(side.same[own]) is side:
                    self._place(side.same[own])
            elif atom.key not in self.shown and own not in side.dropped:
                self.shown.add(atom.key)
                self.out.append(atom)


def _find_returning(base: Sequence[Atom], writer: Side, deleter: Side) -> set[int]:
    """Find the headings and items that one side deleted with all that was in them, while the other has written into them."""
    alive = deleter.of.keys() | deleter.edited.keys()
    inhabited = {parent for number in alive for parent in _list_parents(base, number)}
    found: set[int] = set()
    for own in range(len(writer.atoms)):
        edit = writer.edits.get(own)
        if (own in writer.same and edit is None) or edit in alive:
            continue
        origins = (writer.same.get(parent) for parent in _list_parents(writer.atoms, own))
        found.update(each for each in origins if each is not None and each not in alive and each not in inhabited)
    return found


def _list_parents(atoms: Sequence[Atom], number: int) -> Iterator[int]:
    parent = atoms[number].parent
    while parent is not None:
        yield parent
        parent = atoms[parent].parent


def _order(sides: tuple[Side, Side], numbers: Sequence[Sequence[int]]) -> Iterator[tuple[Side, int]]:
    """Yield the blocks of both sides: the first side's first, or by their time of day where every block begins with one."""
    blocks: tuple[list[tuple[int | None, Side, list[int]]], ...] = ([], [])
    for own_blocks, side, own_numbers in zip(blocks, sides, numbers, strict=True):
        for own in own_numbers:
            if side.atoms[own].attached and own_blocks:
                own_blocks[-1][2].append(own)
            else:
                time = _TIME.match(side.atoms[own].raw)
                own_blocks.append((int(time[1]) * 60 + int(time[2]) if time else None, side, [own]))
    has_times = all(minutes is not None for own_blocks in blocks for minutes, _, _ in own_blocks)
    ordered = heapq.merge(*blocks, key=lambda block: block[0] or 0) if has_times else chain(*blocks)
    return ((side, own) for _, side, block in ordered for own in block)


class _Change(NamedTuple):
    """The lines of a block from `start` to before `end`, from 0, and those that one side has put in their place."""

    start: int
    end: int
    run: list[str]

    def meets(self, other: _Change) -> bool:
        """Return True if both have written in one place, and neither has only written on what the other has."""
        is_near = self.start == other.start or (self.start < other.end and other.start < self.end)
        return is_near and bool(self.run and other.run) and (self.start != other.start or not self.joins(other))

    def joins(self, other: _Change) -> bool:
        """Return True if the longer run begins with the shorter one."""
        common = min(len(self.run), len(other.run))
        return self.run[:common] == other.run[:common]


def _merge_block(base: Atom, first: Atom, second: Atom) -> tuple[Atom, list[Conflict]]:
    """Merge a block line by line; where both sides have written in one place, all lines of both stand, and are told."""
    lines, *others = (atom.raw.split("\n") for atom in (base, first, second))
    if len(lines) * max(map(len, others)) > MOST_COMPARED:
        return replace(first, raw=f"{first.raw}\n\n{second.raw}"), [Conflict(base.raw, first.raw, second.raw)]
    one, two = (
        [
            _Change(start, end, other[j1:j2])
            for tag, start, end, j1, j2 in SequenceMatcher(None, lines, other, autojunk=False).get_opcodes()
            if tag != "equal"
        ]
        for other in others
    )
    conflicts = [
        Conflict("\n".join(lines[min(a.start, b.start) : max(a.end, b.end)]), "\n".join(a.run), "\n".join(b.run))
        for a in one
        for b in two
        if a.meets(b)
    ]
    gone = {number for each in (*one, *two) for number in range(each.start, each.end)}
    places = [{each.start: each for each in side} for side in (one, two)]
    out: list[str] = []
    for number in range(len(lines) + 1):
        mine, theirs = (side.get(number, _Change(number, number, [])) for side in places)
        longer = mine.run if len(mine.run) > len(theirs.run) else theirs.run
        out += longer if mine.joins(theirs) else [*mine.run, *theirs.run]
        out += lines[number : number + 1] if number not in gone else []
    return replace(first, raw="\n".join(out)), conflicts


def _join(atoms: Sequence[Atom], sides: tuple[Side, Side]) -> str:
    """Return the text of atoms, with blank lines as they were, or as Markdown needs them between two that never met."""
    neighbours = {(id(a), id(b)) for side in sides for a, b in pairwise(side.atoms)}
    list_heads = {id(b) for side in sides for a, b in pairwise(side.atoms) if b.kind == "item" != a.kind}
    lines: list[str] = []
    for last, atom in pairwise([None, *atoms]):
        assert atom is not None
        blanks = atom.blanks if last else 0
        if last and (id(last), id(atom)) not in neighbours and not atom.attached:
            if atom.kind == last.kind == "item":
                blanks = 0 if id(atom) in list_heads else blanks
            elif atom.kind != "item" or last.kind == "heading" or (last.kind == "text" and not last.attached):
                blanks = max(blanks, 1)
        lines += [""] * blanks
        lines.append(atom.raw)
    return "\n".join([*lines, ""])


# ---- Folders: renamed notes, lines that moved from one note to another, then each note.


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
        lines = {path: list_long(read(side[path]).split("\n")) for path in new} if is_near and gone else {}
        for path in [each for each in gone if each not in found]:
            mine = list_long(read(base[path]).split("\n")) if lines else set()
            for name in [each for each in new if each not in found.values()]:
                if side[name] == base[path] or (mine and 2 * len(mine & lines.get(name, set())) >= len(mine)):
                    found[path] = name
                    break
    return found


def list_own(text: str) -> set[str]:
    """Return the lines that tell a note from others: no headings or comments, and short ones only where all are."""
    told = leave_out_html_comments(text).split("\n")
    lines = {line.strip() for line in told if line.strip() and not line.startswith("#")}
    return list_long(lines) or lines


def list_long(lines: Iterable[str]) -> set[str]:
    """Return the lines that are long enough to tell where they come from."""
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
