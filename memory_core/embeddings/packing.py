"""Packing texts into requests: pure arithmetic on estimates of tokens."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

# The estimate is short by up to a quarter on code and tables: packing to four fifths keeps nearly all under the cap.
FILL = 0.8


@dataclass(slots=True)
class Limits:
    """The limits of one request.

    Attributes:
        items: Texts, at least 1; lowered when the provider refuses a size.
        tokens: Tokens of all texts; None means no limit.
    """

    items: int
    tokens: int | None = None


def pack_requests(indices: Iterable[int], limits: Limits, tokens: Callable[[int], int]) -> Iterator[list[int]]:
    """Cut a row of texts into requests, in order, each as full as the limits allow.

    Lazy, and `limits` is read anew for every request, so that a limit learnt from a refusal holds for the requests that follow.

    Args:
        indices: The texts' numbers.
        limits: Of one request; a text that exceeds `tokens` alone gets a request of its own.
        tokens: Returns how many tokens the text of a number has.

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


def find_runs(indices: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield the positions of runs of consecutive numbers: (3, 4, 5, 9) gives (0, 3) and (3, 4), ends excluded."""
    start = 0
    for position in range(1, len(indices) + 1):
        if position == len(indices) or indices[position] != indices[position - 1] + 1:
            yield start, position
            start = position


def halve(text: str) -> tuple[str, str]:
    """Cut a text near its middle, at white space when there is some in the middle third; nothing is lost."""
    middle = len(text) // 2
    third = len(text) // 6
    cut = text.rfind(" ", middle - third, middle + third)
    cut = middle if cut < 0 else cut
    return text[:cut], text[cut:]
