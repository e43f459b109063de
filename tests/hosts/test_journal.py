"""The journal of turns as hooks of hosts fill it; the real programs are in tests/frameworks."""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import subprocess
import time
import uuid
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from memory_core import CallContext, open_memory
from memory_core.sources.journal import Journal
from tests.command import REPOSITORY, Command, Outcome, run
from tests.waiting import eventually

ROUNDS = int(os.environ.get("MEMORY_CORE_TEST_KILLS", "6"))
TOLD = "The ferry to Kinsale leaves at a quarter past nine."


class Host:
    """Claude Code, as far as its hooks see it: a transcript that grows, and events."""

    def __init__(self, command: Command, home: Path) -> None:
        self.home = home
        self.projects = home / ".claude" / "projects" / "-work"
        self.projects.mkdir(parents=True)
        self.command = replace(command, environment={**command.environment, "HOME": str(home), "CLAUDE_CONFIG_DIR": ""})

    @property
    def journal(self) -> Journal:
        return Journal(self.command.state_dir / "memory-core" / "main.journal")

    def find_transcript(self, session: str) -> Path:
        return self.projects / f"{session}.jsonl"

    def write(self, session: str, role: str, text: str, at: str = "2999-03-01T10:00:00.000Z") -> None:
        entry = {"type": role, "uuid": str(uuid.uuid4()), "timestamp": at, "message": {"role": role, "content": text}}
        with self.find_transcript(session).open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")

    def make_event(self, name: str, session: str, **more: Any) -> str:
        facts = {"transcript_path": str(self.find_transcript(session)), "cwd": "/work"}
        return json.dumps({"hook_event_name": name, "session_id": session, **facts, **more})

    def give(self, name: str, session: str = "s1", host: str = "claude-code", **more: Any) -> Outcome:
        event = self.make_event(name, session, **more)
        return self.command("hook", host, environment={"PATH": "/nowhere"}, feed=event)

    def find_behind(self) -> list[int]:
        """Return the processes behind; see `Command.find_behind`."""
        return self.command.find_behind()

    def settle(self) -> None:
        """Wait until no process behind runs, so that nothing changes any more with the settings that it has read."""
        assert eventually(lambda: not self.find_behind(), seconds=60), "a process behind does not end"

    def texts(self) -> list[str]:
        lines = [
            json.loads(line) for path in self.journal.folder.glob("*.jsonl") for line in path.read_bytes().splitlines()
        ]
        return [line["content"] for line in lines if "role" in line]

    def finds(self, question: str, text: str) -> bool:
        """Return True once a search finds a text in a session."""

        def look() -> bool:
            hits = self.command("search", question, "--json").json["results"]
            return any(text in hit["snippet"] and hit["path"].startswith("sessions/") for hit in hits)

        return eventually(look)


@pytest.fixture
def switched(tmp_path: Path) -> Callable[..., Path]:
    """Write a configuration in which turns are kept."""

    def write(**capture: Any) -> Path:
        path = tmp_path / "journal.json5"
        settings = {"items": {"capture": {"journal": True, **capture}}, "recall": {"enabled": True}}
        path.write_text(json.dumps({"memorySearch": settings}), encoding="utf-8")
        return path

    return write


@pytest.fixture
def host(command: Command, tmp_path: Path, switched: Callable[..., Path]) -> Host:
    variables = {**command.environment, "MEMORY_CORE_CONFIG": str(switched())}
    return Host(replace(command, environment=variables), tmp_path / "home")


def test_nothing_is_kept_by_default(command: Command, tmp_path: Path) -> None:
    host = Host(command, tmp_path / "home")
    host.write("s1", "user", TOLD)
    for name in ("SessionStart", "UserPromptSubmit", "Stop", "SubagentStop"):
        assert host.give(name, prompt="Good morning").err == ""
    assert not host.journal.folder.exists()


