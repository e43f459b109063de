"""The postgres backend: an agent's tenant on a server behind the hooks, and notes of other tenants that it may read."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from memory_core.backends.engine import IndexBackend
from memory_core.hookspecs import BackendContext, hookimpl
from memory_core.records import Document, Status
from memory_core.stores.postgres.settings import NAME
from memory_core.stores.postgres.store import PostgresStore, summarise
from memory_core.stores.postgres.writer import PostgresWriter, TenantOutage
from memory_core.threads import Clock

if TYPE_CHECKING:
    from memory_core.stores.values import IndexSummary

_PREFIX = f"{NAME}/"


class PostgresBackend(IndexBackend):
    """Implements `MemoryBackend` on a server. The constructor connects to nothing.

    Args:
        context: Whose memory.
        clock: Unix seconds, by which outages of the provider are measured.
    """

    def __init__(self, context: BackendContext, *, clock: Clock = time.time) -> None:
        self._server = store = PostgresStore(context.config, context.settings, writable=context.access == "rw")
        writer = PostgresWriter(store, os.path.realpath(context.config.workspace))

        def summarise_tenant() -> IndexSummary:
            return summarise(store)

        super().__init__(NAME, context, store, writer, TenantOutage(writer), summarise=summarise_tenant, clock=clock)

    @hookimpl
    def memory_get(self, path: str, from_line: int, lines: int) -> Document:
        """Return lines of this agent's note as they stand in the file now, of another tenant's as it was indexed."""
        if not path.startswith(_PREFIX):
            return super().memory_get(path, from_line, lines)
        from memory_core.sources.pages import cut_page

        with self._server.reading() as reader:
            text = reader.load_text(path)
        if text is None:
            return Document(path=path, text="", from_line=from_line, lines=0, status="not_found")
        return cut_page(path, text, from_line=from_line, lines=lines)

    @hookimpl
    def memory_status(self) -> Status:
        """Report counts and states of the agent's own tenant."""
        status: Status = super().memory_status()
        names = self._server.settings.list_tenants(self._config.agent)
        return replace(status, details={**status.details, "tenant": names[0], "tenants": ", ".join(names[1:]) or None})
