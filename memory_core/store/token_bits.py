"""Vectors of the tokens of a window as they are stored: one bit a dimension, its sign; by unit.

A token of all-MiniLM-L6-v2 takes 48 bytes, a window of 100 tokens 5 kB; the sign alone orders units as well as the whole
vector does (tests/benchmarks/RETRIEVAL.md). They hang on the embedding of their window and go with it, or when no chunk
holds the window any more.

Layout: for each unit the number of its tokens as uint16, little-endian; then for each token the signs of its vector, first
dimension in the highest bit, filled up to whole bytes with zeros.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from memory_core.hookspecs import TokenEmbedding
from memory_core.store.connection import Connection

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MAX_TOKENS = 256  # of a unit; what is behind them is left out, so that text without white space takes no more


@dataclass(frozen=True, slots=True)
class WindowBits:
    """The tokens of one window.

    Attributes:
        chunk_id: Where the window is.
        first: Its first unit.
        counts: How many tokens each of its units has.
        signs: Shape (tokens, bytes of one), uint8.
    """

    chunk_id: int
    first: int
    counts: NDArray[np.uint16]
    signs: NDArray[np.uint8]


def packed(embedding: TokenEmbedding) -> bytes:
    """The bits of a window whose parts are its units; empty when the model has none."""
    import numpy as np

    if embedding.tokens is None:
        return b""
    counts = np.array(embedding.counts, dtype=np.int64)
    within = np.arange(len(embedding.tokens)) - np.repeat(np.cumsum(counts) - counts, counts)
    signs = np.packbits(embedding.tokens[within < MAX_TOKENS] > 0, axis=1)
    return np.minimum(counts, MAX_TOKENS).astype("<u2").tobytes() + signs.tobytes()


def of_chunks(connection: Connection, space_id: int, chunk_ids: Iterable[int]) -> list[WindowBits] | None:
    """The tokens of all windows of some chunks, in no order; None when some are missing."""
    found = connection.execute(
        "SELECT w.chunk_id, w.first, w.last - w.first + 1, s.dimensions, t.bits FROM windows w"
        " JOIN spaces s ON s.id = ? LEFT JOIN embedding_cache e ON e.space_id = s.id AND e.hash = w.hash"
        f" LEFT JOIN token_bits t ON t.embedding_id = e.id WHERE w.chunk_id IN ({','.join(map(str, chunk_ids))})",
        (space_id,),
    )
    rows = cast("list[tuple[int, int, int, int, bytes | None]]", found.fetchall())
    if not rows or not all(bits for *_, bits in rows):
        return None
    return [_unpacked(*row[:4], bits) for row in rows if (bits := row[4])]


def _unpacked(chunk_id: int, first: int, units: int, dimensions: int, bits: bytes) -> WindowBits:
    import numpy as np

    counts = np.frombuffer(bits, dtype="<u2", count=units)
    signs = np.frombuffer(bits, dtype=np.uint8, offset=2 * units).reshape(-1, (dimensions + 7) // 8)
    return WindowBits(chunk_id, first, counts, signs)


def put(connection: Connection, space_id: int, rows: Iterable[tuple[bytes, bytes]]) -> None:
    """Inside a write transaction: store (hash of a window that has an embedding, its bits)."""
    connection.executemany(
        "INSERT INTO token_bits SELECT id, ? FROM embedding_cache WHERE space_id = ? AND hash = ? ON CONFLICT DO NOTHING",
        ((bits, space_id, key) for key, bits in rows),
    )


def drop_strays(connection: Connection) -> None:
    """Inside a write transaction: drop what belongs to windows that no chunk holds. Their embeddings may stay."""
    connection.execute(
        "DELETE FROM token_bits WHERE embedding_id IN (SELECT id FROM embedding_cache e"
        " WHERE NOT EXISTS (SELECT 1 FROM windows w WHERE w.hash = e.hash))"
    )


def any_stored(connection: Connection) -> bool:
    """Whether some provider of this index offers tokens."""
    return bool(connection.execute("SELECT EXISTS (SELECT 1 FROM token_bits)").get)