def test_a_turn_is_kept_at_its_end_and_found_by_the_next_session(host: Host) -> None:
    assert host.give("SessionStart").code == 0
    host.write("s1", "user", f"{TOLD} My password is swordfish-4711.")
    host.write("s1", "assistant", "Noted.")
    assert host.give("Stop") == Outcome(0, "", "")
    assert len(host.texts()) == 2
    assert host.finds("When does the ferry to Kinsale leave?", TOLD)
    asked = "When does the ferry to Kinsale leave?"
    hits = host.command("search", asked, "--json").json["results"]
    origin = next(hit["origin"] for hit in hits if hit["source"] == "sessions")
    at = "2999-03-01T10:00:00.000Z"
    assert {**origin, "by": "?"} == {"by": "?", "session": "s1", "host": "claude-code", "project": "/work", "at": at}
    assert origin["by"] == ("agent" if "Noted" in hits[0]["snippet"] else "user")
    speakers = "user and agent" if "Noted" in hits[0]["snippet"] else "user"
    assert f"(said by {speakers}: 2999-03-01T10:00, claude-code, s1, /work)" in host.command("search", asked).out
    event = {"prompt": asked}
    assert host.give("UserPromptSubmit", "s1", **event).out == "", "the session has said it itself"
    assert TOLD in host.give("UserPromptSubmit", "s2", **event).out
    host.settle()
    kept = (
        path.read_bytes()
        for folder in (host.command.state_dir, host.command.workspace)
        for path in folder.rglob("*")
        if path.is_file()
    )
    assert not any(b"swordfish" in data for data in kept)


def test_a_session_is_learned_from_when_it_is_over(host: Host, switched: Callable[..., Path]) -> None:
    switched(enabled=True)
    host.write("s1", "user", "I prefer the aisle seat on flights.")
    host.write("s1", "assistant", "You prefer oat milk.")
    host.give("Stop")
    host.settle()
    assert host.command("items", "list", "--json").json["items"] == []
    host.give("SessionEnd")
    assert eventually(lambda: host.command("items", "list", "--json").json["items"])
    host.settle()
    (item,) = host.command("items", "list", "--json").json["items"]
    assert (item["content"], item["origin"]["session"], item["origin"]["by"]) == (
        "I prefer the aisle seat on flights.", "s1", "user",
    )  # fmt: skip
    forgotten = host.command("items", "forget", item["id"])
    assert forgotten.code == 0
    assert "search shows it: memory-core forget --session s1; or a text alone: memory-core history" in forgotten.err
    assert forgotten.err.count(str(host.find_transcript("s1"))) == 1
    assert host.command("index").code == 0
    assert host.command("items", "list", "--json").json["items"] == []


def test_a_killed_host_loses_no_turn(host: Host) -> None:
    host.give("SessionStart", "s1")
    host.write("s1", "user", TOLD)
    host.write("s1", "assistant", "Noted.")  # it is killed before it calls the hook
    host.give("SessionStart", "s2")
    host.settle()
    assert host.texts() == [TOLD, "Noted."]
    host.write("s1", "user", "The tide is high at noon.")
    assert host.command("index").code == 0
    assert host.texts()[2:] == ["The tide is high at noon."]


def test_what_is_no_transcript_of_the_host_is_not_read(host: Host, tmp_path: Path) -> None:
    outside = tmp_path / "outside.jsonl"
    host.write("other", "user", TOLD)
    outside.write_bytes(host.find_transcript("other").read_bytes())
    host.find_transcript("link").symlink_to(outside)
    assert host.give("Stop", "s1", transcript_path=str(outside)) == Outcome(0, "", "")
    assert "outside.jsonl: is no transcript below" in host.journal.find_problem()
    assert host.give("Stop", "link") == Outcome(0, "", "")
    assert "symbolic link" in host.journal.find_problem()
    (found,) = (each for each in host.command("doctor", "--json").json["findings"] if "link.jsonl" in each["message"])
    assert (found["subject"], found["level"]) == ("journal", "warn")
    assert "session link of claude-code" in found["message"]
    assert host.give("Stop", "s1", transcript_path="../outside.jsonl") == Outcome(0, "", "")
    folder = host.projects / "folder.jsonl"
    folder.mkdir()
    assert host.give("Stop", "folder") == Outcome(0, "", "")
    assert "folder.jsonl" in host.journal.find_problem()
    assert host.texts() == []


