"""Cuts every file anew into an index beside the one that serves, and switches to it in one transaction."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from memory_core.errors import FileUnreadable
from memory_core.records import MemoryFile, Progress
from memory_core.stores.interface import StagedIndex
from memory_core.stores.values import PreparedFile, StagedFile
from memory_core.sync.backfill import Backfill
from memory_core.sync.context import SyncContext

log = logging.getLogger(__name__)

FILES_STEP = 16  # files that are committed together, unless they are long
CHUNKS_STEP = 1000  # chunks after which is committed: 16,000 at once kept another writer waiting for 1.5 s


class Rebuild:
    """One rebuild. When it is stopped, at any point, its index serves nobody, and the next sync discards it.

    Args:
        context: The sync that it is part of.
        cut: Reads and cuts one file; raises FileUnreadable.
    """

    def __init__(self, context: SyncContext, cut: Callable[[MemoryFile], PreparedFile]) -> None:
        self._context = context
        self._cut = cut

    def run(self, listed: Sequence[MemoryFile], kept: Sequence[MemoryFile], identity: str) -> None:
        """Fill a new index, embed what it needs, switch to it.

        Args:
            listed: The files to cut.
            kept: Files that cannot be looked at now; they are taken over from the index that serves.
            identity: Of the new index.
        """
        staged = self._context.store.begin_rebuild()
        self._fill(staged, listed)
        for file in kept:
            staged.put_files([StagedFile(file, self._context.store.load_file(file))])
        Backfill(self._context).embed_staged(staged)
        log.debug("switching to the new tables")
        staged.switch(identity=identity)
        self._context.report_progress(Progress(phase="files", done=len(listed), total=len(listed)))

    def _fill(self, staged: StagedIndex, listed: Sequence[MemoryFile]) -> None:
        """Cut all files; take over those that cannot be read, with the reason."""
        context = self._context
        waiting: list[StagedFile] = []
        for number, file in enumerate(listed):
            context.report_progress(Progress(phase="files", done=number, total=len(listed), path=file.path))
            try:
                waiting.append(StagedFile(file, self._cut(file)))
                context.counts.changed += 1
            except FileUnreadable as error:
                reason = error.reason if context.record_failure(file, error) else None
                waiting.append(StagedFile(file, context.store.load_file(file), reason))
            chunks = sum(len(item.prepared.chunks) for item in waiting if item.prepared)
            if len(waiting) >= FILES_STEP or chunks >= CHUNKS_STEP:
                staged.put_files(waiting)
                waiting = []
        staged.put_files(waiting)
