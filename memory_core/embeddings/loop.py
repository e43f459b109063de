"""An event loop in a thread of its own, so that requests run side by side and end at once when they are cancelled.

Nothing starts before the first `submit`. The thread is a daemon: a request that hangs never keeps the process alive.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")

# How long close() waits for cancelled requests to unwind; they only close sockets.
UNWIND_SECONDS = 5.0


class LoopClosed(Exception):
    """The loop was closed before, or while, something was submitted to it."""


class BackgroundLoop:
    """Runs coroutines in a daemon thread. Safe to use from any thread."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._closed = False

    def submit(self, work: Callable[[], Coroutine[Any, Any, T]]) -> Future[T]:
        """Start a coroutine; the future can be waited for, and cancelled.

        Raises:
            LoopClosed: After `close`.
        """
        with self._lock:
            if self._closed:
                raise LoopClosed
            return asyncio.run_coroutine_threadsafe(work(), self._running())

    def close(self, last: Callable[[], Awaitable[None]]) -> None:
        """Cancel all that runs, then run `last` if anything ever ran, then end the thread; may be called twice."""
        with self._lock:
            first, self._closed = not self._closed, True
        if first and self._loop is not None and self._thread is not None:
            asyncio.run_coroutine_threadsafe(self._unwind(last), self._loop)
            self._thread.join(UNWIND_SECONDS)

    def _running(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            self._thread = threading.Thread(target=self._run, args=(self._loop,), name=self._name, daemon=True)
            self._thread.start()
        return self._loop

    @staticmethod
    def _run(loop: asyncio.AbstractEventLoop) -> None:
        try:
            loop.run_forever()
        finally:
            loop.close()

    @staticmethod
    async def _unwind(last: Callable[[], Awaitable[None]]) -> None:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        try:
            await last()
        finally:
            asyncio.get_running_loop().stop()


async def in_daemon_thread(call: Callable[[], T]) -> T:
    """Run a blocking call in a daemon thread of its own; when the waiting task is cancelled, the call is abandoned.

    The default executor would be joined when the interpreter ends, and hold it up for as long as the call hangs.
    """
    loop = asyncio.get_running_loop()
    outcome: asyncio.Future[T] = loop.create_future()

    def deliver(settle: Callable[[Any], None], value: object) -> None:
        if not outcome.done():
            settle(value)

    def run() -> None:
        settle: Callable[[Any], None] = outcome.set_result
        value: object
        try:
            value = call()
        except BaseException as error:  # noqa: BLE001 - handed to the task that waits for it
            settle, value = outcome.set_exception, error
        if not loop.is_closed():
            loop.call_soon_threadsafe(deliver, settle, value)

    threading.Thread(target=run, name="memory-core-blocking", daemon=True).start()
    return await outcome
