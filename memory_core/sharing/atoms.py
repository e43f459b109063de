"""A note as a list of atoms, and where those of a changed note stood in the note that it was made from. Pure.

An atom is a line of a heading, a list item or a paragraph, or a whole fence, comment or front matter.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal

from memory_core.text.markdown import (
    BLANK,
    CLOSE,
    CODE,
    HEADING,
    ITEM,
    OPEN,
    TEXT,
    Line,
    find_front_matter,
    find_unclosed_fence,
    parse_heading,
    scan,
)
from memory_core.text.matching import find_longest_run

Kind = Literal["heading", "item", "text", "block"]
Key = tuple[str, str, int]

BOM = "\ufeff"
MOST_UNCLOSED = 8  # fences without an end that are read as text; a further one lasts to the end of the note
MOST_PAIRED, MOST_AHEAD = 400, 64  # replaced atoms that are compared in one gap, and how far ahead each of them looks
_WORD = re.compile(r"\w+")


@dataclass(eq=False, slots=True)
class Atom:
    """A part of a note that is kept, moved, changed or deleted as a whole.

    Attributes:
        raw: Its lines.
        kind: "block" is a fence, a comment or front matter.
        blanks: The number of blank lines before it.
        attached: It belongs to what stands before it: a child of an item, or the next line of a paragraph.
        level: Of a heading; else its indentation.
        text: Its lines without spaces at their ends.
        key: The heading above it, its text, and how many of these stand there before it.
        parent: The number of its heading, or of the item whose child it is; None at the top.
    """

    raw: str
    kind: Kind
    blanks: int
    attached: bool
    level: int
    text: str
    key: Key = ("", "", 0)
    parent: int | None = None


def split(text: str) -> list[Atom]:
    """Return the atoms of a note."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    kinds = _scan(lines)
    last_mark = max((at for at, line in enumerate(lines) if "-->" in line), default=-1)
    atoms: list[Atom] = []
    at = blanks = 0
    while at < len(lines):
        if kinds[at] is BLANK:
            blanks, at = blanks + 1, at + 1
            continue
        end = _find_end(lines, kinds, at, last_mark)
        kind: Kind = "block" if end > at + 1 else "text"
        kind = {HEADING: "heading", ITEM: "item"}.get(kinds[at], kind)  # type: ignore[assignment]
        indent = len(lines[at]) - len(lines[at].lstrip())
        begins = kind != "text" or blanks > 0 or not atoms or atoms[-1].kind in ("heading", "block")
        heading = parse_heading(lines[at]) if kind == "heading" else None
        attached = heading is None and bool(atoms) and (indent > 0 or not begins)
        raw = lines[at] if end == at + 1 else "\n".join(lines[at:end])
        plain = "\n".join(map(str.rstrip, lines[at:end])).removeprefix(BOM)
        atoms.append(Atom(raw, kind, blanks, attached, heading[0] if heading else indent, plain))
        at, blanks = end, 0
    _name(atoms)
    return atoms


def _scan(lines: Sequence[str]) -> list[Line]:
    """Return the kinds of lines; a fence that is never closed is text, so that what follows it is no part of it."""
    kinds = scan(lines)
    for _ in range(MOST_UNCLOSED):
        opened = find_unclosed_fence(kinds)
        if opened is None:
            break
        kinds = [*kinds[:opened], TEXT, *scan(lines[opened + 1 :])]
    return kinds


def _find_end(lines: Sequence[str], kinds: Sequence[Line], at: int, last_mark: int) -> int:
    """Return the line behind the front matter, fence or comment that begins at one; else the next line.

    Args:
        lines: Of the note.
        kinds: Of the lines.
        at: The line.
        last_mark: The last line that holds the end of a comment.
    """
    if at == 0 and (length := find_front_matter([lines[0].removeprefix(BOM), *lines[1:]])):
        return length
    if kinds[at] is OPEN:
        end = next((end for end in range(at + 1, len(lines)) if kinds[end] is not CODE), len(lines))
        return end + (kinds[end : end + 1] == [CLOSE])
    if at < last_mark and lines[at].lstrip().startswith("<!--") and "-->" not in lines[at]:
        return next(end + 1 for end in range(at, len(lines)) if "-->" in lines[end])
    return at + 1


def _name(atoms: Sequence[Atom]) -> None:
    """Give atoms their parents and keys."""
    headings: list[int] = []
    items: list[int] = []
    seen: dict[tuple[str, str], int] = {}
    for number, atom in enumerate(atoms):
        if atom.kind == "heading":
            while headings and atoms[headings[-1]].level >= atom.level:
                headings.pop()
            items = []
        elif not atom.attached and atom.kind != "item":
            items = []
        while items and atoms[items[-1]].level >= atom.level:
            items.pop()
        atom.parent = items[-1] if items and atom.attached else headings[-1] if headings else None
        name = (atoms[headings[-1]].text if headings else "", atom.text)
        seen[name] = seen.get(name, 0) + 1
        atom.key = (*name, seen[name])
        if atom.kind == "heading":
            headings.append(number)
        elif atom.kind == "item":
            items.append(number)


