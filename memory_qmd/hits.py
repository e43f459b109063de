"""Hits from the rows that QMD returned: files located, passages cut, scores made comparable, limits kept.

QMD names a file and a line, but its snippet may miss the match. So the file is split into chunks and units as in the
builtin backend, chunks are judged by the words they hold and by their meaning, and `search.passages` packs the units.

The score by meaning has two witnesses: QMD's evidence for the file, and our own static model for the passage itself.
QMD embeds pieces of 900 tokens, so that one line which answers a question hardly lifts the cosine of its piece. With
all-MiniLM-L6-v2 the right notes for the five paraphrases of the sample workspace have cosines of .27 to .43, and the best
notes for pseudo-words .25 to .40: no threshold separates them. So the static model, which reads windows of 100 tokens, is a
second witness. At the default minScore of .35, through QMD 2.8.3 on five judged conversations of tests/benchmarks (760
questions; nonsense is a third each pseudo-words, word salad and gibberish), and on the sample:

                               questions answered   right note in three   nonsense answered   the sample's paraphrases
    cosine of QMD alone        .99 to 1             .82 to .90            .00 to .01          4 of 5
    static model alone         1                    .80 to .90            .00 to .02          5 of 5
    both                       .99 to 1             .85 to .92            .00 to .02          5 of 5

`python -m tests.qmd.thresholds` measures the last row again.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING

from memory_core.config.settings import Chunking
from memory_core.embeddings.vectors import DEFAULT_CALIBRATION, SAMPLE, as_rows, estimate, is_outdated
from memory_core.errors import FileUnreadable, MemoryCoreError, ProviderUnavailable
from memory_core.records import Calibration, Chunk, Hit, MemoryFile, Query, Unit
from memory_core.search import scores
from memory_core.search.copies import join_hits
from memory_core.search.passages import Mark, Passage, PlacedUnit, find_marks, pack
from memory_core.sources import notes
from memory_core.text.chunks import split_chunks
from memory_core.text.terms import is_question, is_single_cjk
from memory_core.text.units import split_units, split_windows
from memory_qmd.client import QmdContext
from memory_qmd.collections import FileLocator
from memory_qmd.database import QmdFile, answer_or_nothing, make_stemmer
from memory_qmd.queries import PreparedQuestion, QmdRow, Scale
from memory_qmd.search import QmdAnswer

if TYPE_CHECKING:
    from memory_core.embeddings.static import StaticProvider
    from memory_core.embeddings.vectors import Rows

log = logging.getLogger(__name__)

# Share that is kept of the evidence of two witnesses, who often judge by the same words. With .8, .02 more of the word salad
# passes, and .01 fewer of the right notes are among the first three.
AGREEMENT = 0.7
NEAR_LINE = 0.15  # added to the score of the chunk with the line that QMD names, so that it wins among equals
CHARS_PER_TOKEN = 4  # as chunks are measured
# Chunks whose windows stay embedded, 4 kB each: twenty notes of 10 kB would take a quarter of a second at every question,
# and successive questions hit the same notes.
CACHED_CHUNKS = 2000


class Judge:
    """Judges the rows of one answer.

    Args:
        question: The question.
        scale: The meaning of the rows' scores.
        calibration: Of QMD's embedding model.
        chunks: Number of chunks into which memory_core would cut all that is indexed.
    """

    def __init__(self, question: PreparedQuestion, scale: Scale, calibration: Calibration, *, chunks: int) -> None:
        self._chunks = chunks
        self._is_sentence = is_question(question.text)
        self._scale = scale
        self._calibration = calibration
        self._witness = _find_witness(question) if scale in {"explained", "cosine"} else None

    def read_evidence(self, row: QmdRow, position: int) -> float | None:
        """Read QMD's own evidence for a row at a position, from 1: 0..1, or None if QMD was asked for words alone."""
        if self._scale == "words":
            return None
        if self._scale == "blend":
            return unblend(row.score, position) if row.rerank is None else min(max(row.rerank, 0.0), 1.0)
        cosine = row.score if self._scale == "cosine" else row.cosine
        return 0.0 if cosine is None else scores.vector_score(cosine, self._calibration)

    def judge_meaning(self, evidence: float | None, chunk: Chunk | None) -> float | None:
        """Return the evidence by meaning for a chunk of a row's file, 0..1; with None for the chunk, the most it can be.

        A reranker has read the text, so its judgement is taken alone. Otherwise QMD's cosine and the static model are two
        witnesses, which are taken to be independent.
        """
        if evidence is None or self._witness is None:
            return evidence
        near = 1.0 if chunk is None else self._witness(chunk)
        return AGREEMENT * (1 - (1 - evidence) * (1 - near))

    def score_words(self, covered: float) -> float:
        """Score a hit by the share of the question that it covers, 0..1, as in memory_core."""
        return scores.keyword_score(covered, self._chunks, question=self._is_sentence)

    def score(self, covered: float, meaning: float | None) -> float:
        """Score a hit by the share that it covers and, if it was asked for, by its evidence by meaning."""
        if meaning is None:
            return self.score_words(covered)
        return scores.hybrid_score(covered, meaning, self._chunks, question=self._is_sentence)


