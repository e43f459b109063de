"""A rebuild: files are cut anew in this process's memory, and take the place of the old rows in one transaction."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from memory_core.records import MemoryFile
from memory_core.stores.values import PendingWindow, PreparedChunk, PreparedFile, StagedFile, digest, slice_units

if TYPE_CHECKING:
    from memory_core.stores.postgres.writer import PostgresWriter


class StagedNotes:
    """Implements `StagedIndex`. Some 150 MB for 100,000 chunks; nothing of it is on the server before the switch."""

    def __init__(self, writer: PostgresWriter) -> None:
        self._writer = writer
        self._files: list[PreparedFile] = []
        self._errors: list[tuple[MemoryFile, str]] = []
        self._chunks: list[PreparedChunk] = []

    def put_files(self, files: Sequence[StagedFile]) -> None:
        """See `StagedIndex`."""
        for item in files:
            if item.prepared is not None:
                self._files.append(item.prepared)
                self._chunks += item.prepared.chunks
            if item.error is not None:
                self._errors.append((item.file, item.error))

    def find_pending_windows(
        self, space_id: int | None, *, step: int, tokens: bool = False
    ) -> Iterator[Sequence[PendingWindow]]:
        """See `IndexedText`."""
        windows = self._list_windows()
        while several := [*itertools.islice(windows, step)]:
            held = (
                set()
                if space_id is None
                else self._writer.find_embedded(space_id, [window.hash for window in several], tokens=tokens)
            )
            if found := [window for window in several if window.hash not in held]:
                yield found

    def count_pending(self, space_id: int | None, *, tokens: bool = False) -> int:
        """See `IndexedText`."""
        return sum(len(found) for found in self.find_pending_windows(space_id, step=1000, tokens=tokens))

    def switch(self, *, identity: str) -> None:
        """See `StagedIndex`."""
        self._writer.replace_all(self._files, self._errors, identity=identity)

    def _list_windows(self) -> Iterator[PendingWindow]:
        seen: set[bytes] = set()
        for item in self._chunks:
            for window in item.windows:
                key = digest(window.text)
                if key not in seen:
                    seen.add(key)
                    yield PendingWindow(key, slice_units(item.chunk.text, item.units[window.first : window.last + 1]))
