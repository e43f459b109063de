"""Which units answer a question best, and how good the answer is. Pure arithmetic.

Two things are kept apart. The *rank* is a fusion of normalised scores and orders units. The *score* is absolute, so that it
can be compared with a threshold: the best of bad answers ranks first but scores low.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from memory_core.hookspecs import Calibration

# BM25 with FTS5's own constants: https://www.sqlite.org/fts5.html#the_bm25_function
K1, B = 1.2, 0.75

# Defaults of the two weights, and how each side is split between a unit and what surrounds it.
VECTOR_WEIGHT, TEXT_WEIGHT = 0.6, 0.4
UNIT_SHARE = 0.25  # of the text side: BM25 of the unit; the rest is its chunk's
# How much of the vector side the cosine of the window is, and late interaction: without tokens, with those of a table, with
# tokens in their context. The last tell more: with both at .5, R4000 is .012 lower.
WITHOUT_TOKENS, WITH_TABLE, WITH_CONTEXT = (1.0, 0.0), (0.5, 0.5), (0.8, 1.4)
NEAR_BEST = (
    0.7  # of the best rank: what a unit without a word of the question must reach to open a passage beside its chunk's
)
PERIOD_BONUS = 0.2  # for notes of the days that the question speaks of
NAMED_BONUS = 2.0  # for notes that the question names: more than all else together

# Calibration, on the judged conversations of tests/benchmarks against nonsense (tests/benchmarks/nonsense.py).
# What cosines are worth differs from space to space: memory_core/calibration.py.
STRANGE_SHARE = 0.31  # of the span on top of the floor, when no word of a question is known: gibberish reaches .52
SPELT_TOKENS = 2.0  # a word, above which they are none: questions have 1.0 to 1.5, gibberish of other alphabets 3 to 8
KEYWORD_CEILING = 0.7  # of the evidence that keywords alone bring in hybrid mode
CHANCE, CHANCE_GROWTH = 0.18, 0.1  # of that evidence is what word salad reaches among 100 chunks, and a tenfold of them
KEYWORD_EXPONENT, KEYWORD_GROWTH = 0.82, 0.3  # at 100 chunks, and a tenfold of them
QUESTION_EXPONENT = 0.8  # as a share of that, for a question in a sentence
FEW_EXPONENT, FEW_GROWTH = (
    0.8,
    0.1,
)  # of a sentence's evidence in an index of one chunk, and a tenfold: few hold few words
IDENTIFIED = 0.5  # the least score of a chunk that holds an identifier of the question


def inverse_document_frequency(documents: int, containing: int) -> float:
    """ln(1 + (N - n + .5) / (n + .5)), Lucene's form of the Robertson-Sparck Jones weight: never negative."""
    return math.log(1 + (max(documents - containing, 0) + 0.5) / (containing + 0.5))


def coverage_weight(documents: int, containing: int) -> float:
    """ln(1 + (N + .5) / (n + .5)): how much of a question one term is; a term in every note still counts ln 2."""
    return math.log(1 + (documents + 0.5) / (containing + 0.5))


def coverage(weights: Sequence[float], found: Sequence[bool]) -> float:
    """The share of a question's weight that was found, 0..1; unseen terms count in the whole."""
    whole = sum(weights)
    return sum(weight for weight, hit in zip(weights, found, strict=True) if hit) / whole if whole else 0.0


def vector_score(cosine: float, calibration: Calibration, *, strange: bool = False) -> float:
    """A cosine as a score in 0..1; less when the question's words are strange."""
    score = (cosine - calibration.floor) / calibration.span - STRANGE_SHARE * strange
    return min(max(score, 0.0), 1.0)


def chance(chunks: int) -> float:
    """The evidence, 0 to .3, that unconnected words find by chance: the more chunks, the more of any words one of them holds."""
    return min(max(CHANCE + CHANCE_GROWTH * math.log10(max(chunks, 1) / 100), 0.0), 0.3)