def test_other_hosts_bring_their_turns(host: Host) -> None:
    turn = {"prompt": TOLD, "prompt_response": "Noted.", "timestamp": "2999-03-01T10:00:00Z", "unheard": {"of": 1}}
    for _ in range(2):
        assert host.give("AfterAgent", "g1", "gemini", **turn) == Outcome(0, "", "")
    assert host.give("BeforeTool", "g1", "gemini") == Outcome(0, "", "")
    messages = [{"id": "m1", "role": "user", "text": "The key hangs at the door."}, {"role": "user", "text": 7}, "?"]
    for _ in range(2):
        assert host.give("Stop", "o1", "opencode", messages=messages) == Outcome(0, "", "")
    assert sorted(host.texts()) == ["Noted.", TOLD, "The key hangs at the door."]


def test_what_is_too_old_leaves_the_journal(host: Host, switched: Callable[..., Path]) -> None:
    host.write("s1", "user", "An old word.", at="2020-03-01T10:00:00Z")
    host.write("s1", "user", TOLD)
    host.give("Stop")
    host.settle()  # the old word leaves before that is noted
    assert host.texts() == [TOLD]
    switched(retentionDays=1_000_000)
    host.write("s2", "user", "Another old word.", at="2020-03-01T10:00:00Z")
    host.give("Stop", "s2")
    host.settle()
    (host.journal.folder / "pruned").unlink()
    assert host.command("index").code == 0
    assert sorted(host.texts()) == ["Another old word.", TOLD]


def test_other_chats_find_nothing_of_it(host: Host) -> None:
    host.write("s1", "user", TOLD)
    host.give("Stop")
    assert host.finds("When does the ferry to Kinsale leave?", TOLD)
    question = {"query": "When does the ferry to Kinsale leave?", "minScore": 0}
    group = CallContext(session_key="agent:main:telegram:group:7", chat_type="group")
    config = host.command.environment["MEMORY_CORE_CONFIG"]
    with open_memory(config, workspace=host.command.workspace, state_dir=host.command.state_dir) as memory:
        found = memory.call_tool("memory_search", question, CallContext(session_key="agent:main:main"))["results"]
        assert TOLD in found[0]["snippet"]
        assert TOLD not in json.dumps(memory.call_tool("memory_search", question, group))


def test_turns_of_frameworks_are_kept_at_their_end(host: Host) -> None:
    config = host.command.environment["MEMORY_CORE_CONFIG"]
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "Before."},
        {"role": "user", "content": f"{TOLD} My password is swordfish-4711."},
        {"role": "tool", "content": "tool"},
        {"role": "assistant", "content": "Noted."},
        {"role": "user", "content": "recalled", "recalled": True},
    ]
    with (
        open_memory(config, workspace=host.command.workspace, state_dir=host.command.state_dir) as memory,
        open_memory(config, workspace=host.command.workspace, state_dir=host.command.state_dir) as other,
    ):
        question = {"query": "When does the ferry to Kinsale leave?"}
        other.sync()  # a search waits a moment only, and goes by words alone until then
        assert other.call_tool("memory_search", question)["results"] == []
        memory.turn_ended(messages[1:4], context=CallContext.local("thread 7"), host="ours")
        memory.turn_ended(messages[:1], context=CallContext(session_key="agent:main:slack:group:7", chat_type="group"))
        assert host.texts() == [f"{TOLD} My password is [redacted]", "Noted."]
        assert eventually(lambda: other.call_tool("memory_search", question)["results"]), "it runs all the time"
        (hit, *_) = other.call_tool("memory_search", question)["results"]
        assert (hit["origin"]["host"], hit["origin"]["session"]) == ("ours", "thread 7")


