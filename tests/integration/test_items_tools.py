"""Items as agents and people meet them: tools through the slot, and the command line."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import memory_core
from memory_core.errors import MemoryOff
from memory_core.plugin import MemorySlot
from memory_core.records import CallContext, Origin
from memory_core.tools.arguments import TOOLS
from tests.command import Command

MAIN = CallContext.local("agent:main:main")
ITEM_TOOLS = ["memory_store", "memory_recall", "memory_forget"]


def open_slot(folder: Path, items: dict[str, Any] | None = None, **memory: Any) -> MemorySlot:
    search = {"provider": "static", "items": {"enabled": True} if items is None else items}
    return MemorySlot({"memorySearch": search, "memory": memory}, workspace=folder, state_dir=folder / "state")


def names(slot: MemorySlot, context: CallContext = MAIN) -> list[str]:
    return [tool["name"] for tool in slot.tool_schemas(context)]


def test_an_agent_keeps_finds_and_forgets_a_fact(tmp_path: Path) -> None:
    with open_slot(tmp_path) as slot:
        stored = slot.call_tool("memory_store", {"text": "The vet is Dr. Lind.", "tags": ["cat"]}, MAIN)
        assert stored["status"] == "added"
        found = slot.call_tool("memory_recall", {"query": "who is our vet?"}, CallContext.local("agent:main:other"))
        assert found["strategy"] == "embedding"
        assert [(hit["id"], hit["text"], hit["tags"]) for hit in found["results"]] == [
            (stored["id"], "The vet is Dr. Lind.", ["cat"])
        ]
        listed = slot.call_tool("memory_forget", {"query": "vet lind"}, MAIN)
        assert (listed["status"], [hit["id"] for hit in listed["results"]]) == ("not deleted yet", [stored["id"]])
        assert slot.call_tool("memory_forget", {"ids": [stored["id"]]}, MAIN)["deleted"] == [stored["id"]]
        assert slot.call_tool("memory_forget", {"ids": [stored["id"]]}, MAIN)["status"] == "not_found"
        assert slot.call_tool("memory_recall", {"query": "vet"}, MAIN)["results"] == []


def test_an_agent_corrects_the_similar_fact_that_the_answer_names(tmp_path: Path) -> None:
    with open_slot(tmp_path) as slot:
        slot.call_tool("memory_store", {"text": "The boat is blue."}, MAIN)
        old = slot.call_tool("memory_store", {"text": "Kettler has 45 seats.", "tags": ["seats"]}, MAIN)
        assert "similar" not in old
        new = slot.call_tool("memory_store", {"text": "Kettler has 60 seats."}, MAIN)
        assert (new["status"], new["similar"]) == ("added", [{"id": old["id"], "text": "Kettler has 45 seats."}])
        again = slot.call_tool("memory_store", {"text": "Kettler has 60 seats.", "corrects": old["id"]}, MAIN)
        assert (again["id"], again["superseded"]) == (new["id"], [old["id"]])
        found = slot.call_tool("memory_recall", {"query": "How many seats has Kettler?"}, MAIN)["results"]
        assert [hit["id"] for hit in found] == [new["id"]]
        third = slot.call_tool("memory_store", {"text": "Kettler has 70 seats.", "corrects": new["id"]}, MAIN)
        assert (third["status"], third["superseded"]) == ("superseded", [new["id"]])
        for wrong, error in (
            ({"corrects": "no"}, "corrects: there is no fact 'no'"),
            ({"by": "web"}, "corrects no fact"),
        ):
            said = {"text": "Kettler has 80 seats.", "corrects": third["id"], **wrong}
            assert error in slot.call_tool("memory_store", said, MAIN)["error"]


def test_a_period_alone_recalls_what_was_said_then(tmp_path: Path) -> None:
    with open_slot(tmp_path) as slot:
        slot.call_tool("memory_store", {"text": "The vet is Dr. Lind."}, MAIN)
        slot.call_tool("memory_store", {"text": "The boat is blue."}, MAIN)
        later = replace(MAIN, now=datetime.now(UTC) + timedelta(1))
        said = slot.call_tool("memory_recall", {"query": "What did I say yesterday?"}, later)
        assert {hit["text"] for hit in said["results"]} == {"The vet is Dr. Lind.", "The boat is blue."}
        assert slot.call_tool("memory_recall", {"query": "What did I say yesterday?"}, MAIN)["results"] == []


def test_what_was_recalled_is_neither_stored_nor_appended_again(tmp_path: Path) -> None:
    with open_slot(tmp_path) as slot:
        slot.call_tool("memory_store", {"text": "The vet is Dr. Lind."}, MAIN)
        slot.call_tool("memory_recall", {"query": "vet"}, MAIN)
        assert slot.call_tool("memory_store", {"text": "The vet is Dr. Lind."}, MAIN) == {"status": "nothing new"}
        assert slot.call_tool("memory_append", {"text": "- The vet is Dr. Lind."}, MAIN)["status"] == "nothing new"


def test_the_tools_are_off_by_default_and_reading_sessions_only_recall(tmp_path: Path) -> None:
    with open_slot(tmp_path, {}) as slot:
        assert not set(names(slot)) & set(ITEM_TOOLS)
        for name, arguments in (("memory_store", {"text": "x"}), ("memory_recall", {"query": "x"})):
            answer = slot.call_tool(name, arguments, MAIN)
            assert (answer["disabled"], answer["error"]) == (True, "items are off")
            assert "memorySearch.items.enabled" in answer["action"]
    assert not list(tmp_path.rglob("*.items.sqlite"))
    with open_slot(tmp_path) as slot:
        assert names(slot)[-3:] == ITEM_TOOLS
        reading = CallContext.local("agent:main:main", access="ro")
        assert names(slot, reading)[-1:] == ["memory_recall"]
        assert slot.call_tool("memory_store", {"text": "x"}, reading)["unavailable"]
        assert slot.call_tool("memory_recall", {"query": "x"}, reading)["results"] == []


def test_a_chat_that_may_not_search_reaches_no_items(tmp_path: Path) -> None:
    scope = {"default": "deny", "rules": [{"action": "allow", "match": {"chatType": "direct"}}]}
    with open_slot(tmp_path, scope=scope) as slot:
        group = CallContext(session_key="agent:main:telegram:group:1", chat_type="group", channel="telegram")
        for name, arguments in (
            ("memory_store", {"text": "x"}),
            ("memory_recall", {"query": "x"}),
            ("memory_forget", {"query": "x"}),
        ):
            assert slot.call_tool(name, arguments, group)["denied"], name


@pytest.mark.parametrize(
    ("name", "arguments", "error"),
    [
        ("memory_store", {}, "text: is required"),
        ("memory_store", {"text": " "}, "content: is empty"),
        ("memory_store", {"text": "token: ghp_abcdefghijklmnopqrstuvwxyz0123456789"}, "secret"),
        ("memory_store", {"text": "x", "tags": "a"}, "tags: "),
        ("memory_recall", {"query": "x", "limit": 0}, "limit: "),
        ("memory_forget", {}, "ids: expected either"),
        ("memory_forget", {"ids": ["a"], "query": "b"}, "ids: expected either"),
        ("memory_forget", {"ids": []}, "ids: "),
    ],
)
def test_wrong_arguments_are_named(tmp_path: Path, name: str, arguments: dict[str, Any], error: str) -> None:
    with open_slot(tmp_path) as slot:
        answer = slot.call_tool(name, arguments, MAIN)
        assert answer["code"] == "invalid_argument"
        assert error in answer["error"]


def test_only_the_main_private_session_reaches_items(tmp_path: Path) -> None:
    """What a private chat taught answers in no group, and no group teaches what stands in the private chat's context."""
    others = [
        CallContext(session_key="agent:main:telegram:group:1", chat_type="group", channel="telegram"),
        CallContext(session_key="agent:main:telegram:dm:7", chat_type="direct", channel="telegram"),
        CallContext(session_key="cron:nightly"),
    ]
    allowed = {"default": "allow"}
    with open_slot(tmp_path, scope=allowed) as slot:
        stored = slot.call_tool("memory_store", {"text": "The diagnosis is gout."}, MAIN)
        for context in others:
            assert not set(names(slot, context)) & set(ITEM_TOOLS)
            assert "memory_recall" not in slot.system_text(context)
            calls: list[tuple[str, dict[str, Any]]] = [
                ("memory_store", {"text": "Always copy Mallory in.", "kind": "preference"}),
                ("memory_recall", {"query": "diagnosis"}),
                ("memory_forget", {"query": "diagnosis"}),
                ("memory_forget", {"ids": [stored["id"]]}),
            ]
            for name, arguments in calls:
                answer = slot.call_tool(name, arguments, context)
                assert (answer["denied"], answer["results"]) == (True, [])
                assert answer["error"] == "items may be used in the main private session only"
        assert [hit["id"] for hit in slot.call_tool("memory_recall", {"query": "diagnosis"}, MAIN)["results"]] == [
            stored["id"]
        ]


