"""A question to passages: candidates of both sides, their units ranked, a calibrated score for what is shown."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import TYPE_CHECKING

from memory_core import ranking
from memory_core.candidates import Candidate, candidates, nearest
from memory_core.matches import Matches
from memory_core.passages import Passage, Piece, pack
from memory_core.question import Question, ready
from memory_core.records import Hit, Mode, Query
from memory_core.roots import LONGTERM_NAMES
from memory_core.settings import Hybrid, TemporalDecay
from memory_core.snippets import Mark, marks
from memory_core.store.connection import Connection, Tokenize, tokenizer
from memory_core.store.vectors import VectorIndex
from memory_core.terms import cut_cjk

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from memory_core.hookspecs import Calibration, TokenEmbedding, TokenModel


@dataclass(frozen=True, slots=True)
class Vectors:
    """The vector side of one search.

    Attributes:
        space_id: The space that serves.
        query: The question's embedding in it.
        calibration: What its cosines are worth.
        asked: The question's parts with their tokens, where the provider offers them.
        table: Its table of tokens, where it offers one.
    """

    space_id: int
    query: NDArray[np.float32]
    calibration: Calibration
    asked: TokenEmbedding | None = None
    table: TokenModel | None = None


@dataclass(frozen=True, slots=True)
class Score:
    """How well a chunk answers, absolute, 0..1: in all, by meaning, by keyword."""

    whole: float
    vector: float | None
    text: float | None


def search(
    connection: Connection,
    query: Query,
    hybrid: Hybrid,
    *,
    index: VectorIndex,
    vectors: Vectors | None,
    today: date | None = None,
) -> tuple[list[Hit], Mode]:
    """Hits for a query from one moment of the index, best first.

    Args:
        connection: Inside a read transaction.
        vectors: None searches by keyword alone.
        today: What "yesterday" is meant from; None is the local date.

    Returns:
        The hits, each scoring at least `query.min_score`, no unit of a note twice; and which evidence was used.
    """
    tokenize = tokenizer(connection)
    today = today or datetime.now().astimezone().date()
    question = ready(connection, query.text, tokenize, today)
    mode: Mode = "keyword" if vectors is None else "hybrid" if hybrid.enabled else "vector"
    if not question.words or not question.chunks:
        return [], mode
    weights = _weights(mode, hybrid)
    multiplier = hybrid.candidate_multiplier
    near: dict[int, float] = {}
    if vectors is not None and weights.vector:
        near = nearest(connection, index, vectors.space_id, vectors.query, query, multiplier=multiplier)
    found = candidates(connection, question, query, weights, multiplier=multiplier, near=near)
    words = Matches(question, found, tokenize)
    fused, scores = _judge(connection, question, found, words, weights=weights, vectors=vectors)
    good = [score.whole >= query.min_score for score in scores]
    if hybrid.temporal_decay.enabled:
        left = [_recency(candidate, today, hybrid.temporal_decay) for candidate in found]
        fused = [value * left[chunk] for value, (chunk, _) in zip(fused, words.units, strict=True)]
    order = sorted((i for i, (chunk, _) in enumerate(words.units) if good[chunk]), key=fused.__getitem__, reverse=True)
    enough = ranking.NEAR_BEST * max(fused, default=0.0) if vectors is not None else math.inf
    ranked = ((*words.units[i], bool(words.counts[i]) or fused[i] >= enough) for i in order)
    pieces = _pieces(found, ranked, question, tokenize, query.max_snippet_chars)
    passages = pack(pieces, count=query.max_results, max_chars=query.max_snippet_chars)
    return [_hit(passage, scores) for passage in passages], mode


def _weights(mode: Mode, hybrid: Hybrid) -> ranking.Weights:
    if mode == "keyword":
        return ranking.Weights(0.0, 1.0)
    if mode == "vector":
        return ranking.Weights(1.0, 0.0)
    return ranking.Weights.normalised(hybrid.vector_weight, hybrid.text_weight)


def _recency(candidate: Candidate, today: date, decay: TemporalDecay) -> float:
    """What is left of the rank of a note's units; all where nothing says that it ages."""
    if candidate.date is None or candidate.path in LONGTERM_NAMES:
        return 1.0
    age = today - date.fromisoformat(candidate.date)
    return ranking.recency(age.days, half_life_days=decay.half_life_days, floor=decay.floor)


