"""Which errors are worth another attempt, and how long the pause before it is."""

from __future__ import annotations

import asyncio
import time

import pytest

from memory_core.embeddings.remote.retries import Retries, retry
from memory_core.errors import AuthenticationFailed, ProviderError, ProviderUnavailable, RateLimited
from memory_core.threads import Backoff
from tests.waiting import HANG_GUARD_SECONDS

PLAIN = Retries(backoff=Backoff(first_seconds=0.5, longest_seconds=8.0), patience_seconds=60.0)
QUICK = Retries(attempts=3, backoff=Backoff(first_seconds=0.001, longest_seconds=0.001))
AWAY = ProviderUnavailable("p", "away")


def limited(seconds: float | None) -> RateLimited:
    return RateLimited("p", "slow down", retry_after_seconds=seconds)


def test_pauses_double_and_a_pause_that_was_asked_for_is_kept_as_it_is() -> None:
    assert [PLAIN.pause(attempt, AWAY) for attempt in range(1, 7)] == [0.5, 1, 2, 4, 8, 8]
    assert [PLAIN.pause(attempt, limited(0.02)) for attempt in (1, 4)] == [0.02, 0.02]
    assert PLAIN.pause(1, limited(30)) == 30
    assert PLAIN.pause(3, limited(None)) == 2


def test_jitter_is_added_to_both() -> None:
    retries = Retries()
    assert 0.5 <= retries.pause(1, AWAY) <= 1.0
    assert 30 <= retries.pause(1, limited(30)) <= 30.5


@pytest.mark.parametrize(
    ("error", "left_seconds", "allowed"),
    [
        (AWAY, 0.1, True),
        (AuthenticationFailed("p", "no"), 100, False),
        (limited(None), 0.1, True),
        (limited(60), float("inf"), True),
        (limited(61), float("inf"), False),
        (limited(5), 4, False),
    ],
)
def test_what_cannot_succeed_in_time_is_not_tried_again(
    error: ProviderError, left_seconds: float, allowed: bool
) -> None:
    assert PLAIN.allow(error, left_seconds=left_seconds) is allowed


def calling(outcomes: list[ProviderError | int]) -> int:
    async def call() -> int:
        outcome = outcomes.pop(0)
        if isinstance(outcome, ProviderError):
            raise outcome
        return outcome

    return asyncio.run(retry(call, QUICK, may_retry=QUICK.allow))


def test_it_is_called_until_it_succeeds() -> None:
    assert calling([AWAY, limited(0), 7]) == 7


def test_the_last_error_is_raised_as_it_was() -> None:
    last = ProviderUnavailable("p", "the third")
    left: list[ProviderError | int] = [AWAY, AWAY, last, 7]
    with pytest.raises(ProviderUnavailable) as caught:
        calling(left)
    assert caught.value is last
    assert left == [7]


def test_a_permanent_error_is_raised_at_once() -> None:
    began = time.monotonic()
    left: list[ProviderError | int] = [AuthenticationFailed("p", "no"), 7]
    with pytest.raises(AuthenticationFailed):
        calling(left)
    assert left == [7]
    assert time.monotonic() - began < HANG_GUARD_SECONDS
