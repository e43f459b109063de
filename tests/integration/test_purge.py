"""A text that is taken out of the past leaves no byte in any file of the state folder."""

from __future__ import annotations

import io
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, redirect_stdout
from pathlib import Path

import pytest

import memory_core
from memory_core.backends import past
from memory_core.cli import app, history
from memory_core.config.agent import AgentConfig
from memory_core.errors import InvalidArgument, TextInUse
from memory_core.history.history import History
from memory_core.history.store.store import HistoryStore
from memory_core.plugin.memory import Memory
from memory_core.sources.notes import find_intent
from memory_core.stores.sqlite.connections import open_reader
from tests.history import Writer, write_notes

SECRET = "quokkazebra77marmalade"
LEAST = 4  # characters of a suffix of the secret that would tell something of it


@pytest.fixture(autouse=True)
def _look_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no look at commits and files end early on a busy machine."""
    monkeypatch.setattr(history, "LOOK_SECONDS", 600.0)


@pytest.fixture(params=["none", "static"])
def memory(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Memory]:
    with _open(tmp_path, provider=request.param) as opened:
        yield opened


def _open(folder: Path, **section: object) -> Memory:
    (folder / "workspace").mkdir(exist_ok=True)
    config = {"agents": {"defaults": {"memorySearch": section}}}
    return memory_core.open_memory(config, workspace=folder / "workspace", state_dir=folder / "state")


def find_remains(config: AgentConfig, secret: str = SECRET) -> set[str]:
    """Return the suffixes of a secret that stand in a file of the state folder, or in a version, in any case."""
    files = [str(file) for file in config.state_dir.rglob("*") if file.is_file()]
    # In a process of its own: to close a file drops the locks that SQLite holds on it in this one.
    read = "import pathlib, sys; [sys.stdout.buffer.write(pathlib.Path(each).read_bytes()) for each in sys.argv[1:]]"
    contents = [subprocess.run([sys.executable, "-c", read, *files], check=True, capture_output=True).stdout]
    with closing(History(config, writable=False)) as history:
        for moment in history.list_moments():
            for version in history.list_alive(moment).values():
                contents += [history.load_bytes(version), version.key.path.encode()]
    suffixes = {secret[start:].lower() for start in range(len(secret) - LEAST + 1)}
    folded = [content.lower() for content in contents]
    return {suffix for suffix in suffixes if any(suffix.encode() in content for content in folded)}


def _paste_secret(memory: Memory) -> None:
    """Let a secret stand in a note for three moments, among many edits, and then no more."""
    workspace = memory.config().workspace
    writer = Writer(workspace, 7)
    for number in range(12):
        writer.change(3)
        notes = dict(writer.notes)
        if 4 <= number <= 6:
            notes["memory/house.md"] = f"# House\n\n- the safe opens with {SECRET.title()} since {number}\n- more\n"
        write_notes(workspace, notes)
        memory.sync()


def _purge(memory: Memory, *arguments: str, text: str = SECRET) -> tuple[int, str]:
    config, out = memory.config(), io.StringIO()
    section = {"provider": config.search.provider}
    place = config.state_dir / "purge.json"
    place.write_text(json.dumps({"agents": {"defaults": {"memorySearch": section}}}))
    names = ["--workspace", str(config.workspace), "--state-dir", str(config.state_dir), "--config", str(place)]
    with redirect_stdout(out):
        code = app.run(["history", "purge", "--match", text, *arguments, *names])
    return code, out.getvalue()


def test_nothing_is_left_in_any_file(memory: Memory) -> None:
    _paste_secret(memory)
    config, history = memory.config(), History(memory.config())
    before = {moment.id: _read(history, moment.id) for moment in history.list_moments()}
    assert find_remains(config)
    code, told = _purge(memory, "--dry-run")
    assert code == 0
    assert "memory/house.md  3 versions" in told
    assert find_remains(config)
    assert _purge(memory, "--yes")[0] == 0
    memory.sync()
    assert find_remains(config) == set()
    for moment, notes in before.items():  # all else stands as it stood
        expected = {path: text.replace(SECRET.title(), "[purged]") for path, text in notes.items()}
        assert _read(history, moment) == expected
    assert "marmalade" not in json.dumps(memory.call_tool("memory_search", {"query": "safe"}))
    asked = memory.call_tool("memory_search", {"query": f"{SECRET} safe"})  # which may name the words of the question
    assert "marmalade" not in json.dumps(asked["results"])


def _read(history: History, moment: int) -> dict[str, str]:
    found = next(each for each in history.list_moments() if each.id == moment)
    return {key.path: history.load_text(version).text for key, version in history.list_alive(found).items()}


def test_a_note_that_holds_it_is_named(memory: Memory) -> None:
    _paste_secret(memory)
    config = memory.config()
    write_notes(config.workspace, {"MEMORY.md": f"# Plan\n\nsee {SECRET.upper()}\n"})
    with pytest.raises(TextInUse, match=r"MEMORY\.md#L3 holds the text"):
        _purge(memory, "--yes")
    write_notes(config.workspace, {f"memory/{SECRET}.md": "- one\n"})
    with pytest.raises(TextInUse, match=f"the path memory/{SECRET}.md"):
        _purge(memory, "--yes")
    write_notes(config.workspace, {})
    memory.items.write(f"The code is {SECRET}.", scope=None, tags=[])
    with pytest.raises(TextInUse, match="items forget"):
        _purge(memory, "--yes")
    memory.items.forget(ids=[item.id for item in memory.items.export()])
    assert _purge(memory, "--yes")[0] == 0
    assert find_remains(config) == set()


def test_a_reader_is_told_and_a_later_sync_finishes(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(past, "WIPE_SECONDS", 0.1)
    config = memory.config()
    write_notes(config.workspace, {"MEMORY.md": f"- the safe opens with {SECRET}\n"})
    memory.sync()
    readers = [open_reader(path) for path in (config.store_path, config.history_path)]
    for reader in readers:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM meta").fetchall()
    write_notes(config.workspace, {"MEMORY.md": "- the safe opens\n"})
    assert _purge(memory, "--yes")[0] == 1
    assert find_remains(config)
    for reader in readers:
        assert any("another program" in warning for warning in memory.sync().warnings)
        reader.close()
    assert memory.sync().warnings == ()
    assert find_remains(config) == set()


def test_retention_leaves_nothing(memory: Memory, tmp_path: Path) -> None:
    _paste_secret(memory)
    config = memory.config()
    memory.close()
    store = HistoryStore(config.history_path)
    with closing(store), store.write() as connection:  # as if all this had been long ago
        connection.execute("UPDATE moments SET at_ms = at_ms - 40 * 86400000")
    with _open(tmp_path, provider=config.search.provider, history={"retentionDays": 30}) as opened:
        opened.sync()
        assert find_remains(opened.config()) == set()


def test_a_purge_needs_a_yes(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    _paste_secret(memory)
    monkeypatch.setattr("sys.stdin", io.StringIO())
    with pytest.raises(InvalidArgument, match="--yes"):
        _purge(memory)
    assert find_remains(memory.config())


def test_files_that_were_set_aside_are_deleted(memory: Memory) -> None:
    _paste_secret(memory)
    config = memory.config()
    aside = config.history_path.with_name(f"{config.history_path.name}.damaged-20260101-000000")
    aside.write_bytes(SECRET.encode())
    assert str(aside) in _purge(memory, "--dry-run")[1]
    assert aside.exists()
    _purge(memory, "--yes")
    assert find_remains(config) == set()


def test_forgetting_an_item_tells_what_the_past_holds(memory: Memory, capsys: pytest.CaptureFixture[str]) -> None:
    config = memory.config()
    write_notes(config.workspace, {"MEMORY.md": "- The cellar holds 7788 bottles.\n"})
    memory.sync()
    write_notes(config.workspace, {"MEMORY.md": "- The cellar is empty.\n"})
    memory.sync()
    item = memory.items.write("The cellar holds 7788 bottles.", scope=None, tags=[]).item
    names = ["--workspace", str(config.workspace), "--state-dir", str(config.state_dir)]
    app.run(["items", "forget", item.id, *names])
    assert "history purge --match 'The cellar holds 7788 bottles'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("written", "asked"),
    [
        ("café 77", "cafe\u0301 77"), ("cafe\u0301 77", "CAFÉ 77"), ("Straße 12", "strasse 12"), ("STRASSE 12", "straße 12"),
        ("ﬁle 9", "file 9"), ("file 9", "ﬁle 9"), ("ｐｉｎ\u3000１２", "PIN 12"),
        ("a.b (c)", "A.B (C)"), ("hun\u00adter 2", "hunter 2"),
    ],
)  # fmt: skip
def test_a_text_is_found_in_every_form_of_its_letters(tmp_path: Path, written: str, asked: str) -> None:
    with _open(tmp_path, provider="none") as memory:
        write_notes(memory.config().workspace, {"MEMORY.md": f"- <{written}>\n"})
        memory.sync()
        write_notes(memory.config().workspace, {})
        assert _purge(memory, "--yes", text=asked)[0] == 0
        with closing(History(memory.config())) as history:
            assert _read(history, history.list_moments()[0].id) == {"MEMORY.md": "- <[purged]>\n"}
        code, told = _purge(memory, "--yes", text="purged")
        assert (code, "nothing was purged" in told) == (0, True)


@pytest.mark.parametrize("text", ["Türcode 44", "für Groß", "Großmutter’s tea"])
def test_a_text_in_windows_1252_is_found(tmp_path: Path, text: str) -> None:
    with _open(tmp_path, provider="none") as memory:
        note = memory.config().workspace / "MEMORY.md"
        note.write_bytes(b"# Na\xefve\n\n- <" + text.encode("cp1252") + b">\n")
        memory.sync()
        note.unlink()
        assert _purge(memory, "--yes", text=text.upper())[0] == 0
        with closing(History(memory.config())) as history:
            version = history.list_alive(history.list_moments()[0])
            assert [history.load_bytes(each) for each in version.values()] == [b"# Na\xefve\n\n- <[purged]>\n"]


def test_what_the_log_of_activity_names_is_gone(tmp_path: Path) -> None:
    with _open(tmp_path, provider="none") as memory:
        notes = {f"memory/{SECRET}.md": "- the safe is green\n", "MEMORY.md": "- the door is red\n"}
        write_notes(memory.config().workspace, notes)
        memory.call_tool("memory_search", {"query": "green safe"})
        memory.call_tool("memory_search", {"query": "red door"})
        write_notes(memory.config().workspace, {"MEMORY.md": "- the door is red\n"})
        with memory.config().activity_path.open("ab") as log:
            log.write(f'\n{{"places": ["memory/{SECRET}.md'.encode())  # torn by a kill
        assert _purge(memory, "--yes")[0] == 0
        assert find_remains(memory.config()) == set()
        assert [entry.places for entry in memory.list_activity()] == [("MEMORY.md#L1",)]


def test_a_killed_purge_leaves_no_entry_of_the_log_behind(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once versions are purged, a later index finishes the rest, which is in the index and the history alone."""
    _paste_secret(memory)
    config = memory.config()
    write_notes(config.workspace, {f"memory/{SECRET}.md": "- the safe is green\n"})
    memory.call_tool("memory_search", {"query": "green safe"})
    write_notes(config.workspace, {})

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(HistoryStore, "mark", stop)
        with pytest.raises(KeyboardInterrupt):
            _purge(memory, "--yes")
    assert memory.list_activity() == []
    with closing(History(config)) as history:
        history.purge_text(SECRET)
    memory.sync()
    assert find_remains(config) == set()


