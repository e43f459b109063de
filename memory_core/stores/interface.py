"""The interface of a store to sync: questions and commands of the domain, so that any engine can implement it.

Every command is one transaction: it is done wholly or, when it raises, not at all. Commands that change nothing write
nothing. Readers of the index go on undisturbed. All methods raise `StoreError` where the store cannot be used.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

from memory_core.embeddings.protocols import Calibration, Space
from memory_core.records import FileStamp, MemoryFile
from memory_core.stores.prepared import (
    EmbeddedWindows,
    IndexedFile,
    PendingWindow,
    PreparedChunk,
    PreparedFile,
    StagedFile,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

TargetSpace: TypeAlias = int | Literal["unknown"] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncState:
    """Values that an index remembers from one sync to the next.

    Attributes:
        identity: What its text was cut with; None before the first sync.
        workspace: The real path of the folder whose notes it holds; None before the first sync.
        last_sync: Unix seconds of the last sync that was recorded.
        tidy: Nothing has changed since space was last given back.
        serving: Id of the space whose vectors answer; None while keywords answer alone.
        target: Id of the space that syncs fill while another one serves; "unknown" until the provider's first vector
            tells its dimensions; None while no such space is filled.
        complete: Id of the space that was complete and has been since, as no content changed; None if there is none.
        pending_reason: Why the last sync that needed embeddings could not have them all.
        digest: Of the files that the index agrees with, as `changes.Sources` makes it; None where content has changed
            since, or some file could not be read.
    """

    identity: str | None = None
    workspace: str | None = None
    last_sync: float | None = None
    tidy: bool = False
    serving: int | None = None
    target: TargetSpace = None
    complete: int | None = None
    pending_reason: str | None = None
    digest: str | None = None


class IndexedText(Protocol):
    """The chunks and windows of one index, for whoever fills in what is computed from them."""

    @property
    def keeps_token_ids(self) -> bool:
        """False where a search computes the token ids of chunks again: none are asked for, and none are stored."""
        ...

    def find_pending_windows(
        self, space_id: int | None, *, step: int, tokens: bool = False
    ) -> Iterator[Sequence[PendingWindow]]:
        """Yield the windows without an embedding in a space in steps, in the order in which their chunks were put.

        A step is read when it is asked for, so that one is in memory at a time, and texts that got their embedding meanwhile are
        left out. Within a step, each text stands once.

        Args:
            space_id: None yields all windows.
            step: The most windows of a step.
            tokens: Yield those without embeddings of their tokens, too.
        """
        ...

    def count_pending(self, space_id: int | None, *, tokens: bool = False) -> int:
        """Return the number of different texts that `find_pending_windows` yields now."""
        ...

    def find_chunks_without_tokens(self, *, step: int) -> Iterator[Sequence[tuple[int, Sequence[str]]]]:
        """Yield (chunk id, texts of its units) of every chunk without token ids, in steps; see `find_pending_windows`."""
        ...

    def put_token_ids(self, rows: Iterable[tuple[int, Sequence[Sequence[int]]]]) -> None:
        """Store (chunk id, token ids of each of its units)."""
        ...


class StagedIndex(IndexedText, Protocol):
    """An index that a rebuild fills while another one serves. Embeddings are shared: they are keyed by text."""

    def put_files(self, files: Sequence[StagedFile]) -> None:
        """Store some files together."""
        ...

    def switch(self, *, identity: str) -> None:
        """Let this index serve in the place of the other one, which is dropped."""
        ...


class SyncStore(IndexedText, Protocol):
    """The index that serves, and all that a sync reads of it and writes to it."""

    def lock(self, *, wait_seconds: float = 0.0) -> AbstractContextManager[None]:
        """Hold the right to sync this index; it ends with its owner's process.

        Raises:
            SyncBusy: Another process, or another thread of this one, holds it for longer than `wait_seconds`.
            StoreReadOnly: The lock cannot be taken.
        """
        ...

    def prepare(self) -> None:
        """Make or migrate the index, and discard what a rebuild that was killed has left."""
        ...

    # What is remembered.

    def load_state(self) -> SyncState:
        """Return what the index remembers."""
        ...

    def set_identity(self, identity: str) -> None:
        """Remember what the text is cut with."""
        ...

    def take_over(self, workspace: str) -> None:
        """Remember the workspace whose notes these will be, and drop all files: both at once, or a search could meet the
        notes of one workspace under the name of another. Embeddings are kept.
        """
        ...

    def set_target(self, target: TargetSpace) -> None:
        """Remember which space syncs fill while another one serves."""
        ...

    def record_destination(self, destination: str) -> bool:
        """Remember a place outside this machine to which notes go; return True the first time."""
        ...

    def set_pending_reason(self, reason: str) -> None:
        """Remember why embeddings are missing; forgotten when a space is complete."""
        ...

    def record_sync(self, at: float, *, digest: str | None) -> None:
        """Remember when a sync ended, in Unix seconds, that the index is tidy since, and of which files it holds all.

        Args:
            at: Unix seconds.
            digest: See `SyncState.digest`.
        """
        ...

    # Files.

    def list_files(self) -> list[IndexedFile]:
        """Return all files."""
        ...

    def list_stamps(self) -> dict[tuple[str, str], tuple[int, int, int, int] | None]:
        """Return the values of the `FileStamp` of all files by (source, path), much quicker than `list_files`.

        None where a file has an error.
        """
        ...

    def find_file(self, source: str, path: str) -> IndexedFile | None:
        """Return one file; None when the index has never met it.

        Raises:
            NotIndexed: There is no index.
        """
        ...

    def load_file(self, file: MemoryFile) -> PreparedFile | None:
        """Return a file's text as the index holds it; None when the file was never read."""
        ...

    def put_files(self, prepared: Sequence[PreparedFile]) -> dict[int, PreparedChunk]:
        """Make the index hold some files as they were prepared, all or none; equal chunks keep their rows.

        Returns:
            The chunks that were inserted, by id.
        """
        ...

    def drop_files(self, ids: Iterable[int]) -> None:
        """Remove files with their chunks; embeddings stay until they are evicted."""
        ...

    def touch_file(self, file_id: int, stamp: FileStamp) -> None:
        """Record the new stamp of a file whose content is the same, and that it could be read."""
        ...

    def set_file_error(self, file: MemoryFile, reason: str) -> None:
        """Record why a file could not be read; what the index holds of it goes on serving."""
        ...

    def begin_rebuild(self) -> StagedIndex:
        """Make an empty index beside the one that serves; it serves nobody until it is switched to."""
        ...

    # Spaces and embeddings.

    def add_space(self, space: Space) -> int:
        """Return the id of a space, which is made when it is new."""
        ...

    def find_space_like(self, space: Space) -> Space | None:
        """Return the space last made that differs in nothing but its dimensions; None when there is none."""
        ...

    def serve(self, space_id: int, *, complete: bool) -> None:
        """Let a space's vectors answer.

        Args:
            space_id: The space.
            complete: No text lacks its embedding in it, which is remembered until content changes.
        """
        ...

    def stop_serving(self) -> None:
        """Let keywords answer alone; embeddings stay."""
        ...

    def find_embedded(self, space_id: int, hashes: Collection[bytes], *, tokens: bool = False) -> set[bytes]:
        """Return those of some texts that have an embedding in a space; with `tokens`, also embeddings of their tokens."""
        ...

    def put_embeddings(self, space_id: int, windows: EmbeddedWindows, *, serve: bool) -> None:
        """Store embeddings; those that are there already stay.

        Args:
            space_id: Their space.
            windows: What was embedded.
            serve: Let the space serve from now on, complete or not.
        """
        ...

    def load_calibration(self, space_id: int) -> tuple[Calibration, int] | None:
        """Return a space's estimated calibration and of how many windows it was made; None before."""
        ...

    def put_calibration(self, space_id: int, calibration: Calibration, *, windows: int) -> None:
        """Store an estimate that was made when the index held `windows` windows."""
        ...

    def sample_embeddings(self, space_id: int, limit: int) -> NDArray[np.float32]:
        """Return at most `limit` embeddings of windows that the index holds, as rows; always the same ones."""
        ...

    # Counts.

    def count_files(self) -> int:
        """Return the number of files whose text is indexed."""
        ...

    def count_chunks(self) -> int:
        """Return the number of chunks."""
        ...

    def count_windows(self, *, distinct: bool = False) -> int:
        """Return the number of windows; with `distinct`, of different texts among them."""
        ...

    # Maintenance.

    def evict_embeddings(self, *, keep: int) -> None:
        """Drop the oldest embeddings that no window refers to, beyond `keep` of them."""
        ...

    def merge_keywords(self, *, whole: bool) -> Iterator[None]:
        """Merge pieces of the keyword index in steps, each committed; a caller may stop between two.

        Args:
            whole: Merge all into one piece; False merges small ones in one short step, so that many changes leave few pieces.
        """
        ...

    def give_back_space(self) -> None:
        """Return free space to the system."""
        ...
