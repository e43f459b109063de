"""The QMD backend: brings the index level, asks, and makes hits of what QMD names.

It raises BackendUnavailable; who answers instead, and when QMD is tried again, is the selector's business.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from concurrent.futures import TimeoutError as NotDone
from dataclasses import dataclass, field, replace

from memory_core import reading
from memory_core.errors import BackendIndexEmpty, BackendUnavailable, MemoryCoreError, SyncBusy
from memory_core.hookspecs import BackendContext, ProgressCallback, hookimpl
from memory_core.records import Document, Hit, Probe, Query, SearchResult, Status, SyncReport
from memory_qmd.asking import Answer, Asker
from memory_qmd.client import BACKEND, Client
from memory_qmd.collections import Collections
from memory_qmd.config import QmdConfig, seconds
from memory_qmd.daemon import WarmServer
from memory_qmd.database import Contents
from memory_qmd.harvest import Harvest
from memory_qmd.home import QmdHome
from memory_qmd.questions import Question, prepare, words_of
from memory_qmd.schedule import Job, Schedule
from memory_qmd.upkeep import Look, Upkeep

log = logging.getLogger(__name__)

EMPTY = "No memories indexed yet"
ROWS_PER_HIT = 4  # rows asked for a hit that is wanted: some are below minScore, gone, or outside the dates
MIN_ROWS = 20
UPDATE_SHARE = 0.5  # of the time for a search: the most that it waits for an update
COSTLY_LOOK_SECONDS, LOOK_GOOD_FOR = 0.05, 20  # so that at most a twentieth of the time is spent looking
CLOSE_SECONDS = 5.0


@dataclass(slots=True)
class _Notes:
    """What was worse than usual while one question was answered."""

    warnings: list[str] = field(default_factory=list)
    stale: bool = False


class QmdBackend:
    """Implements `MemoryBackend` on the QMD command line. Making one starts nothing."""

    def __init__(self, context: BackendContext) -> None:
        config = context.config
        settings = context.settings if isinstance(context.settings, QmdConfig) else QmdConfig()
        home = QmdHome.of(config)
        self._config = config
        self._settings = settings
        self._home = home
        self._writable = context.access == "rw"
        self._client = Client(settings.command, home, probe_timeout_seconds=settings.update.command_timeout_ms / 1000)
        self._collections = Collections(config, settings, home)
        self._warm = WarmServer(self._client, settings.search_mode)
        self._upkeep = Upkeep(
            config, settings, client=self._client, collections=self._collections, on_rebuild=self._warm.stop
        )
        self._asker = Asker(self._client, self._upkeep.models, settings.search_mode, self._warm)
        self._harvest = Harvest(config, settings, self._collections, self._upkeep.database)
        self._updating = Job("memory-qmd-update", self._update)
        self._embedding = Job("memory-qmd-embed", lambda: self._upkeep.embed(download=True))
        self._schedule = Schedule()
        self._looked: tuple[float, Look] | None = None
        self._started = False

    @hookimpl
    def memory_search(self, query: Query) -> SearchResult:
        """Hits from QMD, their passages cut from the files as they are now."""
        limits = self._settings.limits
        own = time.monotonic() + limits.timeout_ms / 1000
        deadline = own if query.deadline is None else min(own, query.deadline)
        notes = _Notes()
        look = self._level(deadline, notes)
        contents = self._upkeep.contents()
        if contents is not None and not contents.total:
            return self._without_index(look, notes)
        names = self._names(contents)
        words = words_of(query.text)
        question = prepare(query.text, words, self._frequencies(words), contents.total if contents else 0)
        limit = max(MIN_ROWS, ROWS_PER_HIT * query.max_results)
        answer = self._ask(question, names, contents, limit, deadline)
        if answer.warning:
            notes.warnings.append(answer.warning)
        size_bytes = contents.size_bytes if contents else 0
        hits = self._harvest.hits(query, question, answer, indexed_bytes=size_bytes)
        return self._result(hits, answer.mode, notes)

    @hookimpl
    def memory_get(self, path: str, from_line: int, lines: int) -> Document:
        """Lines of a note as they stand in the file now, `qmd/<collection>/<path>` included."""
        return reading.get(self._collections.served, path, from_line=from_line, lines=lines)

    @hookimpl
    def memory_sync(self, force: bool, progress: ProgressCallback | None) -> SyncReport:  # noqa: ARG002 - QMD tells no progress
        """Update QMD's index, and embed when the mode asks for it; `force` rebuilds the database."""
        if not self._writable:
            raise BackendUnavailable(BACKEND, "this session may not write its index", action="run: memory-core index")
        if force:
            self._client.forget_version()
        report = self._upkeep.update(force=force)
        if not self._upkeep.embed_due():
            return report
        problem = self._upkeep.embed(download=False)
        contents = self._upkeep.contents()
        owed = report.owed if contents is None else max(contents.total - contents.vectors, 0)
        warnings = report.warnings if problem is None else (*report.warnings, problem)
        return replace(report, owed=owed, embedded=max(report.owed - owed, 0), warnings=warnings)

    @hookimpl
    def memory_sync_soon(self) -> bool:
        """Update behind the debounce where the background runs, else at once, in a thread."""
        if self._started:
            self._schedule.soon("update", delay_seconds=self._settings.update.debounce_ms / 1000)
        elif self._writable:
            self._updating.begin()
        return True

    @hookimpl
    def memory_status(self) -> Status:
        """From files and the index alone; QMD is not run."""
        look, contents = self._upkeep.look(), self._upkeep.contents()
        state, database = look.state, self._home.database
        by_meaning = self._settings.search_mode != "search"
        return Status(
            backend=BACKEND,
            agent=self._config.agent,
            workspace=self._config.workspace,
            store=database,
            store_bytes=database.stat().st_size if database.exists() else 0,
            indexed=contents is not None and contents.total > 0,
            files=contents.total if contents else 0,
            chunks=contents.total if contents else 0,
            embeddings=contents.vectors if contents else 0,
            owed=max(contents.total - contents.vectors, 0) if contents and by_meaning else 0,
            sources=self._by_source(contents),
            dirty=look.due,
            provider=BACKEND if by_meaning else "none",
            model=self._upkeep.models.uris["embed"] if by_meaning else None,
            vector="vec0" if by_meaning and contents and contents.vectors else "off",
            vector_reason=None if by_meaning else 'memory.qmd.searchMode is "search"',
            failures=look.listing.failures,
            warnings=tuple(self._warnings()),
            last_sync=state.updated_at or None,
            details={
                "QMD version": state.version or None,
                "search mode": self._settings.search_mode,
                "collections": ", ".join(item.name for item in self._collections.planned),
                "QMD home": str(self._home.path),
                "warm server": self._warm.state(),
                "demoted": self._asker.demotion.reason(),
                "embedding": "running" if self._embedding.running() else None,
                "embed failures": state.embed_failures,
            },
        )

    @hookimpl
    def memory_probe(self) -> Probe:
        """Run QMD: list the collections, which opens the database; `--version` works where nothing else does."""
        began = time.monotonic()
        timeout = self._settings.update.command_timeout_ms / 1000
        model = self._upkeep.models.uris["embed"] if self._settings.search_mode != "search" else None
        try:
            self._client.run(["collection", "list"], timeout_seconds=timeout)
            problems = self._upkeep.models.problems(self._settings.search_mode, typed=self._client.typed())
            error, action = (problems[0] if problems else None), None
        except BackendUnavailable as failure:
            error, action = failure.reason, failure.action
        return Probe(
            ok=error is None,
            provider=BACKEND,
            model=model,
            error=error,
            action=action,
            seconds=time.monotonic() - began,
        )

    @hookimpl
    def memory_start(self) -> bool:
        """Update on boot and on the interval, embed behind it, allow the warm server."""
        if self._started or not self._writable:
            return True
        self._started = True
        update = self._settings.update
        self._schedule.add(
            "update", self._update_quietly, interval_seconds=seconds(update.interval), at_once=update.on_boot
        )
        self._schedule.add("embed", self._embed_if_due, interval_seconds=seconds(update.embed_interval), at_once=False)
        if self._settings.daemon.enabled:
            self._warm.enable()
        self._schedule.start()
        return True

    @hookimpl
    def memory_close(self) -> bool:
        """Kill what runs, end the threads."""
        self._warm.close()
        self._client.close()
        self._schedule.close(timeout_seconds=CLOSE_SECONDS)
        return True

    def _level(self, deadline: float, notes: _Notes) -> Look | None:
        """Bring the index level before a search, in a share of its time; the rest goes on in the background."""
        if not self._writable:
            return None
        look = self._look()
        first = look.rebuild or not self._home.database.exists()
        if not look.due or not (first or self._config.search.sync.on_search):
            return look
        update = self._settings.update
        pause = update.debounce_ms / 1000 - (time.time() - look.state.updated_at)
        if not first and pause > 0:
            notes.stale = True
            self._schedule.soon("update", delay_seconds=pause)
            return look
        wait = UPDATE_SHARE * (deadline - time.monotonic())
        if not first:
            wait = min(wait, self._config.search.sync.on_search_budget_ms / 1000)
        self._wait_for_update(wait, notes, needed=first)
        return look

    def _look(self) -> Look:
        """A look at files and index; where that takes long, because there are many, one is good for a while."""
        known = self._looked
        if known is not None and time.monotonic() < known[0]:
            return known[1]
        began = time.monotonic()
        look = self._upkeep.look()
        ended = time.monotonic()
        costly = ended - began > COSTLY_LOOK_SECONDS and not look.due
        self._looked = (ended + LOOK_GOOD_FOR * (ended - began), look) if costly else None
        return look

    def _wait_for_update(self, wait_seconds: float, notes: _Notes, *, needed: bool) -> None:
        run = self._updating.begin()
        try:
            run.result(max(0.0, wait_seconds))
        except NotDone:
            notes.stale = True
        except BackendUnavailable as error:
            if needed:
                raise
            notes.stale = True
            notes.warnings.append(f"QMD's index is not level with the notes: {error}")
        except MemoryCoreError as error:
            notes.stale = True
            log.info("update of QMD's index put off: %s", error)

    def _without_index(self, look: Look | None, notes: _Notes) -> SearchResult:
        """There are no documents: no notes either, or QMD has yet to index them."""
        if look is not None and not look.listing.files and not notes.stale:
            notes.warnings.append(EMPTY)
            return self._result([], "keyword", notes)
        raise BackendIndexEmpty(BACKEND, "its index is empty", action="run: memory-core index")

    def _names(self, contents: Contents | None) -> list[str]:
        """The collections to search: those in QMD's configuration, without empty ones."""
        present = [item.name for item in self._collections.present()]
        return [name for name in present if contents is None or contents.documents.get(name)]

    def _frequencies(self, words: Sequence[str]) -> dict[str, int]:
        try:
            return self._upkeep.database.frequencies(words)
        except MemoryCoreError:
            return {}

    def _ask(
        self, question: Question, names: Sequence[str], contents: Contents | None, limit: int, deadline: float
    ) -> Answer:
        asked = question.known if self._settings.search_mode == "search" else question.words
        if not names or not asked:
            return Answer(rows=(), scale="words", mode="keyword")
        try:
            return self._asker.ask(question, names, contents=contents, limit=limit, deadline=deadline)
        except BackendUnavailable:
            self._client.forget_version()
            raise

    def _result(self, hits: Sequence[Hit], mode: str, notes: _Notes) -> SearchResult:
        by_meaning = mode != "keyword"
        return SearchResult(
            hits=tuple(hits),
            provider=BACKEND if by_meaning else "none",
            model=self._upkeep.models.uris["embed"] if by_meaning else None,
            mode="keyword" if not by_meaning else "vector" if mode == "vector" else "hybrid",
            backend=BACKEND,
            stale=notes.stale,
            warning="; ".join(notes.warnings) or None,
        )

    def _update(self) -> SyncReport:
        report = self._upkeep.update()
        if self._started and self._upkeep.embed_due():
            self._embedding.begin()
        return report

    def _update_quietly(self) -> None:
        try:
            self._updating.begin().result()
        except SyncBusy as error:
            log.debug("%s", error)
        except MemoryCoreError as error:
            log.warning("%s", error)

    def _embed_if_due(self) -> None:
        if self._upkeep.embed_due():
            self._embedding.begin()

    def _by_source(self, contents: Contents | None) -> dict[str, int]:
        totals: dict[str, int] = {}
        for item in self._collections.planned:
            count = contents.documents.get(item.name, 0) if contents else 0
            totals[item.source] = totals.get(item.source, 0) + count
        return totals

    def _warnings(self) -> list[str]:
        """What can be told without running QMD: that there is none, or that it lacks a model."""
        try:
            self._client.program()
        except BackendUnavailable as error:
            return [f"{error.reason}, so builtin answers; {error.action}"]
        if self._settings.search_mode == "search":
            return []
        problems = self._upkeep.models.problems("vsearch", typed=True)
        return [f"{problem}; QMD searches for words only" for problem in problems]
