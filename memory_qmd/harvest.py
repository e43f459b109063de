"""What QMD named -> hits: files found again, passages cut, scores made comparable, limits kept."""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path

from memory_core import files, ranking
from memory_core.calibration import DEFAULT, SAMPLE, estimated, is_outdated
from memory_core.errors import FileUnreadable, MemoryCoreError
from memory_core.hookspecs import Calibration
from memory_core.records import Hit, MemoryFile, Query
from memory_core.settings import AgentConfig
from memory_core.snippets import GAP
from memory_core.store.vectors import as_rows
from memory_qmd.asking import Answer
from memory_qmd.collections import Collections
from memory_qmd.config import QmdConfig
from memory_qmd.database import Database
from memory_qmd.meaning import Judge
from memory_qmd.output import Row
from memory_qmd.passages import Finder, Found, Passage
from memory_qmd.questions import Question

log = logging.getLogger(__name__)

CHARS_A_TOKEN = 4  # as chunks are measured


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A row of QMD's.

    Attributes:
        row: The row.
        told: QMD's evidence by meaning, of `Judge.told`.
        most: What its hit can score at most.
    """

    row: Row
    told: float | None
    most: float


@dataclass(frozen=True, slots=True)
class _Kept:
    """A file that will be shown unless others are better."""

    file: MemoryFile
    found: Found
    score: float


class Harvest:
    """Makes the hits of one agent."""

    def __init__(self, config: AgentConfig, settings: QmdConfig, collections: Collections, database: Database) -> None:
        self._config = config
        self._limits = settings.limits
        self._collections = collections
        self._database = database
        self._estimate: tuple[Calibration, int] | None = None

    def hits(self, query: Query, question: Question, answer: Answer, *, indexed_bytes: int) -> list[Hit]:
        """Hits, best first, each file once, no more than the query and the limits allow.

        Files are read in the order of what they can score at most, until none of the rest can be among the best.
        `indexed_bytes` is the size of all text in the index: the more there is, the more is found by chance.
        """
        chunks = math.ceil(indexed_bytes / (CHARS_A_TOKEN * self._config.search.chunking.tokens))
        judge = Judge(question, answer.scale, self._calibration(answer), chunks=chunks)
        finder = Finder(question, self._config.search.chunking, judge)
        wanted = min(query.max_results, self._limits.max_results)
        kept: list[_Kept] = []
        seen: set[Path] = set()
        for candidate in self._candidates(question, answer, judge):
            if candidate.most < query.min_score or candidate.most <= _least(kept, wanted):
                break
            file = self._collections.locate(candidate.row.collection, candidate.row.path, self._hashes)
            if file is None or file.real_path in seen:
                continue
            seen.add(file.real_path)
            found = _found(file, candidate, query, finder)
            score = 0.0 if found is None else judge.whole(found.covered, found.meaning)
            if found is not None and score >= query.min_score:
                kept.append(_Kept(file, found, score))
        kept.sort(key=lambda each: -each.score)
        max_chars = min(query.max_snippet_chars, self._limits.max_snippet_chars)
        hits = [_hit(each, finder.cut(each.found, max_chars), judge) for each in kept[:wanted]]
        return _within(hits, self._limits.max_injected_chars)

    def _candidates(self, question: Question, answer: Answer, judge: Judge) -> list[_Candidate]:
        """The rows, those that can score most first, in QMD's order among equals."""
        held = self._holding(question.words, [(row.collection, row.path) for row in answer.rows])
        candidates = []
        for position, row in enumerate(answer.rows, start=1):
            words = held.get((row.collection, row.path))
            found = [words is None or word in words for word in question.words]
            covered = ranking.coverage(question.weights, found)
            told = judge.told(row, position)
            candidates.append(_Candidate(row, told, judge.whole(covered, judge.meaning(told, None))))
        return sorted(candidates, key=lambda candidate: -candidate.most)

    def _holding(self, words: Sequence[str], rows: Sequence[tuple[str, str]]) -> dict[tuple[str, str], frozenset[str]]:
        try:
            return self._database.holding(words, rows)
        except MemoryCoreError:
            return {}

    def _calibration(self, answer: Answer) -> Calibration:
        """What cosines of QMD's model are worth; estimated anew when there are many more vectors, or fewer."""
        if answer.scale not in {"explained", "cosine"}:
            return DEFAULT
        try:
            pieces = self._database.pieces()
            if self._estimate is None or is_outdated(self._estimate[1], pieces):
                rows = as_rows(self._database.sample(SAMPLE, self._config.search.store.vector.extension_path))
                self._estimate = (estimated(rows, pieces), pieces)
        except MemoryCoreError as error:
            log.info("QMD's vectors cannot be looked at: %s", error)
            return DEFAULT
        return self._estimate[0]

    def _hashes(self, collection: str) -> dict[str, str]:
        try:
            return self._database.hashes(collection)
        except MemoryCoreError:
            return {}


def _found(file: MemoryFile, candidate: _Candidate, query: Query, finder: Finder) -> Found | None:
    """The best place of one file; None when it is gone, blank or of another date."""
    try:
        text = files.read_note(file).text
    except FileUnreadable:
        return None
    if not _within_dates(files.note_day(file, text), query.after, query.before):
        return None
    return finder.find(text, line=candidate.row.line, title=file.path, told=candidate.told)


def _hit(kept: _Kept, passage: Passage, judge: Judge) -> Hit:
    found = kept.found
    return Hit(
        path=kept.file.path,
        source=kept.file.source,
        start_line=passage.start_line,
        end_line=passage.end_line,
        score=round(kept.score, 4),
        vector_score=None if found.meaning is None else round(found.meaning, 4),
        text_score=round(judge.by_words(found.covered), 4),
        snippet=passage.snippet,
    )


def _least(kept: Sequence[_Kept], wanted: int) -> float:
    """What a further hit has to beat; nothing while there are too few."""
    scores = sorted((each.score for each in kept), reverse=True)
    return scores[wanted - 1] if len(scores) >= wanted else -1.0


def _within(hits: Sequence[Hit], max_chars: int) -> list[Hit]:
    """The first hits whose snippets together fit; the very first is cut when it is longer alone."""
    kept: list[Hit] = []
    room = max_chars
    for hit in hits:
        if len(hit.snippet) > room and kept:
            break
        kept.append(hit if len(hit.snippet) <= room else _cut(hit, room))
        room -= len(hit.snippet)
    return kept


def _cut(hit: Hit, max_chars: int) -> Hit:
    snippet = hit.snippet[: max_chars - 1].rstrip() + GAP
    return replace(hit, snippet=snippet, end_line=min(hit.end_line, hit.start_line + snippet.count("\n")))


def _within_dates(day: date, after: date | None, before: date | None) -> bool:
    return (after is None or day >= after) and (before is None or day <= before)
