"""`memory-core hook`, as Claude Code calls it; the real program is in tests/frameworks."""

from __future__ import annotations

import json
import os
import re
import socket
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from memory_core.__about__ import __version__
from memory_core.hosts import hooks
from memory_core.hosts.events import SAVING, Event
from memory_core.hosts.hooks import Copying
from memory_core.text.paragraphs import is_recalled
from memory_core.tools.shown import FINGERPRINTS, SESSIONS, Shown
from tests.command import REPOSITORY, Command, Outcome, run
from tests.hosts.mcp_server import Server
from tests.waiting import eventually

CLAUDE = Copying("claude", "CLAUDE_PID", hooks.copy_claude_code)
EVENT = Event(host="claude-code", name="PreCompact", kind="compact", session="s1")
PLUGIN = REPOSITORY / "memory_core" / "hosts" / "claude_code" / "plugin"


def give(command: Command, event: object, **variables: str) -> Outcome:
    """Run the hook with an event; there is no Claude Code on the path."""
    given = event if isinstance(event, str) else json.dumps(event)
    return command("hook", environment={"PATH": "/nowhere", **variables}, feed=given)


def test_a_session_starts_with_the_notes(command: Command) -> None:
    (command.workspace / "MEMORY.md").write_text("The fence is green.\n", encoding="utf-8")
    done = give(command, {"hook_event_name": "SessionStart", "session_id": "s1", "source": "startup"})
    said = done.json["hookSpecificOutput"]
    assert said["hookEventName"] == "SessionStart"
    assert "> The fence is green." in said["additionalContext"]
    assert done.err == ""


def test_copilot_takes_the_notes_from_the_answer_itself(command: Command) -> None:
    (command.workspace / "MEMORY.md").write_text("The fence is green.\n", encoding="utf-8")
    event = json.dumps({"hook_event_name": "SessionStart", "session_id": "s1", "source": "new", "cwd": "/"})
    done = command("hook", "copilot", environment={"PATH": "/nowhere"}, feed=event)
    assert done.json.keys() == {"additionalContext"}
    assert "> The fence is green." in done.json["additionalContext"]


@pytest.mark.parametrize(
    "given",
    [
        '\ufeff{"hook_event_name": "SessionStart", "session_id": "s1"}\r\n',
        '{"hook_event_name": "SessionStart", "session_id": "s\\ud83d", "x": "\\udc00"}',
        '{"hook_event_name": "SessionStart", "session_id": "s1", "x": "a\tb\u2028c"}',
    ],
    ids=["mark", "half a surrogate", "control characters"],
)
def test_what_strict_json_forbids_is_understood(command: Command, given: str) -> None:
    (command.workspace / "MEMORY.md").write_text("The fence is green.\n", encoding="utf-8")
    done = give(command, given)
    assert "> The fence is green." in done.json["hookSpecificOutput"]["additionalContext"]
    assert done.err == ""


def test_a_host_speaks_utf8_whatever_the_encoding_of_pipes(command: Command, tmp_path: Path) -> None:
    """As on Windows, where Python takes that of the system."""
    folder = tmp_path / "Jörg Müller"
    folder.mkdir()
    (folder / "MEMORY.md").write_text("Das Tor ist grün → 7.\n", encoding="utf-8")
    event = json.dumps({"hook_event_name": "SessionStart", "session_id": "s1", "cwd": str(folder)}, ensure_ascii=False)
    variables = {**command.variables(), "PATH": "/nowhere", "PYTHONIOENCODING": "cp1252", "PYTHONUTF8": "0"}
    done = run(
        [sys.executable, "-m", "memory_core", "--state-dir", str(command.state_dir), "hook"], variables, feed=event
    )
    assert "> Das Tor ist grün → 7." in done.json["hookSpecificOutput"]["additionalContext"], done.err


def test_notes_are_cut_to_what_claude_code_shows(command: Command) -> None:
    (command.workspace / "MEMORY.md").write_text("The fence is green.\n\n" * 1000, encoding="utf-8")
    done = give(command, {"hook_event_name": "SessionStart", "session_id": "s1"})
    assert 5_000 < len(done.json["hookSpecificOutput"]["additionalContext"]) <= 10_000


