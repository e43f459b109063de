"""Retries of one request: how often, how patiently, and after which errors."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from memory_core.errors import ProviderError, RateLimited
from memory_core.threads import Backoff

T = TypeVar("T")

REQUESTS = Backoff(first_seconds=0.5, longest_seconds=8.0, jitter_seconds=0.5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Retries:
    """The limits of trying a request again.

    Attributes:
        attempts: How often a request is sent at most, the first time included.
        backoff: The pauses between attempts, unless the provider asks for another.
        patience_seconds: The longest Retry-After that is waited for.
    """

    attempts: int = 4
    backoff: Backoff = REQUESTS
    patience_seconds: float = 60.0

    def allow(self, error: ProviderError, *, left_seconds: float = float("inf")) -> bool:
        """Return True if the request may succeed later, and the pause that the provider asks for is short enough."""
        asked = _asked_seconds(error)
        return error.retryable and (asked is None or asked <= min(self.patience_seconds, left_seconds))

    def pause(self, attempt: int, error: ProviderError) -> float:
        """Return the seconds to wait after an attempt: those that the provider asks for, else the back-off's."""
        asked = _asked_seconds(error)
        return self.backoff.pause(attempt) if asked is None else self.backoff.jitter(asked)


def _asked_seconds(error: ProviderError) -> float | None:
    return error.retry_after_seconds if isinstance(error, RateLimited) else None


async def retry(call: Callable[[], Awaitable[T]], retries: Retries, *, may_retry: Callable[[ProviderError], bool]) -> T:
    """Call until it succeeds, an error may not be retried, or the attempts are used up.

    The loop is tenacity's, which sleeps so that a cancelled task ends at once and raises the last error as it was; how long
    the pauses are is the business of `Backoff`, as everywhere.

    Raises:
        ProviderError: Raised by the last attempt.
    """
    import tenacity

    async def once() -> T:  # tenacity awaits what it can see is a coroutine function, which a lambda is not
        return await call()

    def pause(state: tenacity.RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome else None
        assert isinstance(error, ProviderError)
        return retries.pause(state.attempt_number, error)

    return await tenacity.AsyncRetrying(
        retry=tenacity.retry_if_exception(lambda error: isinstance(error, ProviderError) and may_retry(error)),
        stop=tenacity.stop_after_attempt(retries.attempts),
        wait=pause,
        reraise=True,
    )(once)
