"""QMD behind the selector: builtin answers while it is down, and it gets its place back."""

from __future__ import annotations

import random
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from memory_core.backends.selector import Selector
from memory_core.config.settings import MemorySettings, ProviderId, Remote, SearchSettings, SyncSettings
from memory_core.errors import PathRefused
from memory_core.records import Query
from tests.qmd.conftest import (
    FAULT_WEIGHTS,
    FAULTS,
    HANG_GUARD_SECONDS,
    REAL,
    FakeQmd,
    QmdAgent,
    list_children,
    log,
    message,
)
from tests.servers.openai import OpenAIServer
from tests.waiting import Clock, eventually

DEADLINE_MS = 20_000  # which few calls need: those that hang
PATIENT_LIMITS = {"timeoutMs": 60_000}  # the machine of a test may be busy
FENCE = Query(text="fence")

# A search waits for builtin's sync however busy the machine of the test is.
OFFLINE = SearchSettings(provider="none", sync=SyncSettings(on_search_budget_ms=60_000))


@pytest.fixture
def clock() -> Clock:
    return Clock()


def opened(agent: QmdAgent, clock: Clock, section: Mapping[str, Any], search: SearchSettings = OFFLINE) -> Selector:
    config = replace(
        agent.config, memory=MemorySettings(backend="qmd"), search=search, backend_sections={"qmd": section}
    )
    return Selector(config, clock=clock)


@pytest.fixture
def selector(agent: QmdAgent, clock: Clock) -> Iterator[Selector]:
    selector = opened(agent, clock, {"command": str(agent.settings.command), "limits": PATIENT_LIMITS})
    yield selector
    selector.close()


# Seconds after an outage began at which QMD is asked, once a second being wanted: three failures open the breaker, and
# its pauses double from five seconds on.
TRIALS = (0, 1, 2, 7, 17, 37, 77)
BACK_AT = 60


def test_status_tells_each_step_of_an_outage_and_of_the_way_back(
    agent: QmdAgent, fake: FakeQmd, clock: Clock, selector: Selector
) -> None:
    agent.note("MEMORY.md", "The fence is of oak.")
    assert selector.search(Query(text="fence")).backend == "qmd"
    assert (selector.status().backend, selector.status().backend_fallback) == ("qmd", None)

    fake.fail(any="exit 1 SqliteError: boom")
    began = clock.now
    for second in range(TRIALS[-1]):
        if second == BACK_AT:
            fake.fail()
        clock.now = began + second
        calls = len(fake.log.read_text().splitlines())
        result = selector.search(Query(text="fence"))
        status = selector.status()
        assert (len(fake.log.read_text().splitlines()) > calls) == (second in TRIALS)
        assert (result.backend, [hit.path for hit in result.hits]) == ("builtin", ["MEMORY.md"])
        for told in (result.backend_fallback, status.backend_fallback):
            assert told is not None
            assert (told.origin, told.to, "boom" in told.reason) == ("qmd", "builtin", True)
        due = next(trial for trial in TRIALS if trial > second) - second
        open_ = second >= TRIALS[2]
        assert status.backend == "builtin"
        assert status.details.get("breaker") == ("open" if open_ else None)
        assert status.details.get("next retry in seconds") == (due if open_ else None)

    clock.now = began + TRIALS[-1]
    waiting = selector.status()
    assert (waiting.backend, waiting.details["breaker"]) == ("builtin", "half-open")
    assert selector.search(Query(text="fence")).backend == "qmd"
    assert (selector.status().backend, selector.status().backend_fallback) == ("qmd", None)


def test_an_empty_index_does_not_move_the_breaker(agent: QmdAgent, fake: FakeQmd, selector: Selector) -> None:
    agent.note("MEMORY.md", "The fence is of oak.")
    fake.fail(update="say nothing done")
    for _ in range(6):
        result = selector.search(Query(text="fence"))
        assert (result.backend, len(result.hits)) == ("builtin", 1)
        assert result.backend_fallback is not None
        assert "empty" in result.backend_fallback.reason
    assert selector.status().details.get("breaker", "closed") == "closed"


def test_a_missing_program_leaves_all_of_memory_working(agent: QmdAgent, tmp_path: Path, clock: Clock) -> None:
    agent.note("MEMORY.md", "The fence is of oak.")
    team = tmp_path / "team"
    team.mkdir()
    (team / "paint.md").write_text("The paint is green.\n")
    (team / "link.md").symlink_to(agent.workspace / "MEMORY.md")
    (tmp_path / "secret.md").write_text("secret")
    section = {"command": "no-such-qmd", "paths": [{"path": str(team)}]}
    selector = opened(agent, clock, section)
    result = selector.search(Query(text="fence"))
    assert (result.backend, [hit.path for hit in result.hits]) == ("builtin", ["MEMORY.md"])
    assert result.backend_fallback is not None
    assert "not installed" in result.backend_fallback.reason
    for _ in range(6):  # then the breaker is open
        assert [hit.path for hit in selector.search(Query(text="paint")).hits] == ["qmd/team-main/paint.md"]
    assert selector.status().details["breaker"] == "open"
    assert selector.get("qmd/team-main/paint.md", 1, 1).text == "The paint is green."
    assert selector.get("qmd/team-main/gone.md", 1, 1).status == "not_found"
    for path in ("qmd/team-main/link.md", "qmd/team-main/../../secret.md", "qmd/other-main/paint.md"):
        with pytest.raises(PathRefused):
            selector.get(path, 1, 1)
    selector.close()


