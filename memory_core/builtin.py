"""The builtin backend: the index file of one agent, brought level before it is searched."""

from __future__ import annotations

import logging
import threading
import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from memory_core.calibration import DEFAULT
from memory_core.errors import (
    MemoryCoreError,
    NotIndexed,
    ProviderError,
    StoreFull,
    StoreReadOnly,
    SyncBusy,
    SyncStopped,
)
from memory_core.hookspecs import (
    BackendContext,
    BackendPlugin,
    Calibrated,
    Calibration,
    EmbeddingProvider,
    ProgressCallback,
    Space,
    TokenModel,
    hookimpl,
)
from memory_core.keeper import Keeper
from memory_core.outage import Clock
from memory_core.providers import Acting, Providers
from memory_core.records import Document, Fallback, Finding, Hit, Mode, Probe, Query, SearchResult, Status, SyncReport
from memory_core.store import Store
from memory_core.store.spaces import calibration, serving_space
from memory_core.store.vectors import VectorIndex
from memory_core.terms import question_parts
from memory_core.watching import Watching

if TYPE_CHECKING:
    from memory_core.search import Vectors
    from memory_core.store.connection import Connection
    from memory_core.work import Tally

log = logging.getLogger(__name__)

EMBED_PAUSE_SECONDS = 30.0  # before owed embeddings are asked for again in the background, not to wait at every search
MIN_EMBED_SECONDS = 0.1  # for a question, however late it is: enough for a model in this process or on this machine
FREE = "static"  # the provider that sends nothing anywhere and takes a millisecond a note
EMPTY = "No memories indexed yet"


@dataclass(slots=True)
class _Notes:
    """What was worse than usual while one question was answered."""

    begun: float  # by the monotonic clock
    warnings: list[str] = field(default_factory=list)
    stale: bool = False
    unfinished: bool = False  # a sync goes on in the background
    action: str = ""
    problem: MemoryCoreError | None = None
    fallback: Fallback | None = None

    def add(self, sentence: str, action: str = "") -> None:
        self.warnings.append(sentence)
        self.action = self.action or action

    def degraded(self, error: ProviderError, reason: str = "") -> None:
        """Keywords answer, because of an error, whose reason the sync may have told already."""
        told = any((reason or str(error)) in warning for warning in self.warnings)
        self.add("keyword search only" if told else f"keyword search only: {error}", error.action)


