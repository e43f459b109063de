"""Deadlines of calls for embeddings."""

from __future__ import annotations

import time
from dataclasses import dataclass

from memory_core.errors import ProviderError


@dataclass(slots=True)
class Deadline:
    """The deadline of one call, with the last error that was met before it.

    Attributes:
        ends_at: Monotonic seconds; None waits for ever.
        last: The error of the last attempt.
    """

    ends_at: float | None = None
    last: ProviderError | None = None

    @classmethod
    def until(cls, timeout_seconds: float | None) -> Deadline:
        """Begin now and end after a timeout; None waits for ever."""
        return cls(None if timeout_seconds is None else time.monotonic() + timeout_seconds)

    @property
    def left_seconds(self) -> float:
        """Seconds until the deadline, negative behind it; infinite without one."""
        return float("inf") if self.ends_at is None else self.ends_at - time.monotonic()

    @property
    def wait_seconds(self) -> float | None:
        """Seconds as functions that wait take them: not negative, None for ever."""
        return None if self.ends_at is None else max(0.0, self.left_seconds)
