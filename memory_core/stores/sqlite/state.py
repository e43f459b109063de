"""Values that an index holds once: one row of the table `meta` under each key."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, cast

from memory_core.records import Space
from memory_core.stores.sqlite.connections import Connection
from memory_core.stores.sqlite.encoding import DamagedRow, choose_encoding
from memory_core.stores.values import StateValues, SyncState, TargetSpace

# The values of `SyncState` whose keys have other names: the generation after which space was given back, the id of the space
# that serves and of the one that is filled ("" while nobody knows its dimensions), and "<generation>:<value>" for what holds
# until content changes.
_KEYS = {
    "tidy": "tidied", "serving": "serving_space", "target": "wanted_space", "complete": "level", "digest": "listed",
    "pending_reason": "owed_because",
}  # fmt: skip
LONGEST_STEP = 10_000
# Readers see by it that what they keep in memory is out of date. A new file does not count from where an older one did, and an
# older state of a file, which somebody has put back, goes on by other steps than the state that it replaced.
_BUMP_GENERATION = (
    "INSERT INTO meta VALUES ('generation', CAST(abs(random() % 1000000000000000) AS TEXT))"
    f" ON CONFLICT DO UPDATE SET value = CAST(value AS INTEGER) + 1 + abs(random() % {LONGEST_STEP})"
)


def get_value(connection: Connection, key: str) -> str | None:
    """Return the value of a key; None when it is not set."""
    return cast("str | None", connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).get)


def _load(connection: Connection) -> dict[str, str]:
    """Return all values as they are stored, by the names of `SyncState`."""
    names = {key: name for name, key in _KEYS.items()}
    rows = cast("list[tuple[str, str]]", connection.execute("SELECT key, value FROM meta").fetchall())
    return {names.get(key, key): value for key, value in rows}


def bump_generation(connection: Connection) -> None:
    """Inside a write transaction that changes files, chunks or embeddings: have readers load them again."""
    connection.execute(_BUMP_GENERATION)


def read_state(connection: Connection) -> SyncState:
    """Return what the index remembers from one sync to the next.

    Raises:
        DamagedRow: A value is none that was ever written.
    """
    try:
        return _read_state(connection)
    except ValueError as error:
        raise DamagedRow("a value in it is no number") from error


def _read_state(connection: Connection) -> SyncState:
    held = _load(connection)
    generation, last_sync = held.get("generation", "0"), held.get("last_sync")
    complete_at, _, complete = held.get("complete", "").partition(":")
    listed_at, _, digest = held.get("digest", "").partition(":")
    return SyncState(
        generation=generation,
        identity=held.get("identity"),
        workspace=held.get("workspace"),
        last_sync=None if last_sync is None else float(last_sync),
        tidy=held.get("tidy") == generation,
        serving=int(held["serving"]) if "serving" in held else None,
        target=_read_target(held.get("target")),
        complete=int(complete) if complete and complete_at == generation else None,
        pending_reason=held.get("pending_reason"),
        digest=digest if digest and listed_at == generation else None,
        destinations=json.loads(held.get("destinations", "[]")),
        refused=json.loads(held.get("refused", "{}")),
    )


def write_state(connection: Connection, values: StateValues) -> None:
    """Set values that differ from those held, inside a write transaction; see `StateValues`."""
    held = _load(connection)
    for name, value in values.items():
        text, key = _format(name, value, held.get("generation", "0")), _KEYS.get(name, name)
        if text is None:
            connection.execute("DELETE FROM meta WHERE key = ?", (key,))
        elif text != held.get(name):
            connection.execute(
                "INSERT INTO meta VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value", (key, text)
            )


def _format(name: str, value: Any, generation: str) -> str | None:
    """Return a value of `StateValues` as its row holds it; None removes the row."""
    if name == "target" and value == "unknown":
        return ""
    if value is None or value is False or (name == "refused" and not value):
        return None
    if name == "last_sync":
        return f"{value:.3f}"
    if name == "tidy":
        return generation
    if name in ("complete", "digest"):
        return f"{generation}:{value}"
    return json.dumps(value) if name in ("destinations", "refused") else str(value)


def _read_target(value: str | None) -> TargetSpace:
    return None if value is None else int(value) if value else "unknown"


def list_spaces(connection: Connection) -> dict[Space, int]:
    """Return the ids of all spaces, in the order in which they were made."""
    rows = connection.execute("SELECT id, provider, model, endpoint, input_type, dimensions FROM spaces ORDER BY id")
    return {Space(*about): number for number, *about in cast("Iterable[tuple[Any, ...]]", rows)}


def load_space(connection: Connection, space_id: int) -> Space:
    """Return the space with an id."""
    found = connection.execute(
        "SELECT provider, model, endpoint, input_type, dimensions FROM spaces WHERE id = ?", (space_id,)
    ).fetchone()
    assert found is not None
    return Space(*cast("tuple[Any, ...]", found))


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
