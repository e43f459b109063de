"""A private copy of a database, in memory: it may be changed at will, and ends with its connection."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path

from memory_core.stores.sqlite import driver
from memory_core.stores.sqlite.driver import Connection
from memory_core.stores.sqlite.errors import translate_errors
from memory_core.stores.sqlite.kinds import FileKind


class PrivatePool:
    """One connection to a copy of a database, with the methods of `ConnectionPool`; threads take turns.

    Args:
        source: A connection to the database, inside a read transaction.
        path: The database, for messages.
        kind: What it is.
    """

    def __init__(self, source: Connection, path: Path, kind: FileKind) -> None:
        self.path = path
        self._kind = kind
        self._lock = threading.RLock()
        self._connection = driver.apsw.Connection(":memory:")
        with translate_errors(path, kind):
            self._connection.pragma("page_size", int(source.pragma("page_size")))
            with self._connection.backup("main", source, "main") as backup:
                backup.step(-1)
            self._connection.pragma("foreign_keys", True)

    @contextlib.contextmanager
    def read(self) -> Iterator[Connection]:
        """Yield the connection inside a transaction."""
        with self._lock, translate_errors(self.path, self._kind):
            self._connection.execute("BEGIN")
            try:
                yield self._connection
            finally:
                self._connection.execute("ROLLBACK")

    @contextlib.contextmanager
    def hold_writer(self) -> Iterator[Connection]:
        """Yield the connection outside a transaction."""
        with self._lock, translate_errors(self.path, self._kind):
            yield self._connection

    def close(self) -> None:
        """Let go of the copy; may be called twice."""
        with self._lock:
            self._connection.close()