def test_nothing_is_recalled_unless_it_is_switched_on(command: Command, tmp_path: Path) -> None:
    (command.workspace / "memory" / "2020-01-01.md").write_text("The anchor lies in the shed.\n", encoding="utf-8")
    event = {"hook_event_name": "UserPromptSubmit", "session_id": "s1", "prompt": "Where does the anchor lie?"}
    assert give(command, event) == Outcome(0, "", "")
    config = tmp_path / "config.json5"
    config.write_text("{memorySearch: {recall: {enabled: true}}}", encoding="utf-8")
    assert command("index").code == 0
    said = give(command, event, MEMORY_CORE_CONFIG=str(config)).json["hookSpecificOutput"]
    assert "The anchor lies in the shed." in said["additionalContext"]
    half = {**event, "session_id": "s2", "prompt": f"{event['prompt']} \ud83d"}
    said = give(command, half, MEMORY_CORE_CONFIG=str(config)).json["hookSpecificOutput"]
    assert "The anchor lies in the shed." in said["additionalContext"]
    slash = {**event, "prompt": "/help where does the anchor lie"}
    assert give(command, slash, MEMORY_CORE_CONFIG=str(config)).out == ""


@pytest.fixture
def recalling(command: Command, tmp_path: Path) -> Callable[..., str]:
    """Run a hook with recall on, and return what it shows the model."""
    (command.workspace / "memory" / "2020-01-01.md").write_text("The anchor lies in the shed.\n", encoding="utf-8")
    (command.workspace / "MEMORY.md").write_text("The fence of the sheepfold is green.\n", encoding="utf-8")
    config = tmp_path / "config.json5"
    config.write_text("{memorySearch: {recall: {enabled: true}}}", encoding="utf-8")
    assert command("index").code == 0

    def run_event(name: str, prompt: str = "", session: str = "s1", **variables: str) -> str:
        event = {"hook_event_name": name, "session_id": session, "prompt": prompt}
        done = give(command, event, MEMORY_CORE_CONFIG=str(config), **variables)
        assert (done.code, done.err) == (0, "")
        answer = done.json if done.out else {}
        return str(answer.get("hookSpecificOutput", {}).get("additionalContext", ""))

    return run_event


ANCHOR, FENCE = "Where does the anchor lie?", "Which colour has the fence of the sheepfold?"


def test_nothing_is_recalled_twice_in_a_session(recalling: Callable[..., str]) -> None:
    assert "The anchor lies in the shed." in recalling("UserPromptSubmit", ANCHOR)
    assert "The anchor lies" not in recalling("UserPromptSubmit", ANCHOR)
    assert "The anchor lies in the shed." in recalling("UserPromptSubmit", ANCHOR, session="s2")
    assert "sheepfold is green" in recalling("UserPromptSubmit", FENCE)
    assert "sheepfold is green" in recalling("SessionStart"), "the context begins anew, with the notes"
    assert "sheepfold" not in recalling("UserPromptSubmit", FENCE), "which have been shown already"
    assert "The anchor lies in the shed." in recalling("UserPromptSubmit", ANCHOR)
    recalling("PreCompact")
    assert "The anchor lies in the shed." in recalling("UserPromptSubmit", ANCHOR)


def test_what_has_been_shown_is_kept_for_the_last_sessions_only(tmp_path: Path) -> None:
    folder = tmp_path / "shown"
    for number in range(SESSIONS + 3):
        Shown(folder).add(f"s{number}", ["The fence is green."])
        for path in folder.glob("*.shown"):  # file systems tell the time of changes coarsely
            os.utime(path, (number, number) if path.stat().st_mtime > number else None)
    assert len(list(folder.glob("*.shown"))) == SESSIONS
    shown, last = Shown(folder), f"s{SESSIONS + 2}"
    assert is_recalled("> The fence is green.", shown.of(last))
    shown.add(last, [f"Line {number}." for number in range(FINGERPRINTS)])
    assert len(shown.of(last)) == FINGERPRINTS
    assert not is_recalled("The fence is green.", shown.of(last))
    assert not any(b"fence" in path.read_bytes() for path in folder.glob("*")), "no text is kept"


def test_a_file_that_cannot_be_used_keeps_nothing_from_being_recalled(
    recalling: Callable[..., str], command: Command
) -> None:
    recalling("UserPromptSubmit", ANCHOR)
    (path,) = (command.state_dir / "memory-core" / "main.shown").glob("*.shown")
    path.write_bytes(b"\xff\x00 damaged\n")
    assert "The anchor lies in the shed." in recalling("UserPromptSubmit", ANCHOR)
    assert "The anchor lies" not in recalling("UserPromptSubmit", ANCHOR)
    path.unlink()
    path.mkdir()
    assert "The anchor lies in the shed." in recalling("UserPromptSubmit", ANCHOR)


def test_a_compaction_without_claude_says_so_and_goes_on(command: Command) -> None:
    done = give(command, {"hook_event_name": "PreCompact", "session_id": "s1", "trigger": "auto"})
    assert done.code == 0
    assert "no notes were saved before this compaction: the command claude was not found" in done.json["systemMessage"]


