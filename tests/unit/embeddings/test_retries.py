"""Which errors are worth another attempt, and how long the pause before it is."""

from __future__ import annotations

import asyncio
import threading
import time
from dataclasses import replace

import pytest

from memory_core.embeddings.remote.loop import Retries
from memory_core.errors import AuthenticationFailed, ProviderError, ProviderUnavailable, RateLimited
from tests.waiting import HANG_GUARD_SECONDS

PLAIN = Retries(jitter_seconds=0)
QUICK = Retries(attempts=3, first_seconds=0.001, longest_seconds=0.001, jitter_seconds=0)
AWAY = ProviderUnavailable("p", "away")


def limited(seconds: float | None) -> RateLimited:
    return RateLimited("p", "slow down", retry_after_seconds=seconds)


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses between attempts, none of which is waited for."""
    found: list[float] = []
    here, sleep = threading.get_ident(), asyncio.sleep

    async def note(seconds: float) -> None:
        if threading.get_ident() == here:
            found.append(seconds)
        else:  # a loop that another test has left behind
            await sleep(seconds)

    monkeypatch.setattr(asyncio, "sleep", note)
    return found


def fail(retries: Retries, error: ProviderError) -> None:
    """Use up all attempts."""

    async def call() -> None:
        raise error

    with pytest.raises(type(error)):
        asyncio.run(retries.run(call))


def test_pauses_double_and_a_pause_that_was_asked_for_is_kept_as_it_is(pauses: list[float]) -> None:
    patient = replace(PLAIN, attempts=7)
    for error, expected in (
        (AWAY, [0.5, 1, 2, 4, 8, 8]),
        (limited(0.02), [0.02] * 6),
        (limited(30), [30] * 6),
        (limited(None), [0.5, 1, 2, 4, 8, 8]),
    ):
        pauses.clear()
        fail(patient, error)
        assert pauses == expected


def test_jitter_is_added_to_both(pauses: list[float]) -> None:
    for error, least in ((AWAY, 0.5), (limited(30), 30)):
        pauses.clear()
        fail(Retries(attempts=2), error)
        assert len(pauses) == 1
        assert least <= pauses[0] <= least + 0.5


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

    return asyncio.run(QUICK.run(call))


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
