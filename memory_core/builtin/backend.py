"""The builtin backend: a thin hookimpl for each hook, over the answers, the syncs and the status of one index file."""

from __future__ import annotations

import time
from dataclasses import replace

from memory_core.builtin.answering import Answerer
from memory_core.builtin.store.outage_log import StoredOutage
from memory_core.builtin.store.store import Store
from memory_core.builtin.store.vectors import VectorIndex
from memory_core.builtin.store.writer import StoreWriter
from memory_core.builtin.syncing import SyncRunner
from memory_core.concurrency.backoff import Clock
from memory_core.config.agent import AgentConfig
from memory_core.embeddings.failover import Providers
from memory_core.embeddings.protocols import Space
from memory_core.errors import MemoryCoreError, ProviderError, StoreReadOnly
from memory_core.hookspecs import BackendContext, BackendPlugin, hookimpl
from memory_core.records import Document, Finding, Probe, ProgressCallback, Query, SearchResult, Status, SyncReport
from memory_core.sync.background import BackgroundSync
from memory_core.sync.triggers import SyncTriggers, wants_sync

OTHER_PROVIDER = "try again in a while, or choose another provider: memorySearch.provider"
LOCK_SECONDS = 10.0  # that a sync which somebody asked for waits for another process to end its own


class BuiltinBackend:
    """Implements `MemoryBackend` on one SQLite file. The constructor opens nothing.

    Args:
        context: Whose memory.
        clock: Unix seconds, by which outages of the provider are measured.
    """

    def __init__(self, context: BackendContext, *, clock: Clock = time.time) -> None:
        self._config = config = context.config
        self._keys = context.keys
        self._writable = context.access == "rw"
        self._store = Store(
            config.store_path,
            writable=self._writable,
            vectors=VectorIndex(config.search.store.vector),
            in_own_folder=_has_own_folder(config),
        )
        self._writer = StoreWriter(self._store)
        self._providers = Providers(config, StoredOutage(self._store), self._keys, clock=clock)
        self._syncs = SyncRunner(config, self._store, self._writer, self._providers, standby=context.standby)
        debounce_seconds = config.search.sync.watch_debounce_ms / 1000
        self._background = BackgroundSync(self._syncs.run, debounce_seconds=debounce_seconds)
        self._triggers = SyncTriggers(config, self._background)
        self._answerer = Answerer(config, self._store, self._providers, self._syncs, self._background)

    @hookimpl
    def memory_search(self, query: Query) -> SearchResult:
        """Sync, embed the question, search."""
        return self._answerer.answer(query)

    @hookimpl
    def memory_get(self, path: str, from_line: int, lines: int) -> Document:
        """Return lines of a note as they stand in the file now."""
        from memory_core.sources import pages

        return pages.get_document(self._config, path, from_line=from_line, lines=lines)

    @hookimpl
    def memory_sync(self, force: bool, progress: ProgressCallback | None) -> SyncReport:
        """Index what has changed in the files; `force` rebuilds the index, also a damaged one."""
        if not self._writable:
            raise StoreReadOnly(
                self._store.path, "this session may not write the index", action="run: memory-core index"
            )
        return self._syncs.run(force=force, progress=progress, wait_seconds=LOCK_SECONDS)

    @hookimpl
    def memory_status(self) -> Status:
        """Report counts and states from the index file."""
        from memory_core.builtin.status import report_status

        status = report_status(self._config, self._store, self._keys, writable=self._writable)
        return replace(status, details={**status.details, "watching": self._triggers.state})

    @hookimpl
    def memory_probe(self) -> Probe:
        """Embed one word."""
        started = time.monotonic()
        try:
            provider = self._providers.open_configured()
            if provider is None:
                return Probe(ok=True, provider="none", seconds=0.0)
            vector = provider.embed_query("memory", timeout_seconds=self._config.search.remote.timeout_seconds)
        except ProviderError as error:
            return Probe(
                ok=False, provider=self._providers.choice.provider, model=self._providers.choice.model, error=str(error),
                action=error.action or OTHER_PROVIDER, seconds=time.monotonic() - started,
            )  # fmt: skip
        self._providers.outages.record_success()
        warning = self._explain_change(provider.space, len(vector))
        return Probe(
            ok=True, provider=provider.space.provider, model=provider.space.model, dimensions=len(vector),
            warning=warning, action="run: memory-core index" if warning else None, seconds=time.monotonic() - started,
        )  # fmt: skip

    @hookimpl
    def memory_sync_soon(self) -> bool:
        """Request a sync for a session that begins."""
        if self._writable:
            self._syncs.begin_session()
            self._background.request()
        return True

    @hookimpl
    def memory_session_updated(self, session_key: str) -> bool:
        """Request a sync if the session has grown enough."""
        if self._writable and wants_sync(self._config, self._writer, session_key):
            self._background.record_session_change()
        return True

    @hookimpl
    def memory_start(self) -> bool:
        """Start to watch the folders and to count the interval."""
        if self._writable:
            self._triggers.start()
        return True

    @hookimpl
    def memory_close(self) -> bool:
        """Stop a running sync, close providers and connections; return False if the sync does not end."""
        self._triggers.close()
        self._background.stop()
        self._syncs.close()
        self._providers.close()  # cancels the request that the sync may wait for, so that it ends at once
        if not self._background.close():
            return False  # the connections that the sync uses are left to it
        self._store.close()
        return True

    def _explain_change(self, space: Space, dimensions: int) -> str | None:
        """Explain that the vectors of the index have other dimensions than those of its model; None if they have not."""
        try:
            with self._store.reading() as reader:
                serving = reader.load_serving_space()
        except MemoryCoreError:  # without an index, or with one that status and doctor complain of
            return None
        if serving is None or serving.space.dimensions == dimensions:
            return None
        if replace(serving.space, dimensions=0) != replace(space, dimensions=0):
            return None
        self._syncs.follow_dimensions(serving.space, dimensions)
        return serving.space.explain_change(dimensions)


def _has_own_folder(config: AgentConfig) -> bool:
    """Return True if the index is at its default path: in a folder of ours, under a name of ours."""
    return config.search.store.path is None and config.store_path.parent == config.state_dir / "memory-core"


def diagnose(context: BackendContext) -> list[Finding]:
    """Check all that an answer needs; opens the provider, writes nothing."""
    from memory_core.builtin import doctor

    backend = BuiltinBackend(context)
    try:
        return list(doctor.examine(context.config, backend.memory_probe()))
    finally:
        backend.memory_close()


PLUGIN = BackendPlugin(open=BuiltinBackend, diagnose=diagnose, timeout_seconds=None)
