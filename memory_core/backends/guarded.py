"""A chosen backend behind a deadline and a circuit breaker."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TypeVar

from memory_core.backends.breaker import Breaker, Worker
from memory_core.backends.loader import RegisteredBackend
from memory_core.backends.reasons import explain_error, log_error
from memory_core.errors import BackendUnavailable, InvalidArgument, NotIndexed, PathRefused, SyncBusy, SyncStopped
from memory_core.hookspecs import BackendPlugin

log = logging.getLogger(__name__)

Answer = TypeVar("Answer")

# Errors that say nothing about a backend's health. The caller is at fault, or was refused:
NOT_FAILURES = (InvalidArgument, PathRefused, NotIndexed)
# The call was cancelled, or another process is at work:
_NOT_DONE = (SyncBusy, SyncStopped)


class GuardedBackend:
    """A backend that is not trusted to return: deadline, breaker, one abandoned worker at most."""

    def __init__(self, backend: RegisteredBackend, plugin: BackendPlugin, breaker: Breaker) -> None:
        self.breaker = breaker
        self._backend = backend
        self._plugin = plugin
        self._worker: Worker[object] = Worker(backend.name)

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
        if timeout_seconds is None:
            return work(self._backend)
        answer: Answer = self._worker.call(lambda: work(self._backend), timeout_seconds)  # type: ignore[assignment]
        return answer

    def _record_error(self, error: BaseException) -> None:
        interrupted = not isinstance(error, Exception)  # as by Ctrl-C
        uncounted = isinstance(error, BackendUnavailable) and not error.counts_as_failure
        if interrupted or uncounted or isinstance(error, (*NOT_FAILURES, *_NOT_DONE)):
            self.breaker.release()
        else:
            self.breaker.record_failure(explain_error(error))
