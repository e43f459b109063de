"""Session logs in the index: whose, which lines, when; what is secret stays out of tables, requests and the log."""

from __future__ import annotations

import json
import logging
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memory_core.backends.builtin import BuiltinBackend
from memory_core.config.agent import AgentConfig
from memory_core.config.settings import Chunking, SearchSettings, SessionDeltas, SyncSettings
from memory_core.errors import PathRefused
from memory_core.hookspecs import BackendContext
from memory_core.plugin import MemorySlot
from memory_core.records import CallContext, Hit, Query, SyncReport
from memory_core.sources import session_logs
from memory_core.sync.background import LONGEST_DEBOUNCES, SESSION_SECONDS, BackgroundSync, Debounce
from memory_core.sync.changes import wants_sync
from tests.fakes.providers import CountingProvider
from tests.index import Index
from tests.waiting import eventually

DELTAS = SessionDeltas(delta_bytes=2000, delta_messages=5)
KEYS = (
    "sk-planted-7f3a9c1e5b",
    "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
    "AKIAIOSFODNN7EXAMPLE",
    "hunter2-planted",
    "MIIEpAIBAAKCAQEA0Z3VS5JJcds3",
)
SECRETS = (
    f"My key is {KEYS[0]}, GitHub's {KEYS[1]} and Amazon's {KEYS[2]}; postgres://bob:{KEYS[3]}@db/x\n"
    f"-----BEGIN PRIVATE KEY-----\n{KEYS[4]}\n-----END PRIVATE KEY-----\nand the password: {KEYS[3]}"
)


def message(role: str, text: str) -> dict[str, Any]:
    return {"type": "message", "message": {"role": role, "content": [{"type": "text", "text": text}]}}


class Logs:
    """The session folder of one agent."""

    def __init__(self, state: Path, agent: str = "main") -> None:
        self.folder = state / "agents" / agent / "sessions"
        self.folder.mkdir(parents=True, exist_ok=True)
        self.clock = 1_700_000_000

    def add(self, name: str, *entries: object) -> Path:
        """Append lines to a log; its time moves on as clocks of file systems may not."""
        file = self.folder / name
        with file.open("ab") as stream:
            stream.writelines(
                entry if isinstance(entry, bytes) else json.dumps(entry).encode() + b"\n" for entry in entries
            )
        self.touch(file)
        return file

    def touch(self, file: Path) -> None:
        self.clock += 1
        os.utime(file, (self.clock, self.clock))


@pytest.fixture
def logs(tmp_path: Path) -> Logs:
    return Logs(tmp_path / "state")


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    search = SearchSettings(sources=("memory", "sessions"), chunking=Chunking(tokens=60, overlap=12))
    made = Index(tmp_path / "notes", tmp_path / "state", replace(search, sync=SyncSettings(sessions=DELTAS)))
    yield made
    made.close()


def backend_of(config: AgentConfig) -> BuiltinBackend:
    """A backend without embeddings, as one process has it."""
    return BuiltinBackend(BackendContext(config=replace(config, search=replace(config.search, provider="none"))))


@pytest.fixture
def backend(index: Index) -> Iterator[BuiltinBackend]:
    made = backend_of(index.config)
    yield made
    made.memory_close()


def hits(backend: BuiltinBackend, text: str) -> list[Hit]:
    """Return hits with snippets so short that they hold one unit."""
    return list(backend.memory_search(Query(text=text, min_score=0.0, max_snippet_chars=24)).hits)


def places(backend: BuiltinBackend, text: str) -> list[tuple[str, str, int, int]]:
    """Where a word stands; what is shown around it does not count."""
    return [(hit.source, hit.path, hit.start_line, hit.end_line) for hit in hits(backend, text) if text in hit.snippet]


# What is found, and where.


def test_hits_from_sessions_cite_lines_of_the_log(logs: Logs, index: Index, backend: BuiltinBackend) -> None:
    index.note("MEMORY.md", "The kettle is copper.\n")
    logs.add(
        "a-1.jsonl",
        {"type": "session", "id": "a-1", "timestamp": "2026-01-12T12:00:00Z"},
        message("user", "My violin?"),
        message("toolResult", "noise about the violin"),
        {"role": "assistant", "content": "In the attic:\n\n- behind the lantern\n- beside the harbour map"},
        b"half a li",
    )
    assert places(backend, "violin") == [("sessions", "sessions/a-1.jsonl", 2, 2)]
    assert places(backend, "lantern") == [("sessions", "sessions/a-1.jsonl", 4, 4)]
    assert places(backend, "copper") == [("memory", "MEMORY.md", 1, 1)]
    (hit,) = backend.memory_search(Query(text="violin lantern", min_score=0.0)).hits
    assert (hit.start_line, hit.end_line) == (2, 4)
    assert "User: My violin?" in hit.snippet
    assert "noise" not in hit.snippet


