"""The background loop settles every future, however it is closed, and says what it left."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import threading
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from concurrent.futures import CancelledError, Future
from functools import partial
from typing import Any

import pytest

from memory_core.embeddings.remote import loop as module
from memory_core.embeddings.remote.loop import BackgroundLoop
from tests.waiting import HANG_GUARD_SECONDS, eventually


@pytest.fixture(autouse=True)
def no_thread_left() -> Iterator[None]:
    """Wait for the threads that a test's loops left behind, lest a later test find them."""
    yield
    assert eventually(lambda: all(thread.name != "memory-core-test" for thread in threading.enumerate()))


async def nothing() -> None:
    """The last thing to run, where nothing is to be done."""


async def block(seconds: float) -> None:
    """Hold up the whole loop, as the parsing of a large answer does."""
    time.sleep(seconds)


async def answer() -> str:
    return "done"


def test_a_request_that_ends_while_the_loop_closes_is_settled() -> None:
    for pause in (0.0, 0.05):
        loop = BackgroundLoop("memory-core-test")
        loop.submit(lambda: block(0.3))
        time.sleep(pause)
        second = loop.submit(answer)
        closer = threading.Thread(target=loop.close, args=(nothing,))
        closer.start()
        with contextlib.suppress(CancelledError):  # it had not begun
            assert second.result(timeout=HANG_GUARD_SECONDS) == "done"
        closer.join(HANG_GUARD_SECONDS)
        assert not closer.is_alive()


def test_all_futures_are_settled_by_a_close_in_their_midst() -> None:
    for _ in range(30):
        loop = BackgroundLoop("memory-core-test")
        futures: list[Future[str]] = []

        def feed(loop: BackgroundLoop = loop, futures: list[Future[str]] = futures) -> None:
            futures.extend(loop.submit(answer) for _ in range(200))

        feeder = threading.Thread(target=feed)
        feeder.start()
        time.sleep(0.001)
        assert loop.close(nothing) == ()
        feeder.join(HANG_GUARD_SECONDS)
        assert all(future.done() for future in futures)


def test_a_loop_that_is_blocked_is_left_behind_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "UNWIND_SECONDS", 0.2)
    loop = BackgroundLoop("memory-core-test")
    go = threading.Event()

    async def hang() -> None:
        go.wait(2 * HANG_GUARD_SECONDS)

    hanging, waiting = loop.submit(hang), loop.submit(answer)
    began = time.monotonic()
    assert loop.close(nothing) == ("memory-core-test",)
    assert time.monotonic() - began < HANG_GUARD_SECONDS
    for future in (hanging, waiting):
        with pytest.raises(CancelledError):
            future.result(timeout=0)
    go.set()


def test_a_coroutine_that_cannot_be_cancelled_is_settled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "UNWIND_SECONDS", 0.2)
    loop = BackgroundLoop("memory-core-test")
    begun = threading.Event()

    async def cling() -> None:
        begun.set()
        for _ in range(50):
            try:
                await asyncio.sleep(0.05)
            except asyncio.CancelledError:
                continue

    future = loop.submit(cling)
    assert begun.wait(HANG_GUARD_SECONDS)
    loop.close(nothing)
    with pytest.raises(CancelledError):
        future.result(timeout=HANG_GUARD_SECONDS)


def test_cancelling_a_future_ends_its_task() -> None:
    loop = BackgroundLoop("memory-core-test")
    begun, ended = threading.Event(), threading.Event()

    async def wait() -> None:
        begun.set()
        try:
            await asyncio.sleep(30)
        finally:
            ended.set()

    future = loop.submit(wait)
    assert begun.wait(HANG_GUARD_SECONDS)
    assert future.cancel()
    assert ended.wait(HANG_GUARD_SECONDS)
    loop.close(nothing)


def test_a_generator_that_is_left_suspended_is_ended_before_the_loop(caplog: pytest.LogCaptureFixture) -> None:
    """As the body of an answer of which only the first bytes are read when the loop closes."""
    begun, ended = threading.Event(), threading.Event()

    async def count() -> AsyncIterator[int]:
        try:
            yield 1
        finally:
            await asyncio.sleep(0.05)
            ended.set()

    async def read_first() -> None:
        async for _ in count():
            begun.set()
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(60)
            break

    loop = BackgroundLoop("memory-core-test")
    loop.submit(read_first)
    assert begun.wait(30)
    assert loop.close(nothing) == ()
    gc.collect()
    assert ended.is_set()
    assert "was destroyed" not in caplog.text


def test_coroutines_run_side_by_side_within_a_bound_and_are_asked_for_when_there_is_room() -> None:
    loop = BackgroundLoop("memory-core-test")
    running, most, asked = 0, 0, list[int]()

    async def work(number: int) -> int:
        nonlocal running, most
        running, most = running + 1, max(most, running + 1)
        await asyncio.sleep(0.02 * (number % 3))
        running -= 1
        return number

    def list_works() -> Iterator[Callable[[], Coroutine[Any, Any, int]]]:
        for number in range(10):
            asked.append(number)
            yield partial(work, number)

    results = []
    for result in loop.run_all(list_works(), most=3):
        results.append(result)
        assert len(asked) <= len(results) + 3
    assert sorted(results) == [*range(10)]
    assert most == 3
    loop.close(nothing)


def test_what_still_runs_is_cancelled_when_nobody_asks_for_more() -> None:
    loop = BackgroundLoop("memory-core-test")
    ended: list[str] = []

    async def work(seconds: float) -> str:
        try:
            await asyncio.sleep(seconds)
        except asyncio.CancelledError:
            ended.append("cancelled")
            raise
        return "done"

    results = loop.run_all([partial(work, 0.0), partial(work, 60.0)], most=2)
    assert next(results) == "done"
    results.close()
    assert eventually(lambda: ended == ["cancelled"])
    loop.close(nothing)
    with pytest.raises(CancelledError):
        next(loop.run_all([partial(work, 0.0)], most=1))
