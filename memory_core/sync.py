"""Bring an index level with the files: text first, so that it can be found by keyword at once, then the embeddings owed.

One file is one transaction; embeddings are committed as each request returns. A stopped sync leaves a good index and is taken
up by the next one: changed files are found by comparing, owed embeddings by a query.
"""

from __future__ import annotations

import errno
import json
import logging
import os
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import cast

from memory_core import chunks, files, sessions, units
from memory_core.backfill import Backfill
from memory_core.errors import FileUnreadable
from memory_core.rebuild import Rebuild
from memory_core.records import MemoryFile, Progress, SyncReport
from memory_core.roots import os_reason
from memory_core.settings import AgentConfig, Chunking
from memory_core.store import Store, building, token_bits
from memory_core.store.connection import locked
from memory_core.store.rows import FileRow, PreparedChunk, PreparedFile
from memory_core.work import GENERATION, IDENTITY, LAST_SYNC, TIDIED, WORKSPACE, Work

log = logging.getLogger(__name__)

CUT_VERSION = 2  # goes up whenever chunks, units or windows are cut, or sessions read or redacted, differently
NOTE_SYNC_SECONDS = 60.0  # a sync that changed nothing is noted so often, so that most searches write nothing
VACUUM_PAGES = 1000  # given back in one step: 8 MB
# The keyword index is merged into one piece, so many of its pages in one step, once this share of the files is new: a search
# reads every piece. The pieces of smaller changes FTS5 merges on its way.
MERGE_FROM, MERGE_PAGES = 0.25, 500

MISSING = os_reason(FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT)))  # of an extra path that is gone

FileKey = tuple[str, str]  # source and path


def identity(chunking: Chunking) -> str:
    """What the text side of an index depends on; another value means that every file is cut again."""
    return json.dumps({"cut": CUT_VERSION, "tokens": chunking.tokens, "overlap": chunking.overlap})


def sync_lock(store: Store, *, wait_seconds: float = 0.0) -> AbstractContextManager[None]:
    """The right to sync one index, which ends with its owner.

    Raises:
        SyncBusy: Another process, or another thread of this one, holds it.
        StoreReadOnly: The lock cannot be made.
    """
    return locked(store.path.with_name(store.path.name + ".lock"), wait_seconds=wait_seconds)


