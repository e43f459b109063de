"""Old versions of notes: what syncs record, what is read of it, and that no sync fails by it."""

from __future__ import annotations

import contextlib
import io
import json
import multiprocessing
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
import unicodedata
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

import memory_core
from memory_core.cli import app
from memory_core.cli.main import main
from memory_core.config.agent import AgentConfig
from memory_core.errors import HistoryUnavailable, InvalidArgument, NoteChanged, NoteNotWritten
from memory_core.history.history import History, show
from memory_core.history.notes import list_events, restore
from memory_core.history.store.store import HistoryStore
from memory_core.plugin.memory import Memory
from memory_core.records import Progress
from memory_core.text.dates import parse_instant
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


def test_a_note_is_recorded_by_itself_where_events_name_it(memory: Memory) -> None:
    """As each sync of a running process does; the first ones look at everything."""
    history, notes = History(memory.config()), memory.config().workspace / "memory"
    notes.mkdir()
    (notes / "a.md").write_text("violin\n")
    (notes / "b.md").write_text("lantern\n")
    for _ in range(3):
        memory.sync()
    (notes / "a.md").write_text("kettle\n")
    memory.sync()
    (notes / "b.md").rename(notes / "c.md")
    memory.sync()
    (notes / "a.md").unlink()
    memory.sync()
    assert [read_notes(history, moment.id) for moment in history.list_moments()] == [
        {"memory/a.md": "violin\n", "memory/b.md": "lantern\n"},
        {"memory/a.md": "kettle\n", "memory/b.md": "lantern\n"},
        {"memory/a.md": "kettle\n", "memory/c.md": "lantern\n"},
        {"memory/c.md": "lantern\n"},
    ]
    for file in memory.config().history_path.parent.glob(f"{memory.config().history_path.name}*"):
        file.unlink()
    for word in ("quokka", "wombat"):
        (notes / "c.md").write_text(f"{word}\n")
        (notes / "d.md").write_text(f"{word}, too\n")
        memory.sync()
    last = history.list_moments()[-1]
    assert read_notes(history, last.id) == {"memory/c.md": "wombat\n", "memory/d.md": "wombat, too\n"}


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
    assert history.load_text(version).text == "# Café\n- one\n"


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


def test_two_memories_that_take_turns_record_what_each_has_synced(memory: Memory) -> None:
    config = memory.config()
    with memory_core.open_memory(KEYWORDS, workspace=config.workspace, state_dir=config.state_dir) as other:
        for number in range(4):
            write_notes(config.workspace, {"MEMORY.md": f"- note {number}\n", "memory/a.md": f"- page {number // 2}\n"})
            (memory, other)[number % 2].sync()
            (other, memory)[number % 2].sync()  # changes nothing
    history = History(config)
    assert [read_notes(history, moment.id) for moment in history.list_moments()] == [
        {"MEMORY.md": f"- note {number}\n", "memory/a.md": f"- page {number // 2}\n"} for number in range(4)
    ]


def test_a_note_that_changes_before_it_is_recorded_is_kept_as_it_was_read(memory: Memory) -> None:
    config = memory.config()
    write_notes(config.workspace, {"MEMORY.md": "- 700\n"})
    memory.sync()
    write_notes(config.workspace, {"MEMORY.md": "- 800\n"})

    def write_once_read(progress: Progress) -> None:
        if progress.done:
            write_notes(config.workspace, {"MEMORY.md": "- 900\n"})

    memory.sync(progress=write_once_read)
    memory.sync()
    history = History(config)
    assert [read_notes(history, each.id)["MEMORY.md"] for each in history.list_moments()] == [
        "- 700\n", "- 800\n", "- 900\n",
    ]  # fmt: skip


def test_what_could_not_be_recorded_is_recorded_by_the_next_sync(memory: Memory) -> None:
    config, history = memory.config(), History(memory.config())
    write_notes(config.workspace, {"MEMORY.md": "- one\n"})
    memory.sync()
    with contextlib.closing(HistoryStore(config.history_path)) as store, store.write():  # as a purge holds it
        write_notes(config.workspace, {"MEMORY.md": "- two\n"})
        assert any("not recorded" in warning for warning in memory.sync().warnings)
    assert len(history.list_moments()) == 1
    memory.sync()
    assert [read_notes(history, each.id) for each in history.list_moments()] == [
        {"MEMORY.md": "- one\n"},
        {"MEMORY.md": "- two\n"},
    ]


