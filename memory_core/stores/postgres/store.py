"""The index of one agent on the server: hands out readers and write transactions."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator
from pathlib import Path

from memory_core.config.agent import AgentConfig
from memory_core.embeddings.outage import Outage
from memory_core.errors import BackendUnavailable, NotIndexed, StoreReadOnly
from memory_core.records import FileFailure, FileStamp
from memory_core.stores.postgres.connections import READ, WRITE, Connections
from memory_core.stores.postgres.reader import PostgresReader
from memory_core.stores.postgres.settings import NAME, PostgresConfig, read_dsn
from memory_core.stores.postgres.tenants import OUTAGE, Cursor, Tenant, load_space, load_tenants, may_write, read_state
from memory_core.stores.postgres.vectors import LARGE_WINDOWS, NEAREST
from memory_core.stores.values import IndexSummary


class PostgresStore:
    """Implements `stores.interface.Index`. The constructor connects to nothing and reads no DSN."""

    def __init__(self, config: AgentConfig, settings: PostgresConfig, *, writable: bool) -> None:
        self._settings = settings
        self._writable = writable
        self._names = settings.list_tenants(config.agent)
        self._workspace = os.path.realpath(config.workspace)
        self._lock = threading.Lock()
        self._connections: Connections | None = None

    @property
    def settings(self) -> PostgresConfig:
        """The section of the configuration."""
        return self._settings

    @property
    def writable(self) -> bool:
        """False if this session may only read."""
        return self._writable

    @property
    def path(self) -> Path:
        """The tenant as messages name it."""
        return Path(f"postgres:{self._settings.schema}/{self._names[0]}")

    @property
    def is_suspect(self) -> bool:
        """False: the server looks after its files."""
        return False

    def needs_check(self) -> bool:
        """Return False, see `is_suspect`."""
        return False

    def repair(self) -> str | None:
        """Do nothing: the server looks after its files."""
        return None

    @contextlib.contextmanager
    def read(self) -> Iterator[tuple[Cursor, list[Tenant]]]:
        """Yield a cursor and the tenants, the agent's own first, inside one read transaction.

        Raises:
            BackendUnavailable: The server does not answer, or this role may not read the agent's tenant.
        """
        with self._name_missing(), self._connect().transaction(READ) as cursor:
            yield cursor, load_tenants(cursor, self._names)

    def read_own(self) -> Tenant:
        """Return the agent's own tenant at this moment.

        Raises:
            BackendUnavailable: See `read`.
        """
        with self._name_missing():
            return self._connect().read_alone(self.load_own)

    def load_own(self, cursor: Cursor) -> Tenant:
        """Return the agent's own tenant inside a transaction.

        Raises:
            BackendUnavailable: This role may not read it.
        """
        return load_tenants(cursor, self._names[:1])[0]

    @contextlib.contextmanager
    def _name_missing(self) -> Iterator[None]:
        """Name the other tenants in an error that keeps their notes from being found."""
        try:
            yield
        except BackendUnavailable as error:
            others = ", ".join(self._names[1:])
            if not others:
                raise
            reason = f"{error.reason}; the notes of {others} are missing meanwhile"
            raise BackendUnavailable(NAME, reason, action=error.action) from None

    @contextlib.contextmanager
    def reading(self) -> Iterator[PostgresReader]:
        """Hand out a reader for one search.

        Raises:
            NotIndexed: No tenant holds anything, and this session may not write.
            BackendUnavailable: See `read`.
        """
        with self.read() as (cursor, tenants):
            if not self._writable and all(each.workspace is None for each in tenants):
                raise NotIndexed("not indexed: no tenant holds any notes yet", action="run: memory-core index")
            yield PostgresReader(cursor, tenants, self._workspace)

    @contextlib.contextmanager
    def write(self) -> Iterator[Cursor]:
        """Yield a cursor inside one write transaction.

        Raises:
            StoreReadOnly: This session, or this role, may not write.
        """
        if not self._writable:
            raise StoreReadOnly(self.path, "this session may not write the index", action="run: memory-core index")
        with self._name_missing(), self._connect().transaction(WRITE) as cursor:
            yield cursor

    def rest(self) -> None:
        """Close all idle connections, which the next call opens again."""
        self.close()

    def close(self) -> None:
        """Close all connections; may be called twice."""
        with self._lock:
            if self._connections is not None:
                self._connections.close()

    def _connect(self) -> Connections:
        with self._lock:
            if self._connections is None:
                self._connections = Connections(
                    read_dsn(self._settings.dsn),
                    schema=self._settings.schema,
                    limit_seconds=self._settings.statement_seconds,
                    most=self._settings.pool,
                )
            return self._connections


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
        held = read_state(tenant)
        serving = None if tenant.serving is None else load_space(cursor, tenant.id, tenant.serving)
        target = load_space(cursor, tenant.id, held.target) if isinstance(held.target, int) else None
        space = held.serving if held.target is None else held.target
        record = tenant.meta.get(OUTAGE)
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
    if tenant.serving in tenant.signed:
        return "signs", f"the {NEAREST:,} that are nearest by their signs are compared"
    return "exact", f"all are compared; signs choose first where there are more than {LARGE_WINDOWS:,}"


def look_at_server(store: PostgresStore) -> tuple[str, bool, list[Tenant]]:
    """Return the server's version, if this role may write the agent's own tenant, and the tenants that it may read.

    Raises:
        BackendUnavailable: The server does not answer, or this role may not read the agent's tenant.
    """
    with store.read() as (cursor, tenants):
        row = cursor.execute("SELECT current_setting('server_version')").fetchone()
        return row[0] if row else "?", may_write(cursor, tenants[0].id), tenants