_MESSAGES = st.lists(
    st.tuples(
        st.sampled_from(["user", "assistant", "toolResult"]),
        st.lists(st.sampled_from(["harbour", "dentist", "- fence", "# paint", "```", "", "violin " * 30]), max_size=12),
    ),
    min_size=1,
    max_size=12,
)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(_MESSAGES)
def test_every_unit_shown_stands_on_the_lines_that_are_cited(
    tmp_path_factory: pytest.TempPathFactory, said: list[tuple[str, list[str]]]
) -> None:
    root = tmp_path_factory.mktemp("sessions")
    search = SearchSettings(sources=("sessions",), chunking=Chunking(tokens=40, overlap=8))
    index = Index(root / "notes", root / "state", search)
    entries = [message(role, f"n{number} " + "\n".join(words)) for number, (role, words) in enumerate(said, start=1)]
    Logs(root / "state").add("x.jsonl", *entries)
    backend = backend_of(index.config)
    try:
        for number, (role, _) in enumerate(said, start=1):
            found = [hit for hit in hits(backend, f"n{number}") if re.search(rf"\bn{number}\b", hit.snippet)]
            assert bool(found) == (role != "toolResult")
            assert all(hit.start_line <= number <= hit.end_line <= len(said) for hit in found)
    finally:
        backend.memory_close()
        index.close()
        shutil.rmtree(root)


def test_only_the_agents_own_logs_are_read(tmp_path: Path, logs: Logs, index: Index, backend: BuiltinBackend) -> None:
    logs.add("own.jsonl", message("user", "own violin"))
    other = Logs(tmp_path / "state", "other")
    foreign = other.add("foreign.jsonl", message("user", "foreign violin"))
    logs.add("own.jsonl.deleted.2026", message("user", "deleted violin"))
    logs.add("notes.json", message("user", "other violin"))
    (logs.folder / "link.jsonl").symlink_to(foreign)
    (logs.folder / "folder.jsonl").mkdir()
    (logs.folder / "below").mkdir()
    shutil.copy(foreign, logs.folder / "below" / "x.jsonl")
    os.mkfifo(logs.folder / "pipe.jsonl")
    assert places(backend, "violin") == [("sessions", "sessions/own.jsonl", 1, 1)]
    assert [file.path for file in session_logs.list_sessions(index.config).files] == ["sessions/own.jsonl"]
    with index.store.database.read() as connection:
        assert connection.execute("SELECT path FROM files").fetchall() == [("sessions/own.jsonl",)]


def test_a_folder_that_is_a_link_is_refused(tmp_path: Path, index: Index, backend: BuiltinBackend) -> None:
    other = Logs(tmp_path / "state", "other")
    other.add("foreign.jsonl", message("user", "foreign violin"))
    (tmp_path / "state" / "agents" / "main").mkdir()
    (tmp_path / "state" / "agents" / "main" / "sessions").symlink_to(other.folder)
    report = backend.memory_sync(force=False, progress=None)
    assert [(failure.path, failure.reason) for failure in report.failures] == [
        ("sessions", "is a symbolic link, which memory ignores")
    ]
    assert hits(backend, "violin") == []


def test_sessions_in_a_database_are_told(tmp_path: Path, logs: Logs, index: Index, backend: BuiltinBackend) -> None:
    logs.add("own.jsonl", message("user", "own violin"))
    database = tmp_path / "state" / "agents" / "main" / "agent" / "openclaw-agent.sqlite"
    database.parent.mkdir()
    database.write_bytes(b"SQLite format 3\0")
    report = backend.memory_sync(force=False, progress=None)
    ((path, reason),) = [(failure.path, failure.reason) for failure in report.failures]
    assert path == "agents/main/agent/openclaw-agent.sqlite"
    assert "database" in reason
    assert places(backend, "violin") == [("sessions", "sessions/own.jsonl", 1, 1)]
    index.set(sources=("memory",))
    assert session_logs.list_sessions(index.config).failures == ()


