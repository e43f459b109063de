"""The reference host against a real endpoint on the loopback interface: recall, sessions, the silent flush, compaction."""

from __future__ import annotations

import json
import re
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from memory_core.config.load import ConfigSource
from memory_core.errors import SessionsUnusable
from memory_core.hosts import reference
from memory_core.plugin.flush.policy import PROMPT
from tests.command import Command, Outcome
from tests.servers import chat
from tests.servers.chat import ChatServer

QUESTION = "Is the wedding in the little chapel above the lake?"
NOTE = "memory/2026-03-07.md"
KEY = "agent:main:main"
KEY_PLANTED = "sk-planted-5d1e"
STORED = "The espresso machine must be descaled with citric acid every second month."


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer() as running:
        yield running


class Chat:
    """`memory-core chat --script` with one server, and what it leaves on the disk."""

    def __init__(self, command: Command, server: ChatServer, folder: Path) -> None:
        self.command = command
        self.server = server
        self._folder = folder
        self.sessions = command.state_dir / "agents" / "main" / "sessions"

    def say(
        self,
        *lines: str,
        config: dict[str, Any] | None = None,
        window: int = 128_000,
        endpoint: Sequence[str] | None = None,
    ) -> Outcome:
        script, settings = self._folder / "script.txt", self._folder / "host.json5"
        script.write_text("\n".join(lines), encoding="utf-8")
        settings.write_text(json.dumps(config or {}), encoding="utf-8")
        options = [
            "--script",
            str(script),
            "--config",
            str(settings),
            "--model",
            "rules",
            "--context-window",
            str(window),
        ]
        return self.command("chat", *options, *(["--base-url", self.server.url] if endpoint is None else endpoint))

    def entry(self) -> dict[str, Any]:
        found = json.loads((self.sessions / "sessions.json").read_text(encoding="utf-8"))[KEY]
        assert isinstance(found, dict)
        return found

    def transcript(self) -> list[dict[str, Any]]:
        """The lines of the present session's log."""
        text = (self.sessions / f"{self.entry()['sessionId']}.jsonl").read_text(encoding="utf-8")
        return [json.loads(line) for line in text.splitlines()]

    def messages(self) -> list[tuple[str, str]]:
        """The messages of that log, as (role, text)."""
        logged = [line["message"] for line in self.transcript() if line["type"] == "message"]
        return [(message["role"], message["content"][0]["text"]) for message in logged]


@pytest.fixture
def chatting(command: Command, server: ChatServer, tmp_path: Path) -> Chat:
    return Chat(command, server, tmp_path)


def test_it_answers_from_a_note_and_no_longer_once_the_note_is_gone(chatting: Chat) -> None:
    told = chatting.say("# a comment of the script", "", QUESTION)
    assert (told.code, told.err) == (0, "")
    assert told.out.startswith(f"{NOTE} says: ")
    assert "chapel above the lake" in told.out
    assert f"Source: {NOTE}#L" in told.out  # a private chat, so citations are on
    assert chatting.server.kinds == {"search": 1, "answer": 1}

    (chatting.command.workspace / NOTE).unlink()
    later = chatting.say(QUESTION)
    assert later.code == 0
    assert "chapel" not in later.out
    assert not later.out.startswith(NOTE)


def test_the_session_is_on_disk_as_other_programs_read_it(chatting: Chat) -> None:
    started = int(time.time() * 1000)
    told = chatting.say(QUESTION, "What does PRS-2209 complain about?")

    assert [role for role, _ in chatting.messages()] == ["user", "assistant", "tool", "assistant"] * 2
    assert chatting.messages()[0] == ("user", QUESTION)
    assert told.out == "".join(f"{text}\n" for role, text in chatting.messages() if role == "assistant" and text)
    call = chatting.transcript()[1]["message"]["tool_calls"][0]
    assert call["function"] == {"name": "memory_search", "arguments": json.dumps({"query": QUESTION})}
    entry = chatting.entry()
    assert set(entry) == {"sessionId", "updatedAt", "totalTokens", "contextTokens"}
    assert started <= entry["updatedAt"] <= int(time.time() * 1000)
    assert entry["contextTokens"] == 128_000
    assert entry["totalTokens"] > 500


