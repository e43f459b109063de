"""The nearness of units to a question by meaning: cosines of their windows, and late interaction of their tokens."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, chain
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from memory_core.search.question import Question
from memory_core.stores.interface import Reader
from memory_core.stores.values import IndexedChunk, WindowTokens
from memory_core.text.folding import clean

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from memory_core.embeddings.protocols import TokenEmbedding, TokenModel

_IDS = 0x10000  # token ids; no model in use has so large a vocabulary
AROUND = 0.25  # of a unit's late interaction is its chunk's; without it R4000 of all conversations merged is .009 less
AROUND_IN_CONTEXT = 0.5  # the same for tokens in their context; with .25 documents show .02 less, meetings .03
ALIKE, SAME = 0.5, 0.9  # similarities of a word to another one that means something else, and the same
_UNTHREADED = 200_000  # multiplications; OpenBLAS works in one thread up to 262,144 (its interface/gemm.c)


def compare_windows(
    reader: Reader, space_id: int, vector: NDArray[np.float32], chunks: Sequence[IndexedChunk]
) -> tuple[list[float], list[float]]:
    """Compare the windows of some chunks with a question's vector; 0 where a window has no embedding yet.

    Returns:
        The cosine of the window of every unit, in order; and that of the best window of every chunk, in order.
    """
    place = {chunk.id: number for number, chunk in enumerate(chunks)}
    units = [[0.0] * len(chunk.units) for chunk in chunks]
    for chunk_id, first, last, cosine in reader.compare_windows(space_id, vector, place):
        units[place[chunk_id]][first : last + 1] = [cosine] * (last + 1 - first)
    return [cosine for own in units for cosine in own], [max(own) for own in units]


class TokenNearness(NamedTuple):
    """The findings of late interaction.

    Attributes:
        units: -1..1 for every unit of the chunks in order.
        words: See `Confidence.alike`.
    """

    units: list[float]
    words: list[list[float]] | None = None


def compare_tokens(
    reader: Reader, space_id: int, asked: TokenEmbedding | None, question: Question, chunks: Sequence[IndexedChunk]
) -> TokenNearness | None:
    """Late interaction of the question's tokens with those that the index holds, each in its context.

    It differs from `compare_table` in the unit's vectors: they are signs, so that all are of one length.

    Args:
        asked: The question by its parts, with tokens; None where the provider offers none.

    Returns:
        None if the question has no tokens.
    """
    if asked is None or asked.tokens is None:
        return None
    windows = reader.load_tokens(space_id, [chunk.id for chunk in chunks])
    weights = np.repeat(np.array(question.part_weights) / np.maximum(asked.counts, 1), asked.counts)
    if windows is None or not weights.any():
        return None
    rows, weights = asked.tokens[weights > 0], weights[weights > 0]
    lengths = np.sqrt(np.einsum("qd,qd->q", rows, rows) * rows.shape[1])
    rows = rows * (weights / weights.sum() / np.maximum(lengths, 1e-9))[:, None].astype(np.float32)
    signs = np.unpackbits(np.concatenate([window.signs for window in windows]), axis=1, count=rows.shape[1])
    similarity = 2 * _multiply(signs.astype(np.float32), rows) - rows.sum(axis=1)  # a sign is 2 bit - 1
    counts = np.concatenate([window.counts for window in windows]).astype(np.int64)
    filled = np.flatnonzero(counts)
    starts = (np.cumsum(counts) - counts)[filled]
    nearness = np.zeros((len(counts), len(rows)), dtype=np.float32)
    nearness[filled] = np.maximum.reduceat(similarity, starts)
    return TokenNearness(_add_context(_reorder(windows, nearness, chunks), chunks, AROUND_IN_CONTEXT))


def _reorder(
    windows: Sequence[WindowTokens], nearness: NDArray[np.float32], chunks: Sequence[IndexedChunk]
) -> NDArray[np.float32]:
    """Put the rows of the units of windows into the order of the units of chunks; 0 where windows have none."""
    firsts = accumulate((len(chunk.units) for chunk in chunks), initial=0)
    place = {chunk.id: first for chunk, first in zip(chunks, firsts, strict=False)}
    ordered = np.zeros((sum(len(chunk.units) for chunk in chunks), nearness.shape[1]), dtype=np.float32)
    begin = 0
    for window in windows:
        first, size = place[window.chunk_id] + window.first, len(window.counts)
        ordered[first : first + size] = nearness[begin : begin + size]
        begin += size
    return ordered


def compare_table(model: TokenModel, question: Question, chunks: Sequence[IndexedChunk]) -> TokenNearness | None:
    """Late interaction: for every token of the question the most similar token of the unit, weighted mean over the question.

    Tokens weigh what their word weighs; vectors are those of the model's table. See ColBERT (Khattab and Zaharia, https://arxiv.org/abs/2004.12832).

    Returns:
        None if the question has no tokens.
    """
    ids = model.token_ids([word.text for word in question.words])
    if not any(ids):
        return None
    weights = np.array([weight / len(row) for row, weight in zip(ids, question.weights, strict=True) for _ in row])
    asked, lengths = _rows(model, np.array([token for row in ids for token in row], dtype=np.uint16))
    asked *= (weights / lengths / weights.sum()).astype(np.float32)[:, None]
    texts = [clean(chunk.text[unit.start : unit.end]) for chunk in chunks for unit in chunk.units]
    own = model.token_ids(texts)
    counts = np.fromiter(map(len, own), dtype=np.int64, count=len(own))
    flat = np.fromiter(chain.from_iterable(own), dtype=np.uint16, count=int(counts.sum()))
    distinct, place = _distinct(flat)
    rows, row_lengths = _rows(model, distinct)
    # Scaling the products costs less than scaling the vectors.
    similarity = _multiply(rows, asked) / row_lengths[:, None]
    filled = np.flatnonzero(counts)
    starts = (np.cumsum(counts) - counts)[filled]
    best = np.zeros((len(own), len(asked)), dtype=np.float32)
    best[filled] = np.maximum(np.maximum.reduceat(similarity.take(place, axis=0), starts), 0)
    words = np.zeros((len(best), len(ids)), dtype=np.float32)
    firsts = accumulate(map(len, ids), initial=0)
    spelt = [(number, first) for number, (row, first) in enumerate(zip(ids, firsts, strict=False)) if row]
    words[:, [number for number, _ in spelt]] = np.add.reduceat(best, [first for _, first in spelt], axis=1)
    return TokenNearness(_add_context(best, chunks, AROUND), _share_alike(words, question.weights))


def _share_alike(words: NDArray[np.float32], weights: Sequence[float]) -> list[list[float]]:
    """Return what words count that a unit holds alike, as shares of the question: nothing from `ALIKE` down, all at `SAME`.

    Args:
        words: For every unit what each word of the question adds: its share of the question times its similarity, 0..1.
        weights: Of the words.
    """
    shares = np.array(weights, dtype=np.float32) / (sum(weights) or 1.0)
    alike: list[list[float]] = np.clip((words - ALIKE * shares) / (SAME - ALIKE), 0, shares).tolist()
    return alike


def _add_context(units: NDArray[np.float32], chunks: Sequence[IndexedChunk], share: float) -> list[float]:
    """Add the similarity of its chunk to that of every unit, given with shape (n, tokens of the question), weighted.

    The text around a unit says what the unit leaves unsaid: of a chunk counts, for every token of the question, its best unit.
    """
    counts = [len(chunk.units) for chunk in chunks]
    around = np.maximum.reduceat(units, [0, *accumulate(counts[:-1])])
    both: NDArray[np.float32] = (1 - share) * units.sum(axis=1) + share * np.repeat(around.sum(axis=1), counts)
    found: list[float] = both.tolist()
    return found


def _multiply(rows: NDArray[np.float32], others: NDArray[np.float32]) -> NDArray[np.float32]:
    """Compute `rows @ others.T` in steps too small for BLAS to wake threads, which costs 30 ms on a busy machine."""
    step = max(_UNTHREADED // others.size, 1)
    products = np.empty((len(rows), len(others)), dtype=np.float32)
    for first in range(0, len(rows), step):
        np.matmul(rows[first : first + step], others.T, out=products[first : first + step])
    return products


def _distinct(flat: NDArray[np.uint16]) -> tuple[NDArray[np.uint16], NDArray[np.int32]]:
    """Return the token ids that occur, ascending, and for every token its place among them; faster than sorting."""
    occurs = np.zeros(_IDS, dtype=np.bool_)
    occurs[flat] = True
    distinct = np.flatnonzero(occurs)
    place = np.empty(_IDS, dtype=np.int32)
    place[distinct] = np.arange(len(distinct))
    return distinct.astype(np.uint16), place[flat]


def _rows(model: TokenModel, ids: NDArray[np.uint16]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return token vectors and their lengths; a vector of zeros gets the length 1."""
    rows = model.token_vectors(ids)
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    lengths[lengths == 0] = 1
    return rows, lengths
