"""The index and its history: syncs record in it, and questions are answered from the notes as they stood once.

For such a question, a private copy of the index, in memory, is brought back to that moment by the code that syncs it: notes
that stood otherwise are cut from their old versions, the others keep their rows, and embeddings are those of the cache where
it has them.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from memory_core.config.agent import AgentConfig
from memory_core.embeddings.failover import Providers
from memory_core.errors import MemoryCoreError
from memory_core.history.history import History
from memory_core.history.moments import Moment, Version
from memory_core.records import FileKey, FileStamp, Hit, MemoryFile, Successor
from memory_core.sources import pages, session_logs
from memory_core.sources.roots import find_roots
from memory_core.stores.interface import Writer
from memory_core.stores.sqlite.files import ASIDE
from memory_core.stores.sqlite.store import PrivateStore, SqliteStore
from memory_core.stores.values import PreparedFile
from memory_core.sync.backfill import Backfill, calibrate
from memory_core.sync.context import SyncContext
from memory_core.sync.syncer import CHUNKS_STEP, cut, make_identity

log = logging.getLogger(__name__)

MOST_KEPT = 2  # states that are kept for the next question
MOST_BYTES = 256 * 1024 * 1024  # an index above this size is kept once
WIPE_SECONDS = 5.0  # that a sync which somebody asked for waits for readers, each of the index and the history
NOT_WIPED = (
    "text that was deleted from the past is still in the files, because another program reads them;"
    " run memory-core index again to overwrite it"
)


def wipe_index(path: Path) -> Iterator[str]:
    """Overwrite in an index what syncs have dropped; yield a sentence on each thing that may hold it all the same.

    Raises:
        MemoryCoreError: The index cannot be written.
    """
    aside = Path(f"{path}{ASIDE}")
    if aside.exists():
        yield f"{aside} was damaged and set aside: delete it"
    if not path.exists():
        return
    with closing(SqliteStore(path)) as store:
        with store.lock(wait_seconds=WIPE_SECONDS), store.write() as writer:
            writer.tidy(keep=0)  # a vector tells of its text
        if not store.wipe(seconds=WIPE_SECONDS):
            yield "its bytes are still in the index, because another program reads it: run this command again later"


class HistoryRecorder:
    """Records in the history what a sync has changed in the index.

    Args:
        store: The index.
        history: Where it is recorded.
    """

    def __init__(self, store: SqliteStore, history: History) -> None:
        self._store = store
        self._history = history
        self._recorded: str | None = None  # the generation that was recorded last, as far as this process knows

    def record(self, sync: SyncContext, *, asked: bool) -> tuple[str, ...]:
        """Record the notes of the index if they have changed since the last time, or if there is no history of them.

        Called under the lock of the syncs; never fails the sync.

        Args:
            sync: It has ended.
            asked: Somebody asked for this sync: the history is looked at for damage, and what is too old is dropped.

        Returns:
            A sentence on each thing that is wrong with the history.
        """
        warnings: list[str] = []
        looked = self._history.enabled and self._record(sync, warnings, asked=asked)
        try:
            if ((asked and not looked) or self._history.pending) and not self._wipe(
                seconds=WIPE_SECONDS if asked else 0.0
            ):
                warnings.append(NOT_WIPED)
        except (MemoryCoreError, OSError) as error:
            log.warning("deleted text is not overwritten, the next sync tries again: %s", error)
            if self._history.enabled and not warnings:
                warnings.append(f"deleted text is not overwritten yet: {error}")
        return tuple(warnings)

    def _record(self, sync: SyncContext, warnings: list[str], *, asked: bool) -> bool:
        """Record, or add to the warnings why that failed; return True if the history file was looked into for deletions."""
        looked = False
        try:
            if asked and (aside := self._history.mend()) is not None:
                warnings.append(f"the history was damaged: a new one begins, the old file is {aside}")
            if sync.generation != self._recorded or not self._history.exists():
                looked = self._catch_up(sync)
            self._history.prune(asked=asked)
        except (MemoryCoreError, OSError) as error:
            log.warning("the history is not recorded, the next sync tries again: %s", error)
            warnings.append(f"the history is not recorded: {error}; {getattr(error, 'action', '')}".rstrip("; "))
        return looked

    def _wipe(self, *, seconds: float) -> bool:
        """Overwrite in the index and the history what was deleted from the past; return False while something reads them."""
        mark = self._history.load_mark()
        if mark is None:
            return True
        if mark.startswith("purged:"):  # what a vector tells of its text
            with self._store.write() as writer:
                writer.tidy(keep=0)
        if not (self._store.wipe(seconds=seconds) and self._history.wipe(seconds=seconds)):
            return False
        self._history.remove_mark(mark)
        return True

    def close(self) -> None:
        """Close the history until it is needed again."""
        self._history.close()

    def _catch_up(self, sync: SyncContext) -> bool:
        """Record the notes that a sync has left, without session logs; return False if they were recorded before."""
        is_whole = was_recorded = self._history.read_recorded() == sync.generation
        if not was_recorded:
            held = sync.held
            if held is None:
                with self._store.read() as reader:
                    held = reader.list_files()
            hashes = {row.key: row.hash for row in held if row.hash and row.source != session_logs.SOURCE}
            is_whole = self._history.record(hashes, sync.generation, listed=sync.files, read=sync.read)
        self._recorded = sync.generation if is_whole else None
        return not was_recorded


class PastIndex(NamedTuple):
    """The index of the notes as they stood at one moment.

    Attributes:
        key: Equal for the same notes, as they are served now.
        store: The copy of the index.
        moment: Theirs.
        versions: Those that stood, by note.
        config: The agent's.
        history: Keeps their texts.
    """

    key: object
    store: PrivateStore
    moment: Moment
    versions: Mapping[FileKey, Version]
    config: AgentConfig
    history: History

    def compare_now(self, hit: Hit) -> Hit:
        """Return a hit with what became of it since then, and the line that took its place."""
        from memory_core.history.notes import find_edit, find_now

        version = self.versions[FileKey(hit.source, hit.path)]
        past, text = self.history.load_text(version).text.split("\n"), pages.find_text(self.config, hit.path)
        now = None if text is None else text.split("\n")
        found = find_now(
            past, now, hit.start_line, hit.end_line, max_chars=self.config.search.query.max_snippet_chars
        )  # fmt: skip
        edit = None if now is None or found.status != "changed" else find_edit(past, now, hit.start_line, hit.end_line)
        if edit is None or now is None:
            return replace(hit, now=found)
        old, new = edit
        since = self.history.find_replacement(version, past[old - 1])
        told = None if since is None else since.at.astimezone().isoformat(timespec="milliseconds")
        newer = Successor(hit.path, new, now[new - 1].strip(), told, because="edit", replaces=old)
        return replace(hit, now=found, superseded_by=newer)


class IndexStates:
    """Answers from the notes as they stood. Used from several threads, which take turns.

    Args:
        config: The agent's.
        store: The index as it stands.
        history: The old versions of its notes.
    """

    def __init__(self, config: AgentConfig, store: SqliteStore, history: History) -> None:
        self._config = config
        self._store = store
        self._history = history
        self._lock = threading.Lock()
        self._kept: list[PastIndex] = []

    @contextmanager
    def read(self, instant: datetime, providers: Providers) -> Iterator[PastIndex]:
        """Hand out the index of the last moment before an instant.

        Args:
            instant: The time asked for.
            providers: Make embeddings, where some are missing.

        Raises:
            HistoryUnavailable: The history does not reach back so far.
            NotIndexed: There is no index yet.
            StoreError: The index or the history cannot be read.
        """
        with self._lock:
            yield self._find(self._history.find_moment(instant), providers)

    def close(self) -> None:
        """Let go of what is kept; may be called twice."""
        with self._lock:
            kept, self._kept = self._kept, []
        for state in kept:
            state.store.close()

    def _find(self, moment: Moment, providers: Providers) -> PastIndex:
        """Return the index of a moment, which is made if it is not kept; the last one asked for is kept longest."""
        with self._store.read() as reader:
            serving = reader.load_serving_space()
        roots = tuple(
            (root.source, root.configured, root.shown, root.problem, root.find_vaults())
            for root in find_roots(self._config)
        )
        versions = self._history.list_alive(moment)
        # It changes with any of their bytes.
        signed = frozenset((version.id, version.hash) for version in versions.values())
        key = (moment.id, signed, serving, roots)
        state = next((each for each in self._kept if each.key == key), None)
        if state is None:
            unserved = pages.find_unserved(self._config, [note.path for note in versions])  # by today's configuration
            versions = {note: version for note, version in versions.items() if note.path not in unserved}
            state = PastIndex(key, self._make(versions, providers), moment, versions, self._config, self._history)
        else:
            self._kept.remove(state)
        self._kept.append(state)
        most = MOST_KEPT if self._store.path.stat().st_size <= MOST_BYTES else 1
        while len(self._kept) > most:
            self._kept.pop(0).store.close()
        return state

    def _make(self, versions: Mapping[FileKey, Version], providers: Providers) -> PrivateStore:
        store = PrivateStore(self._store)
        try:
            active = providers.choose_for_sync(providers.outages.current(), at_once=False)
            context = SyncContext(config=self._config, store=store, provider=active.provider)
            backfill = Backfill(context)
            with store.write() as writer:
                backfill.look(writer.load_state(), writer.list_spaces())
                first = self._bring_back(writer, versions)
                since = first if backfill.is_complete else 0
                if context.provider is not None:
                    backfill.plan(writer, since)
            if context.provider is not None:
                backfill.run(since)
                with store.write() as writer:
                    if (serving := writer.load_state().serving) is not None:
                        calibrate(writer, serving, context.provider, anew=True)
        except BaseException:
            store.close()
            raise
        return store

    def _bring_back(self, writer: Writer, versions: Mapping[FileKey, Version]) -> int | None:
        """Make the copy hold these versions, and nothing else; return the lowest id of the chunks that are new."""
        chunking = self._config.search.chunking
        is_cut_alike = writer.load_state().identity == make_identity(chunking)
        rows = {row.key: row for row in writer.list_files()}
        writer.drop_files([row.id for key, row in rows.items() if key not in versions])
        other = (
            version for key, version in versions.items()
            if not (key in rows and rows[key].hash == version.hash and is_cut_alike)
        )  # fmt: skip
        waiting: list[PreparedFile] = []
        inserted: list[int | None] = []
        chunks = 0
        for version, note in self._history.load_texts(other):
            file = MemoryFile(
                source=version.key.source, path=version.key.path, real_path=Path(), in_vault=version.in_vault,
                stamp=FileStamp(note.stamp.size_bytes, version.mtime_ns),
            )  # fmt: skip
            waiting.append(cut(file, note, chunking))
            chunks += len(waiting[-1].chunks)
            if chunks >= CHUNKS_STEP:
                inserted.append(writer.put_files(waiting))
                waiting, chunks = [], 0
        inserted.append(writer.put_files(waiting))
        return min((each for each in inserted if each is not None), default=None)
