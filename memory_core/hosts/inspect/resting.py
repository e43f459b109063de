"""A memory that rests while nobody looks at the page: its model and its files are let go of, and opened by the next request."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from memory_core.hosts.allocation import give_back

if TYPE_CHECKING:
    from memory_core.plugin.memory import Memory

REST_SECONDS = 60.0  # without a request; opening it again takes the next search a fifth of a second


class RestingMemory:
    """Opens a memory when it is needed. All methods may be called from several threads.

    Args:
        open_memory: Opens it; raises a subclass of `MemoryCoreError` if that cannot be.
        rest_seconds: How long it stays open without being used.
    """

    def __init__(self, open_memory: Callable[[], Memory], *, rest_seconds: float = REST_SECONDS) -> None:
        self._open_memory = open_memory
        self._rest_seconds = rest_seconds
        self._lock = threading.Lock()
        self._memory: Memory | None = None
        self._users = 0
        self._timer: threading.Timer | None = None

    @contextmanager
    def using(self) -> Iterator[Memory]:
        """Yield the memory, which is not closed meanwhile."""
        with self._lock:
            self._stop_timer()
            if self._memory is None:
                self._memory = self._open_memory()
            memory = self._memory
            self._users += 1
        try:
            yield memory
        finally:
            with self._lock:
                self._users -= 1
                if not self._users:
                    self._stop_timer()
                    self._timer = threading.Timer(self._rest_seconds, self._rest)
                    self._timer.daemon = True
                    self._timer.start()

    def close(self) -> None:
        """Close the memory, used or not; the next use opens it again."""
        with self._lock:
            self._stop_timer()
            memory, self._memory = self._memory, None
        if memory is not None:
            memory.close()

    def _rest(self) -> None:
        with self._lock:
            memory = None if self._users else self._memory
            if memory is not None:
                self._memory = None
        if memory is not None:
            memory.close()
            del memory
            give_back()

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
