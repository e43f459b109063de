"""Values that a store exchanges with a sync and with a search, and pure functions on them."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, TypedDict

from memory_core.embeddings.protocols import TokenEmbedding
from memory_core.records import Calibration, Chunk, FileKey, FileStamp, MemoryFile, Space, Unit, Window
from memory_core.text.folding import clean
from memory_core.text.languages import Stemmed
from memory_core.text.messages import replace_surrogates
from memory_core.text.terms import is_single_cjk

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

DIGEST_BYTES = 16
_OF_CONTENT = ("tidy", "complete")  # values of `SyncState` that hold until content changes


def digest(text: str) -> bytes:
    """Return the blake2b-16 of a text, which may hold lone surrogates, as some transcripts do."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=DIGEST_BYTES).digest()


def digest_chunk(context: str, overlap_lines: int, text: str) -> bytes:
    """Return the digest by which a chunk is known; chunks with equal ones have equal keyword rows."""
    return digest(f"{context}\0{overlap_lines}\0{text}")


def slice_units(text: str, units: Iterable[Unit]) -> tuple[str, ...]:
    """Return the texts of a chunk's units as they are embedded."""
    return tuple(clean(text[unit.start : unit.end]) for unit in units)


@dataclass(frozen=True, eq=False)
class PreparedChunk:
    """A chunk with what is derived from it, ready to be written.

    Units and windows are cut when they are first asked for: of a note that has changed, the index holds most chunks already.
    """

    chunk: Chunk

    @cached_property
    def units(self) -> tuple[Unit, ...]:
        """The units of the text behind the overlap, which are ranked."""
        from memory_core.text.units import split_units

        chunk = self.chunk
        return tuple(split_units(chunk.text, skip_lines=chunk.overlap_lines, fence=chunk.fence))

    @cached_property
    def windows(self) -> tuple[Window, ...]:
        """The windows of the units, which are embedded."""
        from memory_core.text.units import split_windows

        return tuple(split_windows(self.chunk.text, self.units))

    @property
    def hash(self) -> bytes:
        """See `digest_chunk`."""
        return digest_chunk(self.chunk.context, self.chunk.overlap_lines, self.chunk.text)

    def list_pending(self) -> Iterator[PendingWindow]:
        """Yield the windows as an index gives them out that has no embedding of any."""
        text = replace_surrogates(self.chunk.text)
        for window in self.windows:
            yield PendingWindow(digest(window.text), slice_units(text, self.units[window.first : window.last + 1]))


class ChunkRow(NamedTuple):
    """A stored chunk of one file: its id, and the lines at which it stands."""

    id: int
    start: int
    end: int


class ChunkChanges(NamedTuple):
    """The changes that turn the stored chunks of a file into its prepared ones.

    Attributes:
        new: Chunks to insert.
        moved: Rows whose lines change, with the new ones.
        unused: Ids of rows to delete.
    """

    new: list[PreparedChunk]
    moved: list[ChunkRow]
    unused: list[int]


def pair_chunks(chunks: Iterable[PreparedChunk], stored: Iterable[tuple[bytes, ChunkRow]]) -> ChunkChanges:
    """Pair the prepared chunks of a file with stored ones of equal hashes, which keep their rows.

    Args:
        chunks: As the file is to have them.
        stored: The hash and the row of each that it has, in any order; of equal ones, the lower id is taken first.
    """
    held: dict[bytes, list[ChunkRow]] = {}
    for key, row in sorted(stored, key=lambda each: each[1].id, reverse=True):
        held.setdefault(key, []).append(row)
    changes = ChunkChanges([], [], [])
    for item in chunks:
        if rows := held.get(item.hash):
            kept, wanted = rows.pop(), (item.chunk.start_line, item.chunk.end_line)
            if (kept.start, kept.end) != wanted:
                changes.moved.append(ChunkRow(kept.id, *wanted))
        else:
            changes.new.append(item)
    changes.unused.extend(row.id for rows in held.values() for row in rows)
    return changes


