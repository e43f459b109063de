"""Capture end to end: the reference host, one process a session, answers from what nobody asked it to keep."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.command import Command
from tests.hosts.test_reference import Chat
from tests.servers.chat import ChatServer

TALK = "We unpacked the garage today. My bicycle is the red one, by the way, and the green one is for guests."
QUESTION = "Which bicycle is mine?"
CORRECTION = "No, the blue one."
RED, BLUE = "The user's bicycle is the red one.", "The user's bicycle is the blue one, not the red one."


@pytest.fixture
def chatting(command: Command, tmp_path: Path) -> Iterator[Chat]:
    with ChatServer() as server:
        yield Chat(command, server, tmp_path)


def configure(**capture: Any) -> dict[str, Any]:
    search = {
        "items": {"capture": {"enabled": True, **capture}},
        "recall": {"enabled": True, "timeoutMs": 60_000},
        "sources": ["memory"],
    }
    return {"memorySearch": search}


def list_items(chatting: Chat) -> dict[str, str | None]:
    found = chatting.command("items", "list", "--json").json["items"]
    return {item["content"]: item["supersededBy"] for item in found}


def test_it_answers_sessions_later_from_what_nobody_asked_it_to_keep_and_takes_a_correction(chatting: Chat) -> None:
    server = chatting.server
    server.facts = {
        TALK: {"fact": RED, "kind": "fact", "sure": True},
        CORRECTION: {"fact": BLUE, "kind": "correction", "sure": True},
    }
    config = configure()
    chatting.say(TALK, "Thanks!", config=config)
    assert server.kinds["capture"] == 1  # both turns are read together, when the session ends
    chatting.say("Good morning!", config=config)
    server.kinds.clear()
    told = chatting.say(QUESTION, CORRECTION, config=config)
    assert (told.code, told.err) == (0, "")
    assert told.out.splitlines()[0] == f"As you said: {RED}"
    chatting.say("Good evening!", config=config)
    server.kinds.clear()
    told = chatting.say(QUESTION, config=config)
    assert told.out == f"As you said: {BLUE}\n"
    assert [role for role, _ in chatting.messages()] == ["user", "assistant"]  # no tool was called
    found = list_items(chatting)
    assert set(found) == {RED, BLUE}
    assert found[BLUE] is None
    assert found[RED] is not None


def test_rules_alone_learn_and_recall_what_was_said(chatting: Chat) -> None:
    config = configure(useModel=False)
    chatting.say("Remember that the oars of the boat are kept in the boiler room.", config=config)
    chatting.say("Good morning!", config=config)
    told = chatting.say("Where are the oars of the boat kept?", config=config)
    assert told.out == "As you said: The oars of the boat are kept in the boiler room.\n"
    assert chatting.server.kinds["capture"] == 0


def test_nothing_is_learned_unless_it_is_configured(chatting: Chat) -> None:
    server = chatting.server
    server.facts = {TALK: {"fact": RED, "kind": "fact", "sure": True}}
    chatting.say(TALK)
    assert server.kinds["capture"] == 0
    assert list_items(chatting) == {}