def test_what_qmd_searches_is_in_builtins_index_before_it_is_needed(
    agent: QmdAgent, fake: FakeQmd, tmp_path: Path, clock: Clock
) -> None:
    agent.note("MEMORY.md", "The fence is of oak.")
    (tmp_path / "team").mkdir()
    (tmp_path / "team" / "paint.md").write_text("The paint is green.\n")
    log(agent.config.sessions_dir, "s1", message("user", "Water the roses."))
    section = {
        "command": str(fake.program),
        "limits": PATIENT_LIMITS,
        "paths": [{"path": str(tmp_path / "team")}],
        "sessions": {"enabled": True},
    }
    selector = opened(agent, clock, section, search=replace(OFFLINE, sync=SyncSettings(on_search=False)))
    selector.sync()
    selector.sync()  # the first one of QMD's exported the sessions
    asked = {"paint": "qmd/team-main/paint.md", "roses": "qmd/sessions-main/session-s1.md"}
    for backend in ("qmd", "builtin"):
        for text, path in asked.items():
            result = selector.search(Query(text=text))
            assert (result.backend, [hit.path for hit in result.hits]) == (backend, [path])
            assert result.hits[0].source == ("sessions" if text == "roses" else "memory")
            assert not result.stale
        fake.fail(any="exit 1 boom")
    assert selector.get(asked["roses"], 3, 1).text == "User: Water the roses."
    selector.close()


@pytest.mark.parametrize("provider", ["openai", "static"])
def test_only_what_costs_nothing_is_embedded_while_another_backend_serves(
    agent: QmdAgent, fake: FakeQmd, clock: Clock, monkeypatch: pytest.MonkeyPatch, provider: ProviderId
) -> None:
    agent.note("MEMORY.md", "The fence is of oak.")
    agent.note("../team/paint.md", "The paint is green.\n")
    section = {"command": str(fake.program), "limits": PATIENT_LIMITS, "paths": [{"path": "../team"}]}
    with OpenAIServer() as server:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
        search = replace(OFFLINE, provider=provider, remote=Remote(base_url=server.url))
        selector = opened(agent, clock, section, search=search)
        selector.sync(force=True)
        agent.note("memory/a.md", "The gate is of iron.")
        selector.sync()
        fake.fail(any="exit 1 boom")
        for text, path in {"paint": "qmd/team-main/paint.md", "gate": "memory/a.md"}.items():
            result = selector.search(Query(text=text))
            assert (result.backend, result.hits[0].path) == ("builtin", path)
            assert result.mode == ("hybrid" if provider == "static" else "keyword")
        selector.close()
        assert server.requests == []


@pytest.mark.real_qmd
@pytest.mark.parametrize("mode", ["search", "vsearch"])
def test_every_call_is_answered_in_time_and_nothing_is_left_behind(
    agent: QmdAgent, fake: FakeQmd, clock: Clock, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    tmp_path = fake.program.parents[1]
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    agent.note("MEMORY.md", "The fence is of oak.")
    (tmp_path / "embed.gguf").write_bytes(b"GGUF fine")
    section = {
        "command": str(fake.program),
        "searchMode": mode,
        "models": {"embed": str(tmp_path / "embed.gguf")},
        "daemon": {"enabled": mode == "vsearch"},
        "limits": {"timeoutMs": DEADLINE_MS},
    }
    selector = opened(agent, clock, section)
    selector.sync()
    if mode == "vsearch":
        selector.start()
        assert eventually(lambda: (selector.search(FENCE), selector.status().details.get("warm server"))[1] == "ready")
    many = 60 if REAL is None else 200  # the long run belongs to `make test-qmd`
    faults = random.Random(7).choices(FAULTS, FAULT_WEIGHTS, k=many)
    fake.fail(query=faults, _evidence=["none"] * 20 + faults)
    before = set(tmp_path.iterdir())
    served: Counter[str] = Counter()
    for number in range(many):
        if number % 7 == 0:
            agent.note(f"memory/{number}.md", "Nothing of note.")  # so that both have something to sync
        began = time.monotonic()
        result = selector.search(FENCE)
        assert time.monotonic() - began < HANG_GUARD_SECONDS
        assert [hit.path for hit in result.hits] == ["MEMORY.md"] or result.backend == "qmd"
        served[result.backend] += 1
        clock.now += 10
    least = many / 25 if mode == "search" else many / 50  # most faults only cost the server, or the meaning
    assert min(served["qmd"], served["builtin"]) > least
    assert selector.close() == ()
    assert eventually(lambda: not list_children(fake))
    assert set(tmp_path.iterdir()) == before
