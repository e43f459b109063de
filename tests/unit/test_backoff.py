"""Growing pauses as arithmetic, and a cool-down driven by a clock of its own."""

from __future__ import annotations

import pytest

from memory_core.threads import Backoff, Cooldown
from tests.waiting import Clock

MINUTES = Backoff(first_seconds=60, longest_seconds=3600)


def test_pauses_double_up_to_the_longest() -> None:
    assert [MINUTES.pause(failures) for failures in range(1, 10)] == [60, 120, 240, 480, 960, 1920, 3600, 3600, 3600]


def test_a_constant_pause() -> None:
    constant = Backoff(first_seconds=30, longest_seconds=30)
    assert [constant.pause(failures) for failures in range(1, 5)] == [30, 30, 30, 30]


def test_the_other_side_may_ask_for_more_than_the_longest_but_not_for_less() -> None:
    assert MINUTES.pause(1, asked_seconds=10) == 60
    assert MINUTES.pause(1, asked_seconds=90) == 90
    assert MINUTES.pause(20, asked_seconds=7200) == 7200


def test_any_count_of_failures_has_a_pause() -> None:
    assert MINUTES.pause(10**9) == 3600


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def cooldown(clock: Clock) -> Cooldown:
    return Cooldown(Backoff(first_seconds=5, longest_seconds=60), clock=clock)


def test_without_a_failure_there_is_no_pause(cooldown: Cooldown) -> None:
    assert (cooldown.reason, cooldown.left_seconds) == (None, 0)


def test_a_failure_keeps_it_from_being_tried_until_the_pause_is_over(cooldown: Cooldown, clock: Clock) -> None:
    cooldown.record_failure("down")
    assert (cooldown.reason, cooldown.left_seconds) == ("down", 5)
    clock.now += 4
    assert (cooldown.reason, cooldown.left_seconds) == ("down", 1)
    clock.now += 1
    assert (cooldown.reason, cooldown.left_seconds) == (None, 0)


def test_each_failure_in_a_row_makes_the_pause_longer(cooldown: Cooldown, clock: Clock) -> None:
    pauses = []
    for _ in range(6):
        cooldown.record_failure("down")
        pauses.append(cooldown.left_seconds)
        clock.now += pauses[-1]
    assert pauses == [5, 10, 20, 40, 60, 60]


def test_a_success_ends_the_pause_and_makes_the_next_one_short(cooldown: Cooldown, clock: Clock) -> None:
    cooldown.record_failure("down")
    cooldown.record_failure("down")
    cooldown.record_success()
    assert (cooldown.reason, cooldown.left_seconds) == (None, 0)
    cooldown.record_failure("again")
    assert (cooldown.reason, cooldown.left_seconds) == ("again", 5)
