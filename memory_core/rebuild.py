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

FILES_STEP = 16  # files that are committed together


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
        failed: dict[tuple[str, str], str] = {}
        for first in range(0, len(listed), FILES_STEP):
            self._fill(listed[first : first + FILES_STEP], failed, done=first, total=len(listed))
        self._take_over(kept)
        Backfill(work).ahead()
        log.debug("switching to the new tables")
        with work.store.write() as writer:
            building.switch(writer.connection)
            writer.set_meta({IDENTITY: identity})
        work.step(Progress(phase="files", done=len(listed), total=len(listed)))

    def _fill(self, step: Sequence[MemoryFile], failed: dict[tuple[str, str], str], *, done: int, total: int) -> None:
        work = self._work
        prepared: list[PreparedFile] = []
        for number, file in enumerate(step):
            work.step(Progress(phase="files", done=done + number, total=total, path=file.path))
            try:
                prepared.append(self._cut(file))
                work.tally.changed += 1
            except FileUnreadable as error:
                if work.failed(file, error):
                    failed[file.source, file.path] = error.reason
                prepared += self._held(file)
        with work.store.write(content=False) as writer:
            target = writer.building()
            for item in prepared:
                target.put_file(item)
            for file in step:
                if (file.source, file.path) in failed:
                    target.set_file_error(file, failed[file.source, file.path])

    def _take_over(self, kept: Sequence[MemoryFile]) -> None:
        for file in kept:
            held = self._held(file)
            with self._work.store.write(content=False) as writer:
                for item in held:
                    writer.building().put_file(item)

    def _held(self, file: MemoryFile) -> list[PreparedFile]:
        """A file as the index that serves holds it; empty when it does not."""
        with self._work.store.read() as connection:
            held = prepared_from_index(connection, file)
        return [] if held is None else [held]
