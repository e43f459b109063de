"""Work that several callers share."""

from __future__ import annotations

import threading

from memory_core.threads import SharedRun
from tests.waiting import HANG_GUARD_SECONDS


def test_callers_share_a_run_until_it_ends() -> None:
    may_end = threading.Event()
    runs: list[int] = []

    def work() -> int:
        runs.append(len(runs))
        assert may_end.wait(HANG_GUARD_SECONDS)
        return len(runs)

    shared = SharedRun("test", work)
    assert shared.wait(timeout_seconds=0)
    first, second = shared.begin(), shared.begin()
    assert first is second
    assert shared.is_running()
    assert not shared.wait(timeout_seconds=0.01)
    may_end.set()
    assert shared.wait(timeout_seconds=HANG_GUARD_SECONDS)
    assert (first.result(), runs, shared.is_running()) == (1, [0], False)
    assert shared.begin().result(HANG_GUARD_SECONDS) == 2
