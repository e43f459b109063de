"""The index of one agent on the server: hands out readers and writers, each inside one transaction, and the right to sync.

A sync takes a lease on its tenant, whose number comes from the server and goes up with every lease. Every write transaction locks
the row of the tenant first, and is refused under an older lease, however late it comes.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

from memory_core.config.agent import AgentConfig
from memory_core.errors import BackendRefused, BackendUnavailable, NotIndexed, StoreReadOnly, SyncBusy
from memory_core.sources import files
from memory_core.stores.postgres import NAME, PostgresConfig, explain_grant, tenants, vectors
from memory_core.stores.postgres.connections import READ, WRITE, Connections
from memory_core.stores.postgres.reader import PostgresReader
from memory_core.stores.postgres.tenants import Cursor, Tenant, load_tenants, lock_tenant
from memory_core.stores.postgres.writer import PostgresWriter

_POLL_SECONDS = 0.2


class PostgresStore:
    """Implements `stores.interface.Store` on an agent's tenant, and searches others. The constructor connects to nothing.

    Args:
        config: The agent's.
        settings: The section `memory.postgres`; no DSN is read yet.
        writable: False if this session may only read.

    Attributes:
        names: The tenants to search, the agent's own first.
        unreadable: Those that the last read did not find, or was not allowed to.
    """

    def __init__(self, config: AgentConfig, settings: PostgresConfig, *, writable: bool) -> None:
        self.writable = writable
        self._config = config
        self._half = settings.vectors == "halfvec"
        self.names = settings.list_tenants(config.agent, config.layer)
        self.path = Path(f"{NAME}:{settings.schema}/{self.names[0]}")
        self.workspace = os.path.realpath(config.workspace)
        self._timezone = config.search.time_zone
        self.unreadable: list[str] = []
        self.role = "ROLE"  # once a connection has been made, that of the DSN
        dsn, seconds = settings.find_dsn(config.agent), settings.statement_seconds
        self._connections = Connections(
            dsn, schema=settings.schema, limit_seconds=seconds, most=settings.pool, tenant=self.names[0]
        )
        self._lease = 0  # of the sync that runs; none is held
        self._unsigned: int | None = None  # the space whose vectors the next `tidy` gives signs

    @property
    def separate(self) -> str:
        """See `stores.interface.Store`."""
        own = "give this workspace a tenant of its own: memory.postgres.tenant"
        return f"{own}; or remove the old one, see Remove a tenant in docs/postgres.md"

    @contextlib.contextmanager
    def read(self) -> Iterator[PostgresReader]:
        """See `stores.interface.Store`.

        Raises:
            BackendRefused: The tenant is another workspace's, and there are notes in this one, which builtin can find.
        """
        with self._read() as (cursor, several):
            refusal = self._refuse_other(several[0])
            if refusal is not None and len(files.survey(self._config)):
                raise BackendRefused(NAME, str(refusal), action=refusal.action)
            if not self.writable and all(each.workspace is None for each in several):
                raise NotIndexed("not indexed: no tenant holds any notes yet", action="run: memory-core index")
            yield PostgresReader(cursor, several, self.workspace)

    @contextlib.contextmanager
    def write(self) -> Iterator[PostgresWriter]:
        """See `stores.interface.Store`. Inside a sync it needs the lease; searches record outages and dimensions without.

        Raises:
            SyncBusy: Another sync has begun since this one took its lease.
            StoreReadOnly: This session, or this role, may not write.
        """
        with self._write() as cursor:
            tenant, lease = lock_tenant(cursor, self.names[0]), self._lease
            if tenant is None:
                raise self._refuse_role()
            if lease and tenant.lease != lease:
                raise SyncBusy(f"{self.path}: another process has begun to sync it", action="sync again")
            writer = PostgresWriter(cursor, tenant, self.workspace, half=self._half, timezone=self._timezone)
            yield writer
            writer.commit_tenant(renew_lease=bool(lease))
        self._unsigned = writer.unsigned or self._unsigned

    @contextlib.contextmanager
    def lock(self, *, wait_seconds: float = 0.0) -> Iterator[None]:
        """See `stores.interface.Store`. Refuses a tenant that holds the notes of another workspace, which a sync would drop."""
        until = time.monotonic() + wait_seconds
        holder = tenants.name_holder()
        # Before the row names it: no other thread must take it for one that was left behind.
        tenants.held_here.add(holder)
        try:
            while (lease := self._take_lease(holder)) is None:
                if time.monotonic() >= until:
                    raise SyncBusy(f"{self.path}: another process is syncing it", action="try again in a moment")
                time.sleep(_POLL_SECONDS)
            self._lease = lease
            try:
                yield
            finally:
                self._lease = 0
                with contextlib.suppress(Exception), self._write() as cursor:  # it ends by itself
                    tenants.end_lease(cursor, self.names[0], lease)
        finally:
            tenants.held_here.discard(holder)

    def _take_lease(self, holder: str) -> int | None:
        """Return the number of a new lease; None while another sync, or somebody who writes, holds the tenant."""
        with self._write() as cursor:
            tenant = lock_tenant(cursor, self.names[0], wait=False)
            held = tenant or load_tenants(cursor, self.names[:1])[0]
            if self.writable and not held.writable:
                raise self._refuse_role()
            if refusal := self._refuse_other(held):
                raise refusal
            return None if tenant is None else tenants.take_lease(cursor, tenant, holder)

    def _refuse_other(self, tenant: Tenant) -> StoreReadOnly | None:
        """Return the reason why a tenant takes no note of this workspace: it holds those of another one; None if it does not."""
        if tenant.workspace in (None, self.workspace) or not tenant.chunks:
            return None
        reason = f"it holds the notes of {tenant.workspace}, not of {self.workspace}"
        return StoreReadOnly(self.path, reason, action=self.separate)

    def _refuse_role(self) -> StoreReadOnly:
        action = explain_grant(self.role, self.names[0])
        return StoreReadOnly(self.path, "this role may only read the tenant", action=action)

    def prepare(self) -> None:
        """Do nothing: the operator makes the tables."""

    def tidy(self, *, whole: bool) -> Iterator[None]:  # noqa: ARG002
        """Give signs to the vectors of a tenant that has grown large; the server itself gives back space."""
        space_id, self._unsigned = self._unsigned, None
        center: str | None = None
        after: bytes | None = b""
        while space_id is not None and after is not None:
            with self.write() as writer:
                center = center or vectors.find_center(writer.db, writer.own.id, space_id)
                after = None if center is None else vectors.sign(writer.db, writer.own.id, space_id, center, after)
            yield

    def examine(self) -> tuple[str, list[Tenant]]:
        """Return the server's version, and the tenants that this role may read, the agent's own first.

        Raises:
            BackendUnavailable: The server does not answer, or this role may not read the agent's tenant.
        """
        with self._read() as (cursor, several):
            version = tenants.fetch_value(cursor, "SELECT current_setting('server_version')")
            return version, several

    @property
    def is_suspect(self) -> bool:
        """False: the server looks after its files."""
        return False

    def needs_check(self) -> bool:
        """Return False, see `is_suspect`."""
        return False

    def repair(self) -> str | None:
        """Do nothing, see `is_suspect`."""
        return None

    def rest(self) -> None:
        """Close all idle connections, which the next call opens again."""
        self.close()

    def close(self) -> None:
        """Close all connections; may be called twice."""
        self._connections.close()

    @contextlib.contextmanager
    def _read(self) -> Iterator[tuple[Cursor, list[Tenant]]]:
        """Yield a cursor and the tenants, the agent's own first, inside one read transaction.

        Raises:
            BackendUnavailable: The server does not answer, or this role may not read the agent's tenant.
        """
        with self._name_missing(), self._connections.transaction(READ) as cursor:
            self.role = cursor.connection.info.user
            several = load_tenants(cursor, self.names)
            held = {each.name for each in several}
            self.unreadable = [name for name in self.names if name not in held]
            yield cursor, several

    @contextlib.contextmanager
    def _write(self) -> Iterator[Cursor]:
        """Yield a cursor inside one write transaction."""
        if not self.writable:
            raise StoreReadOnly(self.path, "this session may not write the index", action="run: memory-core index")
        with self._name_missing(), self._connections.transaction(WRITE) as cursor:
            self.role = cursor.connection.info.user
            yield cursor

    @contextlib.contextmanager
    def _name_missing(self) -> Iterator[None]:
        """Name the other tenants in an error that keeps their notes from being found."""
        try:
            yield
        except BackendUnavailable as error:
            others = ", ".join(self.names[1:])
            if not others:
                raise
            reason = f"{error.reason}; the notes of {others} are missing meanwhile"
            raise type(error)(NAME, reason, action=error.action) from None
