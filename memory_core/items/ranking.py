"""The rank of items: similarity times salience. Pure arithmetic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from memory_core.config.settings import ItemSettings
from memory_core.search.scores import inverse_document_frequency

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from memory_core.items.store.rows import Standing

DAY_SECONDS = 86_400.0
# A share of the question's words found is worth this share of a cosine: all words found are as good as a clear paraphrase.
WORD_SIMILARITY = 0.6
UNKNOWN = -2.0  # the cosine of an item without an embedding in the question's space
# Of salience. Repetition and age together move an item by less than half of its similarity, so that the better match wins.
REINFORCEMENT = 0.1  # added to 1 for each doubling of the sessions that said it
REINFORCEMENT_CAP = 1.3
HALF_LIFE_DAYS = 90.0  # since it was last said, after which half of the part that ages is left
AGELESS = 0.8  # the share that does not age


def measure_salience(reinforced: NDArray[np.int64] | int, age_days: NDArray[np.float64] | float) -> NDArray[np.float64]:
    """Return the worth of facts apart from any question: min(1 + a log2(1 + r), cap) * (f + (1 - f) * 2 ** (-age / half-life)).

    The literal product of similarity, ln(1 + r) and 2 ** (-age / 30) gives a fact that was said once no worth at all, and lets
    repetition drown the better match; this form keeps both within a third of the similarity.

    Args:
        reinforced: How many other sessions said each, r.
        age_days: Days since each was last said; the future counts as now.
    """
    import numpy as np

    said = np.minimum(1 + REINFORCEMENT * np.log2(1 + np.maximum(reinforced, 0)), REINFORCEMENT_CAP)
    fresh = np.exp2(-np.maximum(age_days, 0.0) / HALF_LIFE_DAYS)
    return np.asarray(said * (AGELESS + (1 - AGELESS) * fresh))


def rank(
    among: Sequence[Standing],
    cosines: Mapping[int, float],
    words: Sequence[Sequence[int]],
    *,
    settings: ItemSettings,
    least_cosine: float,
    now: float,
    limit: int,
) -> list[tuple[int, float, float]]:
    """Return the items that a question finds by meaning or by words, the best first: key, score and similarity.

    Args:
        among: All items that were asked for.
        cosines: By key, of those that have an embedding in the question's space.
        words: See `weigh_words`.
        settings: How cosines become similarities.
        least_cosine: Cosines below are those of unrelated texts.
        now: Unix seconds.
        limit: The most to return.
    """
    import numpy as np

    known = np.array([cosines.get(item.key, UNKNOWN) for item in among], dtype=np.float32)
    near = merge_similarities(known, weigh_words(words, len(among)), settings.similarity, least_cosine=least_cosine)
    reinforced = np.array([item.reinforced for item in among], dtype=np.int64)
    age_days = (now - np.array([item.said for item in among])) / DAY_SECONDS
    scores = near * measure_salience(reinforced, age_days)
    best = [place for place in np.argsort(-scores, kind="stable")[:limit].tolist() if near[place] > 0]
    return [(among[place].key, round(float(scores[place]), 4), round(float(near[place]), 4)) for place in best]


def measure_similarity(cosines: NDArray[np.float32], formula: str) -> NDArray[np.floating]:
    """Return cosines as similarities in 0..1: themselves, or 1 / (1 + distance) of the two vectors of unit length."""
    import numpy as np

    if formula == "inverseDistance":
        return 1 / (1 + np.sqrt(np.maximum(2 - 2 * cosines, 0)))
    return np.clip(cosines, 0, 1)


def weigh_words(found: Sequence[Sequence[int]], items: int) -> NDArray[np.float64]:
    """Return for each item the share of the weight of a question's words that it holds, 0..1.

    Args:
        found: For each word the places of the items that hold it; a word that none holds counts in the whole.
        items: The number of items among which the words were looked for.
    """
    import numpy as np

    weights = [inverse_document_frequency(items, len(places)) for places in found]
    shares = np.zeros(items)
    for weight, places in zip(weights, found, strict=True):
        shares[list(places)] += weight / sum(weights)
    return shares


def merge_similarities(
    cosines: NDArray[np.float32], shares: NDArray[np.float64], formula: str, *, least_cosine: float
) -> NDArray[np.float64]:
    """Return the similarity of every item: the better of its meaning and its words; 0 where it has neither.

    Args:
        cosines: Of the items.
        shares: As of `weigh_words`.
        formula: See `measure_similarity`.
        least_cosine: Cosines below are those of unrelated texts.
    """
    import numpy as np

    near = np.where(cosines >= least_cosine, measure_similarity(cosines, formula), 0)
    return np.maximum(near, WORD_SIMILARITY * shares)
