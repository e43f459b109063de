"""Values that an index holds once: one row of the table `meta` under each key."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from memory_core.stores.sqlite import Connection
from memory_core.stores.sqlite.damage import DamagedRow
from memory_core.stores.values import SyncState, TargetSpace

IDENTITY = "identity"  # what the text was cut with
WORKSPACE = "workspace"
LAST_SYNC = "last_sync"  # Unix seconds
GENERATION = "generation"  # goes up with every change of content
TIDIED = "tidied"  # the generation after which space was last given back
SERVING = "serving_space"
TARGET = "wanted_space"  # see `SyncState.target`; "" is one whose dimensions nobody knows yet
LISTED = "listed"  # "<generation>:<digest>" of the files with which the index agrees
COMPLETE = "level"  # "<generation>:<space>" in which no embedding was missing
PENDING_REASON = "owed_because"
DESTINATIONS = "destinations"  # JSON list of the places outside this machine to which notes went
OUTAGE = "outage"  # see StoredOutage

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


def set_values(connection: Connection, values: Mapping[str, str | None]) -> None:
    """Set keys inside a write transaction; None removes one."""
    for key, value in values.items():
        if value is None:
            connection.execute("DELETE FROM meta WHERE key = ?", (key,))
        else:
            connection.execute(
                "INSERT INTO meta VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value", (key, value)
            )


def bump_generation(connection: Connection) -> None:
    """Inside a write transaction that changes files, chunks or embeddings: have readers load them again."""
    connection.execute(_BUMP_GENERATION)


def read_generation(connection: Connection) -> str:
    """Return what changes whenever content does; "0" before the first content."""
    return get_value(connection, GENERATION) or "0"


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
    held = dict(cast("list[tuple[str, str]]", connection.execute("SELECT key, value FROM meta").fetchall()))
    generation, last_sync = held.get(GENERATION, "0"), held.get(LAST_SYNC)
    complete_at, _, complete = held.get(COMPLETE, "").partition(":")
    listed_at, _, digest = held.get(LISTED, "").partition(":")
    return SyncState(
        identity=held.get(IDENTITY),
        workspace=held.get(WORKSPACE),
        last_sync=None if last_sync is None else float(last_sync),
        tidy=held.get(TIDIED) == generation,
        serving=int(held[SERVING]) if SERVING in held else None,
        target=_read_target(held.get(TARGET)),
        complete=int(complete) if complete and complete_at == generation else None,
        pending_reason=held.get(PENDING_REASON),
        digest=digest if digest and listed_at == generation else None,
    )


def format_target(target: TargetSpace) -> str | None:
    """Return the target space as the table holds it."""
    return "" if target == "unknown" else None if target is None else str(target)


def _read_target(value: str | None) -> TargetSpace:
    return None if value is None else int(value) if value else "unknown"
