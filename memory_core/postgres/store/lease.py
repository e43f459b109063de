"""The lease under which one process at a time syncs a tenant: how long it lasts, and who has lost it."""

from __future__ import annotations

import os

LEASE_SECONDS = 60  # without a push, after which another host may sync; of a process that has ended here, at once


def explain_grant(tenant: str) -> str:
    """Return what an operator does so that a role may write a tenant."""
    return f"ask the operator of the server to run: memory-core postgres grant ROLE {tenant} --write"


def has_ended(holder: str, host: str) -> bool:
    """Return True if the holder of a lease was a process of this host that has ended."""
    at, _, process = holder.rpartition(":")
    if at != host or not process.isdigit():
        return False
    if int(process) == os.getpid():
        return False
    try:
        os.kill(int(process), 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False
