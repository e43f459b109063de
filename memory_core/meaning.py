"""How near units are to a question by meaning: cosines of their windows, and late interaction of their tokens."""

# ruff: noqa: S608 -- what is put into SQL are ids, names of bindings and clauses of our own

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, cast

import numpy as np

from memory_core.candidates import Candidate
from memory_core.question import Question
from memory_core.store import token_bits
from memory_core.store.connection import Connection
from memory_core.store.rows import END_OF_UNIT
from memory_core.store.token_bits import WindowBits
from memory_core.store.vectors import as_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from memory_core.hookspecs import TokenEmbedding, TokenModel

AROUND = 0.25  # of a unit's late interaction is its chunk's; without it R4000 of all conversations merged is .009 less
_UNTHREADED = 200_000  # multiplications; OpenBLAS works in one thread up to 262,144 (its interface/gemm.c)


@dataclass(frozen=True, slots=True)
class Cosines:
    """Of every unit in order, the cosine of its window; of every candidate in order, that of its best window."""

    units: list[float]
    chunks: list[float]


def cosines(
    connection: Connection, space_id: int, query: NDArray[np.float32], candidates: Sequence[Candidate]
) -> Cosines:
    """Exact cosines of the windows of the candidates; 0 where a window has no embedding yet."""
    place = {candidate.id: number for number, candidate in enumerate(candidates)}
    units = [[0.0] * len(candidate.units) for candidate in candidates]
    rows = connection.execute(
        "SELECT w.chunk_id, w.first, w.last, e.embedding FROM windows w"
        " CROSS JOIN embedding_cache e"  # CROSS: windows first, whatever the planner thinks
        f" WHERE w.chunk_id IN ({','.join(map(str, place))}) AND e.space_id = ? AND e.hash = w.hash",
        (space_id,),
    )
    windows = cast("list[tuple[int, int, int, bytes]]", rows.fetchall())
    if windows:
        nearness: list[float] = np.einsum("wd,d->w", as_rows([window[3] for window in windows]), query).tolist()
        for (chunk_id, first, last, _), cosine in zip(windows, nearness, strict=True):
            units[place[chunk_id]][first : last + 1] = [cosine] * (last + 1 - first)
    return Cosines([cosine for own in units for cosine in own], [max(own) for own in units])


def token_similarity(
    connection: Connection, space_id: int, asked: TokenEmbedding, question: Question, candidates: Sequence[Candidate]
) -> list[float] | None:
    """Late interaction of the question's tokens with those that the index holds, each in its context.

    As `table_similarity`, but for what the unit's vectors are: their signs, so that all are of one length.

    Args:
        asked: The question by its parts, with tokens.
    """
    if asked.tokens is None:
        return None
    windows = token_bits.of_chunks(connection, space_id, [candidate.id for candidate in candidates])
    weights = np.repeat(np.array(question.part_weights) / np.maximum(asked.counts, 1), asked.counts)
    if windows is None or not weights.any():
        return None
    rows, weights = asked.tokens[weights > 0], weights[weights > 0]
    lengths = np.sqrt(np.einsum("qd,qd->q", rows, rows) * rows.shape[1])
    rows = rows * (weights / weights.sum() / np.maximum(lengths, 1e-9))[:, None].astype(np.float32)
    signs = np.unpackbits(np.concatenate([window.signs for window in windows]), axis=1, count=rows.shape[1])
    similarity = 2 * _products(signs.astype(np.float32), rows) - rows.sum(axis=1)  # a sign is 2 bit - 1
    counts = np.concatenate([window.counts for window in windows]).astype(np.int64)
    filled = np.flatnonzero(counts)
    starts = (np.cumsum(counts) - counts)[filled]
    nearness = np.zeros((len(counts), len(rows)), dtype=np.float32)
    nearness[filled] = np.maximum.reduceat(similarity, starts)
    return _in_context(_in_order(windows, nearness, candidates), candidates)


