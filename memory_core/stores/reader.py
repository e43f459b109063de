"""The interface through which search reads an index. Every store implements it on an engine of its own."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import TYPE_CHECKING, NamedTuple, Protocol

from memory_core.embeddings.protocols import Calibration, Space
from memory_core.records import Unit
from memory_core.text.languages import Language
from memory_core.text.terms import is_single_cjk

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Form(NamedTuple):
    """Another form of a word, in lower case, and its stem in the keyword index."""

    word: str
    stem: str


@dataclass(frozen=True, slots=True)
class Term:
    """A word of the question, or a phrase whose words must stand together.

    Attributes:
        text: As it stands in the question; words in lower case.
        stems: As the keyword index holds it: one for a word.
        documents: The number of chunks that hold it; at most that, where it has other forms.
        forms: Other forms of a word that some chunk holds, with other stems, one for each stem.
    """

    text: str
    stems: tuple[str, ...]
    documents: int
    forms: tuple[Form, ...] = ()

    @property
    def prefix(self) -> bool:
        """True if it matches the beginnings of words: a single CJK character."""
        return is_single_cjk(self.text)


@dataclass(frozen=True, slots=True)
class DateRange:
    """The dates of the files to search, both ends included; None is no limit.

    A file without a date has that of the local day on which it was last changed.
    """

    first: date | None = None
    last: date | None = None

    @property
    def is_limited(self) -> bool:
        """True if some dates are excluded."""
        return self.first is not None or self.last is not None


@dataclass(frozen=True, slots=True)
class ServingSpace:
    """The vector space whose embeddings answer questions.

    Attributes:
        id: The store's own.
        space: Of which provider and model it is.
        calibration: The worth of its cosines, as the store has estimated it; None before the first estimate.
    """

    id: int
    space: Space
    calibration: Calibration | None = None


@dataclass(frozen=True, slots=True)
class IndexedChunk:
    """A chunk as the index holds it.

    Attributes:
        id: In the index.
        path, source, date: Of its file.
        start_line: In the file, from 1.
        context: The date and headings above it.
        text: Its lines.
        units: What is ranked, never empty.
        token_ids: Of its units, as `embeddings.token_blobs` packs them; None where the store keeps none, or did not load them.
        derived: What searches have made of the rest, by name, for others that find it while the store keeps it in memory.
    """

    id: int
    path: str
    source: str
    date: str | None
    start_line: int
    context: str
    text: str
    units: Sequence[Unit]
    token_ids: bytes | None
    derived: dict[str, object] = field(default_factory=dict, compare=False, repr=False)


class WindowCosine(NamedTuple):  # a search makes some hundred: the cheapest kind of record
    """The cosine of one window: of the units of a chunk from `first` to `last`, included."""

    chunk_id: int
    first: int
    last: int
    cosine: float


@dataclass(frozen=True, slots=True)
class WindowTokens:
    """The signs of the token vectors of one window.

    Attributes:
        chunk_id: Of its chunk.
        first: Index of its first unit in the chunk.
        counts: For each of its units the number of tokens.
        signs: Shape (tokens, bytes of one token), uint8; see `embeddings.token_blobs`.
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

    def load_chunks(self, ids: Collection[int], *, tokens: bool = False) -> list[IndexedChunk]:
        """Return the chunks with these ids, in any order; those without units are left out.

        Args:
            ids: Of the chunks.
            tokens: Load their token ids, too.
        """
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


def sort_equals(chunks: Iterable[IndexedChunk]) -> list[IndexedChunk]:
    """Return chunks in the order in which those stand that answer a question equally well.

    Notes without a date, which are kept for long, come first, then the newer before the older: where somebody changed their
    mind, the later word holds. Besides, chunks stand in the order of their source, path and first line.
    """
    ordered = sorted(chunks, key=lambda chunk: (chunk.source, chunk.path, chunk.start_line))
    return sorted(ordered, key=lambda chunk: chunk.date or _UNDATED, reverse=True)
