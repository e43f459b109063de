"""A server that stays lets go of what it keeps when nobody has called for a while."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from memory_core.hosts.serving import RestWhenQuiet
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
    quiet = RestWhenQuiet(kept.rest, seconds=0.02)
    with quiet:
        assert eventually(lambda: kept.rests >= 2)
        quiet.note_call()
        rests = kept.rests
        assert eventually(lambda: kept.rests > rests)


def test_a_server_that_is_called_does_not_rest() -> None:
    kept = Kept()
    quiet = RestWhenQuiet(kept.rest, seconds=HANG_GUARD_SECONDS)
    with quiet:
        for _ in range(10):
            quiet.note_call()
            time.sleep(0.01)
    assert kept.rests == 0


def test_it_ends_with_its_block() -> None:
    kept = Kept()
    with RestWhenQuiet(kept.rest, seconds=0.01):
        assert eventually(lambda: kept.rests > 0)
    assert eventually(lambda: all(thread.name != "memory-core-rest" for thread in threading.enumerate()))


def test_a_rest_that_fails_is_logged_and_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    kept = Kept()

    def fail() -> None:
        kept.rest()
        raise OSError("the disk is gone")

    with RestWhenQuiet(fail, seconds=0.01):
        assert eventually(lambda: kept.rests >= 2)
    assert "the disk is gone" in caplog.text
