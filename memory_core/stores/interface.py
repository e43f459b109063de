"""The interface of a store: transactions in which a search and a sync ask, and a sync writes. Every engine implements it.

Transactions belong to callers: all that is asked of one reader belongs to one moment, and all that one writer has done is
committed together or, when the block raises, not at all. Readers of the index go on undisturbed. All methods raise `StoreError`
where the store cannot be used.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias, Unpack

from memory_core.records import Calibration, FileStamp, MemoryFile, Space
from memory_core.stores.values import (
    ChunkText,
    DateRange,
    EmbeddedWindows,
    IndexedChunk,
    IndexedFile,
    PendingWindow,
    PreparedFile,
    ServingSpace,
    StateValues,
    SyncState,
    Term,
    WindowCosine,
    WindowTokens,
)
from memory_core.text.languages import Relation

if TYPE_CHECKING:
    from memory_core.embeddings.vectors import Row, Rows

Place: TypeAlias = tuple[int, int]  # of a window: the id of its chunk, and its first unit


class Pending(NamedTuple):
    """Windows without an embedding, in order; and the place behind which to go on, None if these are the last ones."""

    windows: list[PendingWindow]
    behind: Place | None = None


class Reader(Protocol):
    """Answers the questions of a search, all from one moment of the index.

    A reader is valid inside the block in which its store hands it out, in one thread.
    """

    # The index as a whole.

    def holds_notes(self) -> bool:
        """Return True if a chunk of a note is indexed; session logs are none."""

    def count_chunks(self) -> int:
        """Return the number of chunks."""

    def load_workspace(self) -> str | None:
        """Return the real path of the workspace whose notes are indexed; None if the index does not say."""

    def load_state(self) -> SyncState:
        """Return what the index remembers from one sync to the next."""

    def load_serving_space(self) -> ServingSpace | None:
        """Return the space whose vectors answer; None when keywords answer alone."""

    # Words.

    def stem(self, text: str) -> list[str]:
        """Return the stems of a text's words in order, as the keyword index holds them; of CJK, those of pairs."""

    def count_by_stem(self, stems: Collection[str]) -> Mapping[str, int]:
        """Return for each stem the number of chunks that hold it; a stem that none holds may be left out."""

    def find_forms(self, words: Collection[str], languages: Sequence[Relation]) -> Mapping[str, Sequence[str]]:
        """Return for each word the other words of the notes with the same stem or verb in one of some languages.

        Args:
            words: In lower case.
            languages: Notes in other languages count for none of them. "spelt" finds words with the same key of their spelling.

        Returns:
            Forms in lower case; a word without any may be left out.
        """

    def find_spelt(self, begin: str, end: str, lengths: tuple[int, int]) -> Sequence[str]:
        """Return the words of the notes, in lower case and any order, whose keys of `spelling.make_spelling_key` begin or end so.

        Args:
            begin: Letters with which a key may begin.
            end: Letters with which it may end.
            lengths: The fewest and the most letters of a key.
        """

    def count_by_prefix(self, prefixes: Collection[str]) -> Mapping[str, int]:
        """Return how many chunks hold the commonest of the stems that begin with each prefix; without prefixes of none."""

    def count_phrase(self, phrase: str) -> int:
        """Return the number of chunks in which the words of a phrase stand together, in its order."""

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

    def find_nearest(self, space_id: int, vector: Row, dates: DateRange, depth: int) -> dict[int, float]:
        """Find the chunks with the windows nearest to a vector of unit length.

        Returns:
            The cosine of each chunk's best window by chunk id, best first, at most `depth` of them; of equals at the end
            see `best_of`. A store may approximate.
        """

    def find_by_name(self, name: str, dates: DateRange, limit: int) -> Sequence[int]:
        """Find the chunks of files with a date, or a path that ends with a name, in the order of their places.

        Args:
            name: An ISO date, or a file name in lower case, with or without folders.
            dates: Of the files to search.
            limit: The most chunks.
        """

    def find_dated(self, first: date, last: date, limit: int) -> Sequence[int]:
        """Find the chunks of files with a date of their own from one day to another, in the order of dates and places."""

    def sort_equals(self, ids: Collection[int]) -> Sequence[int]:
        """Return the ids of chunks in the order of the function `sort_equals`."""

    def load_chunks(self, ids: Collection[int]) -> list[IndexedChunk]:
        """Return the chunks with these ids, in any order; those without units are left out."""

    # Names.

    def find_phrases(self, phrases: Sequence[str], dates: DateRange) -> Collection[int]:
        """Find all chunks in which the words of any phrase stand together, in its order; a single CJK character is a prefix."""

    def find_beginnings(self) -> Collection[int]:
        """Find the first chunk of every note; session logs are none."""

    def find_linking(self) -> Collection[int]:
        """Find at least the chunks of notes that hold a wikilink, a link of Markdown, the definition of one, or a tag."""

    def load_texts(self, ids: Collection[int], *, whole: bool) -> Sequence[ChunkText]:
        """Return the texts of chunks of notes in the order of their source, path and place; session logs are left out.

        Args:
            ids: Of the chunks.
            whole: Return all chunks of their notes.
        """

    # Parts of chunks.

    def compare_windows(self, space_id: int, vector: Row, chunk_ids: Collection[int]) -> Sequence[WindowCosine]:
        """Return the exact cosines of all windows of some chunks; windows without an embedding are left out."""

    def load_tokens(self, space_id: int, chunk_ids: Collection[int]) -> Sequence[WindowTokens] | None:
        """Return the tokens of all windows of some chunks, in any order; None when those of any window are missing."""

    # Files.

    def load_log_lines(self, source: str, path: str) -> Sequence[int]:
        """Return for every line of a file's indexed text the line of the file; empty if they are the same."""


