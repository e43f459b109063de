"""Hits from the rows that QMD returned: files located, passages cut, scores made comparable, limits kept."""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from itertools import accumulate
from pathlib import Path

from memory_core.config.agent import AgentConfig
from memory_core.embeddings.calibration import DEFAULT, SAMPLE, estimate, is_outdated
from memory_core.embeddings.vectors import as_rows
from memory_core.errors import FileUnreadable, MemoryCoreError
from memory_core.records import Calibration, Hit, MemoryFile, Query
from memory_core.search import scores
from memory_core.search.passages import Passage
from memory_core.sources import notes
from memory_qmd.config import QmdConfig
from memory_qmd.database import Database
from memory_qmd.locating import FileLocator
from memory_qmd.parsing import QmdRow
from memory_qmd.places import Place, PlaceFinder
from memory_qmd.queries import PreparedQuestion
from memory_qmd.scoring import Judge
from memory_qmd.search import QmdAnswer

log = logging.getLogger(__name__)

CHARS_PER_TOKEN = 4  # as chunks are measured


@dataclass(frozen=True, slots=True)
class _JudgedRow:
    """A row of QMD's, before its file is read.

    Attributes:
        row: The row.
        evidence: QMD's evidence by meaning, from `Judge.read_evidence`.
        most: The highest score that its hit can have.
    """

    row: QmdRow
    evidence: float | None
    most: float


@dataclass(frozen=True, slots=True)
class _Scored:
    """A file whose place passes the query's minimum score."""

    file: MemoryFile
    place: Place
    score: float


class HitBuilder:
    """Builds the hits of one agent."""

    def __init__(self, config: AgentConfig, settings: QmdConfig, locator: FileLocator, database: Database) -> None:
        self._config = config
        self._limits = settings.limits
        self._locator = locator
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
        scored: list[_Scored] = []
        seen: set[Path] = set()
        for candidate in self._list_candidates(question, answer, judge):
            if candidate.most < query.min_score or candidate.most <= _score_to_beat(scored, wanted):
                break
            file = self._locator.locate(candidate.row.collection, candidate.row.path, self._read_hashes)
            if file is None or file.real_path in seen:
                continue
            seen.add(file.real_path)
            place = _find_place(file, candidate, query, finder)
            score = 0.0 if place is None else judge.score(place.covered, place.meaning)
            if place is not None and score >= query.min_score:
                scored.append(_Scored(file, place, score))
        scored.sort(key=lambda each: -each.score)
        max_chars = min(query.max_snippet_chars, self._limits.max_snippet_chars, self._limits.max_injected_chars)
        hits = [_build_hit(each, finder.cut(each.place, each.file, max_chars), judge) for each in scored[:wanted]]
        return _keep_within(hits, self._limits.max_injected_chars)

    def _list_candidates(self, question: PreparedQuestion, answer: QmdAnswer, judge: Judge) -> list[_JudgedRow]:
        """List the rows by the highest score that they can have, in QMD's order among equals."""
        held = self._find_words(question.words, [(row.collection, row.path) for row in answer.rows])
        candidates = []
        for position, row in enumerate(answer.rows, start=1):
            words = held.get((row.collection, row.path))
            found = [words is None or word in words for word in question.words]
            covered = scores.coverage(question.weights, found)
            evidence = judge.read_evidence(row, position)
            candidates.append(_JudgedRow(row, evidence, judge.score(covered, judge.judge_meaning(evidence, None))))
        return sorted(candidates, key=lambda candidate: -candidate.most)

    def _find_words(
        self, words: Sequence[str], rows: Sequence[tuple[str, str]]
    ) -> dict[tuple[str, str], frozenset[str]]:
        try:
            return self._database.find_words(words, rows)
        except MemoryCoreError:
            return {}

    def _calibrate(self, answer: QmdAnswer) -> Calibration:
        """Return the worth of cosines of QMD's model, estimated anew when the number of vectors has changed much."""
        if answer.scale not in {"explained", "cosine"}:
            return DEFAULT
        try:
            vectors = self._database.count_vectors()
            if self._estimate is None or is_outdated(self._estimate[1], vectors):
                rows = as_rows(self._database.sample_vectors(SAMPLE, self._config.search.store.vector.extension_path))
                self._estimate = (estimate(rows, vectors), vectors)
        except MemoryCoreError as error:
            log.info("QMD's vectors cannot be read, so its cosines are judged by default values: %s", error)
            return DEFAULT
        return self._estimate[0]

    def _read_hashes(self, collection: str) -> dict[str, str]:
        try:
            return self._database.read_hashes(collection)
        except MemoryCoreError:
            return {}


def _find_place(file: MemoryFile, candidate: _JudgedRow, query: Query, finder: PlaceFinder) -> Place | None:
    """Return the best place of one file; None if the file is gone or blank, or its date is not asked for."""
    try:
        text = notes.read_note(file).text
    except FileUnreadable:
        return None
    if not _is_between(notes.find_note_day(file, text), query.after, query.before):
        return None
    return finder.find(text, line=candidate.row.line, title=file.path, evidence=candidate.evidence)


def _build_hit(scored: _Scored, passage: Passage, judge: Judge) -> Hit:
    place = scored.place
    return Hit(
        path=scored.file.path,
        source=scored.file.source,
        start_line=passage.first_line,
        end_line=passage.last_line,
        score=round(scored.score, 4),
        vector_score=None if place.meaning is None else round(place.meaning, 4),
        text_score=round(judge.score_words(place.covered), 4),
        snippet=passage.snippet,
    )


def _score_to_beat(scored: Sequence[_Scored], wanted: int) -> float:
    """Return the score that a further hit has to exceed; -1 while there are too few hits."""
    best = sorted((each.score for each in scored), reverse=True)
    return best[wanted - 1] if len(best) >= wanted else -1.0


def _keep_within(hits: Sequence[Hit], max_chars: int) -> list[Hit]:
    """Keep the first hits whose snippets together are no longer than `max_chars`."""
    ends = accumulate(len(hit.snippet) for hit in hits)
    return [hit for hit, end in zip(hits, ends, strict=True) if end <= max_chars]


def _is_between(day: date, after: date | None, before: date | None) -> bool:
    return (after is None or day >= after) and (before is None or day <= before)
