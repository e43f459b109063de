"""The interface of a store: the questions of a search, and the questions and commands of a sync. Every engine implements it.

Every command is one transaction: it is done wholly or, when it raises, not at all. Commands that change nothing write
nothing. Readers of the index go on undisturbed. All methods raise `StoreError` where the store cannot be used.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from memory_core.records import Calibration, FileStamp, MemoryFile, Space
from memory_core.stores.values import (
    ChunkText,
    DateRange,
    EmbeddedWindows,
    IndexedChunk,
    IndexedFile,
    PendingWindow,
    PreparedChunk,
    PreparedFile,
    ServingSpace,
    StagedFile,
    SyncState,
    TargetSpace,
    Term,
    WindowCosine,
    WindowTokens,
)
from memory_core.text.languages import Language

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Reader(Protocol):
    """Answers the questions of one search, all from one moment of the index.

    A reader is valid inside the block in which its store hands it out, in one thread.
    """

    # The index as a whole.

    def is_empty(self) -> bool:
        """Return True if no chunk is indexed."""
        ...

    def count_chunks(self) -> int:
        """Return the number of chunks."""
        ...

    def load_workspace(self) -> str | None:
        """Return the real path of the workspace whose notes are indexed; None if the index does not say."""
        ...

    def load_generation(self) -> str:
        """Return what changes whenever files, chunks or embeddings do, in whichever process."""
        ...

    def load_outage(self) -> str | None:
        """Return the record of the provider's outage, as `Outage.to_json` wrote it; None when there is none."""
        ...

    def load_serving_space(self) -> ServingSpace | None:
        """Return the space whose vectors answer; None when keywords answer alone."""
        ...

    # Words.

    def stem(self, text: str) -> list[str]:
        """Return the stems of a text's words in order, as the keyword index holds them."""
        ...

    def count_by_stem(self, stems: Collection[str]) -> Mapping[str, int]:
        """Return for each stem the number of chunks that hold it; a stem that none holds may be left out."""
        ...

    def find_forms(self, words: Collection[str], languages: Sequence[Language]) -> Mapping[str, Sequence[str]]:
        """Return for each word the other words of the notes with the same stem in one of some languages.

        Args:
            words: In lower case.
            languages: Of `text.languages.STEMMED`; notes in other languages count for none of them.

        Returns:
            Forms in lower case; a word without any may be left out.
        """
        ...

    def count_by_prefix(self, prefixes: Collection[str]) -> Mapping[str, int]:
        """Return how many chunks hold the commonest of the stems that begin with each prefix; without prefixes of none."""
        ...

    def count_phrase(self, phrase: str) -> int:
        """Return the number of chunks in which the words of a phrase stand together, in its order."""
        ...

    # Chunks.

    def find_by_keyword(self, terms: Sequence[Term], dates: DateRange, depth: int) -> dict[int, float]:
        """Find the best chunks that hold any of the terms.

        Args:
            terms: Each held by some chunk, the rarest first.
            dates: Of the files to search.
            depth: The most chunks.

        Returns:
            A keyword score, such as BM25, by chunk id; higher is better, best first. A store may look only at chunks that
            hold one of the rarer terms, if there are enough. Of equals at the end see `best_of`.
        """
        ...

    def find_nearest(
        self, space_id: int, vector: NDArray[np.float32], dates: DateRange, depth: int
    ) -> dict[int, float]:
        """Find the chunks with the windows nearest to a vector of unit length.

        Returns:
            The cosine of each chunk's best window by chunk id, best first, at most `depth` of them; of equals at the end
            see `best_of`. A store may approximate.
        """
        ...

    def find_by_name(self, name: str, dates: DateRange, limit: int) -> Sequence[int]:
        """Find the chunks of files with a date, or a path that ends with a name, in the order of their places.

        Args:
            name: An ISO date, or a file name in lower case, with or without folders.
            dates: Of the files to search.
            limit: The most chunks.
        """
        ...

    def sort_equals(self, ids: Collection[int]) -> Sequence[int]:
        """Return the ids of chunks in the order of the function `sort_equals`."""
        ...

    def load_chunks(self, ids: Collection[int]) -> list[IndexedChunk]:
        """Return the chunks with these ids, in any order; those without units are left out."""
        ...

    # Names.

    def find_phrase(self, phrase: str, dates: DateRange) -> Collection[int]:
        """Find all chunks in which the words of a phrase stand together, in its order; a single CJK character is a prefix."""
        ...

    def find_beginnings(self) -> Collection[int]:
        """Find the first chunk of every note; session logs are none."""
        ...

    def find_linking(self) -> Collection[int]:
        """Find at least the chunks of notes that hold a wikilink, a link of Markdown, the definition of one, or a tag."""
        ...

    def load_texts(self, ids: Collection[int], *, whole: bool) -> Sequence[ChunkText]:
        """Return the texts of chunks of notes in the order of their source, path and place; session logs are left out.

        Args:
            ids: Of the chunks.
            whole: Return all chunks of their notes.
        """
        ...

    # Parts of chunks.

    def compare_windows(
        self, space_id: int, vector: NDArray[np.float32], chunk_ids: Collection[int]
    ) -> Sequence[WindowCosine]:
        """Return the exact cosines of all windows of some chunks; windows without an embedding are left out."""
        ...

    def load_tokens(self, space_id: int, chunk_ids: Collection[int]) -> Sequence[WindowTokens] | None:
        """Return the tokens of all windows of some chunks, in any order; None when those of any window are missing."""
        ...

    # Files.

    def load_log_lines(self, source: str, path: str) -> Sequence[int]:
        """Return for every line of a file's indexed text the line of the file; empty if they are the same."""
        ...


def best_of(reader: Reader, values: Mapping[int, float], count: int) -> dict[int, float]:
    """Return the chunks with the highest values, best first.

    Ids say in which order notes were indexed. So that two indexes of the same notes answer alike, `sort_equals` decides between
    equals that the count parts.

    Args:
        reader: Knows dates and places.
        values: By chunk id.
        count: The most chunks.
    """
    ids = sorted(values, key=values.__getitem__, reverse=True)
    if len(ids) > count and values[ids[count - 1]] == values[ids[count]]:
        least = values[ids[count]]
        ids = [each for each in ids if values[each] > least]
        ids += reader.sort_equals([each for each, value in values.items() if value == least])
    return {each: values[each] for each in ids[:count]}


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

    def rest(self) -> None:
        """Let go of what the next search can read again."""
        ...

    def close(self) -> None:
        """Close all connections; may be called twice."""
        ...


class IndexedText(Protocol):
    """The chunks and windows of one index, for whoever fills in what is computed from them."""

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

    def read_generation(self) -> str:
        """Return what changes whenever files, chunks or embeddings do, in whichever process."""
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
