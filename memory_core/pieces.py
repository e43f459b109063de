"""What a provider makes of windows, piece by piece, and of units, as the store keeps it."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memory_core.hookspecs import EmbeddingProvider, TokenEmbedder
from memory_core.store import token_bits
from memory_core.store.rows import END_OF_UNIT, OwedWindow

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Piece:
    """Embeddings of consecutive windows, with the bits of their tokens where the provider offers tokens."""

    rows: NDArray[np.float32]
    bits: Sequence[bytes] = ()


def pieces(provider: EmbeddingProvider, owed: Sequence[OwedWindow]) -> Iterator[tuple[int, Piece]]:
    """What the provider makes of windows, as it comes: the number of a first one, and what it and some after it got."""
    if not isinstance(provider, TokenEmbedder):
        for offset, rows in provider.embed_documents([window.text for window in owed]):
            yield offset, Piece(rows)
        return
    import numpy as np

    for offset, found in provider.embed_document_tokens([window.parts for window in owed]):
        yield offset, Piece(np.stack([embedding.row for embedding in found]), [*map(token_bits.packed, found)])


def as_bytes(step: Sequence[OwedWindow], rows: NDArray[np.float32]) -> Iterator[tuple[bytes, bytes]]:
    """(hash, float32 little-endian) of every window."""
    for window, row in zip(step, rows.astype("<f4", copy=False), strict=True):
        yield window.hash, row.tobytes()


def packed_ids(units_ids: Iterable[Sequence[int]]) -> bytes:
    """The token ids of units as uint16, an end mark behind each."""
    packed = array("H")
    for ids in units_ids:
        packed.extend(ids)
        packed.append(END_OF_UNIT)
    return packed.tobytes()