@dataclass(slots=True)
class Side:
    """A changed note beside its base; atoms are named by their numbers, "own" in this note and "base" in that.

    Attributes:
        atoms: Its own.
        same: The base atom that each one was; new ones are missing.
        of: The reverse of `same`.
        stable: Own atoms that stayed in the order of the base; others of `same` were moved.
        edits: The base atom that each new one replaces, where they share half of their words, or a heading what stands below it.
        edited: The reverse of `edits`.
        children: The own atoms, new or moved, behind each base atom that stayed, to which they are attached; behind -1 those at
            the beginning.
        blocks: Those behind them.
        sections: Those from a new heading on, each with its heading first, behind the last base atom before the next one that
            stayed.
        dropped: New own atoms that do not stand in the merged note.
    """

    atoms: list[Atom]
    same: dict[int, int] = field(default_factory=dict)
    of: dict[int, int] = field(default_factory=dict)
    stable: set[int] = field(default_factory=set)
    edits: dict[int, int] = field(default_factory=dict)
    edited: dict[int, int] = field(default_factory=dict)
    children: defaultdict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    blocks: defaultdict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    sections: defaultdict[int, list[list[int]]] = field(default_factory=lambda: defaultdict(list))
    dropped: set[int] = field(default_factory=set)


def align(base: Sequence[Atom], atoms: list[Atom]) -> Side:
    """Find what became of the atoms of the base: first those under the same heading, then those of the same text."""
    side = Side(atoms)
    by_key = {atom.key: number for number, atom in enumerate(base)}
    side.same = {number: by_key[atom.key] for number, atom in enumerate(atoms) if atom.key in by_key}
    side.of = {b: own for own, b in side.same.items()}
    left: dict[str, list[int]] = {}
    for number in range(len(base) - 1, -1, -1):
        if number not in side.of:
            left.setdefault(base[number].text, []).append(number)
    for number, atom in enumerate(atoms):
        if number not in side.same and left.get(atom.text):
            found = left[atom.text].pop()
            side.same[number], side.of[found] = found, number
    pairs = sorted(side.same.items())
    side.stable = {pairs[place][0] for place in find_longest_run([b for _, b in pairs])}
    _pair_edits(base, side)
    stayed = sorted(({own: side.same[own] for own in side.stable} | side.edits).items())
    for (own0, b0), (own1, b1) in pairwise([(-1, -1), *stayed, (len(atoms), len(base))]):
        for own in range(own0 + 1, own1):
            if atoms[own].kind == "heading":
                side.sections[b1 - 1].append([own])
            elif side.sections[b1 - 1]:
                side.sections[b1 - 1][-1].append(own)
            elif atoms[own].attached and not side.blocks[b0]:
                side.children[b0].append(own)
            else:
                side.blocks[b0].append(own)
    return side


def _pair_edits(base: Sequence[Atom], side: Side) -> None:
    """Pair what is gone with what is new between two atoms that stayed, in order, where they share half of their words.

    A heading over most of what stood below another one is that one, renamed.
    """
    renamed = _find_renamed(base, side)
    stayed = sorted((own, side.same[own]) for own in side.stable)
    for (own0, b0), (own1, b1) in pairwise([(-1, -1), *stayed, (len(side.atoms), len(base))]):
        new = [own for own in range(own0 + 1, own1) if own not in side.same][:MOST_PAIRED]
        gone = [b for b in range(b0 + 1, b1) if b not in side.of][:MOST_PAIRED] if new else []
        words = [_list_words(side.atoms[own]) for own in new] if gone else []
        start = 0
        for b in gone:
            mine = _list_words(base[b])
            for place in range(start, min(start + MOST_AHEAD, len(new))):
                named = renamed.get(new[place], b if _are_near(base[b], mine, words[place]) else None)
                if side.atoms[new[place]].kind == base[b].kind and named == b:
                    side.edits[new[place]], side.edited[b] = b, new[place]
                    start = place + 1
                    break


def _find_renamed(base: Sequence[Atom], side: Side) -> dict[int, int]:
    """Return the base heading under which most of what stayed below a new heading stood, where that one is gone."""
    stood: dict[int, Counter[int]] = {}
    for own, b in side.same.items():
        heading, old = side.atoms[own].parent, base[b].parent
        if heading is not None and old is not None and heading not in side.same and base[old].kind == "heading":
            stood.setdefault(heading, Counter())[old] += 1
    found = {heading: counts.most_common(1)[0][0] for heading, counts in stood.items()}
    return {heading: old for heading, old in found.items() if old not in side.of}


def _list_words(atom: Atom) -> set[str]:
    return set(_WORD.findall(atom.text.lower()))


def _are_near(old: Atom, first: set[str], second: set[str]) -> bool:
    common = len(first & second)
    return 4 * common >= max(2, len(first) + len(second)) or (old.kind == "block" and common > 0)
