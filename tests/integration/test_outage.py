"""A provider that is out for long: one that was named takes over, and gives the place back. Real servers, a clock in hand."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from memory_core.backends.builtin import BuiltinBackend
from memory_core.config.agent import AgentConfig
from memory_core.config.fields import Secret
from memory_core.config.settings import ProviderAccount, QuerySettings, Remote, SearchSettings, SyncSettings
from memory_core.embeddings import outage
from memory_core.hookspecs import BackendContext
from memory_core.records import Access, Query, SearchResult, Status, SyncReport
from memory_core.stores.sqlite.store import SqliteStore
from tests.servers.loopback import Reply, openai_error
from tests.servers.openai import OpenAIServer

KEY, OTHER_KEY = "sk-primary-5d1f9a7c", "sk-fallback-8e2b4c6d"
PLANTED = "The harbour office opens at dawn"
QUESTION = Query(text="harbour office", min_score=0.0)
REFUSED = openai_error(401, "no such account")  # asked once, so that a test need not wait for retries
DOWN: tuple[Reply, ...] = (REFUSED,) * 1000


@dataclass
class Clock:
    now: float = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


@dataclass
class World:
    """One agent whose primary and fallback are servers; every backend that it opens stands for a process."""

    folder: Path
    primary: OpenAIServer
    second: OpenAIServer
    clock: Clock = field(default_factory=Clock)
    search: dict[str, Any] = field(default_factory=lambda: {"fallback": "mistral"})
    access: Access = "rw"
    _backend: BuiltinBackend | None = None

    @property
    def config(self) -> AgentConfig:
        account = ProviderAccount(api_key=Secret(OTHER_KEY), base_url=self.second.url)
        settings: dict[str, Any] = {
            "provider": "openai-compatible",
            "model": "primary-model",
            "output_dimensionality": 64,
            "input_type": "passage",
            "remote": Remote(
                base_url=self.primary.url, api_key=Secret(KEY), headers={"X-Team": Secret("primary-team")}
            ),
            "sync": SyncSettings(on_search=False),
            "query": QuerySettings(embed_timeout_ms=2000),
        }
        return AgentConfig(
            agent="main",
            workspace=self.folder / "notes",
            state_dir=self.folder,
            store_path=self.folder / "main.sqlite",
            search=SearchSettings(**{**settings, **self.search}),
            providers={"mistral": account, "openai": account},
        )

    def note(self, name: str, text: str) -> None:
        path = self.folder / "notes" / "memory" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    @property
    def backend(self) -> BuiltinBackend:
        if self._backend is None:
            self._backend = BuiltinBackend(BackendContext(config=self.config, access=self.access), clock=self.clock)
        return self._backend

    def restart(self) -> None:
        """Forget all that is not in the index file."""
        if self._backend is not None:
            self._backend.memory_close()
        self._backend = None

    def sync(self) -> SyncReport:
        return self.backend.memory_sync(force=False, progress=None)

    def background_sync(self) -> SyncReport:
        """As the background makes it."""
        return self.backend._syncs.run(threading.Event())

    def ask(self) -> SearchResult:
        return self.backend.memory_search(QUESTION)

    def status(self) -> Status:
        return self.backend.memory_status()

    def moved(self) -> None:
        """Bring about that the fallback serves."""
        self.sync()
        self.primary.fail(*DOWN)
        self.ask()
        self.clock.now += 600
        self.sync()


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with OpenAIServer(dimensions=64) as primary, OpenAIServer(dimensions=1024) as second:
        made = World(tmp_path, primary, second)
        for number in range(5):
            made.note(f"2026-01-0{number + 1}.md", f"# Day {number}\n\nWe walked {number} miles along the coast.\n")
        made.note("2026-02-01.md", f"# Harbour\n\n{PLANTED}.\n")
        yield made
        made.restart()


def test_a_short_outage_moves_nothing_and_keywords_answer_at_once(world: World) -> None:
    world.sync()
    world.primary.fail(*DOWN)
    for _ in range(3):
        answer = world.ask()
        assert answer.mode == "keyword"
        assert PLANTED in answer.hits[0].snippet
        assert "no such account" in (answer.warning or "")
        world.clock.now += 199
        world.sync()

    assert answer.fallback is None
    assert not world.second.requests
    assert "no embeddings since" in str(world.status().details["provider out"])


@pytest.mark.parametrize("restarts", [False, True], ids=["one process", "a process a call"])
def test_after_ten_minutes_the_fallback_takes_over_with_its_own_model(world: World, restarts: bool) -> None:
    world.sync()
    for step in (
        lambda: world.primary.fail(*DOWN),
        world.ask,
        lambda: setattr(world.clock, "now", world.clock.now + 600),
    ):
        step()
        if restarts:
            world.restart()
    report = world.sync()

    assert report.pending == 0
    answer, status = world.ask(), world.status()
    assert (answer.mode, answer.provider, answer.model) == ("hybrid", "mistral", "mistral-embed")
    for fallback in (answer.fallback, status.fallback):
        assert fallback is not None
        assert (fallback.origin, fallback.to) == ("openai-compatible", "mistral")
        assert "no such account" in fallback.reason
    assert (status.provider, status.model, status.pending) == ("mistral", "mistral-embed", 0)


def test_nothing_of_the_primary_reaches_the_fallback(world: World) -> None:
    world.moved()
    world.ask()

    assert world.second.requests
    for request in world.second.requests:
        assert request.headers["authorization"] == f"Bearer {OTHER_KEY}"
        assert "x-team" not in request.headers
        assert set(request.json()) == {"model", "input"}
        assert request.json()["model"] == "mistral-embed"
        assert KEY not in str(request)
    assert not any(OTHER_KEY in str(request) for request in world.primary.requests)
    assert KEY.encode() not in (world.folder / "main.sqlite").read_bytes()


def test_recovery_gives_the_place_back_without_embedding_again(world: World) -> None:
    world.moved()
    sent = sum(map(len, world.primary.batches()))
    world.note("2026-03-01.md", "# Late\n\nWritten while the provider was out.\n")
    world.sync()
    world.primary.faults.clear()
    before = len(world.primary.batches())
    report = world.sync()

    answer = world.ask()
    assert (answer.provider, answer.fallback, answer.mode) == ("openai-compatible", None, "hybrid")
    assert world.status().fallback is None
    assert "provider out" not in world.status().details
    assert report.embedded == 1  # the new note
    assert [len(batch) for batch in world.primary.batches()[before:]] == [1, 1, 1]  # the try, the note, the question
    assert sent


def test_the_primary_is_tried_with_growing_pauses_in_the_background(world: World) -> None:
    world.moved()
    tries = []
    begun = world.clock.now
    seen = len(world.primary.requests)
    for _ in range(4 * 60):
        world.clock.now += 30
        world.background_sync()
        if len(world.primary.requests) > seen:
            seen = len(world.primary.requests)
            tries.append(world.clock.now - begun)

    assert tries[:5] == [60, 180, 420, 900, 1860]
    assert {after - before for before, after in pairwise(tries[4:])} == {outage.REPLACED.longest_seconds}
    world.primary.faults.clear()
    world.clock.now += outage.REPLACED.longest_seconds
    world.background_sync()
    assert world.ask().fallback is None


def test_a_try_that_a_command_does_not_wait_for_is_not_repeated_by_the_next(world: World) -> None:
    world.moved()
    world.primary.faults[:] = [Reply(after=threading.Event())] * 1000
    world.search = {"fallback": "mistral", "sync": SyncSettings(on_search_budget_ms=200)}
    world.clock.now += outage.REPLACED.first_seconds
    before = len(world.primary.requests)
    for _ in range(3):
        world.restart()
        answer = world.ask()
        assert (answer.provider, answer.mode) == ("mistral", "hybrid")
    assert len(world.primary.requests) == before + 1


def test_any_success_begins_the_ten_minutes_anew(world: World) -> None:
    world.sync()
    world.primary.fail(REFUSED)
    world.ask()
    world.clock.now += 590
    assert world.ask().mode == "hybrid"
    world.primary.fail(*DOWN)
    world.clock.now += 20
    world.ask()
    world.clock.now += 590
    world.sync()

    assert not world.second.requests


def test_a_provider_that_answers_the_last_try_keeps_its_place(world: World) -> None:
    world.sync()
    world.primary.fail(REFUSED)
    world.ask()
    world.clock.now += 86_400
    world.sync()

    assert not world.second.requests
    assert world.ask().provider == "openai-compatible"


def test_notes_that_cannot_be_embedded_count_as_well_as_questions(world: World) -> None:
    world.primary.fail(*DOWN)
    assert world.sync().pending
    world.clock.now += 600
    world.sync()

    assert world.ask().provider == "mistral"


@pytest.mark.parametrize("fallback", ["none", "openai-compatible"])
def test_nobody_takes_over_who_was_not_named(world: World, fallback: str) -> None:
    world.search = {"fallback": fallback}
    world.moved()

    assert world.ask().mode == "keyword"
    assert not world.second.requests


def test_a_fallback_that_cannot_be_opened_is_reported_and_the_primary_is_tried_on(world: World) -> None:
    world.search = {"fallback": "voyage"}
    world.sync()
    world.primary.fail(*DOWN)
    world.ask()
    world.clock.now += 600
    world.note("new.md", "# New\n\nSomething owed.\n")
    report = world.sync()

    assert any("the fallback cannot take over: voyage: there is no API key" in warning for warning in report.warnings)
    world.primary.faults.clear()
    assert world.sync().pending == 0
    assert world.ask().provider == "openai-compatible"


def test_a_question_never_meets_vectors_of_another_model(world: World) -> None:
    """While the fallback has embedded a part only, the primary's space serves, and keywords answer."""
    world.sync()
    world.primary.fail(*DOWN)
    world.ask()
    world.clock.now += 600
    world.second.fail(*DOWN)
    world.sync()

    answer = world.ask()
    assert (answer.mode, answer.fallback) == ("keyword", None)
    assert world.status().fallback is None
    world.second.faults.clear()
    world.sync()
    assert world.ask().provider == "mistral"
    rows: set[tuple[int, int]] = set()
    with SqliteStore(world.config.store_path).database.read() as connection:
        rows.update(
            connection.execute(
                "SELECT s.dimensions, length(e.embedding) / 4 FROM embedding_cache e JOIN spaces s ON s.id = e.space_id"
            )
        )
    assert rows == {(64, 64), (1024, 1024)}


