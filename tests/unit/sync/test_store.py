"""Sync over a second store: over plain dicts it reports the same and leaves the same as over the index file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from memory_core.config.settings import Cache, Chunking
from memory_core.embeddings.protocols import EmbeddingProvider
from memory_core.embeddings.static import StaticProvider
from memory_core.errors import SyncBusy, SyncStopped
from memory_core.records import FileStamp, MemoryFile, Progress, SyncReport
from memory_core.stores.interface import SyncStore
from memory_core.sync.context import SyncContext
from memory_core.sync.syncer import Syncer
from tests.fakes.providers import CountingProvider, TokenProvider
from tests.fakes.store import PlainStore
from tests.index import Index

TEXT = "# Harbour\n\n- The office opens at dawn.\n- Boats leave {n} times a day.\n\n## Cranes\n\n{n} cranes lift containers.\n"


class Stores:
    """One workspace with two stores, the first of which is the index file; every sync runs over both."""

    def __init__(self, folder: Path) -> None:
        self.index = Index(folder / "notes", folder / "state")
        self.index.set(cache=Cache(enabled=False), chunking=Chunking(tokens=20, overlap=4))
        self.plain = PlainStore()
        self.clock = 1_700_000_000  # one second an edit: file systems' own clocks may stand still

    def note(self, name: str, text: str) -> None:
        self.clock += 1
        os.utime(self.index.note(name, text), (self.clock, self.clock))

    def sync(self, provider: EmbeddingProvider | None, *, force: bool = False, **options: Any) -> SyncReport:
        reports = [self._sync(store, copy(provider), force, options) for store in (self.index.writer, self.plain)]
        assert replace(reports[0], seconds=0.0) == replace(reports[1], seconds=0.0)
        assert content(self.index.writer) == content(self.plain)
        return reports[1]

    def _sync(
        self, store: SyncStore, provider: EmbeddingProvider | None, force: bool, options: dict[str, Any]
    ) -> SyncReport:
        with store.lock():
            context = SyncContext(config=self.index.config, store=store, provider=provider, **options)
            return Syncer(context).run(force=force)


def content(store: SyncStore) -> dict[str, Any]:
    """All that can be asked of a store, without ids of rows and times."""
    state, texts = store.load_state(), {}
    for row in store.list_files():
        listed = MemoryFile(source=row.source, path=row.path, real_path=Path(), stamp=FileStamp(0, 0))
        held = store.load_file(listed)
        chunks = () if held is None else held.chunks
        texts[row.source, row.path] = [
            (item.chunk.start_line, item.chunk.end_line, item.chunk.context, item.chunk.text, item.units, item.windows)
            for item in chunks
        ]
    spaces = range(1, 4)
    every = {window.hash for step in store.find_pending_windows(None, step=3) for window in step}
    return {
        "state": replace(state, last_sync=None),
        "files": sorted((row.source, row.path, row.hash, row.stamp) for row in store.list_files()),
        "errors": sorted((row.path, row.error) for row in store.list_files() if row.error),
        "texts": texts,
        "counts": (
            store.count_files(), store.count_chunks(), store.count_windows(), store.count_windows(distinct=True),
        ),
        "pending": [store.count_pending(space_id) for space_id in (None, *spaces)],
        "embedded": [(store.find_embedded(n, every), store.find_embedded(n, every, tokens=True)) for n in spaces],
        "calibrations": [store.load_calibration(space_id) for space_id in spaces],
    }  # fmt: skip


@pytest.fixture
def stores(tmp_path: Path) -> Iterator[Stores]:
    made = Stores(tmp_path)
    for number in range(3):
        made.note(f"memory/{number}.md", TEXT.format(n=number))
    yield made
    made.index.close()


def test_files_are_added_changed_moved_and_removed(stores: Stores) -> None:
    provider = CountingProvider()
    assert stores.sync(provider).added == 3
    stores.note("memory/0.md", TEXT.format(n=7))
    stores.note("memory/1.md", "A line above.\n\n" + TEXT.format(n=1))
    (stores.index.workspace / "memory/2.md").rename(stores.index.workspace / "memory/moved.md")
    report = stores.sync(provider)
    assert (report.changed, report.added, report.removed) == (2, 1, 1)
    stores.clock += 1
    os.utime(stores.index.workspace / "memory/0.md", (stores.clock, stores.clock))
    assert stores.sync(provider).unchanged == 3
    assert stores.sync(provider).embedded == 0


def test_a_file_that_cannot_be_read_stays_as_it_was(stores: Stores) -> None:
    provider = CountingProvider()
    stores.sync(provider)
    stores.note("memory/0.md", "\0 is no text")
    assert [failure.path for failure in stores.sync(provider).failures] == ["memory/0.md"]
    assert [failure.path for failure in stores.sync(provider, force=True).failures] == ["memory/0.md"]
    assert stores.plain.count_files() == 3


def test_a_rebuild_is_switched_to_and_a_stopped_one_serves_nobody(stores: Stores) -> None:
    provider = CountingProvider()
    stores.sync(provider)
    stores.index.set(chunking=Chunking(tokens=40, overlap=8))
    before = content(stores.plain)

    def stop(step: Progress) -> None:
        if step.done == 1:
            raise SyncStopped("stopped")

    for store in (stores.index.writer, stores.plain):
        with pytest.raises(SyncStopped):
            stores._sync(store, provider, False, {"progress": stop})
        assert content(store) == before
    assert stores.sync(provider).reindexed
    assert stores.sync(provider, force=True).reindexed


def test_embeddings_are_made_up_for_after_an_outage_and_in_a_new_space(stores: Stores) -> None:
    provider = CountingProvider(batch=2, requests_left=1)
    report = stores.sync(provider)
    assert report.pending
    assert stores.plain.load_state().pending_reason
    provider.requests_left = None
    assert not stores.sync(provider).pending
    assert not stores.sync(TokenProvider()).pending
    assert not stores.sync(StaticProvider()).pending
    assert stores.plain.load_state().complete == stores.plain.load_state().serving == 3
    assert stores.sync(None).embedded == 0
    assert stores.plain.load_state().serving is None


def test_one_sync_at_a_time_holds_a_store(stores: Stores) -> None:
    for store in (stores.index.writer, stores.plain):
        with store.lock(), pytest.raises(SyncBusy), store.lock():
            pass
