"""What a row is worth by meaning: what QMD tells of its file, and what a model of our own finds in the passage itself.

QMD embeds pieces of 900 tokens, so that one line which answers a question hardly lifts the cosine of its piece. With
all-MiniLM-L6-v2 the right notes for the five paraphrases of the sample workspace have cosines of .27 to .43, and the best
notes for pseudo-words .25 to .40: no floor tells them apart. So the static model, which reads windows of 100 tokens, is a
second witness. At the default minScore of .35, through QMD 2.8.3 on five judged conversations of tests/benchmarks (760
questions; nonsense is a third each pseudo-words, word salad and gibberish), and on the sample:

                               questions answered   right note in three   nonsense answered   the sample's paraphrases
    cosine of QMD alone        .99 to 1             .82 to .90            .00 to .01          4 of 5
    static model alone         1                    .80 to .90            .00 to .02          5 of 5
    both                       .99 to 1             .85 to .92            .00 to .02          5 of 5

`python -m tests.qmd.thresholds` measures the last row again.
"""

from __future__ import annotations

import logging
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from memory_core import ranking
from memory_core.errors import ProviderUnavailable
from memory_core.hookspecs import Calibration
from memory_core.records import Chunk
from memory_core.terms import is_question
from memory_core.units import split_units, split_windows
from memory_qmd.output import Row
from memory_qmd.questions import Question

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from memory_core.embeddings.static import StaticProvider

log = logging.getLogger(__name__)

# Of the evidence of two witnesses, who often read the same words: with .8, .02 more of the word salad passes and .01 fewer of
# the right notes come among the first three.
AGREEMENT = 0.7
CACHED_CHUNKS = 2000  # 4 kB each

# What QMD's scores mean: nothing (1 / rank of words), nothing but the cosines are told, a cosine, or a position and the
# reranker's judgement blended.
Scale = Literal["words", "explained", "cosine", "blend"]


class Judge:
    """Judges the rows of one answer.

    Args:
        question: What was asked.
        scale: What the rows' scores mean.
        calibration: What cosines of QMD's embedding model are worth.
        chunks: How many memory_core would cut of all that is indexed.
    """

    def __init__(self, question: Question, scale: Scale, calibration: Calibration, *, chunks: int) -> None:
        self._chunks = chunks
        self._is_sentence = is_question(question.text)
        self._scale = scale
        self._calibration = calibration
        self._witness = _witness(question) if scale in {"explained", "cosine"} else None

    def told(self, row: Row, position: int) -> float | None:
        """QMD's own evidence for a row that stood at a position, from 1; 0..1, None where it was asked for words."""
        if self._scale == "words":
            return None
        if self._scale == "blend":
            return unblended(row.score, position) if row.rerank is None else min(max(row.rerank, 0.0), 1.0)
        cosine = row.score if self._scale == "cosine" else row.cosine
        return 0.0 if cosine is None else ranking.vector_score(cosine, self._calibration)

    def meaning(self, told: float | None, chunk: Chunk | None) -> float | None:
        """The evidence by meaning for a chunk of a row's file, 0..1; the most there can be for None.

        A reranker has read the text and needs no second witness. Two witnesses are taken to be independent.
        """
        if told is None or self._witness is None:
            return told
        near = 1.0 if chunk is None else self._witness.near(chunk)
        return AGREEMENT * (1 - (1 - told) * (1 - near))

    def by_words(self, covered: float) -> float:
        """What a hit is worth by the share of the question that it covers, 0..1, as in memory_core."""
        return ranking.keyword_score(covered, self._chunks, question=self._is_sentence)

    def whole(self, covered: float, meaning: float | None) -> float:
        """The same with what speaks for it by meaning, if that was asked for."""
        if meaning is None:
            return self.by_words(covered)
        return ranking.hybrid_score(covered, meaning, self._chunks, question=self._is_sentence)


def unblended(blended: float, position: int) -> float:
    """The reranker's part of a score of `qmd query`, which is w / rank + (1 - w) rerank.

    w is .75 up to rank 3, .6 up to 10, .4 behind. The rank before reranking is not told; the position afterwards stands
    for it, so the best row gets what is left of .75 and not the .75 itself.
    """
    share = 0.75 if position <= 3 else 0.6 if position <= 10 else 0.4
    return min(max((blended - share / position) / (1 - share), 0.0), 1.0)


class _Witness:
    """The static model's view of one question."""

    def __init__(self, model: StaticProvider, question: Question) -> None:
        self._query = model.embed_query(question.text)
        self._calibration = model.calibration
        words = question.words
        spelt = sum(map(len, model.token_ids(words))) > ranking.SPELT_TOKENS * len(words)
        self._strange = spelt and not question.known

    def near(self, chunk: Chunk) -> float:
        """How near the nearest window of a chunk is, 0..1."""
        cosine = max((_windows(chunk.text) @ self._query).tolist(), default=-1.0)
        return ranking.vector_score(cosine, self._calibration, strange=self._strange)


def _witness(question: Question) -> _Witness | None:
    try:
        return _Witness(_model(), question)
    except ProviderUnavailable as error:
        log.info("QMD's cosines are judged alone: %s", error)
        return None


@lru_cache(maxsize=1)
def _model() -> StaticProvider:
    """One for the process; it is loaded by the first text."""
    from memory_core.embeddings.static import StaticProvider

    return StaticProvider()


@lru_cache(maxsize=CACHED_CHUNKS)
def _windows(text: str) -> NDArray[np.float32]:
    """Embeddings of a chunk's windows, shape (n, 256)."""
    import numpy as np

    windows = [window.text for window in split_windows(text, split_units(text))]
    rows = [rows for _, rows in _model().embed_documents(windows)]
    return np.concatenate(rows) if rows else np.zeros((0, _model().space.dimensions), np.float32)
