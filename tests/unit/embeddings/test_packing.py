"""Requests are as full as the limits allow, lose no text and never exceed a limit that a text alone does not exceed."""

from __future__ import annotations

import itertools
import math

from hypothesis import given
from hypothesis import strategies as st

from memory_core.embeddings.protocols import Limits, find_runs, pack
from memory_core.embeddings.remote.provider import FILL, halve
from memory_core.errors import ProviderUnavailable
from memory_core.text.tokens import estimate_tokens

sizes = st.lists(st.integers(1, 900), max_size=200)


@given(sizes, st.integers(1, 40), st.one_of(st.just(math.inf), st.integers(1, 3000)))
def test_every_text_is_in_one_request_in_order(sizes: list[int], items: int, most: float) -> None:
    requests = list(pack(range(len(sizes)), Limits(items, most), sizes.__getitem__))

    assert [index for request in requests for index in request] == list(range(len(sizes)))
    assert all(0 < len(request) <= items for request in requests)
    assert all(sum(sizes[index] for index in request) <= most or len(request) == 1 for request in requests)


@given(st.integers(0, 5000), st.integers(1, 3000))
def test_short_texts_take_as_few_requests_as_the_item_cap_allows(count: int, items: int) -> None:
    requests = list(pack(range(count), Limits(items), lambda _: 1))

    assert len(requests) == -(-count // items)


def test_a_limit_learnt_meanwhile_holds_for_the_rest() -> None:
    limits = Limits(8)
    requests = pack(range(20), limits, lambda _: 1)

    assert len(next(requests)) == 8
    limits.items = 3
    assert {len(request) for request in requests} <= {8, 3, 1}


@given(st.sets(st.integers(0, 60)))
def test_runs_are_the_longest_consecutive_stretches(numbers: set[int]) -> None:
    ordered = sorted(numbers)
    outcomes = {number: number if number in numbers else ProviderUnavailable("p", "away") for number in range(62)}
    stretches = [run for first, run in find_runs(outcomes) if first == run[0]]

    assert [number for stretch in stretches for number in stretch] == ordered
    assert all(stretch[-1] - stretch[0] == len(stretch) - 1 for stretch in stretches)
    assert all(later[0] > earlier[-1] + 1 for earlier, later in itertools.pairwise(stretches))


@given(st.text(min_size=2))
def test_halves_lose_nothing(text: str) -> None:
    first, second = halve(text)

    assert first + second == text
    assert len(first) < len(text)
    assert len(second) < len(text) or not first


def test_marks_of_cjk_text_count_as_chunks_count_them() -> None:
    """Brackets, jamo and Yi are a token each: estimated at a quarter, four times too many would go into a request."""
    texts = [mark * 200 for mark in "\u3014\u1112\ua04a\u8c46\ufe30"] * 4

    requests = list(pack(range(len(texts)), Limits(100, FILL * 1000), lambda index: estimate_tokens(texts[index])))

    assert {len(request) for request in requests} == {4}
