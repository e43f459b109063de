"""Bring an index level with the files: text first, so that it can be found by keyword at once, then the embeddings owed.

One file is one transaction; embeddings are committed as each request returns. A stopped sync leaves a good index and is taken
up by the next one: changed files are found by comparing, owed embeddings by a query.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from filelock import FileLock, Timeout

from memory_core import chunks, files, units
from memory_core.errors import FileUnreadable, ProviderError, StoreReadOnly, SyncBusy, SyncStopped
from memory_core.hookspecs import EmbeddingProvider, ProgressCallback, Space, TokenModel
from memory_core.records import FileFailure, MemoryFile, Progress, SyncReport
from memory_core.settings import AgentConfig, Chunking
from memory_core.store import Store
from memory_core.store.rows import (
    END_OF_UNIT,
    FileRow,
    OwedWindow,
    PreparedChunk,
    PreparedFile,
    chunks_without_tokens,
    count_owed,
    digest,
    find_space,
    owed_windows,
    serving_space,
)
from memory_core.store.vectors import VectorIndex

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

log = logging.getLogger(__name__)

CUT_VERSION = 1  # goes up whenever chunks, units or windows are cut differently
IDENTITY, SERVING, LEVEL, LAST_SYNC = "identity", "serving_space", "level", "last_sync"  # keys of meta
GENERATION = "generation"
_NOTE_SYNC_SECONDS = 60.0  # a sync that changed nothing is noted so often, so that most searches write nothing
_TOKEN_STEP = 256  # chunks whose tokens are computed and committed together
_EMBED_STEP = 4096  # texts handed to the provider together: bounds memory, far above every request's cap


def identity(chunking: Chunking) -> str:
    """What the text side of an index depends on; another value means that every file is cut again."""
    return json.dumps({"cut": CUT_VERSION, "tokens": chunking.tokens, "overlap": chunking.overlap})


@contextmanager
def sync_lock(store: Store, *, wait_seconds: float = 0.0) -> Iterator[None]:
    """The right to sync one index; an OS file lock, so it dies with its owner.

    Raises:
        SyncBusy: Another process, or another thread of this one, holds it.
        StoreReadOnly: The lock cannot be made.
    """
    path = store.path.with_name(store.path.name + ".lock")
    lock = FileLock(path, thread_local=False)
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock.acquire(timeout=wait_seconds)
    except Timeout as error:
        message = f"{store.path}: another process is bringing this index level"
        raise SyncBusy(message, action="try again in a moment") from error
    except OSError as error:
        raise StoreReadOnly(
            store.path,
            f"the index cannot be written ({error.strerror})",
            action="make its folder writable, or choose another place: memorySearch.store.path",
        ) from error
    try:
        yield
    finally:
        lock.release()


@dataclass(slots=True)
class _Tally:
    """Counts of one sync, as they come."""

    added: int = 0
    changed: int = 0
    removed: int = 0
    unchanged: int = 0
    embedded: int = 0
    cached: int = 0
    owed: int = 0
    failures: list[FileFailure] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


class Syncer:
    """One sync of one index. Make it, `run` it once, under `sync_lock`.

    Args:
        provider: None makes no embeddings: because none are wanted, or because of `problem`.
        problem: Why the provider that is configured could not be opened.
        stop: Looked at between files and between requests; once it is set, the sync ends with `SyncStopped`.
    """

    def __init__(
        self,
        config: AgentConfig,
        store: Store,
        provider: EmbeddingProvider | None,
        index: VectorIndex,
        *,
        problem: ProviderError | None = None,
        progress: ProgressCallback | None = None,
        stop: threading.Event | None = None,
    ) -> None:
        self._config = config
        self._store = store
        self._provider = provider
        self._problem = problem
        self._index = index
        self._report_progress = progress
        self._stop = stop
        self._tally = _Tally()

    def run(self, *, force: bool = False) -> SyncReport:
        """Compare, cut, store, embed.

        Raises:
            StoreError: The index cannot be written; what was committed stays good.
        """
        started = time.monotonic()
        with self._store.maintain():
            pass  # makes or migrates the file, so that it can be read
        reindexed = self._bring_text_level(force=force)
        self._bring_vectors_level()
        self._settle()
        report = self._report(reindexed, time.monotonic() - started)
        log.info(
            "sync of agent %s: %d files, %d added, %d changed, %d removed, %d embedded, %d owed, %d failed, %.2f s",
            self._config.agent, report.files, report.added, report.changed, report.removed,
            report.embedded, report.owed, len(report.failures), report.seconds,
        )  # fmt: skip
        return report

    def _progress(self, progress: Progress) -> None:
        """Tell how far it is; the place at which a sync can be stopped, since nothing is half done.

        Raises:
            SyncStopped: It was asked to stop.
        """
        if self._stop is not None and self._stop.is_set():
            raise SyncStopped("the memory was closed while it was being brought level")
        if self._report_progress is not None:
            self._report_progress(progress)

    # Text.

    def _bring_text_level(self, *, force: bool) -> bool:
        """Store the text of what changed; True when everything was cut anew."""
        listing = files.list_files(self._config)
        self._tally.failures += listing.failures
        known = self._known_files()
        wanted = identity(self._config.search.chunking)
        with self._store.read() as connection:
            held = connection.execute("SELECT value FROM meta WHERE key = ?", (IDENTITY,)).get
        if known and (force or held != wanted):
            self._rebuild(listing.files, known, wanted)
            return True
        if held != wanted:
            with self._store.write(content=False) as writer:
                writer.set_meta({IDENTITY: wanted})
        self._update(listing.files, known)
        return False

    def _known_files(self) -> dict[tuple[str, str], FileRow]:
        with self._store.read() as connection:
            rows = connection.execute("SELECT id, source, path, hash, mtime_ns, size, error FROM files")
            return {(row[1], row[2]): FileRow(*row) for row in rows}

    def _update(self, listed: Sequence[MemoryFile], known: dict[tuple[str, str], FileRow]) -> None:
        """Incremental: one transaction a file that changed."""
        gone = [row.id for key, row in known.items() if key not in {(file.source, file.path) for file in listed}]
        if gone:
            with self._store.write() as writer:
                writer.drop_files(gone)
            self._tally.removed = len(gone)
        todo = [file for file in listed if not _unchanged(file, known.get((file.source, file.path)))]
        self._tally.unchanged = len(listed) - len(todo)
        for number, file in enumerate(todo):
            self._progress(Progress(phase="files", done=number, total=len(todo), path=file.path))
            self._update_file(file, known.get((file.source, file.path)))
        if todo:
            self._progress(Progress(phase="files", done=len(todo), total=len(todo)))

    def _update_file(self, file: MemoryFile, row: FileRow | None) -> None:
        try:
            note = files.read_note(file)
        except FileUnreadable as error:
            self._fail(file, error.reason)
            with self._store.write() as writer:
                writer.set_file_error(file, error.reason)
            return
        if note.replaced:
            self._tally.warnings.append(f"{file.path}: bytes that are not UTF-8 were replaced")
        if row is not None and row.hash == note.hash:
            self._tally.unchanged += 1
            with self._store.write() as writer:
                writer.touch_file(row.id, mtime_ns=note.mtime_ns, size_bytes=note.size_bytes)
            return
        prepared = prepare(file, note, self._config.search.chunking)
        with self._store.write() as writer:
            writer.put_file(prepared)
        if row is None or not row.hash:
            self._tally.added += 1
        else:
            self._tally.changed += 1

    def _rebuild(self, listed: Sequence[MemoryFile], known: dict[tuple[str, str], FileRow], wanted: str) -> None:
        """Cut every file anew while the old index serves, then replace it in one transaction.

        Files that cannot be read keep their old rows.
        """
        prepared: list[PreparedFile] = []
        for number, file in enumerate(listed):
            self._progress(Progress(phase="files", done=number, total=len(listed), path=file.path))
            try:
                prepared.append(prepare(file, files.read_note(file), self._config.search.chunking))
            except FileUnreadable as error:
                self._fail(file, error.reason)
        self._embed_ahead(prepared)
        failed = {failure.path: failure.reason for failure in self._tally.failures}
        listed_keys = {(file.source, file.path) for file in listed}
        with self._store.write() as writer:
            writer.drop_files(row.id for key, row in known.items() if key not in listed_keys or key[1] not in failed)
            for item in prepared:
                writer.put_file(item)
            for file in listed:
                if file.path in failed:
                    writer.set_file_error(file, failed[file.path])
            writer.set_meta({IDENTITY: wanted})
        self._tally.changed = len(prepared)
        self._tally.removed = sum(1 for key in known if key not in listed_keys)
        self._progress(Progress(phase="files", done=len(listed), total=len(listed)))

    def _fail(self, file: MemoryFile, reason: str) -> None:
        log.warning("%s stays as it was: %s", file.path, reason)
        self._tally.failures.append(FileFailure(path=file.path, reason=reason))

    # Vectors.

    def _embed_ahead(self, prepared: Iterable[PreparedFile]) -> None:
        """Before a rebuild is switched to: embed what the new cut needs and the cache lacks."""
        if self._provider is None:
            return
        wanted: dict[bytes, str] = {}
        for item in prepared:
            for chunk in item.chunks:
                for window in chunk.windows:
                    wanted.setdefault(digest(window.text), window.text)
        space = self._provider.space
        with self._store.write() as writer:
            space_id = writer.space_id(space)
        with self._store.read() as connection:
            have = {
                row[0] for row in connection.execute("SELECT hash FROM embedding_cache WHERE space_id = ?", (space_id,))
            }
        self._embed(space_id, [OwedWindow(key, text) for key, text in wanted.items() if key not in have])

    def _bring_vectors_level(self) -> None:
        """Embed what is owed in the configured space, and let that space serve once all of it was tried."""
        if self._provider is None:
            self._do_without_provider()
            return
        space_id, serving, level = self._spaces(self._provider.space)
        if level:
            return
        with self._store.read() as connection:
            owed = list(owed_windows(connection, space_id))
            windows = int(connection.execute("SELECT count(DISTINCT hash) FROM windows").get)
        self._tally.cached += windows - len(owed)
        if serving is None:  # nothing served before: every piece counts at once
            self._note({SERVING: str(space_id)})
        reached = self._embed(space_id, owed)
        if isinstance(self._provider, TokenModel):
            self._fill_tokens(self._provider)
        if reached:
            self._note({SERVING: str(space_id)})
            self._note_level(space_id)

    def _spaces(self, space: Space) -> tuple[int, int | None, bool]:
        """The ids of the configured space and of the one that serves, and whether nothing is owed in the first."""
        with self._store.read() as connection:
            space_id = find_space(connection, space)
            serving = serving_space(connection)
            level, generation = (
                connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).get for key in (LEVEL, GENERATION)
            )
        if space_id is None:
            with self._store.write(content=False) as writer:
                space_id = writer.space_id(space)
        return space_id, None if serving is None else serving[0], level == f"{generation}:{space_id}"

    def _note(self, values: Mapping[str, str | None]) -> None:
        with self._store.write(content=False) as writer:
            writer.set_meta(values)

    def _note_level(self, space_id: int) -> None:
        """Nothing is owed at this generation: syncs that find no changed file need not look again."""
        with self._store.write(content=False) as writer:
            self._index.level_bits(writer.connection, space_id)
            generation = writer.connection.execute("SELECT value FROM meta WHERE key = ?", (GENERATION,)).get
            writer.set_meta({LEVEL: f"{generation}:{space_id}"})

    def _do_without_provider(self) -> None:
        """Count what is owed to a provider that could not be opened; with "none", no space serves any more."""
        with self._store.read() as connection:
            serving = serving_space(connection)
            if self._problem is not None:
                self._tally.owed = count_owed(connection, serving[0] if serving else None)
                self._tally.warnings.append(str(self._problem))
        if self._problem is None and serving is not None:
            self._note({SERVING: None, LEVEL: None})

    def _embed(self, space_id: int, owed: Sequence[OwedWindow]) -> bool:
        """Embed and commit piece by piece; False when the provider as a whole is out of order."""
        assert self._provider is not None
        done = 0
        for first in range(0, len(owed), _EMBED_STEP):
            step = owed[first : first + _EMBED_STEP]
            try:
                for offset, rows in self._provider.embed_documents([window.text for window in step]):
                    with self._store.write() as writer:
                        writer.put_embeddings(space_id, _stored(step[offset : offset + len(rows)], rows))
                    done += len(rows)
                    self._progress(Progress(phase="embeddings", done=done, total=len(owed)))
            except ProviderError as error:
                self._tally.owed = len(owed) - done
                self._tally.warnings.append(f"{self._tally.owed} texts wait for their embedding ({error})")
                log.warning("embeddings are owed: %s", error)
                self._tally.embedded += done
                return False
        self._tally.embedded += done
        return True

    def _fill_tokens(self, model: TokenModel) -> None:
        """Token ids of the units of new chunks, for late interaction."""
        with self._store.read() as connection:
            missing = list(chunks_without_tokens(connection))
        for first in range(0, len(missing), _TOKEN_STEP):
            step = missing[first : first + _TOKEN_STEP]
            ids = iter(model.token_ids([text for _, texts in step for text in texts]))
            packed = [(chunk_id, _packed_tokens([next(ids) for _ in texts])) for chunk_id, texts in step]
            with self._store.write() as writer:
                writer.put_tokens(packed)

    # The end.

    def _settle(self) -> None:
        """Housekeeping after a change: eviction, freed pages, the write-ahead log; and the time of this sync."""
        changed = bool(self._tally.added or self._tally.changed or self._tally.removed)
        with self._store.read() as connection:
            noted = connection.execute("SELECT value FROM meta WHERE key = ?", (LAST_SYNC,)).get
        now = time.time()
        if changed or noted is None or not 0 <= now - float(noted) < _NOTE_SYNC_SECONDS:
            self._note({LAST_SYNC: f"{now:.3f}"})
        if changed:
            self._clean_up()

    def _clean_up(self) -> None:
        cache = self._config.search.cache
        with self._store.write(content=False) as writer:
            writer.evict_embeddings(keep=cache.max_entries if cache.enabled else 0)
        with self._store.maintain() as connection:
            connection.execute("PRAGMA incremental_vacuum").fetchall()
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def _report(self, reindexed: bool, seconds: float) -> SyncReport:
        with self._store.read() as connection:
            count_files = int(connection.execute("SELECT count(*) FROM files WHERE hash <> x''").get)
            count_chunks = int(connection.execute("SELECT count(*) FROM chunks").get)
        tally = self._tally
        return SyncReport(
            files=count_files, chunks=count_chunks, added=tally.added, changed=tally.changed, removed=tally.removed,
            unchanged=tally.unchanged, embedded=tally.embedded, cached=tally.cached, owed=tally.owed,
            failures=tuple(tally.failures), warnings=tuple(tally.warnings), reindexed=reindexed, seconds=seconds,
        )  # fmt: skip


def prepare(file: MemoryFile, note: files.NoteText, chunking: Chunking) -> PreparedFile:
    """Cut one note: chunks, their units, the windows to embed. Pure."""
    date = files.note_date(file.path, note.text)
    cut = []
    for chunk in chunks.split_chunks(note.text, chunking, date=date):
        own = tuple(units.split_units(chunk.text, skip_lines=chunk.overlap_lines))
        cut.append(PreparedChunk(chunk, own, tuple(units.split_windows(chunk.text, own))))
    return PreparedFile(
        file=file, hash=note.hash, size_bytes=note.size_bytes, mtime_ns=note.mtime_ns, date=date, chunks=tuple(cut)
    )


def _unchanged(file: MemoryFile, row: FileRow | None) -> bool:
    return row is not None and row.error is None and (row.mtime_ns, row.size_bytes) == (file.mtime_ns, file.size_bytes)


def _stored(step: Sequence[OwedWindow], rows: NDArray[np.float32]) -> Iterator[tuple[bytes, bytes]]:
    for window, row in zip(step, rows.astype("<f4", copy=False), strict=True):
        yield window.hash, row.tobytes()


def _packed_tokens(units_ids: Iterable[Sequence[int]]) -> bytes:
    from array import array

    packed = array("H")
    for ids in units_ids:
        packed.extend(ids)
        packed.append(END_OF_UNIT)
    return packed.tobytes()
