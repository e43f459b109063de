"""Agents see and settle proposals as far as they may, sessions are told of them, and searches mark their lines."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from memory_core.errors import NotUndone
from memory_core.plugin.memory import Memory, open_memory
from memory_core.plugin.reviewing import Review
from memory_core.records import CallContext
from tests.integration.test_review import MEMORY, write
from tests.waiting import eventually

TOOLS = {None: [], True: ["memory_review", "memory_resolve"], False: ["memory_propose"]}


@contextmanager
def opened(base: Path, **tidy: Any) -> Iterator[Memory]:
    write(base / "ws")
    config = {"memorySearch": {"tidy": tidy}} if tidy else {}
    with open_memory(config, workspace=base / "ws", state_dir=base / "state") as memory:
        yield memory


@pytest.mark.parametrize("may_apply", [None, True, False])
def test_agents_get_what_the_setting_allows(tmp_path: Path, may_apply: bool | None) -> None:
    with opened(tmp_path, **({} if may_apply is None else {"agentMayApply": may_apply})) as memory:
        names = [tool["name"] for tool in memory.tool_schemas()]
        assert names[3:] == TOOLS[may_apply]
        assert not {*names} & {"memory_review", "memory_propose"} or len(memory.tool_schemas("ro")) == 2
        for name in ("memory_review", "memory_propose"):
            given = {} if name == "memory_review" else {"path": "MEMORY.md", "line": 3, "text": "- x", "why": "y"}
            answer = memory.call_tool(name, given)
            assert ("error" in answer) == (name not in names)
            assert "error" in memory.call_tool(name, given, CallContext(session_key="agent:main:group:7"))


def test_an_agent_that_may_settles_proposals(tmp_path: Path) -> None:
    with opened(tmp_path, agentMayApply=True) as memory:
        found = memory.call_tool("memory_review", {})
        assert found["total"] == 2
        rent = next(each for each in found["results"] if each["line"] == 3)
        assert rent["evidence"] == [{"path": "memory/2026-05-11.md", "line": 1, "text": rent["evidence"][0]["text"]}]
        done = memory.call_tool("memory_resolve", {"id": rent["id"], "action": "accept"})
        assert done["status"] == "accepted", done
        assert "£445" in (tmp_path / "ws/MEMORY.md").read_text(encoding="utf-8")
        other = next(each for each in found["results"] if each["line"] == 4)
        assert memory.call_tool("memory_resolve", {"id": other["id"], "action": "reject"})["status"] == "rejected"
        assert memory.call_tool("memory_review", {})["total"] == 0
        assert "there is no proposal" in memory.call_tool("memory_resolve", {"id": "zz", "action": "accept"})["error"]


def test_what_an_agent_proposes_waits_for_the_user(tmp_path: Path) -> None:
    with opened(tmp_path, agentMayApply=False) as memory:
        told = {"path": "MEMORY.md", "line": 4, "text": "- Evening class on Tuesdays", "why": "The user said so."}
        made = memory.call_tool("memory_propose", told)
        assert made["status"] == "waits"
        assert "Tuesdays" not in (tmp_path / "ws/MEMORY.md").read_text(encoding="utf-8")
        with closing(Review(memory.config(), None, memory.sync)) as held:
            assert made["id"] in [each.id for each in held.find()]
            held.accept([made["id"]])
        assert "Tuesdays" in (tmp_path / "ws/MEMORY.md").read_text(encoding="utf-8")
        assert "no text in line 99" in memory.call_tool("memory_propose", {**told, "line": 99})["error"]


def test_many_changes_of_one_note_are_made_together_and_taken_back_one_by_one(tmp_path: Path) -> None:
    lines = [f"- The blue folder {number} with the deeds is under the stairs\n" for number in range(6)]
    with opened(tmp_path) as memory, closing(Review(memory.config(), None, memory.sync)) as held:
        longterm, bank = tmp_path / "ws/MEMORY.md", tmp_path / "ws/memory/bank.md"
        longterm.write_text(MEMORY + "".join(lines), encoding="utf-8")
        bank.write_text("# Bank\n\n- We bank in Leeds\n" + "".join(lines), encoding="utf-8")
        before = longterm.read_bytes(), bank.read_bytes()
        found = sorted(held.find(), key=lambda each: each.id)
        assert held.accept([each.id for each in found]) == found
        assert bank.read_text(encoding="utf-8") == "# Bank\n\n- We bank in Leeds\n"
        assert "£445" in longterm.read_text(encoding="utf-8")
        assert "Wednesdays" in longterm.read_text(encoding="utf-8")
        for _ in found:
            held.undo()
        assert (longterm.read_bytes(), bank.read_bytes()) == before
        assert len(found) == 8


def test_undo_takes_back_what_was_settled_last_and_an_item_is_that_too(tmp_path: Path) -> None:
    with opened(tmp_path) as memory, closing(Review(memory.config(), memory.items, memory.sync)) as held:
        note = tmp_path / "ws/MEMORY.md"
        before = note.read_bytes()
        held.accept([next(each.id for each in held.find() if each.path == "MEMORY.md")])
        changed = note.read_bytes()
        kept, gone = (memory.items.write(text, pending=True).item for text in ("The cat is Mia.", "The dog is Rex."))
        held.accept([kept.id])
        held.reject([gone.id])
        with pytest.raises(NotUndone, match=f"the item {gone.id}, which is forgotten"):
            held.undo()
        assert (held.undo().id, memory.items.get_many([kept.id])[0].pending) == (kept.id, True)
        assert kept.id in [each.id for each in held.find()]
        assert note.read_bytes() == changed != before
        held.undo()
        assert note.read_bytes() == before
        with pytest.raises(NotUndone, match="nothing to undo"):
            held.undo()


def test_a_session_is_told_once_a_day_that_proposals_wait(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        assert "memory-core review" not in memory.session_context()
        with closing(Review(memory.config(), None, memory.sync)) as held:
            held.find()
        assert "wait for the user" not in memory.session_context(CallContext(session_key="agent:main:group:7"))
        assert memory.session_context().endswith("2 proposals for the notes wait for the user: memory-core review")
        assert "wait for the user" not in memory.session_context()


def test_a_search_marks_what_is_proposed_as_outdated_and_puts_it_behind(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        before = memory.call_tool("memory_search", {"query": "rent a month"})["results"]
        assert {hit["path"] for hit in before} == {"MEMORY.md", "memory/2026-05-11.md"}
        with closing(Review(memory.config(), None, memory.sync)) as held:
            held.find()
        hits = memory.call_tool("memory_search", {"query": "rent a month"})["results"]
        assert [hit["path"] for hit in hits] == ["memory/2026-05-11.md", "MEMORY.md"]
        newer = hits[1]["supersededBy"]
        assert (newer["because"], newer["path"], newer["line"]) == ("proposal", "memory/2026-05-11.md", 1)
        lines = (tmp_path / "ws/MEMORY.md").read_text(encoding="utf-8").splitlines()
        assert (
            "£410" in lines[newer["replaces"] - 1]
        )  # the hit has other outdated lines, of which the question names nothing
        assert hits[0]["score"] >= hits[1]["score"]
        note = tmp_path / "ws/MEMORY.md"
        note.write_text(note.read_text(encoding="utf-8").replace("£410", "£420"), encoding="utf-8")
        hits = memory.call_tool("memory_search", {"query": "rent a month"})["results"]
        assert all("£410" not in str(hit) for hit in hits)
        assert not any(
            "supersededBy" in hit and hit["supersededBy"]["line"] == 1 and "£" in hit["supersededBy"]["text"]
            for hit in hits
        )  # the line that was judged stands no more


def test_a_host_looks_at_the_notes_at_intervals(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        memory.session_started(CallContext(session_key="agent:main:main"))
        assert not memory.config().tidy_path.exists()
    with opened(tmp_path, interval=6) as memory:
        memory.session_started(CallContext(session_key="agent:main:main"))
        assert eventually(lambda: "2 proposals" in memory.session_context(CallContext(session_key="agent:main:main")))


@pytest.mark.parametrize("damage", ["cut", "header", "garbage", "folder"])
def test_proposals_that_cannot_be_read_take_no_hit_away(tmp_path: Path, damage: str) -> None:
    with opened(tmp_path) as memory:
        file = memory.config().tidy_path
        file.parent.mkdir(parents=True, exist_ok=True)
        if damage == "cut":  # as where the disk was full when it was made
            sqlite3.connect(file).execute("PRAGMA journal_mode = WAL").close()
        elif damage == "folder":
            file.mkdir()
        else:
            file.write_bytes((b"SQLite format 3\0" if damage == "header" else b"") + b"\xff" * 8000)
        answer = memory.call_tool("memory_search", {"query": "rent a month"})
        assert {hit["path"] for hit in answer["results"]} == {"memory/2026-05-11.md", "MEMORY.md"}
        context = CallContext(session_key="agent:main:main")
        assert "£410" in memory.session_context(context)