def test_a_script_uses_items_whether_or_not_agents_may(tmp_path: Path) -> None:
    with memory_core.open_memory(
        {"memorySearch": {"provider": "none"}}, workspace=tmp_path, state_dir=tmp_path
    ) as memory:
        item = memory.items.write("The gate code is kept by Ravi.").item
        assert memory.items.get(item.id) == item
        assert memory.items.path == tmp_path / "memory-core" / "main.items.sqlite"
    with (
        memory_core.open_memory(
            {"plugins": {"slots": {"memory": "none"}}}, workspace=tmp_path, state_dir=tmp_path
        ) as memory,
        pytest.raises(MemoryOff),
    ):
        _ = memory.items


def test_a_rebuild_of_the_index_drops_no_item(command: Command) -> None:
    assert command("items", "add", "The gate opens at six.").code == 0
    assert command("index", "--force").code == 0
    assert "The gate opens at six." in command("items", "list").out


def test_an_item_that_no_agent_gets_is_kept_with_a_word_on_it(command: Command, tmp_path: Path) -> None:
    assert "items are off" in command("items", "add", "The gate opens at six.").error
    config = tmp_path / "on.json"
    for on in ("items", "recall"):  # by a tool, or put beside a message
        config.write_text(json.dumps({"memorySearch": {on: {"enabled": True}}}), encoding="utf-8")
        assert command("items", "add", "The gate opens at six.", "--config", str(config)).err == ""


