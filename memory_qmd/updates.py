"""The times at which QMD's index is updated: before a search, after a change, on boot and on intervals."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from dataclasses import dataclass

from memory_core.errors import BackendUnavailable, MemoryCoreError, SyncBusy, SyncStopped
from memory_core.records import SyncReport
from memory_core.threads import NoAnswer, SharedRun, start_call, wait_for
from memory_qmd.client import QmdContext
from memory_qmd.config import parse_duration
from memory_qmd.indexing import IndexCheck, Indexer

log = logging.getLogger(__name__)

Task = Callable[[], None]

UPDATE_SHARE = 0.5  # of the time for a search: the most that it waits for an update
CLOSE_SECONDS = 5.0
COSTLY_SECONDS = 0.05  # a comparison of the files with the index that takes longer is reused
GOOD_FOR = 20.0  # times its duration, so that at most a twentieth of the time is spent comparing


@dataclass(slots=True)
class Freshness:
    """The state of the index as one search finds it.

    Attributes:
        check: The comparison with the files; None if this session may not write the index.
        stale: Files have changed since the index was updated.
        warning: The reason why an update failed; None if none did.
    """

    check: IndexCheck | None = None
    stale: bool = False
    warning: str | None = None


class Updates:
    """Updates one agent's index. Making one starts nothing."""

    def __init__(self, qmd: QmdContext, indexer: Indexer, *, writable: bool) -> None:
        self._on_search = qmd.config.search.sync
        self._settings = qmd.settings.update
        self._indexer = indexer
        self._writable = writable
        self._updating = SharedRun("memory-qmd-update", self._update)
        self._embedding = SharedRun("memory-qmd-embed", self._embed)
        self._schedule = _Schedule()
        self._costly_check: tuple[float, IndexCheck] | None = None
        self._started = False

    def start(self) -> bool:
        """Update on boot and on intervals from now on; True if this call started it."""
        if self._started or not self._writable:
            return False
        self._started = True
        update_seconds, embed_seconds = map(parse_duration, (self._settings.interval, self._settings.embed_interval))
        self._schedule.add(self._update_quietly, interval_seconds=update_seconds, at_once=self._settings.on_boot)
        self._schedule.add(self._embed_if_due, interval_seconds=embed_seconds, at_once=False)
        self._schedule.start()
        return True

    def close(self) -> bool:
        """End the schedule and what runs; the client should have been closed before, which stops it. False if it goes on."""
        until = time.monotonic() + CLOSE_SECONDS
        scheduled = self._schedule.close(timeout_seconds=CLOSE_SECONDS)
        runs = [run.wait(timeout_seconds=until - time.monotonic()) for run in (self._updating, self._embedding)]
        return scheduled and all(runs)

    def request(self) -> None:
        """Update after the debounce if the schedule runs, else at once in a thread; returns at once."""
        if self._started:
            self._schedule.hasten(self._update_quietly, delay_seconds=self._settings.debounce_ms / 1000)
        elif self._writable:
            self._updating.begin()

    def is_embedding(self) -> bool:
        """Return True if QMD is embedding in the background."""
        return self._embedding.is_running()

    def update_before_search(self, deadline: float) -> Freshness:
        """Update the index if files have changed, in a share of a search's time; a slow update continues in the background.

        Args:
            deadline: `time.monotonic()` at which the search must end.

        Raises:
            BackendUnavailable: The first update, without which there is no index, failed.
        """
        if not self._writable:
            return Freshness()
        check = self._check()
        first = check.rebuild or not self._indexer.database.path.exists()
        if not check.due or not (first or self._on_search.on_search):
            return Freshness(check)
        pause = self._settings.debounce_ms / 1000 - (time.time() - check.state.updated_at)
        if not first and pause > 0:
            self._schedule.hasten(self._update_quietly, delay_seconds=pause)
            return Freshness(check, stale=True)
        wait = UPDATE_SHARE * (deadline - time.monotonic())
        if not first:
            wait = min(wait, self._on_search.on_search_budget_ms / 1000)
        return self._wait_for_update(check, wait, needed=first)

    def _check(self) -> IndexCheck:
        """Check the index; a check that takes long, because there are many files, is reused for a while."""
        reused = self._costly_check
        if reused is not None and time.monotonic() < reused[0]:
            return reused[1]
        began = time.monotonic()
        check = self._indexer.check()
        ended = time.monotonic()
        costly = ended - began > COSTLY_SECONDS and not check.due
        self._costly_check = (ended + GOOD_FOR * (ended - began), check) if costly else None
        return check

    def _wait_for_update(self, check: IndexCheck, wait_seconds: float, *, needed: bool) -> Freshness:
        try:
            wait_for(self._updating.begin(), wait_seconds)
        except NoAnswer:
            return Freshness(check, stale=True)
        except BackendUnavailable as error:
            if needed:
                raise
            return Freshness(check, stale=True, warning=f"QMD's index could not be updated: {error}")
        except MemoryCoreError as error:
            log.info("the update of QMD's index is put off: %s", error)
            return Freshness(check, stale=True)
        return Freshness(check)

    def _update(self) -> SyncReport:
        report = self._indexer.update()
        if self._started:
            self._embed_if_due()
        return report

    def _update_quietly(self) -> None:
        try:
            self._updating.begin().result()
        except (SyncBusy, SyncStopped) as error:
            log.debug("%s", error)
        except MemoryCoreError as error:
            log.warning("%s", error)

    def _embed(self) -> None:
        try:
            problem = self._indexer.embed(download=True)
        except (SyncBusy, SyncStopped) as error:
            log.debug("%s", error)
        else:
            if problem is not None:
                log.warning("QMD has made no embeddings: %s", problem)

    def _embed_if_due(self) -> None:
        if self._indexer.is_embedding_due():
            self._embedding.begin()


class _Schedule:
    """Repeats tasks one after the other, from `start` until `close`. A task handles its own errors."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._seconds: dict[Task, float] = {}  # from one run to the next
        self._due: dict[Task, float] = {}
        self._loop: Future[None] | None = None
        self._closed = False

    def add(self, task: Task, *, interval_seconds: float, at_once: bool) -> None:
        """Add a task before `start`; with an interval of 0 it runs only if `hasten` asks for it."""
        self._seconds[task] = interval_seconds or math.inf
        self._due[task] = 0.0 if at_once else time.monotonic() + self._seconds[task]

    def hasten(self, task: Task, *, delay_seconds: float) -> None:
        """Run a task no later than after a delay."""
        with self._changed:
            if task in self._due:
                self._due[task] = min(self._due[task], time.monotonic() + delay_seconds)
                self._changed.notify_all()

    def start(self) -> None:
        """Start the thread, unless `close` was called before."""
        with self._changed:
            if not self._closed:
                self._loop = start_call(self._repeat, name="memory-qmd-schedule")

    def close(self, *, timeout_seconds: float) -> bool:
        """End after the current task, which its owner should have stopped; may be called twice. False if it goes on."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
            loop = self._loop
        return loop is None or bool(wait((loop,), timeout_seconds).done)

    def _repeat(self) -> None:
        while (task := self._wait_for_task()) is not None:
            task()

    def _wait_for_task(self) -> Task | None:
        """Wait until a task is due and return it; None if the schedule is closed."""
        with self._changed:
            while not self._closed:
                now = time.monotonic()
                task = min(self._due, key=self._due.__getitem__)
                if self._due[task] <= now:
                    self._due[task] = now + self._seconds[task]
                    return task
                self._changed.wait(min(self._due[task] - now, threading.TIMEOUT_MAX))
            return None
