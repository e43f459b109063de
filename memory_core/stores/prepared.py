"""Values that a sync and its store exchange: files as they were cut, files as they are indexed, texts to embed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING

from memory_core.embeddings.outage import Outage
from memory_core.embeddings.protocols import Space, TokenEmbedding
from memory_core.records import Chunk, FileFailure, FileStamp, MemoryFile, Unit, Window

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

DIGEST_BYTES = 16


def digest(text: str) -> bytes:
    """Return the blake2b-16 of a text, which may hold lone surrogates, as some transcripts do."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=DIGEST_BYTES).digest()


def digest_chunk(context: str, overlap_lines: int, text: str) -> bytes:
    """Return the digest by which a chunk is known; chunks with equal ones have equal keyword rows."""
    return digest(f"{context}\0{overlap_lines}\0{text}")


def slice_units(text: str, units: Iterable[Unit]) -> tuple[str, ...]:
    """Return the texts of a chunk's units."""
    return tuple(text[unit.start : unit.end] for unit in units)


class PreparedChunk:
    """A chunk with what is derived from it, ready to be written; immutable.

    Units and windows are cut when they are first asked for: of a note that has changed, the index holds most chunks already.

    Args:
        chunk: A part of a note.
        units: What is ranked; None cuts them.
        windows: What is embedded; None packs the units into them.
    """

    def __init__(
        self, chunk: Chunk, units: tuple[Unit, ...] | None = None, windows: tuple[Window, ...] | None = None
    ) -> None:
        self.chunk = chunk
        self._units = units
        self._windows = windows

    @property
    def units(self) -> tuple[Unit, ...]:
        """The units of the text behind the overlap."""
        if self._units is None:
            from memory_core.text.units import split_units

            chunk = self.chunk
            self._units = tuple(split_units(chunk.text, skip_lines=chunk.overlap_lines, fence=chunk.fence))
        return self._units

    @property
    def windows(self) -> tuple[Window, ...]:
        """The windows of the units."""
        if self._windows is None:
            from memory_core.text.units import split_windows

            self._windows = tuple(split_windows(self.chunk.text, self.units))
        return self._windows

    @property
    def hash(self) -> bytes:
        """See `digest_chunk`."""
        return digest_chunk(self.chunk.context, self.chunk.overlap_lines, self.chunk.text)


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedFile:
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


@dataclass(frozen=True, slots=True)
class IndexedFile:
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


@dataclass(frozen=True, slots=True)
class StagedFile:
    """A file for the index that a rebuild makes.

    Attributes:
        file: As it was listed.
        prepared: Its text; None when it could not be read and the index does not hold it.
        error: Why it could not be read; None when it could.
    """

    file: MemoryFile
    prepared: PreparedFile | None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class PendingWindow:
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


@dataclass(frozen=True, slots=True)
class EmbeddedWindows:
    """Embeddings of some windows.

    Attributes:
        hashes: Digests of their texts.
        rows: float32 of unit length or zero, shape (len(hashes), dimensions).
        tokens: Embeddings of each window's tokens by unit, where the provider offers them; else empty.
    """

    hashes: Sequence[bytes]
    rows: NDArray[np.float32]
    tokens: Sequence[TokenEmbedding] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexSummary:
    """The content of an index and what it remembers.

    Attributes:
        workspace: The real path of the folder whose notes it holds; None if it does not say.
        files: The number of indexed files of each source.
        chunks: The number of chunks.
        embeddings: The number of embeddings in the serving space that some window refers to.
        pending: The number of texts without an embedding: in the space that syncs fill, else in the one that serves.
        pending_reason: Why the last sync that needed embeddings could not have them all; None if it could.
        serving: The space whose vectors answer; None when keywords answer alone.
        is_moving: Syncs fill another space than the one that serves.
        target: That space; None where there is none, or its dimensions are unknown yet.
        outage: The recorded outage of a provider, of whichever one.
        failures: Files that the last sync left as they were.
        last_sync: Unix seconds; None before the first.
        stamps: The stamp of each note as it was indexed, by (source, path); no session logs, and
            none of the failures.
        vector: By what the vectors of the serving space are searched: see `Status.vector`.
        vector_reason: See `Status.vector_reason`.
        store_bytes: The size of the index.
    """

    workspace: str | None
    files: Mapping[str, int]
    chunks: int
    embeddings: int
    pending: int
    pending_reason: str | None
    serving: Space | None
    is_moving: bool
    target: Space | None
    outage: Outage | None
    failures: tuple[FileFailure, ...]
    last_sync: float | None
    stamps: Mapping[tuple[str, str], FileStamp]
    vector: str
    vector_reason: str | None
    store_bytes: int = 0
