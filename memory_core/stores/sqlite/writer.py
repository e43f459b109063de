"""The index file as sync writes it: implements `memory_core.stores.interface`, one transaction a command."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from memory_core.embeddings.vectors import pack_signs
from memory_core.records import Calibration, FileStamp, MemoryFile, Space
from memory_core.stores.sqlite import (
    Connection,
    hold_lock,
    maintenance,
    meta,
    pending,
    rows,
    spaces,
    staging,
    token_bits,
    word_forms,
)
from memory_core.stores.sqlite.distances import choose_encoding, encode
from memory_core.stores.sqlite.rows import FileRows
from memory_core.stores.sqlite.store import Store
from memory_core.stores.values import (
    EmbeddedWindows,
    IndexedFile,
    PendingWindow,
    PreparedChunk,
    PreparedFile,
    StagedFile,
    SyncState,
    TargetSpace,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class _Text:
    """Implements `IndexedText` on the tables with one prefix."""

    def __init__(self, store: Store, prefix: str) -> None:
        self._store = store
        self._prefix = prefix

    def find_pending_windows(
        self, space_id: int | None, *, step: int, tokens: bool = False
    ) -> Iterator[Sequence[PendingWindow]]:
        after = (-1, -1)
        while True:
            with self._store.read() as connection:
                found, after = pending.find_pending_windows(
                    connection, space_id, after, step, self._prefix, tokens=tokens
                )
            if not found:
                return
            yield found

    def count_pending(self, space_id: int | None, *, tokens: bool = False) -> int:
        with self._store.read() as connection:
            return pending.count_pending(connection, space_id, self._prefix, tokens=tokens)


class StagedWriter(_Text):
    """Implements `StagedIndex` on the tables of a rebuild."""

    def __init__(self, store: Store) -> None:
        super().__init__(store, staging.PREFIX)
        self._seen: word_forms.Seen = {}

    def put_files(self, files: Sequence[StagedFile]) -> None:
        with self._store.write(content=False) as connection:
            target = FileRows(connection, self._prefix, self._seen)
            for item in files:
                if item.prepared is not None:
                    target.put(item.prepared)
                if item.error is not None:
                    target.set_error(item.file, item.error)

    def switch(self, *, identity: str) -> None:
        with self._store.write() as connection:
            staging.switch(connection)
            meta.set_values(connection, {meta.IDENTITY: identity})


class StoreWriter(_Text):
    """Implements `SyncStore` on one index file."""

    def __init__(self, store: Store) -> None:
        super().__init__(store, "")
        self._seen: word_forms.Seen = {}  # of this sync: between two, another process may change the index

    def lock(self, *, wait_seconds: float = 0.0) -> AbstractContextManager[None]:
        path = self._store.path
        return hold_lock(
            path.with_name(path.name + ".lock"), wait_seconds=wait_seconds, clear=self._store.in_own_folder
        )

    def prepare(self) -> None:
        self._seen.clear()
        with self._store.maintain():
            pass
        with self._store.read() as connection:
            stopped = staging.has_leftovers(connection)
        if stopped:
            with self._store.write(content=False) as connection:
                staging.discard(connection)
                meta.set_values(connection, {meta.TIDIED: None})

    # What is remembered.

    def load_state(self) -> SyncState:
        with self._store.read() as connection:
            return meta.read_state(connection)

    def read_generation(self) -> str:
        """Return what changes whenever files, chunks or embeddings do, in whichever process."""
        with self._store.read() as connection:
            return meta.read_generation(connection)

    def list_hashes(self) -> Iterator[tuple[tuple[str, str], bytes]]:
        """Yield ((source, path), hash) of all files, without those that the index has never read."""
        with self._store.read() as connection:
            for source, path, content in connection.execute("SELECT source, path, hash FROM files WHERE hash <> x''"):
                yield (source, path), content

    def set_identity(self, identity: str) -> None:
        self._update({meta.IDENTITY: identity})

    def take_over(self, workspace: str) -> None:
        with self._store.write() as connection:
            FileRows(connection).drop(*(file.id for file in rows.read_files(connection)))
            meta.set_values(connection, {meta.WORKSPACE: workspace})

    def set_target(self, target: TargetSpace) -> None:
        self._update({meta.TARGET: meta.format_target(target)})

    def record_destination(self, destination: str) -> bool:
        with self._store.read() as connection:
            known = json.loads(meta.get_value(connection, meta.DESTINATIONS) or "[]")
        if destination in known:
            return False
        self._update({meta.DESTINATIONS: json.dumps([*known, destination])})
        return True

    def set_pending_reason(self, reason: str) -> None:
        self._update({meta.PENDING_REASON: reason})

    def record_sync(self, at: float, *, digest: str | None) -> None:
        with self._store.write(content=False) as connection:
            generation = meta.read_generation(connection)
            listed = None if digest is None else f"{generation}:{digest}"
            values = {meta.LAST_SYNC: f"{at:.3f}", meta.TIDIED: generation, meta.LISTED: listed}
            meta.set_values(connection, values)

    # Files.

    def list_files(self) -> list[IndexedFile]:
        with self._store.read() as connection:
            return rows.read_files(connection)

    def list_stamps(self) -> dict[tuple[str, str], tuple[int, int, int, int] | None]:
        with self._store.read() as connection:
            return rows.read_stamps(connection)

    def find_file(self, source: str, path: str) -> IndexedFile | None:
        with self._store.read() as connection:
            return rows.find_file(connection, source, path)

    def load_file(self, file: MemoryFile) -> PreparedFile | None:
        with self._store.read() as connection:
            return rows.load_file(connection, file)

    def put_files(self, prepared: Sequence[PreparedFile]) -> dict[int, PreparedChunk]:
        try:
            with self._store.write() as connection:
                return FileRows(connection, seen=self._seen).put(*prepared)
        except BaseException:
            self._seen.clear()  # what was written is rolled back
            raise

    def drop_files(self, ids: Iterable[int]) -> None:
        with self._store.write() as connection:
            FileRows(connection).drop(*ids)

    def touch_file(self, file_id: int, stamp: FileStamp) -> None:
        with self._store.write(content=False) as connection:
            FileRows(connection).touch(file_id, stamp)

    def set_file_error(self, file: MemoryFile, reason: str) -> None:
        with self._store.write(content=False) as connection:
            FileRows(connection).set_error(file, reason)

    def begin_rebuild(self) -> StagedWriter:
        with self._store.write(content=False) as connection:
            staging.begin(connection)
        return StagedWriter(self._store)

    # Spaces and embeddings.

    def add_space(self, space: Space) -> int:
        with self._store.read() as connection:
            found = spaces.find_space(connection, space)
        if found is not None:
            return found
        with self._store.write(content=False) as connection:
            return spaces.add_space(connection, space)

    def find_space_like(self, space: Space) -> Space | None:
        with self._store.read() as connection:
            return spaces.find_space_like(connection, space)

    def serve(self, space_id: int, *, complete: bool) -> None:
        with self._store.write(content=False) as connection:
            self._store.vectors.add_signs(connection, space_id)
            generation = meta.read_generation(connection)
            values = {
                meta.SERVING: str(space_id),
                meta.TARGET: None,
                meta.COMPLETE: f"{generation}:{space_id}" if complete else None,
            }
            meta.set_values(connection, values)
            if complete:
                meta.set_values(connection, {meta.PENDING_REASON: None})

    def stop_serving(self) -> None:
        self._update(dict.fromkeys((meta.SERVING, meta.COMPLETE, meta.TARGET, meta.PENDING_REASON)))

    def find_embedded(self, space_id: int, hashes: Collection[bytes], *, tokens: bool = False) -> set[bytes]:
        with self._store.read() as connection:
            return pending.find_embedded(connection, space_id, hashes, tokens=tokens)

    def put_embeddings(self, space_id: int, windows: EmbeddedWindows, *, serve: bool) -> None:
        with self._store.write() as connection:
            _put_rows(connection, space_id, windows)
            self._store.vectors.add_signs(connection, space_id)
            bits = zip(windows.hashes, map(pack_signs, windows.tokens), strict=False)
            token_bits.put(connection, space_id, bits)
            if serve:
                meta.set_values(connection, {meta.SERVING: str(space_id)})

    def load_calibration(self, space_id: int) -> tuple[Calibration, int] | None:
        with self._store.read() as connection:
            return spaces.load_calibration(connection, space_id)

    def put_calibration(self, space_id: int, calibration: Calibration, *, windows: int) -> None:
        with self._store.write(content=False) as connection:
            spaces.put_calibration(connection, space_id, calibration, windows=windows)

    def sample_embeddings(self, space_id: int, limit: int) -> NDArray[np.float32]:
        with self._store.read() as connection:
            return spaces.load_sample(connection, space_id, limit)

    # Counts.

    def count_files(self) -> int:
        return self._count("SELECT count(*) FROM files WHERE hash <> x''")

    def count_chunks(self) -> int:
        return self._count("SELECT count(*) FROM chunks")

    def count_windows(self, *, distinct: bool = False) -> int:
        return self._count(f"SELECT count({'DISTINCT hash' if distinct else '*'}) FROM windows")

    # Maintenance.

    def evict_embeddings(self, *, keep: int) -> None:
        maintenance.evict_embeddings(self._store, keep=keep)

    def merge_keywords(self, *, whole: bool) -> Iterator[None]:
        return maintenance.merge_keywords(self._store, whole=whole)

    def give_back_space(self) -> None:
        maintenance.give_back_space(self._store)

    def wipe(self, *, seconds: float) -> bool:
        """Leave nothing of what was dropped in the file; return False while another program reads it, see `maintenance.wipe`."""
        return maintenance.wipe(self._store, seconds=seconds)

    def _update(self, values: Mapping[str, str | None]) -> None:
        """Set keys of meta, unless they have these values already."""
        with self._store.read() as connection:
            held = {key: meta.get_value(connection, key) for key in values}
        if held != values:  # most syncs before a search write nothing
            with self._store.write(content=False) as connection:
                meta.set_values(connection, values)

    def _count(self, query: str) -> int:
        with self._store.read() as connection:
            return int(connection.execute(query).get)


def _put_rows(connection: Connection, space_id: int, windows: EmbeddedWindows) -> None:
    packed = encode(windows.rows, choose_encoding(spaces.load_space(connection, space_id)))
    connection.executemany(
        "INSERT INTO embedding_cache (space_id, hash, embedding, updated_at) VALUES (?, ?, ?, 0) ON CONFLICT DO NOTHING",
        ((space_id, key, row) for key, row in zip(windows.hashes, packed, strict=True)),
    )
