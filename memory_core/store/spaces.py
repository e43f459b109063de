"""The vector spaces that an index knows: which one serves, and what its cosines are worth."""

from __future__ import annotations

from dataclasses import replace

from memory_core.hookspecs import Calibration, Space
from memory_core.store.connection import Connection


def space_key(space: Space) -> tuple[str, str, str, str, int]:
    """What tells a space from all others, in the order of its columns."""
    return space.provider, space.model, space.endpoint, space.input_type, space.dimensions


def find_space(connection: Connection, space: Space) -> int | None:
    """The id of a space; None when the index has never seen it."""
    found = connection.execute(
        "SELECT id FROM spaces WHERE (provider, model, endpoint, input_type, dimensions) = (?, ?, ?, ?, ?)",
        space_key(space),
    ).get
    return None if found is None else int(found)


def newest_space_like(connection: Connection, space: Space) -> Space | None:
    """The space last made that is equal but for its dimensions; None when there is none."""
    found = connection.execute(
        "SELECT dimensions FROM spaces WHERE (provider, model, endpoint, input_type) = (?, ?, ?, ?) ORDER BY id DESC LIMIT 1",
        space_key(space)[:4],
    ).get
    return None if found is None else replace(space, dimensions=int(found))


def serving_space(connection: Connection) -> tuple[int, Space] | None:
    """The space whose vectors answer, with its id; None when keyword search answers alone."""
    row = connection.execute(
        "SELECT s.id, s.provider, s.model, s.endpoint, s.input_type, s.dimensions FROM spaces s"
        " JOIN meta m ON m.key = 'serving_space' AND s.id = CAST(m.value AS INTEGER)"
    ).fetchone()
    if row is None:
        return None
    space_id, provider, model, endpoint, input_type, dimensions = row
    return space_id, Space(
        provider=provider, model=model, endpoint=endpoint, input_type=input_type, dimensions=dimensions
    )


def calibration(connection: Connection, space_id: int) -> tuple[Calibration, int] | None:
    """What a space's cosines are worth, and how many windows the index held when that was estimated; None before."""
    row = connection.execute(
        "SELECT floor, span, judged FROM spaces WHERE id = ? AND floor IS NOT NULL", (space_id,)
    ).fetchone()
    if row is None:
        return None
    floor, span, windows = row
    return Calibration(floor=floor, span=span), windows


def sample(connection: Connection, space_id: int, limit: int) -> list[bytes]:
    """Embeddings of at most so many windows: the first by hash, which is as good as chance and always the same."""
    rows = connection.execute(
        "SELECT embedding FROM embedding_cache e WHERE space_id = ?"
        " AND EXISTS (SELECT 1 FROM windows w WHERE w.hash = e.hash) ORDER BY hash LIMIT ?",
        (space_id, limit),
    )
    return [row[0] for row in rows]
