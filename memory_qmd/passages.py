"""The passage of a note that answers a question, cut from the file on disk, and what speaks for it.

QMD names a file and a line. Its snippet may miss the match, and its scores cannot be compared between modes: so the passage
is made here, from chunks and units as in memory_core, and judged by the words it holds and by its meaning.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass
from functools import lru_cache

from memory_core import ranking
from memory_core.chunks import split_chunks
from memory_core.records import Chunk, Unit
from memory_core.settings import Chunking
from memory_core.snippets import choose_units, passage
from memory_core.terms import cut_cjk, is_single_cjk
from memory_core.units import split_units
from memory_qmd.meaning import Judge
from memory_qmd.questions import Question

# Questions in a row meet the same notes, and cutting them is half of what a hit costs; longer notes are cut each time.
CACHED_CHARS = 50_000
NEAR_LINE = 0.15  # of the coverage: for the chunk that holds the line QMD names, so that it wins among equals


@dataclass(frozen=True, slots=True)
class Found:
    """The place in a note that answers best.

    Attributes:
        chunk: Where it is.
        line: Where QMD saw the match, from 1; None when it did not say.
        covered: The share of the question, by weight, that the chunk holds, 0..1.
        meaning: What speaks for the chunk by meaning, 0..1; None where words alone were asked for.
    """

    chunk: Chunk
    line: int | None
    covered: float
    meaning: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """What of one note is shown.

    Attributes:
        start_line: First line shown, from 1.
        end_line: Last line shown, included.
        snippet: Its text.
    """

    start_line: int
    end_line: int
    snippet: str


class Finder:
    """Finds passages for one question."""

    def __init__(self, question: Question, chunking: Chunking, judge: Judge) -> None:
        self._judge = judge
        self._chunking = chunking
        self._stems = _stemmer()
        self._weights = question.weights
        # A word of two CJK characters is one pair, with its last character behind.
        self._terms = [("".join(self._stems(word)[:1]), is_single_cjk(word)) for word in question.words]

    def find(self, text: str, *, line: int | None, title: str, told: float | None) -> Found | None:
        """The best place of a note; None in a blank one.

        Args:
            text: The note.
            line: Where QMD saw the match, from 1; None when it did not say.
            title: The note's name, which counts as text of every chunk.
            told: QMD's evidence by meaning for the note, of `Judge.told`.
        """
        best: tuple[float, Found] | None = None
        split = _chunks if len(text) <= CACHED_CHARS else _chunks.__wrapped__
        for chunk, held in split(text, self._chunking, title):
            covered = ranking.coverage(self._weights, self._held(held))
            meaning = self._judge.meaning(told, chunk)
            near = line is not None and chunk.start_line <= line <= chunk.end_line
            worth = self._judge.whole(covered, meaning) + NEAR_LINE * near
            if best is None or worth > best[0]:
                best = (worth, Found(chunk, line, covered, meaning))
        return None if best is None else best[1]

    def cut(self, found: Found, max_chars: int) -> Passage:
        """The passage around a place, at most so long."""
        chunk = found.chunk
        units = _units(chunk.text)
        chosen = choose_units(units, self._ranked(chunk, units, found.line), max_chars)
        shown = passage(chunk.text, units, chosen, max_chars)
        return Passage(
            start_line=chunk.start_line + shown.first_line,
            end_line=chunk.start_line + shown.last_line,
            snippet=shown.text,
        )

    def _ranked(self, chunk: Chunk, units: Sequence[Unit], line: int | None) -> list[int]:
        """Indexes of units: by what they cover, then by how near they are to the line, or to the best of them."""
        covered = [ranking.coverage(self._weights, self._found(chunk.text[unit.start : unit.end])) for unit in units]
        best = max(range(len(units)), key=lambda index: (covered[index], -index))
        at = units[best].first_line if covered[best] or line is None else line - chunk.start_line

        def key(index: int) -> tuple[float, int, int]:
            unit = units[index]
            return -covered[index], max(unit.first_line - at, at - unit.last_line, 0), index

        return sorted(range(len(units)), key=key)

    def _found(self, text: str) -> list[bool]:
        """For every word of the question whether the text holds it."""
        return self._held(frozenset(self._stems(text)))

    def _held(self, stems: Set[str]) -> list[bool]:
        return [
            any(other.startswith(stem) for other in stems) if prefix else stem in stems for stem, prefix in self._terms
        ]


@lru_cache(maxsize=100)
def _chunks(text: str, chunking: Chunking, title: str) -> tuple[tuple[Chunk, frozenset[str]], ...]:
    """The chunks of a note that show anything, each with its stems and those of what stands above it."""
    stems = _stemmer()
    return tuple(
        (chunk, frozenset(stems(f"{chunk.context}\n{chunk.text}")))
        for chunk in split_chunks(text, chunking, title=title)
        if _units(chunk.text)
    )


@lru_cache(maxsize=200)
def _units(text: str) -> tuple[Unit, ...]:
    return tuple(split_units(text))


def _stemmer() -> Callable[[str], list[str]]:
    """Text -> stems, in order; the stemmer of SQLite, which QMD's index uses too."""
    from memory_core.store.connection import Connection, tokenizer

    tokenize = tokenizer(Connection(":memory:"))
    return lambda text: tokenize(cut_cjk(text).encode(errors="replace"))