def test_the_copy_that_saves_gets_no_hooks(command: Command) -> None:
    for name in ("SessionStart", "UserPromptSubmit", "PreCompact", "SessionEnd"):
        event = {"hook_event_name": name, "session_id": "s1", "prompt": "What does PRS-2209 complain about?"}
        assert give(command, event, **{SAVING: "1"}) == Outcome(0, "", "")


def test_the_copy_that_saves_writes_the_note_of_the_turns_day_only(command: Command, tmp_path: Path) -> None:
    said = "The boiler was serviced."
    file = tmp_path / "saving"
    file.write_text("2020-02-29\n", encoding="utf-8")  # the turn was planned before a midnight
    with Server(command, **{SAVING: str(file)}) as server:
        server.greet()
        server.send("tools/call", 2, name="memory_append", arguments={"text": said, "target": "longterm"})
        refused = server.receive_until(2)["result"]["structuredContent"]
        server.send("tools/call", 3, name="memory_append", arguments={"text": said})
        stored = server.receive_until(3)["result"]["structuredContent"]
    assert refused["error"].startswith("MEMORY.md: is written in the main private session only")
    assert said in (command.workspace / "memory" / "2020-02-29.md").read_text(encoding="utf-8")
    assert stored["path"] == "memory/2020-02-29.md"
    assert file.read_text(encoding="utf-8").splitlines() == ["2020-02-29", "memory/2020-02-29.md"]
    assert not any(said in note.read_text("utf-8") for note in command.workspace.glob("*.md"))


def test_the_end_of_a_session_indexes_what_has_changed(command: Command) -> None:
    assert give(command, {"hook_event_name": "SessionEnd", "session_id": "s1"}) == Outcome(0, "", "")
    assert eventually(lambda: command("status", "--json").json["files"])


def test_the_end_of_a_session_is_not_delayed_by_the_index(command: Command, tmp_path: Path) -> None:
    """The address never answers; who waited for the index would have closed its connection when the hook has ended."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        config = tmp_path / "config.json5"
        remote = {"baseUrl": f"http://127.0.0.1:{silent.getsockname()[1]}", "apiKey": "placeholder"}
        search = {"provider": "openai", "model": "text-embedding-3-small", "remote": remote}
        config.write_text(json.dumps({"memorySearch": search}), encoding="utf-8")
        given = {"MEMORY_CORE_CONFIG": str(config), "MEMORY_CORE_PROVIDER": "openai"}
        event = {"hook_event_name": "SessionEnd", "session_id": "s1"}
        assert give(command, event, **given) == Outcome(0, "", "")
        silent.settimeout(60)
        asking, _ = silent.accept()
        with asking:
            asking.setblocking(False)
            assert eventually(lambda: is_asking(asking))


@pytest.mark.parametrize(
    ("search", "message"),
    [
        ('provider: "openai", fallback: "none"', "openai: there is no API key"),
        ('store: {path: "/dev/null/index.sqlite"}', "/dev/null"),
    ],
)
def test_the_doctor_tells_of_an_index_that_failed(command: Command, tmp_path: Path, search: str, message: str) -> None:
    def find() -> list[dict[str, str]]:
        return [each for each in command("doctor", "--json").json["findings"] if each["subject"] == "last index"]

    assert command("index").code == 0
    assert find() == []
    config = tmp_path / "config.json5"
    config.write_text(f"{{memorySearch: {{{search}}}}}", encoding="utf-8")
    provider = "openai" if "openai" in search else "static"
    event = {"hook_event_name": "SessionEnd", "session_id": "s1"}
    done = give(command, event, MEMORY_CORE_CONFIG=str(config), MEMORY_CORE_PROVIDER=provider)
    assert done == Outcome(0, "", "")
    assert eventually(find)
    (found,) = find()
    assert found["level"] == "warn"
    assert re.match(r"the last `memory-core index` complained at 20\d\d-\d\d-\d\dT\S+: ", found["message"])
    assert message in found["message"]
    other = [each["subject"] for each in command("--workspace", str(tmp_path), "doctor", "--json").json["findings"]]
    assert "last index" not in other, "these are notes that it has not indexed"
    assert command("index").code == 0
    assert find() == []


def is_asking(asking: socket.socket) -> bool:
    """Something is said on a connection; fails if it has been closed."""
    try:
        return bool(asking.recv(1 << 16))
    except BlockingIOError:
        return False


@pytest.mark.parametrize("name", ["SessionStart", "UserPromptSubmit", "PreCompact", "SessionEnd"])
def test_hooks_say_nothing_while_memory_is_off(command: Command, tmp_path: Path, name: str) -> None:
    config = tmp_path / "config.json5"
    config.write_text("{memorySearch: {enabled: false}}", encoding="utf-8")
    event = {"hook_event_name": name, "session_id": "s1", "prompt": "What does PRS-2209 complain about?"}
    assert give(command, event, MEMORY_CORE_CONFIG=str(config)) == Outcome(0, "", "")


@pytest.mark.parametrize("given", ["", "no JSON", "[]", "{}"])
def test_what_is_no_event_is_an_error_that_forbids_nothing(command: Command, given: str) -> None:
    done = give(command, given)
    assert done.code == 1, "to Claude Code, 2 forbids the prompt or the compaction"
    assert "expected the event of a hook, which is a JSON object" in done.error


def test_a_configuration_that_cannot_be_used_forbids_nothing(command: Command, tmp_path: Path) -> None:
    config = tmp_path / "config.json5"
    config.write_text("{memory: {backend: 7}}", encoding="utf-8")
    for name in ("SessionStart", "UserPromptSubmit", "PreCompact", "SessionEnd", "Unheard"):
        event = {"hook_event_name": name, "session_id": "s1", "prompt": "?"}
        assert give(command, event, MEMORY_CORE_CONFIG=str(config)).code in {0, 1}


def test_a_copy_does_not_outlive_claude_code(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The program stands for a copy that takes for ever; the one that would have started it has gone."""
    import subprocess

    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    monkeypatch.setenv("CLAUDE_PID", str(gone.pid))
    fake = tmp_path / "claude"
    fake.write_text("#!/bin/sh\nexec sleep 300\n", encoding="utf-8")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    from memory_core.plugin import MemorySlot
    from memory_core.records import CallContext

    with MemorySlot({"memorySearch": {"provider": "none"}}, workspace=tmp_path, state_dir=tmp_path / "state") as slot:
        assert hooks.save_notes(CLAUDE, EVENT, slot, CallContext.local("s1")) == "the host has ended"


