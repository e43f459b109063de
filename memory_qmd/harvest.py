"""What QMD named -> hits: files found again, passages cut, scores made comparable, limits kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date

from memory_core import files
from memory_core.errors import FileUnreadable, MemoryCoreError
from memory_core.records import Hit, MemoryFile, Query
from memory_core.settings import AgentConfig
from memory_core.snippets import GAP
from memory_qmd.asking import Answer
from memory_qmd.collections import Collections
from memory_qmd.config import QmdConfig
from memory_qmd.database import Database
from memory_qmd.output import Row
from memory_qmd.passages import Finder, score
from memory_qmd.questions import Question


@dataclass(frozen=True, slots=True)
class _Found:
    """A row with the file it names, and where it stood in QMD's answer, from 1."""

    file: MemoryFile
    row: Row
    position: int


class Harvest:
    """Makes the hits of one agent."""

    def __init__(self, config: AgentConfig, settings: QmdConfig, collections: Collections, database: Database) -> None:
        self._config = config
        self._limits = settings.limits
        self._collections = collections
        self._database = database

    def hits(self, query: Query, question: Question, answer: Answer) -> list[Hit]:
        """Hits, best first, each file once, no more than the query and the limits allow."""
        finder = Finder(question, self._config.search.chunking)
        max_chars = min(query.max_snippet_chars, self._limits.max_snippet_chars)
        hits: list[Hit] = []
        for found in self._found(answer.rows):
            hit = self._hit(found, query, answer, finder, max_chars)
            if hit is not None:
                hits.append(hit)
        hits.sort(key=lambda hit: -hit.score)
        return _within(hits[: min(query.max_results, self._limits.max_results)], self._limits.max_injected_chars)

    def _found(self, rows: Sequence[Row]) -> list[_Found]:
        """The rows whose file is there and may be shown, the first of every file."""
        found: dict[str, _Found] = {}
        hashes: dict[str, dict[str, str]] = {}
        for position, row in enumerate(rows, start=1):
            if row.collection not in hashes:
                hashes[row.collection] = self._hashes(row.collection)
            file = self._collections.locate(row.collection, row.path, hashes[row.collection])
            if file is not None:
                found.setdefault(str(file.real_path), _Found(file, row, position))
        return list(found.values())

    def _hashes(self, collection: str) -> dict[str, str]:
        try:
            return self._database.hashes(collection)
        except MemoryCoreError:
            return {}

    def _hit(self, found: _Found, query: Query, answer: Answer, finder: Finder, max_chars: int) -> Hit | None:
        """The hit of one file; None when it is gone, of another date, or scores too low."""
        file = found.file
        try:
            text = files.read_note(file).text
        except FileUnreadable:
            return None
        if not _within_dates(files.note_date(file.path, text), query.after, query.before):
            return None
        passage = finder.find(text, line=found.row.line, title=file.path, max_chars=max_chars)
        if passage is None:
            return None
        whole, vector, words = score(passage.covered, found.row, found.position, answer.scale)
        if whole < query.min_score:
            return None
        return Hit(
            path=file.path,
            source=file.source,
            start_line=passage.start_line,
            end_line=passage.end_line,
            score=round(whole, 4),
            vector_score=None if vector is None else round(vector, 4),
            text_score=round(words, 4),
            snippet=passage.snippet,
        )


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


def _within_dates(noted: str | None, after: date | None, before: date | None) -> bool:
    """Whether a note's date lies in the range; a note without one does not when any is asked."""
    if after is None and before is None:
        return True
    if noted is None:
        return False
    day = date.fromisoformat(noted)
    return (after is None or day >= after) and (before is None or day <= before)
