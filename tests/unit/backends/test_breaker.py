"""The circuit breaker, driven by a clock of its own, and calls with a deadline, by real threads."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress

import pluggy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_core.backends.breaker import BACKOFF, Breaker, BreakerState, GuardedBackend, Refused
from memory_core.backends.loader import RegisteredBackend
from memory_core.hookspecs import BackendPlugin
from tests.waiting import Clock, eventually


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def breaker(clock: Clock) -> Breaker:
    return Breaker(clock=clock)


def fail(breaker: Breaker, times: int = 1) -> None:
    for number in range(times):
        breaker.admit()
        breaker.record_failure(f"failure {number}")


def is_open(breaker: Breaker) -> bool:
    try:
        breaker.admit()
    except Refused:
        return True
    breaker.release()
    return False


def test_it_opens_after_failures_in_a_row(breaker: Breaker) -> None:
    fail(breaker, 2)
    assert breaker.read_state() == BreakerState("closed", "failure 1", 0)
    fail(breaker)
    assert breaker.read_state() == BreakerState("open", "failure 0", 5)
    with pytest.raises(Refused, match="failure 0"):
        breaker.admit()


def test_a_success_between_counts_anew(breaker: Breaker) -> None:
    fail(breaker, 2)
    breaker.admit()
    breaker.record_success()
    assert breaker.read_state() == BreakerState("closed", "", 0)
    fail(breaker, 2)
    assert breaker.read_state().state == "closed"


def test_after_the_pause_one_call_is_tried_and_only_one(breaker: Breaker, clock: Clock) -> None:
    fail(breaker, 3)
    clock.now += 4.9
    assert is_open(breaker)
    clock.now += 0.1
    assert breaker.read_state() == BreakerState("half-open", "failure 2", 0)
    breaker.admit()
    with pytest.raises(Refused):
        breaker.admit()
    breaker.record_success()
    assert breaker.read_state() == BreakerState("closed", "", 0)
    breaker.admit()
    breaker.admit()


def test_each_failed_trial_doubles_the_pause_up_to_the_longest(breaker: Breaker, clock: Clock) -> None:
    fail(breaker, 3)
    pauses = []
    for _ in range(8):
        pauses.append(breaker.read_state().retry_in_seconds)
        clock.now += pauses[-1]
        fail(breaker)
    assert pauses == [5, 10, 20, 40, 60, 60, 60, 60]


def test_recovery_makes_the_pause_small_again(breaker: Breaker, clock: Clock) -> None:
    fail(breaker, 3)
    clock.now += 5
    fail(breaker)
    clock.now += 10
    breaker.admit()
    breaker.record_success()
    fail(breaker, 3)
    assert breaker.read_state().retry_in_seconds == 5


def test_a_trial_that_says_nothing_lets_the_next_call_try(breaker: Breaker, clock: Clock) -> None:
    fail(breaker, 3)
    clock.now += 5
    breaker.admit()
    breaker.release()
    assert breaker.read_state().state == "half-open"
    breaker.admit()
    breaker.record_success()
    assert breaker.read_state().state == "closed"


def test_what_says_nothing_neither_counts_nor_forgives(breaker: Breaker) -> None:
    fail(breaker, 2)
    breaker.admit()
    breaker.release()
    fail(breaker)
    assert breaker.read_state().state == "open"


def test_many_calls_that_fail_together_make_one_pause(breaker: Breaker, clock: Clock) -> None:
    """They were admitted before any of them failed: one outage, not twenty failed trials."""
    for _ in range(20):
        breaker.admit()
    for _ in range(20):
        breaker.record_failure("down")
    assert breaker.read_state() == BreakerState("open", "down", 5)
    clock.now += 5
    fail(breaker)
    assert breaker.read_state().retry_in_seconds == 10


@given(st.lists(st.sampled_from(["call good", "call bad", "call nothing", "wait"]), max_size=60))
def test_it_always_recovers_and_never_waits_longer_than_the_longest_pause(events: list[str]) -> None:
    clock = Clock()
    breaker = Breaker(clock=clock)
    endings: dict[str, Callable[[], None]] = {
        "call good": breaker.record_success,
        "call bad": lambda: breaker.record_failure("bad"),
        "call nothing": breaker.release,
    }
    for event in events:
        if event == "wait":
            clock.now += BACKOFF.first_seconds
        elif not _refused(breaker):
            endings[event]()
        assert 0 <= breaker.read_state().retry_in_seconds <= BACKOFF.longest_seconds
    clock.now += BACKOFF.longest_seconds
    breaker.admit()
    breaker.record_success()
    assert breaker.read_state() == BreakerState("closed", "", 0)


def _refused(breaker: Breaker) -> bool:
    """Ask for a call; whoever is admitted has to report."""
    try:
        breaker.admit()
    except Refused:
        return True
    return False


def guard(seconds: float) -> Callable[[Callable[[], int]], int]:
    """Return what calls a backend that answers with any work, and has some seconds for it."""
    plugin = BackendPlugin(open=lambda _: pytest.fail("opened"), timeout_seconds=seconds)
    backend = RegisteredBackend("test", pluggy.PluginManager("memory_core"), ())
    guarded = GuardedBackend(backend, plugin, Breaker())
    return lambda work: guarded.call(lambda _: work(), long=False, counted=False)


def answers(call: Callable[[Callable[[], int]], int]) -> bool:
    try:
        return call(lambda: 7) == 7
    except (TimeoutError, Refused):
        return False


def test_answers_and_errors_are_handed_on() -> None:
    call = guard(10)
    assert call(lambda: 7) == 7
    with pytest.raises(ZeroDivisionError):
        call(lambda: 1 // 0)
    assert answers(call)


def test_a_hung_call_is_left_behind_and_later_ones_are_refused_at_once_until_it_returns() -> None:
    call = guard(0.5)
    release = threading.Event()
    with pytest.raises(TimeoutError, match=r"0\.5 s"):
        call(lambda: int(release.wait()))
    began = time.monotonic()
    with pytest.raises(Refused, match="has not returned"):
        call(lambda: 7)
    assert time.monotonic() - began < 0.5
    assert [thread.daemon for thread in threading.enumerate() if thread.name == "memory-test"] == [True]
    release.set()
    assert eventually(lambda: answers(call))


def test_calls_that_end_at_their_deadline_leave_nothing_behind() -> None:
    """Whichever side wins the race, the backend is free again once the call has returned."""
    call = guard(0.002)
    for _ in range(50):
        with suppress(TimeoutError, Refused):
            call(lambda: int(threading.Event().wait(0.002)))
    assert eventually(lambda: answers(call))
