"""A slot on a small workspace, and the scripted model that every framework is driven with."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from memory_core.plugin import MemorySlot
from tests.servers.chat import ChatServer

NOTE = "The lease of the boat house ends on 31 May."


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    """A workspace with one note."""
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "MEMORY.md").write_text(f"{NOTE}\n", encoding="utf-8")
    return folder


@pytest.fixture
def slot(notes: Path, tmp_path: Path) -> Iterator[MemorySlot]:
    config = {"memorySearch": {"provider": "none"}}
    with MemorySlot(config, workspace=notes, state_dir=tmp_path / "state") as slot:
        yield slot


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ChatServer]:
    with ChatServer() as running:
        monkeypatch.setenv("OPENAI_API_KEY", "placeholder")
        monkeypatch.setenv("OPENAI_BASE_URL", running.url)
        yield running


def read_daily(notes: Path) -> str:
    """Everything in the daily notes."""
    return "".join(path.read_text(encoding="utf-8") for path in sorted((notes / "memory").glob("*.md")))
