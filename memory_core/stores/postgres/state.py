"""The row of a tenant: what readers need first, and what a sync remembers for the next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg.types.json import Jsonb

from memory_core.errors import BackendUnavailable
from memory_core.records import Calibration, Space
from memory_core.stores.postgres.settings import NAME
from memory_core.stores.values import ServingSpace, SyncState, TargetSpace

Cursor = psycopg.Cursor[tuple[Any, ...]]

IDENTITY, LAST_SYNC, TIDIED, SERVING, TARGET = "identity", "last_sync", "tidied", "serving", "target"
LISTED, COMPLETE, PENDING_REASON, DESTINATIONS = "listed", "complete", "pending_reason", "destinations"
OUTAGE = "outage"
SIGNED = "signed"  # the space all of whose vectors have signs, see vectors.py
CENTER = "center"  # what these signs are counted from
PACKED = "packed"  # the space all of whose vectors are stored as int8
UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Tenant:
    """One tenant at one moment.

    Attributes:
        id: On the server.
        name: As the configuration has it.
        generation: Goes up with every change of content.
        chunks, words: What BM25 needs.
        workspace: The real path of the folder whose notes it holds; None before the first sync.
        meta: See the constants above.
    """

    id: int
    name: str
    generation: int
    chunks: int
    words: int
    workspace: str | None
    meta: Mapping[str, Any]

    @property
    def serving(self) -> int | None:
        """The id of the space whose vectors answer."""
        return self.meta.get(SERVING)


def load_tenants(cursor: Cursor, names: Sequence[str]) -> list[Tenant]:
    """Return the tenants that this role may read, in the order of their names given; the first must be among them.

    Raises:
        BackendUnavailable: It is not.
    """
    cursor.execute(
        "SELECT id, name, generation, greatest(chunks, 0), greatest(words, 0), workspace, meta FROM tenants"
        " WHERE name = ANY (%s)",
        (list(names),),
    )
    found = {row[1]: Tenant(*row) for row in cursor.fetchall()}
    if names[0] not in found:
        cursor.execute("SELECT session_user::text")
        row = cursor.fetchone()
        role = row[0] if row else "?"
        raise BackendUnavailable(
            NAME,
            f"there is no tenant {names[0]!r} that the role {role!r} may read",
            action=f"ask the operator of the server to run: memory-core postgres grant {role} {names[0]} --write",
        )
    return [found[name] for name in names if name in found]


def set_meta(cursor: Cursor, tenant: int, values: Mapping[str, Any]) -> None:
    """Set keys of a tenant; None removes one."""
    kept = {key: value for key, value in values.items() if value is not None}
    gone = [key for key, value in values.items() if value is None]
    cursor.execute("UPDATE tenants SET meta = (meta || %s) - %s::text[] WHERE id = %s", (Jsonb(kept), gone, tenant))
    if not cursor.rowcount:
        raise psycopg.errors.InsufficientPrivilege("this role may not write the tenant")


def read_state(tenant: Tenant) -> SyncState:
    """Return what a tenant remembers from one sync to the next."""
    meta = tenant.meta
    complete, listed = meta.get(COMPLETE), meta.get(LISTED)
    target: TargetSpace = meta.get(TARGET)
    return SyncState(
        identity=meta.get(IDENTITY),
        workspace=tenant.workspace,
        last_sync=meta.get(LAST_SYNC),
        tidy=meta.get(TIDIED) == tenant.generation,
        serving=tenant.serving,
        target=target,
        complete=complete[1] if complete and complete[0] == tenant.generation else None,
        pending_reason=meta.get(PENDING_REASON),
        digest=listed[1] if listed and listed[0] == tenant.generation else None,
    )


_SPACE = "SELECT id, provider, model, endpoint, input_type, dimensions, floor, span FROM spaces WHERE tenant_id = %s"


def load_space(cursor: Cursor, tenant: int, space_id: int) -> ServingSpace | None:
    """Return a space of a tenant; None if there is none with this id."""
    row = cursor.execute(f"{_SPACE} AND id = %s", (tenant, space_id)).fetchone()
    if row is None:
        return None
    number, provider, model, endpoint, input_type, dimensions, floor, span = row
    space = Space(provider=provider, model=model, endpoint=endpoint, input_type=input_type, dimensions=dimensions)
    return ServingSpace(number, space, None if floor is None else Calibration(floor=floor, span=span))
