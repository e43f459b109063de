"""Which lines of two versions of a text match, in about linear time, whatever was done to it.

difflib takes time with the square of the lines, and more where lines repeat. Here the lines that stand once in both versions are
matched first, in the longest order that both share (patience diff, https://bramcohen.livejournal.com/73318.html), then what lies
between them in the same way. What is left is compared exactly where it is small, and else counts as replaced.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import Match, SequenceMatcher

from memory_core.text.folding import clean

EXACT = 100 * 100  # the most pairs of lines that difflib compares: some milliseconds at worst

_Range = tuple[int, int, int, int]  # of both texts: first and end of the one, first and end of the other


class LineMatcher(SequenceMatcher[str]):
    """A `difflib.SequenceMatcher` of lines, with a limit on its time; lines that look the same are equal (see `clean`)."""

    def __init__(self, old: Sequence[str], new: Sequence[str]) -> None:
        old, new = [*map(clean, old)], [*map(clean, new)]
        self._old, self._new = old, new
        self._blocks: list[Match] | None = None
        super().__init__(None, old, new, autojunk=False)

    def get_matching_blocks(self) -> list[Match]:
        """Return what matches, in order, as `SequenceMatcher` does."""
        if self._blocks is None:
            blocks: list[Match] = []
            for at, other, size in sorted(_match_lines(self._old, self._new)):
                last = blocks[-1] if blocks else Match(0, 0, 0)
                if blocks and (last.a + last.size, last.b + last.size) == (at, other):
                    blocks[-1] = Match(last.a, last.b, last.size + size)
                elif size:
                    blocks.append(Match(at, other, size))
            self._blocks = [*blocks, Match(len(self._old), len(self._new), 0)]
        return self._blocks


def count_changes(old: Sequence[str], new: Sequence[str]) -> tuple[int, int]:
    """Return how many lines were added and removed."""
    same = sum(block.size for block in LineMatcher(old, new).get_matching_blocks())
    return len(new) - same, len(old) - same


def unified_diff(old: Sequence[str], new: Sequence[str], before: str, after: str, *, around: int) -> Iterator[str]:
    """Yield the lines of a unified diff, as `difflib.unified_diff` does; nothing of equal texts.

    Args:
        old, new: The lines.
        before, after: The names of both.
        around: Equal lines before and behind each change.
    """
    for number, group in enumerate(LineMatcher(old, new).get_grouped_opcodes(around)):
        if not number:
            yield f"--- {before}"
            yield f"+++ {after}"
        (_, i1, _, j1, _), (_, _, i2, _, j2) = group[0], group[-1]
        yield f"@@ -{_show_range(i1, i2)} +{_show_range(j1, j2)} @@"
        for kind, begin, end, first, last in group:
            if kind == "equal":
                yield from (f" {line}" for line in old[begin:end])
            else:
                yield from (f"-{line}" for line in old[begin:end])
                yield from (f"+{line}" for line in new[first:last])


def _show_range(begin: int, end: int) -> str:
    size = end - begin
    return f"{begin + 1}" if size == 1 else f"{begin + 1 if size else begin},{size}"


def _match_lines(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[int, int, int]]:
    """Yield (first line of the old, first line of the new, number of lines) of what matches, in any order."""
    waiting: list[_Range] = [(0, len(old), 0, len(new))]
    while waiting:
        i1, i2, j1, j2 = waiting.pop()
        if (i2 - i1) * (j2 - j1) <= EXACT:
            matcher = SequenceMatcher(None, old[i1:i2], new[j1:j2], autojunk=False)
            yield from ((i1 + at, j1 + other, size) for at, other, size in matcher.get_matching_blocks())
            continue
        begin, end = i1, i2
        while i1 < i2 and j1 < j2 and old[i1] == new[j1]:
            i1, j1 = i1 + 1, j1 + 1
        yield begin, j1 - (i1 - begin), i1 - begin
        while i1 < i2 and j1 < j2 and old[i2 - 1] == new[j2 - 1]:
            i2, j2 = i2 - 1, j2 - 1
        yield i2, j2, end - i2
        anchors = _find_anchors(old[i1:i2], new[j1:j2])
        if (i2 - i1) * (j2 - j1) <= EXACT or anchors:
            ends = [*((i1 + at, j1 + other) for at, other in anchors), (i2, j2)]
            for at, other in ends:
                waiting.append((i1, at, j1, other))
                if at < i2:
                    yield at, other, 1
                i1, j1 = at + 1, other + 1


def _find_anchors(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """Return the lines that stand once in both texts, as many as are in the same order in both."""
    once, places = _list_single(old), _list_single(new)
    pairs = [(at, places[line]) for line, at in once.items() if line in places]
    return [pairs[place] for place in find_longest_run([other for _, other in pairs])]


def find_longest_run(values: Sequence[int]) -> list[int]:
    """Return the places of a longest subsequence that never falls."""
    ends: list[int] = []  # for every length the least last value of a run of that length
    places: list[int] = []
    previous: list[int] = []
    for place, value in enumerate(values):
        length = bisect_right(ends, value)
        previous.append(places[length - 1] if length else -1)
        if length == len(ends):
            ends.append(value)
            places.append(place)
        else:
            ends[length], places[length] = value, place
    run = []
    place = places[-1] if places else -1
    while place >= 0:
        run.append(place)
        place = previous[place]
    return run[::-1]


def _list_single(lines: Sequence[str]) -> dict[str, int]:
    counts = Counter(lines)
    return {line: at for at, line in enumerate(lines) if counts[line] == 1}