def test_a_person_pauses_forgets_and_purges(host: Host) -> None:
    for session, text in (("s1", TOLD), ("s2", "The key hangs at the door.")):
        host.write(session, "user", text)
        host.give("Stop", session)
    host.settle()
    assert host.command("pause").out == "The journal keeps nothing until you run: memory-core resume\n"
    host.write("s1", "user", "Secretly.")
    assert host.give("Stop").code == 0
    assert "paused" in host.command("status").out
    assert host.command("resume", "--json").json == {"paused": False}
    host.write("s1", "user", "Openly.")
    host.give("Stop")
    host.settle()
    assert sorted(host.texts()) == sorted([TOLD, "Openly.", "The key hangs at the door."])
    assert host.command("forget", "--session", "s2", "--dry-run").out == "1 message and 0 items would be forgotten.\n"
    forgotten = host.command("forget", "--session", "s2", "--json").json
    assert forgotten["messages"] == 1
    (left,) = forgotten["remains"]
    assert left == f"the host's own log holds what was said, until you delete that, too: {host.find_transcript('s2')}"
    assert "  (forget, s2)" in host.command("activity").out.splitlines()[0]
    assert host.command("forget", "--session", "s2").error.endswith("no session 's2' has said anything that is kept.")
    shown = host.command("history", "purge", "--match", TOLD, "--dry-run").out
    assert "1 message would be taken out of the journal of turns." in shown
    assert TOLD in host.texts()
    assert "1 message taken out of the journal" in host.command("history", "purge", "--match", TOLD, "--yes").out
    host.give("Stop", "s2")
    assert host.texts() == ["Openly."]
    host.settle()
    assert host.command("search", "ferry to Kinsale", "--json").json["results"] == []
    kept = [path.read_bytes() for path in host.command.state_dir.rglob("*") if path.is_file()]
    assert not any(word in data for data in kept for word in (b"Kinsale", b"Secretly", b"key hangs"))


def test_a_session_is_forgotten_with_its_items_and_its_log_is_named_once(host: Host) -> None:
    host.write("s1", "user", TOLD)
    host.give("Stop")
    host.settle()
    kept = {"id": "aa11", "content": "The ferry leaves at nine.", "origin": {"by": "user", "session": "s1"}}
    defaults = {"scope": "default", "tags": [], "agent": "main", "kind": "fact", "pending": False, "reinforced": 0}
    times = {"created": 1.0, "updated": 1.0, "said": 1.0, "recalled": None, "supersededBy": None}
    line = json.dumps({**kept, **defaults, **times}) + "\n"
    assert host.command("items", "import", "-", feed=line).out == "1 of 1 items were new.\n"
    done = host.command("forget", "--session", "s1")
    assert done.out == "1 message and 1 item are forgotten.\n"
    assert "the host's own log holds what was said" in done.error


ONE, TWO, THREE = (f"{head}-4a1b-4c2d-8e3f-5a6b7c8d9e0f" for head in ("0f5c2a1b", "77ab1001", "77ab1002"))


@pytest.mark.parametrize(
    ("asked", "told", "code"),
    [
        ("0f5c2a", f"Session {ONE}:", 0),
        (f"sessions/claude-code-{ONE}.jsonl:L2-L3", f"Session {ONE}:", 0),
        (f"claude-code-{ONE}", f"Session {ONE}:", 0),
        ("0f5c", f"'0f5c' is not a whole id; did you mean '{ONE}'?", 2),
        (f"of{ONE[2:]}", f"did you mean '{ONE}'?", 1),
        ("77ab10", f"is the beginning of several: {TWO}, {THREE}", 2),
        ("nowhere", "no session 'nowhere' has said anything that is kept.", 1),
    ],
)
def test_a_session_is_named_as_a_person_has_it(host: Host, asked: str, told: str, code: int) -> None:
    for session in (ONE, TWO, THREE):
        host.write(session, "user", f"{TOLD} So says {session}.")
        host.give("Stop", session)
    host.settle()
    done = host.command("forget", "--session", asked)
    assert told in done.err
    assert done.code == code
    assert len(host.texts()) == (2 if code == 0 else 3)


