"""The passage of a note that answers a question, cut from the file on disk, and how much of the question it covers.

QMD names a file and a line. Its snippet may miss the match, and its scores cannot be compared between modes: so both
are made here, the passage from chunks and units as in memory_core, the score from the share of the question it holds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from memory_core import ranking
from memory_core.chunks import split_chunks
from memory_core.records import Chunk, Unit
from memory_core.settings import Chunking
from memory_core.snippets import choose_units, marks, passage
from memory_core.terms import cut_cjk, is_single_cjk
from memory_core.units import split_units
from memory_qmd.output import Row
from memory_qmd.questions import Question

# A cosine of the embedding models that QMD runs, as evidence: one of .30, below which QMD itself drops rows, passes the
# default minScore of .35 alone. Its pieces are of 900 tokens, so that even clear paraphrases rarely reach .5.
COSINE_FLOOR, COSINE_SPAN = 0.10, 0.44
# Questions in a row meet the same notes, and cutting them is half of what a hit costs; longer notes are cut each time.
CACHED_CHARS = 50_000
NEAR_LINE = 0.15  # of the coverage: for the chunk that holds the line QMD names, so that it wins among equals

# What QMD's score means: 1 / rank, a cosine, or position and reranker blended.
Scale = Literal["rank", "cosine", "blend"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """What of one note is shown.

    Attributes:
        start_line: First line shown, from 1.
        end_line: Last line shown, included.
        snippet: Its text.
        covered: The share of the question, by weight, that its chunk holds, 0..1.
    """

    start_line: int
    end_line: int
    snippet: str
    covered: float


class Finder:
    """Finds passages for one question."""

    def __init__(self, question: Question, chunking: Chunking) -> None:
        self._chunking = chunking
        self._stems = _stemmer()
        self._weights = question.weights
        # A word of two CJK characters is one pair, with its last character behind.
        self._terms = [("".join(self._stems(word)[:1]), is_single_cjk(word)) for word in question.words]

    def find(self, text: str, *, line: int | None, title: str, max_chars: int) -> Passage | None:
        """The best passage of a note; None for a blank one.

        Args:
            text: The note.
            line: Where QMD saw the match, from 1; None when it did not say.
            title: The note's name, which counts as text of every chunk.
            max_chars: A snippet is at most so long.
        """
        best: tuple[float, Chunk, list[bool]] | None = None
        split = _chunks if len(text) <= CACHED_CHARS else _chunks.__wrapped__
        for chunk in split(text, self._chunking, title):
            found = self._found(f"{chunk.context}\n{chunk.text}")
            covered = ranking.coverage(self._weights, found)
            near = line is not None and chunk.start_line <= line <= chunk.end_line
            worth = covered + NEAR_LINE * near
            if best is None or worth > best[0]:
                best = (worth, chunk, found)
        return None if best is None else self._cut(best[1], best[2], line, max_chars)

    def _cut(self, chunk: Chunk, found: Sequence[bool], line: int | None, max_chars: int) -> Passage | None:
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
            covered=ranking.coverage(self._weights, found),
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


def score(covered: float, row: Row, position: int, scale: Scale) -> tuple[float, float | None, float]:
    """What a hit is worth, 0..1, comparable between questions and modes: whole, vector part, keyword part.

    Both as in memory_core: `ranking.keyword_score` of words alone, `ranking.hybrid_score` with evidence by meaning, which
    is the reranker's judgement, or the cosine between the floor and the floor plus the span.

    Args:
        covered: The share of the question that the passage holds.
        row: With QMD's score, and what evidence it told.
        position: Of the row in QMD's answer, from 1.
        scale: What QMD's score means in the mode that was asked.
    """
    words = ranking.keyword_score(covered)
    meaning = _meaning(row, position, scale)
    if meaning is None:
        return words, None, words
    return ranking.hybrid_score(covered, meaning), meaning, words


def unblended(blended: float, position: int) -> float:
    """The reranker's part of a score of `qmd query`, which is w / rank + (1 - w) rerank.

    w is .75 up to rank 3, .6 up to 10, .4 behind. The rank before reranking is not told; the position afterwards stands
    for it, so the best row gets what is left of .75 and not the .75 itself.
    """
    share = 0.75 if position <= 3 else 0.6 if position <= 10 else 0.4
    return min(max((blended - share / position) / (1 - share), 0.0), 1.0)


def _meaning(row: Row, position: int, scale: Scale) -> float | None:
    if scale == "blend":
        return unblended(row.score, position) if row.rerank is None else min(max(row.rerank, 0.0), 1.0)
    cosine = row.score if scale == "cosine" else row.cosine
    return None if cosine is None else min(max((cosine - COSINE_FLOOR) / COSINE_SPAN, 0.0), 1.0)


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
