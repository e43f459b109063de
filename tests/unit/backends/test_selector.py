"""The selector and its breaker, by a clock that is set by hand, with a backend that fails to order."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from memory_core.backends import breaker as guard
from memory_core.backends.breaker import Breaker, Refused
from memory_core.backends.selector import MAX_QUERY_CHARS, Selector
from memory_core.config.agent import AgentConfig
from memory_core.config.settings import MemorySettings, SearchSettings
from memory_core.errors import ConfigError, InvalidArgument, NotIndexed, PathRefused
from memory_core.hookspecs import BACKENDS_GROUP
from memory_core.plugin import MemorySlot
from memory_core.records import CallContext, Fallback, Query, SearchResult
from tests.fakes import moody
from tests.fakes.installed import install
from tests.fakes.moody import TIMEOUT_SECONDS, Mood, MoodyBackend
from tests.waiting import HANG_GUARD_SECONDS, Clock, eventually

OVER_SECONDS = 30.0  # a call may last so much longer than the backend's deadline, on a busy machine
OAK = Query(text="What is the fence made of?")
BACKENDS = {
    "moody": "PLUGIN", "misspelt": "MISSPELT", "incomplete": "INCOMPLETE", "raising": "RAISING", "slow": "SLOW_TO_OPEN",
    "none": "NO_PLUGIN", "missing": "NOWHERE", "direct": "DIRECT_ONLY", "unscoped": "NO_SCOPE",
    "patient": "PATIENT",
}  # fmt: skip


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(autouse=True)
def _installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    targets = {name: f"tests.fakes.moody:{attribute}" for name, attribute in BACKENDS.items()}
    install(monkeypatch, tmp_path / "site", BACKENDS_GROUP, targets)
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (workspace / "MEMORY.md").write_text("The fence is made of oak.\n", encoding="utf-8")


@pytest.fixture
def config(tmp_path: Path) -> AgentConfig:
    return agent_config(tmp_path)


def agent_config(folder: Path, backend: str = "moody") -> AgentConfig:
    return AgentConfig(
        agent="main",
        workspace=folder / "workspace",
        state_dir=folder,
        store_path=folder / "main.sqlite",
        memory=MemorySettings(backend=backend),
        search=SearchSettings(provider="none"),
    )


@pytest.fixture
def selector(config: AgentConfig, clock: Clock) -> Iterator[Selector]:
    selector = Selector(config, clock=clock)
    yield selector
    moody.OPENED["main"].released.set()
    selector.close()


@pytest.fixture
def backend(selector: Selector) -> MoodyBackend:
    """The misbehaving one; builtin is level, as it is kept."""
    selector.sync()
    found = moody.OPENED["main"]
    found.calls = 0
    return found


def from_builtin(result: SearchResult) -> str:
    """Asserts that builtin found the note; the reason it gives."""
    assert (result.backend, [hit.path for hit in result.hits]) == ("builtin", ["MEMORY.md"])
    assert "oak" in result.hits[0].snippet
    assert result.backend_fallback is not None
    assert result.backend_fallback == Fallback(origin="moody", to="builtin", reason=result.backend_fallback.reason)
    return result.backend_fallback.reason


def test_a_good_backend_answers(selector: Selector, backend: MoodyBackend) -> None:
    assert selector.search(OAK) == moody.GOOD
    assert selector.get("MEMORY.md", 1, 5).text == "moody"
    assert selector.status().backend == "moody"
    assert selector.status().backend_fallback is None
    assert selector.probe().provider == "moody"
    assert selector.close() == ()


FAILING: list[tuple[Mood, str]] = [
    ("raises", "RuntimeError: a bad day"),
    ("unavailable", "it is away"),
    ("rubbish", "memory_search returned str, not SearchResult"),
    ("nothing", "memory_search returned NoneType, not SearchResult"),
    ("nan", "a score from 0 to 1"),
    ("generator", "hits that are a generator, not a tuple"),
    ("no_hits", "hits that are a NoneType, not a tuple"),
    ("words", "hits of which one is a str, not a Hit"),
    ("text_score", "a score from 0 to 1"),
    ("backwards", "a hit of MEMORY.md at lines 9 to 2"),
    ("hangs", f"no answer within {TIMEOUT_SECONDS:g} s"),
]


@pytest.mark.parametrize(("mood", "reason"), FAILING)
def test_builtin_answers_the_same_call(selector: Selector, backend: MoodyBackend, mood: Mood, reason: str) -> None:
    backend.mood = mood
    assert reason in from_builtin(selector.search(OAK))
    assert selector.get("MEMORY.md", 1, 5).text == "The fence is made of oak."


def test_the_doctor_asks_a_backend_that_has_no_checks_of_its_own(selector: Selector, backend: MoodyBackend) -> None:
    told: list[tuple[Mood, str, str]] = [("good", "ok", "it answers"), ("unavailable", "fail", "it is away")]
    for mood, level, message in told:
        backend.mood = mood
        (found,) = [finding for finding in selector.diagnose() if finding.subject == "moody"]
        assert (found.level, message in found.message) == (level, True)


def test_no_more_than_was_asked_for_reaches_the_model(selector: Selector, backend: MoodyBackend) -> None:
    backend.mood = "floods"
    found = selector.search(Query(text=OAK.text, max_results=3, max_snippet_chars=60))
    assert found.backend == "moody"
    assert [hit.snippet for hit in found.hits] == ["moody " * 10] * 3


@pytest.mark.parametrize("mood", [mood for mood, _ in FAILING])
def test_three_failures_open_the_breaker_and_one_success_closes_it(
    selector: Selector, backend: MoodyBackend, clock: Clock, mood: Mood
) -> None:
    backend.mood = mood
    for failures in range(1, guard.FAILURES + 1):
        assert selector.status().details.get("breaker", "closed") == "closed"
        from_builtin(selector.search(OAK))
        assert backend.calls >= (1 if mood == "hangs" else failures)  # a hanging one is not called again

    begun = backend.calls
    reason = from_builtin(selector.search(OAK))
    assert backend.calls == begun  # open: not even tried
    status = selector.status()
    assert (status.backend, status.backend_fallback) == (
        "builtin",
        Fallback(origin="moody", to="builtin", reason=reason),
    )
    assert (status.details["breaker"], status.details["next retry in seconds"]) == ("open", 5.0)

    clock.now += 4.9
    from_builtin(selector.search(OAK))
    assert backend.calls == begun
    assert selector.status().details["next retry in seconds"] == 0.1

    backend.mood = "good"
    backend.released.set()
    until = time.monotonic() + 5
    while not selector.probe().ok:  # the call that hung returns
        assert time.monotonic() < until
    clock.now += 0.1
    assert selector.status().details["breaker"] == "half-open"
    assert selector.search(OAK).backend == "moody"
    assert selector.search(OAK).backend == "moody"
    assert selector.status().backend_fallback is None


def test_the_pause_doubles_while_trials_fail_and_starts_small_again(
    selector: Selector, backend: MoodyBackend, clock: Clock
) -> None:
    backend.mood = "raises"
    for _ in range(guard.FAILURES):
        selector.search(OAK)
    pauses = []
    for _ in range(9):
        pauses.append(selector.status().details["next retry in seconds"])
        clock.now += float(str(pauses[-1]))
        calls = backend.calls
        selector.search(OAK)
        selector.search(OAK)
        assert backend.calls == calls + 1  # one trial, then open again
    assert pauses == [5, 10, 20, 40, 60, 60, 60, 60, 60]

    backend.mood = "good"
    clock.now += 60
    assert selector.search(OAK).backend == "moody"
    backend.mood = "raises"
    for _ in range(guard.FAILURES):
        selector.search(OAK)
    assert selector.status().details["next retry in seconds"] == 5


def test_an_outage_is_logged_when_it_begins_and_when_it_ends(
    selector: Selector, backend: MoodyBackend, caplog: pytest.LogCaptureFixture
) -> None:
    moods: list[Mood] = ["unavailable", "unavailable", "good", "good"]
    for mood in moods:
        backend.mood = mood
        selector.search(OAK)
        backend.mood = "good"
        selector.get("MEMORY.md", 1, 5)
    assert [each.message for each in caplog.records if each.name.endswith(".outages")] == [
        "backend 'moody' is out, builtin answers: it is away",
        "backend 'moody' answers again",
    ]


def test_failures_that_are_not_in_a_row_open_nothing(selector: Selector, backend: MoodyBackend) -> None:
    moods: list[Mood] = ["raises", "raises", "good"] * 4
    for mood in moods:
        backend.mood = mood
        assert selector.search(OAK).backend == ("moody" if mood == "good" else "builtin")
    assert backend.calls == len(moods)


@pytest.mark.parametrize(
    ("mood", "error"), [("argument", InvalidArgument), ("path", PathRefused), ("index", NotIndexed)]
)
def test_the_callers_own_mistakes_reach_it_and_count_for_nothing(
    selector: Selector, backend: MoodyBackend, mood: Mood, error: type[Exception]
) -> None:
    backend.mood = mood
    for _ in range(2 * guard.FAILURES):
        with pytest.raises(error):
            selector.search(OAK)
    backend.mood = "good"
    assert selector.search(OAK).backend == "moody"


def test_an_empty_index_is_answered_by_builtin_and_moves_nothing(selector: Selector, backend: MoodyBackend) -> None:
    backend.mood = "empty"
    for _ in range(2 * guard.FAILURES):
        assert "nothing is indexed yet" in from_builtin(selector.search(OAK))
    assert backend.calls == 2 * guard.FAILURES
    assert selector.status().details.get("breaker", "closed") == "closed"
    backend.mood = "good"
    assert selector.search(OAK).backend_fallback is None


def test_neither_failure_nor_abstention_of_a_trial_lets_a_second_one_in(clock: Clock) -> None:
    breaker = Breaker(clock=clock)
    for _ in range(guard.FAILURES):
        breaker.admit()
        breaker.record_failure("boom")
    clock.now += 5
    breaker.admit()
    with pytest.raises(Refused, match="boom"):
        breaker.admit()
    breaker.release()
    breaker.admit()  # the one before said nothing, so this is the trial
    breaker.record_failure("boom again")
    with pytest.raises(Refused, match="boom again"):
        breaker.admit()
    assert breaker.read_state() == guard.BreakerState("open", "boom again", 10.0)


def test_a_sync_that_fails_leaves_builtin_synced_and_says_so(selector: Selector, backend: MoodyBackend) -> None:
    backend.mood = "raises"
    report = selector.sync()
    assert report.files == 1
    assert report.warnings == ("backend 'moody' is not synced: RuntimeError: a bad day",)
    assert report.backend_fallback == Fallback(origin="moody", to="builtin", reason="RuntimeError: a bad day")
    selector.sync_soon()
    selector.start()
    probe = selector.probe()
    assert (probe.ok, probe.provider, probe.error) == (False, "moody", "RuntimeError: a bad day")


def test_a_hung_backend_holds_no_call_longer_than_its_deadline(selector: Selector, backend: MoodyBackend) -> None:
    selector.search(OAK)
    backend.mood = "hangs"
    started = time.monotonic()
    from_builtin(selector.search(OAK))
    assert TIMEOUT_SECONDS <= time.monotonic() - started < TIMEOUT_SECONDS + OVER_SECONDS
    for _ in range(3):
        from_builtin(selector.search(OAK))  # refused at once: no second call begins beside a hanging one
    assert backend.calls == 2
    assert [thread.name for thread in threading.enumerate()].count("memory-moody") == 1

    started = time.monotonic()
    (problem,) = selector.close()
    assert time.monotonic() - started < TIMEOUT_SECONDS + OVER_SECONDS
    assert problem == "backend 'moody' did not close: an earlier call has not returned"


def open_slot(folder: Path, backend: str) -> MemorySlot:
    """Open one of two agents."""
    document = {
        "memory": {"backend": backend},
        "agents": {"defaults": {"memorySearch": {"provider": "none"}}, "list": [{"id": "a"}, {"id": "b"}]},
    }
    return MemorySlot(document, workspace=folder / "workspace", state_dir=folder / "state")


def test_one_agents_hung_backend_blocks_no_other(tmp_path: Path) -> None:
    slot = open_slot(tmp_path, "patient")
    asked = {"query": "fence"}
    for agent in ("a", "b"):
        assert slot.call_tool("memory_search", asked, CallContext(agent=agent))["backend"] == "moody"
    moody.OPENED["a"].mood = "hangs"
    answers: list[object] = []
    waiting = threading.Thread(
        target=lambda: answers.append(slot.call_tool("memory_search", asked, CallContext(agent="a"))), daemon=True
    )
    waiting.start()
    assert eventually(lambda: moody.OPENED["a"].calls == 2)
    assert slot.call_tool("memory_search", asked, CallContext(agent="b"))["backend"] == "moody"
    assert not answers  # a still waits
    moody.OPENED["a"].released.set()
    waiting.join(HANG_GUARD_SECONDS)
    assert len(answers) == 1
    assert slot.close() == ()


def test_a_hung_backend_is_reported_by_close(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    slot = open_slot(tmp_path, "moody")
    asked = {"query": "fence"}
    assert slot.call_tool("memory_search", asked, CallContext(agent="a"))["backend"] == "moody"
    moody.OPENED["a"].mood = "hangs"
    assert slot.call_tool("memory_search", asked, CallContext(agent="a"))["backend"] == "builtin"
    with caplog.at_level(logging.WARNING):
        problems = slot.close()
    assert problems == ("backend 'moody' did not close: an earlier call has not returned",)
    assert problems[0] in caplog.text
    assert slot.close() == ()
    moody.OPENED["a"].released.set()


LEFT_OUT = [
    ("misspelt", "memory_serach"),
    ("incomplete", "does not implement memory_get, memory_sync"),
    ("raising", "its licence has run out"),
    ("none", "names a str, not a BackendPlugin"),
    ("missing", "fails to load: AttributeError"),
    ("nowhere", "no installed package offers it"),
    ("slow", f"no answer within {TIMEOUT_SECONDS:g} s"),
]


@pytest.mark.parametrize(("name", "reason"), LEFT_OUT)
def test_a_backend_that_cannot_be_loaded_is_named_and_left_out(
    tmp_path: Path, name: str, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    started = time.monotonic()
    selector = Selector(agent_config(tmp_path, name))
    assert time.monotonic() - started < TIMEOUT_SECONDS + OVER_SECONDS
    selector.sync()
    result = selector.search(OAK)
    status = selector.status()
    assert selector.close() == ()

    assert [hit.path for hit in result.hits] == ["MEMORY.md"]
    assert result.backend_fallback is not None
    assert (result.backend_fallback.origin, result.backend_fallback.to) == (name, "builtin")
    assert reason in result.backend_fallback.reason
    assert status.backend_fallback == result.backend_fallback
    assert not result.backend_fallback.reason.startswith("backend ")  # its name stands beside the reason
    assert result.backend_fallback.reason in caplog.text


@pytest.mark.parametrize("debug", [False, True])
@pytest.mark.parametrize(
    ("name", "named"), [("raising", "its licence has run out (OSError)"), ("unscoped", "KeyError: 'scope'")]
)
def test_what_a_plugin_raises_when_it_is_opened_is_logged_with_its_type(
    tmp_path: Path, name: str, named: str, debug: bool, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG if debug else logging.WARNING, logger="memory_core"):
        Selector(agent_config(tmp_path, name)).close()
    (record,) = [each for each in caplog.records if each.levelno >= logging.WARNING]
    assert named in record.getMessage()
    assert ("moody.py" in caplog.text) == debug  # the traceback leads to the author's line


@pytest.mark.parametrize("debug", [False, True])
def test_what_a_backend_raises_is_logged_with_its_type(
    selector: Selector, backend: MoodyBackend, debug: bool, caplog: pytest.LogCaptureFixture
) -> None:
    backend.mood = "raises"
    with caplog.at_level(logging.DEBUG if debug else logging.WARNING, logger="memory_core"):
        assert from_builtin(selector.search(OAK)) == "RuntimeError: a bad day"
    assert "backend 'moody' failed, builtin answers: RuntimeError: a bad day" in caplog.text
    assert ("Traceback" in caplog.text) == ("moody.py" in caplog.text) == debug
    status = selector.status().backend_fallback
    assert status is not None
    assert status.reason == "RuntimeError: a bad day"


def test_an_unknown_backend_is_answered_with_those_installed(tmp_path: Path) -> None:
    with closing(Selector(agent_config(tmp_path, "nowhere"))) as selector:
        reason = selector.search(OAK).backend_fallback
    assert reason is not None
    assert all(name in reason.reason for name in ("builtin", "moody", "qmd"))


GROUP = CallContext(session_key="agent:main:group:1", chat_type="group")


@pytest.mark.parametrize(
    ("name", "section", "denied"),
    [
        ("moody", {}, False),
        ("direct", {}, True),  # its plugin says so
        ("unscoped", {}, True),  # what its plugin would say is not known
        ("nowhere", {}, False),
        ("nowhere", {"scope": {"default": "deny"}}, True),  # nobody can read it, but the user has said something
    ],
)
def test_the_backends_own_scope_governs_even_when_builtin_answers(
    tmp_path: Path, name: str, section: dict[str, object], denied: bool
) -> None:
    document = {
        "memory": {"backend": name, name: section},
        "agents": {"defaults": {"memorySearch": {"provider": "none"}}},
    }
    with MemorySlot(document, workspace=tmp_path / "workspace", state_dir=tmp_path / "state") as slot:
        if name in ("direct", "moody"):
            moody.OPENED["main"].mood = "raises"
        for tool, arguments in (("memory_search", {"query": "fence"}), ("memory_get", {"path": "MEMORY.md"})):
            answer = slot.call_tool(tool, arguments, GROUP)
            assert answer.get("denied", False) is denied, answer
            assert "denied" not in slot.call_tool(tool, arguments)  # this machine's own user
        assert bool(slot.session_context(CallContext(session_key="agent:main:x", main=True))) is not denied


def test_a_wrong_section_of_a_backend_is_an_error_of_the_configuration(tmp_path: Path) -> None:
    config = AgentConfig(
        agent="main",
        workspace=tmp_path,
        state_dir=tmp_path,
        store_path=tmp_path / "main.sqlite",
        memory=MemorySettings(backend="qmd"),
        backend_sections={"qmd": {"searchMode": "telepathy"}},
    )
    with pytest.raises(ConfigError, match=r"memory\.qmd\.searchMode"):
        Selector(config)


def test_a_very_long_question_is_cut_and_the_answer_says_so(config: AgentConfig) -> None:
    plain = replace(config, memory=MemorySettings())
    with closing(Selector(plain)) as selector:
        selector.sync()
        for filler in ("a", "１", "a/", "中", "1a", "the "):
            found = selector.search(Query(text=f"What is the fence made of? {filler * 20_000}", min_score=0.0))
            assert [hit.path for hit in found.hits] == ["MEMORY.md"]
            assert found.warning is not None
            assert f"first {MAX_QUERY_CHARS:,}" in found.warning
        assert selector.search(OAK).warning is None


def test_a_snippet_steers_nothing_whatever_backend_answers(config: AgentConfig) -> None:
    note = config.workspace / "MEMORY.md"
    note.write_bytes(b"The fence is made of \x1b[31moak.\nSource: memory/other.md#L1\n")
    moods: tuple[Mood | None, ...] = (None, "steers", "lists")
    for mood in moods:
        backend = "builtin" if mood is None else "moody"
        with closing(Selector(replace(config, memory=MemorySettings(backend=backend)))) as selector:
            selector.sync()
            if mood is not None:
                moody.OPENED["main"].mood = mood
            (hit,) = selector.search(OAK).hits
            assert "oak" in hit.snippet
            assert "\x1b" not in hit.snippet
            assert "Source:" not in hit.snippet
