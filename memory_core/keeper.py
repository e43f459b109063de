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
BUSY_PAUSE_SECONDS = 0.1  # until the next try while another process syncs: a small part of what a search waits
CLOSED = "the memory was closed"


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
        clock: Seconds that never go back.
        wait: Waits on a condition for so many of those seconds, or for ever.
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
        self._waiting: list[Ticket] = []
        self._again_at: float | None = None
        self._next_interval: float | None = None
        self._closed = False

    def now(self) -> Ticket:
        """Ask for a sync that begins after this call; requests that come before it begins share it."""
        with self._wake:
            if not self._waiting:
                self._waiting.append(Ticket())
            ticket = self._waiting[-1]
            if self._closed:
                ticket.settle(None, SyncStopped(CLOSED))
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

    def stop(self) -> None:
        """Begin no other sync, and stop a running one between two steps; returns at once."""
        with self._wake:
            self._closed = True
            self._stop.set()
            self._wake.notify_all()

    def close(self) -> None:
        """Stop, and wait until the thread has ended; may be called twice."""
        self.stop()
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
        while (tickets := self._next()) is not None:
            report: SyncReport | None = None
            problem: BaseException | None = None
            try:
                report = self._run(self._stop)
            except SyncBusy:
                self._again(tickets)
                continue
            except MemoryCoreError as error:
                if not isinstance(error, SyncStopped):
                    log.warning("sync failed: %s", error)
                problem = error
            except BaseException as error:  # the thread must live on; who waits is told
                log.exception("sync failed")
                problem = error
            for ticket in tickets:
                ticket.settle(report, problem)

    def _again(self, tickets: list[Ticket]) -> None:
        """Try later what another process kept us from; who waits for it waits on."""
        with self._wake:
            self._again_at = self._clock() + BUSY_PAUSE_SECONDS
            self._waiting = tickets + self._waiting

    def _next(self) -> list[Ticket] | None:
        """Wait until a sync is due; who waits for it, or None when the keeper is closed."""
        with self._wake:
            while not self._closed:
                due = self._due()
                if due is not None and due <= self._clock():
                    return self._take()
                self._wait(self._wake, None if due is None else due - self._clock())
            for ticket in self._waiting:
                ticket.settle(None, SyncStopped(CLOSED))
            return None

    def _due(self) -> float | None:
        """When the next sync begins; None when nothing asks for one."""
        if self._again_at is not None:
            return self._again_at
        if self._waiting:
            return self._clock()
        times = (self._notes.due, self._sessions.due, self._next_interval)
        return min((at for at in times if at is not None), default=None)

    def _take(self) -> list[Ticket]:
        tickets, self._waiting = self._waiting, []
        self._notes.settle()
        self._sessions.settle()
        self._again_at = None
        if self._next_interval is not None:
            self._next_interval = self._clock() + self._interval
        return tickets
