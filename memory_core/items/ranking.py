"""The rank of items: similarity times salience. Pure arithmetic."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from memory_core.config.settings import Salience
from memory_core.ranking.scores import inverse_document_frequency

DAY_SECONDS = 86_400.0
# A share of the question's words found is worth this share of a cosine: all words found are as good as a clear paraphrase.
WORD_SIMILARITY = 0.6


def measure_salience(reinforced: int, age_days: float, settings: Salience) -> float:
    """Return the worth of a fact apart from any question: min(1 + a log2(1 + r), cap) * (f + (1 - f) * 2 ** (-age / half-life)).

    The literal product of similarity, ln(1 + r) and 2 ** (-age / 30) gives a fact that was said once no worth at all, and lets
    repetition drown the better match; this form keeps both within a third of the similarity.

    Args:
        reinforced: How many other sessions said it, r.
        age_days: Days since it was last said; the future counts as now.
        settings: a, cap, f and the half-life.
    """
    said = min(1 + settings.reinforcement * math.log2(1 + max(reinforced, 0)), settings.reinforcement_cap)
    fresh = math.exp2(-max(age_days, 0.0) / settings.half_life_days)
    return said * (settings.floor + (1 - settings.floor) * fresh)


def measure_similarity(cosine: float, formula: str) -> float:
    """Return a cosine as a similarity in 0..1: itself, or 1 / (1 + distance) of the two vectors of unit length."""
    if formula == "inverseDistance":
        return 1 / (1 + math.sqrt(max(2 - 2 * cosine, 0.0)))
    return min(max(cosine, 0.0), 1.0)


def weigh_words(found: Sequence[frozenset[int] | set[int]], items: int) -> dict[int, float]:
    """Return for each item that holds a word of a question the share of the words' weight that it holds, 0..1.

    Args:
        found: For each word the items that hold it; a word that none holds counts in the whole.
        items: The number of items among which the words were looked for.
    """
    weights = [inverse_document_frequency(items, len(keys)) for keys in found]
    whole = sum(weights)
    shares: dict[int, float] = {}
    for weight, keys in zip(weights, found, strict=True):
        for key in keys:
            shares[key] = shares.get(key, 0.0) + weight / whole
    return shares


def merge_similarities(
    cosines: Mapping[int, float], shares: Mapping[int, float], formula: str, *, least_cosine: float
) -> dict[int, float]:
    """Return the similarity of every item that has any: the better of its meaning and its words.

    Args:
        cosines: By key.
        shares: As of `weigh_words`.
        formula: See `measure_similarity`.
        least_cosine: Cosines below are those of unrelated texts.
    """
    near = {key: measure_similarity(cosine, formula) for key, cosine in cosines.items() if cosine >= least_cosine}
    for key, share in shares.items():
        near[key] = max(near.get(key, 0.0), WORD_SIMILARITY * share)
    return near
