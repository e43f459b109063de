"""The place in a note that answers a question best, and the passage shown of it, cut from the file as it is now.

QMD names a file and a line, but its snippet may miss the match. So the file is split into chunks and units as in the
builtin backend, chunks are judged by the words they hold and by their meaning, and `ranking.passages` packs the units.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from functools import lru_cache

from memory_core.config.settings import Chunking
from memory_core.records import Chunk, MemoryFile, Unit
from memory_core.search import scores
from memory_core.search.passages import Mark, Passage, PlacedUnit, find_marks, pack
from memory_core.text.chunks import split_chunks
from memory_core.text.terms import is_single_cjk
from memory_core.text.units import split_units
from memory_qmd.database import make_stemmer
from memory_qmd.queries import PreparedQuestion
from memory_qmd.scoring import Judge

# Successive questions hit the same notes, and splitting them is half of the cost of a hit; longer notes are split each time.
CACHED_CHARS = 50_000
NEAR_LINE = 0.15  # added to the score of the chunk with the line that QMD names, so that it wins among equals


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
        split = _split_chunks if len(text) <= CACHED_CHARS else _split_chunks.__wrapped__
        for chunk, held in split(text, self._chunking, title):
            covered = scores.coverage(self._weights, self._match(held))
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
        units = _split_units(chunk.text)
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
        covered = [
            scores.coverage(self._weights, self._match_text(chunk.text[unit.start : unit.end])) for unit in units
        ]
        best = max(range(len(units)), key=lambda index: (covered[index], -index))
        at = units[best].first_line if covered[best] or line is None else line - chunk.start_line

        def key(index: int) -> tuple[float, int, int]:
            unit = units[index]
            return -covered[index], max(unit.first_line - at, at - unit.last_line, 0), index

        return sorted(range(len(units)), key=key)

    def _match_text(self, text: str) -> list[bool]:
        """Tell for every word of the question whether the text holds it."""
        return self._match(frozenset(self._stem(text)))

    def _match(self, stems: Set[str]) -> list[bool]:
        return [
            any(other.startswith(stem) for other in stems) if prefix else stem in stems for stem, prefix in self._terms
        ]


@lru_cache(maxsize=100)
def _split_chunks(text: str, chunking: Chunking, title: str) -> tuple[tuple[Chunk, frozenset[str]], ...]:
    """Split a note into the chunks that have units, each with the stems of its text and of the headings above it."""
    stems = make_stemmer()
    return tuple(
        (chunk, frozenset(stems(f"{chunk.context}\n{chunk.text}")))
        for chunk in split_chunks(text, chunking, title=title)
        if _split_units(chunk.text)
    )


@lru_cache(maxsize=200)
def _split_units(text: str) -> tuple[Unit, ...]:
    return tuple(split_units(text))
