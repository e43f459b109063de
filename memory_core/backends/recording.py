"""Records in the history what a sync has changed in the index."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from memory_core.backends.index import Changed
from memory_core.config.agent import AgentConfig
from memory_core.errors import MemoryCoreError
from memory_core.history.history import History
from memory_core.history.records import IndexedNote, NoteKey
from memory_core.records import MemoryFile
from memory_core.sources.files import list_files
from memory_core.stores.sqlite.writer import StoreWriter

log = logging.getLogger(__name__)

WIPE_SECONDS = 5.0  # that a sync which somebody asked for waits for readers, each of the index and the history
NOT_WIPED = (
    "text that was deleted from the past is still in the files, because another program reads them;"
    " run memory-core index again to overwrite it"
)


class HistoryRecorder:
    """Implements `serving.index.Recorder`.

    Args:
        config: The agent's.
        writer: Of the index.
        history: Where it is recorded.
    """

    def __init__(self, config: AgentConfig, writer: StoreWriter, history: History) -> None:
        self._config = config
        self._writer = writer
        self._history = history
        self._recorded: str | None = None  # the generation that was recorded last, as far as this process knows

    def record(self, listed: Sequence[MemoryFile] | None, changed: Changed | None, *, asked: bool) -> tuple[str, ...]:
        """Record the notes of the index if they have changed since the last time, or if there is no history of them."""
        warnings: list[str] = []
        looked = self._history.enabled and self._record(listed, changed, warnings, asked=asked)
        try:
            if ((asked and not looked) or self._history.has_deleted) and not self._wipe(
                seconds=WIPE_SECONDS if asked else 0.0
            ):
                warnings.append(NOT_WIPED)
        except (MemoryCoreError, OSError) as error:
            log.warning("deleted text is not overwritten, the next sync tries again: %s", error)
            if self._history.enabled and not warnings:
                warnings.append(f"deleted text is not overwritten yet: {error}")
        return tuple(warnings)

    def _record(
        self, listed: Sequence[MemoryFile] | None, changed: Changed | None, warnings: list[str], *, asked: bool
    ) -> bool:
        """Record, or add to the warnings why that failed; return True if the history file was looked into for deletions."""
        looked = False
        try:
            if asked and (aside := self._history.mend()) is not None:
                warnings.append(f"the history was damaged: a new one begins, the old file is {aside}")
            generation = self._writer.read_generation()
            if generation != self._recorded or not self._history.exists():
                looked = self._catch_up(generation, listed, changed)
            self._history.prune(asked=asked)
        except (MemoryCoreError, OSError) as error:
            log.warning("the history is not recorded, the next sync tries again: %s", error)
            warnings.append(f"the history is not recorded: {error}; {getattr(error, 'action', '')}".rstrip("; "))
        return looked

    def _wipe(self, *, seconds: float) -> bool:
        """Overwrite in the index and the history what was deleted from the past; return False while something reads them."""
        deletions = self._history.deletions
        mark = deletions.load_mark()
        if mark is None:
            return True
        if mark[0] == "purged":  # what a vector tells of its text
            self._writer.evict_embeddings(keep=0)
        if not (self._writer.wipe(seconds=seconds) and deletions.wipe(seconds=seconds)):
            return False
        deletions.remove_mark(mark)
        return True

    def close(self) -> None:
        """Close the history until it is needed again."""
        self._history.close()

    def _catch_up(self, generation: str, listed: Sequence[MemoryFile] | None, changed: Changed | None) -> bool:
        """Record the notes of a generation; return False if they were recorded before."""
        since = None if changed is None else changed.since
        recorded = since if since is not None and since == self._recorded else self._history.read_recorded()
        is_whole = recorded == generation
        if not is_whole and changed is not None and since == recorded:
            is_whole = self._record_changed(changed, generation)
        if not is_whole:
            is_whole = self._history.record(self._collect_notes(listed), generation)
        self._recorded = generation if is_whole else None
        return recorded != generation

    def _record_changed(self, changed: Changed, generation: str) -> bool:
        """Record some notes; return False where all have to be recorded."""
        keys = [NoteKey(*key) for key in changed.files if key[0] != "sessions"]
        hashes = self._writer.find_hashes(keys)
        notes = {
            key: IndexedNote(hashes[key], changed.files[key], changed.read.get(key)) for key in keys if key in hashes
        }
        return self._history.record(notes, generation, only=keys)

    def _collect_notes(self, listed: Sequence[MemoryFile] | None) -> dict[NoteKey, IndexedNote]:
        """Return the notes of the index, without session logs, with their files as they were listed."""
        if listed is None:
            listed = list_files(self._config).files
        files = {(file.source, file.path): file for file in listed}
        return {
            NoteKey(*key): IndexedNote(content, files.get(key))
            for key, content in self._writer.list_hashes()
            if key[0] != "sessions"
        }
