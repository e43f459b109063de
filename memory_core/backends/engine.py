"""A backend over an index of its own: a thin hookimpl for each hook, over the answers, the syncs and the status."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memory_core.backends.answering import Answerer
from memory_core.backends.syncing import SyncRunner
from memory_core.embeddings.failover import Providers
from memory_core.embeddings.outage import OutageRecord
from memory_core.errors import MemoryCoreError, ProviderError, StoreReadOnly
from memory_core.explanations import Explanation, NotePlace
from memory_core.hookspecs import BackendContext, hookimpl
from memory_core.records import (
    Document,
    Probe,
    ProgressCallback,
    Query,
    Related,
    RelatedQuery,
    SearchResult,
    Space,
    Status,
    SyncReport,
)
from memory_core.sources import pages
from memory_core.stores.interface import Store
from memory_core.sync.background import BackgroundSync
from memory_core.sync.changes import wants_sync
from memory_core.sync.watcher import Watcher
from memory_core.threads import Clock

if TYPE_CHECKING:
    from memory_core.backends.past import HistoryRecorder, IndexStates

OTHER_PROVIDER = "try again in a while, or choose another provider: memorySearch.provider"
LOCK_SECONDS = 10.0  # that a sync which somebody asked for waits for another process to end its own


class IndexBackend:
    """Implements `MemoryBackend` on one index. The constructor opens nothing.

    Args:
        name: The backend's.
        context: Whose memory.
        store: The index.
        recorder: Is told what syncs have changed; None if nobody records it.
        past: Answers from the notes as they stood; None if this backend cannot.
        file: The index file; None if the index is no file.
        others: The backends of the other layers, one each.
        clock: Unix seconds, by which outages of the provider are measured.
    """

    def __init__(
        self,
        name: str,
        context: BackendContext,
        store: Store,
        *,
        recorder: HistoryRecorder | None = None,
        past: IndexStates | None = None,
        file: Path | None = None,
        others: Sequence[IndexBackend] = (),
        clock: Clock = time.time,
    ) -> None:
        self._name = name
        self._config = config = context.config
        self._keys = context.keys
        self._writable = context.access == "rw"
        self._store = store
        self._kept = [part for part in (past, recorder) if part is not None]
        self._file = file
        record = OutageRecord(self._load_outage, self._save_outage)
        self._providers = Providers(config, record, self._keys, clock=clock)
        self._watcher = Watcher(config)
        self._syncs = SyncRunner(
            config=config, store=store, providers=self._providers, watcher=self._watcher, recorder=recorder,
            standby=context.standby,
        )  # fmt: skip
        debounce_seconds = config.search.sync.watch_debounce_ms / 1000
        self._background = BackgroundSync(self._syncs.run, debounce_seconds=debounce_seconds)
        self._others = others
        self.answerer: Answerer = Answerer(
            name=name, config=config, store=store, providers=self._providers, syncs=self._syncs,
            background=self._background, past=past, others=[each.answerer for each in others],
        )  # fmt: skip

    @hookimpl
    def memory_search(self, query: Query) -> SearchResult:
        """Sync, embed the question, search."""
        return self.answerer.answer(query)

    @hookimpl
    def memory_explain(self, query: Query, place: NotePlace | None) -> Explanation:
        """Search as `memory_search` does, and tell where every passage stood after each stage."""
        from memory_core.search.explaining import Explainer

        explainer = Explainer(query, place)
        return explainer.conclude(self.answerer.answer(query, explainer))

    @hookimpl
    def memory_related(self, query: RelatedQuery) -> Related:
        """Sync, and read from the index what is related to a name."""
        return self.answerer.relate(query)

    @hookimpl
    def memory_get(self, path: str, from_line: int, lines: int) -> Document:
        """Return lines of a note as they stand in the file now."""
        return pages.get_document(self._config, path, from_line=from_line, lines=lines)

    @hookimpl
    def memory_sync(self, force: bool, progress: ProgressCallback | None) -> SyncReport:
        """Index what has changed in the files; `force` rebuilds the index, also a damaged one."""
        if not self._writable:
            raise StoreReadOnly(
                self._store.path, "this session may not write the index", action="run: memory-core index"
            )
        report = self._syncs.run(force=force, progress=progress, wait_seconds=LOCK_SECONDS)
        for each in self._others:
            try:
                report = _add_up(report, each.memory_sync(force, progress))
            except MemoryCoreError as error:
                told = f"the layer {each._config.layer!r} is not synced: {error}"
                report = replace(report, warnings=(*report.warnings, told))
        return report

    @hookimpl
    def memory_status(self) -> Status:
        """Report counts and states of the index."""
        from memory_core.backends.doctor import report_status

        status = report_status(self._name, self._config, self._store, self._file, self._keys)
        layers = {}
        for each in self._others:
            files = each.memory_status().files
            told = f"{files} {'note' if files == 1 else 'notes'} in {each._config.workspace}"
            layers[f"layer {each._config.layer}"] = told
        busy = {"busy": self._syncs.busy} if self._syncs.busy else {}
        return replace(status, details={**status.details, "watching": self._watcher.state, **busy, **layers})

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
        return all(each.memory_sync_soon() for each in self._others)

    @hookimpl
    def memory_session_updated(self, session_key: str) -> bool:
        """Request a sync if the session has grown enough."""
        if self._writable and wants_sync(self._config, self._store, session_key):
            self._background.record_session_change()
        return True

    @hookimpl
    def memory_start(self) -> bool:
        """Start to watch the folders and to count the interval."""
        if self._writable:
            self._watcher.start(self._background)
        return all(each.memory_start() for each in self._others)

    @hookimpl
    def memory_rest(self) -> bool:
        """Let go of the model and of what is kept of the index, of old notes and of the history."""
        self._providers.rest()
        self._store.rest()
        for part in self._kept:
            part.close()  # until it is needed again
        return all(each.memory_rest() for each in self._others)

    @hookimpl
    def memory_close(self) -> bool:
        """Stop a running sync, close providers and connections; return False if a sync does not end."""
        closed = [each.memory_close() for each in self._others]
        self._watcher.close()
        self._background.stop()
        self._providers.close()  # cancels the request that the sync may wait for, so that it ends at once
        if not self._background.close():
            return False  # the connections that the sync uses are left to it
        self._providers.close()  # the sync may have opened one again before it saw that it is to end
        self._store.close()
        for part in self._kept:
            part.close()
        return all(closed)

    def _load_outage(self) -> str | None:
        with self._store.read() as reader:
            return reader.load_state().outage

    def _save_outage(self, record: str | None) -> None:
        with self._store.write() as writer:
            writer.save_state(outage=record)

    def _explain_change(self, space: Space, dimensions: int) -> str | None:
        """Explain that the vectors of the index have other dimensions than those of its model; None if they have not."""
        try:
            with self._store.read() as reader:
                serving = reader.load_serving_space()
        except MemoryCoreError:  # without an index, or with one that status and doctor complain of
            return None
        if serving is None or serving.space.dimensions == dimensions:
            return None
        if replace(serving.space, dimensions=0) != replace(space, dimensions=0):
            return None
        self._syncs.follow_dimensions(serving.space, dimensions)
        return serving.space.explain_change(dimensions)


def _add_up(one: SyncReport, other: SyncReport) -> SyncReport:
    """Return the report of the syncs of two layers: their counts, seconds, failures and warnings added up."""
    values: dict[str, Any] = {}
    for each in fields(SyncReport):
        mine, theirs = getattr(one, each.name), getattr(other, each.name)
        values[each.name] = mine or theirs if isinstance(mine, bool | None) else mine + theirs
    return SyncReport(**values)