class BuiltinBackend:
    """Implements `MemoryBackend` on one SQLite file. Making one opens nothing.

    Args:
        context: Whose memory.
        clock: Unix seconds, by which outages of the provider are measured.
    """

    def __init__(self, context: BackendContext, *, clock: Clock = time.time) -> None:
        self._config = context.config
        self._resolve_api_key = context.resolve_api_key
        self._writable = context.access == "rw"
        self._standby = context.standby
        self._store = Store(context.config.store_path, writable=self._writable)
        self._index = VectorIndex(context.config.search.store.vector)
        self._providers = Providers(self._config, self._store, self._resolve_api_key, clock=clock)
        self._embed_again_at: dict[str, float] = {}  # by the provider's role
        self._reconciled = (
            False  # whether session logs were compared with the index since this process or a session began
        )
        self._sync_lock = threading.Lock()
        self._keeper = Keeper(self._sync, debounce_seconds=context.config.search.sync.watch_debounce_ms / 1000)
        self._watching = Watching(context.config, self._keeper)

    @hookimpl
    def memory_search(self, query: Query) -> SearchResult:
        """Bring level, embed the question, search; a provider that fails leaves keyword search."""
        notes = _Notes(begun=time.monotonic())
        self._level_before_search(query, notes)
        try:
            return self._search(query, notes)
        except NotIndexed:
            if notes.problem is not None:
                raise notes.problem from None  # says why there is no index
            if not self._writable:
                raise
            notes.add(EMPTY)
            return self._answer((), "keyword", None, notes)

    @hookimpl
    def memory_get(self, path: str, from_line: int, lines: int) -> Document:
        """Lines of a note as they stand in the file now."""
        from memory_core import reading

        return reading.get(self._config, path, from_line=from_line, lines=lines)

    @hookimpl
    def memory_sync(self, force: bool, progress: ProgressCallback | None) -> SyncReport:
        """Bring the index level with the files now; `force` also rebuilds a damaged one."""
        if not self._writable:
            raise StoreReadOnly(
                self._store.path, "this session may not write the index", action="run: memory-core index"
            )
        return self._sync(force=force, progress=progress, wait_seconds=10.0)

    @hookimpl
    def memory_status(self) -> Status:
        """Counts and states from the index file; opens no model and asks no network."""
        from memory_core import reporting

        status = reporting.status(
            self._config, self._store, self._index, self._resolve_api_key, writable=self._writable
        )
        return replace(status, details={**status.details, "watching": self._watching.state})

    @hookimpl
    def memory_probe(self) -> Probe:
        """Embed one word."""
        started = time.monotonic()
        try:
            provider = self._providers.configured()
            if provider is None:
                return Probe(ok=True, provider="none", seconds=0.0)
            vector = provider.embed_query("memory", timeout_seconds=self._config.search.remote.timeout_seconds)
        except ProviderError as error:
            return Probe(
                ok=False, provider=self._providers.choice.provider, model=self._config.search.model, error=str(error),
                action=error.action or None, seconds=time.monotonic() - started,
            )  # fmt: skip
        self._providers.outages.answered()
        return Probe(
            ok=True, provider=provider.space.provider, model=provider.space.model, dimensions=len(vector),
            seconds=time.monotonic() - started,
        )  # fmt: skip

    @hookimpl
    def memory_sync_soon(self) -> bool:
        """Ask the keeper for a sync, in which sessions count however little they have grown: another one begins."""
        if self._writable:
            self._reconciled = False
            self._keeper.now()
        return True

    @hookimpl
    def memory_session_updated(self, session_key: str) -> bool:
        """Ask the keeper for a sync if the session has grown enough."""
        from memory_core import sessions

        if self._writable and sessions.wants_sync(self._config, self._store, session_key):
            self._keeper.session_changed()
        return True

    @hookimpl
    def memory_start(self) -> bool:
        """Begin to watch the folders and to count the interval."""
        if self._writable:
            self._watching.start()
        return True

    @hookimpl
    def memory_close(self) -> bool:
        """Stop a running sync, close providers and connections."""
        self._watching.close()
        self._keeper.stop()
        self._providers.close()  # cancels the request that the sync may wait for, so that it ends at once
        self._keeper.close()
        self._store.close()
        return True

    # Keeping level.

    def _level_before_search(self, query: Query, notes: _Notes) -> None:
        """Wait for a sync as long as the search may; note what stood in its way."""
        if not (self._writable and self._config.search.sync.on_search):
            return
        ticket = self._keeper.now()
        try:
            report = ticket.wait(self._sync_budget_seconds(query))
        except SyncStopped:  # closed meanwhile, as when the configuration has changed: what is there still answers
            notes.stale = True
            return
        except (SyncBusy, StoreReadOnly, StoreFull) as error:
            log.warning("searching without a sync: %s", error)
            notes.stale, notes.problem = True, error
            notes.add(f"the index is not level with the notes: {error}", error.action)
            return
        if report is None:
            notes.stale = notes.unfinished = True
            return
        for warning in report.warnings:
            notes.add(warning)

    def _sync_budget_seconds(self, query: Query) -> float:
        """How long a search may wait: the configured budget, but never past half of what its caller will."""
        budget = self._config.search.sync.on_search_budget_ms / 1000
        if query.deadline is not None:
            budget = min(budget, max(query.deadline - time.monotonic(), 0.0) / 2)
        return budget

    def _sync(
        self,
        stop: threading.Event | None = None,
        *,
        force: bool = False,
        progress: ProgressCallback | None = None,
        wait_seconds: float = 0.0,
    ) -> SyncReport:
        from memory_core.sync import Syncer, sync_lock
        from memory_core.work import Work

        every_session = stop is None or not self._reconciled
        with self._sync_lock, sync_lock(self._store, wait_seconds=wait_seconds):
            if force:
                self._store.reset_damaged()
            acting = self._providers.for_sync(at_once=stop is None)
            embeds = self._may_embed(acting, asked=stop is None)
            work = Work(
                config=self._config,
                store=self._store,
                index=self._index,
                provider=acting.provider,
                problem=acting.problem,
                progress=progress,
                stop=stop,
                every_session=every_session,
                embeds=embeds,
            )
            self._reconciled |= every_session  # before it runs: a session that begins meanwhile takes it back
            try:
                report = Syncer(work).run(force=force)
            except BaseException:
                self._reconciled &= not every_session
                raise
            self._hear(acting, work.tally)
        if embeds and report.owed:
            self._embed_again_at[acting.role] = time.monotonic() + EMBED_PAUSE_SECONDS
        return replace(report, warnings=(*report.warnings, acting.warning)) if acting.warning else report

    def _may_embed(self, acting: Acting, *, asked: bool) -> bool:
        """Whether a sync may ask for embeddings now; one that was asked for may at any time."""
        due = time.monotonic() >= self._embed_again_at.get(acting.role, 0.0)
        return not self._spares and (asked or (due and self._providers.may_send(acting)))

    @property
    def _spares(self) -> bool:
        """While another backend serves, only a model that is here and costs nothing embeds; keywords are kept level."""
        return self._standby and self._providers.choice.provider != FREE

    def _hear(self, acting: Acting, tally: Tally) -> None:
        self._providers.heard(acting, embedded=tally.embedded, problem=acting.problem or tally.problem)

    # Searching.

    def _search(self, query: Query, notes: _Notes) -> SearchResult:
        from memory_core.search import search
        from memory_core.sessions import cite

        with self._store.read() as connection:
            if not connection.execute("SELECT EXISTS (SELECT 1 FROM chunks)").get:
                notes.add(EMPTY)
                return self._answer((), "keyword", None, notes)
            space = serving_space(connection)
            if space is None:
                self._explain_missing(query, notes)
            vectors = None if space is None else self._vectors(connection, *space, query, notes)
            hits, mode = search(connection, query, self._config.search.query.hybrid, index=self._index, vectors=vectors)
            hits = cite(connection, hits)
        return self._answer(tuple(hits), mode, space[1] if space and vectors else None, notes)

    def _vectors(
        self, connection: Connection, space_id: int, space: Space, query: Query, notes: _Notes
    ) -> Vectors | None:
        """The vector side of a search in the space that serves; None, with a note, where it cannot be had."""
        from memory_core.search import Vectors

        try:
            parts = [part for part, _ in question_parts(query.text)]
            asked = self._providers.embed_question(space, parts, timeout_seconds=self._embed_seconds(query, notes))
        except ProviderError as error:
            log.warning("keyword search answers: %s", error)
            notes.degraded(error)
            return None
        if asked is None:
            if not self._explain_missing(query, notes):
                notes.add("embeddings are being rebuilt; keyword search answers meanwhile")
            return None
        vector = asked.vector
        if space.dimensions != len(vector):
            notes.add(
                f"keyword search only: {space.model} gives {len(vector)} dimensions now, and gave {space.dimensions}"
            )
            return None
        if not vector.any():
            return None
        notes.fallback = asked.fallback
        if asked.problem is not None and not any(str(asked.problem) in told for told in notes.warnings):
            notes.add(f"the embeddings of {space.provider} answer meanwhile: {asked.problem}", asked.problem.action)
        return Vectors(
            space_id, vector, _calibration(connection, space_id, asked.provider), asked.tokens,
            asked.provider if isinstance(asked.provider, TokenModel) else None,
        )  # fmt: skip

    def _explain_missing(self, query: Query, notes: _Notes) -> bool:
        """Say why the configured provider has given no vectors yet; False where nothing is known to be wrong with it.

        Where a sync goes on, the provider may be what it waits for, and is asked.
        """
        seconds = self._embed_seconds(query, notes) if notes.unfinished and not self._spares else None
        problem = self._providers.missing(query.text, timeout_seconds=seconds)
        if problem is not None:
            outage = self._providers.outages.current()
            notes.degraded(problem, outage.reason if outage else "")
        return problem is not None

    def _embed_seconds(self, query: Query, notes: _Notes) -> float:
        """How long the question's embedding may take.

        What the search has waited for a sync counts, up to half of it: a provider that is down is waited for once.
        """
        whole = self._config.search.query.embed_timeout_ms / 1000
        seconds = max(whole - (time.monotonic() - notes.begun), whole / 2)
        if query.deadline is None:
            return seconds
        return min(seconds, max(query.deadline - time.monotonic(), MIN_EMBED_SECONDS))

    def _answer(self, hits: tuple[Hit, ...], mode: Mode, space: Space | None, notes: _Notes) -> SearchResult:
        return SearchResult(
            hits=hits,
            provider=space.provider if space else "none",
            model=space.model if space else None,
            mode=mode,
            backend="builtin",
            fallback=notes.fallback,
            stale=notes.stale,
            warning="; ".join(notes.warnings) or None,
            action=notes.action or None,
        )


def _calibration(connection: Connection, space_id: int, provider: EmbeddingProvider) -> Calibration:
    """What cosines are worth: as the provider says, else as the index has estimated it."""
    if isinstance(provider, Calibrated):
        return provider.calibration
    held = calibration(connection, space_id)
    return held[0] if held else DEFAULT


def diagnose(context: BackendContext) -> list[Finding]:
    """Look at all that an answer needs; opens the provider, writes nothing."""
    from memory_core import checks

    backend = BuiltinBackend(context)
    try:
        return list(checks.findings(context.config, backend.memory_probe()))
    finally:
        backend.memory_close()


PLUGIN = BackendPlugin(open=BuiltinBackend, diagnose=diagnose, timeout_seconds=None)
