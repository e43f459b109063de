"""The QMD backend: implements the hooks, and answers searches with hits in the files that QMD names.

It raises BackendUnavailable; the selector decides who answers instead, and when QMD is tried again.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

from memory_core.errors import BackendIndexEmpty, BackendUnavailable, MemoryCoreError, StoreCorrupt
from memory_core.hookspecs import BackendContext, hookimpl
from memory_core.records import (
    NOTHING_INDEXED,
    Document,
    Hit,
    Probe,
    ProgressCallback,
    Query,
    SearchResult,
    Status,
    SyncReport,
)
from memory_core.sources import pages
from memory_qmd.client import INDEX, QmdContext
from memory_qmd.database import NOTHING, Contents, answer_or_nothing
from memory_qmd.hits import HitBuilder
from memory_qmd.home import BACKEND
from memory_qmd.indexing import Indexer
from memory_qmd.queries import Bounds, PreparedQuestion, extract_words, prepare
from memory_qmd.search import QmdAnswer, Searcher
from memory_qmd.updates import Freshness, Updates
from memory_qmd.warm_server import WarmServer

ROWS_PER_HIT = 4  # rows that are requested for each wanted hit: some score below minScore, are gone, or of another date
MIN_ROWS = 20


class QmdBackend:
    """Implements `MemoryBackend` on the QMD command line. Making one starts nothing.

    Args:
        context: Whose memory.
    """

    def __init__(self, context: BackendContext) -> None:
        self._qmd = qmd = QmdContext.of(context)
        self._writable = context.access == "rw"
        self._warm = WarmServer(qmd.client, qmd.settings.search_mode)
        self._indexer = Indexer(qmd, on_rebuild=self._warm.stop)
        self._searcher = Searcher(qmd, self._warm)
        self._hits = HitBuilder(qmd, self._indexer.database)
        self._updates = Updates(qmd, self._indexer, writable=self._writable)

    @hookimpl
    def memory_search(self, query: Query) -> SearchResult:
        """Search with QMD and return hits whose passages are cut from the files as they are now."""
        own = time.monotonic() + self._qmd.settings.limits.timeout_ms / 1000
        deadline = own if query.deadline is None else min(own, query.deadline)
        freshness = self._updates.update_before_search(deadline)
        contents = self._indexer.read_contents()
        if contents is not None and not contents.total:
            return self._answer_without_index(freshness)
        words = extract_words(query.text)
        counts = answer_or_nothing(lambda: self._indexer.database.count_documents(words))
        question = prepare(query.text, words, counts, contents.total if contents else 0)
        limit = max(MIN_ROWS, ROWS_PER_HIT * query.max_results)
        answer = self._search(question, contents, limit, deadline)
        indexed_bytes = contents.size_bytes if contents else 0
        hits = self._hits.build(query, question, answer, indexed_bytes=indexed_bytes)
        warnings = [warning for warning in (freshness.warning, answer.warning) if warning]
        result = self._build_result(hits, answer.mode, stale=freshness.stale, warnings=warnings)
        return replace(result, action=answer.action or None)

    @hookimpl
    def memory_get(self, path: str, from_line: int, lines: int) -> Document:
        """Return lines of a note from the file as it is now; takes paths such as `qmd/<collection>/<path>`, too."""
        return pages.get_document(self._qmd.collections.served_config, path, from_line=from_line, lines=lines)

    @hookimpl
    def memory_sync(self, force: bool, progress: ProgressCallback | None) -> SyncReport:  # noqa: ARG002 - QMD reports none
        """Update QMD's index, and embed what the mode needs, also soon after a failure; `force` rebuilds the database.

        Raises:
            BackendUnavailable: QMD failed, or this session may not write.
            SyncBusy: Another process is updating the index.
            SyncStopped: The backend was closed.
        """
        if not self._writable:
            raise BackendUnavailable(BACKEND, "this session may not write its index", action=INDEX)
        if force:
            self._qmd.client.forget_version()
        return self._indexer.sync(force=force)

    @hookimpl
    def memory_sync_soon(self) -> bool:
        """Update after the debounce if the background runs, else at once in a thread."""
        self._updates.request()
        return True

    @hookimpl
    def memory_status(self) -> Status:
        """Read the status from files and the index, without running QMD.

        Raises:
            BackendUnavailable: QMD is not installed, so that another backend answers.
        """
        self._qmd.client.find_program()
        check, (contents, problem) = self._indexer.check(), self._read_contents()
        state, database = check.state, self._qmd.home.database
        by_meaning = self._qmd.settings.by_meaning
        missing = [
            f"QMD searches for words only: {each.reason}; {each.action}"
            for each in self._qmd.models.find_problems(self._qmd.settings.search_mode, typed_lines=True)
        ]
        vector_reason = None if by_meaning else 'memory.qmd.searchMode is "search"'
        if by_meaning and not (contents.embedded and contents.has_vectors):
            vector_reason = "there are no embeddings yet"
        return Status(
            backend=BACKEND,
            agent=self._qmd.config.agent,
            workspace=self._qmd.config.workspace,
            store=database,
            store_bytes=database.stat().st_size if database.exists() else 0,
            indexed=contents.total > 0,
            files=contents.total,
            chunks=contents.total,
            embeddings=contents.embedded,
            pending=contents.without_embeddings if by_meaning else 0,
            sources=self._count_by_source(contents),
            dirty=check.due,
            provider=BACKEND if by_meaning else "none",
            model=self._find_model(),
            vector="off" if vector_reason else "vec0",
            vector_reason=vector_reason,
            failures=check.listing.failures,
            warnings=(*problem, *missing),
            last_sync=state.updated_at or None,
            details={
                "QMD version": state.version or None,
                "search mode": self._qmd.settings.search_mode,
                "collections": ", ".join(item.name for item in self._qmd.collections.planned),
                "QMD home": str(self._qmd.home.path),
                "warm server": self._warm.describe(),
                "demoted": self._searcher.cooldown.reason,
                "embedding": "running" if self._updates.is_embedding() else None,
                "embed failures": state.embed_failures,
            },
        )

    @hookimpl
    def memory_probe(self) -> Probe:
        """Run QMD to list the collections, which opens the database; `--version` works even if nothing else does."""
        began = time.monotonic()
        try:
            self._qmd.client.run(["collection", "list"], timeout_seconds=self._qmd.client.command_seconds)
            typed_lines = self._qmd.client.takes_typed_lines()
            problems = self._qmd.models.find_problems(self._qmd.settings.search_mode, typed_lines=typed_lines)
            error, action = (problems[0].reason, problems[0].action) if problems else (None, None)
        except BackendUnavailable as failure:
            error, action = failure.reason, failure.action or None
        return Probe(
            ok=error is None,
            provider=BACKEND,
            model=self._find_model(),
            error=error,
            action=action,
            seconds=time.monotonic() - began,
        )

    @hookimpl
    def memory_start(self) -> bool:
        """Update and embed in the background, and allow the warm server."""
        if self._updates.start() and self._qmd.settings.daemon.enabled:
            self._warm.enable()
        return True

    @hookimpl
    def memory_close(self) -> bool:
        """Kill all children and end the threads; return False if one does not end."""
        self._warm.close()
        self._qmd.client.close()
        return self._updates.close()

    def _answer_without_index(self, freshness: Freshness) -> SearchResult:
        """Return no hits if there are no notes; raise BackendIndexEmpty if QMD has yet to index them."""
        if freshness.check is not None and not freshness.check.listing.files and not freshness.stale:
            warnings = [warning for warning in (freshness.warning, NOTHING_INDEXED) if warning]
            return self._build_result([], "keyword", stale=False, warnings=warnings)
        raise BackendIndexEmpty(BACKEND, "its index is empty", action=INDEX)

    def _search(self, question: PreparedQuestion, contents: Contents | None, limit: int, deadline: float) -> QmdAnswer:
        present = [item.name for item in self._qmd.collections.list_present()]
        names = [name for name in present if contents is None or contents.documents.get(name)]
        words = question.words if self._qmd.settings.by_meaning else question.known
        if not names or not words:
            return QmdAnswer(rows=(), scale="words", mode="keyword")
        bounds = Bounds(names=names, limit=limit, deadline=deadline)
        try:
            return self._searcher.search(question, bounds, contents=contents)
        except BackendUnavailable:
            self._qmd.client.forget_version()
            raise

    def _build_result(self, hits: Sequence[Hit], mode: str, *, stale: bool, warnings: Sequence[str]) -> SearchResult:
        by_meaning = mode != "keyword"
        return SearchResult(
            hits=tuple(hits),
            provider=BACKEND if by_meaning else "none",
            model=self._qmd.models.uris["embed"] if by_meaning else None,
            mode="keyword" if not by_meaning else "vector" if mode == "vector" else "hybrid",
            backend=BACKEND,
            stale=stale,
            warning="; ".join(warnings) or None,
        )

    def _find_model(self) -> str | None:
        return self._qmd.models.uris["embed"] if self._qmd.settings.by_meaning else None

    def _count_by_source(self, contents: Contents) -> dict[str, int]:
        totals: dict[str, int] = {}
        for item in self._qmd.collections.planned:
            totals[item.source] = totals.get(item.source, 0) + contents.documents.get(item.name, 0)
        return totals

    def _read_contents(self) -> tuple[Contents, list[str]]:
        """Return the size of the index, and the reason why it cannot be read, if it cannot."""
        try:
            return self._indexer.database.read_contents(), []
        except StoreCorrupt:
            return NOTHING, [f"{self._qmd.home.database} is damaged; to rebuild it, {INDEX}"]
        except MemoryCoreError as error:
            return NOTHING, [f"{error}; {error.action}" if error.action else str(error)]