def test_what_another_session_appends_meanwhile_is_not_taken_for_a_success(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from memory_core.plugin import MemorySlot
    from memory_core.records import CallContext

    (tmp_path / "memory").mkdir()
    fake = tmp_path / "claude"
    fake.write_text("#!/bin/sh\necho other >> memory/$(date +%F).md\nexit 3\n", encoding="utf-8")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.chdir(tmp_path)
    with MemorySlot({"memorySearch": {"provider": "none"}}, workspace=tmp_path, state_dir=tmp_path / "state") as slot:
        failure = hooks.save_notes(CLAUDE, EVENT, slot, CallContext.local("s1"))
    assert failure == "the copy of the session ended with status 3: it said nothing"


def test_the_plugin_has_our_version() -> None:
    manifest = json.loads((PLUGIN / ".claude-plugin" / "plugin.json").read_text(encoding="utf-8"))
    assert manifest["version"] == __version__


@pytest.mark.parametrize("name", ["SessionStart", "UserPromptSubmit", "SessionEnd"])
def test_a_configuration_that_cannot_be_used_is_told(command: Command, tmp_path: Path, name: str) -> None:
    """Else nobody knows why the notes are missing; 2 would forbid the prompt."""
    config = tmp_path / "wrong.json5"
    config.write_text("{ memorySerch: {} }")
    event = {"hook_event_name": name, "session_id": "s1", "prompt": "What does PRS-2209 complain about?"}
    done = give(command, event, MEMORY_CORE_CONFIG=str(config))
    assert (done.code, done.out) == (1, "")
    assert "memorySerch" in done.err


def test_what_a_killed_hook_has_left_is_removed(command: Command, tmp_path: Path) -> None:
    temporary = tmp_path / "temporary"
    left, running = (temporary / f"{hooks.PREFIX}{name}" for name in ("left", "running"))
    for folder in (left, running):
        folder.mkdir(parents=True)
        (folder / "saving").write_text("2020-02-29\n", encoding="utf-8")
    os.utime(left, (0, 0))
    give(command, {"hook_event_name": "PreCompact", "session_id": "s1"}, TMPDIR=str(temporary))
    assert list(temporary.iterdir()) == [running]


def test_the_reason_of_codex_is_its_error_and_no_line_of_a_backtrace(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from memory_core.plugin import MemorySlot
    from memory_core.records import CallContext

    fake = tmp_path / "codex"
    fake.write_text(
        "#!/bin/sh\necho 'Error: Session not found'\n[ $RUST_BACKTRACE = 0 ] || echo '10: <unknown>'\nexit 1\n"
    )
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setenv("RUST_BACKTRACE", "1")
    with MemorySlot({"memorySearch": {"provider": "none"}}, workspace=tmp_path, state_dir=tmp_path / "state") as slot:
        failure = hooks.save_notes(Copying("codex", "", hooks.copy_codex), EVENT, slot, CallContext.local("s1"))
    assert failure == "the copy of the session ended with status 1: Error: Session not found"
