"""One index file and several workspaces: no answer ever shows the notes of another workspace."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest

from memory_core import open_memory
from memory_core.records import CallContext
from tests.command import REPOSITORY, Command

ROUNDS = 20

# Answers ROUNDS searches, and prints for each the result and the status' number of files.
PROGRAM = """
import json, sys
from memory_core import open_memory
with open_memory(json.loads(sys.argv[1]), workspace=sys.argv[2], state_dir=sys.argv[3]) as memory:
    for _ in range(int(sys.argv[4])):
        answer = memory.call_tool("memory_search", {"query": "What is the secret word?", "minScore": 0})
        print(json.dumps(answer), flush=True)
"""


def _workspace(folder: Path, word: str) -> Path:
    (folder / "memory").mkdir(parents=True)
    (folder / "MEMORY.md").write_text(f"# Secrets\n\nThe secret word is {word}.\n")
    (folder / "memory" / f"{word}.md").write_text(f"{word} is a word that nobody else knows.\n")
    return folder


@pytest.fixture
def ours(tmp_path: Path) -> Path:
    return _workspace(tmp_path / "ours", "kettle")


@pytest.fixture
def theirs(tmp_path: Path) -> Path:
    return _workspace(tmp_path / "theirs", "violin")


def _document(tmp_path: Path, **sync: Any) -> dict[str, Any]:
    store = {"path": str(tmp_path / "shared.sqlite")}
    return {"memorySearch": {"provider": "static", "store": store, "sync": {"watch": False, **sync}}}


def _search(document: dict[str, Any], workspace: Path, state: Path, *, access: str = "rw") -> dict[str, Any]:
    with open_memory(document, workspace=workspace, state_dir=state) as memory:
        context = CallContext(access=access)  # type: ignore[arg-type]
        return memory.call_tool("memory_search", {"query": "What is the secret word?", "minScore": 0}, context)


def _index(document: dict[str, Any], workspace: Path, state: Path) -> None:
    with open_memory(document, workspace=workspace, state_dir=state) as memory:
        memory.sync()


def _shown(answer: dict[str, Any]) -> str:
    return json.dumps(answer["results"])


def test_two_processes_on_one_index_file_never_show_the_notes_of_the_other(
    ours: Path, theirs: Path, tmp_path: Path
) -> None:
    document = json.dumps(_document(tmp_path))
    running = [
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM, document, str(workspace), str(tmp_path / "state"), str(ROUNDS)],
            cwd=REPOSITORY, stdout=subprocess.PIPE, text=True,
        )
        for workspace in (ours, theirs)
    ]  # fmt: skip
    outputs = [process.communicate(timeout=120)[0] for process in running]
    answers = [[json.loads(line) for line in output.splitlines()] for output in outputs]
    assert [len(lines) for lines in answers] == [ROUNDS, ROUNDS]
    for lines, own, other in ((answers[0], "kettle", "violin"), (answers[1], "violin", "kettle")):
        assert sum(other in _shown(answer) for answer in lines) == 0
        assert all(own in _shown(answer) or answer.get("warning") or answer.get("error") for answer in lines)
        assert any(own in _shown(answer) for answer in lines)


def test_a_search_without_a_sync_refuses_the_index_of_another_workspace(
    ours: Path, theirs: Path, tmp_path: Path
) -> None:
    document, state = _document(tmp_path, onSearch=False), tmp_path / "state"
    _index(document, theirs, state)
    answer = _search(document, ours, state)
    assert answer["results"] == []
    assert str(theirs) in answer["warning"]
    assert "{workspaceKey}" in answer["action"]
    assert "violin" in _shown(_search(document, theirs, state))


def test_a_read_only_session_refuses_the_index_of_another_workspace(ours: Path, theirs: Path, tmp_path: Path) -> None:
    document, state = _document(tmp_path), tmp_path / "state"
    _index(document, theirs, state)
    answer = _search(document, ours, state, access="ro")
    assert answer["unavailable"]
    assert answer["results"] == []
    assert str(theirs) in answer["error"]
    assert "violin" in _shown(_search(document, theirs, state, access="ro"))


def test_a_search_that_syncs_first_answers_from_its_own_notes_at_once(ours: Path, theirs: Path, tmp_path: Path) -> None:
    document, state = _document(tmp_path), tmp_path / "state"
    for workspace, own, other in ((theirs, "violin", "kettle"), (ours, "kettle", "violin")) * 2:
        answer = _search(document, workspace, state)
        assert own in _shown(answer)
        assert other not in _shown(answer)


def test_status_and_doctor_count_no_notes_of_another_workspace(ours: Path, theirs: Path, tmp_path: Path) -> None:
    document, state = _document(tmp_path), tmp_path / "state"
    _index(document, theirs, state)
    with open_memory(document, workspace=ours, state_dir=state) as memory:
        status, findings = memory.status(), memory.diagnose()
    assert not status.indexed
    assert (status.files, status.chunks) == (0, 0)
    assert any(str(theirs) in warning for warning in status.warnings)
    index = next(finding for finding in findings if finding.subject == "index")
    assert index.level == "warn"
    assert str(theirs) in index.message


def test_workspaces_are_told_apart_by_their_real_paths(ours: Path, theirs: Path, tmp_path: Path) -> None:
    document, state, link = _document(tmp_path, onSearch=False), tmp_path / "state", tmp_path / "link"
    link.symlink_to(theirs)
    _index(document, link, state)
    assert "violin" in _shown(_search(document, theirs, state))
    link.unlink()
    link.symlink_to(ours)
    assert _search(document, link, state)["results"] == []


def test_an_index_that_does_not_say_whose_notes_it_holds_is_none(ours: Path, tmp_path: Path) -> None:
    document, state = _document(tmp_path, onSearch=False), tmp_path / "state"
    _index(document, ours, state)
    with closing(apsw.Connection(str(tmp_path / "shared.sqlite"))) as connection:
        connection.execute("DELETE FROM meta WHERE key = 'workspace'")
    assert _search(document, ours, state)["results"] == []
    _index(document, ours, state)
    assert "kettle" in _shown(_search(document, ours, state))


def test_notes_of_the_other_workspace_are_gone_before_the_index_says_it_is_ours(
    ours: Path, theirs: Path, tmp_path: Path
) -> None:
    """A sync that is stopped at its first file leaves nothing of the other workspace behind."""
    from memory_core.errors import SyncStopped
    from tests.index import Index

    index = Index(theirs, tmp_path / "state")
    index.sync()
    index.workspace = ours

    def stop(_: object) -> None:
        raise SyncStopped("stopped by the test")

    with pytest.raises(SyncStopped):
        index.sync(progress=stop)
    with index.store.read() as reader:
        assert not reader.count_chunks()
    index.close()


def test_the_index_of_the_real_program_stays_untouched(ours: Path, tmp_path: Path) -> None:
    home = tmp_path / "clawdbot"
    foreign = home / "memory" / "main.sqlite"
    foreign.parent.mkdir(parents=True)
    with closing(sqlite3.connect(foreign)) as connection:
        connection.execute("CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL)")
        connection.execute(
            "CREATE TABLE files (path TEXT PRIMARY KEY, source TEXT, hash TEXT, mtime INTEGER, size INTEGER)"
        )
        connection.execute("INSERT INTO files VALUES ('MEMORY.md', 'memory', 'x', 1, 1)")
        connection.commit()
    before = (foreign.read_bytes(), foreign.stat().st_mtime_ns, sorted(foreign.parent.iterdir()))
    command = Command(ours, home)
    for words in (["index"], ["search", "secret word"], ["status"], ["doctor"], ["index", "--force"]):
        outcome = command(*words)
        assert outcome.code == 0, outcome.err
    assert "kettle" in command("search", "secret word").out
    assert (foreign.read_bytes(), foreign.stat().st_mtime_ns, sorted(foreign.parent.iterdir())) == before
