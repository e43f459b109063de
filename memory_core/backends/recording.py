"""Records in the history what a sync has changed in the index."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

from memory_core.errors import MemoryCoreError
from memory_core.history.history import History
from memory_core.history.moments import NoteKey
from memory_core.records import MemoryFile
from memory_core.sources import session_logs
from memory_core.sources.notes import NoteText
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
        writer: Of the index.
        history: Where it is recorded.
    """

    def __init__(self, writer: StoreWriter, history: History) -> None:
        self._writer = writer
        self._history = history
        self._recorded: str | None = None  # the generation that was recorded last, as far as this process knows

    def record(
        self, listed: Sequence[MemoryFile] | None, read: Mapping[tuple[str, str], NoteText], *, asked: bool
    ) -> tuple[str, ...]:
        """Record the notes of the index if they have changed since the last time, or if there is no history of them."""
        warnings: list[str] = []
        looked = self._history.enabled and self._record(listed, read, warnings, asked=asked)
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
        self,
        listed: Sequence[MemoryFile] | None,
        read: Mapping[tuple[str, str], NoteText],
        warnings: list[str],
        *,
        asked: bool,
    ) -> bool:
        """Record, or add to the warnings why that failed; return True if the history file was looked into for deletions."""
        looked = False
        try:
            if asked and (aside := self._history.mend()) is not None:
                warnings.append(f"the history was damaged: a new one begins, the old file is {aside}")
            generation = self._writer.read_generation()
            if generation != self._recorded or not self._history.exists():
                looked = self._catch_up(generation, listed, read)
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

    def _catch_up(
        self, generation: str, listed: Sequence[MemoryFile] | None, read: Mapping[tuple[str, str], NoteText]
    ) -> bool:
        """Record the notes of a generation, without session logs; return False if they were recorded before."""
        is_whole = was_recorded = self._history.read_recorded() == generation
        if not was_recorded:
            hashes = {
                NoteKey(*key): content for key, content in self._writer.list_hashes() if key[0] != session_logs.SOURCE
            }
            is_whole = self._history.record(hashes, generation, listed=listed or (), read=read)
        self._recorded = generation if is_whole else None
        return not was_recorded
