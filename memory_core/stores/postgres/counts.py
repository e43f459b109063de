"""Counts and states of a tenant, as `status` reports them."""

from __future__ import annotations

from memory_core.embeddings.outage import Outage
from memory_core.errors import NotIndexed
from memory_core.records import FileFailure, FileStamp
from memory_core.stores.postgres import state
from memory_core.stores.postgres.state import Tenant
from memory_core.stores.postgres.store import PostgresStore
from memory_core.stores.postgres.vectors import LARGE_WINDOWS, NEAREST, NEAREST_BY_SIGNS
from memory_core.stores.postgres.writer import PostgresWriter
from memory_core.stores.values import IndexSummary


class TenantOutage:
    """Implements `OutageLog` on the row of the tenant."""

    def __init__(self, writer: PostgresWriter) -> None:
        self._writer = writer

    @property
    def writable(self) -> bool:
        """See `OutageLog`."""
        return self._writer.writable

    def read(self) -> Outage | None:
        """See `OutageLog`."""
        record = self._writer.load_outage()
        return None if record is None else Outage.from_json(record)

    def write(self, outage: Outage | None) -> None:
        """See `OutageLog`."""
        self._writer.set_outage(None if outage is None else outage.to_json())


def summarise(store: PostgresStore) -> IndexSummary:
    """Summarise the agent's own tenant at one moment.

    Raises:
        NotIndexed: Nothing was indexed yet.
        BackendUnavailable: The server does not answer.
    """
    with store.read() as (cursor, tenants):
        tenant = tenants[0]
        if tenant.workspace is None:
            raise NotIndexed("not indexed")
        held = state.read_state(tenant)
        serving = None if tenant.serving is None else state.load_space(cursor, tenant.id, tenant.serving)
        target = state.load_space(cursor, tenant.id, held.target) if isinstance(held.target, int) else None
        space = held.serving if held.target is None else held.target
        record = tenant.meta.get(state.OUTAGE)
        files = cursor.execute(
            "SELECT source, count(*) FROM notes WHERE tenant_id = %s AND hash <> '' GROUP BY source ORDER BY source",
            (tenant.id,),
        ).fetchall()
        stamps = cursor.execute(
            "SELECT source, path, size, mtime_ns, ctime_ns, inode FROM notes WHERE tenant_id = %s"
            " AND source <> 'sessions' AND hash <> '' AND error IS NULL",
            (tenant.id,),
        ).fetchall()
        failed = cursor.execute(
            "SELECT path, error FROM notes WHERE tenant_id = %s AND error IS NOT NULL ORDER BY path", (tenant.id,)
        ).fetchall()
        counts = cursor.execute(
            "SELECT count(DISTINCT w.hash) FILTER (WHERE e.hash IS NOT NULL),"
            " count(DISTINCT w.hash) FILTER (WHERE f.hash IS NULL) FROM windows w"
            " LEFT JOIN embeddings e ON e.tenant_id = w.tenant_id AND e.space_id = %(serving)s AND e.hash = w.hash"
            " LEFT JOIN embeddings f ON f.tenant_id = w.tenant_id AND f.space_id = %(space)s AND f.hash = w.hash"
            " WHERE w.tenant_id = %(tenant)s",
            {"serving": held.serving, "space": space if isinstance(space, int) else None, "tenant": tenant.id},
        ).fetchone()
        embedded, pending = counts or (0, 0)
        vector, reason = _explain_vectors(tenant)
        return IndexSummary(
            workspace=tenant.workspace,
            files=dict(files),
            chunks=tenant.chunks,
            embeddings=embedded,
            pending=pending,
            pending_reason=held.pending_reason,
            serving=serving.space if serving else None,
            is_moving=held.target is not None,
            target=target.space if target else None,
            outage=None if record is None else Outage.from_json(record),
            failures=tuple(FileFailure(path=path, reason=error) for path, error in failed),
            last_sync=held.last_sync,
            stamps={(source, path): FileStamp(*stamp) for source, path, *stamp in stamps},
            vector=vector,
            vector_reason=reason,
        )


def _explain_vectors(tenant: Tenant) -> tuple[str, str]:
    """Return by what the vectors of a tenant are searched, and why."""
    if tenant.serving is None:
        return "off", "there are no embeddings yet"
    if tenant.meta.get(state.SIGNED) == tenant.serving:
        return (
            "signs",
            f"of {NEAREST_BY_SIGNS:,} that signs pick, the {NEAREST:,} nearest by the question's numbers are compared",
        )
    return "exact", f"all are compared; signs choose first where there are more than {LARGE_WINDOWS:,}"


def look_at_server(store: PostgresStore) -> tuple[str, bool, list[Tenant]]:
    """Return the server's version, if this role may write the agent's own tenant, and the tenants that it may read.

    Raises:
        BackendUnavailable: The server does not answer, or this role may not read the agent's tenant.
    """
    with store.read() as (cursor, tenants):
        row = cursor.execute(
            "SELECT current_setting('server_version'), %s = ANY (writable())", (tenants[0].id,)
        ).fetchone()
    version, may = row or ("?", False)
    return version, may, tenants
