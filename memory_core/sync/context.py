"""The inputs of one sync and its counts so far, shared by the modules that take part in it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from memory_core.config.agent import AgentConfig
from memory_core.embeddings.protocols import EmbeddingProvider
from memory_core.errors import FileUnreadable, ProviderError, SyncStopped
from memory_core.records import FileFailure, MemoryFile, Progress, ProgressCallback
from memory_core.sources.notes import NoteText
from memory_core.stores.interface import SyncStore
from memory_core.stores.values import PreparedChunk

MOST_READ, LONGEST_READ = 64, 64 * 1024  # notes, and bytes of each; others are read again by whoever records them
MOST_FRESH = 2000  # chunks that are kept in memory

log = logging.getLogger(__name__)


@dataclass(slots=True)
class SyncCounts:
    """Counts of one sync, as they come."""

    added: int = 0
    changed: int = 0
    removed: int = 0
    unchanged: int = 0
    embedded: int = 0
    cached: int = 0
    pending: int = 0
    failures: list[FileFailure] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    problem: ProviderError | None = None  # why embeddings are pending


@dataclass(slots=True, kw_only=True)
class SyncContext:
    """One sync.

    Attributes:
        config: The agent's.
        store: The index to bring up to date.
        provider: Makes embeddings; None makes none, because none are wanted or because of `problem`.
        problem: Why the configured provider could not be opened.
        progress: Called with how far the sync is.
        stop: Once it is set, the sync ends with `SyncStopped` at its next step.
        every_session: Session logs are indexed however little they have grown.
        embeds: Pending embeddings are requested in this sync.
        verifies: The provider is asked for the dimensions of its vectors, even where nothing is pending.
        counts: The result so far.
        may_change_unseen: Something may change, or become readable, without an event in the folders that are watched.
        files: Those that may have changed as they were listed, for whoever records them; None where none were.
        read: Notes of those as they were read, as long as they are few.
        fresh: Chunks that this sync has inserted, by id: in an index that was complete, only these lack embeddings. None once
            they are too many to be kept, or where more than these may lack some.
    """

    config: AgentConfig
    store: SyncStore
    provider: EmbeddingProvider | None
    problem: ProviderError | None = None
    progress: ProgressCallback | None = None
    stop: threading.Event | None = None
    every_session: bool = True
    embeds: bool = True
    verifies: bool = False
    counts: SyncCounts = field(default_factory=SyncCounts)
    may_change_unseen: bool = False
    files: Sequence[MemoryFile] | None = None
    read: dict[tuple[str, str], NoteText] = field(default_factory=dict)
    fresh: dict[int, PreparedChunk] | None = None

    def report_progress(self, progress: Progress) -> None:
        """Report how far the sync is; a sync can be stopped here, as nothing is half done.

        Raises:
            SyncStopped: It was asked to stop.
        """
        self.check_stop()
        if self.progress is not None:
            self.progress(progress)

    def check_stop(self) -> None:
        """Raise SyncStopped once the sync was asked to stop: what fails from then on fails because of that."""
        if self.stop is not None and self.stop.is_set():
            raise SyncStopped("the memory was closed during a sync")

    def record_fresh(self, inserted: Mapping[int, PreparedChunk]) -> None:
        """Keep chunks that were inserted, until they are too many."""
        if self.fresh is not None:
            self.fresh.update(inserted)
            if len(self.fresh) > MOST_FRESH:
                self.fresh = None

    def record_read(self, file: MemoryFile, note: NoteText) -> None:
        """Keep a note that was read, while they are few."""
        if len(self.read) < MOST_READ and len(note.data) <= LONGEST_READ:
            self.read[file.source, file.path] = note

    def record_failure(self, file: MemoryFile, error: FileUnreadable, *, known: str | None = None) -> bool:
        """Report a file that stays as it was; return False for one that went after it was listed: the next sync sees that.

        Args:
            file: As it was listed.
            error: Why it cannot be read.
            known: Why the last sync could not; the same reason is logged as a warning once.
        """
        if isinstance(error.__cause__, FileNotFoundError):
            return False
        self.may_change_unseen = True
        level = logging.DEBUG if known == error.reason else logging.WARNING
        log.log(level, "%s stays as it was: %s", file.path, error.reason)
        self.counts.failures.append(FileFailure(path=file.path, reason=error.reason))
        return True