def _in_order(
    windows: Sequence[WindowBits], nearness: NDArray[np.float32], candidates: Sequence[Candidate]
) -> NDArray[np.float32]:
    """What was found for the units of windows, for the units of the candidates; 0 where windows have none."""
    firsts = accumulate((len(candidate.units) for candidate in candidates), initial=0)
    place = {candidate.id: first for candidate, first in zip(candidates, firsts, strict=False)}
    ordered = np.zeros((sum(len(candidate.units) for candidate in candidates), nearness.shape[1]), dtype=np.float32)
    begin = 0
    for window in windows:
        first, size = place[window.chunk_id] + window.first, len(window.counts)
        ordered[first : first + size] = nearness[begin : begin + size]
        begin += size
    return ordered


def table_similarity(model: TokenModel, question: Question, candidates: Sequence[Candidate]) -> list[float] | None:
    """Late interaction: for every token of the question the most similar token of the unit, weighted mean over the question.

    Tokens weigh what their word weighs. See ColBERT (Khattab and Zaharia, https://arxiv.org/abs/2004.12832).

    Returns:
        -1..1 for every unit of the candidates in order; None when tokens are missing.
    """
    blobs = [candidate.tokens for candidate in candidates if candidate.tokens is not None]
    ids = model.token_ids([word.text for word in question.words])
    if len(blobs) < len(candidates) or not any(ids):
        return None
    weights = np.array([weight / len(row) for row, weight in zip(ids, question.weights, strict=True) for _ in row])
    asked, lengths = _rows(model, np.array([token for row in ids for token in row], dtype=np.uint16))
    asked *= (weights / lengths / weights.sum()).astype(np.float32)[:, None]
    flat = np.frombuffer(b"".join(blobs), dtype="<u2")
    distinct, place = _distinct(flat)
    rows, row_lengths = _rows(model, distinct)
    # Scaling the products costs less than scaling the vectors.
    similarity = _products(rows, asked) / row_lengths[:, None]
    similarity[distinct == END_OF_UNIT] = 0  # stands for "nothing here", so that no unit is empty
    ends = np.flatnonzero(flat == END_OF_UNIT)
    starts = np.concatenate(([0], ends[:-1] + 1))
    return _in_context(np.maximum.reduceat(similarity.take(place, axis=0), starts), candidates)


def _in_context(units: NDArray[np.float32], candidates: Sequence[Candidate]) -> list[float]:
    """The similarity of every unit, shape (n, tokens of the question) before: its own and that of its chunk, weighted.

    What a unit leaves unsaid stands around it: of a chunk counts, for every token of the question, its best unit.
    """
    counts = [len(candidate.units) for candidate in candidates]
    chunks = np.maximum.reduceat(units, [0, *accumulate(counts[:-1])])
    both: NDArray[np.float32] = (1 - AROUND) * units.sum(axis=1) + AROUND * np.repeat(chunks.sum(axis=1), counts)
    found: list[float] = both.tolist()
    return found


def _products(rows: NDArray[np.float32], others: NDArray[np.float32]) -> NDArray[np.float32]:
    """`rows @ others.T` in steps that are too small for BLAS to wake threads for, which costs 30 ms on a busy machine."""
    step = max(_UNTHREADED // others.size, 1)
    blocks = -(-len(rows) // step)
    padded = np.zeros((blocks * step, rows.shape[1]), dtype=np.float32)
    padded[: len(rows)] = rows
    products = padded.reshape(blocks, step, -1) @ others.T
    return products.reshape(blocks * step, -1)[: len(rows)]


def _distinct(flat: NDArray[np.uint16]) -> tuple[NDArray[np.uint16], NDArray[np.int32]]:
    """The token ids that occur, ascending, and for every token its place among them; faster than sorting."""
    occurs = np.zeros(END_OF_UNIT + 1, dtype=np.bool_)
    occurs[flat] = True
    distinct = np.flatnonzero(occurs)
    place = np.empty(END_OF_UNIT + 1, dtype=np.int32)
    place[distinct] = np.arange(len(distinct))
    return distinct.astype(np.uint16), place[flat]


def _rows(model: TokenModel, ids: NDArray[np.uint16]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Token vectors and their lengths; the end mark gets some vector, a vector of zeros the length 1."""
    rows = model.token_vectors(np.where(ids == END_OF_UNIT, np.uint16(0), ids))
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    lengths[lengths == 0] = 1
    return rows, lengths
