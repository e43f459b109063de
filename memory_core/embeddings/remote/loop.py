"""An event loop in a thread of its own, so that requests run side by side and end at once when they are cancelled.

Nothing starts before the first `submit`. The thread is a daemon: a request that hangs never keeps the process alive. Every
future that `submit` returned is settled at the latest when `close` returns, even where a coroutine blocks the thread.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

from memory_core.threads import start_call

T = TypeVar("T")

# How long close() waits for cancelled requests to unwind; they only close sockets.
UNWIND_SECONDS = 5.0


class LoopClosed(Exception):
    """Something was submitted to a loop that is closed."""


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
        """Start a coroutine and return its future, which can be waited for and cancelled.

        Raises:
            LoopClosed: After `close`.
        """
        future: Future[T] = Future()
        with self._lock:
            if self._closed:
                raise LoopClosed
            loop = self._start()
            self._unsettled.add(future)
            loop.call_soon_threadsafe(_begin, loop, work, future)
        future.add_done_callback(self._unsettled.discard)
        return future

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
            loop.call_soon_threadsafe(_begin, loop, partial(self._unwind, last), Future())
        thread.join(UNWIND_SECONDS)
        self._settle()
        return (self._name,) if thread.is_alive() else ()

    def _start(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            self._thread = threading.Thread(target=self._run, args=(self._loop,), name=self._name, daemon=True)
            self._thread.start()
        return self._loop

    def _run(self, loop: asyncio.AbstractEventLoop) -> None:
        try:
            loop.run_forever()
        finally:
            loop.close()
            self._settle()

    def _settle(self) -> None:
        """Cancel the futures of coroutines that never began, or that do not end."""
        for future in tuple(self._unsettled):
            future.cancel()

    @staticmethod
    async def _unwind(last: Callable[[], Awaitable[None]]) -> None:
        others = _list_others()
        for task in others:
            task.cancel()
        try:
            async with asyncio.timeout(UNWIND_SECONDS):
                await asyncio.gather(*others, return_exceptions=True)
                await last()
                await asyncio.get_running_loop().shutdown_asyncgens()
                await asyncio.gather(*_list_others(), return_exceptions=True)  # generators that end themselves
        except TimeoutError:
            pass  # a coroutine that does not let itself be cancelled; its future is settled without it
        finally:
            asyncio.get_running_loop().stop()


def _list_others() -> set[asyncio.Task[Any]]:
    this = asyncio.current_task()
    return {task for task in asyncio.all_tasks() if task is not this}


def _begin(loop: asyncio.AbstractEventLoop, work: Callable[[], Coroutine[Any, Any, T]], future: Future[T]) -> None:
    """Start a coroutine as a task whose cancellation is tied to that of its future."""
    if future.cancelled():
        return
    task = loop.create_task(_run_into(future, work))

    def cancel_task(ended: Future[T]) -> None:
        if ended.cancelled():
            with suppress(RuntimeError):  # the loop is closed, and the task with it
                loop.call_soon_threadsafe(task.cancel)

    future.add_done_callback(cancel_task)


async def _run_into(future: Future[T], work: Callable[[], Coroutine[Any, Any, T]]) -> None:
    """Await a coroutine and settle its future before the task ends.

    A callback of the task would run an iteration later, which a loop that is stopped in this one has no more.
    """
    try:
        result = await work()
    except asyncio.CancelledError:
        future.cancel()
        raise
    except Exception as error:  # noqa: BLE001 - raised by whoever waits for the future
        if future.set_running_or_notify_cancel():
            future.set_exception(error)
    else:
        if future.set_running_or_notify_cancel():
            future.set_result(result)


async def run_in_thread(call: Callable[[], T]) -> T:
    """Run a blocking call in a daemon thread of its own; when the waiting task is cancelled, the call is abandoned."""
    return await asyncio.wrap_future(start_call(call, name="memory-core-blocking"))
