"""The signs of the tokens of windows: read for a search, written by a sync, dropped with their windows.

They hang on the embedding of their window and go with it, or when no chunk holds the window any more. Their layout is that of
`embeddings.vectors`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, cast

from memory_core.embeddings.vectors import unpack_signs
from memory_core.stores.sqlite import Connection
from memory_core.stores.sqlite.damage import DamagedRow
from memory_core.stores.values import WindowTokens

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def load_tokens(connection: Connection, space_id: int, chunk_ids: Iterable[int]) -> list[WindowTokens] | None:
    """Return the tokens of all windows of some chunks, in any order; None when some are missing."""
    found = connection.execute(
        "SELECT w.chunk_id, w.first, w.last - w.first + 1, s.dimensions, t.bits FROM windows w"
        " JOIN spaces s ON s.id = ? LEFT JOIN embedding_cache e ON e.space_id = s.id AND e.hash = w.hash"
        f" LEFT JOIN token_bits t ON t.embedding_id = e.id WHERE w.chunk_id IN ({','.join(map(str, chunk_ids))})",
        (space_id,),
    )
    rows = cast("list[tuple[int, int, int, int, bytes | None]]", found.fetchall())
    if not rows or not all(bits for *_, bits in rows):
        return None
    return [
        WindowTokens(chunk_id, first, *_unpack(bits, units, dimensions))
        for chunk_id, first, units, dimensions, bits in rows
        if bits
    ]


def _unpack(bits: bytes, units: int, dimensions: int) -> tuple[NDArray[np.uint16], NDArray[np.uint8]]:
    """Unpack the signs of one window.

    Raises:
        DamagedRow: They are not those of so many units.
    """
    try:
        counts, signs = unpack_signs(bits, units=units, dimensions=dimensions)
    except ValueError as error:
        raise DamagedRow("tokens are cut off") from error
    if int(counts.sum()) != len(signs):
        raise DamagedRow("tokens are not those of their text")
    return counts, signs


def put(connection: Connection, space_id: int, rows: Iterable[tuple[bytes, bytes]]) -> None:
    """Store (hash of a window that has an embedding, its signs), inside a write transaction."""
    connection.executemany(
        "INSERT INTO token_bits SELECT id, ? FROM embedding_cache WHERE space_id = ? AND hash = ? ON CONFLICT DO NOTHING",
        ((bits, space_id, key) for key, bits in rows),
    )


def drop_strays(connection: Connection) -> None:
    """Drop the signs of windows that no chunk holds, inside a write transaction. Their embeddings may stay."""
    connection.execute(
        "DELETE FROM token_bits WHERE embedding_id IN (SELECT id FROM embedding_cache e"
        " WHERE NOT EXISTS (SELECT 1 FROM windows w WHERE w.hash = e.hash))"
    )


def any_stored(connection: Connection) -> bool:
    """Return True if some provider of this index offers tokens."""
    return bool(connection.execute("SELECT EXISTS (SELECT 1 FROM token_bits)").get)
