"""Embeddings of items: stored by space and content, and compared exactly in memory."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

from memory_core.embeddings.vectors import as_rows
from memory_core.items.store.rows import load_generation
from memory_core.records import Space
from memory_core.stores.sqlite import Connection

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def find_space(connection: Connection, space: Space) -> tuple[int, Space] | None:
    """Return the number of a space with its dimensions, which the asked one may not know; None when it holds nothing."""
    row = connection.execute(
        "SELECT id, dimensions FROM spaces WHERE (provider, model, endpoint, input_type) = (?, ?, ?, ?)"
        " AND (dimensions = ? OR ? = 0) ORDER BY id DESC LIMIT 1",
        (space.provider, space.model, space.endpoint, space.input_type, space.dimensions, space.dimensions),
    ).fetchone()
    return None if row is None else (int(row[0]), replace(space, dimensions=int(row[1])))


def put(connection: Connection, space: Space, hashes: Sequence[bytes], rows: NDArray[np.float32]) -> None:
    """Store embeddings of contents, inside a write transaction; those of contents that no item has any more are left out."""
    known = replace(space, dimensions=int(rows.shape[1]))
    connection.execute(
        "INSERT INTO spaces (provider, model, endpoint, input_type, dimensions) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
        (known.provider, known.model, known.endpoint, known.input_type, known.dimensions),
    )
    found = find_space(connection, known)
    assert found is not None
    connection.executemany(
        "INSERT OR REPLACE INTO embeddings SELECT ?, ?, ? WHERE EXISTS (SELECT 1 FROM items WHERE text_hash = ?)",
        [
            (found[0], text_hash, row.astype("<f4").tobytes(), text_hash)
            for text_hash, row in zip(hashes, rows, strict=True)
        ],
    )


def find_pending(connection: Connection, space_id: int | None, limit: int) -> list[tuple[bytes, str]]:
    """Return contents without an embedding in a space, with their hashes: the items said last first.

    Args:
        connection: Inside a transaction.
        space_id: None is a space that holds nothing yet.
        limit: The most to return.
    """
    rows = connection.execute(
        "SELECT text_hash, content FROM items i WHERE NOT EXISTS"
        " (SELECT 1 FROM embeddings e WHERE e.space_id = ? AND e.hash = i.text_hash) ORDER BY said DESC LIMIT ?",
        (space_id, limit),
    )
    return [(row[0], row[1]) for row in rows]


def count_pending(connection: Connection, space_id: int | None) -> int:
    """Count the items without an embedding in a space."""
    return int(
        str(
            connection.execute(
                "SELECT count(*) FROM items i WHERE NOT EXISTS"
                " (SELECT 1 FROM embeddings e WHERE e.space_id = ? AND e.hash = i.text_hash)",
                (space_id,),
            ).get
        )
    )


HELD_BYTES = 200_000_000  # of vectors in memory: 195,000 items of the static model, 16,000 of 3,072 dimensions


@dataclass(frozen=True, slots=True)
class _ItemMatrix:
    space_id: int
    generation: str
    keys: list[int]
    rows: NDArray[np.float32]


class ItemVectors:
    """Compares a question with the items of a space that were said last; keeps their vectors until a write changes the file."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._matrix: _ItemMatrix | None = None

    def compare(self, connection: Connection, vector: tuple[Space, NDArray[np.float32]] | None) -> dict[int, float]:
        """Return the cosine of every item that has an embedding in the space of a vector, by key; none without a vector.

        Of more than fit into `HELD_BYTES`, those said last are compared; words find the others.
        """
        import numpy as np

        found = None if vector is None else find_space(connection, vector[0])
        matrix = None if found is None else self._load(connection, found[0])
        if vector is None or matrix is None or not len(matrix.rows):
            return {}
        # BLAS would wake threads for it, which costs more than the product.
        return dict(zip(matrix.keys, np.einsum("ij,j->i", matrix.rows, vector[1]).tolist(), strict=True))

    def _load(self, connection: Connection, space_id: int) -> _ItemMatrix:
        generation = load_generation(connection)
        with self._lock:
            held = self._matrix
        if held is not None and (held.space_id, held.generation) == (space_id, generation):
            return held
        found = connection.execute(
            "SELECT key, embedding FROM items i JOIN embeddings e ON e.hash = i.text_hash AND e.space_id = ?"
            " ORDER BY said DESC LIMIT (SELECT ? / (4 * dimensions) FROM spaces WHERE id = ?)",
            (space_id, HELD_BYTES, space_id),
        ).fetchall()
        keys = [int(str(row[0])) for row in found]
        matrix = _ItemMatrix(space_id, generation, keys, as_rows([cast("bytes", row[1]) for row in found]))
        with self._lock:
            self._matrix = matrix
        return matrix