def hybrid_score(covered: float, vector: float, chunks: int = 100, *, question: bool = False) -> float:
    """Two independent pieces of evidence together, as a score in 0..1.

    Args:
        covered: The share of the question's words that was found, 0..1.
        vector: The evidence by meaning, 0..1.
        chunks: How many the index holds.
        question: Whether the words were a sentence. Those are not together by chance, so the evidence counts as it is,
            1 - (1 - covered) (1 - vector), and a little more below 100 chunks; of other words the keyword side counts .7,
            less what chance brings.
    """
    if question:
        return math.pow(
            1 - (1 - covered) * (1 - vector), min(FEW_EXPONENT + FEW_GROWTH * math.log10(max(chunks, 1)), 1.0)
        )
    evidence, less = 1 - (1 - KEYWORD_CEILING * covered) * (1 - vector), chance(chunks)
    return max((evidence - less) / (1 - less), 0.0)


def keyword_score(covered: float, chunks: int = 100, *, question: bool = False) -> float:
    """covered ** .82 among 100 chunks; the more chunks, the more of any words one of them holds by chance.

    A question in a sentence is no chance collection of words: its exponent is smaller by a fifth.
    """
    exponent = KEYWORD_EXPONENT + KEYWORD_GROWTH * math.log10(max(chunks, 1) / 100)
    return math.pow(covered, min(max(exponent, 0.6), 1.3) * (QUESTION_EXPONENT if question else 1.0))


def recency(age_days: float, *, half_life_days: float, floor: float) -> float:
    """Exponential decay with a floor, max(floor, 2 ** (-age / half-life)): what is left of a note's rank.

    Args:
        age_days: Days since the note's date; a date to come is not younger than today.
        half_life_days: Days after which half is left, positive.
        floor: The least that is left, 0..1.

    Returns:
        A factor in floor..1.
    """
    return max(floor, math.exp2(-max(age_days, 0.0) / half_life_days))


@dataclass(frozen=True, slots=True)
class Weights:
    """Shares of the vector side and of the text side; their sum is 1."""

    vector: float
    text: float

    @classmethod
    def normalised(cls, vector: float | None, text: float | None) -> Weights:
        """From the configuration: what is None is its default; both 0 are both defaults."""
        vector = VECTOR_WEIGHT if vector is None else vector
        text = TEXT_WEIGHT if text is None else text
        total = vector + text
        return cls(vector / total, text / total) if total > 0 else cls(VECTOR_WEIGHT, TEXT_WEIGHT)


def scaled(values: Sequence[float]) -> list[float]:
    """Divided by the largest; negative values become 0."""
    top = max(values, default=0.0)
    return [max(value, 0.0) / top for value in values] if top > 0 else [0.0] * len(values)


def spread(values: Sequence[float]) -> list[float]:
    """The smallest becomes 0, the largest 1: for cosines, whose zero lies elsewhere in every model."""
    low, high = min(values, default=0.0), max(values, default=0.0)
    return [(value - low) / (high - low) for value in values] if high > low else [0.0] * len(values)


def bm25(counts: Sequence[Mapping[int, int]], lengths: Sequence[int], rarities: Sequence[float]) -> list[float]:
    """BM25 of units against one question.

    Args:
        counts: For every unit, how often it holds which term, by the term's number; terms it lacks may be left out.
        lengths: Words of every unit.
        rarities: Inverse document frequency of every term.

    Returns:
        A score for every unit, not negative.
    """
    average = max(sum(lengths) / len(lengths), 1.0) if lengths else 1.0
    return [
        _bm25(held, rarities, K1 * (1 - B + B * length / average)) if held else 0.0
        for held, length in zip(counts, lengths, strict=True)
    ]


def _bm25(held: Mapping[int, int], rarities: Sequence[float], damping: float) -> float:
    return sum(rarities[term] * count * (K1 + 1) / (count + damping) for term, count in held.items())
