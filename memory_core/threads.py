"""Calls in daemon threads, which are waited for no longer than a deadline and can be shared, and pauses between attempts.

A thread cannot be ended from outside: a call that hangs is abandoned, and as a daemon it never keeps the process alive. The
standard library's executors do not serve for this: the interpreter joins their threads when it ends.
"""

from __future__ import annotations

import concurrent.futures
import contextvars
import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Generic, NamedTuple, TypeVar

T = TypeVar("T")


class NoAnswer(TimeoutError):
    """A call did not return in time. Only `wait_for` raises it, so that a call's own `TimeoutError` is told from it."""


def start_call(call: Callable[[], T], *, name: str) -> Future[T]:
    """Start a call in a daemon thread, with the context variables of the caller.

    Args:
        call: What it returns or raises ends up in the future. An exception that is meant to end the thread (`SystemExit`,
            `KeyboardInterrupt`) becomes a `RuntimeError`, because raised again by the waiting thread it would end the process.
        name: The thread's name.

    Returns:
        The call's future, which cannot be cancelled.
    """
    future: Future[T] = Future()
    future.set_running_or_notify_cancel()
    context = contextvars.copy_context()
    threading.Thread(target=context.run, args=(_run, call, future), name=name, daemon=True).start()
    return future


def wait_for(future: Future[T], seconds: float | None) -> T:
    """Wait for a call and return its result.

    Args:
        future: The call's future.
        seconds: How long to wait; 0 or less looks once, None waits for ever.

    Raises:
        NoAnswer: The call has not ended in time.
        Exception: Raised by the call.
    """
    if not concurrent.futures.wait((future,), None if seconds is None else max(0.0, seconds)).done:
        raise NoAnswer(f"no answer within {seconds:g} s")
    return future.result()


def _run(call: Callable[[], T], future: Future[T]) -> None:
    try:
        result = call()
    except Exception as error:  # noqa: BLE001 - raised by whoever waits for the result
        future.set_exception(error)
    except BaseException as error:  # noqa: BLE001 - the same
        ended = RuntimeError(repr(error))
        ended.__cause__ = error
        future.set_exception(ended)
    else:
        future.set_result(result)


def make_fork_lock() -> threading.RLock:
    """Return a lock for loading what a process has once. A fork waits until it is free, so that no child has half of it.

    Else a child would wait for ever, as its locks, those of imports too, may be held by a thread that only its parent has.
    """
    lock = threading.RLock()
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release)
    return lock


class SharedRun(Generic[T]):
    """Work that runs once at a time, in a daemon thread; callers who ask for it meanwhile share that run."""

    def __init__(self, name: str, work: Callable[[], T]) -> None:
        self._name = name
        self._work = work
        self._lock = threading.Lock()
        self._run: Future[T] | None = None

    def begin(self) -> Future[T]:
        """Return the current run, or start one."""
        with self._lock:
            if self._run is None or self._run.done():
                self._run = start_call(self._work, name=self._name)
            return self._run

    def is_running(self) -> bool:
        """Return True if a run is in progress."""
        return not self.wait(timeout_seconds=0)

    def wait(self, *, timeout_seconds: float) -> bool:
        """Wait until no run is in progress; return False if one still is."""
        with self._lock:
            run = self._run
        return run is None or bool(concurrent.futures.wait((run,), max(0.0, timeout_seconds)).done)


Clock = Callable[[], float]

_MOST_STEPS = 64  # of growth: a count of failures that was read from a file may be any number, and 2.0**1024 overflows


class Backoff(NamedTuple):
    """Pauses that double with every failure in a row.

    Attributes:
        first_seconds: The pause after the first failure.
        longest_seconds: The pause that no growth exceeds.
    """

    first_seconds: float
    longest_seconds: float

    def pause(self, failures: int, *, asked_seconds: float = 0.0) -> float:
        """Return the seconds to wait after a number of failures in a row.

        Args:
            failures: How many attempts failed in a row, at least 1.
            asked_seconds: A minimum that the other side asked for; it may exceed `longest_seconds`.
        """
        grown = self.first_seconds * 2.0 ** min(failures - 1, _MOST_STEPS)
        return max(min(grown, self.longest_seconds), asked_seconds)


class Cooldown:
    """Keeps something that failed from being tried until a pause is over. All methods may be called from several threads."""

    def __init__(self, backoff: Backoff, *, clock: Clock = time.monotonic) -> None:
        self._backoff = backoff
        self._clock = clock
        self._lock = threading.Lock()
        self._failures = 0
        self._ends_at = float("-inf")
        self._reason = ""

    @property
    def left_seconds(self) -> float:
        """Seconds until the pause is over; 0 when nothing is paused."""
        with self._lock:
            return max(self._ends_at - self._clock(), 0.0)

    @property
    def reason(self) -> str | None:
        """The failure that the pause follows; None when there is no pause now."""
        with self._lock:
            return self._reason if self._clock() < self._ends_at else None

    def record_failure(self, reason: str = "") -> None:
        """Begin a pause, longer than the one before."""
        with self._lock:
            self._failures += 1
            self._reason = reason
            self._ends_at = self._clock() + self._backoff.pause(self._failures)

    def record_success(self) -> None:
        """End the pause; the next one is the first again."""
        with self._lock:
            self._failures, self._ends_at = 0, float("-inf")
