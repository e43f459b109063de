"""A slot on a small workspace, and the scripted model that every framework is driven with."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from memory_core import CallContext
from memory_core.plugin import MemorySlot
from tests.servers.chat import ChatServer
from tests.waiting import eventually

NOTE = "The lease of the boat house ends on 31 May."


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    """A workspace with one note."""
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "MEMORY.md").write_text(f"{NOTE}\n", encoding="utf-8")
    return folder


TOLD = "Remember that the oars are kept in the shed."


@pytest.fixture
def capturing(notes: Path, tmp_path: Path) -> Iterator[MemorySlot]:
    """A slot that learns from every turn."""
    search = {"provider": "none", "items": {"enabled": True, "capture": {"enabled": True, "turns": 1}}}
    with MemorySlot({"memorySearch": search}, workspace=notes, state_dir=tmp_path / "state") as slot:
        yield slot


def has_learned(slot: MemorySlot) -> bool:
    """Return True once a fact that was said in a turn is an item."""

    def is_kept() -> bool:
        found = slot.call_tool("memory_recall", {"query": "oars"}, CallContext.local("main"))["results"]
        return [hit["text"] for hit in found] == ["The oars are kept in the shed."]

    return eventually(is_kept)


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
