"""A wording that is found in texts in any case, width, ligature and Unicode form, and the places where it stands; linear time."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from functools import lru_cache
from unicodedata import category, combining, normalize

from memory_core.text.folding import fold, is_invisible

_ESCAPED = re.compile("[\udc80-\udcff]")  # a byte that is no UTF-8, as "surrogateescape" keeps it
_NOT_ASCII = re.compile(r"[\0-\x7f]?[^\0-\x7f]+")  # with the letter before, which an accent may belong to


class Wording:
    """A text to look for in others, as `fold` makes them, with any white space between its words.

    Args:
        text: It.

    Attributes:
        folded: It, folded, its words one space apart; "" finds nothing.
    """

    def __init__(self, text: str) -> None:
        words = fold(_show_bytes(text)).split()
        self.folded = " ".join(words)
        self._pattern = re.compile(r"\s++".join(map(re.escape, words)) or r"(?!)")

    def find(self, text: str) -> int | None:
        """Return where it first begins in a text; None if it does not stand there."""
        return next((start for start, _ in self.find_spans(text)), None)

    def stands_in(self, text: str) -> bool:
        """Return True if a text holds it."""
        return self._pattern.search(fold(_show_bytes(text))) is not None

    def find_spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield (start, end) of the characters of a text in which it stands, without overlaps.

        A character of which it needs only a part, such as a ligature, belongs to it.
        """
        text = _show_bytes(text)
        folded = fold(text)
        matches = self._pattern.finditer(folded)
        first = next(matches, None)
        if first is None:
            return
        offsets = _OffsetMap(text)
        start, end = offsets.locate(*first.span())
        for match in matches:
            begins, ends = offsets.locate(*match.span())
            if begins >= end:
                yield start, end
                start = begins
            end = ends
        yield start, end

    def replace(self, text: str, mark: str) -> str:
        """Put a mark in its place wherever it stands in a text."""
        kept, at = list[str](), 0
        for start, end in self.find_spans(text):
            kept += (text[at:start], mark)
            at = end
        return "".join((*kept, text[at:])) if kept else text


def _show_bytes(text: str) -> str:
    """Return a text with bytes that are no UTF-8 as one character each of Windows-1252, as which notes are read."""
    return _ESCAPED.sub(lambda found: found[0].encode(errors="surrogateescape").decode("cp1252", "replace"), text)


class _OffsetMap:
    """Tells which characters of a text have become which of its folded form.

    Args:
        text: It.
    """

    def __init__(self, text: str) -> None:
        self._originals: list[int] = []  # where the pieces begin in the text
        self._folded: list[int] = []  # where they begin in the folded text
        self._is_alike: list[bool] = []  # one character for one, so that a piece may be cut
        self._length = 0
        at = 0
        for found in _NOT_ASCII.finditer(text):
            self._add(at, found.start() - at, is_alike=True)
            start = found.start()
            for index in range(start + 1, found.end()):
                if not _continues(text[index]):
                    self._add(start, len(_fold_piece(text[start:index])))
                    start = index
            self._add(start, len(_fold_piece(text[start : found.end()])))
            at = found.end()
        self._add(at, len(text) - at, is_alike=True)
        self._originals.append(len(text))

    def locate(self, start: int, end: int) -> tuple[int, int]:
        """Return (start, end) in the text of a match in the folded text, which is not empty."""
        first, last = (bisect_right(self._folded, at) - 1 for at in (start, end - 1))
        begins = self._originals[first] + (start - self._folded[first] if self._is_alike[first] else 0)
        ends = self._originals[last] + end - self._folded[last] if self._is_alike[last] else self._originals[last + 1]
        return begins, ends

    def _add(self, original: int, length: int, *, is_alike: bool = False) -> None:
        if length or not is_alike:
            self._originals.append(original)
            self._folded.append(self._length)
            self._is_alike.append(is_alike)
            self._length += length


_fold_piece = lru_cache(4096)(fold)


@lru_cache(4096)
def _continues(character: str) -> bool:
    """Return True for what may become one character with those before it: accents, vowel signs, letters of a Hangul syllable."""
    first = normalize("NFKD", character)[:1]
    return (
        combining(first) != 0
        or category(first).startswith("M")
        or "\u1160" <= first <= "\u11ff"
        or is_invisible(character)
    )