def _record(config: AgentConfig, at: float) -> None:
    """Record the notes of a workspace as a sync would at another time."""
    from memory_core.sources.files import list_files
    from memory_core.sources.notes import read_note

    hashes = {each.key: read_note(each).hash for each in list_files(config).files}
    assert History(config, clock=lambda: at).record(hashes, "1")


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


def _edit(memory: Memory, path: str, *texts: str | None) -> list[str]:
    """Write the versions of a note one after the other, None for no note; return a time at which each stood."""
    times = []
    for text in texts:
        file = memory.config().workspace / path
        if text is None:
            file.unlink()
        else:
            file.parent.mkdir(exist_ok=True)
            file.write_text(text)
        memory.sync()
        times.append(datetime.now().astimezone().isoformat(timespec="milliseconds"))
        time.sleep(0.01)
    return times


def test_memory_get_reads_a_note_as_it_stood(memory: Memory) -> None:
    path = "memory/house.md"
    first, second, gone, again = _edit(memory, path, "- rent 700\n", "- rent 800\n", None, "- rent 700\n")
    answers = [memory.call_tool("memory_get", {"path": path, "asOf": at}) for at in (first, second, again)]
    assert [answer["text"] for answer in answers] == ["- rent 700", "- rent 800", "- rent 700"]
    assert [answer["now"] for answer in answers] == ["unchanged", "changed", "unchanged"]
    assert all(answer["asOf"]["moment"] <= answer["asOf"]["instant"] for answer in answers)
    absent = memory.call_tool("memory_get", {"path": path, "asOf": gone})
    assert absent["status"] == "not_found"
    _edit(memory, path, None)
    assert memory.call_tool("memory_get", {"path": path, "asOf": second})["now"] == "gone"
    assert "asOf" not in memory.call_tool("memory_get", {"path": path})


def test_a_note_that_looks_the_same_is_unchanged(memory: Memory) -> None:
    """Another editor, or a disk of macOS, writes letters and marks apart."""
    path = "memory/house.md"
    times = _edit(
        memory, path, *(f"- rent of the caf{letter}: {n}\n" for letter, n in (("\u00e9", 700), ("e\u0301", 700)))
    )
    assert [memory.call_tool("memory_get", {"path": path, "asOf": at})["now"] for at in times] == ["unchanged"] * 2
    found = memory.call_tool("memory_search", {"query": "rent of the café", "asOf": times[0]})["results"]
    assert (found[0]["snippet"], found[0]["now"]["status"]) == ("- rent of the caf\u00e9: 700", "unchanged")
    with contextlib.closing(History(memory.config())) as history:
        versions = history.list_versions(path)
        assert [event.event for event in list_events(history, versions)] == ["added"]


def test_before_the_first_moment_the_error_names_it(memory: Memory) -> None:
    unknown = memory.call_tool("memory_get", {"path": "MEMORY.md", "asOf": "2020-01-01"})
    assert "there is no history yet" in unknown["error"]
    (first,) = _edit(memory, "MEMORY.md", "- one\n")
    early = memory.call_tool("memory_get", {"path": "MEMORY.md", "asOf": "2020-01-01"})
    assert f"the history begins at {first[:16]}" in early["error"]
    assert early["unavailable"]
    wrong = memory.call_tool("memory_get", {"path": "MEMORY.md", "asOf": "last week"})
    assert wrong["code"] == "invalid_argument"


def test_another_backend_refuses(tmp_path: Path) -> None:
    config = {"memory": {"backend": "qmd"}}
    with memory_core.open_memory(config, workspace=tmp_path, state_dir=tmp_path / "state") as qmd:
        answer = qmd.call_tool("memory_get", {"path": "MEMORY.md", "asOf": "2026-01-01"})
    assert answer["error"] == "asOf: the backend 'qmd' keeps no history"


def _run(memory: Memory, *arguments: str) -> tuple[int, str]:
    config, out = memory.config(), io.StringIO()
    with contextlib.redirect_stdout(out):
        code = app.run([*arguments, "--workspace", str(config.workspace), "--state-dir", str(config.state_dir)])
    return code, out.getvalue()


