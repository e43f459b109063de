"""The signs of the token vectors of a text as bytes. Stores keep them; late interaction compares them.

A token of all-MiniLM-L6-v2 takes 48 bytes, a window of 100 tokens 5 kB: the signs of the dimensions alone order units as well
as whole vectors do (tests/benchmarks/RETRIEVAL.md).

Signs of a window: for each unit the number of its tokens as uint16, little-endian; then for each token the signs of its
vector, first dimension in the highest bit, filled up to whole bytes with zeros.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from memory_core.embeddings.protocols import TokenEmbedding

MAX_TOKENS = 256  # of a unit whose signs are kept, so that text without white space takes no more


def pack_signs(embedding: TokenEmbedding) -> bytes:
    """Pack the signs of a window whose parts are its units; empty when the model has no vectors of tokens."""
    import numpy as np

    if embedding.tokens is None:
        return b""
    counts = np.array(embedding.counts, dtype=np.int64)
    within = np.arange(len(embedding.tokens)) - np.repeat(np.cumsum(counts) - counts, counts)
    signs = np.packbits(embedding.tokens[within < MAX_TOKENS] > 0, axis=1)
    return np.minimum(counts, MAX_TOKENS).astype("<u2").tobytes() + signs.tobytes()


def unpack_signs(packed: bytes, *, units: int, dimensions: int) -> tuple[NDArray[np.uint16], NDArray[np.uint8]]:
    """Return the number of tokens of each unit, and the signs as bits, shape (tokens, bytes of one token)."""
    import numpy as np

    counts = np.frombuffer(packed, dtype="<u2", count=units)
    return counts, np.frombuffer(packed, dtype=np.uint8, offset=2 * units).reshape(-1, (dimensions + 7) // 8)
