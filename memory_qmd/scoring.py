"""The score of a row by meaning: QMD's evidence for its file, and that of our own static model for the passage itself.

QMD embeds pieces of 900 tokens, so that one line which answers a question hardly lifts the cosine of its piece. With
all-MiniLM-L6-v2 the right notes for the five paraphrases of the sample workspace have cosines of .27 to .43, and the best
notes for pseudo-words .25 to .40: no threshold separates them. So the static model, which reads windows of 100 tokens, is a
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

from memory_core.errors import ProviderUnavailable
from memory_core.records import Calibration, Chunk
from memory_core.search import scores
from memory_core.text.terms import is_question
from memory_core.text.units import split_units, split_windows
from memory_qmd.parsing import QmdRow
from memory_qmd.queries import PreparedQuestion

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from memory_core.embeddings.static import StaticProvider

log = logging.getLogger(__name__)

# Share that is kept of the evidence of two witnesses, who often judge by the same words. With .8, .02 more of the word salad
# passes, and .01 fewer of the right notes are among the first three.
AGREEMENT = 0.7
CACHED_CHUNKS = 2000  # 4 kB each

# The meaning of QMD's scores: none ("words": 1 / rank), none, but cosines are given beside them ("explained"), a cosine,
# or a blend of the rank and the reranker's judgement.
Scale = Literal["words", "explained", "cosine", "blend"]


class Judge:
    """Judges the rows of one answer.

    Args:
        question: The question.
        scale: The meaning of the rows' scores.
        calibration: The worth of cosines of QMD's embedding model.
        chunks: Number of chunks into which memory_core would cut all that is indexed.
    """

    def __init__(self, question: PreparedQuestion, scale: Scale, calibration: Calibration, *, chunks: int) -> None:
        self._chunks = chunks
        self._is_sentence = is_question(question.text)
        self._scale = scale
        self._calibration = calibration
        self._witness = _find_witness(question) if scale in {"explained", "cosine"} else None

    def read_evidence(self, row: QmdRow, position: int) -> float | None:
        """Read QMD's own evidence for a row at a position, from 1: 0..1, or None if QMD was asked for words alone."""
        if self._scale == "words":
            return None
        if self._scale == "blend":
            return unblend(row.score, position) if row.rerank is None else min(max(row.rerank, 0.0), 1.0)
        cosine = row.score if self._scale == "cosine" else row.cosine
        return 0.0 if cosine is None else scores.vector_score(cosine, self._calibration)

    def judge_meaning(self, evidence: float | None, chunk: Chunk | None) -> float | None:
        """Return the evidence by meaning for a chunk of a row's file, 0..1; with None for the chunk, the most it can be.

        A reranker has read the text, so its judgement is taken alone. Otherwise QMD's cosine and the static model are two
        witnesses, which are taken to be independent.
        """
        if evidence is None or self._witness is None:
            return evidence
        near = 1.0 if chunk is None else self._witness.compare(chunk)
        return AGREEMENT * (1 - (1 - evidence) * (1 - near))

    def score_words(self, covered: float) -> float:
        """Score a hit by the share of the question that it covers, 0..1, as in memory_core."""
        return scores.keyword_score(covered, self._chunks, question=self._is_sentence)

    def score(self, covered: float, meaning: float | None) -> float:
        """Score a hit by the share that it covers and, if it was asked for, by its evidence by meaning."""
        if meaning is None:
            return self.score_words(covered)
        return scores.hybrid_score(covered, meaning, self._chunks, question=self._is_sentence)


def unblend(blended: float, position: int) -> float:
    """Return the reranker's part of a score of `qmd query`, which is w / rank + (1 - w) rerank.

    w is .75 up to rank 3, .6 up to 10, .4 from there on. The rank before reranking is unknown, so the position afterwards
    is used for it: a row at position 1 keeps only what its score has above .75.
    """
    share = 0.75 if position <= 3 else 0.6 if position <= 10 else 0.4
    return min(max((blended - share / position) / (1 - share), 0.0), 1.0)


class _StaticWitness:
    """The static model's judgement of passages for one question."""

    def __init__(self, model: StaticProvider, question: PreparedQuestion) -> None:
        self._query = model.embed_query(question.text)
        self._calibration = model.calibration
        words = question.words
        spelt = sum(map(len, model.token_ids(words))) > scores.SPELT_TOKENS * len(words)
        self._unknown_words = spelt and not question.known

    def compare(self, chunk: Chunk) -> float:
        """Compare the question with the nearest window of a chunk, 0..1."""
        cosine = max((_embed_windows(chunk.text) @ self._query).tolist(), default=-1.0)
        return scores.vector_score(cosine, self._calibration, unknown_words=self._unknown_words)


def _find_witness(question: PreparedQuestion) -> _StaticWitness | None:
    try:
        return _StaticWitness(_load_model(), question)
    except ProviderUnavailable as error:
        log.info("the static model cannot be loaded, so QMD's cosines are judged alone: %s", error)
        return None


@lru_cache(maxsize=1)
def _load_model() -> StaticProvider:
    """Return the process's one static model, which loads itself at the first text."""
    from memory_core.embeddings.static import StaticProvider

    return StaticProvider()


@lru_cache(maxsize=CACHED_CHUNKS)
def _embed_windows(text: str) -> NDArray[np.float32]:
    """Embed a chunk's windows, shape (n, 256)."""
    import numpy as np

    windows = [window.text for window in split_windows(text, split_units(text))]
    rows = [rows for _, rows in _load_model().embed_documents(windows)]
    return np.concatenate(rows) if rows else np.zeros((0, _load_model().space.dimensions), np.float32)