def test_the_commands_list_compare_and_restore(memory: Memory, capsys: pytest.CaptureFixture[str]) -> None:
    path = "memory/house.md"
    first, *_ = _edit(memory, path, "# House\n\n- rent 700\n", "# House\n\n- rent 800\n", None)
    code, listed = _run(memory, "history", path)
    assert code == 0
    assert [line.split()[1] for line in listed.splitlines()] == ["added", "changed", "gone"]
    assert path in _run(memory, "history")[1]
    with pytest.raises(HistoryUnavailable, match="no version of such a note"):
        _run(memory, "history", "memory/never.md")
    assert "-- rent 700" in _run(memory, "diff", path, "--from", first)[1]
    assert _run(memory, "history", f"{path}#L3 (as of {first})") == (0, listed)  # as a hit of the past is cited
    with pytest.raises(InvalidArgument, match="PATH: is empty"):
        _run(memory, "history", " ")
    note = memory.config().workspace / path
    changed = show(History(memory.config()).list_moments()[1].at)
    with pytest.raises(HistoryUnavailable) as refused:
        _run(memory, "restore", path, "--as-of", datetime.now().astimezone().isoformat())
    assert f"; it last stood at {changed}" in str(refused.value)
    _run(memory, "restore", path, "--as-of", first)
    assert note.read_text(encoding="utf-8") == "# House\n\n- rent 700\n"  # it was gone
    _run(memory, "restore", path, "--as-of", first)
    copy = note.with_name(f"house.as-of-{first[:10]}.md")
    assert copy.read_text() == "# House\n\n- rent 700\n"
    assert "It is a note, too" in capsys.readouterr().err
    with pytest.raises(NoteNotWritten, match="exists already"):
        _run(memory, "restore", path, "--as-of", first)


def test_without_a_time_a_note_that_is_gone_gets_its_last_text(memory: Memory) -> None:
    path = "memory/house.md"
    _edit(memory, path, "- rent 700\n", "- rent 800\n", None)
    note = memory.config().workspace / path
    assert _run(memory, "restore", path) == (0, f"Written to {note}\n")
    assert note.read_text(encoding="utf-8") == "- rent 800\n"
    memory.sync()
    with pytest.raises(
        InvalidArgument, match=rf"--as-of: {path} is there.*versions are of \d{{4}}-\d\d-\d\d"
    ) as refused:
        _run(memory, "restore", path)
    assert refused.value.action == f"their times: memory-core history {path}"
    note.unlink()  # which no sync has seen
    assert _run(memory, "restore", path)[0] == 0
    assert note.read_text(encoding="utf-8") == "- rent 800\n"
    with pytest.raises(HistoryUnavailable, match="no version of such a note"):
        _run(memory, "restore", "memory/never.md")


def test_the_end_of_a_path_names_a_note_though_it_is_gone_unless_several_have_it(memory: Memory) -> None:
    path = "memory/Käsefondue.md"
    first, *_ = _edit(memory, path, "- 400 g Gruyère\n", None)
    for number in (1, 2):
        _edit(memory, f"memory/{number}/rösti.md", "- 1 kg potatoes\n")
    for arguments in (["history"], ["diff"], ["restore", "--as-of", first]):
        for short in ("käsefondue", "Käsefondue.md"):
            assert _run(memory, *arguments, short)[0] == 0
            (memory.config().workspace / path).unlink(missing_ok=True)
        told = {"fondue.md": "see what changed: memory-core history"}
        told["rösti.md"] = "did you mean memory/1/rösti.md or memory/2/rösti.md?"
        for short, action in told.items():
            with pytest.raises(HistoryUnavailable, match="is known") as refused:
                _run(memory, *arguments, short)
            assert refused.value.action == action


def test_an_old_version_is_put_over_the_note_whose_own_text_is_kept(memory: Memory) -> None:
    path = "memory/house.md"
    first, *_ = _edit(memory, path, "- rent 700\n", "- rent 800\n")
    note = memory.config().workspace / path
    note.write_text("- rent 900\n", encoding="utf-8")  # which no sync has seen
    assert _run(memory, "restore", path, "--as-of", first, "--over") == (0, f"Written to {note}\n")
    assert note.read_text(encoding="utf-8") == "- rent 700\n"
    memory.sync()
    assert "-- rent 900\n+- rent 700" in _run(memory, "diff", path)[1]
    assert [*note.parent.iterdir()] == [note]
    with contextlib.closing(History(memory.config())) as history:
        note.write_text("- rent 1,000\n", encoding="utf-8")  # meanwhile
        with pytest.raises(NoteChanged):
            restore(memory.config(), history, path, datetime.fromisoformat(first), over=True)


