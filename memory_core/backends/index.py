"""The interface of an index to the backend that serves it. A store implements it beside those of search and sync."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from memory_core.records import MemoryFile
from memory_core.sources.notes import NoteText
from memory_core.stores.interface import Reader, SyncStore


class Index(Protocol):
    """One agent's index: hands out readers, and knows its health."""

    @property
    def writable(self) -> bool:
        """False if this session may only read."""
        ...

    @property
    def path(self) -> Path:
        """The index as messages name it."""
        ...

    @property
    def is_suspect(self) -> bool:
        """True once something has failed that may be damage, until `repair` has looked."""
        ...

    def needs_check(self) -> bool:
        """Return True if `repair` should look although nothing has failed yet."""
        ...

    def repair(self) -> str | None:
        """Make way for a new index if this one is damaged; return how it was damaged, None if nothing was done."""
        ...

    def reading(self) -> AbstractContextManager[Reader]:
        """Hand out a reader for one search: all of its answers come from one moment of the index.

        Raises:
            NotIndexed: There is no index yet.
            MemoryCoreError: It cannot be read.
        """
        ...

    def close(self) -> None:
        """Close all connections; may be called twice."""
        ...


class Recorder(Protocol):
    """Keeps what a sync has changed."""

    def record(
        self, listed: Sequence[MemoryFile] | None, read: Mapping[tuple[str, str], NoteText], *, asked: bool
    ) -> tuple[str, ...]:
        """Record the index as a sync has left it; called under the lock of the syncs, must not fail the sync.

        Args:
            listed: Files as the sync listed them, those among them that changed; None if it has listed none.
            read: Notes as it has read them, as long as they are few.
            asked: Somebody asked for this sync: what is recorded is looked at for damage, and what is too old is dropped.

        Returns:
            A sentence on each thing that is wrong with what is recorded.
        """
        ...

    def close(self) -> None:
        """Close all files; may be called twice."""
        ...


class IndexWriter(SyncStore, Protocol):
    """The index as sync writes it, and what tells that somebody has written."""

    def read_generation(self) -> str:
        """Return what changes whenever files, chunks or embeddings do, in whichever process."""
        ...
