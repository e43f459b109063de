"""A damaged index is made anew by itself; a file of another program is left alone."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest

import memory_core
from memory_core import CallContext
from memory_core.backends.past import wipe_index
from memory_core.errors import StoreError
from memory_core.stores.sqlite.connections import is_refused_statement, open_reader, translate_errors
from memory_core.stores.sqlite.store import SqliteStore
from memory_core.stores.sqlite.upkeep import IndexDatabase
from tests.command import REPOSITORY
from tests.servers.openai import OpenAIServer

ASKING = CallContext(session_key="agent:main:main", chat_type="direct")
QUERY = {"query": "Where is the key of the gate?"}
ANEW = "the index was damaged and was made anew from the notes"


def settings(**search: Any) -> dict[str, Any]:
    sync = {"watch": False, "onSearchBudgetMs": 10_000} | search.pop("sync", {})
    return {"memorySearch": {"provider": "static", "sync": sync, **search}}


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    folder.mkdir()
    lines = "\n\n".join(f"## Day {number}\n\nThe fence of field {number} was mended." for number in range(60))
    (folder / "MEMORY.md").write_text(f"# Notes\n\nThe key of the gate hangs in the barn.\n\n{lines}\n")
    return folder


@pytest.fixture
def index(tmp_path: Path, workspace: Path) -> Path:
    """A good index at the default path."""
    with memory_core.open_memory(settings(), workspace=workspace, state_dir=tmp_path / "state") as memory:
        memory.sync()
    (found,) = [path for path in (tmp_path / "state" / "memory-core").glob("*.sqlite") if "history" not in path.name]
    return found


def write(at: int, data: bytes) -> Callable[[Path], None]:
    def damage(path: Path) -> None:
        with path.open("r+b") as file:
            file.seek(at)
            file.write(data)

    return damage


def cut(left: int) -> Callable[[Path], None]:
    def damage(path: Path) -> None:
        path.write_bytes(path.read_bytes()[:left])

    return damage


def hold(data: bytes) -> Callable[[Path], None]:
    def damage(path: Path) -> None:
        path.write_bytes(data)

    return damage


def cut_beside_a_wal(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:20_000])
    path.with_name(path.name + "-wal").write_bytes(b"\x37\x7f\x06\x82" * 2000)


def overwrite_pages(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[:8192] + b"\xff" * (len(data) - 8192))


def run(statement: str) -> Callable[[Path], None]:
    def damage(path: Path) -> None:
        with closing(sqlite3.connect(path)) as database, database:
            database.execute(statement)

    return damage


def change_text(after: bytes) -> Callable[[Path], None]:
    """As a worn disk does, in the stored text alone."""

    def damage(path: Path) -> None:
        path.write_bytes(path.read_bytes().replace(b"in the barn", after))

    return damage


def change_path(copy: int) -> Callable[[Path], None]:
    """As a flipped bit does, in the table of files or in its index, each of which is sound by itself."""

    def damage(path: Path) -> None:
        one, other, rest = path.read_bytes().split(b"memoryMEMORY.md")
        names = [b"memoryMEMORY.md", b"memoryMEMORy.md"]
        path.write_bytes(one + names[copy == 0] + other + names[copy == 1] + rest)

    return damage


def change_schema(part: str, other: str) -> Callable[[Path], None]:
    """As flipped bits in the definitions of tables do, which no checksum covers."""

    def damage(path: Path) -> None:
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("PRAGMA writable_schema = ON")
            connection.execute("UPDATE sqlite_schema SET sql = replace(sql, ?, ?)", (part, other))
            connection.commit()

    return damage


def make_folder(path: Path) -> None:
    path.unlink(missing_ok=True)
    path.mkdir()


def link_to_itself(path: Path) -> None:
    path.unlink(missing_ok=True)
    path.symlink_to(path)


def link_to_nothing(path: Path) -> None:
    path.unlink(missing_ok=True)
    path.symlink_to(path.parent / "nowhere")


def link_to_a_folder(path: Path) -> None:
    path.unlink(missing_ok=True)
    path.symlink_to(path.parent)


def lock(damage: Callable[[Path], None]) -> Callable[[Path], None]:
    return lambda path: damage(path.with_name(path.name + ".lock"))


DAMAGES: dict[str, Callable[[Path], None]] = {
    "header zeroed": write(0, bytes(100)),
    "first byte zeroed": write(0, b"\0"),
    "field of the header": write(20, b"\xff"),
    "version of the format": write(18, b"\x07"),
    "version of the schema": write(60, b"\x7f\xff\xff\xff"),
    "application id": write(68, b"\1\2\3\4"),
    "cut to 50": cut(50),
    "cut to 99": cut(99),
    "cut beside a -wal": cut_beside_a_wal,
    "garbage": hold(b"\x93garbage" * 900),
    "one byte": hold(b"\xa7"),
    "only the magic": hold(b"SQLite format 3\0"),
    "pages": overwrite_pages,
    "table": run("DROP TABLE spaces"),
    "values": run("UPDATE meta SET value = 'x'"),
    "version": run("PRAGMA user_version = 0"),
    "name of a table": change_schema("windows", "wind\x7fws"),
    "name of a column": change_schema("judged", "judg\x7fd"),
    "keyword index: name in its list of words": change_schema("'chunks_fts'", "'chunk\x7f_fts'"),
    "keyword index: no version": run("DELETE FROM chunks_fts_config"),
    "keyword index: wrong version": run("UPDATE chunks_fts_config SET v = 99"),
    "keyword index: no configuration": run("DROP TABLE chunks_fts_config"),
    "keyword index: no data": run("DROP TABLE chunks_fts_data"),
    "keyword index: no sizes": run("DROP TABLE chunks_fts_docsize"),
    "text": change_text(b"in the bark"),
    "text that is not UTF-8": change_text(b"in the b\xe1rn"),
    "path in the table": change_path(0),
    "path in the index of the table": change_path(1),
    "units": run("UPDATE chunks SET units = '[[9,8,7,6]]'"),
    "units cut": run("UPDATE chunks SET units = '[[0,'"),
    "windows": run("UPDATE windows SET last = 9999"),
    "embeddings cut": run("UPDATE embedding_cache SET embedding = x'00'"),
    "embeddings too long": run("UPDATE embedding_cache SET embedding = zeroblob(4000)"),
    "embeddings of no length": run(
        "UPDATE embedding_cache SET embedding = CAST(replace(hex(embedding), '3', '7') AS BLOB)"
    ),
    "dimensions": run("UPDATE spaces SET dimensions = 3"),
    "folder": make_folder,
    "link to itself": link_to_itself,
    "link to a folder": link_to_a_folder,
    "lock: garbage": lock(hold(b"\x93garbage" * 900)),
    "lock: folder": lock(make_folder),
    "lock: link to itself": lock(link_to_itself),
    "lock: link to a folder": lock(link_to_a_folder),
    "lock: link to nothing": lock(link_to_nothing),
}


@pytest.mark.parametrize("kind", DAMAGES)
def test_a_search_answers_over_a_damaged_index(kind: str, index: Path, workspace: Path, tmp_path: Path) -> None:
    DAMAGES[kind](index)
    with memory_core.open_memory(settings(), workspace=workspace, state_dir=tmp_path / "state") as memory:
        first, second = (memory.call_tool("memory_search", QUERY, ASKING) for _ in range(2))
        memory.sync()
    for answer in (first, second):
        assert "in the barn" in answer["results"][0]["snippet"], answer
        assert answer["mode"] == "hybrid"
    assert "made anew" not in second.get("warning", "")
    if not kind.startswith("lock"):
        assert first["warning"] == ANEW
    assert len([*index.parent.glob("*.damaged")]) <= 1


def test_who_forgets_is_told_of_an_index_that_was_set_aside(index: Path) -> None:
    DAMAGES["garbage"](index)
    with closing(SqliteStore(index, in_own_folder=True)) as store, store.lock(wait_seconds=5.0):
        assert store.repair()
    told = list(wipe_index(index))
    assert told == [f"{index}.damaged was damaged and set aside: delete it"]


@pytest.mark.parametrize("kind", ["pages", "header zeroed", "garbage"])
def test_an_index_by_hand_needs_no_force(kind: str, index: Path, workspace: Path, tmp_path: Path) -> None:
    DAMAGES[kind](index)
    with memory_core.open_memory(settings(), workspace=workspace, state_dir=tmp_path / "state") as memory:
        assert memory.sync().warnings == (ANEW,)
        assert memory.sync().warnings == ()


def test_damage_that_only_a_search_meets_is_repaired_by_it(index: Path, workspace: Path, tmp_path: Path) -> None:
    config = settings(sync={"onSearch": False})
    with memory_core.open_memory(config, workspace=workspace, state_dir=tmp_path / "state") as memory:
        overwrite_pages(index)
        answer = memory.call_tool("memory_search", QUERY, ASKING)
    assert "in the barn" in answer["results"][0]["snippet"], answer
    assert answer["warning"] == ANEW


def other_program(path: Path) -> None:
    path.unlink()
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("CREATE TABLE files (theirs)")


def full_folder(path: Path) -> None:
    make_folder(path)
    (path / "letter.txt").write_text("dear diary")


@pytest.mark.parametrize("damage", [other_program, full_folder])
def test_what_is_not_ours_is_left_alone(
    damage: Callable[[Path], None], index: Path, workspace: Path, tmp_path: Path
) -> None:
    damage(index)
    shutil.copytree(index, tmp_path / "before") if index.is_dir() else shutil.copy(index, tmp_path / "before")
    with memory_core.open_memory(settings(), workspace=workspace, state_dir=tmp_path / "state") as memory:
        answer = memory.call_tool("memory_search", QUERY, ASKING)
        assert str(index) in answer["error"]
        assert answer["action"]
        with pytest.raises(StoreError):
            memory.sync(force=True)
    if index.is_dir():
        assert [file.read_text() for file in index.iterdir()] == ["dear diary"]
    else:
        assert index.read_bytes() == (tmp_path / "before").read_bytes()


@pytest.mark.parametrize(
    "data",
    [b"dear diary, " * 100, b"dear", b"x", b"\0", bytes(8192), b"SQLite format 3", b"SQLite format 3\0", b"\xff" * 511],
)
def test_a_file_at_a_configured_path_is_left_alone(data: bytes, workspace: Path, tmp_path: Path) -> None:
    path = tmp_path / "letters" / "mine.sqlite"
    path.parent.mkdir()
    path.write_bytes(data)
    config = settings(store={"path": str(path)})
    with memory_core.open_memory(config, workspace=workspace, state_dir=tmp_path / "state") as memory:
        answer = memory.call_tool("memory_search", QUERY, ASKING)
        assert f"{path}: this is no index of memory-core" in answer["error"]
        assert "choose another file: --state-dir (state_dir= in Python) or memorySearch.store.path" in answer["action"]
        with pytest.raises(StoreError):
            memory.sync(force=True)
    assert path.read_bytes() == data
    assert {file.name for file in path.parent.iterdir()} <= {path.name, f"{path.name}.lock"}


def test_an_empty_file_at_a_configured_path_becomes_the_index(workspace: Path, tmp_path: Path) -> None:
    path = tmp_path / "mine.sqlite"
    path.touch()
    config = settings(store={"path": str(path)})
    with memory_core.open_memory(config, workspace=workspace, state_dir=tmp_path / "state") as memory:
        assert "warning" not in memory.call_tool("memory_search", QUERY, ASKING)
        assert memory.sync().warnings == ()
    assert path.stat().st_size


def test_what_a_disk_refuses_is_no_damage(index: Path, workspace: Path, tmp_path: Path) -> None:
    """An index that is full or locked, or lies on a failing disk, is left where it is."""
    with closing(sqlite3.connect(index)) as other:
        other.execute("BEGIN EXCLUSIVE")
        assert IndexDatabase(index).find_damage() is None
    before = index.read_bytes()
    with closing(open_reader(index)) as connection, pytest.raises(StoreError) as refused, translate_errors(index):
        connection.execute("SELECT nothing FROM nowhere")
    assert is_refused_statement(refused.value)
    for error in (apsw.IOError, apsw.FullError, apsw.NoMemError, apsw.PermissionsError):
        with pytest.raises(StoreError) as failed, translate_errors(index):
            raise error("of the system")
        assert not is_refused_statement(failed.value)
    assert index.read_bytes() == before


@pytest.mark.parametrize("kind", ["pages", "text", "keyword index: no version", "last page cut off"])
def test_embeddings_that_were_paid_for_are_not_requested_again(kind: str, workspace: Path, tmp_path: Path) -> None:
    with OpenAIServer(dimensions=1024) as server:
        remote = {"provider": "openai-compatible", "model": "m", "remote": {"baseUrl": server.url}}
        config = settings(**remote)
        with memory_core.open_memory(config, workspace=workspace, state_dir=tmp_path / "state") as memory:
            first = memory.sync()
        assert first.embedded >= 10
        (index,) = [
            path for path in (tmp_path / "state" / "memory-core").glob("*.sqlite") if "history" not in path.name
        ]
        if kind == "pages":
            lose_the_text(index)
        elif kind == "last page cut off":
            index.write_bytes(index.read_bytes()[:-8192])
        else:
            DAMAGES[kind](index)
        with memory_core.open_memory(config, workspace=workspace, state_dir=tmp_path / "state") as memory:
            again = memory.sync()
            status = memory.status()
    assert again.warnings == (ANEW,)
    assert again.embedded <= first.embedded // 4
    assert again.embedded + again.cached == first.embedded
    assert (status.pending, status.chunks) == (0, first.chunks)


def lose_the_text(path: Path) -> None:
    """Overwrite every page of the table of chunks, and no other."""
    with closing(apsw.Connection(str(path))) as database:
        pages = [row[0] for row in database.execute("SELECT pageno FROM dbstat WHERE name = 'chunks'")]
        size = int(database.pragma("page_size"))
    data = bytearray(path.read_bytes())
    for number in pages:
        data[(number - 1) * size : number * size] = b"\xff" * size
    path.write_bytes(data)


ASK = """
import json, sys
from memory_core import CallContext, open_memory
config, workspace, state, query = json.loads(sys.argv[1])
with open_memory(config, workspace=workspace, state_dir=state) as memory:
    print("ready", flush=True)
    sys.stdin.readline()
    answers = [memory.call_tool("memory_search", query, CallContext()) for _ in range(3)]
    memory.sync()
    answers.append(memory.call_tool("memory_search", query, CallContext()))
