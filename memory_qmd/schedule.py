"""Background work: tasks that one thread repeats."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from dataclasses import dataclass

from memory_core.threads import start_call


@dataclass(slots=True)
class _Task:
    work: Callable[[], None]
    interval_seconds: float
    due: float


class Schedule:
    """Repeats tasks one after the other, from `start` until `close`. A task handles its own errors."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._tasks: dict[str, _Task] = {}
        self._loop: Future[None] | None = None
        self._closed = False

    def add(self, name: str, work: Callable[[], None], *, interval_seconds: float, at_once: bool) -> None:
        """Add a task before `start`; with an interval of 0 it runs only if `hasten` asks for it."""
        due = 0.0 if at_once else time.monotonic() + (interval_seconds or float("inf"))
        self._tasks[name] = _Task(work, interval_seconds, due)

    def hasten(self, name: str, *, delay_seconds: float) -> None:
        """Run a task no later than after a delay."""
        with self._changed:
            task = self._tasks.get(name)
            if task is not None:
                task.due = min(task.due, time.monotonic() + delay_seconds)
                self._changed.notify_all()

    def start(self) -> None:
        """Start the thread; may be called twice."""
        with self._changed:
            if self._loop is None and not self._closed:
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
            task.work()

    def _wait_for_task(self) -> _Task | None:
        """Wait until a task is due and return it; None if the schedule is closed."""
        with self._changed:
            while not self._closed:
                now = time.monotonic()
                task = min(self._tasks.values(), key=lambda task: task.due)
                if task.due <= now:
                    task.due = now + (task.interval_seconds or float("inf"))
                    return task
                self._changed.wait(min(task.due - now, threading.TIMEOUT_MAX))
            return None
