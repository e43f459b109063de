"""The lease under which one sync at a time writes a tenant: how it is taken and given back, and who has lost it.

Its number comes from the server and goes up with every lease. Its holder is named by its machine, its process and a random part,
so that two containers with equal host names and process ids are two holders.
"""

from __future__ import annotations

import contextlib
import functools
import os
import secrets
import socket
from pathlib import Path
from typing import NamedTuple

from memory_core.errors import StoreReadOnly
from memory_core.stores.postgres.state import Tenant
from memory_core.stores.postgres.store import PostgresStore

LEASE_SECONDS = 60  # without a push, after which another process may sync; of one that has ended here, at once

_BOOT, _NAMESPACE = Path("/proc/sys/kernel/random/boot_id"), Path("/proc/self/ns/pid")

_held: set[str] = set()  # the holders of this process whose syncs run


class Lease(NamedTuple):
    """A lease that is held.

    Attributes:
        tenant: Its id.
        number: Of the lease: a push under a lower one is refused.
        holder: As the row of the tenant names it.
    """

    tenant: int
    number: int
    holder: str


def take(store: PostgresStore) -> Lease | None:
    """Take the lease on the first tenant of a store; return None while another sync holds it.

    Raises:
        StoreReadOnly: This role may not write the tenant.
    """
    with store.read() as (cursor, tenants):
        own = tenants[0]
        row = cursor.execute(
            "SELECT lease_holder FROM tenants WHERE id = %s AND lease_until > now()", (own.id,)
        ).fetchone()
    before = row[0] if row else None
    if before is not None and not has_ended(before):
        return None
    holder = f"{_name_machine()}:{os.getpid()}:{secrets.token_hex(4)}"
    _held.add(holder)  # before the row names it: another thread must not take it for one that was left behind
    lease = None
    try:
        lease = _write(store, own, holder, before)
    finally:
        if lease is None:
            _held.discard(holder)
    return lease


def _write(store: PostgresStore, tenant: Tenant, holder: str, before: str | None) -> Lease | None:
    with store.write() as cursor:
        taken = cursor.execute(
            "UPDATE tenants SET lease = lease + 1, lease_holder = %s, lease_until = now() + %s * interval '1 second'"
            " WHERE id = %s AND (lease_holder IS NOT DISTINCT FROM %s OR lease_until < now()) RETURNING lease",
            (holder, LEASE_SECONDS, tenant.id, before),
        ).fetchone()
        if taken is not None:
            return Lease(tenant.id, taken[0], holder)
        may = cursor.execute("SELECT %s = ANY (writable())", (tenant.id,)).fetchone()
        if not may or not may[0]:
            raise StoreReadOnly(store.path, "this role may only read the tenant", action=explain_grant(tenant.name))
        return None


def give_back(store: PostgresStore, lease: Lease) -> None:
    """End a lease. Where the server cannot be told, the next sync of this process takes it over at once."""
    _held.discard(lease.holder)
    with store.write() as cursor:
        cursor.execute(
            "UPDATE tenants SET lease_holder = NULL, lease_until = NULL WHERE id = %s AND lease = %s",
            (lease.tenant, lease.number),
        )


def has_ended(holder: str) -> bool:
    """Return True if the holder of a lease was a sync of this machine that has ended."""
    at, process, _ = holder.rsplit(":", 2) if holder.count(":") >= 2 else ("", "", "")
    if at != _name_machine() or not process.isdigit():
        return False
    if int(process) == os.getpid():
        return holder not in _held
    try:
        os.kill(int(process), 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False


@functools.cache
def _name_machine() -> str:
    """Return a name that no other machine or container has: within it, equal process ids are one process."""
    parts = [socket.gethostname()]
    with contextlib.suppress(OSError):  # not on Linux
        parts += [_BOOT.read_text(encoding="ascii").strip(), str(_NAMESPACE.readlink())]
    return "/".join(parts)


def explain_grant(tenant: str) -> str:
    """Return what an operator does so that a role may write a tenant."""
    return f"ask the operator of the server to run: memory-core postgres grant ROLE {tenant} --write"