class SyncReader(Reader, Protocol):
    """Answers those of a sync, too."""

    def list_files(self) -> list[IndexedFile]:
        """Return all files."""

    def find_file(self, source: str, path: str) -> IndexedFile | None:
        """Return one file; None when the index has never met it."""

    def find_paths(self, hashes: Sequence[bytes]) -> tuple[str, ...]:
        """Return the paths of the files with a window whose text has one of some digests, sorted."""

    def count_indexed(self) -> tuple[int, int]:
        """Return the number of files whose text is indexed, and of their chunks."""

    # What is remembered, and what waits for an embedding.

    def list_spaces(self) -> Mapping[Space, int]:
        """Return all spaces that the index has seen with their ids, in the order in which they were made."""

    def find_pending(self, space_id: int | None, after: Place, limit: int, *, tokens: bool = False) -> Pending:
        """Find the next windows without an embedding in a space, in the order in which their chunks were put, each text once.

        Args:
            space_id: None finds all windows.
            after: The place behind which to look.
            limit: The most windows, texts that stand twice counted twice.
            tokens: Find those without embeddings of their tokens, too.
        """

    def count_pending(self, space_id: int | None, *, since: int = 0, tokens: bool = False) -> int:
        """Return the number of different texts that `find_pending` finds, in chunks from an id on."""

    def count_windows(self, *, since: int = 0, distinct: bool = False) -> int:
        """Return the number of windows in chunks from an id on; with `distinct`, of different texts among them."""

    def describe_vectors(self, space_id: int | None) -> tuple[str, str | None]:
        """Return how the vectors of the space that serves are searched, and why not otherwise: see `Status.vector`.

        Args:
            space_id: None where none serves.
        """

    def find_embedded(self, space_id: int, hashes: Collection[bytes], *, tokens: bool = False) -> set[bytes]:
        """Return those of some texts that have an embedding in a space; with `tokens`, also embeddings of their tokens."""

    def load_calibration(self, space_id: int) -> tuple[Calibration, int] | None:
        """Return a space's estimated calibration and of how many windows it was made; None before."""

    def sample_embeddings(self, space_id: int, limit: int) -> Rows:
        """Return at most `limit` embeddings of windows that the index holds, as rows; always the same ones."""


class Writer(SyncReader, Protocol):
    """Changes an index inside one transaction, and reads what it has changed. What changes nothing writes nothing."""

    def save_state(self, **values: Unpack[StateValues]) -> None:
        """Remember some values of `SyncState`; None forgets one."""

    def put_files(self, prepared: Sequence[PreparedFile]) -> int | None:
        """Make the index hold some files as they were prepared; equal chunks keep their rows.

        Returns:
            The lowest id of the chunks that were inserted, which is higher than all others; None if none were.
        """

    def drop_files(self, ids: Iterable[int]) -> None:
        """Remove files with their chunks; embeddings stay until they are evicted."""

    def touch_file(self, file_id: int, stamp: FileStamp) -> None:
        """Record the new stamp of a file whose content is the same, and that it could be read."""

    def set_file_error(self, file: MemoryFile, reason: str) -> None:
        """Record why a file could not be read; what the index holds of it goes on serving."""

    def add_space(self, space: Space) -> int:
        """Return the id of a space, which is made when it is new."""

    def put_embeddings(self, space_id: int, windows: EmbeddedWindows) -> None:
        """Store embeddings of a space; those that are there already stay."""

    def put_calibration(self, space_id: int, calibration: Calibration, *, windows: int) -> None:
        """Store an estimate that was made when the index held `windows` windows."""

    def tidy(self, *, keep: int) -> None:
        """Drop the oldest embeddings that no window refers to, beyond `keep`, and merge a few pieces of the keyword index."""


class Store(Protocol):
    """One agent's index. Making one opens nothing; several threads may use it."""

    @property
    def writable(self) -> bool:
        """False if this session may only read."""

    @property
    def path(self) -> Path:
        """The index as messages name it."""

    @property
    def separate(self) -> str:
        """The advice to who finds the notes of another workspace in it."""

    def read(self) -> AbstractContextManager[SyncReader]:
        """Hand out a reader inside one read transaction.

        Raises:
            NotIndexed: There is no index yet.
            MemoryCoreError: It cannot be read.
        """

    def write(self) -> AbstractContextManager[Writer]:
        """Hand out a writer inside one write transaction: committed after the block, rolled back by any error.

        Raises:
            StoreReadOnly: This session may only read.
            MemoryCoreError: The index cannot be written.
        """

    def lock(self, *, wait_seconds: float = 0.0) -> AbstractContextManager[None]:
        """Hold the right to sync this index; it ends with its owner's process.

        Raises:
            SyncBusy: Another process, or another thread of this one, holds it for longer than `wait_seconds`.
            StoreReadOnly: The lock cannot be taken.
        """

    def prepare(self) -> None:
        """Make or migrate the index. The caller holds the lock."""

    def tidy(self, *, whole: bool) -> Iterator[None]:
        """Give back space in steps, each a transaction of its own; a caller may stop between two.

        Args:
            whole: Merge the keyword index into one piece before.
        """

    @property
    def is_suspect(self) -> bool:
        """True once something has failed that may be damage, until `repair` has looked."""

    def needs_check(self) -> bool:
        """Return True if `repair` should look although nothing has failed yet."""

    def repair(self) -> str | None:
        """Make way for a new index if this one is damaged; return how it was damaged, None if nothing was done."""

    def rest(self) -> None:
        """Let go of what the next search can read again."""

    def close(self) -> None:
        """Close all connections; may be called twice."""


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
