"""Syncs in the background: one at a time, asked for by searches, file events and a clock, ended by `close`."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from memory_core.errors import MemoryCoreError, SyncBusy, SyncStopped
from memory_core.records import SyncReport

log = logging.getLogger(__name__)

Run = Callable[[threading.Event], SyncReport]

SESSION_SECONDS = 5.0  # a turn of a conversation writes several lines
LONGEST_DEBOUNCES = 8  # a file that never rests is indexed all the same, after so many debounces
BUSY_PAUSE_SECONDS = 1.0  # until the next try while another process syncs


class Ticket:
    """One asked-for sync: how it ended, once it has."""

    def __init__(self) -> None:
        self._done = threading.Event()
        self._report: SyncReport | None = None
        self._error: BaseException | None = None

    def wait(self, seconds: float) -> SyncReport | None:
        """The report, or None when the sync still runs after `seconds`.

        Raises:
            MemoryCoreError: What the sync raised.
        """
        if not self._done.wait(seconds):
            return None
        if self._error is not None:
            raise self._error
        return self._report

    def settle(self, report: SyncReport | None, error: BaseException | None) -> None:
        """The sync has ended."""
        self._report, self._error = report, error
        self._done.set()


class Debounce:
    """When a sync is due: so long after the last of some changes, but not for ever after the first.

    Attributes:
        due: By the clock that `touch` is told; None when nothing has changed.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._first: float | None = None
        self.due: float | None = None

    def touch(self, now: float) -> None:
        """Something has changed."""
        self._first = now if self._first is None else self._first
        self.due = min(now + self._seconds, self._first + LONGEST_DEBOUNCES * self._seconds)

    def settle(self) -> None:
        """A sync begins, which sees all changes so far."""
        self._first = self.due = None


class Keeper:
    """Keeps one index level. Making one starts nothing; the one thread begins with the first request.

    Args:
        run: One whole sync; it looks at the event it is given between steps and raises `SyncStopped` when it is set.
        debounce_seconds: How long after the last change of a note a sync begins.
        session_seconds: The same for session logs.
    """

    def __init__(
        self,
        run: Run,
        *,
        debounce_seconds: float = 1.5,
        session_seconds: float = SESSION_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._run = run
        self._notes = Debounce(debounce_seconds)
        self._sessions = Debounce(session_seconds)
        self._interval = 0.0
        self._clock = clock
        self._wake = threading.Condition()
        self._thread: threading.Thread | None = None
        self._stop = threading.Event()
        self._waiting: Ticket | None = None
        self._again_at: float | None = None
        self._next_interval: float | None = None
        self._closed = False

    def now(self) -> Ticket:
        """Ask for a sync that begins after this call; requests that come before it begins share it."""
        with self._wake:
            if self._waiting is None:
                self._waiting = Ticket()
            ticket = self._waiting
            if self._closed:
                ticket.settle(None, SyncStopped("the memory was closed"))
            else:
                self._ensure_thread()
        return ticket

    def changed(self) -> None:
        """A note has changed: a sync begins when none has changed for a while, or after several such whiles."""
        self._touch(self._notes)

    def session_changed(self) -> None:
        """The same for a session log; it never delays what is due to a note."""
        self._touch(self._sessions)

    def every(self, seconds: float) -> None:
        """A sync at least so often from now on; 0 is never."""
        with self._wake:
            self._interval = seconds
            self._next_interval = self._clock() + seconds if seconds else None
            if seconds:
                self._ensure_thread()

    def close(self) -> None:
        """Stop a running sync between two steps, end the thread; may be called twice."""
        with self._wake:
            self._closed = True
            self._stop.set()
            self._wake.notify_all()
            thread = self._thread
        if thread is not None:
            thread.join()

    def _touch(self, changes: Debounce) -> None:
        with self._wake:
            changes.touch(self._clock())
            self._ensure_thread()

    def _ensure_thread(self) -> None:
        if not self._closed and self._thread is None:
            self._thread = threading.Thread(target=self._loop, name="memory-keeper", daemon=True)
            self._thread.start()
        self._wake.notify_all()

    def _loop(self) -> None:
        while (ticket := self._next()) is not None:
            try:
                report = self._run(self._stop)
            except SyncBusy as error:
                ticket.settle(None, error)
                self._again(BUSY_PAUSE_SECONDS)
            except MemoryCoreError as error:
                if not isinstance(error, SyncStopped):
                    log.warning("sync failed: %s", error)
                ticket.settle(None, error)
            except BaseException as error:  # the thread must live on; who waits is told
                log.exception("sync failed")
                ticket.settle(None, error)
            else:
                ticket.settle(report, None)

    def _again(self, seconds: float) -> None:
        """Try later what another process kept us from."""
        with self._wake:
            self._again_at = self._clock() + seconds

    def _next(self) -> Ticket | None:
        """Wait until a sync is due; its ticket, or None when the keeper is closed."""
        with self._wake:
            while not self._closed:
                dues = (self._notes.due, self._sessions.due, self._again_at, self._next_interval)
                times = [at for at in dues if at is not None]
                if self._waiting is not None or (times and min(times) <= self._clock()):
                    return self._take()
                self._wake.wait(min(times) - self._clock() if times else None)
            if self._waiting is not None:
                self._waiting.settle(None, SyncStopped("the memory was closed"))
            return None

    def _take(self) -> Ticket:
        ticket, self._waiting = self._waiting or Ticket(), None
        self._notes.settle()
        self._sessions.settle()
        self._again_at = None
        if self._next_interval is not None:
            self._next_interval = self._clock() + self._interval
        return ticket
