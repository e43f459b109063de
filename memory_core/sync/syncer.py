"""Index what has changed in the files: text first, which keyword search finds at once, then the missing embeddings.

Some files are one transaction, each of them wholly in it; embeddings are committed as each request returns. A stopped sync leaves
a good index, and the next one goes on from there: it finds changed files by comparing, missing embeddings by a query.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import islice

from memory_core.config.settings import Chunking
from memory_core.errors import FileUnreadable
from memory_core.records import FileStamp, MemoryFile, Progress, SyncReport
from memory_core.sources import session_logs
from memory_core.sources.files import survey
from memory_core.sources.notes import NoteText, find_note_date, find_section_days, read_note
from memory_core.sources.roots import LONGTERM_NAMES, NOTES_FOLDER, USER_NAME, WHOLE, explain_no_workspace
from memory_core.stores.interface import SyncReader, Writer
from memory_core.stores.values import IndexedFile, PreparedChunk, PreparedFile, SyncState
from memory_core.sync.backfill import Backfill
from memory_core.sync.changes import Changes
from memory_core.sync.context import SyncContext
from memory_core.text.chunks import split_chunks
from memory_core.text.folding import clean
from memory_core.text.markdown import (
    join_html_rows,
    leave_out_blobs,
    leave_out_html_comments,
    parse_heading,
    read_front_matter,
    split_lines,
    strip_suffix,
)
from memory_core.text.spelling import find_camels, split_camel
from memory_core.text.terms import find_words

log = logging.getLogger(__name__)

# Goes up whenever chunks, units or windows are cut, words stemmed, dates told or sessions read differently.
CUT_VERSION = 19
HEAD_CHARS, HEAD_LINES = 4096, 40  # of a note, in which its first heading is looked for
RECORD_SECONDS = 60.0  # a sync that changed nothing is recorded this often, so that most searches write nothing
FILES_STEP = 64  # files that are committed together, unless they are long
EMBEDDED_CHUNKS_STEP = 2000  # chunks whose embeddings are made together before a rebuild puts them
CHUNKS_STEP = 500  # chunks from which on is committed, as other writers wait meanwhile
WHOLE_CHUNKS = 100_000  # that a rebuild puts in one transaction; of more it commits some at a time
MERGE_FROM = 0.25  # share of the files that is new, from which all of the keyword index is merged


def make_identity(chunking: Chunking) -> str:
    """Return what the text of an index depends on; when it changes, every file is cut again."""
    return json.dumps({"cut": CUT_VERSION, "tokens": chunking.tokens, "overlap": chunking.overlap})


def read_text(file: MemoryFile, zone: str | None = None) -> NoteText:
    """Read a note or a session log.

    Raises:
        FileUnreadable: It cannot be read, or is no text.
    """
    return session_logs.read_session(file, zone) if session_logs.is_log(file.path) else read_note(file)


def cut(file: MemoryFile, note: NoteText, chunking: Chunking) -> PreparedFile:
    """Return one file as the index is to hold it: its date, and its text cut into chunks. Pure.

    Args:
        file: As it was listed.
        note: As it was read.
        chunking: The sizes of chunks and of their overlap.
    """
    text = join_html_rows(leave_out_blobs(leave_out_html_comments(note.text)))
    date, title, days = note.date, "", {}
    if not session_logs.is_log(file.path):
        date = find_note_date(file.path, note.text)
        names = read_front_matter(note.text).names
        title = ", ".join(filter(None, (_name_place(file.path, note.text, (date or "", *names)), *names)))
        days = find_section_days(file.path, text, date)
    chunks = tuple(map(PreparedChunk, split_chunks(text, chunking, date=date, title=title, days=days)))
    return PreparedFile(file=file, hash=note.hash, stamp=note.stamp, date=date, chunks=chunks, lines=note.lines)


def _name_place(path: str, text: str, names: Iterable[str]) -> str:
    """Return the words of a note's path that neither its other names nor its first heading hold.

    Of a folder that was added from elsewhere, the folders above it are left out: they are those of the machine.
    """
    if path in (*LONGTERM_NAMES, USER_NAME):
        return ""
    place = clean(strip_suffix(path.removeprefix(f"{NOTES_FOLDER}/")))
    if path.startswith(("/", "~", "..")) or ":" in path:
        place = "/".join(place.split("/")[-2:])
    heading = next(filter(None, map(parse_heading, islice(split_lines(text[:HEAD_CHARS]), HEAD_LINES))), (1, ""))[1]
    known = {word.lower() for each in (*names, heading) for _, _, word in find_words(each, 0, len(each))}
    words = [word for _, _, word in find_words(place, 0, len(place))]
    words += [part for name in find_camels(place) for part in split_camel(name)]
    return " ".join(word for word in words if word.lower() not in known)


@dataclass(slots=True)
class _FileChanges:
    """Changes to the files of an index that are committed together.

    Attributes:
        gone: Ids of the files to drop.
        touched: Ids of files whose content is the same, with their new stamps.
        failed: Files that could not be read, with the reasons.
        prepared: Files to put.
    """

    gone: list[int] = field(default_factory=list)
    touched: list[tuple[int, FileStamp]] = field(default_factory=list)
    failed: list[tuple[MemoryFile, str]] = field(default_factory=list)
    prepared: list[PreparedFile] = field(default_factory=list)

    @property
    def is_empty(self) -> bool:
        """True if there is nothing to commit."""
        return not (self.gone or self.touched or self.failed or self.prepared)

    @property
    def is_large(self) -> bool:
        """True once it is to be committed."""
        return len(self.prepared) >= FILES_STEP or sum(len(each.chunks) for each in self.prepared) >= CHUNKS_STEP

    def write(self, writer: Writer) -> int | None:
        """Write the changes; return the id of the first chunk that was inserted, None if none was."""
        if self.gone:
            writer.drop_files(self.gone)
        for file_id, stamp in self.touched:
            writer.touch_file(file_id, stamp)
        for file, reason in self.failed:
            writer.set_file_error(file, reason)
        return writer.put_files(self.prepared) if self.prepared else None


class Syncer:
    """One sync of one index: make it, and `run` it once while holding the store's lock."""

    def __init__(self, context: SyncContext) -> None:
        self._context = context
        self._store = context.store
        self._counts = context.counts
        self._backfill = Backfill(context)
        self._identity = make_identity(context.config.search.chunking)
        self._state = SyncState()  # as the sync has found it
        self._batch = _FileChanges()
        self._has_changed = False  # the content of the index, in this sync
        self._first_new: int | None = None  # the lowest id of the chunks that were inserted, above those of all others
        self._files = self._chunks = 0  # in the index
        self._cuts_anew = False  # this is a rebuild
        self._writer: Writer | None = None  # of a rebuild that is one transaction

    def run(self, *, force: bool = False) -> SyncReport:
        """Compare, cut, store, embed. One changed file takes one transaction that reads and three that write.

        Raises:
            StoreError: The index cannot be written; what was committed stays good.
            SyncStopped: It was asked to stop; what was committed stays good.
        """
        started = time.monotonic()
        self._store.prepare()
        reindexed = self._sync(force=force)
        counts = self._counts
        report = SyncReport(
            files=self._files, chunks=self._chunks, added=counts.added,
            changed=counts.changed, removed=counts.removed, unchanged=counts.unchanged, embedded=counts.embedded,
            cached=counts.cached, pending=counts.pending, failures=tuple(counts.failures),
            warnings=tuple(counts.warnings), reindexed=reindexed, seconds=time.monotonic() - started,
        )  # fmt: skip
        log.info(
            "sync of agent %s: %d files, %d added, %d changed, %d removed, %d embedded, %d pending, %d failed, %.2f s",
            self._context.config.agent, report.files, report.added, report.changed, report.removed,
            report.embedded, report.pending, len(report.failures), report.seconds,
        )  # fmt: skip
        return report

    def _sync(self, *, force: bool) -> bool:
        """Bring the index up to date; return True when everything was cut anew."""
        context, config = self._context, self._context.config
        if problem := explain_no_workspace(config):
            self._counts.warnings.append(problem)
        notes, logs = survey(config), session_logs.list_sessions(config)
        workspace = os.path.realpath(config.workspace)
        with self._store.read() as reader:
            self._state, spaces = reader.load_state(), reader.list_spaces()
            self._look(reader)
            taken_over = self._state.workspace != workspace
            cuts_anew = force or self._state.identity != self._identity
            changes = Changes(notes, logs, reader)
        context.may_change_unseen = changes.may_change_unseen
        if context.choose is not None:
            context.choose(context.outage)
        self._backfill.look(self._state, spaces)
        if taken_over:
            with self._store.write() as writer:
                self._take_over(writer, workspace)
                changes = Changes(notes, logs, writer)
            self._backfill.look(self._state, spaces)
        self._backfill.verify()
        self._counts.failures += [each for each in changes.failures if not (problem and each.path == WHOLE)]
        reindexed = cuts_anew and not changes.is_first
        self._counts.removed = len(changes.gone)
        self._batch.gone += [row.id for row in changes.gone]
        if reindexed:
            context.files = changes.list_files()
            self._rebuild(changes)
        else:
            every_session = context.every_session or taken_over
            context.files = changes.select_files(every_session=every_session, deltas=config.search.sync.sessions)
            self._counts.unchanged = changes.count - len(context.files)
            self._update(changes)
        self._backfill.run(self._since)
        self._end(reindexed=reindexed)
        return reindexed

    def _take_over(self, writer: Writer, workspace: str) -> None:
        """Drop the notes of another workspace; two that share an index push each other out of it.

        The name and the notes change in one transaction, or a search could meet the notes of one workspace under the name of
        another. Embeddings are kept.
        """
        held = [file.id for file in writer.list_files()]
        if self._state.workspace is not None and held:
            self._counts.warnings.append(
                f"this index held the notes of {self._state.workspace}, which those of {workspace} replace; to keep both,"
                " put {workspaceKey} into memorySearch.store.path, or name an agent for each with --agent"
            )
        if held:
            writer.drop_files(held)
            self._has_changed = True
        writer.save_state(workspace=workspace)
        self._state = writer.load_state()

    @property
    def _since(self) -> int | None:
        """The id of the first chunk that may lack embeddings; None if none does."""
        return self._first_new if self._backfill.is_complete and not self._cuts_anew else 0

    def _rebuild(self, changes: Changes) -> None:
        """Cut every file anew; those that cannot be read or looked at stay as they are.

        The embeddings that the new text needs are made before it is put, in one transaction unless there is very much: whoever
        searches meanwhile finds the old text with its embeddings. A rebuild that is stopped begins again at the next sync.
        """
        self._cuts_anew = True
        if self._backfill.may_embed:
            waiting: list[PreparedFile] = []
            search = self._context.config.search
            for file in self._context.files:
                self._context.check_stop()
                with contextlib.suppress(FileUnreadable):  # `_update_file` meets it, too, and tells
                    waiting.append(cut(file, read_text(file, search.time_zone), search.chunking))
                if sum(len(each.chunks) for each in waiting) >= EMBEDDED_CHUNKS_STEP:
                    self._backfill.embed_ahead(waiting)
                    waiting = []
            self._backfill.embed_ahead(waiting)
        with contextlib.ExitStack() as whole:
            if self._chunks <= WHOLE_CHUNKS:
                self._writer = whole.enter_context(self._store.write())
            self._update(changes)
            self._writer = None

    def _update(self, changes: Changes) -> None:
        """Index the files of the context."""
        todo = self._context.files
        for number, file in enumerate(todo):
            self._context.report_progress(Progress(phase="files", done=number, total=len(todo), path=file.path))
            self._update_file(file, changes.find_indexed(file))
            if self._batch.is_large:
                self._commit()
        self._commit(is_last=True)
        if todo:
            self._context.report_progress(Progress(phase="files", done=len(todo), total=len(todo)))

    def _update_file(self, file: MemoryFile, row: IndexedFile | None) -> None:
        try:
            note = read_text(file, self._context.config.search.time_zone)
        except FileUnreadable as error:
            known = row.error if row is not None else None
            if self._context.record_failure(file, error, known=known) and known != error.reason:
                self._batch.failed.append((file, error.reason))
            return
        if row is not None and row.hash == note.hash and not self._cuts_anew:
            self._counts.unchanged += 1
            if row.stamp != note.stamp or row.error is not None:
                self._batch.touched.append((row.id, note.stamp))
            return
        if row is not None and self._cuts_anew:  # all of its rows are made anew, whatever is wrong with them
            self._batch.gone.append(row.id)
        if note.replaced:
            told = f"{file.path}: lines that are no UTF-8 were read as Windows-1252; save it as UTF-8"
            self._counts.warnings.append(told)
        self._context.record_read(file, note)
        self._batch.prepared.append(cut(file, note, self._context.config.search.chunking))
        if (row is None or not row.hash) and not self._cuts_anew:
            self._counts.added += 1
        else:
            self._counts.changed += 1

    def _commit(self, *, is_last: bool = False) -> None:
        """Commit the batch; with the last one, find what lacks an embedding."""
        batch, self._batch = self._batch, _FileChanges()
        if batch.is_empty and self._state.identity == self._identity and not (is_last and self._has_changed):
            return
        with contextlib.nullcontext(self._writer) if self._writer is not None else self._store.write() as writer:
            first = batch.write(writer)
            if first is not None:
                self._first_new = first if self._first_new is None else min(first, self._first_new)
            if is_last or not self._cuts_anew:  # a rebuild that is stopped begins again
                writer.save_state(identity=self._identity)
            if is_last:
                self._backfill.plan(writer, self._since)
        self._has_changed |= bool(batch.gone or batch.prepared)

    def _wants_record(self) -> bool:
        """Return True if the index has to remember this sync although nothing has changed in it."""
        last = self._state.last_sync
        is_recent = last is not None and 0 <= time.time() - last < RECORD_SECONDS
        return not (self._state.tidy and is_recent)

    def _end(self, *, reindexed: bool) -> None:
        """Let the embeddings serve, and record the sync; after a change, also of a sync that was killed, tidy the index."""
        self._context.check_stop()
        changed = self._has_changed or self._counts.embedded > 0
        if self._backfill.has_ended and not (changed or self._wants_record()):
            if self._context.files or not self._backfill.is_idle:  # stamps, or the outage of a provider
                with self._store.read() as reader:
                    self._look(reader)
            return
        new = self._counts.added + self._counts.changed
        tidies = changed or not self._state.tidy
        whole = tidies and (reindexed or new >= MERGE_FROM * (new + self._counts.unchanged))
        cache = self._context.config.search.cache
        with self._store.write() as writer:
            if tidies:
                writer.tidy(keep=cache.max_entries if cache.enabled else 0)
            self._backfill.end(writer)
            writer.save_state(last_sync=time.time(), tidy=not whole)
            self._look(writer)
            if changed:
                self._context.held = writer.list_files()
        if tidies:
            log.debug("giving back space")
            for _ in self._store.tidy(whole=whole):
                self._context.check_stop()
        if whole:
            with self._store.write() as writer:
                writer.save_state(tidy=True)

    def _look(self, reader: SyncReader) -> None:
        """Read how much the index holds now, its generation, and the outage that it has recorded."""
        self._files, self._chunks = reader.count_indexed()
        held = reader.load_state()
        self._context.generation, self._context.outage = held.generation, held.outage
