"""The status of QMD: from files and the index alone, or from a run of QMD."""

from __future__ import annotations

import time

from memory_core.errors import BackendUnavailable, MemoryCoreError, StoreCorrupt
from memory_core.records import Probe, Status
from memory_qmd.client import BACKEND, INDEX
from memory_qmd.context import QmdContext
from memory_qmd.database import NOTHING, Contents
from memory_qmd.indexing import Indexer
from memory_qmd.search import Searcher
from memory_qmd.updates import Updates
from memory_qmd.warm_server import WarmServer


class StatusReader:
    """Reads the status of one agent's QMD."""

    def __init__(
        self, qmd: QmdContext, *, indexer: Indexer, searcher: Searcher, updates: Updates, warm: WarmServer
    ) -> None:
        self._qmd = qmd
        self._indexer = indexer
        self._searcher = searcher
        self._updates = updates
        self._warm = warm

    def read(self) -> Status:
        """Read the status from files and the index, without running QMD.

        Raises:
            BackendUnavailable: QMD is not installed, so that another backend answers.
        """
        self._qmd.client.find_program()
        check, (contents, problem) = self._indexer.check(), self._read_contents()
        state, database = check.state, self._qmd.home.database
        by_meaning = self._qmd.settings.by_meaning
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
            warnings=(*problem, *self._list_warnings()),
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

    def probe(self) -> Probe:
        """Run QMD to list the collections, which opens the database; `--version` works even if nothing else does."""
        began = time.monotonic()
        try:
            self._qmd.client.run(["collection", "list"], timeout_seconds=self._qmd.command_seconds)
            typed_lines = self._qmd.client.takes_typed_lines()
            problems = self._indexer.models.find_problems(self._qmd.settings.search_mode, typed_lines=typed_lines)
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

    def _find_model(self) -> str | None:
        return self._indexer.models.uris["embed"] if self._qmd.settings.by_meaning else None

    def _count_by_source(self, contents: Contents) -> dict[str, int]:
        totals: dict[str, int] = {}
        for item in self._qmd.collections.planned:
            totals[item.source] = totals.get(item.source, 0) + contents.documents.get(item.name, 0)
        return totals

    def _read_contents(self) -> tuple[Contents, list[str]]:
        """Return the size of the index, and why it cannot be read."""
        try:
            return self._indexer.database.read_contents(), []
        except StoreCorrupt:
            return NOTHING, [f"{self._qmd.home.database} is damaged; to rebuild it, {INDEX}"]
        except MemoryCoreError as error:
            return NOTHING, [f"{error}; {error.action}" if error.action else str(error)]

    def _list_warnings(self) -> list[str]:
        """List the models that QMD lacks."""
        if not self._qmd.settings.by_meaning:
            return []
        problems = self._indexer.models.find_problems(self._qmd.settings.search_mode, typed_lines=True)
        return [f"QMD searches for words only: {problem}" for problem in problems]
