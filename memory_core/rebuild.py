"""Cuts every file anew beside the index that serves, and switches in one transaction."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from memory_core.backfill import Backfill
from memory_core.errors import FileUnreadable
from memory_core.records import MemoryFile, Progress
from memory_core.store import building
from memory_core.store.rows import PreparedFile, prepared_from_index
from memory_core.work import IDENTITY, Work

log = logging.getLogger(__name__)

FILES_STEP = 16  # files that are committed together, unless they are long
CHUNKS_STEP = 1000  # chunks after which is committed: 16,000 at once kept another writer waiting for 1.5 s


class Rebuild:
    """One rebuild. Stopped at any point it leaves tables that serve nobody; the next sync drops them.

    Args:
        work: The sync that it is part of.
        cut: Reads and cuts one file; raises FileUnreadable.
    """

    def __init__(self, work: Work, cut: Callable[[MemoryFile], PreparedFile]) -> None:
        self._work = work
        self._cut = cut

    def run(self, listed: Sequence[MemoryFile], kept: Sequence[MemoryFile], identity: str) -> None:
        """Fill the new tables, embed what they need, switch.

        Args:
            listed: The files to cut.
            kept: Files that cannot be looked at now; they are taken over from the index.
            identity: Of the new index.
        """
        work = self._work
        with work.store.write(content=False) as writer:
            building.start(writer.connection)
        self._fill(listed)
        self._take_over(kept)
        Backfill(work).ahead()
        log.debug("switching to the new tables")
        with work.store.write() as writer:
            building.switch(writer.connection)
            writer.set_meta({IDENTITY: identity})
        work.step(Progress(phase="files", done=len(listed), total=len(listed)))

    def _fill(self, listed: Sequence[MemoryFile]) -> None:
        """Cut all files; those that cannot be read are taken over with the reason."""
        work = self._work
        ready: list[tuple[PreparedFile | None, MemoryFile, str | None]] = []
        for number, file in enumerate(listed):
            work.step(Progress(phase="files", done=number, total=len(listed), path=file.path))
            try:
                ready.append((self._cut(file), file, None))
                work.tally.changed += 1
            except FileUnreadable as error:
                reason = error.reason if work.failed(file, error) else None
                ready.append((self._held(file), file, reason))
            if len(ready) >= FILES_STEP or sum(len(item.chunks) for item, _, _ in ready if item) >= CHUNKS_STEP:
                self._put(ready)
                ready = []
        self._put(ready)

    def _put(self, ready: Sequence[tuple[PreparedFile | None, MemoryFile, str | None]]) -> None:
        with self._work.store.write(content=False) as writer:
            target = writer.building()
            for prepared, file, reason in ready:
                if prepared is not None:
                    target.put_file(prepared)
                if reason is not None:
                    target.set_file_error(file, reason)

    def _take_over(self, kept: Sequence[MemoryFile]) -> None:
        for file in kept:
            self._put([(self._held(file), file, None)])

    def _held(self, file: MemoryFile) -> PreparedFile | None:
        """A file as the index that serves holds it; None when it does not."""
        with self._work.store.read() as connection:
            return prepared_from_index(connection, file)