class PreparedFile(NamedTuple):
    """A file as the index is to hold it.

    Attributes:
        file: As it was listed.
        hash: Digest of its bytes.
        stamp: As it was read.
        date: ISO date of the note or session; None when it has none.
        chunks: Its text.
        lines: For every line of the text that was cut the line of the file, where those differ; empty where they don't.
    """

    file: MemoryFile
    hash: bytes
    stamp: FileStamp
    date: str | None
    chunks: tuple[PreparedChunk, ...]
    lines: Sequence[int] = ()


class IndexedFile(NamedTuple):
    """A file as the index holds it.

    Attributes:
        id: Of its row in the store.
        source: "memory", "workspace" or "sessions".
        path: As shown to the agent.
        hash: Digest of its bytes; empty until it was read for the first time.
        stamp: When it was read.
        error: Why the last sync could not read it; None when it could.
    """

    id: int
    source: str
    path: str
    hash: bytes
    stamp: FileStamp
    error: str | None

    @property
    def key(self) -> FileKey:
        """Its source and its path."""
        return FileKey(self.source, self.path)


def to_indexed(row: tuple[Any, ...]) -> IndexedFile:
    """Return a file from its row: id, source, path, hash, error, size, and the times and inode of its stamp."""
    file_id, source, path, content, error, *stamp = row
    return IndexedFile(file_id, source, path, content, FileStamp(*stamp), error)


class PendingWindow(NamedTuple):
    """A window that has no embedding in some space: the digest of its text and the texts of its units."""

    hash: bytes
    units: tuple[str, ...]

    @property
    def text(self) -> str:
        """The text to embed."""
        return "\n".join(self.units)

    @property
    def parts(self) -> list[str]:
        """One part for each unit; joined, they are the text."""
        return [self.units[0], *("\n" + unit for unit in self.units[1:])]


class EmbeddedWindows(NamedTuple):
    """Embeddings of some windows.

    Attributes:
        hashes: Digests of their texts.
        rows: float32 of unit length or zero, shape (len(hashes), dimensions).
        tokens: Embeddings of each window's tokens by unit, where the provider offers them; else empty.
    """

    hashes: Sequence[bytes]
    rows: NDArray[np.float32]
    tokens: Sequence[TokenEmbedding] = ()


TargetSpace: TypeAlias = int | Literal["unknown"] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncState:
    """Values that an index remembers from one sync to the next.

    Attributes:
        generation: Changes whenever files, chunks or embeddings do, in whichever process.
        identity: What its text was cut with; None before the first sync.
        workspace: The real path of the folder whose notes it holds; None before the first sync.
        last_sync: Unix seconds of the last sync that was recorded.
        tidy: Nothing has changed since space was last given back.
        serving: Id of the space whose vectors answer; None while keywords answer alone.
        target: Id of the space that syncs fill while another one serves; "unknown" until the provider's first vector
            tells its dimensions; None while no such space is filled.
        complete: Id of the space that was complete and has been since, as no content changed; None if there is none.
        pending_reason: Why the last sync that needed embeddings could not have them all.
        destinations: The places outside this machine to which notes went, and of which folder, "openai at https://…: /notes".
        refused: The Unix seconds at which a provider refused a text alone, by `name_refused`.
        outage: The record of the provider's outage, as `Outage.to_json` wrote it; None when there is none.
    """

    generation: str = "0"
    identity: str | None = None
    workspace: str | None = None
    last_sync: float | None = None
    tidy: bool = False
    serving: int | None = None
    target: TargetSpace = None
    complete: int | None = None
    pending_reason: str | None = None
    destinations: Sequence[str] = ()
    refused: Mapping[str, float] = field(default_factory=dict)
    outage: str | None = None


def name_refused(space: Space, key: bytes) -> str:
    """Return the name of a text, given by its digest, in `SyncState.refused`."""
    return f"{space.provider} {space.model} {space.endpoint} {key.hex()}"


