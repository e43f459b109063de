"""Index what has changed in the files: text first, which keyword search finds at once, then the missing embeddings.

Some files are one transaction, each of them wholly in it; embeddings are committed as each request returns. A stopped sync leaves
a good index, and the next one goes on from there: it finds changed files by comparing, missing embeddings by a query.
"""

from __future__ import annotations

import json
import logging
import os
import time
from collections.abc import Sequence

from memory_core.config.settings import Chunking
from memory_core.errors import FileUnreadable
from memory_core.records import MemoryFile, Progress, SyncReport
from memory_core.sources import session_logs
from memory_core.sources.notes import NoteText, find_note_date, read_note
from memory_core.stores.values import IndexedFile, PreparedChunk, PreparedFile, StagedFile, SyncState
from memory_core.sync.backfill import Backfill
from memory_core.sync.changes import Changes, Sources
from memory_core.sync.context import SyncContext
from memory_core.text.chunks import split_chunks
from memory_core.text.markdown import read_front_matter

log = logging.getLogger(__name__)

CUT_VERSION = (
    6  # goes up whenever chunks, units or windows are cut, or words stemmed, or sessions read or redacted, differently
)
RECORD_SECONDS = 60.0  # a sync that changed nothing is recorded this often, so that most searches write nothing
FILES_STEP = 64  # files that are committed together, unless they are long
CHUNKS_STEP = 500  # chunks from which on is committed, as other writers wait meanwhile
REBUILT_FILES_STEP = 16  # files that a rebuild commits together, unless they are long
REBUILT_CHUNKS_STEP = 1000  # chunks after which it commits: 16,000 at once kept another writer waiting for 1.5 s
MERGE_FROM = 0.25  # share of the files that is new, from which all of the keyword index is merged


def make_identity(chunking: Chunking) -> str:
    """Return what the text of an index depends on; when it changes, every file is cut again."""
    return json.dumps({"cut": CUT_VERSION, "tokens": chunking.tokens, "overlap": chunking.overlap})


def read_text(file: MemoryFile) -> NoteText:
    """Read a note or a session log.

    Raises:
        FileUnreadable: It cannot be read, or is no text.
    """
    return session_logs.read_session(file) if session_logs.is_log(file.path) else read_note(file)


def cut(file: MemoryFile, note: NoteText, chunking: Chunking) -> PreparedFile:
    """Cut the text of one file. Pure."""
    if isinstance(note, session_logs.SessionText):
        lines, date, title = note.lines, note.date, ""
    else:
        lines, date = (), find_note_date(file.path, note.text)
        title = ", ".join(read_front_matter(note.text).names)
    found = split_chunks(note.text, chunking, date=date, title=title)
    return PreparedFile(
        file=file, hash=note.hash, stamp=note.stamp, date=date, chunks=tuple(map(PreparedChunk, found)), lines=lines
    )


