"""An event loop in a thread of its own, so that requests run side by side and end at once when they are cancelled.

Nothing starts before the first `submit`. The thread is a daemon: a request that hangs never keeps the process alive. Every
future that `submit` returned is settled at the latest when `close` returns, even where a coroutine blocks the thread.
What runs in the loop may be tried again; see `Retries`.
"""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Awaitable, Callable, Coroutine, Generator, Iterable
from concurrent.futures import Future
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeVar

from memory_core.errors import ProviderError, RateLimited
from memory_core.threads import start_call

T = TypeVar("T")

# How long close() waits for cancelled requests to unwind; they only close sockets.
UNWIND_SECONDS = 5.0


class BackgroundLoop:
    """Runs coroutines in a daemon thread. Safe to use from any thread."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._closed = False
        self._unsettled: set[Future[Any]] = set()

    def submit(self, work: Callable[[], Coroutine[Any, Any, T]]) -> Future[T]:
        """Start a coroutine and return its future, which can be waited for and cancelled; a cancelled one after `close`."""
        with self._lock:
            if self._closed:
                refused = Future[T]()
                refused.cancel()
                return refused
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=self._run, args=(self._loop,), name=self._name, daemon=True)
                self._thread.start()
            future = asyncio.run_coroutine_threadsafe(work(), self._loop)
            self._unsettled.add(future)
        future.add_done_callback(self._unsettled.discard)
        return future

    def run_all(self, works: Iterable[Callable[[], Coroutine[Any, Any, T]]], *, most: int) -> Generator[T]:
        """Run coroutines, at most `most` at a time, and yield the result of each as it ends.

        The next one is asked for when there is room for it. What still runs when nobody asks for more is cancelled.

        Raises:
            CancelledError: The loop was closed.
        """
        waiting = iter(works)
        ended: queue.SimpleQueue[Future[T]] = queue.SimpleQueue()
        running: set[Future[T]] = set()
        try:
            while True:
                for work in islice(waiting, most - len(running)):
                    future = self.submit(work)
                    running.add(future)
                    future.add_done_callback(ended.put)
                if not running:
                    return
                future = ended.get()
                running.discard(future)
                yield future.result()
        finally:
            for future in running:
                future.cancel()

    def close(self, last: Callable[[], Awaitable[None]]) -> tuple[str, ...]:
        """Cancel all that runs, then run `last` if the loop ever ran, then end the thread; may be called twice.

        Returns:
            The name of the thread if a coroutine blocks it still; it is left behind as a daemon.
        """
        with self._lock:
            first, self._closed = not self._closed, True
            loop, thread = self._loop, self._thread
        if loop is None or thread is None:
            return ()
        if first:
            asyncio.run_coroutine_threadsafe(_unwind(last), loop)
        thread.join(UNWIND_SECONDS)
        if not thread.is_alive():
            return ()
        self._settle()
        return (self._name,)

    def _run(self, loop: asyncio.AbstractEventLoop) -> None:
        try:
            loop.run_forever()
        finally:
            self._settle()
            loop.close()

    def _settle(self) -> None:
        """Cancel the futures of coroutines that never began, or that do not end."""
        for future in tuple(self._unsettled):
            future.cancel()


async def _unwind(last: Callable[[], Awaitable[None]]) -> None:
    """Cancel all other tasks, wait for their end, run `last`, and stop the loop."""
    loop = asyncio.get_running_loop()
    others = _list_others()
    for task in others:
        task.cancel()
    try:
        async with asyncio.timeout(UNWIND_SECONDS):
            await asyncio.gather(*others, return_exceptions=True)
            await last()
            await loop.shutdown_asyncgens()
            while ending := _list_others():  # generators that end themselves, and what they hold
                await asyncio.gather(*ending, return_exceptions=True)
    except TimeoutError:
        pass  # a coroutine that does not let itself be cancelled; its future is settled without it
    finally:
        loop.call_soon(loop.stop)  # behind the callbacks that settle the futures of ended tasks


def _list_others() -> set[asyncio.Task[Any]]:
    return asyncio.all_tasks() - {asyncio.current_task()}


async def run_in_thread(call: Callable[[], T]) -> T:
    """Run a blocking call in a daemon thread of its own; when the waiting task is cancelled, the call is abandoned."""
    return await asyncio.wrap_future(start_call(call, name="memory-core-blocking"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Retries:
    """The limits of trying a request again.

    Attributes:
        attempts: The most attempts, the first one included.
        first_seconds: The pause after the first attempt; each pause is twice as long as the one before.
        longest_seconds: The longest such pause.
        jitter_seconds: Up to this much is added to every pause at random, so that clients do not come back all at once.
        patience_seconds: The longest Retry-After that is waited for.
    """

    attempts: int = 4
    first_seconds: float = 0.5
    longest_seconds: float = 8.0
    jitter_seconds: float = 0.5
    patience_seconds: float = 60.0

    def allow(self, error: ProviderError, *, left_seconds: float | None = None) -> bool:
        """Return True if the request may succeed later, and the pause that the provider asks for is short enough."""
        asked = _asked_seconds(error)
        longest = self.patience_seconds if left_seconds is None else min(self.patience_seconds, left_seconds)
        return error.retryable and (asked is None or asked <= longest)

    async def run(
        self, call: Callable[[], Awaitable[T]], *, may_retry: Callable[[ProviderError], bool] | None = None
    ) -> T:
        """Call until it succeeds, an error may not be retried, or the attempts are used up.

        Args:
            call: Called for each attempt.
            may_retry: Says after an error if there is another attempt; None asks `allow`.

        Raises:
            ProviderError: Raised by the last attempt.
        """
        import tenacity

        allow = may_retry or self.allow
        grow = tenacity.wait_exponential(multiplier=self.first_seconds, max=self.longest_seconds)

        def pause(state: tenacity.RetryCallState) -> float:
            asked = _asked_seconds(state.outcome.exception() if state.outcome else None)
            return grow(state) if asked is None else asked

        async def attempt() -> T:  # tenacity awaits what it can see is a coroutine function, which a lambda is not
            return await call()

        return await tenacity.AsyncRetrying(
            retry=tenacity.retry_if_exception(lambda error: isinstance(error, ProviderError) and allow(error)),
            stop=tenacity.stop_after_attempt(self.attempts),
            wait=tenacity.wait_combine(pause, tenacity.wait_random(0, self.jitter_seconds)),
            reraise=True,
        )(attempt)


def _asked_seconds(error: BaseException | None) -> float | None:
    """Return the pause that a provider asks for; None if it asks for none."""
    return error.retry_after_seconds if isinstance(error, RateLimited) else None
