"""A deadline and a circuit breaker around calls that may fail, hang or return rubbish."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

from memory_core.threads import Backoff, Clock, Cooldown, NoAnswer, start_call, wait_for

Answer = TypeVar("Answer")

FAILURES = 3
BACKOFF = Backoff(first_seconds=5.0, longest_seconds=300.0)


class Refused(Exception):
    """The call was not made: the breaker is open, or an earlier call still hangs."""


@dataclass(frozen=True, slots=True)
class BreakerState:
    """The state of a breaker at one moment.

    Attributes:
        state: "closed" lets calls through, "open" refuses them, "half-open" lets one through as a trial.
        reason: The last failure; "" when there was none since the last success.
        retry_in_seconds: Until the next trial; 0 unless open.
    """

    state: Literal["closed", "open", "half-open"]
    reason: str
    retry_in_seconds: float


class Breaker:
    """Closed -> open after `failures` in a row -> one trial after a pause -> closed on success.

    The pause grows with each trial that fails. All methods may be called from several threads. The pattern is Nygard's
    (Release It!, 2007).
    """

    def __init__(
        self,
        *,
        failures: int = FAILURES,
        backoff: Backoff = BACKOFF,
        clock: Clock = time.monotonic,
    ) -> None:
        self._limit = failures
        self._lock = threading.Lock()
        self._cooldown = Cooldown(backoff, clock=clock)
        self._failed = 0
        self._trial = False
        self._reason = ""

    def admit(self) -> None:
        """Ask for a call; whoever is admitted reports it with `record_success`, `record_failure` or `release`.

        Raises:
            Refused: The breaker is open, or its one trial is under way.
        """
        with self._lock:
            if self._failed < self._limit:
                return
            if self._trial or self._cooldown.left_seconds > 0:
                raise Refused(self._reason)
            self._trial = True

    def record_success(self) -> None:
        """Close the breaker after a good call; the next pause is the first again."""
        with self._lock:
            self._failed, self._trial, self._reason = 0, False, ""
            self._cooldown.record_success()

    def record_failure(self, reason: str) -> None:
        """Count a call that failed; a failed trial makes the pause longer."""
        with self._lock:
            late = self._failed >= self._limit and not self._trial  # admitted before it opened: the same outage
            self._failed += 1
            self._reason = reason
            self._trial = False
            if self._failed >= self._limit and not late:
                self._cooldown.record_failure()

    def release(self) -> None:
        """End a call that said nothing of the backend's health: the caller was at fault, or its index is empty."""
        with self._lock:
            self._trial = False

    def read_state(self) -> BreakerState:
        """Return the state of this moment."""
        with self._lock:
            if self._failed < self._limit:
                return BreakerState("closed", self._reason, 0.0)
            left = self._cooldown.left_seconds
            return BreakerState("open" if left > 0 else "half-open", self._reason, left)


class Worker(Generic[Answer]):
    """Calls with a deadline. A call that hangs is abandoned in its daemon thread, and no other starts until it returns."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = threading.Lock()
        self._abandoned = 0

    @property
    def hanging(self) -> bool:
        """True while an abandoned call has not returned."""
        with self._lock:
            return self._abandoned > 0

    def call(self, work: Callable[[], Answer], timeout_seconds: float) -> Answer:
        """Return or raise what `work` does, if it does so in time.

        Raises:
            Refused: An earlier call still hangs.
            TimeoutError: No answer in time; the call is abandoned.
        """
        if self.hanging:
            raise Refused("an earlier call has not returned")
        call = start_call(work, name=f"memory-{self._name}")
        try:
            return wait_for(call, timeout_seconds)
        except NoAnswer:
            with self._lock:
                self._abandoned += 1
            call.add_done_callback(self._count_return)
            raise

    def _count_return(self, _: Future[Answer]) -> None:
        with self._lock:
            self._abandoned -= 1
