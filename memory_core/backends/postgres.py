"""The postgres backend: an agent's tenant on a server behind the hooks, and notes of other tenants that it may read.

psycopg is an extra of the distribution: only what has checked for it imports the rooms of the store.
"""

from __future__ import annotations

import time
from dataclasses import replace
from importlib import util

from memory_core.__about__ import explain_install
from memory_core.backends.engine import IndexBackend
from memory_core.errors import BackendUnavailable, MemoryCoreError
from memory_core.hookspecs import BackendContext, BackendPlugin, MemoryBackend, hookimpl
from memory_core.records import Document, Finding, Origin, Query, SearchResult, Status
from memory_core.sources.pages import cut_page
from memory_core.stores.postgres import NAME, PostgresConfig, explain_grant
from memory_core.threads import Clock

ANSWER_SECONDS = 2.5  # of a search besides its statements: for a sync before it, and the question's embedding
FOREIGN = Origin(by="import")
_PREFIX = f"{NAME}/"
_UNREADABLE = "there is none that this role may read"


class PostgresBackend(IndexBackend):
    """Implements `MemoryBackend` on a server. The constructor connects to nothing.

    Args:
        context: Whose memory.
        clock: Unix seconds, by which outages of the provider are measured.
    """

    def __init__(self, context: BackendContext, *, clock: Clock = time.time) -> None:
        from memory_core.stores.postgres.store import PostgresStore

        self._server = PostgresStore(context.config, context.settings, writable=context.access == "rw")
        others = [PostgresBackend(replace(context, config=layer), clock=clock) for layer in context.config.layers]
        super().__init__(NAME, context, self._server, others=others, clock=clock)

    @hookimpl
    def memory_search(self, query: Query) -> SearchResult:
        """Search, and warn of tenants in the settings that this role may not read.

        The record of who wrote a note of another tenant is on that one's machine, so that it counts as an import here.
        """
        result: SearchResult = super().memory_search(query)
        within = self._config.find_layer
        hits = (replace(hit, origin=FOREIGN) if within(hit.path)[1].startswith(_PREFIX) else hit for hit in result.hits)
        result = replace(result, hits=tuple(hits))
        if missing := self._server.unreadable:
            told = filter(None, [result.warning, *(f"tenant {name}: {_UNREADABLE}" for name in missing)])
            action = result.action or explain_grant(self._server.role, *missing, options="")
            hint = result.hint and f"the notes of {', '.join(missing)} could not be searched"
            result = replace(result, warning="; ".join(told), action=action, hint=hint)
        return result

    @hookimpl
    def memory_get(self, path: str, from_line: int, lines: int) -> Document:
        """Return lines of this agent's note as they stand in the file now, of another tenant's as it was indexed."""
        if not path.startswith(_PREFIX):
            return super().memory_get(path, from_line, lines)
        with self._server.read() as reader:
            text = reader.load_text(path)
        if text is None:
            return Document(path=path, text="", from_line=from_line, lines=0, status="not_found")
        return cut_page(path, text, from_line=from_line, lines=lines)

    @hookimpl
    def memory_status(self) -> Status:
        """Report counts and states of the agent's own tenant."""
        status: Status = super().memory_status()
        own, *others = self._server.names
        return replace(status, details={**status.details, "tenant": own, "tenants": ", ".join(others) or None})


def check_driver() -> None:
    """Make sure that psycopg is installed.

    Raises:
        BackendUnavailable: It is not.
    """
    if util.find_spec("psycopg") is None:
        raise BackendUnavailable(NAME, "psycopg is not installed", action=explain_install("postgres"))


def open_backend(context: BackendContext) -> MemoryBackend:
    """Make the backend of one agent; connects to nothing.

    Raises:
        BackendUnavailable: psycopg is not installed.
    """
    check_driver()
    return PostgresBackend(context)


def diagnose(context: BackendContext) -> list[Finding]:
    """Check the driver, the server, the schema, and what this role may do with each tenant; writes nothing."""
    try:
        check_driver()
    except BackendUnavailable as error:
        return [Finding("driver", "fail", error.reason, error.action)]
    from memory_core.stores.postgres.store import PostgresStore

    store = PostgresStore(context.config, context.settings, writable=False)
    try:
        version, tenants = store.examine()
    except MemoryCoreError as error:
        return [Finding("server", "fail", str(error), error.action)]
    finally:
        store.close()
    own = store.names[0]
    found = [Finding("server", "ok", f"PostgreSQL {version} answers")]
    held = tenants[0].workspace if tenants[0].chunks else None
    if held not in (None, store.workspace):
        message = f"{own} holds the notes of {held}, not of {store.workspace}"
        return [*found, Finding("tenant", "fail", message, store.separate)]
    chunks = f"{own}: {tenants[0].chunks} chunks; this role may"
    if tenants[0].writable:
        found.append(Finding("tenant", "ok", f"{chunks} write it"))
    else:
        found.append(Finding("tenant", "warn", f"{chunks} only read it", explain_grant(store.role, own)))
    unreadable = ((f"{name}: {_UNREADABLE}", explain_grant(store.role, name, options="")) for name in store.unreadable)
    return [*found, *(Finding("tenant", "warn", *told) for told in unreadable)]


# Callers need no timeout: every statement has a deadline of its own.
PLUGIN = BackendPlugin(
    open=open_backend,
    settings=lambda: PostgresConfig,
    diagnose=diagnose,
    timeout_seconds=None,
    search_seconds=lambda section: section.statement_seconds + ANSWER_SECONDS,
    sync_timeout_seconds=None,
)
