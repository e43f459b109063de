"""A store over plain dicts: implements the interface of `memory_core.stores.interface` without an engine, in one process."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeVar

from memory_core.embeddings.protocols import TokenEmbedding
from memory_core.errors import SyncBusy
from memory_core.records import Calibration, FileStamp, MemoryFile, Space
from memory_core.stores.values import (
    EmbeddedWindows,
    IndexedFile,
    PendingWindow,
    PreparedChunk,
    PreparedFile,
    StagedFile,
    SyncState,
    TargetSpace,
    digest,
    slice_units,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FileKey = tuple[str, str]


Item = TypeVar("Item")


@dataclass
class _Row:
    """One file: what was prepared, if it ever could be read, with the ids of its chunks."""

    id: int
    file: MemoryFile
    prepared: PreparedFile | None = None
    chunks: dict[int, PreparedChunk] = field(default_factory=dict)
    error: str | None = None


class PlainText:
    """Implements `IndexedText`."""

    def __init__(self, store: PlainStore) -> None:
        self.store = store
        self.rows: dict[FileKey, _Row] = {}

    @property
    def windows(self) -> list[PendingWindow]:
        return [
            PendingWindow(digest(window.text), slice_units(item.chunk.text, item.units[window.first : window.last + 1]))
            for row in self.rows.values()
            for item in row.chunks.values()
            for window in item.windows
        ]

    def find_pending_windows(
        self, space_id: int | None, *, step: int, tokens: bool = False
    ) -> Iterator[Sequence[PendingWindow]]:
        yield from _cut_in_steps(self._list_pending(space_id, tokens=tokens), step)

    def count_pending(self, space_id: int | None, *, tokens: bool = False) -> int:
        return len(self._list_pending(space_id, tokens=tokens))

    def _list_pending(self, space_id: int | None, *, tokens: bool) -> list[PendingWindow]:
        texts = {window.hash: window for window in self.windows}
        held = set() if space_id is None else self.store.find_embedded(space_id, texts, tokens=tokens)
        return [window for key, window in texts.items() if key not in held]

    def put(self, prepared: PreparedFile) -> dict[int, PreparedChunk]:
        file = prepared.file
        row = self.rows.setdefault((file.source, file.path), _Row(next(self.store.ids), file))
        old: dict[bytes, list[int]] = {}
        for number, item in row.chunks.items():
            old.setdefault(item.hash, []).append(number)
        chunks, inserted = {}, {}
        for item in prepared.chunks:
            if kept := old.get(item.hash):
                chunks[kept.pop(0)] = item
            else:
                number = next(self.store.ids)
                chunks[number] = inserted[number] = item
        row.prepared, row.chunks, row.error = prepared, chunks, None
        return inserted

    def set_error(self, file: MemoryFile, reason: str) -> None:
        self.rows.setdefault((file.source, file.path), _Row(next(self.store.ids), file)).error = reason


class PlainStagedIndex(PlainText):
    """Implements `StagedIndex`."""

    def put_files(self, files: Sequence[StagedFile]) -> None:
        for item in files:
            if item.prepared is not None:
                self.put(item.prepared)
            if item.error is not None:
                self.set_error(item.file, item.error)

    def switch(self, *, identity: str) -> None:
        self.store.rows = self.rows
        self.store.remember(identity=identity)
        self.store.record_change()


class PlainStore(PlainText):
    """Implements `SyncStore`."""

    def __init__(self) -> None:
        super().__init__(self)
        self.ids = itertools.count(1)
        self.remembered = SyncState(tidy=True)
        self.destinations: set[str] = set()
        self.spaces: dict[Space, int] = {}
        self.embeddings: dict[int, dict[bytes, tuple[NDArray[np.float32], TokenEmbedding | None]]] = {}
        self.calibrations: dict[int, tuple[Calibration, int]] = {}
        self._locked = False

    def remember(self, **values: object) -> None:
        self.remembered = replace(self.remembered, **values)  # type: ignore[arg-type]  # named by the methods below

    def record_change(self) -> None:
        """Content changes: nothing is complete or tidy any more."""
        self.remember(tidy=False, complete=None, digest=None)

    @contextlib.contextmanager
    def lock(self, *, wait_seconds: float = 0.0) -> Iterator[None]:
        if self._locked:
            raise SyncBusy("the store is locked")
        self._locked = True
        try:
            yield
        finally:
            self._locked = False

    def prepare(self) -> None:
        pass

    def load_state(self) -> SyncState:
        return self.remembered

    def read_generation(self) -> str:
        return ""  # nobody watches it

    def set_identity(self, identity: str) -> None:
        self.remember(identity=identity)

    def take_over(self, workspace: str) -> None:
        self.rows.clear()
        self.record_change()
        self.remember(workspace=workspace)

    def set_target(self, target: TargetSpace) -> None:
        self.remember(target=target)

    def record_destination(self, destination: str) -> bool:
        new = destination not in self.destinations
        self.destinations.add(destination)
        return new

    def set_pending_reason(self, reason: str) -> None:
        self.remember(pending_reason=reason)

    def record_sync(self, at: float, *, digest: str | None) -> None:
        self.remember(last_sync=at, tidy=True, digest=digest)

    def list_files(self) -> list[IndexedFile]:
        return [_as_indexed(row) for row in self.rows.values()]

    def list_stamps(self) -> dict[tuple[str, str], tuple[int, int, int, int] | None]:
        return {(file.source, file.path): file.stamp if file.error is None else None for file in self.list_files()}

    def find_file(self, source: str, path: str) -> IndexedFile | None:
        row = self.rows.get((source, path))
        return None if row is None else _as_indexed(row)

    def load_file(self, file: MemoryFile) -> PreparedFile | None:
        row = self.rows.get((file.source, file.path))
        return None if row is None else row.prepared

    def put_files(self, prepared: Sequence[PreparedFile]) -> dict[int, PreparedChunk]:
        self.record_change()
        return {key: chunk for file in prepared for key, chunk in self.put(file).items()}

    def drop_files(self, ids: Iterable[int]) -> None:
        self.record_change()
        gone = set(ids)
        self.rows = {key: row for key, row in self.rows.items() if row.id not in gone}

    def touch_file(self, file_id: int, stamp: FileStamp) -> None:
        row = next(row for row in self.rows.values() if row.id == file_id)
        assert row.prepared is not None
        row.prepared, row.error = replace(row.prepared, stamp=stamp), None

    def set_file_error(self, file: MemoryFile, reason: str) -> None:
        self.set_error(file, reason)

    def begin_rebuild(self) -> PlainStagedIndex:
        return PlainStagedIndex(self)

    def add_space(self, space: Space) -> int:
        return self.spaces.setdefault(space, len(self.spaces) + 1)

    def find_space_like(self, space: Space) -> Space | None:
        return next((held for held in reversed(self.spaces) if replace(held, dimensions=0) == space), None)

    def serve(self, space_id: int, *, complete: bool) -> None:
        self.remember(serving=space_id, target=None, complete=space_id if complete else None)
        if complete:
            self.remember(pending_reason=None)

    def stop_serving(self) -> None:
        self.remember(serving=None, target=None, complete=None, pending_reason=None)

    def find_embedded(self, space_id: int, hashes: Collection[bytes], *, tokens: bool = False) -> set[bytes]:
        held = self.embeddings.get(space_id, {})
        return {key for key in hashes if key in held and (held[key][1] is not None or not tokens)}

    def put_embeddings(self, space_id: int, windows: EmbeddedWindows, *, serve: bool) -> None:
        self.record_change()
        held = self.embeddings.setdefault(space_id, {})
        for key, row, tokens in itertools.zip_longest(windows.hashes, windows.rows, windows.tokens):
            held[key] = (row, tokens)
        if serve:
            self.remember(serving=space_id)

    def load_calibration(self, space_id: int) -> tuple[Calibration, int] | None:
        return self.calibrations.get(space_id)

    def put_calibration(self, space_id: int, calibration: Calibration, *, windows: int) -> None:
        self.calibrations[space_id] = calibration, windows

    def sample_embeddings(self, space_id: int, limit: int) -> NDArray[np.float32]:
        import numpy as np

        used = {window.hash for window in self.windows}
        held = self.embeddings[space_id]
        return np.stack([held[key][0] for key in sorted(used & held.keys())[:limit]])

    def count_files(self) -> int:
        return sum(row.prepared is not None for row in self.rows.values())

    def count_chunks(self) -> int:
        return sum(len(row.chunks) for row in self.rows.values())

    def count_windows(self, *, distinct: bool = False) -> int:
        return len({window.hash for window in self.windows}) if distinct else len(self.windows)

    def evict_embeddings(self, *, keep: int) -> None:
        used = {window.hash for window in self.windows}
        unused = [(number, key) for number, held in self.embeddings.items() for key in held if key not in used]
        for number, key in unused[: max(len(unused) - keep, 0)]:
            del self.embeddings[number][key]

    def merge_keywords(self, *, whole: bool) -> Iterator[None]:
        yield

    def give_back_space(self) -> None:
        pass


def _as_indexed(row: _Row) -> IndexedFile:
    known = row.prepared
    return IndexedFile(
        row.id,
        row.file.source,
        row.file.path,
        known.hash if known else b"",
        known.stamp if known else FileStamp(0, 0),
        row.error,
    )


def _cut_in_steps(items: Sequence[Item], step: int) -> Iterator[Sequence[Item]]:
    for first in range(0, len(items), step):
        yield items[first : first + step]