def test_a_state_folder_behind_a_link_is_as_good_as_another(tmp_path: Path, logs: Logs, index: Index) -> None:
    logs.add("a.jsonl", message("user", "violin"))
    (tmp_path / "linked").symlink_to(tmp_path / "state")
    (file,) = session_logs.list_sessions(replace(index.config, state_dir=tmp_path / "linked")).files
    assert session_logs.read_session(file).text == "User: violin\n"


def test_sessions_are_left_alone_unless_they_are_a_source(logs: Logs, index: Index) -> None:
    logs.add("a.jsonl", message("user", "violin"))
    index.sync()
    index.set(sources=("memory",))
    assert session_logs.list_sessions(index.config).files == ()
    report = index.sync()
    assert (report.files, report.removed) == (0, 1)  # whoever opts out wants it gone


def test_a_log_that_is_deleted_is_forgotten(logs: Logs, index: Index) -> None:
    file = logs.add("a.jsonl", message("user", "violin"))
    assert index.sync().added == 1
    file.unlink()
    assert (index.sync().removed, index.content()["chunks"]) == (1, [])


def test_a_name_that_cannot_be_shown_is_reported(logs: Logs, index: Index) -> None:
    logs.add("a\nb.jsonl", message("user", "violin"))
    report = index.sync()
    assert (report.files, [failure.path for failure in report.failures]) == (0, [r"sessions/'a\nb.jsonl'"])


def test_a_log_that_cannot_be_read_keeps_what_was_indexed(logs: Logs, index: Index) -> None:
    file = logs.add("a.jsonl", b"\n", message("user", "violin"))
    index.sync()
    os.truncate(file, session_logs.MAX_LOG_BYTES + 1)  # a sparse file, which takes no space
    for force in (False, True):
        report = index.sync(force=force)
        assert [failure.reason for failure in report.failures] == [
            "is too large: 536,870,913 bytes, and session logs are read up to 536,870,912"
        ]
        with index.store.database.read() as connection:
            assert connection.execute("SELECT text FROM chunks").get == "User: violin"
        with index.store.read() as reader:
            assert list(reader.load_log_lines("sessions", "sessions/a.jsonl")) == [2, 2]


def test_memory_get_reads_no_logs(logs: Logs, index: Index, backend: BuiltinBackend) -> None:
    logs.add("a.jsonl", message("user", "violin"))
    with pytest.raises(PathRefused, match="is a session log, of which only what a search quotes is shown"):
        backend.memory_get("sessions/a.jsonl", 1, 10)
    with pytest.raises(PathRefused, match="is not in this agent's memory"):
        backend.memory_get(str(logs.folder / "a.jsonl"), 1, 10)


def test_the_slot_shows_them_with_citations(tmp_path: Path, logs: Logs) -> None:
    logs.add("a.jsonl", message("user", "The violin is in the attic."))
    search = {"provider": "none", "sources": ["memory", "sessions"], "experimental": {"sessionMemory": True}}
    config = {"agents": {"defaults": {"workspace": str(tmp_path / "notes"), "memorySearch": search}}}
    with MemorySlot(config, state_dir=tmp_path / "state") as slot:
        context = CallContext(chat_type="direct", session_key="agent:main:main")
        answer = slot.call_tool("memory_search", {"query": "violin attic"}, context)
        (result,) = answer["results"]
        assert (result["source"], result["citation"]) == ("sessions", "sessions/a.jsonl#L1")
        assert slot.call_tool("memory_get", {"path": result["path"]}, context)["denied"] is True
        search["experimental"] = {"sessionMemory": False}
        assert slot.call_tool("memory_search", {"query": "violin attic"}, context)["results"] == []


# When.


def test_what_lies_there_at_start_is_reconciled_however_little_it_is(logs: Logs, index: Index) -> None:
    logs.add("a.jsonl", message("user", "violin"))
    for word in ("kettle", "marble"):
        process = backend_of(index.config)
        assert places(process, "violin") == [("sessions", "sessions/a.jsonl", 1, 1)]
        assert [bool(places(process, known)) for known in ("kettle", "marble")] == [word == "marble", False]
        logs.add("a.jsonl", message("user", word))
        assert places(process, word) == []  # live from now on, and not enough
        process.memory_close()
    process = backend_of(index.config)
    assert places(process, "marble") == [("sessions", "sessions/a.jsonl", 3, 3)]
    process.memory_close()


@pytest.mark.parametrize("how", ["index", "session start"])
def test_an_explicit_index_or_another_session_takes_what_there_is(
    logs: Logs, backend: BuiltinBackend, how: str
) -> None:
    assert hits(backend, "violin") == []
    logs.add("a.jsonl", message("user", "violin"))
    assert hits(backend, "violin") == []
    if how == "index":
        backend.memory_sync(force=False, progress=None)
    else:
        backend.memory_sync_soon()
    assert eventually(lambda: bool(hits(backend, "violin")))


