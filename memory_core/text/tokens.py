"""Lengths of text in tokens, estimated, cuts of text that is too long, and the characters that count as tokens. Pure."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial

_CLAUSE_END = re.compile(r".*(?:[.!?;:,](?=\s)|[。！？；：，、」』）])", re.DOTALL)
_SPACE = re.compile(r".*\s", re.DOTALL)


WORD = re.compile(r"[^\W_]+")  # of letters and digits

# A large pattern takes a millisecond to compile, which texts that do not need it are spared.
compile_once: Callable[[str], re.Pattern[str]] = cache(re.compile)


def count_quarters(text: str) -> int:
    """Estimate the length in quarters of a token: four for a CJK character, one for any other. Pieces of a text add up."""
    if text.isascii():
        return len(text)
    return len(text) + 3 * sum(map(len, _cjk_run().findall(text)))


def estimate_tokens(text: str) -> int:
    """Estimate the length in tokens: one for each CJK character, one for every four others, rounded up."""
    return -(-count_quarters(text) // 4)


def cut_long(text: str, max_tokens: int, *, sentences: Sequence[int] = ()) -> Iterator[tuple[int, int]]:
    """Cut a text into pieces of at most `max_tokens`, without regard to lines.

    A piece ends before the last sentence that begins behind its first quarter; where none does, behind a clause that ends in its
    second half, else at a space there, else anywhere.

    Args:
        text: Any.
        max_tokens: The most tokens of a piece.
        sentences: Offsets at which sentences begin, in order.

    Yields:
        Start and end offsets, in order; the pieces together are the whole text.
    """
    budget = 4 * max_tokens
    start = 0
    while start < len(text):
        end = start + _count_fitting(text[start : start + budget], budget)
        if end < len(text):
            end = _find_sentence(sentences, start, end) or _find_pause(text, start, end) or end
        yield start, end
        start = end


def _find_sentence(sentences: Sequence[int], start: int, end: int) -> int:
    """Return the last offset up to `end` at which a sentence begins, or 0 if it lies in the first quarter of the span."""
    at = bisect_right(sentences, end)
    return sentences[at - 1] if at and sentences[at - 1] > start + (end - start) // 4 else 0


def _find_pause(text: str, start: int, end: int) -> int:
    """Return the end of the last clause in the second half of a span, else of its last space there, else 0."""
    middle = (start + end + 1) // 2
    match = _CLAUSE_END.match(text, middle, end) or _SPACE.match(text, middle, end)
    return match.end() if match else 0


def _count_fitting(text: str, budget: int) -> int:
    """Count the characters from the start that are at most `budget` quarters of a token long."""
    if count_quarters(text) <= budget:
        return len(text)
    return bisect_right(range(1, len(text) + 1), budget, key=lambda size: count_quarters(text[:size]))


# Characters of words: Han, kana, Hangul syllables, and the iteration and length marks that stand inside words.
WORD_CHARACTERS = (
    "\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
# The others, to which tokenizers give a token each as well: jamo, radicals, bopomofo, Yi, punctuation, full-width forms.
_OTHER_CHARACTERS = (
    "\u1100-\u11ff\u2e80-\u3004\u3008-\u303f\u3100-\u31ef\u3200-\u33ff\u4dc0-\u4dff\ua000-\ua4cf\ua960-\ua97f\ud7b0-\ud7ff"
    "\ufe30-\ufe4f\uff00-\uffef"
)
CHARACTERS = WORD_CHARACTERS + _OTHER_CHARACTERS
_cjk_run = partial(compile_once, f"[{CHARACTERS}]+")
# Letters and marks of Thai, Lao, Burmese and Khmer, which put no spaces between words either.
SYLLABLES = (
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ece\u0edc-\u0edf\u1000-\u103f\u1050-\u108f\ua9e0-\ua9ef\uaa60-\uaa76\uaa7a-\uaa7f"
    "\u1780-\u17d3\u17d7\u17dc\u17dd"
)
UNSPACED = WORD_CHARACTERS + SYLLABLES


_unspaced = partial(compile_once, f"[{UNSPACED}]")


def may_be_unspaced(text: str) -> bool:
    """Return False for a text without characters of `UNSPACED`."""
    return not text.isascii() and _unspaced().search(text) is not None
