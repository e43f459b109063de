"""Embeddings of items: stored by space and content, and compared exactly in SQL."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from memory_core.config.settings import Vector
from memory_core.records import Space
from memory_core.stores.sqlite import Connection
from memory_core.stores.sqlite.distances import load_distances, write_distance

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


_PENDING = "NOT EXISTS (SELECT 1 FROM embeddings e WHERE e.space_id = ? AND e.hash = i.text_hash)"


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


def find_pending(connection: Connection, space: Space, limit: int) -> list[tuple[bytes, str]]:
    """Return contents without an embedding in a space, with their hashes: the items said last first."""
    rows = connection.execute(
        f"SELECT text_hash, content FROM items i WHERE {_PENDING} ORDER BY said DESC LIMIT ?",
        (_find_id(connection, space), limit),
    )
    return [(row[0], row[1]) for row in rows]


def count_pending(connection: Connection, space: Space) -> int:
    """Count the items without an embedding in a space."""
    found = connection.execute(f"SELECT count(*) FROM items i WHERE {_PENDING}", (_find_id(connection, space),)).get
    return int(str(found))


def _find_id(connection: Connection, space: Space) -> int | None:
    """Return the number of a space; None, which no embedding has, when it holds nothing."""
    found = find_space(connection, space)
    return None if found is None else found[0]


def compare(
    connection: Connection, vector: tuple[Space, NDArray[np.float32]] | None, settings: Vector
) -> dict[int, float]:
    """Return the cosine of every item that has an embedding in the space of a vector, by key; none without a vector.

    An embedding of another length, which only damage can leave, counts as missing; one without a direction is like nothing.

    Args:
        connection: Inside a transaction.
        vector: A space, and a row of unit length.
        settings: Of sqlite-vec.
    """
    found = None if vector is None else find_space(connection, vector[0])
    if vector is None or found is None:
        return {}
    load_distances(connection, settings)
    query = vector[1].astype("<f4").tobytes()
    rows = connection.execute(
        f"SELECT key, {write_distance('float32', 'e.embedding')} FROM items i"
        " JOIN embeddings e ON e.space_id = :space AND e.hash = i.text_hash AND length(e.embedding) = :length",
        {"space": found[0], "length": len(query), "query": query},
    )
    return {int(str(key)): 0.0 if distance is None else 1 - float(str(distance)) for key, distance in rows}
