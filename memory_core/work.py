"""What one sync works with and what came of it so far; shared by the rooms that take part in it."""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass, field

from memory_core.errors import FileUnreadable, ProviderError, SyncStopped
from memory_core.hookspecs import EmbeddingProvider, ProgressCallback
from memory_core.records import FileFailure, MemoryFile, Progress
from memory_core.settings import AgentConfig
from memory_core.store import Store
from memory_core.store.rows import PreparedChunk
from memory_core.store.vectors import VectorIndex

log = logging.getLogger(__name__)

# Keys of meta.
IDENTITY = "identity"  # what the text side depends on
SERVING = "serving_space"  # the space whose vectors answer
LEVEL = "level"  # generation and space at which nothing is owed
LAST_SYNC = "last_sync"
GENERATION = "generation"
OWED_BECAUSE = "owed_because"  # why the last sync that owed embeddings could not have them
WANTED = (
    "wanted_space"  # that a sync works towards while another one serves; "" is one whose dimensions nobody knows yet
)
WORKSPACE = "workspace"  # whose notes these are
TIDIED = "tidied"  # generation after which space was given back


@dataclass(slots=True)
class Tally:
    """Counts of one sync, as they come."""

    added: int = 0
    changed: int = 0
    removed: int = 0
    unchanged: int = 0
    embedded: int = 0
    cached: int = 0
    owed: int = 0
    failures: list[FileFailure] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    problem: ProviderError | None = None  # why embeddings are owed


@dataclass(slots=True, kw_only=True)
class Work:
    """One sync.

    Attributes:
        config: The agent's.
        store: Its index.
        index: Its vectors.
        provider: Makes embeddings; None makes none, because none are wanted or because of `problem`.
        problem: Why the provider that is configured could not be opened.
        progress: Told how far the sync is.
        stop: Once it is set, the sync ends with `SyncStopped` at its next step.
        every_session: Whether session logs are indexed however little they have grown.
        embeds: Whether owed embeddings are asked for in this sync.
        tally: What came of it so far.
        fresh: Chunks that this sync has inserted, by id: what is owed when nothing was owed before.
    """

    config: AgentConfig
    store: Store
    index: VectorIndex
    provider: EmbeddingProvider | None
    problem: ProviderError | None = None
    progress: ProgressCallback | None = None
    stop: threading.Event | None = None
    every_session: bool = True
    embeds: bool = True
    tally: Tally = field(default_factory=Tally)
    fresh: dict[int, PreparedChunk] = field(default_factory=dict)

    def step(self, progress: Progress) -> None:
        """Tell how far it is; the place at which a sync can be stopped, since nothing is half done.

        Raises:
            SyncStopped: It was asked to stop.
        """
        self.check_stop()
        if self.progress is not None:
            self.progress(progress)

    def check_stop(self) -> None:
        """Raises SyncStopped once the sync was asked to stop: what fails then fails because of that."""
        if self.stop is not None and self.stop.is_set():
            raise SyncStopped("the memory was closed while it was being brought level")

    def failed(self, file: MemoryFile, error: FileUnreadable) -> bool:
        """A file stays as it was; False when it only went after it was listed, which the next sync sees."""
        if isinstance(error.__cause__, FileNotFoundError):
            return False
        log.warning("%s stays as it was: %s", file.path, error.reason)
        self.tally.failures.append(FileFailure(path=file.path, reason=error.reason))
        return True

    def note(self, values: dict[str, str | None]) -> None:
        """Set keys of meta in a transaction of their own; readers need not load anything again."""
        with self.store.write(content=False) as writer:
            writer.set_meta(values)
