"""The activity log: what sessions did with the memory, without a word of what the memory holds."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import memory_core
from memory_core.errors import MemoryOff, StoreError
from memory_core.plugin import MemorySlot
from memory_core.records import CallContext
from memory_core.sources import activity
from memory_core.sources.activity import Activity, append_entry, load_entries
from tests.command import REPOSITORY, Command
from tests.waiting import eventually

pytestmark = pytest.mark.usefixtures("at_once")

MAIN = CallContext.local("agent:main:main")
GROUP = CallContext(session_key="agent:main:telegram:group:42", chat_type="group", channel="telegram")
SETTINGS: dict[str, Any] = {
    "provider": "none", "items": {"enabled": True, "capture": {"enabled": True}},
    "recall": {"enabled": True, "timeoutMs": 60_000},
}  # fmt: skip


def open_slot(folder: Path, search: dict[str, Any] | None = None, **sections: Any) -> MemorySlot:
    notes = folder / "ws"
    notes.mkdir(exist_ok=True)
    (notes / "MEMORY.md").write_text("# Facts\n\n- The ladder hangs in the garage.\n", encoding="utf-8")
    document = {"memorySearch": {**SETTINGS, **(search or {})}, **sections}
    return MemorySlot(document, workspace=notes, state_dir=folder / "state")


def read(folder: Path) -> list[Activity]:
    logs = list((folder / "state").rglob("*.activity.jsonl"))
    return load_entries(logs[0], limit=100) if logs else []


def tell(folder: Path) -> list[tuple[str, str, int, str]]:
    return [(entry.action, entry.by, entry.count, entry.outcome) for entry in reversed(read(folder))]


def test_another_workspace_of_the_same_agent_has_a_log_of_its_own(tmp_path: Path) -> None:
    with open_slot(tmp_path) as slot:
        slot.call_tool("memory_append", {"text": "- The fence is green."}, MAIN)
    other = tmp_path / "other"
    other.mkdir()
    with memory_core.open_memory(workspace=other, state_dir=tmp_path / "state") as memory:
        assert memory.list_activity() == []


def test_what_sessions_do_is_recorded_with_its_places_and_its_session(tmp_path: Path) -> None:
    before = time.time()
    with open_slot(tmp_path) as slot:
        slot.call_tool("memory_search", {"query": "where is the ladder"}, MAIN)
        slot.call_tool("memory_get", {"path": "MEMORY.md", "from": 3}, GROUP)
        slot.call_tool("memory_get", {"path": "none.md"}, MAIN)  # nothing was there
        slot.call_tool("memory_append", {"text": "- The fence is green."}, MAIN)
        item = slot.call_tool("memory_store", {"text": "The vet is Dr. Lind."}, MAIN)["id"]
        slot.call_tool("memory_recall", {"query": "vet"}, MAIN)
        slot.call_tool("memory_forget", {"query": "vet"}, MAIN)  # only looks
        slot.call_tool("memory_forget", {"ids": [item]}, MAIN)
        slot.call_tool("memory_search", {"query": ""}, MAIN)  # wrong
    assert tell(tmp_path) == [
        ("recalled", "memory_search", 1, ""),
        ("recalled", "memory_get", 1, ""),
        ("stored", "memory_append", 1, "appended"),
        ("stored", "memory_store", 1, "added"),
        ("recalled", "memory_recall", 1, ""),
        ("forgot", "memory_forget", 1, "deleted"),
    ]
    entries = read(tmp_path)[::-1]
    assert [entry.session for entry in entries[:3]] == [MAIN.session_key, GROUP.session_key, MAIN.session_key]
    assert entries[0].places == ("MEMORY.md#L1",)
    assert entries[2].places[0].startswith("memory/")
    assert entries[3].places == entries[5].places == (item,)
    assert before <= entries[0].at <= entries[-1].at <= time.time()


def test_recall_capture_and_flush_are_recorded(tmp_path: Path) -> None:
    with open_slot(tmp_path) as slot:
        assert slot.recall(MAIN, "Where does the ladder hang?")
        slot.turn_ended(MAIN, [{"role": "user", "content": "Remember that my favourite colour is teal."}])
        eventually(lambda: any(entry.by == "capture" for entry in read(tmp_path)))
        turn = slot.before_compaction(slot.session(MAIN, "agent:main:main", context_window=1000), compacting=True)
        assert turn is not None
        assert slot.record_flush(turn, "stored")
    assert [each[:2] for each in tell(tmp_path)] == [
        ("recalled", "recall"),
        ("stored", "capture"),
        ("flushed", "flush"),
    ]
    flushed = read(tmp_path)[0]
    assert (flushed.places, flushed.session, flushed.outcome) == ((turn.target,), MAIN.session_key, "stored")


def test_what_is_forgotten_leaves_no_byte(tmp_path: Path) -> None:
    with open_slot(tmp_path) as slot:
        slot.call_tool("memory_search", {"query": "zanzibarium"}, MAIN)
        item = slot.call_tool("memory_store", {"text": "The zanzibarium opens at nine."}, MAIN)["id"]
        slot.call_tool("memory_recall", {"query": "zanzibarium"}, MAIN)
        slot.call_tool("memory_forget", {"query": "zanzibarium"}, MAIN)
        slot.call_tool("memory_forget", {"ids": [item]}, MAIN)
    assert read(tmp_path)
    held = [
        file.name for file in (tmp_path / "state").rglob("*") if file.is_file() and b"zanzibarium" in file.read_bytes()
    ]
    assert held == []


def test_a_scope_that_denies_is_not_recorded(tmp_path: Path) -> None:
    rules = [{"action": "deny", "match": {"chatType": "group"}}]
    with open_slot(tmp_path, memory={"scope": {"default": "allow", "rules": rules}}) as slot:
        assert slot.call_tool("memory_search", {"query": "ladder"}, GROUP)["denied"]
        assert not slot.recall(GROUP, "Where does the ladder hang?")
        session = slot.session(GROUP, str(GROUP.session_key), context_window=1000)
        turn = slot.before_compaction(session, compacting=True)
        if turn is not None:
            slot.record_flush(turn, "stored")
        outside = CallContext(session_key="agent:main:main", access="none")
        assert slot.call_tool("memory_search", {"query": "ladder"}, outside)["disabled"]
        denied = CallContext(session_key="agent:main:web:7", chat_type="direct")
        assert slot.call_tool("memory_store", {"text": "The vet is Dr. Lind."}, denied)["denied"]  # main sessions only
        assert read(tmp_path) == []
        slot.call_tool("memory_search", {"query": "ladder"}, MAIN)
    assert len(read(tmp_path)) == 1


def test_off_records_nothing(tmp_path: Path) -> None:
    for search in ({"activity": {"enabled": False}}, {"enabled": False}):
        with open_slot(tmp_path, search) as slot:
            slot.call_tool("memory_search", {"query": "ladder"}, MAIN)
    assert not list(tmp_path.rglob("*.activity.*"))


def test_memory_that_is_off_shows_no_log(tmp_path: Path) -> None:
    with open_slot(tmp_path) as slot:
        slot.call_tool("memory_search", {"query": "ladder"}, MAIN)
    off = {"memorySearch": {"enabled": False}}
    memory = memory_core.open_memory(off, workspace=tmp_path / "ws", state_dir=tmp_path / "state")
    with memory, pytest.raises(MemoryOff):
        memory.list_activity()


def test_a_key_that_holds_a_secret_is_redacted(tmp_path: Path) -> None:
    with open_slot(tmp_path) as slot:
        slot.call_tool("memory_search", {"query": "ladder"}, CallContext.local("chat:password=hunter2hunter2"))
    assert read(tmp_path)[0].session == "chat:password=[redacted]"


def test_a_log_that_cannot_be_written_costs_no_answer(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with open_slot(tmp_path) as slot:
        slot.call_tool("memory_search", {"query": "ladder"}, MAIN)
        log = next((tmp_path / "state").rglob("*.activity.jsonl"))
        log.unlink()
        log.mkdir()
        for _ in range(3):
            assert slot.call_tool("memory_search", {"query": "ladder"}, MAIN)["results"]
    assert caplog.text.count("activity is not recorded") == 1
    memory = memory_core.open_memory(None, workspace=tmp_path / "ws", state_dir=tmp_path / "state")
    with memory, pytest.raises(StoreError, match="cannot be read"):
        memory.list_activity()


# The file.

ENTRY = Activity(at=1_700_000_000.25, action="recalled", by="memory_search", session="s", places=("a.md#L3",), count=1)


def test_an_entry_comes_back_as_it_was(tmp_path: Path) -> None:
    log = tmp_path / "new/folder/main.activity.jsonl"
    append_entry(log, ENTRY)
    assert load_entries(log, limit=9) == [ENTRY]
    assert log.stat().st_mode & 0o077 == 0
    assert load_entries(tmp_path / "none.activity.jsonl", limit=9) == []


def test_a_torn_entry_harms_no_other(tmp_path: Path) -> None:
    log = tmp_path / "main.activity.jsonl"
    append_entry(log, ENTRY)
    for damage in (b'\n{"at":17', b"\n\x00\xff\x00", b"\n[]", b"\n7", b'\n{"at":"soon"}'):
        with log.open("ab") as file:
            file.write(damage)
        append_entry(log, ENTRY)
    assert load_entries(log, limit=99) == [ENTRY] * 6


def test_long_places_are_cut_and_many_are_counted(tmp_path: Path) -> None:
    log = tmp_path / "main.activity.jsonl"
    places = tuple(f"memory/{number}-{'ü' * 900}.md" for number in range(100))
    append_entry(log, Activity(at=1, action="recalled", by="x", session="k" * 5000, places=places, count=100))
    entry = load_entries(log, limit=1)[0]
    assert (len(entry.places), entry.count, len(str(entry.session))) == (activity.MAX_PLACES, 100, activity.MAX_CHARS)
    assert log.stat().st_size < 20_000


def test_the_log_keeps_the_last_entries_and_its_bound(tmp_path: Path) -> None:
    log = tmp_path / "main.activity.jsonl"
    places = tuple(f"memory/{number}-{'x' * 150}.md" for number in range(12))
    for number in range(1000):
        append_entry(log, Activity(at=number, action="recalled", by="x", session="s", places=places, count=12))
    size = sum(file.stat().st_size for file in tmp_path.iterdir())
    assert activity.MAX_BYTES / 3 < size <= activity.MAX_BYTES
    kept = [entry.at for entry in load_entries(log, limit=5000)]
    assert kept == list(range(999, 999 - len(kept), -1))
    assert len(kept) > 100


def test_processes_append_at_once_and_none_is_lost(tmp_path: Path) -> None:
    log = tmp_path / "main.activity.jsonl"
    program = (
        "import sys; from pathlib import Path; from memory_core.sources.activity import Activity, append_entry\n"
        "for n in range(200): append_entry(Path(sys.argv[1]), Activity(at=n, action='stored', by='x', session=sys.argv[2],"
        " places=('p' * 190,) * 3, count=3))"
    )
    running = [
        subprocess.Popen([sys.executable, "-c", program, str(log), name], cwd=REPOSITORY) for name in ("a", "b", "c")
    ]
    assert [each.wait(120) for each in running] == [0, 0, 0]
    for name in ("a", "b", "c"):
        kept = [entry.at for entry in load_entries(log, limit=5000, session=name)]
        assert kept == list(range(199, 199 - len(kept), -1))
        assert len(kept) > 100


# The command.


def test_the_command_lists_the_last_uses_first(tmp_path: Path) -> None:
    with open_slot(tmp_path) as slot:
        slot.call_tool("memory_search", {"query": "ladder"}, MAIN)
        slot.call_tool("memory_append", {"text": "- The fence is green."}, GROUP)
    command = Command(tmp_path / "ws", tmp_path / "state")
    lines = command("activity").out.splitlines()
    assert [line.split()[2] for line in lines] == ["stored", "recalled"]
    assert lines[1].endswith("MEMORY.md#L1  (memory_search, agent:main:main)")
    assert command("activity", "--session", "agent:main:main").out.splitlines() == lines[1:]
    found = command("activity", "--json", "--limit", "1").json
    assert (found["enabled"], [entry["action"] for entry in found["activity"]]) == (True, ["stored"])
    assert "expected 1 or more" in command("activity", "--limit", "0").error
    item = command("items", "add", "The shed key hangs at the door.").out.split()[1]
    assert command("items", "forget", item).code == 0
    assert command("activity").out.splitlines()[0].endswith(f"forgot    {item}  (items forget)")
    assert command("activity", "--session", "nobody").err == "No activity of session nobody.\n"