def list_refused(state: SyncState) -> list[bytes]:
    """Return the digests of the texts in `SyncState.refused`."""
    return [bytes.fromhex(name.rpartition(" ")[2]) for name in state.refused]


class StateValues(TypedDict, total=False):
    """Values of `SyncState` that a writer remembers.

    Which space is complete, and that the index is tidy, hold until content changes: for the generation in which they are saved.
    """

    identity: str
    workspace: str
    last_sync: float
    tidy: bool
    serving: int | None
    target: TargetSpace
    complete: int | None
    pending_reason: str | None
    destinations: Sequence[str]
    refused: Mapping[str, float]
    outage: str | None


def recall_state(held: Mapping[str, Any], *, generation: int, workspace: str | None) -> SyncState:
    """Return what an index remembers from one sync to the next.

    Args:
        held: Its values by name, as `remember` makes them.
        generation: Of its content.
        workspace: The real path of the folder whose notes it holds.
    """
    values = {name: value for name, value in held.items() if name in StateValues.__annotations__}
    for name in _OF_CONTENT:
        saved_at, value = values.pop(name, (None, None))
        if saved_at == generation:
            values[name] = value
    return SyncState(**{**values, "generation": str(generation), "workspace": workspace})


def remember(held: Mapping[str, Any], values: StateValues, *, generation: int) -> dict[str, Any]:
    """Return the values of an index, of which some are new; each as JSON gives it back.

    Args:
        held: Its values so far, by name.
        values: Those that take the place of others.
        generation: Of its content.
    """
    given: dict[str, Any] = {**values}
    for name, value in given.items():
        if name in _OF_CONTENT and value:
            given[name] = [generation, value]
        elif name == "destinations":
            given[name] = [*value]
        elif name == "refused":
            given[name] = {**value} or None
    return {name: value for name, value in {**held, **given}.items() if value is not None and value is not False}


class Form(NamedTuple):
    """Another form of a word.

    Attributes:
        word: In lower case; several words where it stands apart.
        stem: In the keyword index; of a single CJK character, all stems that begin with it.
        worth: What it counts, beside 1 for the word itself.
    """

    word: str
    stem: str
    worth: float = 1.0


class Term(NamedTuple):
    """A word of the question, or a phrase whose words must stand together.

    Attributes:
        text: As it stands in the question; words in lower case.
        stems: As the keyword index holds it: one for a word.
        documents: The number of chunks that hold it; at most that, where it has other forms.
        forms: Other forms of a word that some chunk holds, with other stems, one for each stem.
        asked: The word of the question that no chunk holds and that was taken for this one; "" where it is this one.
        in_part: No chunk holds it but in forms that count less.
    """

    text: str
    stems: tuple[str, ...]
    documents: int
    forms: tuple[Form, ...] = ()
    asked: str = ""
    in_part: bool = False

    @property
    def prefix(self) -> bool:
        """True if it matches the beginnings of words: a single CJK character."""
        return is_single_cjk(self.text)


def spell(terms: Iterable[Term]) -> Iterator[str]:
    """Yield the words and phrases of terms, each followed by its other forms."""
    return (spelling for term in terms for spelling in (term.text, *(form.word for form in term.forms)))


def inverse_document_frequency(documents: int, containing: int) -> float:
    """Return ln(1 + (N - n + .5) / (n + .5)), Lucene's form of the Robertson-Sparck Jones weight of a term: never negative.

    Args:
        documents: The number N of chunks in the index.
        containing: The number n of those that hold the term.
    """
    return math.log(1 + (max(documents - containing, 0) + 0.5) / (containing + 0.5))


MAX_HITS = 3000  # chunks that a search scores by keyword, about


def count_rarest(terms: Sequence[Term], depth: int) -> int:
    """Return how many of the terms, the rarest first, find `depth` chunks if there are as many, and not far more.

    To score a chunk that matches takes time, and most of many hold one common word. So where they are many, a chunk must hold
    one of the rarer terms for the common ones to be looked at.
    """
    hits = count = 0
    for term in terms:
        if hits >= depth and hits + term.documents > MAX_HITS:
            break
        hits, count = hits + term.documents, count + 1
    return count


