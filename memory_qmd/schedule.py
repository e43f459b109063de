"""Work that repeats in the background, in one thread, and work that is begun once and may be waited for."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


class Job(Generic[T]):
    """Work of which one run at a time goes on, in a daemon thread; who asks meanwhile gets that run."""

    def __init__(self, name: str, work: Callable[[], T]) -> None:
        self._name = name
        self._work = work
        self._lock = threading.Lock()
        self._run: Future[T] | None = None

    def begin(self) -> Future[T]:
        """The run that goes on, or a new one."""
        with self._lock:
            if self._run is None or self._run.done():
                self._run = Future()
                threading.Thread(target=self._do, args=(self._run,), name=self._name, daemon=True).start()
            return self._run

    def running(self) -> bool:
        """Whether a run goes on."""
        with self._lock:
            return self._run is not None and not self._run.done()

    def _do(self, run: Future[T]) -> None:
        try:
            run.set_result(self._work())
        except BaseException as error:  # noqa: BLE001 - the future carries it to whoever waits
            run.set_exception(error)


@dataclass(slots=True)
class _Task:
    work: Callable[[], None]
    interval_seconds: float
    due: float


class Schedule:
    """Repeats tasks, one after the other, from `start` until `close`. A task handles its own errors."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._tasks: dict[str, _Task] = {}
        self._thread: threading.Thread | None = None
        self._closed = False

    def add(self, name: str, work: Callable[[], None], *, interval_seconds: float, at_once: bool) -> None:
        """Add a task before `start`; with an interval of 0 it runs only when `soon` asks for it."""
        due = 0.0 if at_once else time.monotonic() + (interval_seconds or float("inf"))
        self._tasks[name] = _Task(work, interval_seconds, due)

    def soon(self, name: str, *, delay_seconds: float) -> None:
        """Have a task run no later than after a delay."""
        with self._changed:
            task = self._tasks.get(name)
            if task is not None:
                task.due = min(task.due, time.monotonic() + delay_seconds)
                self._changed.notify_all()

    def start(self) -> None:
        """Begin; may be called twice."""
        with self._changed:
            if self._thread is None and not self._closed:
                self._thread = threading.Thread(target=self._loop, name="memory-qmd-schedule", daemon=True)
                self._thread.start()

    def close(self, *, timeout_seconds: float) -> None:
        """End after the task that runs, which its owner should have stopped; may be called twice."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
            thread, self._thread = self._thread, None
        if thread is not None:
            thread.join(timeout_seconds)

    def _loop(self) -> None:
        while (task := self._wait()) is not None:
            task.work()

    def _wait(self) -> _Task | None:
        """The next task when it is due; None at the end."""
        with self._changed:
            while not self._closed:
                now = time.monotonic()
                task = min(self._tasks.values(), key=lambda task: task.due)
                if task.due <= now:
                    task.due = now + (task.interval_seconds or float("inf"))
                    return task
                self._changed.wait(min(task.due - now, threading.TIMEOUT_MAX))
            return None
