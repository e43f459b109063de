"""A flush turn run to its end, with a model that follows a script; and how it is recorded."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_core.config.agent import AgentConfig
from memory_core.plugin.flush.cycles import record_outcome
from memory_core.plugin.flush.policy import FlushTurn, Session, plan_flush, should_flush
from memory_core.plugin.flush.runner import FlushOutcome, make_flush_tools, run_flush
from memory_core.sources.sessions_json import read_entry
from memory_core.text.paragraphs import fingerprint_recalled

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
NOTE = "memory/2026-11-21.md"
KEY = "agent:main:main"


@pytest.fixture
def agent(tmp_path: Path) -> AgentConfig:
    (tmp_path / "ws").mkdir()
    return AgentConfig(
        agent="main", workspace=tmp_path / "ws", state_dir=tmp_path / "state", store_path=tmp_path / "main.sqlite"
    )


@pytest.fixture
def turn(agent: AgentConfig) -> FlushTurn:
    session = Session(
        agent="main", key=KEY, total_tokens=190_000, context_window=200_000, timezone="UTC", session_id="s1"
    )
    planned = plan_flush(session, agent, clock=lambda: NOON)
    assert planned is not None
    return planned


@dataclass
class ScriptedModel:
    """Answers with one line of its script after the other, the last one for ever; keeps what it was asked."""

    script: list[Any]
    requests: list[dict[str, Any]] = field(default_factory=list)

    def __call__(
        self, messages: list[dict[str, Any]], tools: list[dict[str, Any]], *, max_tokens: int, timeout_seconds: float
    ) -> Mapping[str, Any]:
        self.requests.append(
            {"messages": messages, "tools": tools, "max_tokens": max_tokens, "timeout_seconds": timeout_seconds}
        )
        answer = self.script[min(len(self.requests), len(self.script)) - 1]
        if isinstance(answer, BaseException):
            raise answer
        assert isinstance(answer, Mapping)
        return answer


def says(text: str | None, **usage: int) -> dict[str, Any]:
    return {"choices": [{"message": {"role": "assistant", "content": text}}], "usage": usage}


def calls(*arguments: object, name: str = "memory_append") -> dict[str, Any]:
    made = [
        {"id": f"call_{index}", "type": "function", "function": {"name": name, "arguments": one}}
        for index, one in enumerate(arguments)
    ]
    return {"choices": [{"message": {"role": "assistant", "content": None, "tool_calls": made}}]}


def append(text: str, **more: str) -> str:
    return json.dumps({"text": text, **more})


def test_stores_and_ends(turn: FlushTurn, agent: AgentConfig) -> None:
    model = ScriptedModel([calls(append("We chose apsw."), append("Ada prefers tea.")), says("NO_REPLY")])
    outcome = run_flush(turn, model, make_flush_tools(turn, agent))

    assert (outcome.status, outcome.appended, outcome.steps) == ("stored", 2, 2)
    assert (agent.workspace / NOTE).read_text() == "# 2026-11-21\n\nWe chose apsw.\n\nAda prefers tea.\n"
    first, second = model.requests
    assert first["tools"] == [{"type": "function", "function": dict(turn.tools["memory_append"])}]
    assert [message["role"] for message in first["messages"]] == ["system", "user"]
    results = [json.loads(message["content"]) for message in second["messages"] if message["role"] == "tool"]
    assert results[0] == {"path": NOTE, "status": "appended", "appended": 1, "startLine": 3, "endLine": 3}
    assert [m["tool_call_id"] for m in second["messages"] if m["role"] == "tool"] == ["call_0", "call_1"]


@pytest.mark.parametrize(
    "secret",
    ["ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8", "mein Passwort ist Schwertfisch", "the code for the door is 4471"],
)
def test_secrets_are_left_out(turn: FlushTurn, agent: AgentConfig, secret: str) -> None:
    model = ScriptedModel([calls(append(f"Ada prefers tea; {secret}")), says("NO_REPLY")])
    assert run_flush(turn, model, make_flush_tools(turn, agent)).status == "stored"
    written = (agent.workspace / NOTE).read_text()
    assert "Ada prefers tea; " in written
    assert "[redacted]" in written
    assert secret.rsplit(" ", maxsplit=1)[-1] not in written


def test_nothing_to_store(turn: FlushTurn, agent: AgentConfig) -> None:
    outcome = run_flush(turn, ScriptedModel([says("NO_REPLY")]), make_flush_tools(turn, agent))
    assert (outcome.status, outcome.appended, outcome.steps) == ("nothing", 0, 1)
    assert list(agent.workspace.iterdir()) == []


def test_the_system_prompt_is_appended_to_the_hosts(turn: FlushTurn, agent: AgentConfig) -> None:
    model = ScriptedModel([says("NO_REPLY")])
    history = [{"role": "system", "content": "You are Bo."}, {"role": "user", "content": "Hi"}]
    run_flush(turn, model, make_flush_tools(turn, agent), history=history)
    sent = model.requests[0]["messages"]
    assert sent[0] == {"role": "system", "content": f"You are Bo.\n\n{turn.system_prompt}"}
    assert sent[1:] == [history[1], {"role": "user", "content": turn.prompt}]
    assert history[0]["content"] == "You are Bo."


def test_a_message_alone_and_arguments_as_an_object_will_do(turn: FlushTurn, agent: AgentConfig) -> None:
    message = calls({"text": "A fact."})["choices"][0]["message"]
    outcome = run_flush(
        turn,
        ScriptedModel([message, {"content": [{"type": "text", "text": "NO_REPLY"}]}]),
        make_flush_tools(turn, agent),
    )
    assert (outcome.status, outcome.appended) == ("stored", 1)


def test_what_is_there_already_counts_as_stored(turn: FlushTurn, agent: AgentConfig) -> None:
    model = ScriptedModel([calls(append("A fact."), append("A fact.")), says("Done.")])
    outcome = run_flush(turn, model, make_flush_tools(turn, agent))
    assert (outcome.status, outcome.appended) == ("stored", 1)


def test_what_was_recalled_is_not_written_back(turn: FlushTurn, agent: AgentConfig) -> None:
    tools = make_flush_tools(turn, agent, recalled=fingerprint_recalled(["Ada prefers tea."]))
    outcome = run_flush(turn, ScriptedModel([calls(append("> Ada prefers tea.")), says("NO_REPLY")]), tools)
    assert (outcome.status, outcome.appended) == ("stored", 0)
    assert not (agent.workspace / NOTE).exists()


def test_chatter_is_reminded_once(turn: FlushTurn, agent: AgentConfig) -> None:
    model = ScriptedModel([says("I've saved it all!"), calls(append("Now really.")), says("NO_REPLY")])
    assert run_flush(turn, model, make_flush_tools(turn, agent)).status == "stored"
    assert model.requests[1]["messages"][-1]["role"] == "user"

    stubborn = ScriptedModel([says("I've saved it all!")])
    outcome = run_flush(turn, stubborn, make_flush_tools(turn, agent))
    assert (outcome.status, outcome.steps) == ("failed", 2)


@pytest.mark.parametrize(
    "call",
    [
        calls("{not json"),
        calls("[]"),
        calls(None),
        calls(append("x"), name="shell"),
        calls(append("")),
        calls(append("x", target="longterm")),
        calls(append("x", target="../x.md")),
        calls(json.dumps({"text": 5})),
        calls(append("x" * 70_000)),
        {"content": None, "tool_calls": ["nonsense"]},
        {"content": None, "tool_calls": [{"id": None, "function": "nonsense"}]},
    ],
)
def test_a_bad_call_is_told_to_the_model(call: dict[str, Any], turn: FlushTurn, agent: AgentConfig) -> None:
    model = ScriptedModel([call, calls(append("A fact.")), says("NO_REPLY")])
    outcome = run_flush(turn, model, make_flush_tools(turn, agent), max_tokens=100_000)
    assert "error" in json.loads(model.requests[1]["messages"][-1]["content"])
    assert (outcome.status, outcome.appended) == ("stored", 1)
    assert (agent.workspace / NOTE).read_text() == "# 2026-11-21\n\nA fact.\n"
    assert not (agent.workspace / "MEMORY.md").exists()


def test_many_calls_in_one_step_are_bounded(turn: FlushTurn, agent: AgentConfig) -> None:
    model = ScriptedModel([calls(*(append(f"Fact {n}.") for n in range(40))), says("NO_REPLY")])
    assert run_flush(turn, model, make_flush_tools(turn, agent)).appended == 16
    assert len([m for m in model.requests[1]["messages"] if m["role"] == "tool"]) == 40


def test_steps_are_bounded(turn: FlushTurn, agent: AgentConfig) -> None:
    outcome = run_flush(turn, ScriptedModel([calls("{}")]), make_flush_tools(turn, agent), max_steps=3)
    assert (outcome.status, outcome.reason, outcome.steps) == ("failed", "stopped after 3 steps", 3)
    outcome = run_flush(turn, ScriptedModel([calls(append("A fact."))]), make_flush_tools(turn, agent), max_steps=3)
    assert (outcome.status, outcome.reason) == ("stored", "stopped after 3 steps")


def test_tokens_are_bounded(turn: FlushTurn, agent: AgentConfig) -> None:
    wordy = calls("{}") | {"usage": {"completion_tokens": 300}}
    model = ScriptedModel([wordy])
    outcome = run_flush(turn, model, make_flush_tools(turn, agent), max_tokens=500)
    assert (outcome.status, outcome.tokens, outcome.steps) == ("failed", 600, 2)
    assert [request["max_tokens"] for request in model.requests] == [500, 200]

    uncounted = ScriptedModel([calls("x" * 2000)])
    assert run_flush(turn, uncounted, make_flush_tools(turn, agent), max_tokens=500).steps == 1


def test_time_is_bounded(turn: FlushTurn, agent: AgentConfig) -> None:
    ticks = iter(range(0, 10_000, 5))
    model = ScriptedModel([calls("{}")])
    outcome = run_flush(
        turn, model, make_flush_tools(turn, agent), max_seconds=60, max_steps=99, clock=lambda: next(ticks)
    )
    assert (outcome.status, outcome.reason) == ("failed", "stopped after 60 s")
    assert 1 <= outcome.steps <= 12
    waits = [request["timeout_seconds"] for request in model.requests]
    assert waits == sorted(waits, reverse=True)


def test_a_hung_model_is_left_behind(turn: FlushTurn, agent: AgentConfig) -> None:
    release = threading.Event()

    def hang(messages: object, tools: object, *, max_tokens: int, timeout_seconds: float) -> Mapping[str, Any]:
        release.wait(30)
        return calls(append("Too late."))

    try:
        outcome = run_flush(turn, hang, make_flush_tools(turn, agent), max_seconds=0.2)
    finally:
        release.set()
    assert outcome.status == "failed"
    assert "no answer within 0.2 s" in outcome.reason
    assert outcome.seconds < 10
    assert list(agent.workspace.iterdir()) == []


@pytest.mark.parametrize(
    "answer",
    [
        OSError("connection refused"),
        SystemExit(3),
        KeyboardInterrupt(),
        {},
        {"choices": []},
        {"choices": [{}]},
        {"choices": "x"},
        {"error": "quota"},
        says(None),
        says(""),
    ],
    ids=repr,
)
def test_a_broken_model_fails_the_turn_and_not_the_host(answer: Any, turn: FlushTurn, agent: AgentConfig) -> None:
    outcome = run_flush(turn, ScriptedModel([answer]), make_flush_tools(turn, agent))
    assert outcome.status == "failed"
    assert outcome.reason


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["choices", "message", "content", "tool_calls", "function", "name", "arguments", "id", "usage"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(answers=st.lists(json_values, min_size=1, max_size=3))
def test_no_answer_makes_it_raise(answers: list[Any]) -> None:
    ignored: Callable[[Mapping[str, Any]], object] = dict
    agent = AgentConfig(
        agent="main", workspace=Path("/nowhere"), state_dir=Path("/nowhere"), store_path=Path("/nowhere")
    )
    planned = plan_flush(Session(agent="main", key=KEY), agent, compacting=True)
    assert planned is not None
    script = [answer if isinstance(answer, Mapping) else says("x") | {"choices": answer} for answer in answers]
    outcome = run_flush(planned, ScriptedModel(script), {"memory_append": ignored}, max_steps=4)
    assert outcome.status in {"stored", "nothing", "failed"}


def test_a_flush_is_recorded_and_ends_the_cycle(
    turn: FlushTurn, agent: AgentConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "time", NOON.timestamp)
    sessions = tmp_path / "sessions.json"
    done = FlushOutcome(status="nothing", reason="the model had nothing to store")
    assert record_outcome(turn, done, sessions)
    entry = read_entry(sessions, KEY)
    at_ms = int(NOON.timestamp() * 1000)
    assert entry == {"sessionId": "s1", "updatedAt": at_ms, "memoryFlushAt": at_ms, "memoryFlushCompactionCount": 0}

    facts: dict[str, Any] = {"total_tokens": 190_000, "context_window": 200_000}
    assert should_flush(Session.from_entry("main", KEY, entry, **facts), agent).code == "flushed"
    assert should_flush(Session.from_entry("main", KEY, entry | {"compactionCount": 1}, **facts), agent).due


def test_the_third_failure_gives_the_cycle_up(
    turn: FlushTurn, agent: AgentConfig, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    sessions = tmp_path / "sessions.json"
    failed = FlushOutcome(status="failed", reason="the model was away")
    facts: dict[str, Any] = {"total_tokens": 190_000, "context_window": 200_000}
    for expected in ("due", "due", "failed"):
        assert record_outcome(turn, failed, sessions)
        entry = read_entry(sessions, KEY)
        assert should_flush(Session.from_entry("main", KEY, entry, **facts), agent).code == expected
    warnings = [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert len(warnings) == 1
    assert "given up" in warnings[0].getMessage()
    assert "the model was away" in warnings[0].getMessage()
    assert "memoryFlushAt" not in entry

    again = Session.from_entry("main", KEY, entry | {"compactionCount": 1}, **facts)
    assert should_flush(again, agent).due
    record_outcome(replace(turn, compaction_count=1), failed, sessions)
    assert read_entry(sessions, KEY)["memoryFlushFailureCount"] == 1
    record_outcome(replace(turn, compaction_count=1), FlushOutcome(status="stored", reason=""), sessions)
    entry = read_entry(sessions, KEY)
    assert entry["memoryFlushCompactionCount"] == 1
    assert "memoryFlushFailureCount" not in entry


def test_a_record_that_cannot_be_written_is_a_warning(
    turn: FlushTurn, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    sessions = tmp_path / "sessions.json"
    sessions.write_text("{oops")
    assert not record_outcome(turn, FlushOutcome(status="stored", reason=""), sessions)
    assert sessions.read_text() == "{oops"
    assert "is no JSON" in caplog.text
