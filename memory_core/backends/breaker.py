"""A backend that is not trusted to return: calls with a deadline, behind a circuit breaker, and reasons why they failed."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

from memory_core.errors import (
    BackendError,
    BackendUnavailable,
    InvalidArgument,
    MemoryCoreError,
    NotIndexed,
    PathRefused,
    SyncBusy,
    SyncStopped,
)
from memory_core.hookspecs import BackendPlugin
from memory_core.threads import Backoff, Clock, Cooldown, NoAnswer, start_call, wait_for

if TYPE_CHECKING:
    from memory_core.backends.loader import RegisteredBackend

log = logging.getLogger(__name__)

Answer = TypeVar("Answer")

FAILURES = 3
BACKOFF = Backoff(first_seconds=5.0, longest_seconds=60.0)
# Errors that say nothing about a backend's health. The caller is at fault, or was refused:
NOT_FAILURES = (InvalidArgument, PathRefused, NotIndexed)
# The call was cancelled, or another process is at work:
_NOT_DONE = (SyncBusy, SyncStopped)


class Refused(Exception):
    """The call was not made: the breaker is open, or an earlier call still hangs."""


# Their messages are written for people. Of all others ("'scope'", "list index out of range") the type says more.
_TELLING = (MemoryCoreError, OSError, Refused)


class BreakerState(NamedTuple):
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
    """Closed -> open after `FAILURES` in a row -> one trial after a pause -> closed on success.

    The pause grows with each trial that fails. All methods may be called from several threads. The pattern is Nygard's
    (Release It!, 2007).
    """

    def __init__(self, *, clock: Clock = time.monotonic) -> None:
        self._lock = threading.Lock()
        self._cooldown = Cooldown(BACKOFF, clock=clock)
        self._failed = 0
        self._trial = False
        self._reason = ""

    def admit(self) -> None:
        """Ask for a call; whoever is admitted reports it with `record_success`, `record_failure` or `release`.

        Raises:
            Refused: The breaker is open, or its one trial is under way.
        """
        with self._lock:
            if self._failed < FAILURES:
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
            late = self._failed >= FAILURES and not self._trial  # admitted before it opened: the same outage
            self._failed += 1
            self._reason = reason
            self._trial = False
            if self._failed >= FAILURES and not late:
                self._cooldown.record_failure()

    def release(self) -> None:
        """End a call that said nothing of the backend's health: the caller was at fault, or its index is empty."""
        with self._lock:
            self._trial = False

    def read_state(self) -> BreakerState:
        """Return the state of this moment."""
        with self._lock:
            if self._failed < FAILURES:
                return BreakerState("closed", self._reason, 0.0)
            left = self._cooldown.left_seconds
            return BreakerState("open" if left > 0 else "half-open", self._reason, left)


def explain_error(error: BaseException) -> str:
    """Return what went wrong and what to do about it, for a place that names the backend already."""
    if isinstance(error, BackendError):
        return f"{error.reason}; {error.action}" if error.action else error.reason
    name, message = type(error).__name__, str(error)
    if not message:
        return name
    return message if isinstance(error, _TELLING) else f"{name}: {message}"


def log_error(log: logging.Logger, backend: str, what: str, error: BaseException) -> None:
    """Log a warning with the error's type; at level DEBUG with its traceback, so that a plugin's author finds the line."""
    reason = explain_error(error)
    name = type(error.__cause__ or error).__name__  # the loader wraps what a plugin raised
    log.warning(
        "backend %r %s: %s",
        backend,
        what,
        reason if name in reason else f"{reason} ({name})",
        exc_info=error if log.isEnabledFor(logging.DEBUG) else None,
    )


class GuardedBackend:
    """A backend that is not trusted to return: each call has a deadline, and a breaker."""

    def __init__(self, backend: RegisteredBackend, plugin: BackendPlugin, breaker: Breaker) -> None:
        self.breaker = breaker
        self._backend = backend
        self._plugin = plugin
        self._abandoned: list[Future[Any]] = []  # calls that hang; no other starts until they return

    def call(self, work: Callable[[RegisteredBackend], Answer], *, long: bool, counted: bool) -> Answer:
        """Run one call within its deadline.

        Args:
            work: Calls the backend.
            long: Allow it the time of a sync.
            counted: Ask the breaker first, and tell it the outcome.

        Raises:
            Refused: The breaker is open, or an earlier call hangs.
            Exception: Whatever the backend raised, or TimeoutError.
        """
        if counted:
            self.breaker.admit()
        try:
            answer = self._call_within(
                work, self._plugin.sync_timeout_seconds if long else self._plugin.timeout_seconds
            )
        except BaseException as error:
            if counted:
                self._record_error(error)
            raise
        if counted:
            self.breaker.record_success()
        return answer

    def close(self) -> tuple[str, ...]:
        """Close the backend within its deadline; return a sentence about what kept it from closing."""
        try:
            closed = self._call_within(lambda backend: backend.memory_close(), self._plugin.timeout_seconds)
        except Exception as error:  # noqa: BLE001 -- closing goes on with the others
            log_error(log, self._backend.name, "did not close", error)
            return (f"backend {self._backend.name!r} did not close: {explain_error(error)}",)
        return () if closed else (f"backend {self._backend.name!r} did not close: it left something running",)

    def _call_within(self, work: Callable[[RegisteredBackend], Answer], timeout_seconds: float | None) -> Answer:
        """Return or raise what `work` does, if it does so in time; a call that hangs is abandoned in its daemon thread.

        Raises:
            Refused: An earlier call still hangs.
            TimeoutError: No answer in time.
        """
        if timeout_seconds is None:
            return work(self._backend)
        self._abandoned = [each for each in self._abandoned if not each.done()]
        if self._abandoned:
            raise Refused("an earlier call has not returned")
        call = start_call(lambda: work(self._backend), name=f"memory-{self._backend.name}")
        try:
            return wait_for(call, timeout_seconds)
        except NoAnswer:
            self._abandoned.append(call)
            raise

    def _record_error(self, error: BaseException) -> None:
        interrupted = not isinstance(error, Exception)  # as by Ctrl-C
        uncounted = isinstance(error, BackendUnavailable) and not error.counts_as_failure
        if interrupted or uncounted or isinstance(error, (*NOT_FAILURES, *_NOT_DONE)):
            self.breaker.release()
        else:
            self.breaker.record_failure(explain_error(error))
