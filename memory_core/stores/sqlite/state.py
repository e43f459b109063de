"""Values that an index holds once: one row of the table `meta` for each, under its name, as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, cast

from memory_core.records import Space
from memory_core.stores.sqlite.connections import Connection
from memory_core.stores.sqlite.database import get_meta, set_meta
from memory_core.stores.sqlite.encoding import DamagedRow, choose_encoding
from memory_core.stores.values import StateValues, SyncState, recall_state, remember

LONGEST_STEP = 10_000
# Readers see by it that what they keep in memory is out of date. A new file does not count from where an older one did, and an
# older state of a file, which somebody has put back, goes on by other steps than the state that it replaced.
_BUMP_GENERATION = (
    "INSERT INTO meta VALUES ('generation', CAST(abs(random() % 1000000000000000) AS TEXT))"
    f" ON CONFLICT DO UPDATE SET value = CAST(value AS INTEGER) + 1 + abs(random() % {LONGEST_STEP})"
)


def bump_generation(connection: Connection) -> None:
    """Inside a write transaction that changes files, chunks or embeddings: have readers load them again."""
    connection.execute(_BUMP_GENERATION)


def read_state(connection: Connection) -> SyncState:
    """Return what the index remembers from one sync to the next.

    Raises:
        DamagedRow: A value is none that was ever written.
    """
    held = _load(connection)
    return recall_state(held, generation=held.get("generation", 0), workspace=held.get("workspace"))


def read_workspace(connection: Connection) -> str | None:
    """Return the folder whose notes the index holds; see `SyncState.workspace`."""
    value = get_meta(connection, "workspace")
    return None if value is None else cast("str | None", _read_value(value))


def write_state(connection: Connection, values: StateValues) -> None:
    """Set values that differ from those held, inside a write transaction; see `StateValues`."""
    held = _load(connection)
    kept = remember(held, values, generation=held.get("generation", 0))
    for name in values:
        if kept.get(name) != held.get(name):
            set_meta(connection, name, json.dumps(kept[name]) if name in kept else None)


def _load(connection: Connection) -> dict[str, Any]:
    """Return all values by their names."""
    rows = cast("list[tuple[str, str]]", connection.execute("SELECT key, value FROM meta").fetchall())
    return {name: _read_value(value) for name, value in rows}


def _read_value(value: str) -> Any:
    try:
        return json.loads(value)
    except ValueError as error:
        raise DamagedRow("a value in it cannot be read") from error


def list_spaces(connection: Connection) -> dict[Space, int]:
    """Return the ids of all spaces, in the order in which they were made."""
    rows = connection.execute("SELECT id, provider, model, endpoint, input_type, dimensions FROM spaces ORDER BY id")
    return {Space(*about): number for number, *about in cast("Iterable[tuple[Any, ...]]", rows)}


def add_space(connection: Connection, space: Space) -> int:
    """Return the id of a space, made inside a write transaction when it is new."""
    found = list_spaces(connection).get(space)
    if found is not None:
        return found
    connection.execute(
        "INSERT INTO spaces (provider, model, endpoint, input_type, dimensions, encoding) VALUES (?, ?, ?, ?, ?, ?)",
        (space.provider, space.model, space.endpoint, space.input_type, space.dimensions, choose_encoding(space)),
    )
    return connection.last_insert_rowid()
