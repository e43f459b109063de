"""A provider that is configured and cannot be had: one search waits for it and tells, the next ones do not even ask."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from memory_core.backends.builtin import BuiltinBackend
from memory_core.config.agent import AgentConfig
from memory_core.config.fields import Secret
from memory_core.config.settings import FallbackId, QuerySettings, Remote, SearchSettings, SyncSettings
from memory_core.embeddings.outage import AWAITED, REPLACED, Outage
from memory_core.hookspecs import BackendContext
from memory_core.records import Access, Query, SearchResult
from memory_core.stores.sqlite.store import SqliteStore
from memory_core.sync.background import THREAD
from tests.command import Command
from tests.servers.loopback import Reply, Request, openai_error
from tests.servers.openai import OpenAIServer
from tests.servers.port import Port
from tests.waiting import Clock, eventually

EMBED_SECONDS, BUDGET_SECONDS = 0.8, 0.3
BUSY_SECONDS = 20.0  # on top, where a machine is shared
QUESTION = Query(text="harbour office", min_score=0.0)
NEVER = threading.Event()
SILENCE = (Reply(after=NEVER),) * 1000


@dataclass
class World:
    """Notes that every search meets in a process of its own, as the command line does: only the index file remembers."""

    folder: Path
    url: str
    clock: Clock = field(default_factory=Clock)
    access: Access = "rw"
    fallback: FallbackId = "none"
    hurried: bool = False  # for what is to be waited for in vain; what is to succeed has the time of a busy machine
    seconds: float = 0.0  # the last search took

    def note(self, name: str, text: str) -> None:
        path = self.folder / "notes" / "memory" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def opened(self) -> BuiltinBackend:
        search = SearchSettings(
            provider="openai",
            fallback=self.fallback,
            remote=Remote(base_url=self.url, api_key=Secret("sk-loopback")),
            sync=SyncSettings(on_search_budget_ms=round(1000 * (BUDGET_SECONDS if self.hurried else 30))),
            query=QuerySettings(embed_timeout_ms=round(1000 * (EMBED_SECONDS if self.hurried else 30))),
        )
        notes, store = self.folder / "notes", self.folder / "main.sqlite"
        config = AgentConfig(agent="main", workspace=notes, state_dir=self.folder, store_path=store, search=search)
        return BuiltinBackend(BackendContext(config=config, access=self.access), clock=self.clock)

    def ask(self, query: Query = QUESTION) -> SearchResult:
        backend, begun = self.opened(), time.monotonic()
        try:
            return backend.memory_search(query)
        finally:
            backend.memory_close()
            self.seconds = time.monotonic() - begun

    def sync(self) -> None:
        backend = self.opened()
        backend.memory_sync(force=False, progress=None)
        backend.memory_close()

    def details(self) -> Mapping[str, Any]:
        return self.opened().memory_status().details


def made(folder: Path, url: str) -> World:
    world = World(folder, url)
    world.note("2026-02-01.md", "# Harbour\n\nThe harbour office opens at dawn.\n")
    return world


@pytest.fixture
def port() -> Iterator[Port]:
    with Port() as reserved:
        yield reserved


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer(dimensions=1536) as running:
        yield running


def assert_keywords(answer: SearchResult, *told: str) -> None:
    assert (answer.mode, answer.hits[0].path) == ("keyword", "memory/2026-02-01.md")
    for words in ("keyword search only", *told):
        assert words in str(answer.warning)


def test_a_closed_port_is_met_once_and_then_left_alone(tmp_path: Path, port: Port) -> None:
    world = made(tmp_path, port.url)
    assert_keywords(world.ask(), "cannot be reached")
    assert world.seconds < EMBED_SECONDS + BUSY_SECONDS

    port.open()  # whoever comes now is counted
    for passed in (0, 4, 4):
        world.clock.now += passed
        assert_keywords(world.ask(), "no embeddings since", "cannot be reached", "it is tried again in")
    assert port.connections == 0
    world.clock.now += 4
    world.hurried = True
    world.ask()
    assert port.connections > 0


def test_a_silent_port_is_waited_for_once_and_then_left_alone(tmp_path: Path, port: Port) -> None:
    world = made(tmp_path, port.open().url)
    world.hurried = True
    assert_keywords(world.ask(), "no embedding within")
    assert world.seconds < EMBED_SECONDS + BUSY_SECONDS

    seen = port.connections
    assert seen
    for _ in range(3):
        assert_keywords(world.ask(), "no embeddings since", "it is tried again in")
    assert port.connections == seen


def test_an_index_that_has_embeddings_is_searched_by_keyword_meanwhile(tmp_path: Path, server: OpenAIServer) -> None:
    world = made(tmp_path, server.url)
    assert world.ask().mode == "hybrid"
    server.fail(*SILENCE)
    world.hurried = True
    world.note("2026-02-02.md", "# New\n\nThe ferry sails at noon.\n")
    assert_keywords(world.ask(), "no embedding within")
    assert world.seconds < EMBED_SECONDS + BUSY_SECONDS

    seen = len(server.requests)
    assert_keywords(world.ask(), "no embeddings since")
    assert len(server.requests) == seen
    assert world.ask(Query(text="ferry noon", min_score=0.0)).hits[0].path == "memory/2026-02-02.md"


class HoldingServer(OpenAIServer):
    """Answers no request for a question before it is released."""

    def __init__(self) -> None:
        super().__init__(dimensions=1536)
        self.held, self.released = threading.Event(), threading.Event()

    def answer(self, request: Request) -> Reply:
        if QUESTION.text in request.json()["input"]:
            self.held.set()
            assert self.released.wait(60)
        return super().answer(request)


def test_the_index_is_not_held_while_the_provider_works(tmp_path: Path) -> None:
    """A write-ahead log can be emptied only while nobody reads what was written before it."""
    with HoldingServer() as server, ThreadPoolExecutor() as threads:
        world = made(tmp_path, server.url)
        world.sync()
        try:
            answer = threads.submit(world.ask)
            assert server.held.wait(60)
            with closing(SqliteStore(tmp_path / "main.sqlite")) as store:
                with store.database.write() as connection:
                    connection.execute("INSERT INTO meta VALUES ('test', '1')")
                with store.database.maintain() as connection:
                    busy, *_ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()[0]
        finally:
            server.released.set()
        assert answer.result(60).mode == "hybrid"
        assert busy == 0


def test_recovery_is_noticed_at_the_next_try(tmp_path: Path, server: OpenAIServer) -> None:
    world = made(tmp_path, server.url)
    server.fail(*SILENCE)
    world.hurried = True
    world.ask()
    server.faults.clear()
    assert_keywords(world.ask(), "it is tried again in 10 s")
    world.hurried = False
    world.clock.now += AWAITED.first_seconds

    assert world.ask().mode == "hybrid"
    assert world.ask().warning is None
    assert "provider out" not in world.details()


@pytest.mark.parametrize("way", ["sync", "probe"])
def test_who_asks_for_it_gets_a_try_at_once(way: str, tmp_path: Path, server: OpenAIServer) -> None:
    world = made(tmp_path, server.url)
    server.fail(*SILENCE)
    world.hurried = True
    world.ask()
    server.faults.clear()
    world.hurried = False
    with closing(_Closing(world.opened())) as process:
        if way == "sync":
            assert process.backend.memory_sync(force=False, progress=None).pending == 0
        else:
            assert process.backend.memory_probe().ok

    assert world.ask().mode == "hybrid"


@dataclass
class _Closing:
    backend: BuiltinBackend

    def close(self) -> None:
        self.backend.memory_close()


class WaitingClock(Clock):
    """Holds a background sync when it asks for the time, which it does to judge an outage, until it is released."""

    def __init__(self) -> None:
        super().__init__()
        self.held, self.released = threading.Event(), threading.Event()

    def __call__(self) -> float:
        if threading.current_thread().name == THREAD:
            self.held.set()
            assert self.released.wait(60)
        return super().__call__()


def test_a_provider_that_a_sync_opens_while_it_is_closed_is_closed_too(tmp_path: Path, server: OpenAIServer) -> None:
    others = threading.enumerate()
    world = made(tmp_path, server.url)
    server.fail(*SILENCE)
    world.hurried = True
    world.ask()
    server.faults.clear()
    world.fallback = "static"
    world.clock = clock = WaitingClock()
    clock.now += 10_000  # the outage is long, and the provider is tried again
    backend = world.opened()
    backend.memory_search(QUESTION)
    assert clock.held.wait(60)
    with ThreadPoolExecutor() as threads:
        closed = threads.submit(backend.memory_close)
        while not closed.running():
            time.sleep(0.01)
        time.sleep(0.2)  # the provider is closed meanwhile
        clock.released.set()
        assert closed.result(60)
    assert [
        thread.name for thread in threading.enumerate() if thread not in others and thread.name.startswith("memory")
    ] == []


def test_a_refused_key_is_tried_each_time_since_that_takes_no_time(tmp_path: Path, server: OpenAIServer) -> None:
    world = made(tmp_path, server.url)
    server.fail(openai_error(401, "no such key"))
    assert_keywords(world.ask(), "no such key")

    assert world.ask().mode == "hybrid"


def test_one_text_that_gets_no_embedding_keeps_no_question_from_the_provider(
    tmp_path: Path, server: OpenAIServer
) -> None:
    world = made(tmp_path, server.url)
    world.sync()
    world.note("bad.md", "A text that the model fails on.\n")
    server.replaced["A text that the model fails on."] = [float("nan")] * 1536
    for _ in range(3):
        assert world.ask().mode == "hybrid"


def test_a_session_that_may_not_write_remembers_by_itself(tmp_path: Path, server: OpenAIServer) -> None:
    world = made(tmp_path, server.url)
    world.sync()
    server.fail(*SILENCE)
    world.access, world.hurried = "ro", True
    with closing(_Closing(world.opened())) as process:
        assert_keywords(process.backend.memory_search(QUESTION), "no embedding within")
        seen = len(server.requests)
        assert_keywords(process.backend.memory_search(QUESTION), "no embeddings since")
        assert len(server.requests) == seen
        server.faults.clear()
        world.clock.now += AWAITED.first_seconds
        process.backend.memory_search(QUESTION)
        assert len(server.requests) == seen + 1
    assert "provider out" not in world.details()


def outage(**known: Any) -> Outage:
    return Outage(provider="openai", settings="", since=0.0, reason="it is away", **known)


@pytest.mark.parametrize(("moved", "pauses"), [(False, AWAITED), (True, REPLACED)])
def test_pauses_grow_to_a_bound(moved: bool, pauses: Any) -> None:
    tries, held, now = [0.0], outage(), 0.0
    for _ in range(12):
        held = held.after_failure(now, moved=moved)
        assert not held.is_due(held.try_at - 0.1)
        assert held.is_due(held.try_at)
        now = held.try_at
        tries.append(now)
    waits = [after - before for before, after in pairwise(tries)]

    assert waits[:4] == [pauses.first_seconds * 2**n for n in range(4)]
    assert set(waits[8:]) == {pauses.longest_seconds}


def test_a_pause_that_was_asked_for_is_kept_and_a_clock_put_back_cannot_hold_it_for_ever() -> None:
    held = outage().after_failure(1000.0, moved=False, asked_seconds=120.0)

    assert held.try_at == 1120.0
    assert held.after_failure(1120.0, moved=False).try_at == 1120.0 + 2 * AWAITED.first_seconds
    assert held.is_due(1120.0 - 2 * REPLACED.longest_seconds)


# The command line itself.


def command(folder: Path, url: str) -> Command:
    document = {
        "models": {"providers": {"openai": {"baseUrl": url}}},
        "memorySearch": {
            "query": {"embedTimeoutMs": round(EMBED_SECONDS * 1000)},
            "sync": {"onSearchBudgetMs": 3000},  # for the text, where a machine is busy
        },
    }
    (folder / "config.json5").write_text(json.dumps(document))
    variables = {
        "OPENAI_API_KEY": "sk-loopback",
        "MEMORY_CORE_PROVIDER": "auto",
        "MEMORY_CORE_CONFIG": str(folder / "config.json5"),
    }
    return Command(folder / "notes", folder / "state", variables)


@pytest.mark.parametrize("silent", [False, True], ids=["closed", "silent"])
def test_the_command_line_with_a_key_and_no_network(silent: bool, tmp_path: Path, port: Port) -> None:
    made(tmp_path, port.url)
    run = command(tmp_path, port.open().url if silent else port.url)
    first = run("search", "harbour office", "--json")
    assert first.json["mode"] == "keyword"
    assert first.json["results"]
    assert "no embedding within" in first.err + first.out if silent else "cannot be reached" in first.json["warning"]

    seen = port.connections if silent else port.open().connections
    for words in ("harbour office", "nothing like it"):
        again = run("search", words)
        assert again.code == 0
        assert "no embeddings since" in again.out + again.err
    assert port.connections == seen


def test_a_command_that_finds_nothing_does_not_wait_for_a_silent_provider(tmp_path: Path, port: Port) -> None:
    """A command finishes what a search left to the background, but not with a provider that is dead."""
    made(tmp_path, port.url)
    done = command(tmp_path, port.open().url)("search", "nothing like it", timeout_seconds=30)

    assert done.code == 0
    assert "no embedding within" in done.out + done.err


# Closing in the middle.


def test_closing_while_notes_are_embedded_is_quick_and_says_nothing_about_the_provider(
    tmp_path: Path, server: OpenAIServer, caplog: pytest.LogCaptureFixture
) -> None:
    others = threading.enumerate()
    world = made(tmp_path, server.url)
    server.fail(*SILENCE)
    backend = world.opened()
    with caplog.at_level(logging.WARNING):
        backend.memory_sync_soon()
        assert eventually(lambda: server.requests)
        begun = time.monotonic()
        backend.memory_close()
    assert time.monotonic() - begun < BUSY_SECONDS

    assert not caplog.records
    assert not [
        thread.name for thread in threading.enumerate() if thread not in others and thread.name.startswith("memory")
    ]
    details = world.details()
    assert "provider out" not in details
    assert "pending because" not in details
    server.faults.clear()
    assert world.ask().mode == "hybrid"


def test_closing_while_a_question_is_embedded_says_nothing_about_the_provider(
    tmp_path: Path, server: OpenAIServer
) -> None:
    world = made(tmp_path, server.url)
    world.sync()
    seen = len(server.requests)
    server.fail(*SILENCE)
    backend = world.opened()
    answers: list[SearchResult] = []
    patient = replace(QUESTION, deadline=time.monotonic() + 60)
    asking = threading.Thread(target=lambda: answers.append(backend.memory_search(patient)))
    asking.start()
    assert eventually(lambda: len(server.requests) > seen)
    backend.memory_close()
    asking.join()

    assert answers[0].mode == "keyword"
    assert "provider out" not in world.details()