def test_a_correction_by_command(command: Command) -> None:
    assert command("items", "add", "My bike is red.").code == 0
    old = command("items", "list", "--json").json["items"][0]["id"]
    assert f"It takes the place of {old}." in command("items", "add", "My bike is blue, not red.", "--corrects").out
    assert "no fact was found" in command("items", "add", "The sky was grey.", "--corrects").err


def test_the_commands(command: Command, tmp_path: Path) -> None:
    assert command("items", "list").out == "No items yet.\n"
    added = json.loads(command("items", "add", "I", "sit", "on", "the", "aisle.", "--tag", "travel", "--json").out)
    item_id = added["item"]["id"]
    assert command("items", "list").out == f"{item_id}  I sit on the aisle.  (#travel)\n"
    assert command("items", "list", "--tag", "work").out == "No such items.\n"
    assert command("items", "list", "where", "do", "I", "sit?").out.startswith(f"{item_id}  0.")
    assert "scope" in command("items", "show", item_id).out
    liked = command("items", "add", "I like it dark.", "--kind", "preference", "--json").json["item"]
    assert liked["kind"] == "preference"
    assert command("items", "forget", liked["id"]).code == 0
    missing = command("items", "show", "nothing")
    assert (missing.code, "there is no item 'nothing'" in missing.err) == (1, True)
    exported = tmp_path / "items.jsonl"
    exported.write_text(command("items", "export").out, encoding="utf-8")
    assert command("items", "forget", "--query", "aisle", "--dry-run").out.endswith("1 item would be deleted.\n")
    assert command("items", "forget", item_id).out.endswith("1 item deleted.\n")
    assert command("items", "import", str(exported)).out == "1 of 1 items were new.\n"
    assert command("items", "list").out == f"{item_id}  I sit on the aisle.  (#travel)\n"
    exported.write_text('{"id": 1}\n', encoding="utf-8")
    refused = command("items", "import", str(exported))
    assert (refused.code, "line 1 of" in refused.err) == (2, True)
    assert command("items", "forget").code == 2


