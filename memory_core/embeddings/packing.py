"""How many texts go into one request: pure arithmetic on estimates."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

# Characters that most tokenizers give a token of their own: kana, CJK ideographs, Hangul, full-width forms.
_ONE_TOKEN = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uff00-\uffef\U00020000-\U0003ffff]")

# The estimate is short by up to a quarter on code and tables: packing to four fifths keeps nearly all under the cap.
FILL = 0.8


@dataclass(slots=True)
class Limits:
    """What one request may hold.

    Attributes:
        items: Texts, at least 1; lowered when the provider refuses a size.
        tokens: Tokens of all texts; None means no limit.
    """

    items: int
    tokens: int | None = None


def estimated_tokens(text: str) -> int:
    """Tokens of a text: one for each CJK character, one for every four others, at least 1."""
    single = len(_ONE_TOKEN.findall(text))
    return max(1, single + (len(text) - single + 3) // 4)


def packed(indices: Iterable[int], limits: Limits, tokens: Callable[[int], int]) -> Iterator[list[int]]:
    """Cut a row of texts into requests, in order, each as full as the limits allow.

    Lazy, and `limits` is read anew for every request, so that a limit learnt from a refusal holds for the rest.

    Args:
        indices: The texts' numbers.
        limits: Of one request; a text that exceeds `tokens` alone gets a request of its own.
        tokens: How many tokens the text of that number has.

    Yields:
        The numbers of the texts of one request, never empty.
    """
    request: list[int] = []
    load = 0
    for index in indices:
        size = tokens(index)
        room = None if limits.tokens is None else int(limits.tokens * FILL)
        if request and (len(request) >= limits.items or (room is not None and load + size > room)):
            yield request
            request, load = [], 0
        request.append(index)
        load += size
    if request:
        yield request


def runs(indices: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Positions of the stretches of consecutive numbers: (3, 4, 5, 9) gives (0, 3) and (3, 4), ends excluded."""
    start = 0
    for position in range(1, len(indices) + 1):
        if position == len(indices) or indices[position] != indices[position - 1] + 1:
            yield start, position
            start = position


def halves(text: str) -> tuple[str, str]:
    """Cut a text near its middle, at white space when there is some in the middle third; nothing is lost."""
    middle = len(text) // 2
    third = len(text) // 6
    cut = text.rfind(" ", middle - third, middle + third)
    cut = middle if cut < 0 else cut
    return text[:cut], text[cut:]
