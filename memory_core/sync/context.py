"""The values that one sync works with, and those that it has found so far, shared by the modules that take part in it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from memory_core.config.agent import AgentConfig
from memory_core.embeddings.protocols import EmbeddingProvider
from memory_core.errors import FileUnreadable, ProviderError, SyncStopped
from memory_core.records import FileFailure, FileKey, MemoryFile, Progress, ProgressCallback
from memory_core.sources.notes import NoteText
from memory_core.stores.interface import Store
from memory_core.stores.values import IndexedFile

MOST_READ, LONGEST_READ = 64, 64 * 1024  # notes, and bytes of each; others are read again by whoever records them

log = logging.getLogger(__name__)


@dataclass(slots=True)
class SyncCounts:
    """The counts of one sync so far; see `SyncReport`.

    Attributes:
        added, changed, removed, unchanged: Files.
        embedded, cached, pending: Texts that were embedded, that had an embedding, and that wait for one.
        failures, warnings: As they come.
        problem: Why embeddings are pending; None if nothing is wrong.
    """

    added: int = 0
    changed: int = 0
    removed: int = 0
    unchanged: int = 0
    embedded: int = 0
    cached: int = 0
    pending: int = 0
    failures: list[FileFailure] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    problem: ProviderError | None = None


@dataclass(slots=True, kw_only=True)
class SyncContext:
    """One sync: what its caller gives, down to `every_session`, and what it has found, for its caller and for whoever records it.

    Attributes:
        config: The agent's.
        store: The index to bring up to date.
        choose: Sets the next four, given the outage of the provider that the index has recorded; None leaves them as they are.
        provider: Makes embeddings; None makes none, because none are wanted or because of `problem`.
        problem: Why the configured provider could not be opened.
        embeds: Pending embeddings are requested in this sync.
        verifies: The provider is asked for the dimensions of its vectors, even where nothing is pending.
        progress: Called with how far the sync is.
        stop: Once it is set, the sync ends with `SyncStopped` at its next step.
        every_session: Session logs are indexed however little they have grown.
        counts: The result so far.
        may_change_unseen: Something may change, or become readable, without an event in the folders that are watched.
        files: Those that may have changed as they were listed, for whoever records them.
        read: Notes of those as they were read, as long as they are few: they may change while they are embedded.
        generation: Of the index when it was last looked at; at the end of the sync, of what the sync has left.
        outage: The record of a provider's outage that the index held then, as `Outage.to_json` wrote it; None if there is none.
        held: The files that the index holds at the end of a sync that has changed some; None if it has not.
    """

    config: AgentConfig
    store: Store
    choose: Callable[[str | None], None] | None = None
    provider: EmbeddingProvider | None = None
    problem: ProviderError | None = None
    embeds: bool = True
    verifies: bool = False
    progress: ProgressCallback | None = None
    stop: threading.Event | None = None
    every_session: bool = True
    counts: SyncCounts = field(default_factory=SyncCounts)
    may_change_unseen: bool = False
    files: Sequence[MemoryFile] = ()
    read: dict[FileKey, NoteText] = field(default_factory=dict)
    generation: str = "0"
    outage: str | None = None
    held: Sequence[IndexedFile] | None = None

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

    def record_read(self, file: MemoryFile, note: NoteText) -> None:
        """Keep a note that was read, while they are few."""
        if len(self.read) < MOST_READ and len(note.data) <= LONGEST_READ:
            self.read[file.key] = note

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