def test_other_files_of_the_state_folder_that_hold_it_are_named(
    memory: Memory, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = memory.config()
    memory.sync()
    old = tmp_path / "moved"
    write_notes(old, {"MEMORY.md": f"- the safe opens with {SECRET}\n"})
    with memory_core.open_memory(
        {"memorySearch": {"provider": "none"}}, workspace=old, state_dir=config.state_dir
    ) as other:
        other.sync()
        places = [other.config().store_path, other.config().history_path]
    places.append(config.sessions_dir / "x.jsonl")
    places[-1].parent.mkdir(parents=True)
    places[-1].write_text("-" * (1 << 20) + f" {SECRET.upper()} and more")
    places.append(config.state_dir / "blob")
    places[-1].write_bytes(bytes(100) + SECRET.encode())
    assert _purge(memory, "--yes")[0] == 0
    told = capsys.readouterr().err
    assert [place for place in places if f"{place} holds the text, too" not in told] == []
    assert str(config.store_path) not in told
    assert "Run this for that workspace, too, with --workspace FOLDER" in told


def test_an_append_that_was_killed_is_finished_first(memory: Memory) -> None:
    """Its intent file would bring the text back with the next append."""
    config = memory.config()
    write_notes(config.workspace, {"MEMORY.md": "- the safe opens\n"})
    memory.sync()
    intent = find_intent(config.workspace, config.state_dir)
    block = f"\nThe safe opens with {SECRET}.\n"
    intent.parent.mkdir(exist_ok=True)
    intent.write_text(json.dumps({"path": "MEMORY.md", "offset": 17, "block": block, "body": block}))
    with pytest.raises(TextInUse, match=r"MEMORY\.md#L3"):
        _purge(memory, "--yes")
    write_notes(config.workspace, {"MEMORY.md": "- the safe opens\n"})
    assert _purge(memory, "--yes")[0] == 0
    assert find_remains(config) == set()


def test_an_item_that_holds_another_form_of_it_is_named(tmp_path: Path) -> None:
    with _open(tmp_path, provider="none") as memory:
        memory.items.write("The cafe\u0301 opens at nine.", scope=None, tags=[])
        with pytest.raises(TextInUse, match="items forget"):
            _purge(memory, "--yes", text="café opens")


def test_another_agent_that_holds_it_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with _open(tmp_path, provider="none") as memory:
        config = memory.config()
        write_notes(config.workspace, {"MEMORY.md": f"- the safe opens with {SECRET}\n"})
        with memory_core.open_memory(agent="bob", workspace=config.workspace, state_dir=config.state_dir) as other:
            memory.sync()
            other.sync()
            write_notes(config.workspace, {"MEMORY.md": "- the safe opens\n"})
            assert _purge(memory, "--yes")[0] == 1
            assert f"memory-core --agent bob history purge --match {SECRET}" in capsys.readouterr().err
            assert _purge(other, "--agent", "bob", "--yes")[0] == 0
        assert find_remains(config) == set()


def _open_bob(memory: Memory, **section: object) -> Memory:
    config = memory.config()
    document = {"agents": {"defaults": {"memorySearch": {"provider": "none", **section}}}}
    return memory_core.open_memory(document, agent="bob", workspace=config.workspace, state_dir=config.state_dir)


def test_another_agent_is_named_in_a_dry_run_and_where_its_history_is_damaged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with _open(tmp_path, provider="none") as memory:
        config = memory.config()
        write_notes(config.workspace, {"MEMORY.md": f"- the safe opens with {SECRET}\n"})
        with _open_bob(memory) as other:
            other.sync()
            place = other.config().history_path
        memory.sync()
        write_notes(config.workspace, {"MEMORY.md": "- the safe opens\n"})
        assert _purge(memory, "--dry-run")[0] == 0
        assert "the agent 'bob' holds the text, too: history, index" in capsys.readouterr().err
        place.write_bytes(b"damaged" * 1000)
        assert _purge(memory, "--yes")[0] == 1
        told = capsys.readouterr().err
        assert "the history of the agent 'bob'" in told
        assert "the agent 'bob' holds the text, too: index" in told


def test_another_agent_without_a_history_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with _open(tmp_path, provider="none") as memory:
        config = memory.config()
        write_notes(config.workspace, {"MEMORY.md": f"- the safe opens with {SECRET}\n"})
        with _open_bob(memory, history={"enabled": False}) as other:
            other.sync()
            write_notes(config.workspace, {"MEMORY.md": "- the safe opens\n"})
            memory.sync()
            assert _purge(memory, "--yes")[0] == 1
            assert "the agent 'bob' holds the text, too: index" in capsys.readouterr().err
            other.sync()
            assert _purge(memory, "--yes")[0] == 0
            assert "words of the text may be left in its index" in capsys.readouterr().err
        assert _purge(memory, "--agent", "bob", "--yes")[0] == 0
        capsys.readouterr()
        assert _purge(memory, "--yes")[0] == 0
        assert "bob" not in capsys.readouterr().err
        assert find_remains(config) == set()


def test_another_agent_whose_log_or_items_hold_it_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with _open(tmp_path, provider="none") as memory:
        config = memory.config()
        write_notes(config.workspace, {"MEMORY.md": "- the safe opens\n"})
        memory.sync()
        with _open_bob(memory) as other:
            other.items.write(f"The code is {SECRET}.", scope=None, tags=[])
            other.config().activity_path.write_bytes(f'\n{{"places": ["memory/{SECRET}.md'.encode())
        assert _purge(memory, "--yes")[0] == 1
        assert "the agent 'bob' holds the text, too: items, log of activity" in capsys.readouterr().err


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_commits_that_hold_it_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def run_git(*arguments: str) -> None:
        names = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgSign=false")
        subprocess.run(["git", "-C", str(tmp_path), *names, *arguments], check=True, capture_output=True)

    with _open(tmp_path, provider="none") as memory:
        run_git("init", "-q")
        workspace = memory.config().workspace
        write_notes(workspace, {"MEMORY.md": "- the safe opens\n"})
        memory.sync()
        run_git("add", "workspace")
        run_git("commit", "-q", "-m", "one")
        assert _purge(memory, "--yes")[0] == 0
        assert "commits" not in capsys.readouterr().err
        write_notes(workspace, {"MEMORY.md": f"- the safe opens with {SECRET.upper()}\n"})
        run_git("add", "workspace")
        write_notes(workspace, {"MEMORY.md": "- the safe opens\n"})
        for arguments in (["--dry-run"], ["--yes"]):  # only staged, and no commit was imported
            assert _purge(memory, *arguments)[0] == 0
            assert "commits of the workspace hold the text, such as in workspace/MEMORY.md" in capsys.readouterr().err
        monkeypatch.setattr(history, "LOOK_SECONDS", -1.0)
        assert _purge(memory, "--yes")[0] == 0
        assert "may hold the text: not all were looked through" in capsys.readouterr().err
        monkeypatch.setattr(history, "LOOK_SECONDS", 600.0)
        (tmp_path / ".git" / "HEAD").unlink()
        assert _purge(memory, "--yes")[0] == 0
        assert "may hold the text: git cannot read" in capsys.readouterr().err


LEFT = [
    "memory-core/.main.history.sqlite.memory-core.tmp",
    "memory/.notes-0123.journal.memory-core.tmp",
    "memory/notes-0123.refused",
]
LEFT_IN_WORKSPACE = [".MEMORY.md.memory-core.tmp", "memory/imports/.a.md.0a1b2c.memory-core.tmp"]


@pytest.mark.parametrize(
    "text", [f"x {SECRET} y", f"x {SECRET[:9]}", f"x {SECRET.upper()}"], ids=["whole", "cut", "capitals"]
)
def test_what_killed_writers_have_left_is_gone(tmp_path: Path, text: str) -> None:
    with _open(tmp_path, provider="none") as memory:
        _delete_from_note(memory)
        config = memory.config()
        left = [config.state_dir / name for name in LEFT] + [config.workspace / name for name in LEFT_IN_WORKSPACE]
        for file in left:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        mine = config.workspace / "mine.tmp"
        mine.write_text("of another program", encoding="utf-8")
        if text == f"x {SECRET[:9]}":
            left[2].unlink()  # its text is whole
        assert _purge(memory, "--yes")[0] == 0
    assert [file for file in left if file.exists()] == []
    assert mine.exists()
    for folder in (tmp_path / "state", tmp_path / "workspace"):
        for file in folder.rglob("*"):
            assert not file.is_file() or SECRET[:9].encode() not in file.read_bytes().lower(), file


def _delete_from_note(memory: Memory) -> None:
    write_notes(memory.config().workspace, {"MEMORY.md": f"The code is {SECRET}.\n"})
    memory.sync()
    write_notes(memory.config().workspace, {"MEMORY.md": "There is no code.\n"})
    memory.sync()