def test_what_is_configured_otherwise_is_not_known_to_be_out(world: World) -> None:
    world.moved()
    world.restart()
    world.primary.faults.clear()
    world.search = {"fallback": "mistral", "model": "another-model"}
    world.sync()

    answer = world.ask()
    assert (answer.model, answer.fallback) == ("another-model", None)


def test_an_outage_is_of_the_place_that_the_environment_names(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    config = replace(world.config, search=SearchSettings(provider="openai"), providers={})
    usual = outage.fingerprint_settings("openai", config)
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
    named = outage.fingerprint_settings("openai", config)
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:2/v1")
    assert len({usual, named, outage.fingerprint_settings("openai", config)}) == 3
    monkeypatch.delenv("OPENAI_BASE_URL")
    assert outage.fingerprint_settings("openai", config) == usual


def test_who_takes_the_fallback_out_of_the_configuration_is_obeyed_at_once(world: World) -> None:
    world.moved()
    world.restart()
    world.search = {"fallback": "none"}
    before = len(world.second.requests)

    assert world.ask().mode == "keyword"
    assert len(world.second.requests) == before


def test_a_probe_that_succeeds_ends_the_outage(world: World) -> None:
    world.moved()
    world.primary.faults.clear()
    assert world.backend.memory_probe().ok
    world.background_sync()

    assert world.ask().fallback is None


def test_a_reader_asks_the_fallback_and_writes_nothing(world: World) -> None:
    world.moved()
    world.restart()
    world.access = "ro"
    before = (world.folder / "main.sqlite").read_bytes()

    answer = world.ask()
    assert answer.provider == "mistral"
    assert answer.fallback is not None
    world.second.fail(*DOWN)
    assert world.ask().mode == "keyword"
    assert (world.folder / "main.sqlite").read_bytes() == before


def test_the_static_model_takes_over_without_a_network(world: World) -> None:
    world.search = {"fallback": "static"}
    world.moved()

    answer = world.ask()
    assert (answer.provider, answer.mode) == ("static", "hybrid")
    assert answer.fallback is not None


def test_status_tells_what_waits_for_a_model_that_does_not_serve_yet(world: World) -> None:
    report = world.sync()
    world.restart()
    world.primary.fail(*DOWN)
    world.search = {"model": "another-model"}
    world.sync()

    status = world.status()
    assert (status.model, status.pending) == ("another-model", report.embedded)
    assert status.details["serving"] == "openai-compatible primary-model"
    answer = world.ask()
    assert (answer.mode, "no such account" in str(answer.warning)) == ("keyword", True)
    world.restart()
    world.search = {}
    world.sync()
    assert (world.status().model, world.status().pending) == ("primary-model", 0)
    assert "serving" not in world.status().details
