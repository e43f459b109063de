"""A deadline and a circuit breaker around calls that may fail, hang or return rubbish."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

Answer = TypeVar("Answer")
Clock = Callable[[], float]

FAILURES = 3
FIRST_PAUSE_SECONDS = 5.0
LONGEST_PAUSE_SECONDS = 300.0


class Refused(Exception):
    """The call was not made: the breaker is open, or an earlier call still hangs."""


@dataclass(frozen=True, slots=True)
class BreakerState:
    """One look at a breaker.

    Attributes:
        state: "closed" lets calls through, "open" refuses them, "half-open" lets one through as a trial.
        reason: The last failure; "" when there was none since the last success.
        retry_in_seconds: Until the next trial; 0 unless open.
    """

    state: Literal["closed", "open", "half-open"]
    reason: str
    retry_in_seconds: float


class Breaker:
    """Closed -> open after `failures` in a row -> one trial after a pause, which doubles to `longest` -> closed on success.

    The pattern is Nygard's (Release It!, 2007). All methods may be called from several threads.
    """

    def __init__(
        self,
        *,
        failures: int = FAILURES,
        pause_seconds: float = FIRST_PAUSE_SECONDS,
        longest_seconds: float = LONGEST_PAUSE_SECONDS,
        clock: Clock = time.monotonic,
    ) -> None:
        self._limit = failures
        self._first = pause_seconds
        self._longest = longest_seconds
        self._clock = clock
        self._lock = threading.Lock()
        self._failed = 0
        self._pause = pause_seconds
        self._retry_at = 0.0
        self._trial = False
        self._reason = ""

    def admit(self) -> None:
        """Ask for a call; whoever is admitted reports `succeeded`, `failed` or `abstained`.

        Raises:
            Refused: The breaker is open, or its one trial is under way.
        """
        with self._lock:
            if self._failed < self._limit:
                return
            if self._trial or self._clock() < self._retry_at:
                raise Refused(self._reason)
            self._trial = True

    def succeeded(self) -> None:
        """The call was good: closed, and the pause starts small again."""
        with self._lock:
            self._failed, self._pause, self._trial, self._reason = 0, self._first, False, ""

    def failed(self, reason: str) -> None:
        """The call failed; the pause grows with every trial that does."""
        with self._lock:
            late = self._failed >= self._limit and not self._trial  # admitted before it opened: the same outage
            self._failed += 1
            self._reason = reason
            self._trial = False
            if self._failed >= self._limit and not late:
                self._retry_at = self._clock() + self._pause
                self._pause = min(2 * self._pause, self._longest)

    def abstained(self) -> None:
        """The call said nothing about the backend's health: the caller was at fault, or its index is empty."""
        with self._lock:
            self._trial = False

    def look(self) -> BreakerState:
        """The state now."""
        with self._lock:
            if self._failed < self._limit:
                return BreakerState("closed", self._reason, 0.0)
            left = self._retry_at - self._clock()
            return BreakerState("open" if left > 0 else "half-open", self._reason, max(left, 0.0))


class Worker(Generic[Answer]):
    """Calls with a deadline. A call that hangs is abandoned in its daemon thread, and no other starts until it returns."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = threading.Lock()
        self._abandoned = 0

    @property
    def hanging(self) -> bool:
        """Whether an abandoned call has not returned yet."""
        with self._lock:
            return self._abandoned > 0

    def call(self, work: Callable[[], Answer], timeout_seconds: float) -> Answer:
        """What `work` returns or raises, if it does so in time.

        Raises:
            Refused: An earlier call still hangs.
            TimeoutError: No answer in time; the call is abandoned.
        """
        if self.hanging:
            raise Refused("an earlier call has not returned")
        call = _Call(work)
        threading.Thread(target=call.run, name=f"memory-{self._name}", daemon=True).start()
        if call.done.wait(timeout_seconds):
            return call.outcome()
        with self._lock:
            self._abandoned += 1
        call.when_done(self._returned)
        raise TimeoutError(f"no answer within {timeout_seconds:g} s")

    def _returned(self) -> None:
        with self._lock:
            self._abandoned -= 1


class _Call(Generic[Answer]):
    """One piece of work with its outcome."""

    def __init__(self, work: Callable[[], Answer]) -> None:
        self.done = threading.Event()
        self._work = work
        self._answer: list[Answer] = []
        self._error: BaseException | None = None
        self._lock = threading.Lock()
        self._then: Callable[[], None] | None = None

    def run(self) -> None:
        try:
            self._answer.append(self._work())
        except BaseException as error:  # noqa: BLE001 -- carried to the caller, whatever it is
            self._error = error
        with self._lock:
            self.done.set()
            then = self._then
        if then is not None:
            then()

    def outcome(self) -> Answer:
        if self._error is not None:
            raise self._error
        return self._answer[0]

    def when_done(self, then: Callable[[], None]) -> None:
        """Call `then` once the work has ended, at once if it has."""
        with self._lock:
            if not self.done.is_set():
                self._then = then
                return
        then()
