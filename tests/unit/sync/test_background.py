"""When syncs begin, by a clock that the test moves; who shares them, and what they tell those who wait."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_core.errors import StoreFull, SyncBusy, SyncStopped
from memory_core.records import SyncReport
from memory_core.sync.background import BUSY_PAUSE_SECONDS, LONGEST_DEBOUNCES, BackgroundSync, Debounce

PATIENCE_SECONDS = 60.0


class Time:
    """A clock that stands still until it is moved; tells when the thread sleeps."""

    def __init__(self) -> None:
        self.now = 100.0
        self._asleep = threading.Event()
        self._condition: threading.Condition | None = None

    def __call__(self) -> float:
        return self.now

    def wait(self, condition: threading.Condition, seconds: float | None) -> None:
        """Let the thread wait until the test lets it go on, instead of for real seconds."""
        assert seconds is None or seconds > 0
        self._condition = condition
        self._asleep.set()
        condition.wait()

    def settled(self) -> None:
        """Wait until the thread has done all that is due, and sleeps."""
        self.advance(0)

    def advance(self, seconds: float) -> None:
        """Move on, and let the thread do what is due."""
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
def background(runs: Runs, time: Time) -> Iterator[BackgroundSync]:
    made = BackgroundSync(runs, debounce_seconds=2, session_seconds=5, clock=time, wait=time.wait)
    yield made
    made.close()


def test_making_one_starts_nothing(background: BackgroundSync) -> None:
    assert not [thread for thread in threading.enumerate() if thread.name == "memory-sync"]


def test_a_sync_begins_when_nothing_has_changed_for_a_while(background: BackgroundSync, runs: Runs, time: Time) -> None:
    for _ in range(3):
        background.record_note_change()
        time.advance(1.5)
    assert runs.at == []
    time.advance(0.5)
    assert runs.at == [105.0]
    time.advance(1000)
    assert len(runs.at) == 1


def test_a_note_that_never_rests_is_indexed_all_the_same(background: BackgroundSync, runs: Runs, time: Time) -> None:
    for _ in range(80):
        background.record_note_change()
        time.advance(0.5)
    assert runs.at == [100.0 + LONGEST_DEBOUNCES * 2, 100.0 + 2 * LONGEST_DEBOUNCES * 2]


def test_sessions_wait_longer_and_delay_no_note(background: BackgroundSync, runs: Runs, time: Time) -> None:
    background.record_session_change()
    time.advance(4)
    assert runs.at == []
    time.advance(1)
    assert runs.at == [105.0]
    background.record_session_change()
    background.record_note_change()
    time.advance(1)
    background.record_session_change()
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
            debounce.clear()
            first = None
        first = now if first is None else first
        debounce.touch(now)
        assert debounce.due is not None
        assert min(now + seconds, first + LONGEST_DEBOUNCES * seconds) == debounce.due >= first
    debounce.clear()
    assert debounce.due is None


def test_an_interval_counts_from_the_last_sync(background: BackgroundSync, runs: Runs, time: Time) -> None:
    background.set_interval(60)
    time.advance(59)
    assert runs.at == []
    time.advance(1)
    time.advance(60)
    assert runs.at == [160.0, 220.0]
    time.advance(30)
    background.request().result(PATIENCE_SECONDS)
    time.advance(59)
    assert runs.at == [160.0, 220.0, 250.0]
    time.advance(1)
    assert runs.at == [160.0, 220.0, 250.0, 310.0]
    background.set_interval(0)
    time.advance(1000)
    assert len(runs.at) == 4


def test_requests_that_come_before_it_begins_share_a_sync(background: BackgroundSync, runs: Runs) -> None:
    begun, go = threading.Event(), threading.Event()

    def held(_stop: threading.Event) -> None:
        begun.set()
        assert go.wait(PATIENCE_SECONDS)

    runs.then = held
    first = background.request()
    assert begun.wait(PATIENCE_SECONDS)
    others = [background.request() for _ in range(5)]
    assert not first.done()
    go.set()
    reports = [future.result(PATIENCE_SECONDS) for future in (first, *others)]
    assert [report.files for report in reports] == [1, 2, 2, 2, 2, 2]
    assert len(runs.at) == 2


def test_none_of_those_who_share_a_sync_can_cancel_it(background: BackgroundSync, runs: Runs, time: Time) -> None:
    def busy_once(_stop: threading.Event) -> None:
        if len(runs.at) == 1:
            raise SyncBusy("another process")

    runs.then = busy_once
    mine, theirs = background.request(), background.request()
    assert not mine.cancel()
    time.settled()
    assert not mine.cancel()
    time.advance(BUSY_PAUSE_SECONDS)
    assert theirs.result(PATIENCE_SECONDS) == SyncReport(files=2, chunks=0)


def test_a_change_while_a_sync_runs_is_seen_by_another(background: BackgroundSync, runs: Runs, time: Time) -> None:
    runs.then = lambda _stop: background.record_note_change() if len(runs.at) == 1 else None
    background.request().result(PATIENCE_SECONDS)
    time.advance(2)
    assert runs.at == [100.0, 102.0]


def test_who_asks_while_another_process_syncs_waits_on(background: BackgroundSync, runs: Runs, time: Time) -> None:
    def busy_twice(_stop: threading.Event) -> None:
        if len(runs.at) < 3:
            raise SyncBusy("another process")

    runs.then = busy_twice
    first = background.request()
    time.settled()
    assert not first.done()
    later = background.request()
    time.advance(BUSY_PAUSE_SECONDS)
    assert not first.done()
    time.advance(BUSY_PAUSE_SECONDS)
    assert (first.result(0), later.result(0)) == (SyncReport(files=3, chunks=0),) * 2
    assert len(runs.at) == 3


def test_a_change_that_met_a_busy_index_is_tried_again(background: BackgroundSync, runs: Runs, time: Time) -> None:
    def busy_once(_stop: threading.Event) -> None:
        if len(runs.at) == 1:
            raise SyncBusy("another process")

    runs.then = busy_once
    background.record_note_change()
    time.advance(2)
    time.advance(BUSY_PAUSE_SECONDS)
    assert len(runs.at) == 2
    time.advance(1000)
    assert len(runs.at) == 2


@pytest.mark.parametrize("error", [StoreFull(Path("main.sqlite"), "full"), ZeroDivisionError("a defect")], ids=repr)
def test_who_waits_is_told_what_went_wrong_and_the_thread_lives_on(
    error: Exception, background: BackgroundSync, runs: Runs, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(_stop: threading.Event) -> None:
        raise error

    runs.then = fail
    with pytest.raises(type(error)):
        background.request().result(PATIENCE_SECONDS)
    assert "sync failed" in caplog.text
    runs.then = lambda _stop: None
    assert background.request().result(PATIENCE_SECONDS) == SyncReport(files=2, chunks=0)


def test_closing_stops_the_sync_that_runs_and_ends_the_thread(background: BackgroundSync, runs: Runs) -> None:
    begun = threading.Event()

    def until_stopped(stop: threading.Event) -> None:
        begun.set()
        assert stop.wait(PATIENCE_SECONDS)
        raise SyncStopped("stopped")

    runs.then = until_stopped
    running = background.request()
    assert begun.wait(PATIENCE_SECONDS)
    waiting = background.request()
    background.close()
    for future in (running, waiting, background.request()):
        with pytest.raises(SyncStopped):
            future.result(0)
    assert not [thread for thread in threading.enumerate() if thread.name == "memory-sync"]
    background.record_note_change()
    background.set_interval(1)
    background.close()
    assert not [thread for thread in threading.enumerate() if thread.name == "memory-sync"]
    assert len(runs.at) == 1
