"""Lines that take the place of others: edited in place, or the same key under the same heading with another value. Pure.

Where the evidence is thin, no line is said to succeed another: two lines of a list stand beside each other, and a label such as
"Jonas:" or "TODO:" is no key.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import date
from functools import partial
from typing import NamedTuple

from memory_core.records import Hit, Successor
from memory_core.text.languages import STOP_WORDS
from memory_core.text.markdown import Line, parse_heading, scan
from memory_core.text.tables import PHRASES
from memory_core.text.tokens import WORD_CHARACTERS, compile_once

MOST_KEY_CHARS = 40
MOST_KEY_WORDS = 4
MOST_VALUE_WORDS = 8  # a longer one is a sentence
MOST_NOTES = 3  # that hold a key: one that stands in more of them begins the entries of a log
LEAST_KEPT = 0.5  # of the words of an edited line
LEAST_KEPT_ALIKE = 0.4  # of one that begins alike
LEAST_KEPT_OF_MANY = (
    0.75  # of a task, of what has happened, or of a line that begins otherwise: of those there are many, and alike
)

_MARK = re.compile(r"(?:[-*+]\s+|\d{1,9}[.)]\s+|>\s+)?(?:\[[ xX]\]\s+)?")
_SIGN = re.compile(r"[*_`~]{0,2}(?::[*_`~]{0,2}(?=\s)|：|\s(?:=|-|–|—|->|→)(?=\s))")
_TASK = re.compile(r"[-*+]\s+\[[ xX]\]\s")
_EMPHASIS = "*_`~ "
_LABELS, _EVENTS, _TIMES, _VERBS = (
    frozenset(PHRASES["all"][name].split()) for name in ("labels", "events", "times", "verbs")
)


LoadNote = Callable[[str], tuple[str | None, Sequence[str]] | None]


class _Keyed(NamedTuple):
    """A line of a hit that has a key, and its note's date."""

    date: str
    hit: int
    line: int
    value: str
    text: str


def mark_superseded(hits: Sequence[Hit], load_note: LoadNote, today: date) -> list[Hit]:
    """Return hits, those that another hit replaces with `superseded_by`.

    Only hits of one answer are compared, since lines with the same key and heading answer the same questions; only dated notes
    are, since others do not say which is newer.

    Args:
        hits: Of the notes as they stand.
        load_note: Returns the date and the lines of a note; None if it cannot be read.
        today: Notes of later days replace nothing yet.
    """
    marked = list(hits)
    for key, numbers in _find_shared_keys(hits).items():
        groups: defaultdict[tuple[str, ...], list[_Keyed]] = defaultdict(list)
        for number in numbers:
            noted, lines = load_note(hits[number].path) or (None, ())
            if noted is None:
                continue
            for line, value, headings in _find_keyed_lines(lines, key, hits[number]):
                groups[headings].append(_Keyed(noted, number, line, value, lines[line - 1]))
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
                    successor = Successor(path, newest.line, newest.text.strip(), newest.date, replaces=each.line)
                    marked[each.hit] = replace(marked[each.hit], superseded_by=successor)
    return marked


def _find_shared_keys(hits: Sequence[Hit]) -> dict[str, list[int]]:
    """Return the keys that stand in hits of several notes, with those hits; none that begin lines of many, whatever follows."""
    begun: defaultdict[str, set[str]] = defaultdict(set)  # the notes with a line that begins as if with a key
    held: defaultdict[str, dict[int, str]] = defaultdict(dict)
    for number, hit in enumerate(hits):
        if hit.source != "sessions":
            for line in hit.snippet.split("\n"):
                if (begins := _split_line(line)) is not None:
                    begun[begins[0]].add(hit.path)
                    if _is_key(*begins):
                        held[begins[0]][number] = hit.path
    return {
        key: [*paths] for key, paths in held.items() if len({*paths.values()}) > 1 and len(begun[key]) <= MOST_NOTES
    }


def _find_keyed_lines(lines: Sequence[str], key: str, hit: Hit) -> Iterator[tuple[int, str, tuple[str, ...]]]:
    """Yield number, value and headings of the lines of a hit that have a key, unless the note has it there more than once."""
    for line in range(hit.start_line, min(hit.end_line, len(lines)) + 1):
        found = find_key(lines[line - 1])
        if found is not None and found[0] == key:
            headings = find_headings(lines, line)
            if headings and find_keyed(lines, key, headings) == [line]:
                yield line, found[1], headings