def grown(lines: int) -> list[object]:
    return [message("assistant", f"word{number}") for number in range(lines)]


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (lambda logs, file: logs.add(file.name, *grown(4), message("user", "kettle")), True),  # deltaMessages
        (lambda logs, file: logs.add(file.name, *grown(3), message("user", "kettle")), False),
        (lambda logs, file: logs.add(file.name, message("user", "kettle " + "x" * 2000)), True),  # deltaBytes
        (lambda logs, file: logs.add(file.name, message("user", "kettle " + "x" * 1500)), False),
        (lambda logs, file: (file.write_bytes(b""), logs.add(file.name, message("user", "kettle"))), True),  # shrunk
        (lambda logs, file: (file.write_bytes(b"{}\n" * 30), logs.add(file.name, message("user", "kettle"))), True),
        (lambda logs, file: logs.add("new.jsonl", message("user", "kettle")), False),  # grows from nothing
        (lambda logs, file: logs.add("new.jsonl", *grown(4), message("user", "kettle")), True),
        (
            lambda logs, file: logs.add(file.name, b"\n" * 5, message("user", "kettle")),
            True,
        ),  # lines, whatever they hold
    ],
    ids=["lines", "fewer lines", "bytes", "fewer bytes", "shrunk", "rewritten", "new", "new and grown", "blank lines"],
)
def test_a_live_session_is_indexed_when_it_has_grown_enough(
    logs: Logs, backend: BuiltinBackend, change: Callable[[Logs, Path], object], found: bool
) -> None:
    file = logs.add("a.jsonl", message("user", "violin, the first"))
    assert hits(backend, "violin")
    change(logs, file)
    assert bool(hits(backend, "kettle")) is found


def test_growth_counts_from_what_was_indexed(logs: Logs, backend: BuiltinBackend) -> None:
    logs.add("a.jsonl", message("user", "violin"))
    assert hits(backend, "violin")
    seen = []
    for number in range(11):
        logs.add("a.jsonl", message("user", f"turn{number}"))
        seen.append(bool(hits(backend, f"turn{number}")))
    assert seen == [number % 5 == 4 for number in range(11)]


def test_a_line_that_was_half_written_is_taken_once_it_is_whole(logs: Logs, backend: BuiltinBackend) -> None:
    line = json.dumps(message("user", "the whole kettle")).encode() + b"\n"
    logs.add("a.jsonl", message("user", "violin"), line[:-20])
    assert hits(backend, "violin")
    assert hits(backend, "kettle") == []
    logs.add("a.jsonl", line[-20:])
    assert places(backend, "kettle") == [("sessions", "sessions/a.jsonl", 2, 2)]


@pytest.mark.parametrize("deltas", [SessionDeltas(delta_bytes=0), SessionDeltas(delta_messages=0)])
def test_a_threshold_of_nothing_takes_every_change(logs: Logs, index: Index, deltas: SessionDeltas) -> None:
    file = logs.add("a.jsonl", message("user", "violin"))
    size = file.stat().st_size
    logs.add("a.jsonl", b" ")
    (listed,) = session_logs.list_sessions(index.config).files
    assert session_logs.has_outgrown(listed, size, deltas)
    assert not session_logs.has_outgrown(listed, size, DELTAS)


def test_those_last_written_to_come_first(logs: Logs, index: Index) -> None:
    for name in ("b", "a", "c"):
        logs.add(f"{name}.jsonl", message("user", name))
    assert [file.path for file in session_logs.list_sessions(index.config).files] == [
        f"sessions/{name}.jsonl" for name in ("c", "a", "b")
    ]


def test_appending_ends_in_the_index_that_a_rebuild_makes_and_embeds_nothing_twice(logs: Logs, index: Index) -> None:
    provider = CountingProvider()
    for number in range(12):
        role = ("user", "assistant", "toolResult")[number % 3]
        text = "\n".join(f"- item {number}.{item} of the harbour list, which is long enough" for item in range(8))
        logs.add("a.jsonl", message(role, text), {"type": "custom"})
        index.sync(provider)
        with index.store.read() as reader:
            lines = list(reader.load_log_lines("sessions", "sessions/a.jsonl"))
        assert lines[-1] == 2 * number + 1 - 2 * (role == "toolResult")
    appended = index.content(provider)
    index.sync(provider, force=True)
    assert index.content(provider) == appended
    assert len(provider.sent) == len(set(provider.sent))
    with index.store.read() as reader:
        assert list(reader.load_log_lines("sessions", "sessions/a.jsonl")) == lines