class Syncer:
    """One sync of one index. Make it, `run` it once, under `sync_lock`."""

    def __init__(self, work: Work) -> None:
        self._work = work

    def run(self, *, force: bool = False) -> SyncReport:
        """Compare, cut, store, embed.

        Raises:
            StoreError: The index cannot be written; what was committed stays good.
            SyncStopped: It was asked to stop; the same.
        """
        started = time.monotonic()
        work = self._work
        with work.store.maintain():
            pass  # makes or migrates the file, so that it can be read
        self._drop_leftovers()
        backfill = Backfill(work)
        was_level = backfill.is_level()
        reindexed = self._bring_text_level(force=force)
        backfill.run(was_level=was_level and not reindexed)
        self._settle(reindexed=reindexed)
        report = self._report(reindexed, time.monotonic() - started)
        log.info(
            "sync of agent %s: %d files, %d added, %d changed, %d removed, %d embedded, %d owed, %d failed, %.2f s",
            work.config.agent, report.files, report.added, report.changed, report.removed,
            report.embedded, report.owed, len(report.failures), report.seconds,
        )  # fmt: skip
        return report

    def _drop_leftovers(self) -> None:
        """Tables of a rebuild that was killed serve nobody; their embeddings are in the cache."""
        with self._work.store.read() as connection:
            left = connection.execute("SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = 'next_files')").get
        if left:
            with self._work.store.write(content=False) as writer:
                building.discard(writer.connection)
                writer.set_meta({TIDIED: None})

    def _bring_text_level(self, *, force: bool) -> bool:
        """Store the text of what changed; True when everything was cut anew."""
        work = self._work
        if not work.config.workspace.is_dir():
            work.tally.warnings.append(f"{work.config.workspace}: there is no such workspace")
        listing = _listing(work.config)
        work.tally.failures += listing.failures
        known = self._known_files()
        self._follow_workspace(known)
        wanted = identity(work.config.search.chunking)
        held = self._held(IDENTITY)
        if known and (force or held != wanted):
            Rebuild(work, self._cut).run(listing.files, _hidden(known, listing), wanted)
            work.tally.removed = len(_gone(known, listing))
            return True
        if held != wanted:
            work.note({IDENTITY: wanted})
        self._update(listing, known)
        return False

    def _follow_workspace(self, known: Mapping[FileKey, FileRow]) -> None:
        """Tell when the notes are those of another workspace now: two that share an index push each other out of it."""
        held, workspace = self._held(WORKSPACE), str(self._work.config.workspace)
        if held == workspace:
            return
        if held is not None and known:
            self._work.tally.warnings.append(
                f"this index held the notes of {held}, which those of {workspace} replace; to keep both, name an agent for"
                " each with --agent"
            )
        self._work.note({WORKSPACE: workspace})

    def _held(self, key: str) -> str | None:
        with self._work.store.read() as connection:
            return cast("str | None", connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).get)

    def _known_files(self) -> dict[FileKey, FileRow]:
        with self._work.store.read() as connection:
            rows = connection.execute("SELECT id, source, path, hash, mtime_ns, size, error FROM files")
            return {(row[1], row[2]): FileRow(*row) for row in rows}

    def _update(self, listing: files.Listing, known: dict[FileKey, FileRow]) -> None:
        """Incremental: one transaction a file that changed."""
        work = self._work
        if gone := _gone(known, listing):
            with work.store.write() as writer:
                writer.drop_files(row.id for row in gone)
            work.tally.removed = len(gone)
        todo = [file for file in listing.files if self._is_due(file, known.get(_key(file)))]
        work.tally.unchanged = len(listing.files) - len(todo)
        for number, file in enumerate(todo):
            work.step(Progress(phase="files", done=number, total=len(todo), path=file.path))
            self._update_file(file, known.get(_key(file)))
        if todo:
            work.step(Progress(phase="files", done=len(todo), total=len(todo)))

    def _is_due(self, file: MemoryFile, row: FileRow | None) -> bool:
        """Whether a file is to be read: it has changed, and if it is a live session, enough."""
        if _unchanged(file, row):
            return False
        if self._work.every_session or not sessions.is_log(file.path) or (row is not None and row.error is not None):
            return True
        deltas = self._work.config.search.sync.sessions
        return sessions.has_outgrown(file, row.size_bytes if row is not None else 0, deltas)

    def _update_file(self, file: MemoryFile, row: FileRow | None) -> None:
        work = self._work
        try:
            note = _read(file)
        except FileUnreadable as error:
            if work.failed(file, error):
                with work.store.write(content=False) as writer:
                    writer.set_file_error(file, error.reason)
            return
        if row is not None and row.hash == note.hash:
            work.tally.unchanged += 1
            with work.store.write(content=False) as writer:
                writer.touch_file(row.id, mtime_ns=note.mtime_ns, size_bytes=note.size_bytes)
            return
        prepared = self._prepared(file, note)
        with work.store.write() as writer:
            work.fresh.update(writer.put_file(prepared))
        if row is None or not row.hash:
            work.tally.added += 1
        else:
            work.tally.changed += 1

    def _cut(self, file: MemoryFile) -> PreparedFile:
        """Read and cut one file.

        Raises:
            FileUnreadable: It cannot be read, or is no text.
        """
        return self._prepared(file, _read(file))

    def _prepared(self, file: MemoryFile, note: files.NoteText) -> PreparedFile:
        if note.replaced:
            self._work.tally.warnings.append(f"{file.path}: bytes that are not UTF-8 were replaced")
        return prepare(file, note, self._work.config.search.chunking)

    def _settle(self, *, reindexed: bool) -> None:
        """The time of this sync; after a change, this sync's or one's that was killed, also eviction and freed pages."""
        work = self._work
        with work.store.read() as connection:
            noted, generation, tidied = (
                connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).get
                for key in (LAST_SYNC, GENERATION, TIDIED)
            )
        untidy = tidied != (generation or "0")
        if untidy:
            log.debug("giving back space")
            self._evict()
            tally = work.tally
            new, old = tally.added + tally.changed, tally.unchanged
            if reindexed or new >= MERGE_FROM * (new + old):
                self._merge_keywords()
            self._give_back_space()
        now = time.time()
        if untidy or noted is None or not 0 <= now - float(noted) < NOTE_SYNC_SECONDS:
            work.note({LAST_SYNC: f"{now:.3f}", TIDIED: generation or "0"})

    def _evict(self) -> None:
        """Drop embeddings that nothing refers to, beyond what the cache may keep; of vectors of tokens it keeps none."""
        cache = self._work.config.search.cache
        keep = cache.max_entries if cache.enabled else 0
        with self._work.store.read() as connection:
            held = int(connection.execute("SELECT count(*) FROM embedding_cache").get)
            used = int(connection.execute("SELECT count(*) FROM windows").get)
            tokens = token_bits.any_stored(connection)
        if tokens:
            with self._work.store.write(content=False) as writer:
                token_bits.drop_strays(writer.connection)
        if held - used > keep:  # at least so many are unused; to find them, all are read
            with self._work.store.write(content=False) as writer:
                self._work.index.forget(writer.connection, writer.evict_embeddings(keep=keep))

    def _merge_keywords(self) -> None:
        """One piece out of all that the keyword index has, in steps (https://www.sqlite.org/fts5.html#the_merge_command)."""
        pages = -MERGE_PAGES  # negative: all pieces, not only those of one size
        while True:
            self._work.check_stop()
            with self._work.store.write(content=False) as writer:
                before = writer.connection.total_changes()
                writer.connection.execute("INSERT INTO chunks_fts (chunks_fts, rank) VALUES ('merge', ?)", (pages,))
                if writer.connection.total_changes() - before < 2:
                    return
            pages = MERGE_PAGES

    def _give_back_space(self) -> None:
        """Return free pages to the file system in steps, and empty the write-ahead log."""
        with self._work.store.maintain() as connection:
            while int(connection.pragma("freelist_count")):
                before = int(connection.pragma("freelist_count"))
                connection.execute(f"PRAGMA incremental_vacuum({VACUUM_PAGES})").fetchall()
                if int(connection.pragma("freelist_count")) >= before:
                    break
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def _report(self, reindexed: bool, seconds: float) -> SyncReport:
        tally = self._work.tally
        with self._work.store.read() as connection:
            count_files = int(connection.execute("SELECT count(*) FROM files WHERE hash <> x''").get)
            count_chunks = int(connection.execute("SELECT count(*) FROM chunks").get)
        return SyncReport(
            files=count_files, chunks=count_chunks, added=tally.added, changed=tally.changed, removed=tally.removed,
            unchanged=tally.unchanged, embedded=tally.embedded, cached=tally.cached, owed=tally.owed,
            failures=tuple(tally.failures), warnings=tuple(tally.warnings), reindexed=reindexed, seconds=seconds,
        )  # fmt: skip


