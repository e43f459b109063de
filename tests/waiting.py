"""Time in tests: a clock that stands still, and waiting for what a thread or process is about to do."""

from __future__ import annotations

import time
from collections.abc import Callable

HANG_GUARD_SECONDS = 30.0  # what a busy machine needs at most for something that takes a moment


class Clock:
    """Seconds that pass when told to."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def eventually(holds: Callable[[], object], *, seconds: float = 30.0) -> bool:
    """Wait until it holds; return False if the time is up before."""
    until = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > until:
            return False
        time.sleep(0.005)
    return True
