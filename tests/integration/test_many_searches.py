"""Many searches leave memory as it was, and no search holds a lock that another search or a writer waits for.

All of a test runs in one thread, so that a lock that somebody waited for would end it with an error and not with a delay.
"""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from memory_core.backends.builtin import BuiltinBackend
from memory_core.config.agent import AgentConfig
from memory_core.config.settings import SearchSettings, SyncSettings
from memory_core.hookspecs import BackendContext
from memory_core.records import Query
from memory_core.stores.sqlite.store import SqliteStore

Open = Callable[[], BuiltinBackend]
QUESTIONS, FIRST, SEARCHES = 50, 150, 1000
GROWTH_BYTES = 85_000  # a search that left 100 bytes would leave as much
ROUNDS = 2  # what searches leave, they leave each time; what a thread of another test has loaded meanwhile, once


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "notes" / "memory"
    folder.mkdir(parents=True)
    for day in range(1, 21):
        text = f"# Day {day}\n\nThe kettle number {day} boiled.\n\n- painted fence {day * 7}\n- called the dentist\n"
        (folder / f"2026-05-{day:02}.md").write_text(text, encoding="utf-8")
    return folder.parent


@pytest.fixture
def open_backend(workspace: Path, tmp_path: Path) -> Iterator[Open]:
    """Backends on one index, each as in a process of its own; they are closed at the end."""
    search = SearchSettings(provider="static", sync=SyncSettings(watch=False))
    config = AgentConfig(
        agent="main", workspace=workspace, state_dir=tmp_path, store_path=tmp_path / "main.sqlite", search=search
    )
    with ExitStack() as closing:

        def open_one() -> BuiltinBackend:
            backend = BuiltinBackend(BackendContext(config=config))
            closing.callback(backend.memory_close)
            return backend

        yield open_one


def find(backend: BuiltinBackend, text: str) -> list[str]:
    return [hit.path for hit in backend.memory_search(Query(text=text)).hits]


def test_many_searches_leave_memory_as_it_was(open_backend: Open) -> None:
    backend = open_backend()
    backend.memory_sync(force=False, progress=None)

    def search(first: int, last: int) -> None:
        for number in range(first, last):
            assert find(backend, f"which fence was painted, {number % QUESTIONS * 7} or {number % QUESTIONS}?")

    tracemalloc.start()
    try:
        search(0, FIRST)  # what is kept of these questions has its full size
        growths: list[int] = []
        while len(growths) < ROUNDS and min(growths, default=GROWTH_BYTES) >= GROWTH_BYTES:
            gc.collect()
            before, _ = tracemalloc.get_traced_memory()
            search(FIRST, SEARCHES)
            gc.collect()
            growths.append(tracemalloc.get_traced_memory()[0] - before)
    finally:
        tracemalloc.stop()
    assert min(growths) < GROWTH_BYTES


def test_a_reader_in_its_transaction_stops_neither_searches_nor_a_writer(
    open_backend: Open, workspace: Path, tmp_path: Path
) -> None:
    first, second = open_backend(), open_backend()
    first.memory_sync(force=False, progress=None)
    count = "SELECT count(*) FROM files"
    store = SqliteStore(tmp_path / "main.sqlite")
    try:
        with store.database.read() as connection:
            assert connection.execute(count).get == 20
            assert find(first, "kettle") == find(second, "kettle") != []
            (workspace / "memory" / "2026-06-01.md").write_text("A violin was bought.\n", encoding="utf-8")
            report = second.memory_sync(force=False, progress=None)
            assert report.added == 1
            assert find(first, "violin") == ["memory/2026-06-01.md"]
            assert connection.execute(count).get == 20  # of the moment at which it began
        with store.database.read() as connection:
            assert connection.execute(count).get == 21
    finally:
        store.close()


def test_a_writer_in_its_transaction_stops_no_search(open_backend: Open, tmp_path: Path) -> None:
    backend = open_backend()
    backend.memory_sync(force=False, progress=None)
    before = find(backend, "kettle")
    assert before
    store = SqliteStore(tmp_path / "main.sqlite")
    try:
        with store.database.write() as connection:
            connection.execute("UPDATE files SET date = '2026-05-02'")
            assert find(backend, "kettle") == before
            assert find(open_backend(), "kettle") == before
        assert find(backend, "kettle") == before
    finally:
        store.close()
