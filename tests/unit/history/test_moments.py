"""Moments in order, and times repaired where a clock was wrong."""

from __future__ import annotations

import random
from bisect import bisect_right

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_core.history.moments import Moment, find_moment, repair_times

HOUR = 3_600_000
DAY = 24 * HOUR
YEAR = 365 * DAY


@given(st.lists(st.integers(0, 100)))
def test_repaired_times_never_fall_and_right_ones_stay(recorded: list[int]) -> None:
    repaired = repair_times(recorded)
    assert repaired == sorted(repaired)
    assert len(repaired) == len(recorded)
    if recorded == sorted(recorded):
        assert repaired == recorded


def _share_right(true: list[int], recorded: list[int]) -> float:
    """Return the share of questions about a time that are answered by the moment that truly was the last one before it."""
    repaired = [Moment(number, at, "sync") for number, at in enumerate(repair_times(recorded))]
    right = asked = 0
    for instant in range(true[0], true[-1] + 6 * HOUR, HOUR):
        found = find_moment(repaired, instant)
        asked += 1
        right += found is not None and found.id == bisect_right(true, instant) - 1
    return right / asked


@pytest.mark.parametrize(
    ("first", "count", "jump"),
    [
        pytest.param(400, 4, 4 * YEAR, id="four years ahead for a day"),
        pytest.param(400, 4, -4 * YEAR, id="four years behind for a day"),
        pytest.param(400, 40, -1 * HOUR, id="an hour behind for ten days"),
        pytest.param(200, 1, 30 * YEAR, id="once far ahead"),
        pytest.param(200, 20, -50 * YEAR, id="at the epoch for five days"),
        pytest.param(1000, 1, -3 * DAY, id="behind at the end"),
    ],
)
def test_a_clock_that_jumps_misleads_few_questions(first: int, count: int, jump: int) -> None:
    """Four syncs a day for 250 days."""
    true = [1_700_000_000_000 + number * 6 * HOUR for number in range(1001)]
    recorded = [at + jump if first <= number < first + count else at for number, at in enumerate(true)]
    assert _share_right(true, recorded) >= 0.99


def test_a_clock_that_jumps_again_and_again() -> None:
    dice = random.Random(3)
    true = [1_700_000_000_000 + number * 6 * HOUR for number in range(1001)]
    recorded = [
        at + dice.choice([-YEAR, YEAR]) if number in {50, 300, 301, 700} else at for number, at in enumerate(true)
    ]
    assert _share_right(true, recorded) >= 0.99


def test_the_moment_at_an_instant_is_the_last_one_that_is_not_later() -> None:
    moments = [Moment(1, 100, "sync"), Moment(2, 200, "sync"), Moment(3, 200, "sync")]
    assert find_moment(moments, 99) is None
    assert find_moment(moments, 100) == moments[0]
    assert find_moment(moments, 199) == moments[0]
    assert find_moment(moments, 200) == moments[2]
    assert find_moment([], 5) is None
