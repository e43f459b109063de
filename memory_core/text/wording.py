"""A wording that is found in texts in any case, width, ligature and Unicode form, and the places where it stands; linear time."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from functools import lru_cache
from itertools import accumulate, pairwise
from unicodedata import category, combining, normalize

from memory_core.text.folding import fold, is_invisible

_ESCAPED = re.compile("[\udc80-\udcff]")  # a byte that is no UTF-8, as "surrogateescape" keeps it


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
        found = [match.span() for match in self._pattern.finditer(fold(text))]
        if not found or text.isascii():
            yield from found
            return
        bounds = _bound_pieces(text)
        folded = [*accumulate(len(fold(text[begin:end])) for begin, end in pairwise(bounds))]
        start = end = 0
        for first, last in found:
            begins = bounds[bisect_right(folded, first)]
            if begins >= end:
                if end:
                    yield start, end
                start = begins
            end = bounds[bisect_right(folded, last - 1) + 1]
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


def _bound_pieces(text: str) -> list[int]:
    """Return the bounds of pieces that fold each for itself: a character, with those behind it that it may become one with."""
    return [0, *(at for at in range(1, len(text)) if not _continues(text[at])), len(text)]


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
