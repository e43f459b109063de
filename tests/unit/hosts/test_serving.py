"""A server that stays lets go of what it keeps when nobody has called for a while."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from memory_core.hosts.serving import resting_when_quiet
from tests.waiting import HANG_GUARD_SECONDS, eventually

if TYPE_CHECKING:
    import pytest


class Kept:
    """Counts how often it was let go of."""

    def __init__(self) -> None:
        self.rests = 0

    def rest(self) -> None:
        self.rests += 1


def test_a_server_that_nobody_calls_rests_again_and_again() -> None:
    kept = Kept()
    called = threading.Event()
    with resting_when_quiet(kept.rest, called, seconds=0.02):
        assert eventually(lambda: kept.rests >= 2)
        called.set()
        rests = kept.rests
        assert eventually(lambda: kept.rests > rests)


def test_a_server_that_is_called_does_not_rest() -> None:
    kept = Kept()
    called = threading.Event()
    with resting_when_quiet(kept.rest, called, seconds=HANG_GUARD_SECONDS):
        for _ in range(10):
            called.set()
            time.sleep(0.01)
    assert kept.rests == 0


def test_it_ends_with_its_block() -> None:
    kept = Kept()
    with resting_when_quiet(kept.rest, threading.Event(), seconds=0.01):
        assert eventually(lambda: kept.rests > 0)
    assert eventually(lambda: all(thread.name != "memory-core-rest" for thread in threading.enumerate()))


def test_a_rest_that_fails_is_logged_and_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    kept = Kept()

    def fail() -> None:
        kept.rest()
        raise OSError("the disk is gone")

    with resting_when_quiet(fail, threading.Event(), seconds=0.01):
        assert eventually(lambda: kept.rests >= 2)
    assert "the disk is gone" in caplog.text
