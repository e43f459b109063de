"""A provider that fails in every way a server can: text is never lost, keyword search answers, and all is paid back later.

The server is real, on the loopback interface, and spoken to by the provider that users have.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import memory_core
from memory_core.backends.builtin import BuiltinBackend
from memory_core.config.settings import Chunking, QuerySettings, Remote, SearchSettings, SyncSettings
from memory_core.embeddings.credentials import KeyPlaces
from memory_core.embeddings.protocols import EmbeddingProvider
from memory_core.embeddings.remote.loop import Retries
from memory_core.embeddings.remote.provider import open_remote
from memory_core.hookspecs import BackendContext
from memory_core.records import Query, SearchResult, Status, SyncReport
from tests.index import Index
from tests.servers.loopback import Reply, openai_error
from tests.servers.openai import OpenAIServer

QUICK = Retries(first_seconds=0.01, longest_seconds=0.02, jitter_seconds=0)
PATIENCE_SECONDS = 60.0
BUSY_SECONDS = 20.0  # on top, where a machine is shared
MARBLE = "The marble is in the drawer."  # asked with the very words, since the server's vectors mean nothing
NEVER = threading.Event()  # what waits for it is let go by the client's deadline


def embeddings(*vectors: list[float]) -> Reply:
    """An answer in the protocol's form, with these vectors."""
    data = [{"object": "embedding", "index": n, "embedding": vector} for n, vector in enumerate(vectors)]
    return Reply(200, {"object": "list", "model": "m", "data": data})


FAULTS: dict[str, Reply] = {
    "slow": Reply(after=NEVER),
    "drops the connection": replace(embeddings([1.0] * 8), truncated=True),
    "429, come back in two minutes": openai_error(429, "slow down", headers={"Retry-After": "120"}),
    "429": openai_error(429, "slow down"),
    "500": openai_error(500, "it broke"),
    "401": openai_error(401, "no such key"),
    "too few vectors": embeddings(),
    "too many vectors": embeddings(*[[1.0] * 8] * 4000),
    "not a number": embeddings([float("nan")] * 8),
    "no JSON": Reply(200, b"<html>gateway</html>"),
}


class Notes(Index):
    """An index whose provider is the server of the test."""

    def __init__(self, folder: Path, server: OpenAIServer) -> None:
        super().__init__(
            folder / "notes",
            folder / "state",
            SearchSettings(
                provider="openai-compatible",
                model="m",
                remote=Remote(base_url=server.url, timeout_seconds=0.2),
                chunking=Chunking(tokens=60, overlap=0),
                sync=SyncSettings(on_search=False),
                query=QuerySettings(embed_timeout_ms=300),
            ),
        )
        self.provider: EmbeddingProvider = open_remote(self.config, KeyPlaces({}), retries=QUICK)

    def level(self) -> SyncReport:
        """One sync with the provider."""
        return self.sync(self.provider)

    def ask(self, text: str) -> SearchResult:
        """A search in a session that may not write."""
        backend = BuiltinBackend(BackendContext(config=self.config, access="ro"))
        try:
            return backend.memory_search(Query(text=text, min_score=0.0))
        finally:
            backend.memory_close()

    def status(self) -> Status:
        return BuiltinBackend(BackendContext(config=self.config, access="ro")).memory_status()

    def close(self) -> None:
        self.provider.close()
        super().close()

    def equals_rebuild(self) -> bool:
        """Return True if it holds what a new index of the same notes holds."""
        twin = Index(self.workspace, self.state / "twin", self.search)
        twin.sync(self.provider)
        try:
            return twin.content(self.provider) == self.content(self.provider)
        finally:
            twin.close()
            shutil.rmtree(twin.state)

    def windows(self) -> set[bytes]:
        """The hashes of what is to be embedded."""
        return {row[-1] for row in self.content()["windows"]}


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer() as running:
        yield running


@pytest.fixture
def notes(tmp_path: Path, server: OpenAIServer) -> Iterator[Notes]:
    made = Notes(tmp_path, server)
    for name in ("kettle", "violin", "lantern"):
        made.note(f"memory/{name}.md", "".join(f"The {name} number {n} is on shelf {n}.\n" for n in range(30)))
    yield made
    made.close()


