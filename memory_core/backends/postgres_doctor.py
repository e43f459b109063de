"""Checks of all that the postgres backend needs: the DSN, the server, the schema, and what this role may do."""

from __future__ import annotations

from memory_core.errors import MemoryCoreError
from memory_core.hookspecs import BackendContext
from memory_core.records import Finding
from memory_core.stores.postgres.store import PostgresStore, look_at_server


def examine(context: BackendContext) -> list[Finding]:
    """Connect, and look for each tenant of the configuration; writes nothing."""
    store = PostgresStore(context.config, context.settings, writable=False)
    names = context.settings.list_tenants(context.config.agent)
    try:
        version, may, tenants = look_at_server(store)
    except MemoryCoreError as error:
        return [Finding(subject="server", level="fail", message=str(error), action=error.action)]
    finally:
        store.close()
    held = {each.name for each in tenants}
    found = [Finding(subject="server", level="ok", message=f"PostgreSQL {version} answers")]
    found.append(
        Finding(
            subject="tenant",
            level="ok" if may else "warn",
            message=f"{names[0]}: {tenants[0].chunks} chunks; this role {'may write it' if may else 'may only read it'}",
            action="" if may else f"ask the operator to run: memory-core postgres grant ROLE {names[0]} --write",
        )
    )
    found += [
        Finding(
            subject="tenant",
            level="warn",
            message=f"{name}: there is none that this role may read",
            action=f"ask the operator to run: memory-core postgres grant ROLE {name}",
        )
        for name in names
        if name not in held
    ]
    return found