print(json.dumps(answers))
"""


@pytest.mark.parametrize("kind", ["pages", "garbage"])
def test_processes_that_meet_damage_at_once_all_answer(kind: str, index: Path, workspace: Path, tmp_path: Path) -> None:
    """One makes the index anew; the others wait for it, or say that it is being made."""
    DAMAGES[kind](index)
    arguments = json.dumps([settings(), str(workspace), str(tmp_path / "state"), QUERY])
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", ASK, arguments], cwd=REPOSITORY, encoding="utf-8",
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )
        for _ in range(2)
    ]  # fmt: skip
    try:
        for process in processes:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
        for process in processes:
            assert process.stdin is not None
            process.stdin.write("\n")
            process.stdin.flush()
        outputs = [process.communicate(timeout=120) for process in processes]
    finally:
        for process in processes:
            process.kill()
    assert [process.returncode for process in processes] == [0] * len(processes), outputs
    told = 0
    for out, _ in outputs:
        *early, last = json.loads(out)
        assert "in the barn" in last["results"][0]["snippet"], last
        for answer in early:
            assert "error" not in answer, answer
            told += ANEW in answer.get("warning", "")
            assert answer["results"] or "made anew" in answer["warning"] or "nothing is indexed" in answer["warning"]
    assert told <= 1  # by the one that did it, unless its sync went on behind the search
    assert [file.name for file in index.parent.glob("*.damaged")] == [f"{index.name}.damaged"]
