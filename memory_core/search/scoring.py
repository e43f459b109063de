"""Ranks of units and scores of candidates: the evidence of words and of vectors together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memory_core.embeddings.calibration import DEFAULT, calibrate
from memory_core.embeddings.protocols import Calibrated
from memory_core.search import scores
from memory_core.search.candidates import Candidate
from memory_core.search.question import Question
from memory_core.search.speakers import find_other_speakers
from memory_core.search.term_counts import TermCounts
from memory_core.stores.interface import Reader
from memory_core.stores.values import IndexedChunk, ServingSpace
from memory_core.text.terms import find_cjk_share

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from memory_core.embeddings.protocols import EmbeddingProvider, TokenEmbedding, TokenModel
    from memory_core.records import Calibration
    from memory_core.search.recorder import SearchRecorder

WINDOWS = 3  # a chunk: those of the judged sets have 1 to 4


@dataclass(frozen=True, slots=True)
class VectorQuery:
    """The vector side of one search.

    Attributes:
        space_id: The space that serves.
        vector: The question's embedding in it.
        calibration: The worth of its cosines.
        tokens: The question's parts with their tokens, where the provider offers them.
        table: The provider's table of tokens, where it offers one.
    """

    space_id: int
    vector: NDArray[np.float32]
    calibration: Calibration
    tokens: TokenEmbedding | None = None
    table: TokenModel | None = None


@dataclass(frozen=True, slots=True)
class Score:
    """The absolute score of a chunk, 0..1: in all, by meaning, by keyword."""

    whole: float
    vector: float | None
    text: float | None


def choose_calibration(serving: ServingSpace, provider: EmbeddingProvider) -> Calibration:
    """Return the provider's calibration if it has one, else the one that the index has estimated."""
    if isinstance(provider, Calibrated):
        return provider.calibration
    return serving.calibration or DEFAULT


def judge(
    reader: Reader,
    question: Question,
    candidates: Sequence[Candidate],
    counts: TermCounts,
    *,
    weights: scores.Weights,
    vectors: VectorQuery | None,
    recorder: SearchRecorder | None = None,
) -> tuple[list[float], list[Score]]:
    """Return the rank value of every unit and the score of every candidate.

    Args:
        counts: Of the candidates.
        weights: Of the two sides.
        vectors: None judges by keyword alone.
        recorder: Records the parts of the ranks.
    """
    ranks = _rank_by_text(question, candidates, counts, weights)
    if recorder is not None:
        recorder.text_ranks = ranks
    covered = [scores.coverage(question.weights, held) for held in counts.found]
    if question.characters:
        others = len(question.words) + len(question.phrases)
        held = counts.best_shares([0.0] * others + question.rarities[others:])
        covered = [share + scores.CHARACTER_EVIDENCE * single for share, single in zip(covered, held, strict=True)]
    least = [scores.IDENTIFIED * identified for identified in counts.identified]
    texts = [
        max(scores.score(share + scores.BEST_UNIT * (best - share), question.exponent), floor)
        for share, best, floor in zip(covered, counts.best_shares(question.weights), least, strict=True)
    ]
    if vectors is None or not candidates:
        return ranks, [Score(text, None, text) for text in texts]
    from memory_core.search import similarity

    chunks = [candidate.chunk for candidate in candidates]
    cosines = similarity.compare_windows(reader, vectors.space_id, vectors.vector, chunks)
    tokens, (window_share, token_share) = None, scores.WITHOUT_TOKENS
    if weights.vector:
        tokens, (window_share, token_share) = _compare_tokens(reader, question, chunks, vectors)
    window_share *= weights.vector * weigh_vectors(question, vectors)
    token_share *= weights.vector * _weigh_tokens(question, vectors)
    near = scores.spread(cosines.units)
    alike = scores.scale(tokens or [0.0] * len(near))
    if recorder is not None:
        recorder.cosines = cosines.chunks
        recorder.window_shares = [window_share * window for window in near]
        recorder.token_shares = [token_share * token for token in alike]
    ranks = [
        text + window_share * window + token_share * token
        for text, window, token in zip(ranks, near, alike, strict=True)
    ]
    unknown = _are_words_unknown(question, vectors.table)
    worth, share_by_meaning = _choose_worth(question, vectors), weigh_vectors(question, vectors)
    near = [scores.vector_score(cosine, worth, unknown_words=unknown) for cosine in cosines.chunks]
    if not weights.text:
        return ranks, [Score(vector, vector, None) for vector in near]
    expected = scores.EXPECTED if vectors.table else scores.expect(question.kind, worth)
    by_meaning = [
        scores.nearness(cosine, worth, question.kind, covered=share, unknown_words=unknown, expected=expected)
        for share, cosine in zip(covered, cosines.chunks, strict=True)
    ]
    if question.cjk and vectors.table is None:
        by_meaning = _doubt_ideographs(question, chunks, by_meaning)
    evidence = [share + share_by_meaning * value for share, value in zip(covered, by_meaning, strict=True)]
    whole = [max(scores.score(each, question.exponent), floor) for each, floor in zip(evidence, least, strict=True)]
    return ranks, [Score(*parts) for parts in zip(whole, near, texts, strict=True)]


