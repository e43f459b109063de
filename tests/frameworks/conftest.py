"""A slot on a small workspace, and the scripted model that every framework is driven with."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterator
from itertools import groupby
from pathlib import Path

import pytest

from memory_core import CallContext
from memory_core.plugin import MemorySlot
from tests.servers.chat import REMEMBER, ChatServer
from tests.waiting import eventually

NOTE = "The lease of the boat house ends on 31 May."
OLD = "The anchor lies behind the net in the old barn."
FACTS = ("- The archive box has number 4711.", "- The piano tuner comes on Tuesday.")  # saved before two compactions


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    """A workspace with one note."""
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "MEMORY.md").write_text(f"{NOTE}\n", encoding="utf-8")
    return folder


TOLD = "Remember that the oars are kept in the shed."


@pytest.fixture
def capturing(notes: Path, tmp_path: Path, at_once: None) -> Iterator[MemorySlot]:
    """A slot that learns from every turn."""
    search = {"provider": "none", "items": {"enabled": True, "capture": {"enabled": True}}}
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


async def converse(
    say: Callable[[str], Awaitable[str]],
    compact: Callable[[int], Awaitable[None]],
    server: ChatServer,
    notes: Path,
    *,
    summaries: bool = False,
) -> None:
    """Hold the conversation in which an agent finds, appends, recalls, and saves once before each of two compactions.

    Args:
        say: Sends a message to the agent and returns its answer.
        compact: Goes on talking until the framework has compacted that many times in all.
        server: Answers as the model.
        notes: The workspace.
        summaries: The framework has the model write a summary in each compaction.
    """
    write_old_note(notes)
    assert "31 May" in await say("When does the lease of the boat house end?")
    assert NOTE in str(server.requests[0]["messages"])
    await say(f"{REMEMBER}the cat is called Minka")
    assert "the cat is called Minka" in read_daily(notes)
    sent = len(server.requests)
    await say("Where does the anchor lie?")
    assert_recalled(server, sent)
    for number, fact in enumerate(FACTS, start=1):
        server.stores = fact
        await compact(number)
        assert_saved_once_before_each(server, notes, number, summaries=summaries)
    assert "4711" in await say("Which number has the archive box?")


def write_old_note(notes: Path) -> None:
    """Write a note that no system prompt holds unless a message calls it to mind."""
    (notes / "memory").mkdir(exist_ok=True)
    (notes / "memory" / "2020-01-01.md").write_text(f"{OLD}\n", encoding="utf-8")


def assert_recalled(server: ChatServer, number: int) -> None:
    """The first of some requests brought the old note to the model, and no request before them did."""
    assert OLD not in json.dumps(server.requests[:number])
    assert OLD in json.dumps(server.requests[number])


def assert_saved_once_before_each(
    server: ChatServer, notes: Path, compactions: int, *, summaries: bool = False
) -> None:
    """Each compaction had one turn in which the model was asked to save, and it saved then; no other turn asked it.

    Args:
        server: Has answered all turns.
        notes: The workspace.
        compactions: How many there were.
        summaries: The host has the model write a summary in each; it came after what was saved.
    """
    assert (server.kinds["store"], server.kinds["silent"]) == (compactions, compactions)
    assert [fact in read_daily(notes) for fact in FACTS] == [number < compactions for number in range(len(FACTS))]
    if summaries:
        # Claude Code asks again for a summary that is not in the form it wants.
        turns = [kind for kind, _ in groupby(kind for kind in server.order if kind in {"store", "summary"})]
        assert turns == ["store", "summary"] * compactions


def read_daily(notes: Path) -> str:
    """Everything in the daily notes."""
    return "".join(path.read_text(encoding="utf-8") for path in sorted((notes / "memory").glob("*.md")))
