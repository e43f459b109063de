"""Many searches leave memory as it was, and no search holds a lock that another search or a writer waits for.

All of a test runs in one thread, so that a lock that somebody waited for would end it with an error and not with a delay.
"""

from __future__ import annotations

import gc
import subprocess
import sys
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
from tests.command import REPOSITORY

Open = Callable[[], BuiltinBackend]
QUESTIONS, FIRST, SEARCHES = 50, 200, 500
GROWTH_BYTES = 30_000  # a search that left 100 bytes would leave as much


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
    with ExitStack() as closing:
        yield lambda: open_one(workspace, tmp_path, closing)


def open_one(workspace: Path, state_dir: Path, closing: ExitStack) -> BuiltinBackend:
    search = SearchSettings(provider="static", sync=SyncSettings(watch=False))
    config = AgentConfig(
        agent="main", workspace=workspace, state_dir=state_dir, store_path=state_dir / "main.sqlite", search=search
    )
    backend = BuiltinBackend(BackendContext(config=config))
    closing.callback(backend.memory_close)
    return backend


def find(backend: BuiltinBackend, text: str) -> list[str]:
    return [hit.path for hit in backend.memory_search(Query(text=text)).hits]


def measure_growth(workspace: Path, state_dir: Path) -> int:
    """Return how many bytes many searches leave in this process."""
    with ExitStack() as closing:
        backend = open_one(workspace, state_dir, closing)
        backend.memory_sync(force=False, progress=None)

        def search(first: int, last: int) -> None:
            for number in range(first, last):
                assert find(backend, f"which fence was painted, {number % QUESTIONS * 7} or {number % QUESTIONS}?")

        tracemalloc.start()
        search(0, FIRST)  # what is kept of these questions has its full size
        gc.collect()
        before, _ = tracemalloc.get_traced_memory()
        search(FIRST, SEARCHES)
        gc.collect()
        return tracemalloc.get_traced_memory()[0] - before


def test_many_searches_leave_memory_as_it_was(workspace: Path, tmp_path: Path) -> None:
    """In a process of their own, where no thread of another test allocates meanwhile."""
    code = f"from {__name__} import *; print(measure_growth(Path(sys.argv[1]), Path(sys.argv[2])))"
    places = [str(workspace), str(tmp_path)]
    done = subprocess.run(
        [sys.executable, "-c", code, *places], cwd=REPOSITORY, capture_output=True, text=True, check=True
    )
    assert int(done.stdout) < GROWTH_BYTES


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
