"""The interface of an index to the backend that serves it. A store implements it beside those of search and sync."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class Changed:
    """The files of an index that may have changed.

    Attributes:
        since: The generation of the index before.
        files: Those files by (source, path); None where it holds one no more.
        read: Some of them as they were read.
    """

    since: str
    files: Mapping[tuple[str, str], MemoryFile | None]
    read: Mapping[tuple[str, str], NoteText]


class Recorder(Protocol):
    """Keeps what a sync has changed."""

    def record(self, listed: Sequence[MemoryFile] | None, changed: Changed | None, *, asked: bool) -> tuple[str, ...]:
        """Record the index as a sync has left it; called under the lock of the syncs, must not fail the sync.

        Args:
            listed: All files as the sync listed them; None if it did not list them.
            changed: What may have changed; None if that may be every file.
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
