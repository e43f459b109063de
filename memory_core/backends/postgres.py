"""The postgres backend: an agent's tenant on a server behind the hooks, and notes of other tenants that it may read.

psycopg is an extra of the distribution: only what has checked for it imports the rooms of the store.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from importlib import util
from typing import TYPE_CHECKING

from memory_core.__about__ import explain_install
from memory_core.backends.engine import IndexBackend
from memory_core.errors import BackendRefused, BackendUnavailable, MemoryCoreError
from memory_core.explanations import Explanation, NotePlace
from memory_core.hookspecs import BackendContext, BackendPlugin, MemoryBackend, hookimpl
from memory_core.records import Document, Finding, Origin, Query, Related, RelatedQuery, SearchResult, Status
from memory_core.sources import files
from memory_core.sources.pages import cut_page
from memory_core.stores.postgres import GRANT, NAME, PostgresConfig, explain_grant
from memory_core.threads import Clock

if TYPE_CHECKING:
    from memory_core.stores.postgres.store import PostgresStore

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
        self._all = (self, *others)
        super().__init__(NAME, context, self._server, others=others, clock=clock)

    @hookimpl
    def memory_search(self, query: Query) -> SearchResult:
        """Search, and warn of tenants in the settings that this role may not read.

        The record of who wrote a note of another tenant is on that one's machine, so that it counts as an import here.
        """
        result: SearchResult = super().memory_search(query)
        self._refuse()
        within = self._config.find_layer
        hits = (replace(hit, origin=FOREIGN) if within(hit.path)[1].startswith(_PREFIX) else hit for hit in result.hits)
        result = replace(result, hits=tuple(hits))
        missing = self._server.unreadable
        if not missing:
            return result
        told = [result.warning, *(f"tenant {name}: {_UNREADABLE}" for name in missing)]
        hint = result.hint and f"the notes of {', '.join(missing)} could not be searched"
        action = result.action or _explain_read(self._server, missing)
        return replace(result, warning="; ".join(filter(None, told)), action=action, hint=hint)

    @hookimpl
    def memory_explain(self, query: Query, place: NotePlace | None) -> Explanation:
        """Explain a search as the backend of an index does."""
        found: Explanation = super().memory_explain(query, place)
        self._refuse()
        return found

    @hookimpl
    def memory_related(self, query: RelatedQuery) -> Related:
        """Tell what is related to a name as the backend of an index does."""
        found: Related = super().memory_related(query)
        self._refuse()
        return found

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
        self._refuse()
        own, *others = self._server.names
        return replace(status, details={**status.details, "tenant": own, "tenants": ", ".join(others) or None})

    def _refuse(self) -> None:
        """Leave to builtin what the last read of the server would answer without the notes of this workspace.

        Raises:
            BackendRefused: A tenant takes no notes of this workspace, or of another layer, and there are some.
        """
        for each in self._all:
            refusal = each._server.refusal
            if refusal is not None and len(files.survey(each._config)):
                with self._server.name_missing():
                    raise BackendRefused(NAME, str(refusal), action=refusal.action) from None


def _explain_read(server: PostgresStore, tenants: Sequence[str]) -> str:
    """Return what an operator does so that this role may read some tenants."""
    return "; ".join(
        [explain_grant(tenants[0], server.role, ""), *(f"{GRANT} {server.role} {each}" for each in tenants[1:])]
    )


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
        return [Finding(subject="driver", level="fail", message=error.reason, action=error.action)]
    from memory_core.stores.postgres.store import PostgresStore

    store = PostgresStore(context.config, context.settings, writable=False)
    try:
        version, tenants = store.examine()
    except MemoryCoreError as error:
        return [Finding(subject="server", level="fail", message=str(error), action=error.action)]
    finally:
        store.close()
    own = store.names[0]
    found = [Finding(subject="server", level="ok", message=f"PostgreSQL {version} answers")]
    held = tenants[0].workspace if tenants[0].chunks else None
    if held not in (None, store.workspace):
        message = f"{own} holds the notes of {held}, not of {store.workspace}"
        return [*found, Finding(subject="tenant", level="fail", message=message, action=store.separate)]
    may = tenants[0].writable
    found.append(
        Finding(
            subject="tenant",
            level="ok" if may else "warn",
            message=f"{own}: {tenants[0].chunks} chunks; this role {'may write it' if may else 'may only read it'}",
            action="" if may else explain_grant(own, store.role),
        )
    )
    found += [
        Finding(subject="tenant", level="warn", message=f"{name}: {_UNREADABLE}", action=_explain_read(store, [name]))
        for name in store.unreadable
    ]
    return found


# Callers need no timeout: every statement has a deadline of its own.
PLUGIN = BackendPlugin(
    open=open_backend,
    settings=lambda: PostgresConfig,
    diagnose=diagnose,
    timeout_seconds=None,
    search_seconds=lambda section: section.statement_seconds + ANSWER_SECONDS,
    sync_timeout_seconds=None,
)