def _rank_by_text(
    question: Question, candidates: Sequence[Candidate], counts: TermCounts, weights: scores.Weights
) -> list[float]:
    """For every unit its weighted keyword value, with the bonus of its note's date or name."""
    own = scores.scale(scores.bm25(counts.counts, counts.lengths, question.rarities))
    chunks = scores.scale(scores.bm25(counts.chunk_counts, counts.chunk_lengths, question.rarities))
    bonus = [
        scores.NAMED_BONUS * candidate.is_named
        + scores.PERIOD_BONUS * (question.period is not None and candidate.chunk.date in question.period)
        for candidate in candidates
    ]
    others = find_other_speakers(question, candidates, counts.units)
    share = scores.UNIT_SHARE
    return [
        bonus[chunk] - scores.OTHER_SPEAKER * other + weights.text * (share * unit + (1 - share) * chunks[chunk])
        for unit, (chunk, _), other in zip(own, counts.units, others, strict=True)
    ]


def _compare_tokens(
    reader: Reader, question: Question, chunks: Sequence[IndexedChunk], vectors: VectorQuery
) -> tuple[list[float] | None, tuple[float, float]]:
    """Return the nearness of every unit by its tokens, None without tokens; and the shares of its window and of that."""
    from memory_core.search import similarity

    if vectors.table is not None:
        nearness, shares = similarity.compare_table(vectors.table, question, chunks), scores.WITH_TABLE
    elif vectors.tokens is not None:
        nearness = similarity.compare_tokens(reader, vectors.space_id, vectors.tokens, question, chunks)
        shares = scores.WITH_CONTEXT
    else:
        nearness = None
    return (nearness, shares) if nearness else (None, scores.WITHOUT_TOKENS)


def _doubt_ideographs(question: Question, chunks: Sequence[IndexedChunk], values: Sequence[float]) -> list[float]:
    """Return what nearness says for chunks, less for those in CJK where the notes hold little of a question in CJK.

    A question in one script about notes in another has no pair of characters in common with them, and is trusted.
    """
    doubt = question.cjk * (1 - scores.trust(question.known, question.chunks, question.kind))
    if not doubt:
        return list(values)
    return [
        value * (1 - doubt * min(2 * find_cjk_share(chunk.text), 1.0)) if value > 0 else value
        for value, chunk in zip(values, chunks, strict=True)
    ]


def weigh_vectors(question: Question, vectors: VectorQuery) -> float:
    """Return what cosines count for this question, 0..1.

    A table of tokens knows few ideographs. It spells the others in bytes, which all CJK texts share.
    """
    return 1.0 if vectors.table is None else 1.0 - (1.0 - scores.TABLE_SHARE) * question.cjk


def _weigh_tokens(question: Question, vectors: VectorQuery) -> float:
    """Return what late interaction counts for this question, 0..1: with a table, in CJK, it knows half of the characters."""
    return 1.0 if vectors.table is None else 1.0 - (1.0 - scores.TABLE_TOKEN_SHARE) * question.cjk


def _choose_worth(question: Question, vectors: VectorQuery) -> Calibration:
    """Return the worth of cosines for this question: with a table, those of CJK texts are all near each other."""
    if vectors.table is None:
        return vectors.calibration
    return calibrate(scores.TABLE_CONE * question.cjk, WINDOWS * question.chunks)


def _are_words_unknown(question: Question, table: TokenModel | None) -> bool:
    """Return True if the index holds none of the words, and the model's table, if there is one, must spell them out.

    Other models need no such excuse: free paraphrases pass all the same (30 of 30 in tests/data/retrieval), and nonsense of
    real words does so more often with it (.037 instead of .010). A list of words about a code that no chunk holds counts as
    unknown, too: notes about another code are near it.
    """
    if question.misses_identifier and not question.is_sentence:
        return True
    if any(word.documents for word in question.words):
        return False
    words = [word.text for word in question.words]
    return table is None or sum(map(len, table.token_ids(words))) > scores.SPELT_TOKENS * len(words)