_listeners: list[list[str]] = []  # each gets the names of the files that this process opens


def _record_open(event: str, arguments: tuple[object, ...]) -> None:
    if event == "open" and _listeners and isinstance(arguments[0], str | bytes | os.PathLike):
        for names in _listeners:
            names.append(os.fsdecode(arguments[0]))


sys.addaudithook(_record_open)  # for good: Python has no way to remove one


@contextlib.contextmanager
def opened_files() -> Iterator[list[str]]:
    """The names of the files that are opened within the block, as they were given to the system."""
    names: list[str] = []
    _listeners.append(names)
    try:
        yield names
    finally:
        _listeners.remove(names)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_at_the_first_sync_loses_nothing(fault: str, notes: Notes, server: OpenAIServer) -> None:
    server.fail(*[FAULTS[fault]] * 1000)
    report = notes.level()
    assert (report.added, report.failures, report.embedded) == (3, (), 0)
    assert report.pending > 0
    result = notes.ask("violin number 7")
    assert (result.mode, result.hits[0].path) == ("keyword", "memory/violin.md")
    status = notes.status()
    assert (status.files, status.pending, status.embeddings) == (3, report.pending, 0)
    assert status.details["pending because"]

    server.faults.clear()
    with opened_files() as opened:
        again = notes.level()
    assert (again.embedded, again.pending, again.failures) == (report.pending, 0, ())
    assert not [name for name in opened if name.endswith(".md")]
    with opened_files() as opened:
        (notes.workspace / "memory/violin.md").read_bytes()
    assert opened
    assert notes.equals_rebuild()
    status = notes.status()
    assert (status.pending, status.embeddings) == (0, report.pending)
    assert "pending because" not in status.details
    assert notes.ask("violin number 7").mode == "hybrid"


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_later_leaves_the_new_text_searchable(fault: str, notes: Notes, server: OpenAIServer) -> None:
    notes.level()
    notes.note("memory/violin.md", f"{MARBLE}\n")
    server.fail(*[FAULTS[fault]] * 1000)
    report = notes.level()
    assert (report.changed, report.pending, report.failures) == (1, 1, ())
    result = notes.ask("marble drawer")
    assert (result.mode, result.hits[0].path) == ("keyword", "memory/violin.md")
    assert result.warning is not None
    assert result.warning.startswith("keyword search only: ")
    status = notes.status()
    assert (status.pending, status.embeddings) == (1, len(notes.windows()) - 1)
    assert status.details["pending because"]
    server.faults.clear()
    assert notes.level().embedded == 1
    assert notes.equals_rebuild()


@pytest.mark.parametrize(
    "fault",
    [
        Reply(after=NEVER),
        openai_error(429, "slow down", headers={"Retry-After": "0"}),
        openai_error(503, "busy"),
        replace(embeddings([1.0] * 8), truncated=True),
    ],
    ids=["slow", "429", "503", "drops"],
)
def test_a_fault_that_passes_is_not_noticed(fault: Reply, notes: Notes, server: OpenAIServer) -> None:
    server.fail(fault, fault)
    report = notes.level()
    assert (report.pending, report.warnings) == (0, ())
    assert notes.equals_rebuild()


def test_what_was_embedded_before_the_fault_stays(notes: Notes, server: OpenAIServer) -> None:
    server.max_items = 10
    first = notes.level()
    assert first.pending == 0
    sent = [text for batch in server.batches() for text in batch if text != "dimensions"]  # asked for first of all
    assert len(set(sent)) == first.embedded
    notes.note("memory/new.md", "".join(f"Copper wire {n} is on reel {n}.\n" for n in range(60)))
    server.fail(*[openai_error(500, "it broke")] * 1000)
    assert notes.level().pending > 0
    server.faults.clear()
    before = len(server.batches())
    assert notes.level().pending == 0
    again = [text for batch in server.batches()[before:] for text in batch]
    assert not set(sent) & set(again)


