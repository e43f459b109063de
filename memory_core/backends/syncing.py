"""Syncs of one backend: one at a time, with the provider that serves now, in which embeddings may be requested or not."""

from __future__ import annotations

import logging
import os
import threading
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from memory_core.config.agent import AgentConfig
from memory_core.embeddings.failover import CONFIGURED, ActiveProvider, Providers
from memory_core.errors import MemoryCoreError, OtherWorkspace, StoreError, SyncBusy
from memory_core.records import BEING_MADE, FileFailure, ProgressCallback, Space, SyncReport
from memory_core.stores.interface import Reader, Store
from memory_core.stores.values import ServingSpace, SyncState
from memory_core.sync.watcher import Watcher

if TYPE_CHECKING:
    from memory_core.backends.past import HistoryRecorder

log = logging.getLogger(__name__)

EMBED_SECONDS = 30.0  # until the background requests missing embeddings again, so that not every search waits for them
DAMAGED = "the index was damaged and was made anew from the notes"
REBUILDING = f"the index was damaged and is {BEING_MADE} anew from the notes"
FREE = "static"  # the provider that sends nothing anywhere and takes a millisecond a note


class IndexLook(NamedTuple):
    """The state of an index as a search finds it, all from one moment.

    Attributes:
        state: What it remembers from one sync to the next.
        is_empty: No chunk is indexed.
        workspace: See `Reader.load_workspace`; where nothing is refused, not the one that the state names.
        serving: The space whose vectors answer; None when keywords answer alone.
    """

    state: SyncState
    is_empty: bool
    workspace: str | None
    serving: ServingSpace | None


def look_at(reader: Reader) -> IndexLook:
    """Return the state of an index."""
    state, is_empty = reader.load_state(), not reader.count_chunks()
    return IndexLook(state, is_empty, reader.load_workspace(), reader.load_serving_space())


def refuse_other_workspace(config: AgentConfig, held: str | None, store: Store) -> None:
    """Raise unless an index holds the notes of an agent's workspace; compare real paths.

    Args:
        config: The agent's.
        held: The real path that the index names, read in the same transaction as all that is shown of it.
        store: That index.

    Raises:
        OtherWorkspace: It holds those of another one, or does not say whose.
    """
    wanted = os.path.realpath(config.workspace)
    if held != wanted:
        raise OtherWorkspace(store.path, held, wanted, action=store.separate)


