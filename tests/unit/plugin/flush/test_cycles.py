"""Compaction cycles of hosts that count none: three compactions are three flushes, whatever is killed in between."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from memory_core.config.agent import AgentConfig
from memory_core.plugin import MemorySlot
from memory_core.plugin.flush import cycles
from memory_core.plugin.flush.policy import FlushTurn, Session, plan_flush, should_flush
from memory_core.plugin.flush.runner import FlushOutcome
from memory_core.records import CallContext

KEY = "thread-7"
CHAT = CallContext(session_key=KEY, chat_type="direct")
WINDOW, FULL = 200_000, 190_000
STORED = FlushOutcome(status="stored", reason="one paragraph was appended")
FAILED = FlushOutcome(status="failed", reason="the model was away")


@pytest.fixture
def agent(tmp_path: Path) -> AgentConfig:
    return AgentConfig(
        agent="main", workspace=tmp_path / "ws", state_dir=tmp_path / "state", store_path=tmp_path / "index"
    )


@pytest.fixture
def slot(tmp_path: Path) -> MemorySlot:
    return MemorySlot({}, workspace=tmp_path / "ws", state_dir=tmp_path / "state")


def session(tokens: int | None = FULL, key: str = KEY, **facts: Any) -> Session:
    return Session(agent="main", key=key, total_tokens=tokens, context_window=WINDOW, **facts)


def plan(agent: AgentConfig, asked: Session, *, compacting: bool = False) -> FlushTurn | None:
    return plan_flush(cycles.count(asked, agent), agent, compacting=compacting)


def flush(agent: AgentConfig, asked: Session | None = None, outcome: FlushOutcome = STORED) -> bool:
    """Run a turn if one is due; return True if it was."""
    turn = plan(agent, asked or session())
    return turn is not None and cycles.record(turn, outcome, agent)


def record_of(agent: AgentConfig) -> Any:
    return json.loads(cycles.find_record(agent).read_text())


def write_host_record(agent: AgentConfig, **entry: Any) -> Path:
    path = agent.sessions_dir / "sessions.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({KEY: {"sessionId": "s1", "updatedAt": 1} | entry}))
    return path


def test_a_host_that_reports_its_compactions_is_asked_once_a_cycle(slot: MemorySlot, tmp_path: Path) -> None:
    asked = []
    for _ in range(3):
        for tokens in (10_000, FULL, FULL + 5000):
            turn = slot.before_compaction(slot.session(CHAT, KEY, total_tokens=tokens, context_window=WINDOW))
            if turn is not None:
                asked.append((tokens, turn.compaction_count))
                assert slot.record_flush(turn, "stored")
        slot.compacted(CHAT)
    assert asked == [(FULL, 0), (FULL, 1), (FULL, 2)]
    assert not (tmp_path / "state" / "agents").exists()  # a real Clawdbot's sessions are left alone


def test_a_host_that_reports_nothing_ends_a_cycle_as_its_tokens_fall(agent: AgentConfig) -> None:
    sizes = (FULL, 195_000, 160_000, 195_000, 152_000, 170_000, FULL, 195_000, 20_000, FULL, 194_000)
    # 160,000 are more than 80 % of 190,000; 152,000 are not. The fall is remembered until the session is full again.
    assert [tokens for tokens in sizes if flush(agent, session(tokens))] == [FULL, FULL, FULL]


def test_every_turn_that_was_killed_before_it_was_recorded_comes_again(tmp_path: Path) -> None:
    """Three cycles, each killed once between plan and record: three recorded flushes, one note of each."""
    (tmp_path / "ws").mkdir()
    done = subprocess.run(
        [sys.executable, "-c", HOST, str(tmp_path)], capture_output=True, check=True, encoding="utf-8", timeout=120
    )
    cycle = ["due in {0}, killed", "due in {0}, recorded", "flushed, compacted"]
    assert done.stdout.splitlines() == [line.format(number) for number in range(3) for line in cycle]
    (note,) = (tmp_path / "ws" / "memory").iterdir()
    facts = [line for line in note.read_text().splitlines() if line.startswith("-")]
    assert facts == ["- fact 0", "- fact 1", "- fact 2"]


# Each step is a process of its own; the first of each cycle dies before it has recorded its turn.
HOST = """
import os, signal, sys
from pathlib import Path
import filelock  # and the others before the first fork, so that no step has to
from memory_core import CallContext
from memory_core.plugin.flush import runner
from memory_core.plugin import MemorySlot

folder = Path(sys.argv[1])

