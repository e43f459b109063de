"""A sync leaves in the index what a first sync of the same notes would have put there, whatever came before."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from memory_core.config.settings import Cache, Chunking
from memory_core.embeddings.protocols import EmbeddingProvider
from memory_core.embeddings.static import StaticProvider
from memory_core.errors import SyncBusy, SyncStopped
from memory_core.records import Progress, SyncReport
from tests.fakes.providers import CountingProvider, TokenProvider
from tests.index import Index

TEXT = "# Harbour\n\n- The office opens at dawn.\n- Boats leave {n} times a day.\n\n## Cranes\n\n{n} cranes lift containers.\n"


class Notes(Index):
    """Some notes with their index, which every sync compares with a new one."""

    clock = 1_700_000_000  # one second an edit: file systems' own clocks may stand still

    def write(self, name: str, text: str) -> None:
        self.clock += 1
        os.utime(self.note(name, text), (self.clock, self.clock))

    def compare(self, provider: EmbeddingProvider | None, *, force: bool = False) -> SyncReport:
        """Sync, and compare all that the index holds with that of an index made anew."""
        report = self.sync(provider, force=force)
        fresh = Index(self.workspace, self.state / "fresh", self.search)
        fresh.sync(provider)
        assert self.content(provider) == fresh.content(provider)
        fresh.close()
        fresh.config.store_path.unlink()
        return report


@pytest.fixture
def notes(tmp_path: Path) -> Iterator[Notes]:
    made = Notes(tmp_path / "notes", tmp_path / "state")
    made.set(cache=Cache(enabled=False), chunking=Chunking(tokens=20, overlap=4))
    for number in range(3):
        made.write(f"memory/{number}.md", TEXT.format(n=number))
    yield made
    made.close()


def test_files_are_added_changed_moved_and_removed(notes: Notes) -> None:
    provider = CountingProvider()
    assert notes.compare(provider).added == 3
    notes.write("memory/0.md", TEXT.format(n=7))
    notes.write("memory/1.md", "A line above.\n\n" + TEXT.format(n=1))
    (notes.workspace / "memory/2.md").rename(notes.workspace / "memory/moved.md")
    report = notes.compare(provider)
    assert (report.changed, report.added, report.removed) == (2, 1, 1)
    notes.clock += 1
    os.utime(notes.workspace / "memory/0.md", (notes.clock, notes.clock))
    assert notes.compare(provider).unchanged == 3
    assert notes.compare(provider).embedded == 0


def test_a_file_that_cannot_be_read_stays_as_it_was(notes: Notes) -> None:
    provider = CountingProvider()
    notes.sync(provider)
    before = notes.content(provider)
    notes.write("memory/0.md", "\0 is no text")
    for force in (False, True):
        assert [failure.path for failure in notes.sync(provider, force=force).failures] == ["memory/0.md"]
        assert notes.content(provider)["chunks"] == before["chunks"]


def test_a_rebuild_that_is_stopped_leaves_the_text_that_serves(notes: Notes) -> None:
    provider = CountingProvider()
    notes.sync(provider)
    before = notes.content(provider)
    notes.set(chunking=Chunking(tokens=40, overlap=8))

    def stop(step: Progress) -> None:
        if step.phase == "files" and step.done == 1:
            raise SyncStopped("stopped")

    with pytest.raises(SyncStopped):
        notes.sync(provider, progress=stop)
    assert notes.content(provider) == before
    assert notes.compare(provider).reindexed
    assert notes.compare(provider, force=True).reindexed


def test_a_rebuild_makes_the_embeddings_before_it_puts_the_text(notes: Notes) -> None:
    provider = CountingProvider()
    notes.sync(provider)
    notes.set(chunking=Chunking(tokens=40, overlap=8))
    phases: list[str] = []
    report = notes.sync(provider, progress=lambda step: phases.append(step.phase))
    assert report.embedded
    assert phases.index("embeddings") < phases.index("files")
    assert "embeddings" not in phases[phases.index("files") :]


def test_of_a_large_index_a_rebuild_commits_some_files_at_a_time(notes: Notes, monkeypatch: pytest.MonkeyPatch) -> None:
    provider = CountingProvider()
    notes.sync(provider)
    monkeypatch.setattr("memory_core.sync.syncer.WHOLE_CHUNKS", 2)
    monkeypatch.setattr("memory_core.sync.syncer.FILES_STEP", 1)
    notes.set(chunking=Chunking(tokens=40, overlap=8))

    def stop(step: Progress) -> None:
        if step.phase == "files" and step.done == 2:
            raise SyncStopped("stopped")

    before = notes.content(provider)
    with pytest.raises(SyncStopped):
        notes.sync(provider, progress=stop)
    assert notes.content(provider)["chunks"] != before["chunks"]
    assert notes.compare(provider).reindexed  # it begins again


def test_embeddings_are_made_up_for_after_an_outage_and_in_a_new_space(notes: Notes) -> None:
    provider = CountingProvider(batch=2, requests_left=1)
    report = notes.sync(provider)
    assert report.pending
    with notes.store.read() as reader:
        assert reader.load_state().pending_reason
    assert not notes.compare(CountingProvider()).pending
    assert not notes.compare(TokenProvider()).pending
    assert not notes.sync(StaticProvider()).pending
    with notes.store.read() as reader:
        assert reader.load_state().complete == reader.load_state().serving == 3
    assert notes.sync(None).embedded == 0
    with notes.store.read() as reader:
        assert reader.load_state().serving is None


def test_one_sync_at_a_time_holds_a_store(notes: Notes) -> None:
    with notes.store.lock(), pytest.raises(SyncBusy), notes.store.lock():
        pass