def find_key(line: str) -> tuple[str, str] | None:
    """Return key and value of a line such as "- **Rent**: 700", "host = a" or a row of a table; None if it has none."""
    begins = _split_line(line)
    return begins if begins and _is_key(*begins) else None


def _is_key(key: str, value: str) -> bool:
    """Return True if what stands before a sign is the key of what stands behind it."""
    words = key.split()
    if len(key) > MOST_KEY_CHARS or len(words) > MOST_KEY_WORDS or not key[0].isalpha():
        return False
    if (
        (len(words) == 1 and key in _LABELS)
        or _is_event(words)
        or words[-1] in _TIMES
        or words[-1].endswith("ed")
        or set(key) & set(".?!;,:/")
    ):
        return False
    said = _find_words(value)
    return len(said) <= MOST_VALUE_WORDS and _VERBS.isdisjoint(said)


def _split_line(line: str) -> tuple[str, str] | None:
    """Return what may be the key of a line, in lower case, and a value of any length; None if it has none, or is a sentence."""
    text = line.strip()
    mark = _MARK.match(text)
    text = text[mark.end() :] if mark else text
    if text.startswith("|"):
        key, _, value = text.strip("|").partition("|")
    else:
        sign = _SIGN.search(text, 1, MOST_KEY_CHARS + 8)
        if sign is None:
            return None
        key, value = text[: sign.start()], text[sign.end() :]
    key, value = key.strip(_EMPHASIS).casefold(), " ".join(value.replace("|", " ").split()).strip(_EMPHASIS)
    return (key, value) if key and value and value[-1] not in ".?!。？！" else None


def is_edit(old: str, new: str) -> bool:
    """Return True if a line that stands in the place of another one is that line, edited."""
    if old.strip() == new.strip():
        return False
    one, other = _split_key(old), _split_key(new)
    if one is not None and other is not None:
        return one == other
    before, behind = _find_words(old), _find_words(new)
    kept = Counter(before) & Counter(behind)
    if not any(word not in STOP_WORDS["en"] for word in kept):
        return False
    if kept.total() == len(before):  # something was added
        return True
    share = kept.total() / max(len(before), len(behind))
    if _TASK.match(old.strip()) or _is_event(before) or before[0] != behind[0]:
        return share >= LEAST_KEPT_OF_MANY
    begins = next((at for at, (word, later) in enumerate(zip(before, behind, strict=False)) if word != later), 0)
    named = any(word not in STOP_WORDS["en"] for word in before[:begins])
    return share >= (LEAST_KEPT_ALIKE if named and begins > 1 else LEAST_KEPT)


def find_headings(lines: Sequence[str], wanted: int) -> tuple[str, ...]:
    """Return the headings above a line in lower case, the highest first; the note's title counts where there is no other.

    Args:
        lines: Of the note.
        wanted: The line's number, from 1.
    """
    trail: dict[int, str] = {}
    for line, kind in zip(lines[:wanted], scan(lines[:wanted]), strict=True):
        if kind is Line.HEADING and (heading := parse_heading(line)) is not None:
            level, title = heading
            trail = {number: text for number, text in trail.items() if number < level} | {level: title.casefold()}
    return tuple(title for level, title in sorted(trail.items()) if level > 1) or tuple(trail.values())


def find_keyed(lines: Sequence[str], key: str, headings: tuple[str, ...]) -> list[int]:
    """Return the numbers of the lines under some headings that have a key, from 1."""
    held = [number for number, line in enumerate(lines, start=1) if (found := find_key(line)) and found[0] == key]
    return [number for number in held if find_headings(lines, number) == headings]


def _split_key(line: str) -> str | None:
    """Return what stands before a colon near the beginning of a line, in lower case; None if nothing does."""
    text = _MARK.sub("", line.strip(), count=1)
    sign = _SIGN.search(text, 1, MOST_KEY_CHARS + 8)
    return text[: sign.start()].strip(_EMPHASIS).casefold() if sign is not None and ":" in sign[0] else None


def _is_event(words: Sequence[str]) -> bool:
    """Return True if words begin with what somebody did."""
    return bool(words) and (words[0] in _EVENTS or words[0].endswith("ed"))


_word = partial(compile_once, rf"[^\W_{WORD_CHARACTERS}]+(?:'[a-z]+)?|[{WORD_CHARACTERS}]")


def _find_words(text: str) -> list[str]:
    """Return the words of a text, in lower case; a character of a script without spaces is one."""
    return [word.casefold() for word in _word().findall(text)]