def pair_forms(asked: Sequence[Stemmed], stored: Iterable[tuple[str, str, str]]) -> dict[str, list[str]]:
    """Return for each asked word the stored words with its stem and language; a word without others is left out.

    Args:
        asked: Words with their stems in some languages.
        stored: (language, stem, word) of words of the notes.
    """
    forms: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for language, stem, word in stored:
        forms[language, stem].append(word)
    found: defaultdict[str, list[str]] = defaultdict(list)
    for language, stem, word in asked:
        found[word] += [form for form in forms[language, stem] if form != word]
    return {word: others for word, others in found.items() if others}


class DateRange(NamedTuple):
    """The days of what is searched, both ends included; None is no limit.

    A passage has the day of its section, else the date of its file. A file without one has that of its last change, in the time
    zone of the configuration.
    """

    first: date | None = None
    last: date | None = None

    @property
    def is_limited(self) -> bool:
        """True if some dates are excluded."""
        return self.first is not None or self.last is not None


class ServingSpace(NamedTuple):
    """The vector space whose embeddings answer questions.

    Attributes:
        id: The store's own.
        space: Of which provider and model it is.
        calibration: What its cosines mean, as the store has estimated it; None before the first estimate.
    """

    id: int
    space: Space
    calibration: Calibration | None = None


def to_serving(row: tuple[Any, ...] | None) -> ServingSpace | None:
    """Return a space from its row: id, the fields of `Space`, floor and span of its calibration; None without one."""
    if row is None:
        return None
    number, *about, floor, span = row
    return ServingSpace(number, Space(*about), None if floor is None else Calibration(floor=floor, span=span))


class IndexedChunk(NamedTuple):
    """A chunk as the index holds it.

    Attributes:
        id: In the index.
        path, source: Of its file.
        date: ISO day of its section, else of its file; None where neither has one.
        start_line: In the file, from 1.
        context: The date and headings above it.
        text: Its lines.
        units: What is ranked, never empty.
    """

    id: int
    path: str
    source: str
    date: str | None
    start_line: int
    context: str
    text: str
    units: Sequence[Unit]

    def quote_unit(self, index: int) -> str:
        """Return the text of one of its units."""
        unit = self.units[index]
        return self.text[unit.start : unit.end]


class WindowCosine(NamedTuple):  # a search makes some hundred: the cheapest kind of record
    """The cosine of one window: of the units of a chunk from `first` to `last`, included."""

    chunk_id: int
    first: int
    last: int
    cosine: float


class WindowTokens(NamedTuple):
    """The signs of the token vectors of one window.

    Attributes:
        chunk_id: Of its chunk.
        first: Index of its first unit in the chunk.
        counts: For each of its units the number of tokens.
        signs: Shape (tokens, bytes of one token), uint8; see `embeddings.vectors`.
    """

    chunk_id: int
    first: int
    counts: NDArray[np.uint16]
    signs: NDArray[np.uint8]


class ChunkText(NamedTuple):
    """The text of a chunk of a note, and its place.

    Attributes:
        id: Of the chunk.
        path, source, date: Of its note.
        start_line: In the note, from 1.
        text: Whole lines, or a part of one that is too long.
    """

    id: int
    path: str
    source: str
    date: str | None
    start_line: int
    text: str


_UNDATED = "9999"  # behind all dates


def sort_equals(chunks: Iterable[IndexedChunk]) -> list[IndexedChunk]:
    """Return chunks in the order in which those stand that answer a question equally well.

    Notes without a date, which are kept for long, come first, then the newer before the older: where somebody changed their
    mind, the later word holds. Besides, chunks stand in the order of their source, path and first line.
    """
    ordered = sorted(chunks, key=lambda chunk: (chunk.source, chunk.path, chunk.start_line))
    return sorted(ordered, key=lambda chunk: chunk.date or _UNDATED, reverse=True)
