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
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any, LiteralString

import psycopg
from psycopg.types.json import Jsonb

from memory_core.errors import BackendUnavailable
from memory_core.records import Space
from memory_core.stores.postgres import NAME, explain_grant
from memory_core.stores.values import ServingSpace, StateValues, remember, to_serving

Cursor = psycopg.Cursor[tuple[Any, ...]]

LEASE_SECONDS = 60  # without a push, after which another process may sync; of one that has ended here, at once
_BOOT, _NAMESPACE = Path("/proc/sys/kernel/random/boot_id"), Path("/proc/self/ns/pid")
_TENANTS = (
    "SELECT id, name, generation, greatest(chunks, 0), greatest(words, 0), workspace, meta,"
    " ARRAY(SELECT s.id FROM spaces s WHERE s.tenant_id = t.id AND s.center IS NOT NULL),"
    " lease, CASE WHEN lease_until > now() THEN lease_holder END, t.id = ANY (writable()) FROM tenants t WHERE name = ANY (%s)"
)
_SPACE = "SELECT id, provider, model, endpoint, input_type, dimensions, floor, span FROM spaces WHERE tenant_id = %s"

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
        meta: Other values of `SyncState` by name, and the provider's outage.
        signed: Ids of the spaces in which all vectors have signs, see vectors.py.
        lease: The number of the last lease.
        holder: Who holds it; None if nobody does.
        writable: This role may write it.
    """

    id: int
    name: str
    generation: int
    chunks: int
    words: int
    workspace: str | None
    meta: Mapping[str, Any]
    signed: Sequence[int] = ()
    lease: int = 0
    holder: str | None = None
    writable: bool = True

    @property
    def serving(self) -> int | None:
        """The id of the space whose vectors answer."""
        return self.meta.get("serving")

    def remember(self, values: StateValues) -> Tenant:
        """Return the tenant with some values in the place of those that it remembers; see `StateValues`."""
        meta = remember(self.meta, values, generation=self.generation)
        workspace = meta.pop("workspace", self.workspace)
        return replace(self, workspace=workspace, meta=meta)


def fetch_value(cursor: Cursor, query: LiteralString, values: Sequence[object] = ()) -> Any:
    """Return the first column of the first row that a query finds; None if it finds none."""
    row = cursor.execute(query, values).fetchone()
    return None if row is None else row[0]


def load_tenants(cursor: Cursor, names: Sequence[str]) -> list[Tenant]:
    """Return the tenants that this role may read, in the order of their names given; the first must be among them.

    Raises:
        BackendUnavailable: It is not.
    """
    found = {row[1]: Tenant(*row) for row in cursor.execute(_TENANTS, (list(names),)).fetchall()}
    if names[0] not in found:
        role = cursor.connection.info.user
        raise BackendUnavailable(
            NAME,
            f"there is no tenant {names[0]!r} that the role {role!r} may read",
            action=explain_grant(role, names[0]),
        )
    return [found[name] for name in names if name in found]


def lock_tenant(cursor: Cursor, name: str, *, wait: bool = True) -> Tenant | None:
    """Return a tenant whose row nobody else can write before the end of this transaction.

    Args:
        cursor: Inside a write transaction.
        name: Of the tenant.
        wait: Wait for who writes it now; without, return None for a tenant that somebody writes.

    Returns:
        None where this role may not write it.

    Raises:
        BackendUnavailable: This role may not even read it.
    """
    query = f"{_TENANTS} FOR NO KEY UPDATE OF t{'' if wait else ' SKIP LOCKED'}"
    row = cursor.execute(query, ([name],)).fetchone()
    if row is None:
        load_tenants(cursor, [name])
        return None
    return Tenant(*row)


def put_tenant(cursor: Cursor, tenant: Tenant, *, renew_lease: bool) -> None:
    """Write the row of a tenant that this transaction has locked; with its lease, from this moment on."""
    renewed = ", lease_until = clock_timestamp() + %(seconds)s * interval '1 second'" if renew_lease else ""
    cursor.execute(
        "UPDATE tenants SET generation = %(generation)s, chunks = %(chunks)s, words = %(words)s, workspace = %(workspace)s,"
        f" meta = %(meta)s{renewed} WHERE id = %(id)s",
        {
            "generation": tenant.generation, "chunks": tenant.chunks, "words": tenant.words, "workspace": tenant.workspace,
            "meta": Jsonb(tenant.meta), "seconds": LEASE_SECONDS, "id": tenant.id,
        },
    )  # fmt: skip


def number_space(space: Space) -> int:
    """Return the id of a space, which is the same for all tenants."""
    key = (space.provider, space.model, space.endpoint, space.input_type, space.dimensions)
    return int.from_bytes(blake2b(repr(key).encode(), digest_size=8).digest(), "big", signed=True)


def load_space(cursor: Cursor, tenant: int, space_id: int) -> ServingSpace | None:
    """Return a space of a tenant; None if there is none with this id."""
    return to_serving(cursor.execute(f"{_SPACE} AND id = %s", (tenant, space_id)).fetchone())


def take_lease(cursor: Cursor, tenant: Tenant, holder: str) -> int | None:
    """Take the lease on a tenant that this transaction has locked; return its number, None while another sync holds it."""
    if tenant.holder is not None and not has_ended(tenant.holder):
        return None
    cursor.execute(
        "UPDATE tenants SET lease = lease + 1, lease_holder = %s, lease_until = now() + %s * interval '1 second'"
        " WHERE id = %s",
        (holder, LEASE_SECONDS, tenant.id),
    )
    return tenant.lease + 1


def end_lease(cursor: Cursor, name: str, number: int) -> None:
    """End a lease, inside a write transaction. Where the server cannot be told, the next sync here takes it over at once."""
    cursor.execute(
        "UPDATE tenants SET lease_holder = NULL, lease_until = NULL WHERE name = %s AND lease = %s", (name, number)
    )


def name_holder() -> str:
    """Return a new name for a sync of this process."""
    return f"{name_machine()}:{os.getpid()}:{secrets.token_hex(4)}"


def has_ended(holder: str) -> bool:
    """Return True if the holder of a lease was a sync of this machine that has ended."""
    at, process, _ = holder.rsplit(":", 2) if holder.count(":") >= 2 else ("", "", "")
    if at != name_machine() or not process.isdigit() or os.name != "posix":
        return False  # Windows would take 0 for Ctrl-C; the lease ends by itself there
    if int(process) == os.getpid():
        return holder not in held_here
    try:
        os.kill(int(process), 0)
    except OSError as error:
        return isinstance(error, ProcessLookupError)
    return False


@functools.cache
def name_machine() -> str:
    """Return a name that no other machine or container has: within it, equal process ids are one process."""
    parts = [socket.gethostname()]
    with contextlib.suppress(OSError):  # not on Linux
        parts += [_BOOT.read_text(encoding="ascii").strip(), str(_NAMESPACE.readlink())]
    return "/".join(parts)
