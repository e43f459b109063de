"""Who said what: every item and every hit tells, and what tools and pages say counts less than the user's word."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import memory_core
from memory_core import CallContext
from memory_core.plugin import MemorySlot
from memory_core.records import AUTHORS, Origin
from memory_core.sources.journal import Journal
from tests.command import Command

MAIN = CallContext.local("agent:main:main")
QUIET = CallContext.local("agent:main:other")


def open_slot(folder: Path, **search: Any) -> MemorySlot:
    (folder / "workspace" / "memory").mkdir(parents=True, exist_ok=True)
    recall = {"enabled": True, "timeoutMs": 60_000, **search.pop("recall", {})}
    found = {"provider": "static", "recall": recall, "items": {"enabled": True}, "sync": {"watch": False}, **search}
    return MemorySlot({"memorySearch": found}, workspace=folder / "workspace", state_dir=folder / "state")


def find(slot: MemorySlot, question: str) -> dict[str, Any]:
    """Return the first hit of a search."""
    found = slot.call_tool("memory_search", {"query": question, "minScore": 0}, MAIN)["results"]
    assert found
    return dict(found[0])


def test_a_hit_in_a_note_says_who_wrote_it(tmp_path: Path) -> None:
    memory = tmp_path / "workspace" / "memory"
    with open_slot(tmp_path) as slot:
        (memory / "trip.md").write_text("- The ferry to Kinsale leaves at nine.\n", encoding="utf-8")
        (memory / "imports" / "other").mkdir(parents=True)
        (memory / "imports" / "other" / "a.md").write_text("- The kayak is orange.\n", encoding="utf-8")
        stored = slot.call_tool("memory_append", {"text": "The lighthouse opens in May."}, MAIN)
        tides = {"text": "The tide table lists springs for Friday.", "by": "web", "target": "longterm"}
        assert slot.call_tool("memory_append", tides, MAIN)["appended"] == 1
        assert find(slot, "When does the ferry to Kinsale leave?")["origin"] == {"by": "user"}
        assert find(slot, "What colour is the kayak?")["origin"] == {"by": "import"}
        told = find(slot, "When does the lighthouse open?")["origin"]
        assert (told["by"], told["session"], "at" in told) == ("agent", "agent:main:main", True)
        question = {"query": "When does the lighthouse open?"}
        group = CallContext(session_key="agent:main:x:group:1", chat_type="group")
        assert slot.call_tool("memory_search", question, group)["results"][0]["origin"] == {"by": "agent"}
        assert find(slot, "When are springs, by the tide table?")["origin"]["by"] == "web"
        note = tmp_path / "workspace" / stored["path"]
        note.write_text(note.read_text(encoding="utf-8").replace("in May", "in June"), encoding="utf-8")
        assert find(slot, "When does the lighthouse open?")["origin"] == {"by": "user"}, "a person has changed the line"


def test_what_a_person_adds_by_the_command_is_theirs(command: Command) -> None:
    for text in ("The ferry to Kinsale leaves at nine.", "The lighthouse opens in May."):
        assert command("add", text).code == 0
        (hit, *_) = command("--json", "search", text).json["results"]
        assert (text in hit["snippet"], hit["origin"]) == (True, {"by": "user"})


def test_what_a_tool_said_ranks_last_on_a_tie(tmp_path: Path) -> None:
    memory = tmp_path / "workspace" / "memory"
    with open_slot(tmp_path) as slot:
        line = "The gate code of the allotment is on the shed door."
        slot.call_tool("memory_append", {"text": line, "by": "tool"}, MAIN)
        (memory / "2020-01-01.md").write_text(f"{line}\n", encoding="utf-8")
        question = {"query": "Where is the gate code of the allotment?", "minScore": 0}
        hits = slot.call_tool("memory_search", question, MAIN)["results"]
        tied = [hit["origin"]["by"] for hit in hits if hit["score"] == hits[0]["score"] and line in hit["snippet"]]
        assert tied == ["user", "tool"]


@pytest.mark.parametrize(("trust", "seen"), [("user", "user"), ("agent", "user agent"), ("all", "user agent web")])
def test_recall_leaves_out_whom_the_user_does_not_trust(tmp_path: Path, trust: str, seen: str) -> None:
    with open_slot(tmp_path, recall={"trust": trust}) as slot:
        slot.call_tool("memory_store", {"text": "The boiler contract names Jansen as its agent."}, MAIN)
        slot.call_tool("memory_store", {"text": "The boiler contract costs 140 on the web.", "by": "web"}, MAIN)
        with memory_core.open_memory({}, workspace=tmp_path, state_dir=tmp_path / "state") as memory:
            memory.items.write("The boiler contract ends when the user says.", origin=Origin(by="user"))
        found = slot.recall_for_message("What does the boiler contract say?", QUIET)
        assert {piece.by for piece in found.pieces} == set(seen.split())
        assert ("items, which a page or a mail said, not the user:\n> " in found.text) == (trust == "all")


def test_the_word_of_a_tool_settles_revives_and_corrects_nothing_and_the_user_takes_it_over(tmp_path: Path) -> None:
    tool, user = (
        Origin(by=by, session=f"s-{by}", host="here", path=f"{by}.md", line=2) for by in (AUTHORS[3], AUTHORS[0])
    )
    with memory_core.open_memory({}, workspace=tmp_path, state_dir=tmp_path / "state") as memory:
        items = memory.items
        old = items.write("The launch is on 14 April.", origin=user).item
        new = items.write("The launch is on 21 April, not on 14 April.", corrects=True, origin=user).item
        assert items.write("The launch is on 14 April.", origin=tool).item.superseded_by == new.id
        moved = items.write("The launch is on 28 April, not on 21 April.", corrects=True, origin=tool)
        assert moved.superseded == ()
        guess = items.write("Piotr plays chess on Mondays.", pending=True, origin=tool).item
        assert items.write("Piotr plays chess on Mondays.", origin=replace(tool, session="s9")).item.pending
        assert items.write("Piotr plays chess on Mondays.", origin=user).item.id == guess.id
        origin = items.get_many([guess.id])[0].origin
        assert (origin.by, origin.session, origin.path, origin.line) == ("user", "s-user", "user.md", 2)
        items.write("Piotr plays chess on Mondays.", origin=tool)
        assert [item.origin.by for item in items.get_many([guess.id, old.id])] == ["user", "user"]


def test_equal_items_come_in_the_order_of_trust(tmp_path: Path) -> None:
    with memory_core.open_memory(
        {"memorySearch": {"provider": "none"}}, workspace=tmp_path, state_dir=tmp_path / "s"
    ) as m:
        for number, by in enumerate(reversed(AUTHORS)):
            m.items.write(f"Ticket {number} is open.", origin=Origin(by=by), said_at=1_770_000_000)
        assert [hit.item.origin.by for hit in m.items.query("ticket open").hits] == [
            "user",
            "agent",
            "import",
            "tool",
            "web",
        ]


def test_an_item_leads_to_the_message_it_was_learned_from_and_goes_with_it(command: Command, tmp_path: Path) -> None:
    config = tmp_path / "journal.json5"
    capture = {"journal": True, "enabled": True}
    config.write_text(json.dumps({"memorySearch": {"items": {"capture": capture}}}), encoding="utf-8")
    command = replace(command, environment={**command.environment, "MEMORY_CORE_CONFIG": str(config)})
    said = "Well, anyway. I prefer the aisle seat on flights. It is nearer to the door."
    with MemorySlot(str(config), workspace=command.workspace, state_dir=command.state_dir) as slot:
        talk = [{"role": "user", "content": said}, {"role": "assistant", "content": "Noted."}]
        slot.turn_ended(replace(MAIN, channel="matrix"), talk)
        slot.turn_ended(MAIN, [{"role": "user", "content": "Off the record: I prefer gin."}])
        slot.turn_ended(MAIN, [{"role": "user", "content": "Unter uns gesagt: I prefer rum."}])
    (item,) = command("items", "list", "--json").json["items"]
    origin = item["origin"]
    assert (origin["by"], origin["session"], origin["host"], origin["line"]) == ("user", "agent:main:main", "matrix", 2)
    shown = command("items", "show", item["id"]).out
    assert f"{origin['path']}#L2" in shown
    assert said in shown
    exported = tmp_path / "items.jsonl"
    exported.write_text(command("items", "export").out, encoding="utf-8")
    assert command("history", "purge", "--match", "nearer to the door", "--yes").out.endswith(
        "1 item learned from them forgotten.\n"
    )
    assert command("items", "list", "--json").json["items"] == []
    assert command("items", "import", str(exported)).code == 0
    assert command("items", "show", item["id"], "--json").json["origin"] == origin
    assert Journal(command.state_dir / "memory-core" / "main.journal").find_said(origin["path"], [(2, 2)])[1] == [[]]


def test_items_that_were_exported_before_they_had_an_origin_are_read(command: Command, tmp_path: Path) -> None:
    item = {
        "id": "0a1b2c3d4e", "content": "The vet is Dr. Lind.", "scope": "default", "tags": [], "agent": "main",
        "kind": "fact", "pending": False, "created": 1.0, "updated": 1.0, "said": 1.0, "recalled": None, "reinforced": 0,
        "session": "s1", "speaker": "assistant", "supersededBy": None,
    }  # fmt: skip
    file = tmp_path / "items.jsonl"
    file.write_text(json.dumps(item) + "\n", encoding="utf-8")
    assert command("items", "import", str(file), "--json").json == {"read": 1, "new": 1}
    (kept,) = command("items", "list", "--json").json["items"]
    assert (kept["origin"]["by"], kept["origin"]["session"]) == ("agent", "s1")
    file.write_text(
        json.dumps({**kept, "id": "1a1b2c3d4e", "content": "Other.", "origin": {"by": "god"}}), encoding="utf-8"
    )
    assert "no item" in command("items", "import", str(file)).err


def test_passages_that_a_host_recalls_say_so_too(tmp_path: Path) -> None:
    with open_slot(tmp_path, recall={"enabled": False}) as slot:
        slot.call_tool("memory_append", {"text": "The tide table lists springs for Friday.", "by": "web"}, MAIN)
        text = slot.recall(QUIET, "When are springs, by the tide table?")
    assert ".md#L1-L3, which a page or a mail said, not the user:\n> " in text