@dataclass(eq=False, kw_only=True)
class SyncRunner:
    """Runs the syncs of one backend.

    Attributes:
        config: The agent's.
        store: Its index.
        providers: Make the embeddings.
        watcher: Tells when files have changed.
        recorder: Is told what changed, at the end of every sync; None if nobody records it.
        standby: Another backend serves, and this one is kept ready.
    """

    config: AgentConfig
    store: Store
    providers: Providers
    watcher: Watcher
    recorder: HistoryRecorder | None
    standby: bool

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        # By the provider's role, when embeddings that it owes are requested again.
        self._embeds_at: dict[str, float] = {}
        # Session logs were compared with the index since this process or a session began.
        self._sessions_compared = False
        self._checked = False  # this process has looked for damage that the file was left with
        self.rebuilding = False  # a sync makes a damaged index anew
        self.failures: tuple[FileFailure, ...] = ()  # of the last sync
        self.busy: str | None = None  # a sentence, if the last sync found that another process syncs

    @property
    def saves_embeddings(self) -> bool:
        """True while another backend serves, unless embeddings cost nothing; keywords are indexed all the same."""
        return self.standby and self.providers.choice.provider != FREE

    def begin_session(self) -> None:
        """Let the next sync index session logs however little they have grown, as another session begins."""
        self._sessions_compared = False

    @property
    def may_be_fresh(self) -> bool:
        """False if a search has to be preceded by a sync, whatever the index holds."""
        return self._sessions_compared and not self.store.is_suspect

    def is_fresh(self, look: IndexLook) -> bool:
        """Return True if a sync before a search would change nothing.

        Args:
            look: At the index, as the search found it.
        """
        has_outage = self.providers.outages.judge(look.state.outage) is not None
        return self.may_be_fresh and not has_outage and self.watcher.is_fresh(look.state.generation)

    def follow_dimensions(self, serving: Space, dimensions: int) -> None:
        """Remember that the model of the space that serves gives other dimensions now, so that a sync embeds all notes anew."""
        if not self.store.writable:
            return
        try:
            with self.store.write() as writer:
                writer.save_state(target=writer.add_space(replace(serving, dimensions=dimensions)))
        except MemoryCoreError as error:
            log.warning("the dimensions of %s cannot be recorded: %s", serving.model, error)
        self.watcher.expire()  # no file has changed

    def run(
        self,
        stop: threading.Event | None = None,
        *,
        force: bool = False,
        progress: ProgressCallback | None = None,
        wait_seconds: float = 0.0,
    ) -> SyncReport:
        """Run one sync. A damaged index is moved aside and made anew.

        Args:
            stop: Ends a sync of the background at its next step; None is a sync that somebody asked for, which requests all
                embeddings and indexes all sessions.
            force: Rebuild the index.
            progress: Called with how far the sync is.
            wait_seconds: How long to wait for another process to end its sync.

        Raises:
            SyncBusy: Another process syncs this index.
            SyncStopped: It was stopped.
            StoreError: The index cannot be written.
        """
        with self._lock:
            self.busy = None
            try:
                with self.store.lock(wait_seconds=wait_seconds):
                    if force or self.store.is_suspect or (not self._checked and self.store.needs_check()):
                        self._repair()
                    self._checked = True
                    try:
                        report = self._sync(stop, force=force, progress=progress)
                    except StoreError:
                        if not self._repair():
                            raise
                        report = self._sync(stop, force=force, progress=progress)
                    return replace(report, warnings=(*report.warnings, DAMAGED)) if self.rebuilding else report
            except SyncBusy as error:
                self.busy = str(error)
                raise
            finally:
                self.rebuilding = False

    def _repair(self) -> bool:
        """Move a damaged index aside; return True if this sync can now make a new one."""
        problem = self.store.repair()
        if problem is None:
            return False
        log.warning("%s: %s (%s)", self.store.path, DAMAGED, problem)
        self.rebuilding = True
        return True

    def _sync(self, stop: threading.Event | None, *, force: bool, progress: ProgressCallback | None) -> SyncReport:
        """Run one sync under its locks."""
        from memory_core.sync.context import SyncContext
        from memory_core.sync.syncer import Syncer

        asked = stop is None
        every_session = asked or not self._sessions_compared
        active = ActiveProvider(CONFIGURED, None)
        sync = SyncContext(
            config=self.config, store=self.store, progress=progress, stop=stop, every_session=every_session
        )

        def choose(record: str | None) -> None:
            nonlocal active
            outage = self.providers.outages.judge(record)
            active = self.providers.choose_for_sync(outage, at_once=asked)
            sync.provider, sync.problem = active.provider, active.problem
            is_due = time.monotonic() >= self._embeds_at.get(active.role, 0.0)
            may_send = asked or (is_due and self.providers.may_send(active, outage))
            sync.embeds = may_send and not self.saves_embeddings
            sync.verifies = sync.embeds and asked

        sync.choose = choose
        mark = self.watcher.mark()
        self._sessions_compared |= every_session  # before it runs: a session that begins meanwhile takes it back
        try:
            report = Syncer(sync).run(force=force)
        except BaseException:
            self._sessions_compared &= not every_session
            self.watcher.expire()
            raise
        self.failures = report.failures
        told = () if self.recorder is None else self.recorder.record(sync, asked=asked)
        outage, problem = self.providers.outages.judge(sync.outage), active.problem or sync.counts.problem
        self.providers.record_result(active, outage, embedded=sync.counts.embedded, problem=problem)
        if sync.embeds and report.pending:
            self._embeds_at[active.role] = time.monotonic() + EMBED_SECONDS
        if active.warning:
            report = replace(report, warnings=(*report.warnings, active.warning))
        if report.pending or report.warnings or active.problem or sync.may_change_unseen:
            self.watcher.expire()
        else:
            self.watcher.confirm(mark, sync.generation)
        if told and asked:  # the index is sound: a search has nothing to warn of
            report = replace(report, warnings=(*report.warnings, *told))
        return report
