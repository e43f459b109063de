"""When a flush turn is due, and what it says: every case of `tests/data/flush_examples.json`, the seed's among them."""

from __future__ import annotations

import json
import logging
import re
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_core.config.agent import AgentConfig
from memory_core.config.settings import Compaction, MemoryFlush, SearchSettings
from memory_core.plugin.flush.policy import (
    PROMPT,
    SYSTEM_PROMPT,
    Session,
    compute_threshold,
    plan_flush,
    should_flush,
)
from memory_core.plugin.flush.runner import make_flush_tools
from memory_core.text.dates import get_today
from memory_core.text.messages import is_silent_reply
from tests.growth import MOST_GROWTH, measure_growth

EXAMPLES = json.loads((Path(__file__).parents[3] / "data" / "flush_examples.json").read_text())
FULL = Session(agent="main", key="agent:main:main", total_tokens=190_000, context_window=200_000)
FLUSH_KEYS = {
    "enabled": "enabled",
    "softThresholdTokens": "soft_threshold_tokens",
    "forceFlushTranscriptBytes": "force_flush_transcript_bytes",
    "prompt": "prompt",
    "systemPrompt": "system_prompt",
}
FACTS = {"access": "access", "kind": "kind", "chatType": "chat_type", "transcriptBytes": "transcript_bytes"}


def compaction(section: dict[str, Any]) -> Compaction:
    flush = MemoryFlush(**{FLUSH_KEYS[key]: value for key, value in section.get("memoryFlush", {}).items()})
    return Compaction(reserve_tokens_floor=section.get("reserveTokensFloor", 20_000), memory_flush=flush)


def config(base: Path = Path("/nowhere"), **changes: Any) -> AgentConfig:
    plain = AgentConfig(agent="main", workspace=base / "ws", state_dir=base / "state", store_path=base / "main.sqlite")
    return replace(plain, **changes)


@pytest.mark.parametrize("case", EXAMPLES["decisions"], ids=lambda case: case["name"])
def test_decides_as_the_table_says(case: dict[str, Any], caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "memory_core.plugin.flush.policy")
    facts = {ours: case[theirs] for theirs, ours in FACTS.items() if theirs in case}
    session = Session.from_entry("main", case["key"], case["entry"], **facts)
    agent = config(
        compaction=compaction(case["compaction"]),
        slot=case.get("slot", "memory-core"),
        search=SearchSettings(enabled=case.get("searchEnabled", True)),
    )
    compacting = case.get("compacting", False)

    decision = should_flush(session, agent, compacting=compacting)

    assert (decision.due, decision.code) == (case["due"], case["code"])
    assert case["reason"] in decision.reason
    assert decision.reason in caplog.text
    assert (plan_flush(session, agent, compacting=compacting) is not None) == case["due"]


def test_the_defaults_are_the_seeds() -> None:
    assert compaction({"memoryFlush": {}}).memory_flush == MemoryFlush()
    seed = compaction(EXAMPLES["seedCompaction"])
    assert (seed.reserve_tokens_floor, seed.memory_flush.soft_threshold_tokens) == (20_000, 4000)
    assert replace(seed, memory_flush=replace(seed.memory_flush, prompt=None, system_prompt=None)) == Compaction()
    assert (seed.memory_flush.system_prompt, seed.memory_flush.prompt) == (SYSTEM_PROMPT, PROMPT)


@given(
    window=st.integers(1, 3_000_000),
    reserve=st.integers(0, 3_000_000),
    soft=st.integers(0, 3_000_000),
)
def test_every_window_has_a_threshold_inside_it(window: int, reserve: int, soft: int) -> None:
    section = Compaction(reserve_tokens_floor=reserve, memory_flush=MemoryFlush(soft_threshold_tokens=soft))
    threshold = compute_threshold(window, section)
    assert 1 <= threshold <= window
    if reserve < window:
        assert threshold <= window - reserve
    if reserve < window and 2 * soft <= window - reserve:
        assert threshold == window - reserve - soft


anything = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5), st.lists(st.integers()))


@given(
    entry=st.dictionaries(st.sampled_from(["totalTokens", "contextTokens", "compactionCount", "sessionId"]), anything)
)
def test_no_record_makes_it_raise(entry: dict[str, Any]) -> None:
    decision = should_flush(Session.from_entry("main", "agent:main:main", entry), config())
    assert decision.reason


def test_asks_the_transcript_for_its_size(tmp_path: Path) -> None:
    transcript = tmp_path / "s.jsonl"
    session = Session(agent="main", key="main", transcript=transcript)
    small = config(compaction=compaction({"memoryFlush": {"forceFlushTranscriptBytes": "1kb"}}))
    assert should_flush(session, small).code == "unknown"
    transcript.write_bytes(b"x" * 1024)
    assert should_flush(session, small).due


@pytest.mark.parametrize("reply", EXAMPLES["silentReplies"])
def test_recognises_silence(reply: str) -> None:
    assert is_silent_reply(reply)


@pytest.mark.parametrize("reply", EXAMPLES["otherReplies"])
def test_takes_nothing_else_for_silence(reply: str | None) -> None:
    assert not is_silent_reply(reply)


@given(st.text())
def test_text_beside_the_token_is_shown(text: str) -> None:
    if re.search(r"[^\W_]", text) and "reply" not in text.casefold():
        assert not is_silent_reply(f"NO_REPLY {text}")
        assert not is_silent_reply(f"{text} NO_REPLY")


