"""Calls in daemon threads: what comes back, when waiting ends, and what is left behind."""

from __future__ import annotations

import asyncio
import contextvars
import threading
import time

import pytest

from memory_core.threads import NoAnswer, start_call, wait_for
from tests.waiting import HANG_GUARD_SECONDS, eventually


def test_a_result_and_an_error_come_back() -> None:
    assert wait_for(start_call(lambda: 7, name="test"), 10) == 7
    with pytest.raises(ZeroDivisionError):
        wait_for(start_call(lambda: 1 // 0, name="test"), None)


def test_a_call_that_hangs_is_left_behind_in_a_daemon_thread() -> None:
    release = threading.Event()
    call = start_call(release.wait, name="memory-test-hangs")
    began = time.monotonic()
    with pytest.raises(NoAnswer, match=r"no answer within 0\.01 s"):
        wait_for(call, 0.01)
    assert time.monotonic() - began < HANG_GUARD_SECONDS
    assert [thread.daemon for thread in threading.enumerate() if thread.name == "memory-test-hangs"] == [True]
    release.set()
    assert wait_for(call, 10)
    assert eventually(lambda: "memory-test-hangs" not in {thread.name for thread in threading.enumerate()})


@pytest.mark.parametrize("seconds", [0, -3.5])
def test_without_time_it_looks_once(seconds: float) -> None:
    release = threading.Event()
    call = start_call(release.wait, name="test")
    with pytest.raises(NoAnswer):
        wait_for(call, seconds)
    release.set()
    wait_for(call, None)
    assert wait_for(call, seconds) is True


def test_a_timeout_of_the_call_itself_is_no_missing_answer() -> None:
    def time_out() -> None:
        raise TimeoutError("its own")

    with pytest.raises(TimeoutError, match="its own") as caught:
        wait_for(start_call(time_out, name="test"), 10)
    assert not isinstance(caught.value, NoAnswer)


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt()], ids=repr)
def test_what_would_end_the_thread_does_not_end_who_waits(error: BaseException) -> None:
    def end() -> None:
        raise error

    with pytest.raises(RuntimeError) as caught:
        wait_for(start_call(end, name="test"), 10)
    assert caught.value.__cause__ is error


def test_a_running_call_cannot_be_cancelled() -> None:
    release = threading.Event()
    call = start_call(release.wait, name="test")
    assert not call.cancel()
    release.set()
    assert wait_for(call, 10) is True


def test_context_variables_go_along() -> None:
    name: contextvars.ContextVar[str] = contextvars.ContextVar("name", default="none")
    name.set("mine")
    assert wait_for(start_call(name.get, name="test"), 10) == "mine"


def test_a_task_that_waits_for_a_call_can_be_cancelled() -> None:
    release = threading.Event()

    async def cancel_it() -> float:
        waiting = asyncio.ensure_future(asyncio.wrap_future(start_call(release.wait, name="test")))
        await asyncio.sleep(0.01)
        began = time.monotonic()
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        return time.monotonic() - began

    assert asyncio.run(cancel_it()) < 5
    release.set()  # the loop is closed by now, and the abandoned call ends without a word
    assert eventually(lambda: "test" not in {thread.name for thread in threading.enumerate()})
