"""When syncs begin, by a clock that the test moves; who shares them, and what they tell those who wait."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_core.errors import StoreFull, SyncBusy, SyncStopped
from memory_core.keeper import BUSY_PAUSE_SECONDS, LONGEST_DEBOUNCES, Debounce, Keeper
from memory_core.records import SyncReport

PATIENCE_SECONDS = 20.0


class Time:
    """A clock that stands still until it is moved; tells when the keeper sleeps."""

    def __init__(self) -> None:
        self.now = 100.0
        self._asleep = threading.Event()
        self._condition: threading.Condition | None = None

    def __call__(self) -> float:
        return self.now

    def wait(self, condition: threading.Condition, seconds: float | None) -> None:
        """What the keeper calls instead of waiting for real seconds."""
        assert seconds is None or seconds > 0
        self._condition = condition
        self._asleep.set()
        condition.wait()

    def settled(self) -> None:
        """Wait until the keeper has done all that is due, and sleeps."""
        self.advance(0)

    def advance(self, seconds: float) -> None:
        """Move on, and let the keeper do what is due."""
        assert self._asleep.wait(PATIENCE_SECONDS)
        assert self._condition is not None
        with self._condition:
            self._asleep.clear()
            self.now += seconds
            self._condition.notify_all()
        assert self._asleep.wait(PATIENCE_SECONDS)


class Runs:
    """A sync that notes when it ran, and does what the test says."""

    def __init__(self, time: Time) -> None:
        self.at: list[float] = []
        self.then: Callable[[threading.Event], None] = lambda _stop: None
        self._time = time

    def __call__(self, stop: threading.Event) -> SyncReport:
        self.at.append(self._time.now)
        self.then(stop)
        return SyncReport(files=len(self.at), chunks=0)


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def runs(time: Time) -> Runs:
    return Runs(time)


@pytest.fixture
def keeper(runs: Runs, time: Time) -> Iterator[Keeper]:
    made = Keeper(runs, debounce_seconds=2, session_seconds=5, clock=time, wait=time.wait)
    yield made
    made.close()


def test_making_one_starts_nothing(keeper: Keeper) -> None:
    assert not [thread for thread in threading.enumerate() if thread.name == "memory-keeper"]


def test_a_sync_begins_when_nothing_has_changed_for_a_while(keeper: Keeper, runs: Runs, time: Time) -> None:
    for _ in range(3):
        keeper.changed()
        time.advance(1.5)
    assert runs.at == []
    time.advance(0.5)
    assert runs.at == [105.0]
    time.advance(1000)
    assert len(runs.at) == 1


def test_a_note_that_never_rests_is_indexed_all_the_same(keeper: Keeper, runs: Runs, time: Time) -> None:
    for _ in range(80):
        keeper.changed()
        time.advance(0.5)
    assert runs.at == [100.0 + LONGEST_DEBOUNCES * 2, 100.0 + 2 * LONGEST_DEBOUNCES * 2]


def test_sessions_wait_longer_and_delay_no_note(keeper: Keeper, runs: Runs, time: Time) -> None:
    keeper.session_changed()
    time.advance(4)
    assert runs.at == []
    time.advance(1)
    assert runs.at == [105.0]
    keeper.session_changed()
    keeper.changed()
    time.advance(1)
    keeper.session_changed()
    time.advance(1)
    assert runs.at == [105.0, 107.0]
    time.advance(100)
    assert len(runs.at) == 2  # it saw the session too


@given(gaps=st.lists(st.floats(0, 30), min_size=1, max_size=30), seconds=st.floats(0.01, 10))
def test_a_debounce_ends_between_one_and_several_of_its_lengths(gaps: list[float], seconds: float) -> None:
    debounce, now, first = Debounce(seconds), 0.0, None
    for gap in gaps:
        now += gap
        if debounce.due is not None and debounce.due <= now:
            debounce.settle()
            first = None
        first = now if first is None else first
        debounce.touch(now)
        assert debounce.due is not None
        assert min(now + seconds, first + LONGEST_DEBOUNCES * seconds) == debounce.due >= first
    debounce.settle()
    assert debounce.due is None


def test_an_interval_counts_from_the_last_sync(keeper: Keeper, runs: Runs, time: Time) -> None:
    keeper.every(60)
    time.advance(59)
    assert runs.at == []
    time.advance(1)
    time.advance(60)
    assert runs.at == [160.0, 220.0]
    time.advance(30)
    keeper.now().wait(PATIENCE_SECONDS)
    time.advance(59)
    assert runs.at == [160.0, 220.0, 250.0]
    time.advance(1)
    assert runs.at == [160.0, 220.0, 250.0, 310.0]
    keeper.every(0)
    time.advance(1000)
    assert len(runs.at) == 4


def test_requests_that_come_before_it_begins_share_a_sync(keeper: Keeper, runs: Runs) -> None:
    begun, go = threading.Event(), threading.Event()

    def held(_stop: threading.Event) -> None:
        begun.set()
        assert go.wait(PATIENCE_SECONDS)

    runs.then = held
    first = keeper.now()
    assert begun.wait(PATIENCE_SECONDS)
    others = [keeper.now() for _ in range(5)]
    assert first.wait(0) is None
    go.set()
    reports = [ticket.wait(PATIENCE_SECONDS) for ticket in (first, *others)]
    assert [report.files for report in reports if report] == [1, 2, 2, 2, 2, 2]
    assert len(runs.at) == 2


def test_a_change_while_a_sync_runs_is_seen_by_another(keeper: Keeper, runs: Runs, time: Time) -> None:
    runs.then = lambda _stop: keeper.changed() if len(runs.at) == 1 else None
    keeper.now().wait(PATIENCE_SECONDS)
    time.advance(2)
    assert runs.at == [100.0, 102.0]


def test_who_asks_while_another_process_syncs_waits_on(keeper: Keeper, runs: Runs, time: Time) -> None:
    def busy_twice(_stop: threading.Event) -> None:
        if len(runs.at) < 3:
            raise SyncBusy("another process")

    runs.then = busy_twice
    ticket = keeper.now()
    time.settled()
    assert ticket.wait(0) is None
    later = keeper.now()
    time.advance(BUSY_PAUSE_SECONDS)
    assert ticket.wait(0) is None
    time.advance(BUSY_PAUSE_SECONDS)
    assert (ticket.wait(0), later.wait(0)) == (SyncReport(files=3, chunks=0),) * 2
    assert len(runs.at) == 3


def test_a_change_that_met_a_busy_index_is_tried_again(keeper: Keeper, runs: Runs, time: Time) -> None:
    def busy_once(_stop: threading.Event) -> None:
        if len(runs.at) == 1:
            raise SyncBusy("another process")

    runs.then = busy_once
    keeper.changed()
    time.advance(2)
    time.advance(BUSY_PAUSE_SECONDS)
    assert len(runs.at) == 2
    time.advance(1000)
    assert len(runs.at) == 2


@pytest.mark.parametrize("error", [StoreFull(Path("main.sqlite"), "full"), ZeroDivisionError("a defect")], ids=repr)
def test_who_waits_is_told_what_went_wrong_and_the_thread_lives_on(
    error: Exception, keeper: Keeper, runs: Runs, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(_stop: threading.Event) -> None:
        raise error

    runs.then = fail
    with pytest.raises(type(error)):
        keeper.now().wait(PATIENCE_SECONDS)
    assert "sync failed" in caplog.text
    runs.then = lambda _stop: None
    assert keeper.now().wait(PATIENCE_SECONDS)


def test_closing_stops_the_sync_that_runs_and_ends_the_thread(keeper: Keeper, runs: Runs) -> None:
    begun = threading.Event()

    def until_stopped(stop: threading.Event) -> None:
        begun.set()
        assert stop.wait(PATIENCE_SECONDS)
        raise SyncStopped("stopped")

    runs.then = until_stopped
    running = keeper.now()
    assert begun.wait(PATIENCE_SECONDS)
    waiting = keeper.now()
    keeper.close()
    for ticket in (running, waiting, keeper.now()):
        with pytest.raises(SyncStopped):
            ticket.wait(0)
    assert not [thread for thread in threading.enumerate() if thread.name == "memory-keeper"]
    keeper.changed()
    keeper.every(1)
    keeper.close()
    assert not [thread for thread in threading.enumerate() if thread.name == "memory-keeper"]
    assert len(runs.at) == 1