def unblend(blended: float, position: int) -> float:
    """Return the reranker's part of a score of `qmd query`, which is w / rank + (1 - w) rerank.

    w is .75 up to rank 3, .6 up to 10, .4 from there on. The rank before reranking is unknown, so the position afterwards
    is used for it: a row at position 1 keeps only what its score has above .75.
    """
    share = 0.75 if position <= 3 else 0.6 if position <= 10 else 0.4
    return min(max((blended - share / position) / (1 - share), 0.0), 1.0)


def _find_witness(question: PreparedQuestion) -> Callable[[Chunk], float] | None:
    """Return the static model's judgement: how near the nearest window of a chunk is, 0..1; None without that model."""
    model, words = _load_model(), question.words
    try:
        query = model.embed_query(question.text)
    except ProviderUnavailable as error:
        log.info("the static model cannot be loaded, so QMD's cosines are judged alone: %s", error)
        return None
    spelt = sum(map(len, model.token_ids(words))) > scores.SPELT_TOKENS * len(words)
    unknown_words = spelt and not question.known

    def compare(chunk: Chunk) -> float:
        cosine = max((_embed_windows(chunk.text) @ query).tolist(), default=-1.0)
        return scores.vector_score(cosine, model.calibration, unknown_words=unknown_words)

    return compare


@lru_cache(maxsize=1)
def _load_model() -> StaticProvider:
    """Return the process's one static model, which loads itself at the first text."""
    from memory_core.embeddings.static import StaticProvider

    return StaticProvider()


@lru_cache(maxsize=CACHED_CHUNKS)
def _embed_windows(text: str) -> Rows:
    """Embed a chunk's windows, shape (n, 256)."""
    import numpy as np

    windows = [window.text for window in split_windows(text, split_units(text))]
    rows = [rows for _, rows in _load_model().embed_documents(windows)]
    return np.concatenate(rows) if rows else np.zeros((0, _load_model().space.dimensions), np.float32)


@dataclass(frozen=True, slots=True)
class Place:
    """The chunk of a note that answers best.

    Attributes:
        chunk: The chunk.
        line: The line that QMD named, from 1; None if it named none.
        covered: The share of the question, by weight, that the chunk holds, 0..1.
        meaning: The chunk's evidence by meaning, 0..1; None where QMD was asked for words alone.
    """

    chunk: Chunk
    line: int | None
    covered: float
    meaning: float | None