def test_without_times_diff_shows_the_last_change(memory: Memory) -> None:
    path = "memory/house.md"
    *_, last = _edit(memory, path, "- rent 700\n", "- rent 800\n")
    _edit(memory, "memory/other.md", "- another note\n")
    told = _run(memory, "diff", path)[1]
    assert "-- rent 700\n+- rent 800" in told
    assert _run(memory, "diff", path, "--to", last)[1].splitlines()[2:] == told.splitlines()[2:]
    assert "has not changed since" in _run(memory, "diff", path, "--from", "today")[1]
    with pytest.raises(HistoryUnavailable, match="no such note is known"):
        _run(memory, "diff", "memory/never.md")
    (memory.config().workspace / path).unlink()
    memory.sync()
    assert "-- rent 800" in _run(memory, "diff", path)[1]


def test_the_list_of_changes_says_which_notes_are_gone(memory: Memory) -> None:
    _edit(memory, "memory/house.md", "- rent 700\n", "- rent 800\n", None)
    listed = _run(memory, "history")[1].splitlines()
    assert [line.split("  ")[1] for line in listed] == ["memory/house.md"] * 2 + ["memory/house.md (gone)"]
    last = json.loads(_run(memory, "history", "--json")[1])["last"]
    assert [each["gone"] for each in last] == [[], [], ["memory/house.md"]]


def test_a_note_that_is_gone_is_named_by_letters_composed_otherwise(memory: Memory) -> None:
    path = "memory/Hà Nội.md"
    first, *_ = _edit(memory, unicodedata.normalize("NFD", path), "- rent 700\n", None)
    assert [line.split()[1] for line in _run(memory, "history", path)[1].splitlines()] == ["added", "gone"]
    _run(memory, "restore", path, "--as-of", first)
    assert (memory.config().workspace / unicodedata.normalize("NFD", path)).read_text() == "- rent 700\n"


def test_a_note_of_a_folder_elsewhere_comes_back_where_it_lay(tmp_path: Path) -> None:
    """By the path under which it is listed, and by its absolute one; the folder in which it lay is gone, too."""
    vault, workspace = tmp_path / "vault", tmp_path / "workspace"
    note = vault / "Lists" / "Reading list.md"
    note.parent.mkdir(parents=True)
    workspace.mkdir()
    note.write_text("- A book\n", encoding="utf-8")
    section = {"provider": "none", "extraPaths": ["../vault"]}
    config = {"agents": {"defaults": {"memorySearch": section}}}
    file = tmp_path / "config.json"
    file.write_text(json.dumps(config), encoding="utf-8")
    named = "../vault/Lists/Reading list.md"
    with memory_core.open_memory(str(file), workspace=workspace, state_dir=tmp_path / "state") as opened:
        opened.sync()
        with contextlib.closing(History(opened.config())) as history:
            stood = history.list_moments()[-1].at.isoformat()
        for asked in (named, str(note)):
            shutil.rmtree(note.parent)
            opened.sync()
            assert [line.split()[1] for line in _run(opened, "history", asked, "--config", str(file))[1].splitlines()][
                -1
            ] == "gone"
            got = opened.call_tool("memory_get", {"path": asked, "asOf": stood})
            assert (got["path"], got["text"]) == (named, "- A book")
            _run(opened, "restore", asked, "--as-of", stood, "--config", str(file))
            assert note.read_text(encoding="utf-8") == "- A book\n"
            opened.sync()
            with pytest.raises(NoteNotWritten, match="lies outside of the workspace"):
                _run(opened, "restore", asked, "--as-of", stood, "--over", "--config", str(file))
    assert [*workspace.iterdir()] == []


@pytest.mark.parametrize("arguments", [("history",), ("diff", "MEMORY.md", "--from", "2026-01-01")])
@pytest.mark.parametrize("off", [{"plugins": {"slots": {"memory": "none"}}}, {"memorySearch": {"enabled": False}}])
def test_the_commands_refuse_where_memory_is_off(
    memory: Memory,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    off: dict[str, object],
    arguments: tuple[str, ...],
) -> None:
    _edit(memory, "MEMORY.md", "- one\n")
    file = tmp_path / "config.json"
    file.write_text(json.dumps({"agents": {"defaults": off}} if "memorySearch" in off else off))
    state, workspace = str(memory.config().state_dir), str(memory.config().workspace)
    assert main([*arguments, "--config", str(file), "--state-dir", state, "--workspace", workspace]) == 2
    told = capsys.readouterr()
    assert not told.out
    assert "off" in told.err


