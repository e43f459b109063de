"""The vector spaces of an index: the one that serves, and the worth of their cosines."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, cast

from memory_core.records import Calibration, Space
from memory_core.stores.sqlite import Connection
from memory_core.stores.sqlite.distances import Encoding, choose_encoding, decode
from memory_core.stores.values import ServingSpace

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def space_key(space: Space) -> tuple[str, str, str, str, int]:
    """Return the values that identify a space, in the order of their columns."""
    return space.provider, space.model, space.endpoint, space.input_type, space.dimensions


def find_space(connection: Connection, space: Space) -> int | None:
    """Return the id of a space; None when the index has never seen it."""
    found = connection.execute(
        "SELECT id FROM spaces WHERE (provider, model, endpoint, input_type, dimensions) = (?, ?, ?, ?, ?)",
        space_key(space),
    ).get
    return None if found is None else int(found)


def find_space_like(connection: Connection, space: Space) -> Space | None:
    """Return the space that is equal but for its dimensions; None when there is none.

    Of several, the one that syncs fill goes before the one that serves, and that before the one last made.
    """
    found = connection.execute(
        "SELECT dimensions FROM spaces s LEFT JOIN meta t ON t.key = 'wanted_space' AND t.value = CAST(s.id AS TEXT)"
        " LEFT JOIN meta m ON m.key = 'serving_space' AND m.value = CAST(s.id AS TEXT)"
        " WHERE (provider, model, endpoint, input_type) = (?, ?, ?, ?)"
        " ORDER BY t.key IS NULL, m.key IS NULL, s.id DESC LIMIT 1",
        space_key(space)[:4],
    ).get
    return None if found is None else replace(space, dimensions=int(found))


def load_space(connection: Connection, space_id: int) -> Space:
    """Return the space with an id."""
    found = connection.execute(
        "SELECT provider, model, endpoint, input_type, dimensions FROM spaces WHERE id = ?", (space_id,)
    ).fetchone()
    assert found is not None
    provider, model, endpoint, input_type, dimensions = found
    return Space(provider=provider, model=model, endpoint=endpoint, input_type=input_type, dimensions=dimensions)


def load_serving_space(connection: Connection) -> ServingSpace | None:
    """Return the space whose vectors answer; None when keyword search answers alone."""
    row = connection.execute(
        "SELECT s.id, s.provider, s.model, s.endpoint, s.input_type, s.dimensions, s.floor, s.span FROM spaces s"
        " JOIN meta m ON m.key = 'serving_space' AND s.id = CAST(m.value AS INTEGER)"
    ).fetchone()
    if row is None:
        return None
    space_id, provider, model, endpoint, input_type, dimensions, floor, span = row
    space = Space(provider=provider, model=model, endpoint=endpoint, input_type=input_type, dimensions=dimensions)
    return ServingSpace(space_id, space, None if floor is None else Calibration(floor=floor, span=span))


def load_calibration(connection: Connection, space_id: int) -> tuple[Calibration, int] | None:
    """Return a space's estimated calibration, and the number of windows when it was made; None before the first."""
    row = connection.execute(
        "SELECT floor, span, judged FROM spaces WHERE id = ? AND floor IS NOT NULL", (space_id,)
    ).fetchone()
    if row is None:
        return None
    floor, span, windows = row
    return Calibration(floor=floor, span=span), windows


def load_sample(connection: Connection, space_id: int, limit: int) -> NDArray[np.float32]:
    """Return embeddings of at most `limit` windows, as rows.

    They are the first by hash, which is as good as chance and always the same.
    """
    rows = connection.execute(
        "SELECT embedding FROM embedding_cache e WHERE space_id = ?"
        " AND EXISTS (SELECT 1 FROM windows w WHERE w.hash = e.hash) ORDER BY hash LIMIT ?",
        (space_id, limit),
    )
    encoding, dimensions = cast(
        "tuple[Encoding, int]",
        connection.execute("SELECT encoding, dimensions FROM spaces WHERE id = ?", (space_id,)).get,
    )
    return decode([row[0] for row in rows], encoding, dimensions)


def add_space(connection: Connection, space: Space) -> int:
    """Return the id of a space, made inside a write transaction when it is new."""
    connection.execute(
        "INSERT INTO spaces (provider, model, endpoint, input_type, dimensions, encoding) VALUES (?, ?, ?, ?, ?, ?)"
        " ON CONFLICT DO NOTHING",
        (*space_key(space), choose_encoding(space)),
    )
    found = find_space(connection, space)
    assert found is not None
    return found


def put_calibration(connection: Connection, space_id: int, calibration: Calibration, *, windows: int) -> None:
    """Store an estimate, made when the index held `windows` windows, inside a write transaction."""
    connection.execute(
        "UPDATE spaces SET floor = ?, span = ?, judged = ? WHERE id = ?",
        (calibration.floor, calibration.span, windows, space_id),
    )