def _judge(
    connection: Connection,
    question: Question,
    found: Sequence[Candidate],
    words: Matches,
    *,
    weights: ranking.Weights,
    vectors: Vectors | None,
) -> tuple[list[float], list[Score]]:
    """The rank value of every unit and the score of every candidate."""
    fused = _text_side(question, found, words, weights)
    covered = [ranking.coverage(question.weights, held) for held in words.found]
    least = [ranking.IDENTIFIED * identified for identified in words.identified]
    texts = [
        max(ranking.keyword_score((share + best) / 2, question.chunks, question=question.is_sentence), floor)
        for share, best, floor in zip(covered, words.best(question.weights), least, strict=True)
    ]
    if vectors is None or not found:
        return fused, [Score(text, None, text) for text in texts]
    from memory_core import meaning

    cosines = meaning.cosines(connection, vectors.space_id, vectors.query, found)
    tokens, (window_share, token_share) = None, ranking.WITHOUT_TOKENS
    if weights.vector:
        tokens, (window_share, token_share) = _late_interaction(connection, question, found, vectors)
    near = ranking.spread(cosines.units)
    alike = ranking.scaled(tokens or [0.0] * len(near))
    whole = [
        text + weights.vector * (window_share * window + token_share * token)
        for text, window, token in zip(fused, near, alike, strict=True)
    ]
    strange = _is_strange(question, vectors.table)
    near = [ranking.vector_score(cosine, vectors.calibration, strange=strange) for cosine in cosines.chunks]
    if not weights.text:
        return whole, [Score(vector, vector, None) for vector in near]
    scores = [
        ranking.hybrid_score(share, vector, question.chunks, question=question.is_sentence)
        for share, vector in zip(covered, near, strict=True)
    ]
    return whole, [
        Score(max(score, floor), *parts) for score, floor, *parts in zip(scores, least, near, texts, strict=True)
    ]


def _late_interaction(
    connection: Connection, question: Question, found: Sequence[Candidate], vectors: Vectors
) -> tuple[list[float] | None, tuple[float, float]]:
    """How near every unit is by its tokens, None where there are none; and what that and the cosine of its window count."""
    from memory_core import meaning

    if vectors.table is not None:
        tokens, shares = meaning.table_similarity(vectors.table, question, found), ranking.WITH_TABLE
    elif vectors.asked is not None:
        tokens = meaning.token_similarity(connection, vectors.space_id, vectors.asked, question, found)
        shares = ranking.WITH_CONTEXT
    else:
        tokens = None
    return (tokens, shares) if tokens else (None, ranking.WITHOUT_TOKENS)


def _is_strange(question: Question, table: TokenModel | None) -> bool:
    """Whether the index holds none of the words, and the model's table, if there is one, has to spell them out.

    Other models need no such excuse: free paraphrases pass all the same (30 of 30 in tests/data/retrieval), and nonsense of
    real words does so more often with it (.037 instead of .010).
    """
    if any(word.documents for word in question.words):
        return False
    words = [word.text for word in question.words]
    return table is None or sum(map(len, table.token_ids(words))) > ranking.SPELT_TOKENS * len(words)


def _text_side(question: Question, found: Sequence[Candidate], words: Matches, weights: ranking.Weights) -> list[float]:
    """For every unit its weighted keyword value, with what its note's date or name adds."""
    own = ranking.scaled(ranking.bm25(words.counts, words.lengths, question.rarities))
    chunks = ranking.scaled(ranking.bm25(words.chunk_counts, words.chunk_lengths, question.rarities))
    bonus = [
        ranking.NAMED_BONUS * candidate.named
        + ranking.PERIOD_BONUS * (question.period is not None and candidate.date in question.period)
        for candidate in found
    ]
    share = ranking.UNIT_SHARE
    return [
        bonus[chunk] + weights.text * (share * unit + (1 - share) * chunks[chunk])
        for unit, (chunk, _) in zip(own, words.units, strict=True)
    ]


def _pieces(
    found: Sequence[Candidate],
    units: Iterable[tuple[int, int, bool]],
    question: Question,
    tokenize: Tokenize,
    max_chars: int,
) -> Iterator[Piece]:
    """The units, given by the numbers of their candidate and their own and whether they match as `Piece.matches` says.

    Those that are too long are cut around what was asked.
    """
    asked = dict(zip((word.stems[0] for word in question.words), question.weights, strict=True))

    def marked(piece: Piece) -> list[Mark]:
        return marks(piece.text, (piece.start, piece.end), asked, lambda word: tokenize(cut_cjk(word).encode()))

    for chunk, index, matches in units:
        candidate = found[chunk]
        unit = candidate.units[index]
        yield Piece(
            candidate.start_line + unit.first_line, candidate.start_line + unit.last_line, unit.start, unit.end,
            candidate.path, candidate.source, chunk, index, candidate.text, matches,
        ).fitting(max_chars, marked)  # fmt: skip


def _hit(passage: Passage, scores: Sequence[Score]) -> Hit:
    """A passage with the score of its best chunk."""
    best = max((scores[piece.chunk] for piece in passage.pieces), key=lambda score: score.whole)
    return Hit(
        path=passage.pieces[0].path,
        source=passage.pieces[0].source,
        start_line=passage.first_line,
        end_line=passage.last_line,
        score=round(best.whole, 4),
        vector_score=None if best.vector is None else round(best.vector, 4),
        text_score=None if best.text is None else round(best.text, 4),
        snippet=passage.snippet,
    )