def test_a_folder_that_is_served_no_more_has_no_past_for_agents(memory: Memory, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "diary.md").write_text("- a walrus in the bath\n")
    config = memory.config()
    write_notes(config.workspace, {"memory/gone.md": "- a walrus on the roof\n"})

    def open_with(**more: object) -> Memory:
        section = {"provider": "none", **more}
        return memory_core.open_memory(
            {"agents": {"defaults": {"memorySearch": section}}}, workspace=config.workspace, state_dir=config.state_dir
        )

    path = f"{tmp_path}/other/diary.md"
    with open_with(extraPaths=[str(tmp_path / "other")]) as wide:
        wide.sync()
        at = datetime.now().astimezone().isoformat(timespec="milliseconds")
        asked = {"query": "walrus", "asOf": at}
        found = wide.call_tool("memory_search", asked)
        assert {hit["path"] for hit in found["results"]} == {path, "memory/gone.md"}
        assert wide.call_tool("memory_get", {"path": path, "asOf": at})["text"]
    time.sleep(0.01)
    (config.workspace / "memory" / "gone.md").unlink()
    with open_with() as narrow:
        narrow.sync()
        assert [hit["path"] for hit in narrow.call_tool("memory_search", asked)["results"]] == ["memory/gone.md"]
        past, now = (narrow.call_tool("memory_get", {"path": path, **more}) for more in ({"asOf": at}, {}))
        assert "walrus" in narrow.call_tool("memory_get", {"path": "memory/gone.md", "asOf": at})["text"]
    assert past["error"] == now["error"]


def test_a_history_that_is_switched_off_says_where_its_file_may_lie(memory: Memory) -> None:
    (at,) = _edit(memory, "MEMORY.md", "- one\n")
    config = _configure(memory, enabled=False)
    section = {"provider": "none", "history": {"enabled": False}}
    with memory_core.open_memory(
        {"agents": {"defaults": {"memorySearch": section}}}, workspace=config.workspace, state_dir=config.state_dir
    ) as off:
        for tool, asked in (("memory_search", {"query": "one"}), ("memory_get", {"path": "MEMORY.md"})):
            answer = off.call_tool(tool, {**asked, "asOf": at})
            assert f"may still lie at {config.history_path}" in answer["error"]
            assert "delete" in answer["action"]
        offered = json.dumps([schema for schema in off.tool_schemas() if "asOf" in json.dumps(schema)])
    assert offered == "[]"
    assert "asOf" in json.dumps(memory.tool_schemas())


def test_the_commands_name_what_is_wrong_with_a_time(memory: Memory, capsys: pytest.CaptureFixture[str]) -> None:
    _edit(memory, "MEMORY.md", "- one\n")
    place = ["--workspace", str(memory.config().workspace), "--state-dir", str(memory.config().state_dir)]

    def complain(*arguments: str) -> str:
        assert main([*arguments, *place]) != 0
        return capsys.readouterr().err

    assert "--as-of: expected" in complain("get", "MEMORY.md", "--as-of", "soon")
    assert "--as-of: expected" in complain("search", "one", "--as-of", "soon")
    assert "path: is of the past" in complain("explain", "one", "MEMORY.md#L1 (as of 2026-03-01)")
    assert "is in the future" in complain("get", "MEMORY.md", "--as-of", "9000-01-01")
    assert "--from: is later than --to" in complain("diff", "MEMORY.md", "--from", "2026-03-01", "--to", "2026-02-01")
    assert main(["--json", "history", "memory/nope.md", *place]) == 1
    assert "no version" in json.loads(capsys.readouterr().out)["error"]
    missing = str(memory.config().workspace / "nowhere")
    assert main(["history", "--workspace", missing]) == 2
    assert missing in capsys.readouterr().err


def test_a_damaged_history_begins_anew_though_no_note_changes(memory: Memory) -> None:
    _edit(memory, "MEMORY.md", "- one\n", "- two\n")
    file = memory.config().history_path
    memory.close()
    for side in ("-wal", "-shm"):
        Path(f"{file}{side}").unlink(missing_ok=True)
    file.write_bytes(file.read_bytes()[:8192] + b"\xff" * (file.stat().st_size - 8192))
    with _reopen(memory) as opened:
        (told,) = opened.sync().warnings
        (aside,) = file.parent.glob(f"{file.name}.damaged-*[0-9]")
        assert str(aside) in told
        assert opened.sync().warnings == ()
        history = History(opened.config())
        assert [read_notes(history, each.id) for each in history.list_moments()] == [{"MEMORY.md": "- two\n"}]
        assert any(str(aside) in warning for warning in opened.status().warnings)
        assert [finding.level for finding in opened.diagnose() if str(aside) in finding.message] == ["warn"]