class PlaceFinder:
    """Finds places for one question, and cuts passages from them."""

    def __init__(self, question: PreparedQuestion, chunking: Chunking, judge: Judge) -> None:
        self._judge = judge
        self._chunking = chunking
        self._stem = make_stemmer()
        self._weights = question.weights
        # A word of two CJK characters has two stems: the pair, which is taken, and its last character.
        self._terms = [("".join(self._stem(word)[:1]), is_single_cjk(word)) for word in question.words]
        self._weight_of = dict(zip((stem for stem, _ in self._terms), question.weights, strict=True))

    def find(self, text: str, *, line: int | None, title: str, evidence: float | None) -> Place | None:
        """Return the best place of a note; None if the note is blank.

        Args:
            text: The note.
            line: The line that QMD named, from 1; None if it named none.
            title: The note's name, which counts as text of every chunk.
            evidence: QMD's evidence by meaning for the note, from `Judge.read_evidence`.
        """
        best: tuple[float, Place] | None = None
        for chunk in split_chunks(text, self._chunking, title=title):
            if not split_units(chunk.text):
                continue
            covered = scores.coverage(self._weights, self._match(f"{chunk.context}\n{chunk.text}"))
            meaning = self._judge.judge_meaning(evidence, chunk)
            near = line is not None and chunk.start_line <= line <= chunk.end_line
            worth = self._judge.score(covered, meaning) + NEAR_LINE * near
            if best is None or worth > best[0]:
                best = (worth, Place(chunk, line, covered, meaning))
        return None if best is None else best[1]

    def cut(self, place: Place, file: MemoryFile, max_chars: int) -> Passage:
        """Pack the best units of a place into one passage of at most `max_chars` characters."""
        (passage,) = pack(self._place_units(place, file, max_chars), count=1, max_chars=max_chars)
        return passage

    def _place_units(self, place: Place, file: MemoryFile, max_chars: int) -> Iterator[PlacedUnit]:
        """Yield the units of a place, best first; one that is too long is cut around the words of the question."""
        chunk = place.chunk
        units = split_units(chunk.text)
        for index in self._rank(chunk, units, place.line):
            unit = units[index]
            yield PlacedUnit(
                chunk.start_line + unit.first_line, chunk.start_line + unit.last_line, unit.start, unit.end,
                file.path, file.source, 0, index, chunk.text,
            ).cut(max_chars, self._find_marks)  # fmt: skip

    def _find_marks(self, unit: PlacedUnit) -> list[Mark]:
        return find_marks(unit.text, (unit.start, unit.end), self._weight_of, self._stem)

    def _rank(self, chunk: Chunk, units: Sequence[Unit], line: int | None) -> list[int]:
        """Rank units by what they cover, then by their distance to the line, or to the best unit if any covers a word."""
        covered = [scores.coverage(self._weights, self._match(chunk.text[unit.start : unit.end])) for unit in units]
        best = max(range(len(units)), key=lambda index: (covered[index], -index))
        at = units[best].first_line if covered[best] or line is None else line - chunk.start_line

        def key(index: int) -> tuple[float, int, int]:
            unit = units[index]
            return -covered[index], max(unit.first_line - at, at - unit.last_line, 0), index

        return sorted(range(len(units)), key=key)

    def _match(self, text: str) -> list[bool]:
        """Tell for every word of the question whether the text holds it."""
        stems = frozenset(self._stem(text))
        return [
            any(other.startswith(stem) for other in stems) if prefix else stem in stems for stem, prefix in self._terms
        ]