def test_long_replies_are_judged_quickly() -> None:
    for hostile in (
        "NO_REPLY" + " ." * 40_000 + "x",
        "*" * 99_000 + "x",
        "<think>" * 14_000,
        "NO_REPLY " * 10_000 + "x",
    ):
        assert not is_silent_reply(hostile)

        def judge(length: int, hostile: str = hostile) -> None:
            assert not is_silent_reply(hostile[:length] + "x")

        assert measure_growth(judge, len(hostile)) < MOST_GROWTH


def test_the_turn_is_pinned_silent_and_says_the_rules() -> None:
    turn = plan_flush(
        replace(FULL, compaction_count=3, session_id="abc", timezone="UTC"),
        config(),
        clock=lambda: datetime(2026, 11, 21, 12, tzinfo=UTC),
    )
    assert turn is not None
    assert (turn.silent, turn.target, turn.day) == (True, "memory/2026-11-21.md", date(2026, 11, 21))
    assert (turn.agent, turn.session_key, turn.session_id, turn.compaction_count) == ("main", FULL.key, "abc", 3)
    assert turn.system_prompt.startswith("Session nearing compaction. Store durable memories now.")
    assert turn.prompt.startswith(
        "Write any lasting notes to memory/2026-11-21.md; reply with NO_REPLY if nothing to store."
    )
    assert list(turn.tools) == ["memory_append"]
    assert turn.tools["memory_append"]["parameters"] == {
        "type": "object",
        "properties": {"text": turn.tools["memory_append"]["parameters"]["properties"]["text"]},
        "required": ["text"],
        "additionalProperties": False,
    }


def test_the_users_words_bring_the_rules_too() -> None:
    own = MemoryFlush(prompt="Save to YYYY-MM-DD, {really}.", system_prompt="Short.")
    turn = plan_flush(
        replace(FULL, timezone="UTC"),
        config(compaction=Compaction(memory_flush=own)),
        clock=lambda: datetime(2026, 11, 21, tzinfo=UTC),
    )
    assert turn is not None
    assert turn.prompt.startswith("Save to 2026-11-21, {really}.\n\n")
    assert turn.system_prompt.startswith("Short.\n\n")
    for said in (turn.prompt, turn.system_prompt):
        assert "NO_REPLY" in said
        assert "memory/2026-11-21.md" in said
        assert "append" in said.casefold()
        assert "YYYY" not in said


@pytest.mark.parametrize(
    ("zone", "moment", "day"),
    [
        ("Europe/Berlin", "2026-11-21T22:59:59+00:00", "2026-11-21"),
        ("Europe/Berlin", "2026-11-21T23:00:00+00:00", "2026-11-22"),
        ("America/Los_Angeles", "2026-11-22T07:59:59+00:00", "2026-11-21"),
        ("Asia/Kathmandu", "2026-11-21T18:15:00+00:00", "2026-11-22"),
        ("Europe/Berlin", "2026-10-25T00:30:00+00:00", "2026-10-25"),  # 02:30, the first of two
        ("Europe/Berlin", "2026-10-25T01:30:00+00:00", "2026-10-25"),  # 02:30 again
        ("Europe/Berlin", "2026-10-25T22:59:59+00:00", "2026-10-25"),  # a day of 25 hours
        ("America/New_York", "2026-03-09T03:59:59+00:00", "2026-03-08"),  # a day of 23 hours
        ("America/Sao_Paulo", "2018-11-04T02:59:59+00:00", "2018-11-03"),  # 00:00 to 01:00 did not happen
        ("America/Sao_Paulo", "2018-11-04T03:00:00+00:00", "2018-11-04"),
        ("Pacific/Apia", "2011-12-30T09:59:59+00:00", "2011-12-29"),
        ("Pacific/Apia", "2011-12-30T10:00:00+00:00", "2011-12-31"),  # the 30th did not happen
    ],
)
def test_today_is_the_users(zone: str, moment: str, day: str) -> None:
    assert get_today(zone, datetime.fromisoformat(moment)) == date.fromisoformat(day)


@pytest.mark.parametrize("zone", ["", "Mars/Olympus", "Europe", "../../etc/passwd", "/etc/passwd", "Europe/Berlin\0"])
def test_an_unknown_timezone_is_this_machines(zone: str) -> None:
    moment = datetime(2026, 11, 21, 12, tzinfo=UTC)
    assert get_today(zone, moment) == moment.astimezone().date()


# From one second before to one after: midnight, the hour that comes twice, the hour that is left out at midnight.
CHANGES = [
    ("Europe/Berlin", "2026-11-21T22:59:59+00:00"),
    ("Europe/Berlin", "2026-10-25T00:59:59+00:00"),
    ("America/Sao_Paulo", "2018-11-04T02:59:59+00:00"),
    ("Pacific/Apia", "2011-12-30T09:59:59+00:00"),
]


@pytest.mark.parametrize(("zone", "moment"), CHANGES)
def test_what_is_planned_is_written_where_it_was_pinned(zone: str, moment: str, tmp_path: Path) -> None:
    before = datetime.fromisoformat(moment)
    agent = config(tmp_path)
    agent.workspace.mkdir()
    turn = plan_flush(replace(FULL, timezone=zone), agent, clock=lambda: before)
    assert turn is not None
    planned = before.astimezone(ZoneInfo(zone)).date()
    assert turn.day == planned

    handler = make_flush_tools(turn, agent)["memory_append"]
    later = get_today(zone, before + timedelta(seconds=2))
    results = [handler({"text": "One."}), handler({"text": "Two.", "target": "daily"})]

    assert later >= planned
    assert [path.name for path in (agent.workspace / "memory").iterdir()] == [f"{planned}.md"]
    assert [result["path"] for result in results] == [turn.target] * 2
    note = (agent.workspace / turn.target).read_text()
    assert note == f"# {planned}\n\nOne.\n\nTwo.\n"
