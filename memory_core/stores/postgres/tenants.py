"""The row of a tenant: what readers need first, what a sync remembers for the next, and the lease under which one sync writes.

The number of a lease comes from the server and goes up with every lease. Its holder is named by its machine, its process and a
random part, so that two containers with equal host names and process ids are two holders.
"""

from __future__ import annotations

import contextlib
import functools
import os
import secrets
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
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

LEASE_SECONDS = 60  # without a push, after which another process may sync; of one that has ended here, at once
_BOOT, _NAMESPACE = Path("/proc/sys/kernel/random/boot_id"), Path("/proc/self/ns/pid")

held_here: set[str] = set()  # the holders of this process whose syncs run


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
        signed: Ids of the spaces in which all vectors have signs, see vectors.py.
    """

    id: int
    name: str
    generation: int
    chunks: int
    words: int
    workspace: str | None
    meta: Mapping[str, Any]
    signed: Sequence[int] = ()

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
        "SELECT id, name, generation, greatest(chunks, 0), greatest(words, 0), workspace, meta,"
        " ARRAY(SELECT s.id FROM spaces s WHERE s.tenant_id = t.id AND s.center IS NOT NULL)"
        " FROM tenants t WHERE name = ANY (%s)",
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
            action=explain_grant(names[0], role),
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


def take_lease(cursor: Cursor, tenant: Tenant, holder: str) -> int | None:
    """Take the lease on a tenant, inside a write transaction; return its number.

    None while another sync holds it, or where this role may not write the tenant.
    """
    row = cursor.execute(
        "SELECT lease_holder FROM tenants WHERE id = %s AND lease_until > now()", (tenant.id,)
    ).fetchone()
    before = row[0] if row else None
    if before is not None and not has_ended(before):
        return None
    taken = cursor.execute(
        "UPDATE tenants SET lease = lease + 1, lease_holder = %s, lease_until = now() + %s * interval '1 second'"
        " WHERE id = %s AND (lease_holder IS NOT DISTINCT FROM %s OR lease_until < now()) RETURNING lease",
        (holder, LEASE_SECONDS, tenant.id, before),
    ).fetchone()
    return taken[0] if taken else None


def end_lease(cursor: Cursor, tenant: int, number: int) -> None:
    """End a lease, inside a write transaction. Where the server cannot be told, the next sync here takes it over at once."""
    cursor.execute(
        "UPDATE tenants SET lease_holder = NULL, lease_until = NULL WHERE id = %s AND lease = %s", (tenant, number)
    )


def name_holder() -> str:
    """Return a new name for a sync of this process."""
    return f"{name_machine()}:{os.getpid()}:{secrets.token_hex(4)}"


def has_ended(holder: str) -> bool:
    """Return True if the holder of a lease was a sync of this machine that has ended."""
    at, process, _ = holder.rsplit(":", 2) if holder.count(":") >= 2 else ("", "", "")
    if at != name_machine() or not process.isdigit():
        return False
    if int(process) == os.getpid():
        return holder not in held_here
    try:
        os.kill(int(process), 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False


@functools.cache
def name_machine() -> str:
    """Return a name that no other machine or container has: within it, equal process ids are one process."""
    parts = [socket.gethostname()]
    with contextlib.suppress(OSError):  # not on Linux
        parts += [_BOOT.read_text(encoding="ascii").strip(), str(_NAMESPACE.readlink())]
    return "/".join(parts)


def may_write(cursor: Cursor, tenant: int) -> bool:
    """Return True if this role may write a tenant."""
    row = cursor.execute("SELECT %s = ANY (writable())", (tenant,)).fetchone()
    return bool(row and row[0])


def explain_grant(tenant: str, role: str = "ROLE") -> str:
    """Return what an operator does so that a role may write a tenant."""
    return f"ask the operator of the server to run: memory-core postgres grant {role} {tenant} --write"