class HitBuilder:
    """Builds the hits of one agent."""

    def __init__(self, qmd: QmdContext, database: QmdFile) -> None:
        self._config = qmd.config
        self._collections = qmd.collections
        self._limits = qmd.settings.limits
        self._database = database
        self._estimate: tuple[Calibration, int] | None = None

    def build(self, query: Query, question: PreparedQuestion, answer: QmdAnswer, *, indexed_bytes: int) -> list[Hit]:
        """Build hits, best first, one for each file, within the limits of the query and of `memory.qmd.limits`.

        Files are read in the order of the highest score that they can have, until no further file can be among the best.

        Args:
            query: The query.
            question: Its text, as QMD was asked.
            answer: QMD's rows.
            indexed_bytes: Size of all text in the index; the more there is, the more is found by chance.
        """
        chunks = math.ceil(indexed_bytes / (CHARS_PER_TOKEN * self._config.search.chunking.tokens))
        judge = Judge(question, answer.scale, self._calibrate(answer), chunks=chunks)
        finder = PlaceFinder(question, self._config.search.chunking, judge)
        wanted = min(query.max_results, self._limits.max_results)
        max_chars = min(query.max_snippet_chars, self._limits.max_snippet_chars, self._limits.max_injected_chars)
        locator = FileLocator(self._collections, self._database)
        hits: list[Hit] = []
        seen: set[Path] = set()

        for most, row, evidence in self._list_candidates(question, answer, judge):
            if most < query.min_score or (len(hits) >= wanted and most <= hits[wanted - 1].score):
                break
            file = locator.locate(row.collection, row.path)
            if file is None or file.real_path in seen:
                continue
            seen.add(file.real_path)
            place = self._find_place(file, row, evidence, query, finder)
            score = 0.0 if place is None else judge.score(place.covered, place.meaning)
            if place is not None and score >= query.min_score:
                hits.append(_build_hit(score, place, finder.cut(place, file, max_chars), file, judge))
                hits = join_hits(sorted(hits, key=lambda hit: -hit.score))
        ends = accumulate(len(hit.snippet) for hit in hits[:wanted])
        return [hit for hit, end in zip(hits, ends, strict=False) if end <= self._limits.max_injected_chars]

    def _list_candidates(
        self, question: PreparedQuestion, answer: QmdAnswer, judge: Judge
    ) -> list[tuple[float, QmdRow, float | None]]:
        """List (the highest score that its hit can have, row, QMD's evidence by meaning), the best first.

        Equals stay in QMD's order.
        """
        rows = [(row.collection, row.path) for row in answer.rows]
        held = answer_or_nothing(lambda: self._database.find_words(question.words, rows))
        candidates = []
        for position, row in enumerate(answer.rows, start=1):
            words = held.get((row.collection, row.path))
            found = [words is None or word in words for word in question.words]
            covered = scores.coverage(question.weights, found)
            evidence = judge.read_evidence(row, position)
            candidates.append((judge.score(covered, judge.judge_meaning(evidence, None)), row, evidence))
        return sorted(candidates, key=lambda candidate: -candidate[0])

    def _find_place(
        self, file: MemoryFile, row: QmdRow, evidence: float | None, query: Query, finder: PlaceFinder
    ) -> Place | None:
        """Return the best place of one file; None if the file is gone or blank, or its date is not asked for."""
        try:
            text = notes.read_note(file).text
        except FileUnreadable:
            return None
        day = notes.find_note_day(file, text, self._config.search.time_zone)
        if (query.after and day < query.after) or (query.before and day > query.before):
            return None
        return finder.find(text, line=row.line, title=file.path, evidence=evidence)

    def _calibrate(self, answer: QmdAnswer) -> Calibration:
        """Return the calibration of QMD's model, estimated anew when the number of vectors has changed much."""
        if answer.scale not in {"explained", "cosine"}:
            return DEFAULT_CALIBRATION
        try:
            vectors = self._database.count_vectors()
            if self._estimate is None or is_outdated(self._estimate[1], vectors):
                rows = as_rows(self._database.sample_vectors(SAMPLE, self._config.search.store.vector.extension_path))
                self._estimate = (estimate(rows, vectors), vectors)
        except MemoryCoreError as error:
            log.info("QMD's vectors cannot be read, so its cosines are judged by default values: %s", error)
            return DEFAULT_CALIBRATION
        return self._estimate[0]


def _build_hit(score: float, place: Place, passage: Passage, file: MemoryFile, judge: Judge) -> Hit:
    return Hit(
        path=file.path,
        source=file.source,
        start_line=passage.first_line,
        end_line=passage.last_line,
        score=round(score, 4),
        vector_score=None if place.meaning is None else round(place.meaning, 4),
        text_score=round(judge.score_words(place.covered), 4),
        snippet=passage.snippet,
    )