def test_the_items_of_a_session_are_named_as_a_person_has_it(host: Host) -> None:
    kept = {"id": "aa11", "content": "The ferry leaves at nine.", "origin": {"by": "user", "session": ONE}}
    defaults = {"scope": "default", "tags": [], "agent": "main", "kind": "fact", "pending": False, "reinforced": 0}
    times = {"created": 1.0, "updated": 1.0, "said": 1.0, "recalled": None, "supersededBy": None}
    assert host.command("items", "import", "-", feed=json.dumps({**kept, **defaults, **times}) + "\n").code == 0
    assert "The ferry leaves at nine." in host.command("items", "list", "--session", ONE[:8]).out
    assert "not a whole id" in host.command("items", "list", "--session", ONE[:4]).err
    assert host.command("items", "list", "--session", "s9").out == "No such items.\n"
    assert "1 item would be deleted" in host.command("items", "forget", "--session", ONE[:8], "--dry-run").out


def test_forget_with_an_id_alone_names_the_option(host: Host) -> None:
    for given in (ONE, ONE[:8]):
        assert host.command("forget", given).error.endswith(f"memory-core forget --session {given}")
    for given in ("the ferry", "facade"):
        assert "items forget ID" in host.command("forget", given).error


def test_what_is_recalled_of_a_session_has_its_project_and_day(host: Host) -> None:
    host.write("s1", "user", "When does the ferry to Kinsale leave?")
    host.give("Stop", cwd="/home/me/boats")
    host.write("s2", "user", TOLD)
    host.give("Stop", "s2", cwd="/home/me/boats")
    host.settle()
    assert host.finds("When does the ferry to Kinsale leave?", TOLD)
    told = host.give("UserPromptSubmit", "s3", prompt="When does the ferry to Kinsale leave?").out
    assert TOLD in told
    assert "(boats, 2999-03-01):" in told
    assert "User: When" not in told


def test_a_session_that_is_gone_takes_no_other_with_it_whose_id_begins_so(host: Host) -> None:
    for session in ("session-1", "session-10"):
        host.write(session, "user", f"{TOLD} So says {session}.")
        host.give("Stop", session)
    host.settle()
    assert host.command("forget", "--session", "session-1").code == 0
    again = host.command("forget", "--session", "session-1")
    assert again.code == 2
    assert "did you mean 'session-10'?" in again.err
    assert host.texts() == [f"{TOLD} So says session-10."]


def test_a_hook_takes_relative_paths_from_the_folder_of_its_process(host: Host) -> None:
    words = [*host.command.start(), "--workspace", os.path.relpath(host.command.workspace, REPOSITORY), "hook"]
    event = host.make_event("SessionStart", "s1", cwd=str(host.command.workspace))
    done = run(words, host.command.variables(), feed=event)
    assert (done.code, done.err) == (0, "")