class Syncer:
    """One sync of one index: make it, and `run` it once while holding the store's lock."""

    def __init__(self, context: SyncContext) -> None:
        self._context = context
        self._store = context.store
        self._counts = context.counts
        self._backfill = Backfill(context)
        self._digest: str | None = None  # of the files as they were looked at, once the index agrees with them
        self._waiting: list[PreparedFile] = []  # to be committed together

    def run(self, *, force: bool = False) -> SyncReport:
        """Compare, cut, store, embed.

        Raises:
            StoreError: The index cannot be written; what was committed stays good.
            SyncStopped: It was asked to stop; what was committed stays good.
        """
        started = time.monotonic()
        self._store.prepare()
        self._context.fresh = {} if self._backfill.is_complete() else None
        reindexed = self._index_text(force=force)
        if reindexed:
            self._context.fresh = None
        self._backfill.run()
        self._tidy(reindexed=reindexed)
        report = self._report(reindexed, time.monotonic() - started)
        log.info(
            "sync of agent %s: %d files, %d added, %d changed, %d removed, %d embedded, %d pending, %d failed, %.2f s",
            self._context.config.agent, report.files, report.added, report.changed, report.removed,
            report.embedded, report.pending, len(report.failures), report.seconds,
        )  # fmt: skip
        return report

    def _index_text(self, *, force: bool) -> bool:
        """Store the text of what changed; return True when everything was cut anew."""
        config = self._context.config
        if not config.workspace.is_dir():
            self._counts.warnings.append(f"{config.workspace}: there is no such workspace")
        state = self._store.load_state()
        wanted = make_identity(config.search.chunking)
        sources = Sources(config)
        self._context.may_change_unseen = sources.may_change_unseen
        digest = None if sources.has_failures else sources.digest()
        taken_over = self._take_over(state)
        if digest is not None and state.digest == digest and state.identity == wanted and not (force or taken_over):
            self._counts.unchanged, self._digest = len(sources), digest
            return False
        self._counts.failures += sources.failures
        changes = Changes.between(sources, self._store)
        if not changes.is_first and (force or state.identity != wanted):
            self._context.files = sources.list()
            self._rebuild(self._context.files, changes.list_hidden_files(), wanted)
            self._counts.removed = len(changes.gone)
            self._digest = None if self._counts.failures else digest
            return True
        if state.identity != wanted:
            self._store.set_identity(wanted)
        if changes.is_first:
            self._context.fresh = {}
        is_whole = self._update(changes, every_session=self._context.every_session or taken_over)
        self._digest = digest if is_whole and not self._counts.failures else None
        return False

    def _take_over(self, state: SyncState) -> bool:
        """Drop the notes of another workspace; two that share an index push each other out of it."""
        workspace = os.path.realpath(self._context.config.workspace)
        if state.workspace == workspace:
            return False
        if state.workspace is not None and self._store.list_files():
            self._counts.warnings.append(
                f"this index held the notes of {state.workspace}, which those of {workspace} replace; to keep both, put"
                " {workspaceKey} into memorySearch.store.path, or name an agent for each with --agent"
            )
        self._store.take_over(workspace)
        return True

    def _update(self, changes: Changes, *, every_session: bool) -> bool:
        """Index what changed; return False if some changed file was left for later."""
        if changes.gone:
            self._store.drop_files([row.id for row in changes.gone])
            self._counts.removed = len(changes.gone)
        deltas = self._context.config.search.sync.sessions
        todo = changes.select_files(every_session=every_session, deltas=deltas)
        self._counts.unchanged = changes.count - len(todo)
        self._context.files = todo
        for number, file in enumerate(todo):
            self._context.report_progress(Progress(phase="files", done=number, total=len(todo), path=file.path))
            self._update_file(file, changes.find_indexed(file))
            if len(self._waiting) >= FILES_STEP or sum(len(each.chunks) for each in self._waiting) >= CHUNKS_STEP:
                self._commit()
        self._commit()
        if todo:
            self._context.report_progress(Progress(phase="files", done=len(todo), total=len(todo)))
        return len(todo) == len(changes.changed)

    def _update_file(self, file: MemoryFile, row: IndexedFile | None) -> None:
        try:
            note = read_text(file)
        except FileUnreadable as error:
            known = row.error if row is not None else None
            if self._context.record_failure(file, error, known=known):
                self._store.set_file_error(file, error.reason)
            return
        if row is not None and row.hash == note.hash:
            self._counts.unchanged += 1
            if row.stamp != note.stamp or row.error is not None:
                self._store.touch_file(row.id, note.stamp)
            return
        self._context.record_read(file, note)
        self._waiting.append(self._cut(file, note))
        if row is None or not row.hash:
            self._counts.added += 1
        else:
            self._counts.changed += 1

    def _commit(self) -> None:
        if self._waiting:
            self._context.record_fresh(self._store.put_files(self._waiting))
            self._waiting = []

    def _rebuild(self, listed: Sequence[MemoryFile], hidden: Sequence[MemoryFile], identity: str) -> None:
        """Cut every file anew into an index beside the one that serves, embed what it needs, and switch to it.

        When this is stopped, at any point, the new index serves nobody, and the next sync discards it.

        Args:
            listed: The files to cut; those that cannot be read are taken over, with the reason.
            hidden: Files that cannot be looked at now; they are taken over from the index that serves.
            identity: Of the new index.
        """
        staged = self._store.begin_rebuild()
        waiting: list[StagedFile] = []
        for number, file in enumerate(listed):
            self._context.report_progress(Progress(phase="files", done=number, total=len(listed), path=file.path))
            try:
                waiting.append(StagedFile(file, self._cut(file, read_text(file))))
                self._counts.changed += 1
            except FileUnreadable as error:
                reason = error.reason if self._context.record_failure(file, error) else None
                waiting.append(StagedFile(file, self._store.load_file(file), reason))
            chunks = sum(len(each.prepared.chunks) for each in waiting if each.prepared)
            if len(waiting) >= REBUILT_FILES_STEP or chunks >= REBUILT_CHUNKS_STEP:
                staged.put_files(waiting)
                waiting = []
        staged.put_files(waiting)
        for file in hidden:
            staged.put_files([StagedFile(file, self._store.load_file(file))])
        self._backfill.embed_staged(staged)
        log.debug("switching to the new tables")
        staged.switch(identity=identity)
        self._context.report_progress(Progress(phase="files", done=len(listed), total=len(listed)))

    def _cut(self, file: MemoryFile, note: NoteText) -> PreparedFile:
        if note.replaced:
            self._counts.warnings.append(f"{file.path}: bytes that are not UTF-8 were replaced")
        return cut(file, note, self._context.config.search.chunking)

    def _tidy(self, *, reindexed: bool) -> None:
        """Record the time; after a change, also one of a sync that was killed, evict embeddings and give back space."""
        state = self._store.load_state()
        if not state.tidy:
            log.debug("giving back space")
            cache = self._context.config.search.cache
            self._store.evict_embeddings(keep=cache.max_entries if cache.enabled else 0)
            new = self._counts.added + self._counts.changed
            self._context.check_stop()
            whole = reindexed or new >= MERGE_FROM * (new + self._counts.unchanged)
            for _ in self._store.merge_keywords(whole=whole):
                self._context.check_stop()
            self._store.give_back_space()
        now = time.time()
        recorded = state.tidy and state.digest == self._digest
        if not recorded or state.last_sync is None or not 0 <= now - state.last_sync < RECORD_SECONDS:
            self._store.record_sync(now, digest=self._digest)

    def _report(self, reindexed: bool, seconds: float) -> SyncReport:
        counts = self._counts
        return SyncReport(
            files=self._store.count_files(), chunks=self._store.count_chunks(), added=counts.added,
            changed=counts.changed, removed=counts.removed, unchanged=counts.unchanged, embedded=counts.embedded,
            cached=counts.cached, pending=counts.pending, failures=tuple(counts.failures),
            warnings=tuple(counts.warnings), reindexed=reindexed, seconds=seconds,
        )  # fmt: skip
