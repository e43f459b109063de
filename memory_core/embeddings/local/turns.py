"""Turns at a model that computes for one caller at a time."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

from memory_core.embeddings.deadline import Deadline
from memory_core.embeddings.protocols import TextKind
from memory_core.errors import RequestTimeout


class Turns:
    """Lets one caller at a time use the model, queries before documents."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._busy = False
        self._queries = 0

    @contextlib.contextmanager
    def take(self, kind: TextKind, deadline: Deadline) -> Iterator[None]:
        """Wait for a turn and hold it.

        Raises:
            RequestTimeout: The turn did not come in time.
        """
        query = kind == "query"
        with self._condition:
            self._queries += query
            try:
                if not self._condition.wait_for(lambda: self._is_free(query), deadline.wait_seconds):
                    raise RequestTimeout("local", "the model was busy with other texts")
                self._busy = True
            finally:
                self._queries -= query
                self._condition.notify_all()
        try:
            yield
        finally:
            with self._condition:
                self._busy = False
                self._condition.notify_all()

    def _is_free(self, query: bool) -> bool:
        return not self._busy and (query or not self._queries)