def test_a_forgotten_session_leaves_no_byte_in_the_index(host: Host) -> None:
    for session, text in (("s1", "Remember that Walrus Paradox is our team name."), ("s2", "The pier has 40 lamps.")):
        host.write(session, "user", text)
        host.give("Stop", session)
    host.settle()
    assert host.command("index").code == 0
    index = next(host.command.state_dir.rglob("main-*[0-9a-f].sqlite"))

    def holds() -> bool:
        files = [path for path in host.command.state_dir.rglob("*") if path.is_file()]
        return any(b"alrus" in path.read_bytes().lower() for path in files)

    assert holds()
    with closing(sqlite3.connect(index)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM sqlite_schema").fetchall()
        told = host.command("forget", "--session", "s1", "--json").json["remains"]
        assert [each for each in told if "another program reads it" in each]
    assert host.command("forget", "--session", "s1").code == 1  # again, as the sentence says
    assert not holds()
    assert host.command("search", "how many lamps has the pier", "--json").json["results"]


def test_the_doctor_tells_of_the_journal(host: Host) -> None:
    def find() -> list[tuple[str, str]]:
        found = host.command("doctor", "--json").json["findings"]
        return [(each["level"], each["message"]) for each in found if each["subject"] == "journal"]

    folder = host.journal.folder
    assert find() == [("ok", f"0 sessions in {folder}, for 90 days")]
    host.give("SessionStart")
    host.settle()
    host.write("s1", "user", TOLD)
    assert find()[1:] == [("warn", "transcripts hold 1 message that it lacks")]
    host.journal.record_problem("no space left")
    assert host.command("index").code == 0
    ((_, first), (level, problem)) = find()
    assert first.startswith("1 session in ")
    assert (level, problem.rpartition(": ")[2]) == ("warn", "no space left")


def test_capture_is_switched_on_by_the_installation(command: Command, tmp_path: Path) -> None:
    home, config = tmp_path / "home", tmp_path / "own.json5"
    variables = {"HOME": str(home), "CLAUDE_CONFIG_DIR": ""}
    config.write_text("// mine\n{ memorySearch: { items: { enabled: true } } }\n", encoding="utf-8")
    for _ in range(2):
        assert command("--config", str(config), "install", "claude-code", "--capture", environment=variables).code == 0
        text = config.read_text(encoding="utf-8")
        assert text.startswith("// mine\n")
        with open_memory(config, workspace=command.workspace, state_dir=command.state_dir) as memory:
            search = memory.config().search
            assert (search.items.enabled, search.items.capture.enabled, search.items.capture.journal) == (True,) * 3
            assert search.recall.enabled
    hooks = (home / ".claude" / "skills" / "memory-core" / "hooks" / "hooks.json").read_text(encoding="utf-8")
    assert f"--config {config}" in hooks


def test_without_a_named_configuration_capture_is_switched_on_in_the_users_own(
    command: Command, tmp_path: Path
) -> None:
    variables = {"HOME": str(tmp_path / "home"), "CLAUDE_CONFIG_DIR": "", "MEMORY_CORE_CONFIG": ""}
    own = command.state_dir / "memory-core" / "config.json5"
    assert command("install", "claude-code", "--capture", environment=variables).code == 0
    assert '"journal": true' in own.read_text(encoding="utf-8")
    hooks = (tmp_path / "home" / ".claude" / "skills" / "memory-core" / "hooks" / "hooks.json").read_text(
        encoding="utf-8"
    )
    assert "--config" not in hooks, "the user's own holds without being named"
    assert command("config", "set", "memorySearch.query.maxResults", "9", environment=variables).code == 0
    assert command("uninstall", "claude-code", environment=variables).code == 0
    kept = own.read_text(encoding="utf-8")
    assert ("journal" in kept, '"maxResults": 9' in kept) == (False, True)


@pytest.mark.parametrize("host", ["cursor", "openclaw"])
def test_a_host_that_hands_on_no_turns_turns_nothing_on(command: Command, tmp_path: Path, host: str) -> None:
    variables = {"HOME": str(tmp_path / "home"), "MEMORY_CORE_CONFIG": ""}
    done = command("install", host, "--capture", environment=variables)
    assert (done.code, "hands on no turns" in done.error, "is in place" in done.out) == (0, True, True)
    assert not (command.state_dir / "memory-core" / "config.json5").exists()


@pytest.mark.parametrize(
    "before",
    [
        "// mine\n{ memorySearch: { items: { enabled: true } } }\n",
        "{ memorySearch: { recall: { enabled: true, timeoutMs: 400 }, items: { capture: { journal: false } } } }",
        "{ agents: { defaults: { memorySearch: { provider: 'none' } } } }",
        '[memorySearch]\nprovider = "none"  # mine\n',
        None,
    ],
)
def test_uninstalling_turns_off_what_the_installation_has_turned_on(
    command: Command, tmp_path: Path, before: str | None
) -> None:
    home, config = tmp_path / "home", tmp_path / ("own.toml" if before and before.startswith("[") else "own.json5")
    variables = {"HOME": str(home), "CLAUDE_CONFIG_DIR": "", "CODEX_HOME": str(home / ".codex")}
    if before is not None:
        config.write_text(before, encoding="utf-8")
    for host in ("claude-code", "codex", "claude-code"):
        done = command("--config", str(config), "install", host, "--capture", environment=variables)
        assert done.code == 0
    assert "will be kept on this machine" not in done.err, "it is on"
    assert command("uninstall", "claude-code", environment=variables).code == 0
    assert "journal" in config.read_text(encoding="utf-8"), "codex needs it"
    assert "what was kept of sessions" in command("uninstall", "codex", environment=variables).out
    assert (config.read_text(encoding="utf-8") if config.exists() else None) == before
    kept = command.state_dir / "memory-core" / "before-install"
    assert not kept.exists()


def test_uninstalling_keeps_what_was_changed_and_turned_on_by_others(command: Command, tmp_path: Path) -> None:
    config, variables = tmp_path / "own.json5", {"HOME": str(tmp_path / "home"), "CLAUDE_CONFIG_DIR": ""}
    config.write_text("{ memorySearch: { recall: { enabled: true } } }\n", encoding="utf-8")
    asked = command("--config", str(config), "install", "claude-code", "--capture", environment=variables)
    assert "put beside later messages" in asked.err, "it says what that means"
    text = config.read_text(encoding="utf-8")
    config.write_text(f"// later\n{text}", encoding="utf-8")
    assert command("uninstall", "claude-code", environment=variables).code == 0
    text = config.read_text(encoding="utf-8")
    assert text.startswith("// later\n")
    with open_memory(config, workspace=command.workspace, state_dir=command.state_dir) as memory:
        search = memory.config().search
        assert (search.recall.enabled, search.items.capture.journal, search.items.capture.enabled) == (
            True,
            False,
            False,
        )


def test_a_state_folder_that_cannot_be_written_keeps_no_host_from_going_on(host: Host, tmp_path: Path) -> None:
    host.write("s1", "user", TOLD)
    file = tmp_path / "file"
    file.write_text("", encoding="utf-8")
    broken = Host(replace(host.command, state_dir=file), tmp_path / "other")
    broken.projects = host.projects
    assert broken.give("Stop").code == 0


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="processes are found in /proc")
def test_kills_of_hooks_and_of_what_runs_behind_lose_and_repeat_nothing(host: Host) -> None:
    """MEMORY_CORE_TEST_KILLS says how many hooks are killed."""
    chance, said = random.Random(11), []
    for session in ("s1", "s2"):
        host.give("SessionStart", session)
    begun = time.monotonic()
    host.give("Stop", "s1")
    whole = time.monotonic() - begun  # of a hook; what it leaves behind then goes on
    for number in range(ROUNDS):
        session = chance.choice(["s1", "s2"])
        said.append(f"Number {number} of what is said.")
        host.write(session, chance.choice(["user", "assistant"]), said[-1])
        environment = {**host.command.variables(), "PATH": "/nowhere"}
        words = [*host.command.start(), "hook"]
        null = subprocess.DEVNULL
        with subprocess.Popen(words, env=environment, stdin=subprocess.PIPE, stdout=null, stderr=null) as hook:
            assert hook.stdin is not None
            hook.stdin.write(host.make_event("Stop", session).encode())
            hook.stdin.close()
            time.sleep(chance.uniform(0.2, 2.5) * whole)
            hook.kill()
        for process in host.find_behind():
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
    host.give("SessionStart", "s3")
    host.settle()
    assert sorted(host.texts()) == sorted(said)
    host.settle()
    assert host.command("index").code == 0
    assert host.finds(f"Number {ROUNDS - 1} of what is said", said[-1])
