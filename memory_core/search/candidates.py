"""The chunks whose units are worth ranking: the best by keyword, the nearest by vector, those of notes that are named."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memory_core.records import Query
from memory_core.search import scores
from memory_core.search.question import Question
from memory_core.stores.interface import Reader, best_of
from memory_core.stores.values import DateRange, IndexedChunk, sort_equals

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from memory_core.search.recorder import SearchRecorder

MIN_DEPTH = 32  # chunks of each side, even for few results
RANKED_CHUNKS = 16  # 24 show .005 more of conversations, .004 more of meetings, and take a sixth more time
RANKED_IN_CONTEXT = 32  # with tokens in their context, whose question takes far longer: .006 more of conversations
SURE_OF_BOTH = 0.25  # of these the best of both sides together, which may be best on none
SURE_OF_EACH = 0.5  # the best of each side, however low the other puts them: .004 more of conversations
RANKED_AMONG = 64  # of those that may be candidates, since only some of their units count


@dataclass(frozen=True, slots=True)
class Candidate:
    """A chunk whose units are ranked; `is_named` says that the question names its file."""

    chunk: IndexedChunk
    is_named: bool = False


def find_candidates(
    reader: Reader,
    question: Question,
    query: Query,
    weights: scores.Weights,
    *,
    multiplier: int,
    near: Mapping[int, float],
    near_share: float = 1.0,
    among: Collection[int] | None = None,
    tokens: bool = False,
    ranked: int = RANKED_CHUNKS,
    recorder: SearchRecorder | None = None,
) -> list[Candidate]:
    """Find the chunks to rank, as `sort_equals` orders them: of units that rank alike, those of the first stay first.

    Args:
        multiplier: Chunks looked at for each result asked for.
        near: Cosines of the nearest chunks, by chunk id; empty without vectors.
        near_share: What they count, beside keywords.
        among: The chunks that may be candidates; None allows all.
        tokens: Load the token ids of the chunks.
        ranked: The most candidates, if no more results are asked for; all of `among` allow `RANKED_AMONG`.
        recorder: Records what keywords find.
    """  # fmt: skip
    dates = DateRange(query.after, query.before)
    by_text: Mapping[int, float] = {}
    terms = sorted((term for term in question.terms if term.documents), key=lambda term: term.documents)
    if weights.text and terms:
        depth = _depth(query, multiplier) if among is None else reader.count_chunks()
        by_text = reader.find_by_keyword(terms, dates, depth)
    if among is not None:
        by_text = {chunk_id: score for chunk_id, score in by_text.items() if chunk_id in among}
    if recorder is not None:
        recorder.by_text = by_text
    count = max(ranked if among is None else RANKED_AMONG, query.max_results)
    named = dict.fromkeys(
        chunk_id
        for name in question.names
        for chunk_id in reader.find_by_name(name, dates, count)
        if among is None or chunk_id in among
    )
    merged = _merge(by_text, near, weights, near_share)
    ids = {**named}
    if by_text and near:
        for values, share in ((merged, SURE_OF_BOTH), (by_text, SURE_OF_EACH), (near, SURE_OF_EACH * near_share)):
            most = min(round(share * ranked), count - len(ids))
            ids.update(dict.fromkeys(best_of(reader, values, max(0, most))))
    others = {chunk_id: value for chunk_id, value in merged.items() if chunk_id not in ids}
    ids.update(dict.fromkeys(best_of(reader, others, max(0, count - len(ids)))))
    return [Candidate(chunk, chunk.id in named) for chunk in sort_equals(reader.load_chunks(ids, tokens=tokens))]


def compare_all(reader: Reader, space_id: int, vector: NDArray[np.float32], among: Collection[int]) -> dict[int, float]:
    """Compare all windows of some chunks: the cosine of the best one of each, by chunk id."""
    found: dict[int, float] = {}
    for window in reader.compare_windows(space_id, vector, among):
        found[window.chunk_id] = max(found.get(window.chunk_id, -1.0), window.cosine)
    return found


def find_nearest(
    reader: Reader, space_id: int, vector: NDArray[np.float32], query: Query, *, multiplier: int
) -> dict[int, float]:
    """Find the nearest chunks: the cosine of their best window, by chunk id, best first."""
    dates = DateRange(query.after, query.before)
    return reader.find_nearest(space_id, vector, dates, _depth(query, multiplier))


def _depth(query: Query, multiplier: int) -> int:
    return max(MIN_DEPTH, query.max_results * multiplier)


def _merge(
    by_text: Mapping[int, float], near: Mapping[int, float], weights: scores.Weights, share: float
) -> dict[int, float]:
    """Return the value of each chunk of both sides by the two together; higher is better."""
    ids = list({**by_text, **near})
    floor = min(near.values(), default=0.0)
    texts = scores.scale([by_text.get(chunk_id, 0.0) for chunk_id in ids])
    cosines = scores.spread([near.get(chunk_id, floor) for chunk_id in ids])
    return {
        chunk_id: bool(weights.text) * text + bool(weights.vector) * share * cosine
        for chunk_id, text, cosine in zip(ids, texts, cosines, strict=True)
    }
