"""Syncs in the background: one at a time, requested by searches, file events and a clock, ended by `close`."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future

from memory_core.errors import MemoryCoreError, SyncBusy, SyncStopped
from memory_core.records import SyncReport

log = logging.getLogger(__name__)

Run = Callable[[threading.Event], SyncReport]

SESSION_SECONDS = 5.0  # a turn of a conversation writes several lines
LONGEST_DEBOUNCES = 8  # a file that is written all the time is indexed after this many debounces
BUSY_PAUSE_SECONDS = 0.1  # until the next try while another process syncs: a small part of what a search waits
CLOSE_SECONDS = 10.0  # a sync stops between two steps; only a disk or a provider that hangs takes longer
THREAD = "memory-sync"
_CLOSED = "the memory was closed"


class Debounce:
    """The time of a sync that follows changes: a pause after the last change, bounded after the first.

    Attributes:
        due: In the seconds that `touch` is given; None while nothing has changed.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._first: float | None = None
        self.due: float | None = None

    def touch(self, now: float) -> None:
        """Record a change."""
        self._first = now if self._first is None else self._first
        self.due = min(now + self._seconds, self._first + LONGEST_DEBOUNCES * self._seconds)

    def clear(self) -> None:
        """Forget all changes, when a sync begins that sees them."""
        self._first = self.due = None


class BackgroundSync:
    """Runs the syncs of one index. The constructor starts nothing; the first request starts the one thread.

    Args:
        run: One whole sync; it checks the event it is given between steps and raises `SyncStopped` when it is set.
        debounce_seconds: From the last change of a note until a sync begins.
        session_seconds: From the last change of a session log until a sync begins.
        clock: Seconds that never go back.
        wait: Waits on a condition for a number of those seconds, or for ever.
    """

    def __init__(
        self,
        run: Run,
        *,
        debounce_seconds: float = 1.5,
        session_seconds: float = SESSION_SECONDS,
        clock: Callable[[], float] = time.monotonic,
        wait: Callable[[threading.Condition, float | None], object] = threading.Condition.wait,
    ) -> None:
        self._run = run
        self._notes = Debounce(debounce_seconds)
        self._sessions = Debounce(session_seconds)
        self._interval = 0.0
        self._clock = clock
        self._wait = wait
        self._wake = threading.Condition()
        self._thread: threading.Thread | None = None
        self._stop = threading.Event()
        self._requests: list[Future[SyncReport]] = []
        self._retry_at: float | None = None
        self._next_interval: float | None = None
        self._closed = False

    def request(self) -> Future[SyncReport]:
        """Request a sync that begins after this call; requests made before it begins share one future.

        Returns:
            Its report, or what it raised: `SyncStopped` when it was closed before or meanwhile.
        """
        with self._wake:
            if self._closed:
                future = _new_future()
                future.set_exception(SyncStopped(_CLOSED))
                return future
            if not self._requests:
                self._requests.append(_new_future())
            self._ensure_thread()
            return self._requests[-1]

    def record_note_change(self) -> None:
        """Sync soon, because a note has changed: after a pause without further changes, or after a bounded time."""
        self._touch(self._notes)

    def record_session_change(self) -> None:
        """Sync soon, because a session log has changed; this never delays what is due to a note."""
        self._touch(self._sessions)

    def set_interval(self, seconds: float) -> None:
        """Sync at least this often from now on; 0 is never."""
        with self._wake:
            self._interval = seconds
            self._next_interval = self._clock() + seconds if seconds else None
            if seconds:
                self._ensure_thread()

    def stop(self) -> None:
        """Begin no other sync, and stop a running one between two steps; returns at once."""
        with self._wake:
            self._closed = True
            self._stop.set()
            self._wake.notify_all()

    def close(self) -> bool:
        """Stop, and wait until the thread has ended; may be called twice.

        Returns:
            False if a sync still runs after `CLOSE_SECONDS`; it is left behind in its daemon thread.
        """
        self.stop()
        thread = self._thread
        if thread is None:
            return True
        thread.join(CLOSE_SECONDS)
        return not thread.is_alive()

    def _touch(self, changes: Debounce) -> None:
        with self._wake:
            changes.touch(self._clock())
            self._ensure_thread()

    def _ensure_thread(self) -> None:
        if not self._closed and self._thread is None:
            self._thread = threading.Thread(target=self._loop, name=THREAD, daemon=True)
            self._thread.start()
        self._wake.notify_all()

    def _loop(self) -> None:
        while (requests := self._next()) is not None:
            try:
                report = self._run(self._stop)
            except SyncBusy:
                with self._wake:  # those who wait for it wait on
                    self._retry_at = self._clock() + BUSY_PAUSE_SECONDS
                    self._requests = requests + self._requests
            except BaseException as error:  # the thread must live on; whoever waits gets the error
                if not isinstance(error, MemoryCoreError):
                    log.exception("sync failed")
                elif not isinstance(error, SyncStopped):
                    log.warning("sync failed: %s", error)
                for future in requests:
                    future.set_exception(error)
            else:
                for future in requests:
                    future.set_result(report)

    def _next(self) -> list[Future[SyncReport]] | None:
        """Wait until a sync is due, and return the requests for it; None when closed."""
        with self._wake:
            while not self._closed:
                due = self._due()
                if due is not None and due <= self._clock():
                    return self._take()
                self._wait(self._wake, None if due is None else due - self._clock())
            for future in self._take():
                future.set_exception(SyncStopped(_CLOSED))
            return None

    def _due(self) -> float | None:
        """Return when the next sync begins; None when nothing asks for one."""
        if self._retry_at is not None:
            return self._retry_at
        if self._requests:
            return self._clock()
        times = (self._notes.due, self._sessions.due, self._next_interval)
        return min((at for at in times if at is not None), default=None)

    def _take(self) -> list[Future[SyncReport]]:
        requests, self._requests = self._requests, []
        self._notes.clear()
        self._sessions.clear()
        self._retry_at = None
        if self._next_interval is not None:
            self._next_interval = self._clock() + self._interval
        return requests


def _new_future() -> Future[SyncReport]:
    """Make a future that none of those who share it can cancel."""
    future: Future[SyncReport] = Future()
    future.set_running_or_notify_cancel()
    return future
