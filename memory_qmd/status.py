"""The status of QMD: from files and the index alone, or from a run of QMD."""

from __future__ import annotations

import time

from memory_core.config.agent import AgentConfig
from memory_core.errors import BackendUnavailable, MemoryCoreError, StoreCorrupt
from memory_core.records import Probe, Status
from memory_qmd.client import BACKEND, INDEX, QmdClient
from memory_qmd.collections import Collections
from memory_qmd.config import QmdConfig
from memory_qmd.database import NOTHING, Contents
from memory_qmd.home import QmdHome
from memory_qmd.indexing import Indexer
from memory_qmd.search import Searcher
from memory_qmd.updates import Updates
from memory_qmd.warm_server import WarmServer


class StatusReader:
    """Reads the status of one agent's QMD."""

    def __init__(
        self,
        config: AgentConfig,
        settings: QmdConfig,
        *,
        client: QmdClient,
        collections: Collections,
        indexer: Indexer,
        searcher: Searcher,
        updates: Updates,
        warm: WarmServer,
    ) -> None:
        self._config = config
        self._settings = settings
        self._home = QmdHome.of(config)
        self._client = client
        self._collections = collections
        self._indexer = indexer
        self._searcher = searcher
        self._updates = updates
        self._warm = warm

    def read(self) -> Status:
        """Read the status from files and the index, without running QMD.

        Raises:
            BackendUnavailable: QMD is not installed, so that another backend answers.
        """
        self._client.find_program()
        check, (contents, problem) = self._indexer.check(), self._read_contents()
        state, database = check.state, self._home.database
        by_meaning = self._settings.by_meaning
        vector_reason = None if by_meaning else 'memory.qmd.searchMode is "search"'
        if by_meaning and not (contents.embedded and contents.has_vectors):
            vector_reason = "there are no embeddings yet"
        return Status(
            backend=BACKEND,
            agent=self._config.agent,
            workspace=self._config.workspace,
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
                "search mode": self._settings.search_mode,
                "collections": ", ".join(item.name for item in self._collections.planned),
                "QMD home": str(self._home.path),
                "warm server": self._warm.describe(),
                "demoted": self._searcher.cooldown.reason,
                "embedding": "running" if self._updates.is_embedding() else None,
                "embed failures": state.embed_failures,
            },
        )

    def probe(self) -> Probe:
        """Run QMD to list the collections, which opens the database; `--version` works even if nothing else does."""
        began = time.monotonic()
        timeout = self._settings.update.command_timeout_ms / 1000
        try:
            self._client.run(["collection", "list"], timeout_seconds=timeout)
            typed_lines = self._client.takes_typed_lines()
            problems = self._indexer.models.find_problems(self._settings.search_mode, typed_lines=typed_lines)
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
        return self._indexer.models.uris["embed"] if self._settings.by_meaning else None

    def _count_by_source(self, contents: Contents) -> dict[str, int]:
        totals: dict[str, int] = {}
        for item in self._collections.planned:
            totals[item.source] = totals.get(item.source, 0) + contents.documents.get(item.name, 0)
        return totals

    def _read_contents(self) -> tuple[Contents, list[str]]:
        """Return the size of the index, and why it cannot be read."""
        try:
            return self._indexer.database.read_contents(), []
        except StoreCorrupt:
            return NOTHING, [f"{self._home.database} is damaged; to rebuild it, {INDEX}"]
        except MemoryCoreError as error:
            return NOTHING, [f"{error}; {error.action}" if error.action else str(error)]

    def _list_warnings(self) -> list[str]:
        """List the models that QMD lacks."""
        if not self._settings.by_meaning:
            return []
        problems = self._indexer.models.find_problems(self._settings.search_mode, typed_lines=True)
        return [f"QMD searches for words only: {problem}" for problem in problems]
