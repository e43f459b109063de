"""The passage of a note that answers a question, cut from the file on disk, and what speaks for it.

QMD names a file and a line. Its snippet may miss the match, and its scores cannot be compared between modes: so the passage
is made here, from chunks and units as in memory_core, and judged by the words it holds and by its meaning.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from memory_core import ranking
from memory_core.chunks import split_chunks
from memory_core.records import Chunk, Unit
from memory_core.settings import Chunking
from memory_core.snippets import choose_units, marks, passage
from memory_core.terms import cut_cjk, is_single_cjk
from memory_core.units import split_units
from memory_qmd.meaning import Judge
from memory_qmd.questions import Question

# Questions in a row meet the same notes, and cutting them is half of what a hit costs; longer notes are cut each time.
CACHED_CHARS = 50_000
NEAR_LINE = 0.15  # of the coverage: for the chunk that holds the line QMD names, so that it wins among equals


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """What of one note is shown.

    Attributes:
        start_line: First line shown, from 1.
        end_line: Last line shown, included.
        snippet: Its text.
        covered: The share of the question, by weight, that its chunk holds, 0..1.
        meaning: What speaks for its chunk by meaning, 0..1; None where words alone were asked for.
    """

    start_line: int
    end_line: int
    snippet: str
    covered: float = 0.0
    meaning: float | None = None


class Finder:
    """Finds passages for one question."""

    def __init__(self, question: Question, chunking: Chunking, judge: Judge) -> None:
        self._judge = judge
        self._chunking = chunking
        self._stems = _stemmer()
        self._weights = question.weights
        # A word of two CJK characters is one pair, with its last character behind.
        self._terms = [("".join(self._stems(word)[:1]), is_single_cjk(word)) for word in question.words]

    def find(self, text: str, *, line: int | None, title: str, max_chars: int, told: float | None) -> Passage | None:
        """The best passage of a note; None for a blank one.

        Args:
            text: The note.
            line: Where QMD saw the match, from 1; None when it did not say.
            title: The note's name, which counts as text of every chunk.
            max_chars: A snippet is at most so long.
            told: QMD's evidence by meaning for the note, of `Judge.told`.
        """
        best: tuple[float, Chunk, float, float | None] | None = None
        split = _chunks if len(text) <= CACHED_CHARS else _chunks.__wrapped__
        for chunk in split(text, self._chunking, title):
            covered = ranking.coverage(self._weights, self._found(f"{chunk.context}\n{chunk.text}"))
            meaning = self._judge.meaning(told, chunk)
            near = line is not None and chunk.start_line <= line <= chunk.end_line
            worth = self._judge.whole(covered, meaning) + NEAR_LINE * near
            if best is None or worth > best[0]:
                best = (worth, chunk, covered, meaning)
        if best is None:
            return None
        cut = self._cut(best[1], line, max_chars)
        return cut and replace(cut, covered=best[2], meaning=best[3])

    def _cut(self, chunk: Chunk, line: int | None, max_chars: int) -> Passage | None:
        units = _units(chunk.text)
        if not units:
            return None
        chosen = choose_units(units, self._ranked(chunk, units, line), max_chars)
        span = units[chosen[0]].start, units[chosen[0]].end
        weights = {stem: weight for (stem, _), weight in zip(self._terms, self._weights, strict=True)}
        shown = passage(chunk.text, units, chosen, max_chars, marks(chunk.text, span, weights, self._stems))
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
        held = set(self._stems(text))
        return [
            any(other.startswith(stem) for other in held) if prefix else stem in held for stem, prefix in self._terms
        ]


@lru_cache(maxsize=100)
def _chunks(text: str, chunking: Chunking, title: str) -> tuple[Chunk, ...]:
    return tuple(split_chunks(text, chunking, title=title))


@lru_cache(maxsize=200)
def _units(text: str) -> tuple[Unit, ...]:
    return tuple(split_units(text))


def _stemmer() -> Callable[[str], list[str]]:
    """Text -> stems, in order; the stemmer of SQLite, which QMD's index uses too."""
    from memory_core.store.connection import Connection, tokenizer

    tokenize = tokenizer(Connection(":memory:"))
    return lambda text: tokenize(cut_cjk(text).encode(errors="replace"))