# The debounce, with a clock of our own.


def test_a_debounce_is_due_after_the_last_change_but_not_for_ever_after_the_first() -> None:
    changes = Debounce(SESSION_SECONDS)
    dues = [changes.due]
    for now in (100.0, 103.0, *range(104, 200)):
        changes.touch(now)
        dues.append(changes.due)
    assert dues[:4] == [None, 105.0, 108.0, 109.0]
    assert dues[-1] == 100.0 + LONGEST_DEBOUNCES * SESSION_SECONDS
    changes.clear()
    dues = [changes.due]
    changes.touch(300.0)
    assert [*dues, changes.due] == [None, 305.0]


def test_sessions_wait_five_seconds_and_never_delay_notes() -> None:
    clock = [100.0]
    ran: list[float] = []

    def run(stop: object) -> SyncReport:
        ran.append(clock[0])
        return SyncReport()

    background = BackgroundSync(run, debounce_seconds=1.5, clock=lambda: clock[0])

    def pass_to(now: float) -> None:
        clock[0] = now
        background.set_interval(0)  # wakes it, and changes nothing

    try:
        background.record_session_change()
        pass_to(104.9)
        background.record_session_change()
        pass_to(109.8)
        assert ran == []
        pass_to(109.9)
        assert eventually(lambda: ran == [109.9])
        background.record_note_change()
        pass_to(111.0)
        background.record_session_change()  # due at 116, the note at 111.4
        pass_to(111.4)
        assert eventually(lambda: ran == [109.9, 111.4])
        pass_to(130.0)
        background.request().result(10)
        assert ran == [109.9, 111.4, 130.0]  # the one for the note saw the session too
    finally:
        background.close()


def test_a_session_key_leads_to_its_log(logs: Logs, index: Index) -> None:
    logs.add("id-1.jsonl", message("user", "violin"))
    logs.add("id-2-topic-7.jsonl", *grown(6))
    (logs.folder / "sessions.json").write_text(
        json.dumps(
            {
                "agent:main:main": {"sessionId": "id-1"},
                "agent:main:topic": {"sessionId": "id-2", "sessionFile": "/elsewhere/id-2-topic-7.jsonl"},
                "agent:main:gone": {"sessionId": "id-3"},
                "agent:main:odd": 5,
            }
        )
    )
    keys = ("agent:main:main", "agent:main:topic", "agent:main:gone", "agent:main:odd", "unheard of")
    found = [session_logs.find_log(index.config, key) for key in keys]
    assert [file and file.path for file in found] == [
        "sessions/id-1.jsonl", "sessions/id-2-topic-7.jsonl", None, None, None,
    ]  # fmt: skip
    wanted = [wants_sync(index.config, index.store, key) for key in keys]
    assert wanted == [False, True, True, True, True]  # too little, enough, and where it is not known
    off = replace(index.config, search=replace(index.config.search, sources=("memory",)))
    assert not wants_sync(off, index.store, "unheard of")
    index.sync()
    assert not any(wants_sync(index.config, index.store, key) for key in keys[:2])
    logs.add("id-1.jsonl", *grown(5))
    assert wants_sync(index.config, index.store, keys[0])


@pytest.mark.parametrize("watch", [True, False], ids=["watched", "told by the host"])
def test_a_live_session_is_indexed_in_the_background(tmp_path: Path, logs: Logs, watch: bool) -> None:
    config = {
        "memorySearch": {
            "provider": "none",
            "sources": ["memory", "sessions"],
            "experimental": {"sessionMemory": True},
            "sync": {"watch": watch, "onSearch": False, "sessions": {"deltaMessages": 5}},
        }
    }
    defaults = {"agents": {"defaults": {"workspace": str(tmp_path / "notes"), **config}}}
    with MemorySlot(defaults, state_dir=tmp_path / "state") as slot:
        slot.session_started(CallContext(session_key="agent:main:main"))
        assert eventually(lambda: slot.status().last_sync is not None)
        logs.add("a.jsonl", *grown(5), message("user", "The violin is in the attic."))
        if not watch:
            slot.session_updated("agent:main:main")
        assert eventually(lambda: bool(slot.call_tool("memory_search", {"query": "violin attic"})["results"]))