def take(step):
    chat = CallContext(session_key="thread-7", chat_type="direct")
    slot = MemorySlot({}, workspace=folder / "ws", state_dir=folder / "state")
    turn = slot.before_compaction(slot.session(chat, "thread-7", total_tokens=190_000, context_window=200_000))
    if turn is None:
        slot.compacted(chat)
        return print("flushed, compacted", flush=True)
    cycle = turn.compaction_count
    slot.flush_handlers(turn)["memory_append"]({"text": f"- fact {cycle}"})
    if step % 3 == 0:
        print(f"due in {cycle}, killed", flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    assert slot.record_flush(turn, "stored")
    print(f"due in {cycle}, recorded", flush=True)

for step in range(9):
    child = os.fork()
    if not child:
        take(step)
        os._exit(0)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert status == (-signal.SIGKILL if step % 3 == 0 else 0), status
"""


def test_a_hosts_own_count_wins(agent: AgentConfig) -> None:
    path = write_host_record(agent, compactionCount=4)
    assert flush(agent)
    assert json.loads(path.read_text())[KEY]["memoryFlushCompactionCount"] == 4
    assert not cycles.find_record(agent).exists()
    assert not flush(agent, session(10_000))
    assert not flush(agent)  # the tokens fell, but the host says that it is still the same cycle
    cycles.end(KEY, agent)
    assert not flush(agent)
    write_host_record(agent, compactionCount=5, memoryFlushCompactionCount=4)
    assert flush(agent)


def test_a_host_that_begins_to_count_later_is_followed(agent: AgentConfig) -> None:
    path = write_host_record(agent)  # as Clawdbot writes it before the first compaction
    assert flush(agent)
    entry = json.loads(path.read_text())[KEY]
    assert entry["memoryFlushCompactionCount"] == 0
    assert not flush(agent)
    assert not flush(agent, session(100_000))  # its context was pruned; it did not compact
    assert flush(agent)
    assert json.loads(path.read_text())[KEY]["memoryFlushCompactionCount"] == 0
    path.write_text(json.dumps({KEY: json.loads(path.read_text())[KEY] | {"compactionCount": 1}}))
    assert flush(agent)
    assert not flush(agent)


def test_a_record_without_a_count_that_an_older_version_left_does_not_last_for_ever(agent: AgentConfig) -> None:
    write_host_record(agent, memoryFlushCompactionCount=0)
    assert not flush(agent)
    assert not flush(agent, session(40_000))
    assert flush(agent)
    write_host_record(agent, memoryFlushCompactionCount=0)
    cycles.find_record(agent).unlink()
    cycles.end(KEY, agent)
    assert flush(agent)


def test_counts_that_the_host_passes_need_no_file_of_its_own(agent: AgentConfig) -> None:
    assert flush(agent, session(compaction_count=2))
    assert not flush(agent, session(compaction_count=2))
    assert not flush(agent, session(10_000, compaction_count=2))
    assert not flush(agent, session(compaction_count=2))
    assert flush(agent, session(compaction_count=3))
    assert not (agent.state_dir / "agents").exists()


def test_numbers_of_the_host_and_ours_are_not_mixed_up(agent: AgentConfig) -> None:
    assert flush(agent)
    assert flush(agent, session(compaction_count=0))  # ours says 0 was flushed, the host's 0 is another cycle


def test_sessions_have_cycles_of_their_own(agent: AgentConfig) -> None:
    assert flush(agent)
    assert flush(agent, session(key="thread-8"))
    cycles.end("thread-8", agent)
    assert not flush(agent)
    assert flush(agent, session(key="thread-8"))


def test_a_new_transcript_under_the_same_key_begins_anew(agent: AgentConfig) -> None:
    assert flush(agent, session(session_id="a"))
    assert not flush(agent, session(session_id="a"))
    assert not flush(agent, session())  # the host doesn't say which
    assert flush(agent, session(session_id="b"))
    assert not flush(agent, session(session_id="b"))


def test_the_third_failure_gives_up_until_the_cycle_ends(agent: AgentConfig, caplog: pytest.LogCaptureFixture) -> None:
    assert [flush(agent, outcome=FAILED) for _ in range(4)] == [True, True, True, False]
    assert should_flush(cycles.count(session(), agent), agent).code == "failed"
    assert sum("given up" in record.getMessage() for record in caplog.records) == 1
    assert not flush(agent, session(30_000))
    assert [flush(agent, outcome=FAILED), flush(agent)] == [True, True]


def test_tokens_that_were_unknown_at_the_flush_are_learned_later(agent: AgentConfig) -> None:
    by_size = session(None, transcript_bytes=5_000_000)
    assert flush(agent, by_size)
    assert not flush(agent, by_size)
    assert not flush(agent, session(FULL))
    assert not flush(agent, session(50_000))
    assert flush(agent)


def test_nothing_is_written_before_a_flush_and_for_sessions_that_are_never_asked(agent: AgentConfig) -> None:
    for asked in (session(10_000), session(access="ro"), session(key="agent:main:cron:x")):
        assert not flush(agent, asked)
        cycles.end(asked.key, agent)
    assert not agent.state_dir.exists()


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff\xfe", b'{"thread-7": 5}'])
def test_a_damaged_record_is_set_aside(agent: AgentConfig, content: bytes, caplog: pytest.LogCaptureFixture) -> None:
    path = cycles.find_record(agent)
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    assert flush(agent)
    assert not flush(agent)
    assert path.with_name(f"{path.name}.damaged").read_bytes() == content
    assert [record.levelno for record in caplog.records if "damaged" in record.getMessage()] == [logging.WARNING]


def test_values_of_the_wrong_type_are_no_obstacle(agent: AgentConfig) -> None:
    path = cycles.find_record(agent)
    path.parent.mkdir(parents=True)
    path.write_text(
        json.dumps({KEY: {"compactionCount": "x", "memoryFlushTokens": [], "updatedAt": None, "sessionId": 5}})
    )
    assert flush(agent)
    assert not flush(agent)
    cycles.end(KEY, agent)
    assert flush(agent)


def test_a_record_that_cannot_be_written_is_a_warning(agent: AgentConfig, caplog: pytest.LogCaptureFixture) -> None:
    agent.state_dir.write_text("no folder")
    turn = plan(agent, session())
    assert turn is not None
    assert not cycles.record(turn, STORED, agent)
    cycles.end(KEY, agent)
    assert {record.levelno for record in caplog.records} == {logging.WARNING}


def test_an_unreadable_file_of_the_host_is_no_reason_to_ask_for_ever(agent: AgentConfig) -> None:
    path = write_host_record(agent)
    path.write_text("{oops")
    assert flush(agent)
    assert not flush(agent)
    assert path.read_text() == "{oops"


def test_the_oldest_sessions_leave_the_record(agent: AgentConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cycles, "MAX_SESSIONS", 3)
    for number in range(5):
        assert flush(agent, session(key=f"thread-{number}"))
    assert list(record_of(agent)) == ["thread-2", "thread-3", "thread-4"]


def test_several_processes_lose_no_cycle(agent: AgentConfig, tmp_path: Path) -> None:
    script = tmp_path / "many.py"
    script.write_text(
        "import sys\n"
        "from memory_core import CallContext\n"
        "from memory_core.plugin import MemorySlot\n"
        f"slot = MemorySlot({{}}, workspace={str(agent.workspace)!r}, state_dir={str(agent.state_dir)!r})\n"
        "for cycle in range(5):\n"
        "    for key in (sys.argv[1], 'shared'):\n"
        "        chat = CallContext(session_key=key, chat_type='direct')\n"
        "        turn = slot.before_compaction(slot.session(chat, key), compacting=True)\n"
        "        if turn is not None: assert slot.record_flush(turn, 'nothing')\n"
        "        slot.compacted(chat)\n"
    )
    running = [subprocess.Popen([sys.executable, str(script), f"own-{number}"]) for number in range(3)]
    try:
        assert [process.wait(60) for process in running] == [0, 0, 0]
    finally:
        for process in running:
            process.kill()
    counts = {key: entry["compactionCount"] for key, entry in record_of(agent).items()}
    assert counts == {"own-0": 5, "own-1": 5, "own-2": 5, "shared": 15}


def test_the_turn_carries_what_the_record_needs(agent: AgentConfig) -> None:
    turn = plan(agent, session(session_id="s9"))
    assert turn is not None
    assert (turn.session_id, turn.compaction_count, turn.total_tokens, turn.counted_here) == ("s9", 0, FULL, True)
    assert cycles.record(turn, STORED, agent)
    (entry,) = record_of(agent).values()
    assert entry.items() >= {"sessionId": "s9", "compactionCount": 0, "memoryFlushTokens": FULL}.items()
    counted = plan(agent, session(compaction_count=7))
    assert counted is not None
    assert not counted.counted_here


@pytest.mark.parametrize("outcome", ["stored", "nothing"])
def test_a_host_that_runs_the_turn_itself_records_it(slot: MemorySlot, outcome: Any, tmp_path: Path) -> None:
    (tmp_path / "ws").mkdir()
    asked = slot.session(CHAT, KEY)
    turn = slot.before_compaction(asked, compacting=True)
    assert turn is not None
    handlers = slot.flush_handlers(turn)
    assert set(handlers) == set(turn.tools) == {"memory_append"}
    done: Mapping[str, Any] = handlers["memory_append"]({"text": "- The venue is booked."})
    assert done["path"] == turn.target
    assert "The venue is booked" in (tmp_path / "ws" / turn.target).read_text()
    assert "only" in handlers["memory_append"]({"text": "x", "target": "longterm"})["error"]
    assert slot.record_flush(turn, outcome)
    assert slot.before_compaction(asked, compacting=True) is None
    slot.compacted(CHAT)
    assert slot.before_compaction(asked, compacting=True) is not None


def test_a_configuration_gone_wrong_is_no_error(tmp_path: Path, agent: AgentConfig) -> None:
    turn = plan(agent, session())
    assert turn is not None
    with MemorySlot({"memory": 5}, state_dir=tmp_path) as broken:
        broken.compacted(CHAT)
        assert not broken.record_flush(turn, "stored")
        assert broken.flush_handlers(turn) == {}


def test_memory_that_is_off_counts_nothing(agent: AgentConfig) -> None:
    assert flush(agent)
    off = replace(agent, slot="none")
    before = record_of(agent)
    cycles.count(session(10_000), off)
    cycles.end(KEY, off)
    assert record_of(agent) == before
