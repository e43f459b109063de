"""A damaged index is made anew by itself; a file of another program is left alone."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import memory_core
from memory_core import CallContext
from memory_core.errors import StoreError

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
    (found,) = (tmp_path / "state" / "memory-core").glob("*.sqlite")
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


def drop_spaces(path: Path) -> None:
    with closing(sqlite3.connect(path)) as database:
        database.execute("DROP TABLE spaces")


def spoil_meta(path: Path) -> None:
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE meta SET value = 'x'")


def forget_version(path: Path) -> None:
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("PRAGMA user_version = 0")


def make_folder(path: Path) -> None:
    path.unlink(missing_ok=True)
    path.mkdir()


def link_to_itself(path: Path) -> None:
    path.unlink(missing_ok=True)
    path.symlink_to(path)


def link_to_a_folder(path: Path) -> None:
    path.unlink(missing_ok=True)
    path.symlink_to(path.parent)


def lock(damage: Callable[[Path], None]) -> Callable[[Path], None]:
    return lambda path: damage(path.with_name(path.name + ".lock"))


DAMAGES: dict[str, Callable[[Path], None]] = {
    "header zeroed": write(0, bytes(100)),
    "first byte zeroed": write(0, b"\0"),
    "field of the header": write(20, b"\xff"),
    "version of the schema": write(60, b"\x7f\xff\xff\xff"),
    "application id": write(68, b"\1\2\3\4"),
    "cut to 50": cut(50),
    "cut to 99": cut(99),
    "cut beside a -wal": cut_beside_a_wal,
    "garbage": hold(b"\x93garbage" * 900),
    "only the magic": hold(b"SQLite format 3\0"),
    "pages": overwrite_pages,
    "table": drop_spaces,
    "values": spoil_meta,
    "version": forget_version,
    "folder": make_folder,
    "link to itself": link_to_itself,
    "link to a folder": link_to_a_folder,
    "lock: garbage": lock(hold(b"\x93garbage" * 900)),
    "lock: folder": lock(make_folder),
    "lock: link to itself": lock(link_to_itself),
    "lock: link to a folder": lock(link_to_a_folder),
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


@pytest.mark.parametrize("text", ["dear diary, " * 100, "dear"])
def test_a_text_at_a_configured_path_is_left_alone(text: str, workspace: Path, tmp_path: Path) -> None:
    path = tmp_path / "letters" / "mine.sqlite"
    path.parent.mkdir()
    path.write_text(text)
    config = settings(store={"path": str(path)})
    with memory_core.open_memory(config, workspace=workspace, state_dir=tmp_path / "state") as memory:
        assert str(path) in memory.call_tool("memory_search", QUERY, ASKING)["error"]
        with pytest.raises(StoreError):
            memory.sync(force=True)
    assert path.read_text() == text