def test_a_large_history_is_looked_at_once_a_day(memory: Memory) -> None:
    _edit(memory, "MEMORY.md", *(os.urandom(1_000_000).hex() for _ in range(3)))
    path = memory.config().history_path
    memory.close()
    now = time.time()

    def mend(at: float) -> Path | None:
        with contextlib.closing(HistoryStore(path, clock=lambda: at)) as store:
            return store.mend()

    assert mend(now) is None
    with path.open("r+b") as file:  # a page that no reading needs; nothing has the file open
        file.seek(path.stat().st_size // 2 // 8192 * 8192)
        file.write(b"\xff" * 8192)
    assert mend(now + 3600) is None
    assert mend(now + 25 * 3600) is not None


def test_the_history_of_another_program_is_told_and_kept(memory: Memory) -> None:
    _edit(memory, "MEMORY.md", "- one\n")
    file = memory.config().history_path
    memory.close()
    for each in file.parent.glob(f"{file.name}*"):
        each.unlink()
    made = sqlite3.connect(file)
    made.executescript("PRAGMA application_id = 77; CREATE TABLE stamps (name TEXT)")
    made.close()
    content = file.read_bytes()
    with _reopen(memory) as opened:
        (told,) = opened.sync().warnings
        assert "another program" in told
        assert any("another program" in warning for warning in opened.status().warnings)
        assert any(finding.subject == "history" for finding in opened.diagnose())
    assert file.read_bytes() == content


def test_a_sync_of_an_index_without_history_begins_one(memory: Memory) -> None:
    _edit(memory, "MEMORY.md", "- one\n")
    file = memory.config().history_path
    memory.close()
    for each in file.parent.glob(f"{file.name}*"):
        each.unlink()
    with _reopen(memory) as opened:
        opened.sync()
        _edit(opened, "MEMORY.md", "- two\n")
        history = History(opened.config())
        stood = [read_notes(history, each.id)["MEMORY.md"] for each in history.list_moments()]
    assert stood == ["- one\n", "- two\n"]


def test_what_is_too_old_is_dropped_though_no_note_changes(memory: Memory) -> None:
    config, now = _configure(memory, retentionDays=30), time.time()
    for days, text in ((100, "- one\n"), (90, "- two\n"), (80, "- three\n")):
        write_notes(config.workspace, {"MEMORY.md": text})
        _record(config, now - days * 86_400)
    assert History(config).measure().versions == 3
    with _reopen(memory, retentionDays=30) as opened:
        opened.sync()
    history = History(config)
    assert [read_notes(history, each.id)["MEMORY.md"] for each in history.list_moments()] == ["- three\n"]


def _reopen(memory: Memory, **history: object) -> Memory:
    section = {"provider": "none", "history": history}
    return memory_core.open_memory(
        {"agents": {"defaults": {"memorySearch": section}}},
        workspace=memory.config().workspace,
        state_dir=memory.config().state_dir,
    )


def test_a_reader_that_goes_is_no_error_of_a_long_diff(memory: Memory) -> None:
    long = "".join(f"- line {number}\n" for number in range(20_000))
    (at, _) = _edit(memory, "MEMORY.md", "- one\n", long)
    place = ["--workspace", str(memory.config().workspace), "--state-dir", str(memory.config().state_dir)]
    command = ["-c", "import sys; from memory_core.cli.main import main; sys.exit(main())"]
    arguments = [sys.executable, *command, "diff", "MEMORY.md", "--from", at, *place]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        child.stdout.readline()
        child.stdout.close()
        assert child.stderr.read() == ""
        assert child.wait(60) == 0


def test_a_day_means_its_local_end() -> None:
    assert parse_instant("20260301") == parse_instant("2026-03-01")
    end = parse_instant("2026-03-01")
    assert (end.hour, end.minute, end.second) == (23, 59, 59)
    assert parse_instant("2026-03-01T10:00:00Z") == datetime(2026, 3, 1, 10, 0, 0, 999_000, tzinfo=UTC)
    assert parse_instant("2026-03-01T10:00:00.500Z") == datetime(2026, 3, 1, 10, 0, 0, 500_000, tzinfo=UTC)
