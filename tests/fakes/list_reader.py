"""A store of plain lists: implements `stores.interface.Reader` without SQLite, by looking at everything."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from memory_core.config.agent import AgentConfig
from memory_core.embeddings.protocols import EmbeddingProvider, TokenEmbedder
from memory_core.embeddings.vectors import estimate, pack_signs, round_to_int8, unpack_signs
from memory_core.records import MemoryFile, Window
from memory_core.sources import files, session_logs
from memory_core.stores.interface import Reader, best_of
from memory_core.stores.values import (
    ChunkText,
    DateRange,
    IndexedChunk,
    ServingSpace,
    SyncState,
    Term,
    WindowCosine,
    WindowTokens,
    sort_equals,
)
from memory_core.sync.syncer import cut, read_text
from memory_core.text.folding import fold_words
from memory_core.text.languages import Relation, Stemmed, relate_words, stem_words
from memory_core.text.terms import is_single_cjk, write_index
from memory_core.text.units import split_units, split_windows
from tests.fakes import porter

if TYPE_CHECKING:
    from numpy.typing import NDArray

SPACE_ID = 7
K1, B = 1.2, 0.75  # of BM25


@dataclass
class _Chunk:
    """A chunk with all that is known of it.

    Attributes:
        row: As search gets it.
        day: The date by which it is filtered.
        fields: The stems of its context and of its text.
        stems: The same, counted.
        windows: What is embedded.
        vectors: Of its windows, shape (windows, dimensions).
        tokens: Of its windows; None without a provider that offers them.
    """

    row: IndexedChunk
    day: date
    fields: tuple[list[str], list[str]]
    stems: Counter[str]
    windows: Sequence[Window]
    vectors: NDArray[np.float32]
    tokens: list[WindowTokens] | None

    def count(self, run: list[str], *, prefix: bool = False) -> int:
        """Count the places at which stems stand together."""
        if prefix:
            return sum(count for stem, count in self.stems.items() if stem.startswith(run[0]))
        if len(run) == 1 or not self.stems[run[0]]:
            return self.stems[run[0]]
        return sum(words[at : at + len(run)] == run for words in self.fields for at in range(len(words)))


def _stem_words(words: str) -> list[str]:
    """Return the stems of words as a question has them, those of CJK in pairs."""
    return porter.stems(fold_words(words))


class ListReader:
    """The notes of one workspace, read and embedded when it is made.

    Args:
        config: Whose notes.
        provider: Embeds them; None leaves them without.
    """

    def __init__(self, config: AgentConfig, provider: EmbeddingProvider | None = None) -> None:
        self._workspace = os.path.realpath(config.workspace)
        self._chunks: list[_Chunk] = []
        self._forms: set[Stemmed] = set()
        self._lines: dict[tuple[str, str], Sequence[int]] = {}
        self._space = provider.space if provider is not None else None
        for file in (*files.list_files(config).files, *session_logs.list_sessions(config).files):
            self._add(config, file, provider)
        rows = [chunk.vectors for chunk in self._chunks]
        self._rows = np.concatenate(rows) if rows else np.zeros((0, 0), dtype=np.float32)

    def _add(self, config: AgentConfig, file: MemoryFile, provider: EmbeddingProvider | None) -> None:
        prepared = cut(file, read_text(file), config.search.chunking)
        if session_logs.is_log(file.path):
            self._lines[file.source, file.path] = prepared.lines
        changed = datetime.fromtimestamp(file.stamp.mtime_ns / 1e9).astimezone().date()
        for chunk in (each.chunk for each in prepared.chunks):
            units = split_units(chunk.text, skip_lines=chunk.overlap_lines, fence=chunk.fence)
            windows = split_windows(chunk.text, units)
            texts = [chunk.text[unit.start : unit.end] for unit in units]
            number = len(self._chunks) + 1
            vectors, tokens = _embed(provider, number, windows, texts)
            fields = self.stem(chunk.context), self.stem(chunk.text)
            self._forms.update(relate_words(f"{chunk.context}\n{chunk.text}"))
            self._chunks.append(
                _Chunk(
                    IndexedChunk(
                        number,
                        file.path,
                        file.source,
                        chunk.day or prepared.date,
                        chunk.start_line,
                        chunk.context,
                        chunk.text,
                        units,
                    ),
                    date.fromisoformat(chunk.day or prepared.date or changed.isoformat()),
                    fields,
                    Counter(chain(*fields)),
                    windows,
                    vectors,
                    tokens,
                )
            )

    def holds_notes(self) -> bool:
        return any(chunk.row.source != "sessions" for chunk in self._chunks)

    def count_chunks(self) -> int:
        return len(self._chunks)

    def load_workspace(self) -> str | None:
        return self._workspace

    def load_state(self) -> SyncState:
        return SyncState(workspace=self._workspace)

    def load_serving_space(self) -> ServingSpace | None:
        if self._space is None:
            return None
        return ServingSpace(SPACE_ID, self._space, estimate(self._rows, len(self._rows)))

    def stem(self, text: str) -> list[str]:
        return porter.stems(write_index(text))

    def count_by_stem(self, stems: Collection[str]) -> dict[str, int]:
        return {stem: sum(chunk.count([stem]) > 0 for chunk in self._chunks) for stem in stems}

    def find_forms(self, words: Collection[str], languages: Sequence[Relation]) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for asked in (each for language in languages for each in stem_words(words, language)):
            forms = sorted(each.word for each in self._forms if each[:2] == asked[:2] and each.word != asked.word)
            found.setdefault(asked.word, []).extend(forms)
        return found

    def find_spelt(self, begin: str, end: str, lengths: tuple[int, int]) -> list[str]:
        return [
            word
            for relation, key, word in self._forms
            if lengths[0] <= len(key) <= lengths[1]
            if (relation == "spelt" and key.startswith(begin)) or (relation == "mirrored" and key.startswith(end[::-1]))
        ]

    def count_by_prefix(self, prefixes: Collection[str]) -> dict[str, int]:
        holding = Counter(stem for chunk in self._chunks for stem in chunk.stems)
        found = {
            prefix: max((count for stem, count in holding.items() if stem.startswith(prefix)), default=0)
            for prefix in prefixes
        }
        return {prefix: count for prefix, count in found.items() if count}

    def count_phrase(self, phrase: str) -> int:
        run = _stem_words(phrase)
        return sum(chunk.count(run) > 0 for chunk in self._chunks)

    def find_by_keyword(self, terms: Sequence[Term], dates: DateRange, depth: int) -> dict[int, float]:
        average = sum(chunk.stems.total() for chunk in self._chunks) / len(self._chunks)
        total: dict[int, float] = {}
        for term in terms:
            for spelling in (term.text, *(form.word for form in term.forms)):
                run = _stem_words(spelling)
                counts = [chunk.count(run, prefix=is_single_cjk(spelling)) for chunk in self._chunks]
                holding = sum(count > 0 for count in counts)
                rarity = max(math.log((len(self._chunks) - holding + 0.5) / (holding + 0.5)), 1e-6)
                for chunk, count in zip(self._chunks, counts, strict=True):
                    if count and _is_within(chunk, dates):
                        damping = K1 * (1 - B + B * chunk.stems.total() / average)
                        score = rarity * count * (K1 + 1) / (count + damping)
                        total[chunk.row.id] = total.get(chunk.row.id, 0.0) + score
        return best_of(self, total, depth)

    def find_nearest(
        self, space_id: int, vector: NDArray[np.float32], dates: DateRange, depth: int
    ) -> dict[int, float]:
        assert space_id == SPACE_ID
        vector = self._round(vector)
        found = {
            chunk.row.id: float((chunk.vectors @ vector).max())
            for chunk in self._chunks
            if len(chunk.vectors) and _is_within(chunk, dates)
        }
        return best_of(self, found, depth)

    def find_by_name(self, name: str, dates: DateRange, limit: int) -> list[int]:
        found = [
            chunk.row
            for chunk in self._chunks
            if (chunk.row.date == name or f"/{chunk.row.path.lower()}".endswith(f"/{name}"))
            and _is_within(chunk, dates)
        ]
        return [row.id for row in sorted(found, key=lambda row: (row.source, row.path, row.start_line))][:limit]

    def find_dated(self, first: date, last: date, limit: int) -> list[int]:
        found = [
            chunk.row
            for chunk in self._chunks
            if chunk.row.date and first.isoformat() <= chunk.row.date <= last.isoformat()
        ]
        ordered = sorted(found, key=lambda row: (row.date or "", row.source, row.path, row.start_line))
        return [row.id for row in ordered][:limit]

    def sort_equals(self, ids: Iterable[int]) -> list[int]:
        return [row.id for row in sort_equals(chunk.row for chunk in self._held(ids))]

    def load_chunks(self, ids: Collection[int]) -> list[IndexedChunk]:
        return [chunk.row for chunk in self._held(ids) if chunk.row.units]

    def compare_windows(
        self, space_id: int, vector: NDArray[np.float32], chunk_ids: Collection[int]
    ) -> list[WindowCosine]:
        assert space_id == SPACE_ID
        vector = self._round(vector)
        return [
            WindowCosine(chunk.row.id, window.first, window.last, float(row @ vector))
            for chunk in self._held(chunk_ids)
            for window, row in zip(chunk.windows, chunk.vectors, strict=True)
        ]

    def _round(self, query: NDArray[np.float32]) -> NDArray[np.float32]:
        """Round as the index does, which compares queries and vectors of one encoding."""
        return round_to_int8(query[None])[0] if self._space is not None and self._space.fits_int8 else query

    def load_tokens(self, space_id: int, chunk_ids: Collection[int]) -> list[WindowTokens] | None:
        assert space_id == SPACE_ID
        found: list[WindowTokens] = []
        for chunk in self._held(chunk_ids):
            if chunk.tokens is None:
                return None
            found += chunk.tokens
        return found

    def find_phrases(self, phrases: Sequence[str], dates: DateRange) -> list[int]:
        runs = [(_stem_words(phrase), is_single_cjk(phrase)) for phrase in phrases]
        return [
            each.row.id
            for each in self._chunks
            if any(each.count(run, prefix=single) for run, single in runs) and _is_within(each, dates)
        ]

    def find_beginnings(self) -> list[int]:
        first: dict[str, int] = {}
        for chunk in self._chunks:
            if chunk.row.source != "sessions":
                first.setdefault(chunk.row.path, chunk.row.id)
        return [*first.values()]

    def find_linking(self) -> list[int]:
        return [each.row.id for each in self._chunks if any(mark in each.row.text for mark in ("[[", "](", "#"))]

    def load_texts(self, ids: Collection[int], *, whole: bool) -> list[ChunkText]:
        rows = [each.row for each in self._held(ids) if each.row.source != "sessions"]
        if whole:
            paths = {(row.source, row.path) for row in rows}
            rows = [each.row for each in self._chunks if (each.row.source, each.row.path) in paths]
        rows.sort(key=lambda row: (row.source, row.path, row.start_line, row.id))
        return [ChunkText(row.id, row.path, row.source, row.date, row.start_line, row.text) for row in rows]

    def load_log_lines(self, source: str, path: str) -> Sequence[int]:
        return self._lines.get((source, path), ())

    def _held(self, ids: Iterable[int]) -> Iterator[_Chunk]:
        return (self._chunks[chunk_id - 1] for chunk_id in ids)


def _embed(
    provider: EmbeddingProvider | None, chunk_id: int, windows: Sequence[Window], units: Sequence[str]
) -> tuple[NDArray[np.float32], list[WindowTokens] | None]:
    if provider is None or not windows:
        return np.zeros((0, 0), dtype=np.float32), None
    if not isinstance(provider, TokenEmbedder):
        rows = np.concatenate([rows for _, rows in provider.embed_documents([one.text for one in windows])])
        return rows, None
    parts = [[units[one.first], *("\n" + unit for unit in units[one.first + 1 : one.last + 1])] for one in windows]
    made = [embedding for _, several in provider.embed_document_tokens(parts) for embedding in several]
    tokens = [
        WindowTokens(
            chunk_id,
            one.first,
            *unpack_signs(pack_signs(embedding), units=one.last + 1 - one.first, dimensions=len(embedding.row)),
        )
        for one, embedding in zip(windows, made, strict=True)
    ]
    return np.stack([embedding.row for embedding in made]), tokens


def _is_within(chunk: _Chunk, dates: DateRange) -> bool:
    return (dates.first or date.min) <= chunk.day <= (dates.last or date.max)


_IS_READER: type[Reader] = ListReader  # checked by mypy
