"""Words of short texts by the static model: how much each says, and how near two of them are. Needs no index and no network."""

from __future__ import annotations

import math
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol

from memory_core.text.languages import STOP_WORDS

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from memory_core.embeddings.protocols import TokenModel

    class WordEmbedder(TokenModel, Protocol):
        """A model with a table of tokens that also embeds whole texts."""

        def embed_query(self, text: str, *, timeout_seconds: float | None = None) -> NDArray[np.float32]:
            """See `EmbeddingProvider.embed_query`."""
            ...


KEPT = 16_384  # words whose vector is kept, a kilobyte each
# The token ids of the model's vocabulary rise with rarity: the commonest words are below 2 ** 10.
COMMON_BITS, MOST_BITS = 10.0, 6.0
SPELLING_BITS = 1.5  # of rarity for each further token that a word is spelt with
_WORD = re.compile(r"[\w@.+-]+")
_SUFFIX = re.compile(r"(?:ies|ing|ed|es|s|d|ly)\Z")


def list_words(text: str) -> list[str]:
    """Return the words of a text in lower case without stop words; mail addresses and numbers are one word each."""
    found = (word.strip(".,-+") for word in _WORD.findall(text.lower()))
    return [word for word in found if word and word not in STOP_WORDS["en"]]


def stem(word: str) -> str:
    """Cut the commonest endings off a word of five letters or more."""
    return _SUFFIX.sub("", word) if len(word) > 4 else word


class Words:
    """The static model's knowledge of words."""

    def __init__(self, model: WordEmbedder) -> None:
        self._model = model
        self._vector = lru_cache(KEPT)(self._make_vector)
        self._rarity = lru_cache(KEPT)(self._measure_rarity)

    def rarity(self, word: str) -> float:
        """Return how rare a word is in text at large, in bits: 5 for the commonest, 15 and more for names."""
        return self._rarity(word)

    def bits(self, word: str) -> float:
        """Return how much a word tells, 0 for common ones to `MOST_BITS`."""
        return min(max(self.rarity(word) - COMMON_BITS, 0.0), MOST_BITS)

    def nearness(self, word: str, others: Sequence[str]) -> float:
        """Return the cosine of a word and the nearest of others; 0 when there are none."""
        own = self._vector(word)
        return max((float(own @ self._vector(other)) for other in others), default=0.0)

    def embed(self, text: str) -> NDArray[np.float32]:
        """Return the vector of a text, of unit length or zero."""
        return self._model.embed_query(text)

    def _measure_rarity(self, word: str) -> float:
        ids = self._model.token_ids([word])[0]
        return math.log2(max(ids) + 1) + SPELLING_BITS * (len(ids) - 1) if ids else 0.0

    def _make_vector(self, word: str) -> NDArray[np.float32]:
        import numpy as np

        ids = self._model.token_ids([word])[0]
        if not ids:
            return np.zeros(self._model.token_vectors(np.array([1], dtype=np.uint16)).shape[1], dtype=np.float32)
        row: NDArray[np.float32] = self._model.token_vectors(np.array(ids, dtype=np.uint16)).mean(axis=0)
        return row / max(float(np.linalg.norm(row)), 1e-9)
