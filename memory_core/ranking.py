"""Which units answer a question best, and how good the answer is. Pure arithmetic over arrays.

Two things are kept apart. The *rank* is a fusion of normalised scores and orders units. The *score* is absolute, so that it
can be compared with a threshold: the best of bad answers ranks first but scores low.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# BM25 with FTS5's own constants: https://www.sqlite.org/fts5.html#the_bm25_function
K1, B = 1.2, 0.75

# Defaults of the two weights, and how each side is split between a unit and what surrounds it.
VECTOR_WEIGHT, TEXT_WEIGHT = 2 / 3, 1 / 3
UNIT_TEXT_SHARE, TOKEN_SHARE = 0.2, 0.6

# Calibration of the static model's cosines: unrelated text lies below the first, clear paraphrases above the sum.
COSINE_FLOOR, COSINE_SPAN = 0.18, 0.45
KEYWORD_CEILING = 0.7  # of the evidence that keywords alone bring in hybrid mode
KEYWORD_EXPONENT = 0.75


def inverse_document_frequency(documents: int, containing: int) -> float:
    """ln(1 + (N - n + .5) / (n + .5)): never negative, however common the term (Lucene's form of the Robertson-Sparck Jones weight)."""
    return math.log(1 + (max(documents - containing, 0) + 0.5) / (containing + 0.5))


def coverage_weight(documents: int, containing: int) -> float:
    """ln(1 + (N + .5) / (n + .5)): how much of a question one term is; a term in every note still counts ln 2."""
    return math.log(1 + (documents + 0.5) / (containing + 0.5))


def coverage(weights: Sequence[float], found: Sequence[bool]) -> float:
    """The share of a question's weight that was found, 0..1; unseen terms count in the whole."""
    whole = sum(weights)
    return sum(weight for weight, hit in zip(weights, found, strict=True) if hit) / whole if whole else 0.0


def vector_score(cosine: float) -> float:
    """A cosine as a score in 0..1."""
    return min(max((cosine - COSINE_FLOOR) / COSINE_SPAN, 0.0), 1.0)


def hybrid_score(covered: float, cosine: float) -> float:
    """Two independent pieces of evidence: 1 - (1 - .7 covered) (1 - vector_score)."""
    return 1 - (1 - KEYWORD_CEILING * covered) * (1 - vector_score(cosine))


def keyword_score(covered: float) -> float:
    """covered ** .75."""
    return covered**KEYWORD_EXPONENT


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


def scaled(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Divided by the largest; all zero stays zero. Negative values become 0."""
    import numpy as np

    values = np.maximum(values, 0)
    top = values.max(initial=0)
    return values / top if top > 0 else values


def bm25(counts: NDArray[np.float64], lengths: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """BM25 of units against one question.

    Args:
        counts: How often each term stands in each unit, shape (units, terms).
        lengths: Tokens of each unit, shape (units,).
        weights: The terms' inverse document frequencies, shape (terms,).

    Returns:
        Scores, not negative, shape (units,).
    """
    import numpy as np

    average = max(float(lengths.mean()), 1.0) if len(lengths) else 1.0
    saturation = counts + K1 * (1 - B + B * lengths[:, None] / average)
    return np.asarray((weights * counts * (K1 + 1) / saturation).sum(axis=1))


def max_similarity(
    question: NDArray[np.float32], weights: NDArray[np.float64], tokens: NDArray[np.float32], place: NDArray[np.int64],
    starts: NDArray[np.int64],
) -> NDArray[np.float64]:
    """Late interaction: for every question token the best token of the unit, weighted mean over the question.

    Args:
        question: Unit vectors of the question's tokens, shape (q, d).
        weights: Their weights, shape (q,).
        tokens: Unit vectors of the distinct tokens of all units, shape (t, d).
        place: For each token of the units in order, its row in `tokens`.
        starts: Where each unit begins in `place`; no unit is empty.

    Returns:
        Scores in -1..1, shape (units,). See ColBERT (Khattab and Zaharia, 2020), with idf weights.
    """
    import numpy as np

    similarity = question @ tokens.T
    best = np.maximum.reduceat(similarity[:, place], starts, axis=1)
    total = float(weights.sum())
    return np.asarray(weights @ best / total) if total else np.zeros(len(starts))
