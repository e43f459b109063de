"""Old versions of notes: what syncs record, what is read of it, and that no sync fails by it."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import memory_core
from memory_core.config.agent import AgentConfig
from memory_core.history.history import History
from memory_core.plugin.memory import Memory
from tests.history import Writer, write_notes

KEYWORDS = {"agents": {"defaults": {"memorySearch": {"provider": "none"}}}}


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    (tmp_path / "workspace").mkdir()
    with memory_core.open_memory(KEYWORDS, workspace=tmp_path / "workspace", state_dir=tmp_path / "state") as opened:
        yield opened


def _configure(memory: Memory, **history: object) -> AgentConfig:
    """Return the configuration with other settings of history."""
    section = {"provider": "none", "history": history}
    other = memory_core.open_memory(
        {"agents": {"defaults": {"memorySearch": section}}},
        workspace=memory.config().workspace,
        state_dir=memory.config().state_dir,
    )
    with other:
        return other.config()


def read_notes(history: History, moment: int) -> dict[str, str]:
    found = next(each for each in history.list_moments() if each.id == moment)
    return {key.path: history.load_text(version).text for key, version in history.list_alive(found).items()}


@pytest.mark.parametrize("seed", range(6))
def test_every_moment_gives_back_the_notes_as_they_stood(memory: Memory, seed: int) -> None:
    writer, stood = Writer(memory.config().workspace, seed), {}
    history = History(memory.config())
    for number in range(12):
        writer.change(number % 4)
        memory.sync(force=number == 5)
        moments = history.list_moments()
        if moments:
            stood[moments[-1].id] = dict(writer.notes)
    assert len(stood) > 5
    for moment, notes in stood.items():
        assert read_notes(history, moment) == notes


def test_a_sync_that_changes_nothing_is_no_moment(memory: Memory) -> None:
    write_notes(memory.config().workspace, {"MEMORY.md": "- one\n"})
    memory.sync()
    memory.sync()
    os.utime(memory.config().workspace / "MEMORY.md")
    memory.sync()
    memory.sync(force=True)
    assert len(History(memory.config()).list_moments()) == 1


def test_history_outlives_the_index(memory: Memory) -> None:
    workspace, history = memory.config().workspace, History(memory.config())
    write_notes(workspace, {"MEMORY.md": "- one\n"})
    memory.sync()
    write_notes(workspace, {"MEMORY.md": "- two\n"})
    memory.sync()
    memory.close()
    for file in memory.config().store_path.parent.glob(f"{memory.config().store_path.name}*"):
        file.unlink()
    with memory_core.open_memory(KEYWORDS, workspace=workspace, state_dir=memory.config().state_dir) as again:
        again.sync()
    assert [read_notes(history, moment.id)["MEMORY.md"] for moment in history.list_moments()] == ["- one\n", "- two\n"]


def test_bytes_come_back_as_they_were(memory: Memory) -> None:
    data = b"\xef\xbb\xbf# Caf\xe9\r\n- one\r\n"
    (memory.config().workspace / "MEMORY.md").write_bytes(data)
    memory.sync()
    history = History(memory.config())
    (version,) = history.list_versions("MEMORY.md")
    assert history.load_bytes(version) == data
    assert history.load_text(version).text == "# Caf\ufffd\n- one\n"


def test_off_keeps_nothing(memory: Memory, tmp_path: Path) -> None:
    section = {"agents": {"defaults": {"memorySearch": {"provider": "none", "history": {"enabled": False}}}}}
    write_notes(tmp_path / "workspace", {"MEMORY.md": "- one\n"})
    with memory_core.open_memory(section, workspace=tmp_path / "workspace", state_dir=tmp_path / "state") as off:
        off.sync()
        assert not off.config().history_path.exists()


def test_a_file_that_cannot_be_written_fails_no_sync(memory: Memory) -> None:
    config = memory.config()
    write_notes(config.workspace, {"MEMORY.md": "- one\n"})
    config.history_path.mkdir(parents=True)
    assert memory.sync().added == 1
    config.history_path.rmdir()
    memory.sync()  # records what it missed
    assert read_notes(History(config), 1) == {"MEMORY.md": "- one\n"}


def test_a_damaged_file_is_set_aside_and_a_new_history_begins(memory: Memory) -> None:
    config = memory.config()
    write_notes(config.workspace, {"MEMORY.md": "- one\n"})
    memory.sync()
    memory.close()
    data = bytearray(config.history_path.read_bytes())
    data[8192:] = b"\xff" * (len(data) - 8192)
    config.history_path.write_bytes(data)
    write_notes(config.workspace, {"MEMORY.md": "- two\n"})
    with memory_core.open_memory(KEYWORDS, workspace=config.workspace, state_dir=config.state_dir) as again:
        again.sync()
    assert read_notes(History(config), 1) == {"MEMORY.md": "- two\n"}
    assert list(config.history_path.parent.glob("*.history.sqlite.damaged-*"))


def test_old_versions_are_dropped_and_the_others_stay_whole(memory: Memory) -> None:
    """By age: of ten days, the last three are kept, and the state in which they began."""
    workspace = memory.config().workspace
    config = _configure(memory, retentionDays=3)
    memory.sync()
    now = time.time()
    for day in range(10):
        write_notes(workspace, {"MEMORY.md": f"# Plan\n\n- the rent is {700 + day}\n" + "- more\n" * 50})
        _record(config, now + day * 86_400)
    history = History(config)
    texts = [read_notes(history, moment.id)["MEMORY.md"] for moment in history.list_moments()]
    assert [text.splitlines()[2] for text in texts] == [f"- the rent is {700 + day}" for day in range(6, 10)]


def test_the_largest_size_is_kept(memory: Memory) -> None:
    workspace = memory.config().workspace
    config = _configure(memory, maxBytes="200kb")
    for number in range(60):
        write_notes(workspace, {"MEMORY.md": os.urandom(6_000).hex()})
        _record(config, time.time() + number)
    history = History(config)
    assert history.measure().size_bytes <= 200 * 1024
    assert 5 < len(history.list_moments()) < 40
    assert [len(read_notes(history, moment.id)["MEMORY.md"]) for moment in history.list_moments()][-1] == 12_000


def _record(config: AgentConfig, at: float) -> None:
    """Record the notes of a workspace as a sync would at another time."""
    from memory_core.history.records import IndexedNote, NoteKey
    from memory_core.sources.files import list_files
    from memory_core.sources.notes import read_note

    notes = {
        NoteKey(each.source, each.path): IndexedNote(read_note(each).hash, each) for each in list_files(config).files
    }
    assert History(config, clock=lambda: at).record(notes)


def _change_until_killed(workspace: Path, state: Path, ready: object) -> None:
    with memory_core.open_memory(KEYWORDS, workspace=workspace, state_dir=state) as opened:
        writer = Writer(workspace, os.getpid())
        for _ in range(10_000):
            writer.change(3)
            opened.sync()
            ready.set()  # type: ignore[attr-defined]


def test_a_killed_sync_leaves_a_history_that_is_not_torn(memory: Memory) -> None:
    config, spawn = memory.config(), multiprocessing.get_context("spawn")
    for number in range(3):
        ready = spawn.Event()
        child = spawn.Process(target=_change_until_killed, args=(config.workspace, config.state_dir, ready))
        child.start()
        assert ready.wait(60)
        time.sleep(0.05 * number)
        assert child.pid is not None
        os.kill(child.pid, signal.SIGKILL)
        child.join()
        memory.sync()
        history = History(config)
        moments = history.list_moments()
        for moment in moments:
            read_notes(history, moment.id)
        now = {
            file.relative_to(config.workspace).as_posix(): file.read_text() for file in config.workspace.rglob("*.md")
        }
        assert read_notes(history, moments[-1].id) == now