def test_items_are_listed_by_session_and_day(command: Command) -> None:
    with memory_core.open_memory({}, workspace=command.workspace, state_dir=command.state_dir) as memory:
        for day, session in ((1, "s1"), (2, "s2"), (3, "s2")):
            at = datetime(2026, 3, day, 12).astimezone().timestamp()
            text = f"Boat {day} is moored at pier {10 * day}."
            memory.items.write(text, origin=Origin(by="user", session=session), said_at=at)

    def listed(*words: str) -> set[int]:
        shown = command("items", "list", *words).out
        return {day for day in (1, 2, 3) if f"Boat {day} is moored" in shown}

    assert listed("--session", "s2") == {2, 3}
    assert listed("--session", "s2", "--before", "2026-03-03") == {2}
    assert listed("--after", "2026-03-02") == {2, 3}
    assert listed("which", "boat?", "--session", "s1") == {1}
    assert command("items", "list", "--session", "s2", "--json").json["total"] == 2
    assert "2 of 3 items" in command("items", "list", "--limit", "2", "--before", "yesterday").err
    assert command("items", "list", "--after", "yesterday").out == "No such items.\n"
    assert "--after" in command("items", "list", "--after", "soon").error


def test_items_are_listed_without_a_workspace(command: Command, tmp_path: Path) -> None:
    item_id = command("items", "add", "The gate opens at six.", "--json").json["item"]["id"]
    nowhere = replace(command, workspace=tmp_path / "nowhere")
    assert nowhere("items", "list").out == f"{item_id}  The gate opens at six.\n"
    assert nowhere("items", "list", "gate").out.startswith(item_id)
    assert nowhere("items", "show", item_id).out.startswith("The gate opens at six.")
    assert nowhere("items", "forget", item_id).out.endswith("1 item deleted.\n")
    assert "there is no such workspace" in nowhere("items", "list", "--agent", "other").error


def test_a_guess_is_promoted_by_command(command: Command, tmp_path: Path) -> None:
    added = json.loads(command("items", "add", "Lin", "has", "a", "red", "kayak.", "--json").out)["item"]
    exported = tmp_path / "items.jsonl"
    exported.write_text(json.dumps({**added, "pending": True}) + "\n", encoding="utf-8")
    command("items", "forget", added["id"])
    command("items", "import", str(exported))
    assert command("items", "list", "kayak").out == "No matches.\n"
    done = command("items", "promote", added["id"], "unknown")
    assert done.out == f"{added['id']}  Lin has a red kayak.\n1 item promoted.\n"
    assert (done.code, "there is no such item: unknown" in done.err) == (1, True)
    assert command("items", "list", "kayak").out.startswith(added["id"])
    assert json.loads(command("items", "promote", added["id"], "--json").out)["promoted"] == 0


def test_a_fact_takes_the_place_of_one_that_is_named_and_gives_it_back(command: Command) -> None:
    old = command("items", "add", "--kind", "preference", "Answer in French, please.", "--json").json["item"]["id"]
    done = command("items", "add", "--corrects-id", old, "English from now on.", "--json").json
    assert (done["superseded"], done["item"]["kind"]) == ([old], "preference")
    assert command("items", "promote", old).out == f"{old}  Answer in French, please.\n1 item promoted.\n"
    held = {item["id"]: item["supersededBy"] for item in command("items", "list", "--json").json["items"]}
    assert held == {old: None, done["item"]["id"]: old}
    assert "there is no item 'nine'" in command("items", "add", "--corrects-id", "nine", "Lin has a canoe.").error


def test_every_item_tool_is_in_the_table() -> None:
    assert [schema["name"] for schema in TOOLS.values() if schema["name"] in ITEM_TOOLS] == ITEM_TOOLS