def test_a_model_that_changes_its_dimensions(notes: Notes, server: OpenAIServer) -> None:
    notes.level()
    server.dimensions = 12
    result = notes.ask("violin number 7")
    assert (result.mode, result.hits[0].path) == ("keyword", "memory/violin.md")
    assert "12 dimensions now, and gave 8" in str(result.warning)
    notes.note("memory/new.md", f"{MARBLE}\n")
    assert notes.level().pending == 1
    assert notes.ask(MARBLE).mode == "keyword"
    report = notes.level()
    assert (report.embedded, report.pending) == (len(notes.windows()), 0), report
    assert notes.equals_rebuild()
    result = notes.ask(MARBLE)
    assert (result.mode, result.hits[0].path) == ("hybrid", "memory/new.md")
    assert notes.status().pending == 0


# Through the backend: how long a search waits.


def backend_of(notes: Notes, *, budget_ms: int, timeout_seconds: float) -> BuiltinBackend:
    """One that syncs before it searches."""
    search = replace(
        notes.search,
        sync=SyncSettings(on_search_budget_ms=budget_ms),
        remote=replace(notes.search.remote, timeout_seconds=timeout_seconds),
    )
    return BuiltinBackend(BackendContext(config=replace(notes.config, search=search)))


def timed(backend: BuiltinBackend, text: str) -> tuple[SearchResult, float]:
    """The answer, and how long it took."""
    began = time.monotonic()
    result = backend.memory_search(Query(text=text, min_score=0.0))
    return result, time.monotonic() - began


def wait_for(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_search_does_not_wait_for_a_slow_sync(notes: Notes, server: OpenAIServer) -> None:
    notes.level()
    notes.note("memory/new.md", f"{MARBLE}\n")
    go = threading.Event()
    server.fail(replace(server.embeddings({"model": "m", "input": [MARBLE]}), after=go))
    backend = backend_of(notes, budget_ms=400, timeout_seconds=30)
    try:
        result, seconds = timed(backend, "violin number 7")
        assert result.stale
        assert result.hits
        assert 0.4 <= seconds < 0.9 + BUSY_SECONDS
        go.set()
        wait_for(lambda: not backend.memory_status().pending and not backend.memory_status().dirty)
        result, _ = timed(backend, MARBLE)
        assert (result.stale, result.mode, result.hits[0].path) == (False, "hybrid", "memory/new.md")
    finally:
        go.set()
        backend.memory_close()


def test_a_provider_that_is_down_holds_up_few_searches(notes: Notes, server: OpenAIServer) -> None:
    server.fail(*[Reply(after=NEVER)] * 1000)
    backend = backend_of(notes, budget_ms=400, timeout_seconds=0.2)
    try:
        timed(backend, "violin number 7")
        wait_for(lambda: backend.memory_status().details.get("pending because"))
        asked = len(server.requests)
        for _ in range(5):
            result, seconds = timed(backend, "violin number 7")
            assert (result.mode, result.hits[0].path) == ("keyword", "memory/violin.md")
            assert seconds < 0.4 + BUSY_SECONDS
        assert len(server.requests) == asked
    finally:
        backend.memory_close()


def test_closing_does_not_wait_for_a_hung_provider(notes: Notes, server: OpenAIServer) -> None:
    others = threading.enumerate()
    server.fail(*[Reply(after=NEVER)] * 1000)
    backend = backend_of(notes, budget_ms=0, timeout_seconds=30)
    backend.memory_search(Query(text="violin"))
    wait_for(lambda: server.requests)
    began = time.monotonic()
    backend.memory_close()
    assert time.monotonic() - began < 1 + BUSY_SECONDS
    assert not [
        thread.name for thread in threading.enumerate() if thread not in others and thread.name.startswith("memory")
    ]


def test_a_provider_that_was_tried_in_vain_is_not_named_once_nothing_waits(tmp_path: Path) -> None:
    (tmp_path / "MEMORY.md").write_text("The kettle is in the kitchen.\n")
    for search in ({"provider": "static"}, {"provider": "openai-compatible", "model": "m"}, {"provider": "static"}):
        with memory_core.open_memory(
            {"memorySearch": search}, workspace=tmp_path, state_dir=tmp_path / "state"
        ) as memory:
            memory.sync()
            status = memory.status()
    assert (status.pending, status.details.get("pending because")) == (0, None)
