"""Calls in daemon threads of their own, which are waited for no longer than a deadline.

A thread cannot be ended from outside: a call that hangs is abandoned, and as a daemon it never keeps the process alive. The
standard library's executors do not serve for this: the interpreter joins their threads when it ends.
"""

from __future__ import annotations

import concurrent.futures
import contextvars
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

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
