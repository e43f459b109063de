"""The files that hold text of notes are their owner's alone."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

import memory_core
from memory_core.plugin.memory import Memory

pytestmark = pytest.mark.skipif(os.name != "posix", reason="other systems have no such permissions")
CONFIG = {"agents": {"defaults": {"memorySearch": {"provider": "none", "items": {"enabled": True}}}}}


def _open(tmp_path: Path) -> Memory:
    return memory_core.open_memory(CONFIG, workspace=tmp_path / "workspace", state_dir=tmp_path / "state")


def _list_files(tmp_path: Path) -> list[Path]:
    """Return the files of the state folder that memory-core's SQLite makes."""
    return sorted((tmp_path / "state" / "memory-core").glob("*.sqlite*"))


def _find_open(tmp_path: Path) -> list[str]:
    return [file.name for file in _list_files(tmp_path) if stat.S_IMODE(file.stat().st_mode) & 0o077]


def _use(memory: Memory, workspace: Path, text: str) -> None:
    """Write to the index, the history and the items."""
    (workspace / "MEMORY.md").write_text(text)
    memory.sync()
    assert "error" not in memory.call_tool("memory_store", {"text": text})


def test_they_are_made_for_their_owner_alone(tmp_path: Path) -> None:
    (tmp_path / "workspace").mkdir()
    with _open(tmp_path) as memory:
        _use(memory, tmp_path / "workspace", "The crane stands in the harbour.")
        made = {file.name.split(".", 1)[1] for file in _list_files(tmp_path)}
        assert {"sqlite", "sqlite-wal", "sqlite-shm", "sqlite.lock", "history.sqlite", "items.sqlite"} <= made
        assert _find_open(tmp_path) == []


def test_those_of_an_earlier_version_become_so(tmp_path: Path) -> None:
    (tmp_path / "workspace").mkdir()
    with _open(tmp_path) as memory:
        _use(memory, tmp_path / "workspace", "The crane stands in the harbour.")
        for file in _list_files(tmp_path):
            file.chmod(0o644)
        with _open(tmp_path) as another:  # while the first has them open, with what lies beside them
            _use(another, tmp_path / "workspace", "The crane stands in the yard.")
            assert _find_open(tmp_path) == []