def test_what_the_model_is_sent(chatting: Chat) -> None:
    chatting.say(QUESTION)

    first, second = chatting.server.requests
    system = first["messages"][0]["content"]
    assert system.startswith(reference.BASE_PROMPT)
    assert "call memory_search" in system
    assert "\nMEMORY.md:\n> # Long-term memory" in system  # curated memory, quoted, in the main private session
    assert [tool["function"]["name"] for tool in first["tools"]] == ["memory_search", "memory_get", "memory_append"]
    assert all(body["stream"] for body in (first, second))
    assert json.loads(second["messages"][-1]["content"])["results"][0]["path"] == NOTE


def test_memory_that_is_off_is_offered_to_no_model(chatting: Chat) -> None:
    told = chatting.say(QUESTION, config={"plugins": {"slots": {"memory": "none"}}})

    assert told.out == f"{chat.NO_TOOLS}\n"
    (request,) = chatting.server.requests
    assert "tools" not in request
    assert request["messages"][0]["content"] == reference.BASE_PROMPT


@pytest.mark.parametrize("status", [401, 500])
def test_an_endpoint_that_fails_is_one_line(chatting: Chat, status: int) -> None:
    chatting.server.status = status
    told = chatting.say(QUESTION)

    assert told.code == 1
    assert f"answered {status}" in told.error
    assert chatting.messages() == [("user", QUESTION)]


def test_lines_that_are_piped_in_end_with_the_first_failure(chatting: Chat, tmp_path: Path) -> None:
    lines = tmp_path / "lines.txt"
    lines.write_text(f"{QUESTION}\nAnd when?\n", encoding="utf-8")
    command = [*chatting.command.start(), "chat", "--model", "rules", "--base-url", chatting.server.url]
    variables = chatting.command.variables()
    with lines.open() as piped:
        told = subprocess.run(
            command, stdin=piped, capture_output=True, check=True, text=True, env=variables, timeout=60
        )
    assert told.stdout.count("\n") == 2
    assert "> " not in told.stdout

    chatting.server.status = 500
    with lines.open() as piped:
        told = subprocess.run(
            command, stdin=piped, capture_output=True, check=False, text=True, env=variables, timeout=60
        )
    assert (told.returncode, told.stdout) == (1, "")
    assert "answered 500" in told.stderr


def test_a_script_that_cannot_be_read_is_named(chatting: Chat) -> None:
    told = chatting.command("chat", "--model", "rules", "--script", "nowhere.txt")
    assert told.code == 2
    assert told.error.startswith("memory-core: --script: nowhere.txt cannot be read: no such file or directory.")


SMALL = {"compaction": {"reserveTokensFloor": 1000, "memoryFlush": {"softThresholdTokens": 1000}}}
SMALL_WINDOW = 6000  # soft threshold at 4000 tokens, compaction at 5000
TALK = [f"{QUESTION} Question {number} of a long evening, " + "word after word " * 80 for number in range(16)]


def flushes_and_compactions(server: ChatServer) -> list[str]:
    """In which order the model was asked to save and to summarise."""
    asked = [next(m["content"] for m in reversed(body["messages"]) if m["role"] == "user") for body in server.requests]
    first = [body["messages"][-1]["role"] == "user" for body in server.requests]
    words = ["flush" if "NO_REPLY" in text else "summary" if text.startswith("Summarise") else "" for text in asked]
    return [word for word, is_first in zip(words, first, strict=True) if word and is_first]


