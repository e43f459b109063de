"""A private copy of an index in memory, which is changed by the same code as the index itself."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from memory_core.stores import sqlite
from memory_core.stores.sqlite import INDEX, Connection
from memory_core.stores.sqlite.meta import bump_generation
from memory_core.stores.sqlite.store import Store


class PrivateStore(Store):
    """A copy of an index as it stands at one moment. Nothing of it is ever on disk.

    Args:
        source: The index.
    """

    def __init__(self, source: Store) -> None:
        super().__init__(source.path, vectors=source.vectors)
        with source.read() as connection:
            self._copy = sqlite.PrivateDatabase(connection, source.path, INDEX)
        with self._copy.maintain() as connection:  # it lives for some questions: merging would not pay
            connection.execute("INSERT INTO chunks_fts (chunks_fts, rank) VALUES ('automerge', 0)")

    @contextlib.contextmanager
    def read(self) -> Iterator[Connection]:
        """See `Store`."""
        with self._copy.read() as connection:
            yield connection

    @contextlib.contextmanager
    def write(self, *, content: bool = True) -> Iterator[Connection]:
        """See `Store`."""
        with self.maintain() as connection, sqlite.transaction(connection, self.path):
            yield connection
            if content:
                bump_generation(connection)

    @contextlib.contextmanager
    def maintain(self) -> Iterator[Connection]:
        """See `Store`."""
        with self._copy.maintain() as connection:
            yield connection

    def close(self) -> None:
        """Let go of the copy; may be called twice."""
        self._copy.close()
