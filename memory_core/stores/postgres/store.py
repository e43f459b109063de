"""The index of one agent on the server: hands out readers and write transactions."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator
from pathlib import Path

from memory_core.config.agent import AgentConfig
from memory_core.errors import BackendUnavailable, NotIndexed, StoreReadOnly
from memory_core.stores.postgres.connections import READ, WRITE, Connections
from memory_core.stores.postgres.held_vectors import KeptVectors
from memory_core.stores.postgres.reader import KeptCounts, PostgresReader
from memory_core.stores.postgres.settings import NAME, PostgresConfig, read_dsn
from memory_core.stores.postgres.state import Cursor, Tenant, load_tenants


class PostgresStore:
    """Implements `serving.index.Index`. The constructor connects to nothing and reads no DSN."""

    def __init__(self, config: AgentConfig, settings: PostgresConfig, *, writable: bool) -> None:
        self._settings = settings
        self._writable = writable
        self._names = settings.list_tenants(config.agent)
        self._workspace = os.path.realpath(config.workspace)
        self._counts = KeptCounts()
        self._kept = KeptVectors()
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
            return self._connect().read_alone(lambda cursor: load_tenants(cursor, self._names[:1])[0])

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
            yield PostgresReader(cursor, tenants, self._workspace, self._counts, self._kept)

    @contextlib.contextmanager
    def write(self) -> Iterator[Cursor]:
        """Yield a cursor inside one write transaction.

        Raises:
            StoreReadOnly: This session, or this role, may not write.
        """
        if not self._writable:
            raise StoreReadOnly(self.path, "this session may not write the index", action="run: memory-core index")
        with self._connect().transaction(WRITE) as cursor:
            yield cursor

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