def test_a_long_conversation_is_flushed_once_a_cycle_and_compacted(chatting: Chat) -> None:
    chatting.server.stores = STORED
    told = chatting.say(*TALK, config={"agents": {"defaults": SMALL}}, window=SMALL_WINDOW)

    assert (told.code, told.err) == (0, "")
    order = flushes_and_compactions(chatting.server)
    compactions = order.count("summary")
    assert compactions >= 2
    assert re.fullmatch("(flush summary )+(flush )?", " ".join([*order, ""])), order
    assert chatting.server.kinds["store"] == chatting.server.kinds["silent"] == order.count("flush")

    notes = [path for path in (chatting.command.workspace / "memory").glob("*.md") if STORED in path.read_text()]
    assert len(notes) == 1
    assert re.fullmatch(rf"# \d{{4}}-\d\d-\d\d\n\n{re.escape(STORED)}\n", notes[0].read_text())

    lines = told.out.splitlines()
    assert len(lines) == len(TALK)  # one answer a question, nothing else
    assert not re.search("NO_REPLY|espresso|They talked", told.out)
    assert not [text for role, text in chatting.messages() if "NO_REPLY" in text or PROMPT[:20] in text]
    assert [line["summary"] for line in chatting.transcript() if line["type"] == "compaction"] == [
        chat.SUMMARY
    ] * compactions

    entry = chatting.entry()
    flushed = {"memoryFlushAt", "memoryFlushCompactionCount"}
    assert set(entry) == {"sessionId", "updatedAt", "totalTokens", "contextTokens", "compactionCount", *flushed}
    assert entry["compactionCount"] == compactions
    assert entry["memoryFlushCompactionCount"] == compactions - (order[-1] == "summary")
    assert abs(entry["memoryFlushAt"] / 1000 - time.time()) < 600
    assert entry["totalTokens"] < 5000

    found = chatting.command("search", "When must the espresso machine be descaled?", "--json").json["results"]
    assert found[0]["path"] == f"memory/{notes[0].name}"
    assert STORED in found[0]["snippet"]


def test_a_new_session_under_the_same_key_is_flushed_anew(chatting: Chat) -> None:
    config = {"agents": {"defaults": SMALL}}
    for _ in range(2):
        chatting.server.requests.clear()
        chatting.say(*TALK[:5], config=config, window=SMALL_WINDOW)
        assert flushes_and_compactions(chatting.server)[:1] == ["flush"]


def test_a_model_with_nothing_to_store_writes_nothing(chatting: Chat) -> None:
    before = {path: path.read_bytes() for path in chatting.command.workspace.rglob("*.md")}
    told = chatting.say(*TALK[:6], config={"agents": {"defaults": SMALL}}, window=SMALL_WINDOW)

    assert told.code == 0
    assert chatting.server.kinds["silent"] >= 1
    assert chatting.server.kinds["store"] == 0
    assert {path: path.read_bytes() for path in chatting.command.workspace.rglob("*.md")} == before


def test_the_flush_can_be_switched_off(chatting: Chat) -> None:
    off = {"compaction": {**SMALL["compaction"], "memoryFlush": {"enabled": False}}}
    chatting.say(*TALK[:8], config={"agents": {"defaults": off}}, window=SMALL_WINDOW)

    assert set(flushes_and_compactions(chatting.server)) == {"summary"}


def test_a_small_host_stays_small() -> None:
    assert len(Path(reference.__file__).read_text(encoding="utf-8").splitlines()) < 400


def test_the_endpoint_and_its_key_come_from_the_configuration_and_the_key_shows_nowhere(chatting: Chat) -> None:
    account = {"apiKey": KEY_PLANTED, "baseUrl": chatting.server.url}
    config = {"models": {"providers": {"openai": account}}}
    told = chatting.say(QUESTION, config=config, endpoint=[])
    chatting.server.status = 401
    refused = chatting.say(QUESTION, config=config, endpoint=["--debug"])

    assert chatting.server.keys == [f"Bearer {KEY_PLANTED}"] * 3
    assert told.code == 0
    assert refused.code == 1
    files = [path.read_bytes() for path in chatting.command.state_dir.rglob("*") if path.is_file()]
    assert KEY_PLANTED.encode() not in b"".join([(told.out + told.err + refused.out + refused.err).encode(), *files])


def test_a_session_that_cannot_begin_leaves_nothing_running(command: Command) -> None:
    sessions = command.state_dir / "agents" / "main" / "sessions"
    sessions.parent.mkdir(parents=True)
    sessions.write_text("no folder")
    source = ConfigSource({}, workspace=command.workspace, state_dir=command.state_dir)
    before = set(threading.enumerate())
    host = reference.ReferenceHost(source, "main", base_url="http://127.0.0.1:9", model="rules", context_window=128_000)
    with pytest.raises(SessionsUnusable), host:
        pytest.fail("the session began")
    assert set(threading.enumerate()) <= before