# What is secret.


def test_a_secret_is_in_no_table_no_request_and_no_log(
    logs: Logs, index: Index, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    provider = CountingProvider()
    logs.add("a.jsonl", message("user", f"violin\n{SECRETS}"), b'{"role": "user", "content": "' + KEYS[0].encode())
    index.sync(provider)
    logs.add("a.jsonl", {"role": "assistant", "content": f"I repeat: {SECRETS}"})
    index.sync(provider)
    index.sync(provider, force=True)
    backend = backend_of(index.config)
    shown = repr([hits(backend, key) for key in KEYS] + hits(backend, "violin key"))
    backend.memory_close()
    index.close()
    stored = b"".join(file.read_bytes() for file in sorted(index.state.glob("main.sqlite*")))
    assert b"violin" in stored
    assert any("violin" in text for text in provider.sent)
    for key in KEYS:
        assert key.encode() not in stored
        assert key.lower().encode() not in stored
        assert not any(key in text for text in provider.sent)
        assert key not in caplog.text
        assert key not in shown


STAMP = "2026-02-17T21-30-00.000Z"
CHECKPOINT = "checkpoint.0f0e0d0c-1234-4abc-8def-0123456789ab"


def test_archives_of_reset_and_deleted_sessions_are_found(logs: Logs, backend: BuiltinBackend) -> None:
    for name, word in {f"a.jsonl.reset.{STAMP}": "zeppelin", f"b.jsonl.deleted.{STAMP}": "harpsichord"}.items():
        logs.add(name, message("user", f"The {word} is in the attic."))
    for name in (f"c.jsonl.bak.{STAMP}", "d.trajectory.jsonl", "e.jsonl.tmp", "f.jsonl.reset.x"):
        logs.add(name, message("user", "The gamelan is in the attic."))
    assert [hit.path for hit in hits(backend, "zeppelin")] == [f"sessions/a.jsonl.reset.{STAMP}"]
    assert [hit.path for hit in hits(backend, "harpsichord")] == [f"sessions/b.jsonl.deleted.{STAMP}"]
    assert not backend.memory_status().dirty
    assert not hits(backend, "gamelan")
    with pytest.raises(PathRefused, match="is a session log"):
        session_logs.refuse_log(f"sessions/a.jsonl.reset.{STAMP}")


def test_a_checkpoint_counts_where_the_log_holds_less(logs: Logs, index: Index) -> None:
    first, second = message("user", "The zeppelin is in the attic."), message("user", "Thanks.")
    logs.add("a.jsonl", first, second)
    logs.add(f"a.{CHECKPOINT}.jsonl", first)
    logs.add("b.jsonl", second)
    logs.add(f"b.{CHECKPOINT}.jsonl", first, second)
    logs.add(f"b.{CHECKPOINT[:-1]}c.jsonl", first)
    logs.add(f"gone.{CHECKPOINT}.jsonl", first)
    found = {file.real_path.name for file in session_logs.list_sessions(index.config).files}
    assert found == {"a.jsonl", "b.jsonl", f"b.{CHECKPOINT}.jsonl", f"gone.{CHECKPOINT}.jsonl"}


def test_a_compressed_log_is_read_or_named(logs: Logs, index: Index, backend: BuiltinBackend) -> None:
    zstandard = pytest.importorskip("zstandard")
    text = json.dumps(message("user", "The zeppelin is in the attic.")).encode()
    logs.add(f"a.jsonl.reset.{STAMP}.zst").write_bytes(zstandard.compress(text + b"\n"))
    logs.add(f"b.jsonl.reset.{STAMP}.zst").write_bytes(b"damaged")
    assert [failure.path for failure in index.sync().failures] == [f"sessions/b.jsonl.reset.{STAMP}.zst"]
    assert [hit.path for hit in hits(backend, "zeppelin")] == [f"sessions/a.jsonl.reset.{STAMP}.zst"]


def test_a_compressed_log_names_the_package_that_reads_it(
    logs: Logs, index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    if sys.version_info >= (3, 14):
        pytest.skip("Python reads it itself")
    monkeypatch.setitem(sys.modules, "zstandard", None)
    logs.add(f"a.jsonl.reset.{STAMP}.zst").write_bytes(b"\x28\xb5\x2f\xfd")
    (failure,) = index.sync().failures
    assert (failure.path, failure.reason) == (
        f"sessions/a.jsonl.reset.{STAMP}.zst",
        "is compressed by Zstandard: pip install zstandard, or decompress it",
    )