def prepare(file: MemoryFile, note: files.NoteText, chunking: Chunking) -> PreparedFile:
    """Cut one note: chunks, their units, the windows to embed. Pure."""
    lines, date = _origin(file, note)
    cut = []
    for chunk in chunks.split_chunks(note.text, chunking, date=date):
        own = tuple(units.split_units(chunk.text, skip_lines=chunk.overlap_lines, fence=chunk.fence))
        cut.append(PreparedChunk(chunk, own, tuple(units.split_windows(chunk.text, own))))
    return PreparedFile(
        file=file, hash=note.hash, size_bytes=note.size_bytes, mtime_ns=note.mtime_ns, date=date, chunks=tuple(cut),
        lines=lines,
    )  # fmt: skip


def _origin(file: MemoryFile, note: files.NoteText) -> tuple[Sequence[int], str | None]:
    """Where the lines of a text stand in its file, if not at their own numbers, and its date."""
    if isinstance(note, sessions.SessionText):
        return note.lines, note.date
    return (), files.note_date(file.path, note.text)


def _listing(config: AgentConfig) -> files.Listing:
    """All that is indexed: notes, then sessions."""
    notes, logs = files.list_files(config), sessions.list_sessions(config)
    return files.Listing(notes.files + logs.files, notes.failures + logs.failures)


def _read(file: MemoryFile) -> files.NoteText:
    return sessions.read_session(file) if sessions.is_log(file.path) else files.read_note(file)


def _key(file: MemoryFile) -> FileKey:
    return file.source, file.path


def _absent(known: dict[FileKey, FileRow], listing: files.Listing) -> list[FileRow]:
    present = {_key(file) for file in listing.files}
    return [row for key, row in known.items() if key not in present]


def _is_hidden(row: FileRow, listing: files.Listing) -> bool:
    """Whether a file was not listed because it, or a folder above it, could not be looked at: nobody knows that it is gone."""
    return any(
        f"{row.path}/".startswith(f"{failure.path.rstrip('/')}/") and failure.reason != MISSING
        for failure in listing.failures
    )


def _gone(known: dict[FileKey, FileRow], listing: files.Listing) -> list[FileRow]:
    return [row for row in _absent(known, listing) if not _is_hidden(row, listing)]


def _hidden(known: dict[FileKey, FileRow], listing: files.Listing) -> list[MemoryFile]:
    """What a rebuild takes over as it stands."""
    return [
        MemoryFile(source=row.source, path=row.path, real_path=Path(), size_bytes=row.size_bytes, mtime_ns=row.mtime_ns)
        for row in _absent(known, listing)
        if _is_hidden(row, listing)
    ]


def _unchanged(file: MemoryFile, row: FileRow | None) -> bool:
    return row is not None and row.error is None and (row.mtime_ns, row.size_bytes) == (file.mtime_ns, file.size_bytes)
