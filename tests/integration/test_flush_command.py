"""`memory-core flush`: what would happen with a session, and why."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.command import Command

KEY = "agent:main:main"
FULL = {"sessionId": "s1", "updatedAt": 1, "totalTokens": 190_000, "contextTokens": 200_000}


@pytest.fixture
def sessions(command: Command) -> Path:
    folder = command.state_dir / "agents" / "main" / "sessions"
    folder.mkdir(parents=True)
    (folder / "s1.jsonl").write_text('{"type":"message"}\n')
    return folder


def record(folder: Path, **entry: Any) -> bytes:
    path = folder / "sessions.json"
    path.write_text(json.dumps({KEY: FULL | entry, "agent:main:cron:x": FULL}))
    return path.read_bytes()


@pytest.mark.parametrize("by_file", [False, True])
def test_a_session_that_is_due(command: Command, sessions: Path, by_file: bool) -> None:
    before = record(sessions)
    named = str(sessions / "s1.jsonl") if by_file else KEY
    shown = command("flush", "--session", named)

    assert (shown.code, shown.err) == (0, "")
    rows = dict(line.split("  ", 1) for line in shown.out.split("\n\n")[0].splitlines())
    assert {name: value.strip() for name, value in rows.items()} == {
        "session": KEY,
        "transcript": str(sessions / "s1.jsonl"),
        "transcript bytes": "19",
        "total tokens": "190000",
        "context tokens": "200000",
        "threshold tokens": "176000",
        "compaction count": "0",
        "due": "yes",
        "code": "due",
        "reason": "190,000 tokens reach the threshold of 176,000",
        "target": rows["target"].strip(),
        "tools": "memory_append",
    }
    assert f"Write any lasting notes to {rows['target'].strip()}" in shown.out
    assert "Session nearing compaction." in shown.out
    assert (sessions / "sessions.json").read_bytes() == before
    assert sorted(path.name for path in sessions.iterdir()) == ["s1.jsonl", "sessions.json"]


@pytest.mark.parametrize(
    ("entry", "config", "code"),
    [
        ({}, {}, "due"),
        ({"totalTokens": 10}, {}, "below"),
        ({"totalTokens": None}, {}, "unknown"),
        ({"contextTokens": "many"}, {}, "unknown"),
        ({"memoryFlushCompactionCount": 0}, {}, "flushed"),
        ({"compactionCount": 1, "memoryFlushCompactionCount": 0}, {}, "due"),
        ({}, {"plugins": {"slots": {"memory": "none"}}}, "slot"),
        ({}, {"agents": {"defaults": {"compaction": {"memoryFlush": {"enabled": False}}}}}, "disabled"),
        ({"totalTokens": 10}, {"agents": {"defaults": {"compaction": {"memoryFlush": {"forceFlushTranscriptBytes": 5}}}}}, "due"),
    ],
)  # fmt: skip
def test_why_and_why_not_as_json(
    command: Command, sessions: Path, entry: dict[str, Any], config: dict[str, Any], code: str
) -> None:
    record(sessions, **entry)
    path = command.state_dir / "host.json5"
    path.write_text(json.dumps(config))
    shown = command("flush", "--dry-run", "--session", KEY, "--json", "--config", str(path)).json

    assert (shown["code"], shown["due"]) == (code, code == "due")
    assert shown["reason"]
    assert (shown["target"] is not None) == (shown["prompt"] is not None) == shown["due"]
    assert shown["tools"] == (["memory_append"] if shown["due"] else [])


def test_sessions_in_which_nobody_talks_and_transcripts_that_nobody_recorded(command: Command, sessions: Path) -> None:
    record(sessions)
    assert command("flush", "--dry-run", "--session", "agent:main:cron:x", "--json").json["code"] == "kind"
    (sessions / "other.jsonl").write_text("")
    assert command("flush", "--dry-run", "--session", str(sessions / "other.jsonl"), "--json").json["code"] == "unknown"


def test_sessions_of_hosts_that_count_nothing(command: Command) -> None:
    record = command.state_dir / "memory-core" / "main.sessions.json"
    record.parent.mkdir(parents=True)
    flushed = {"compactionCount": 2, "memoryFlushCompactionCount": 2, "memoryFlushTokens": 190_000}
    record.write_text(json.dumps({"thread-7": flushed}))
    before = record.read_bytes()
    shown = command("flush", "--dry-run", "--session", "thread-7", "--json").json
    assert (shown["code"], shown["compactionCount"], shown["flushedCompactionCount"]) == ("flushed", 2, 2)
    assert "known are thread-7" in command("flush", "--dry-run", "--session", "thread-8").error
    assert record.read_bytes() == before


def test_mistakes_are_one_line(command: Command, sessions: Path) -> None:
    record(sessions)
    unknown = command("flush", "--dry-run", "--session", "agent:main:mian")
    assert unknown.code == 2
    assert f"known are {KEY}, agent:main:cron:x" in unknown.error
    (sessions / "sessions.json").write_text("{oops")
    broken = command("flush", "--dry-run", "--session", KEY)
    assert broken.code == 1
    assert "is no JSON" in broken.error
