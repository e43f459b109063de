"""Claude Code's own command line, as its Python package bundles it, with the plugin."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from memory_core.hosts.hooks import APPEND
from tests.command import REPOSITORY
from tests.frameworks.conftest import FACTS, NOTE, assert_saved_once_before_each, read_daily
from tests.frameworks.programs import (
    ENDED_WITH_SECRET,
    KEEPS,
    KILLED,
    SECONDS,
    Program,
    Terminal,
    assert_both_are_recalled,
    capture,
    kill_when_it_prints,
    kill_while_it_stores,
    needs_proc,
)
from tests.integration.test_destinations import make_project
from tests.machines import git
from tests.servers.chat import REMEMBER, ChatServer
from tests.waiting import eventually

sdk: Any = pytest.importorskip("claude_agent_sdk", reason="make test-hosts installs it")

PLUGIN = REPOSITORY / "memory_core" / "hosts" / "claude_code" / "plugin"
ALLOWED = ",".join(APPEND.replace("memory_append", name) for name in ("memory_search", "memory_append"))


@pytest.fixture
def claude(notes: Path, home: Path, tmp_path: Path, server: ChatServer) -> Program:
    variables = {
        "ANTHROPIC_BASE_URL": server.origin,
        "ANTHROPIC_API_KEY": "placeholder",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "MEMORY_CORE_STATE_DIR": str(tmp_path / "state"),
    }
    ours = Program([Path(sys.executable).with_name("memory-core")], notes, variables)
    assert "in place in Claude Code" in ours.ask("install", "claude-code")
    program = Path(sdk.__file__).parent / "_bundled" / "claude"
    return Program([program, "--allowedTools", ALLOWED], notes, variables)


def test_the_plugin_is_valid(claude: Program) -> None:
    assert "Validation passed" in Program(claude.words[:1], claude.folder, {}).ask("plugin", "validate", str(PLUGIN))


def test_it_finds_appends_and_saves_once_before_each_compaction(
    claude: Program, server: ChatServer, notes: Path
) -> None:
    assert "31 May" in claude.ask("-p", "When does the lease of the boat house end?")
    assert NOTE in json.dumps(server.requests[0]), "the notes stand at the start of the session"
    claude.ask("-p", "-c", f"{REMEMBER}the cat is called Minka")
    assert "the cat is called Minka" in read_daily(notes)
    for number, fact in enumerate(FACTS, start=1):
        server.stores = fact
        claude.ask("-p", "-c", "/compact")
        assert_saved_once_before_each(server, notes, number, summaries=True)
        claude.ask("-p", "-c", "How are you?")
    assert "4711" in claude.ask("-p", "-c", "Which number has the archive box?")


def test_the_users_own_hooks_do_not_run_in_the_copy(
    claude: Program, server: ChatServer, home: Path, tmp_path: Path
) -> None:
    log = tmp_path / "prompts"
    hooks = {"UserPromptSubmit": [{"hooks": [{"type": "command", "command": f"cat >> {log}"}]}]}
    (home / ".claude" / "settings.json").write_text(json.dumps({"hooks": hooks}), encoding="utf-8")
    claude.ask("-p", "When does the lease of the boat house end?")
    assert "When does the lease" in log.read_text(encoding="utf-8")
    server.stores = FACTS[0]
    claude.ask("-p", "-c", "/compact")
    assert server.kinds["store"] == 1
    assert "NO_REPLY" not in log.read_text(encoding="utf-8")


def test_it_is_loaded_until_it_is_uninstalled(claude: Program) -> None:
    ours = Program([Path(sys.executable).with_name("memory-core")], claude.folder, claude.variables)
    program = Program(claude.words[:1], claude.folder, claude.variables)
    assert "memory-core@skills-dir" in program.ask("plugin", "list")
    ours.ask("uninstall", "claude-code")
    assert "memory-core" not in program.ask("plugin", "list")


def test_recall_is_one_key(claude: Program, server: ChatServer, notes: Path, tmp_path: Path) -> None:
    (notes / "memory").mkdir()
    (notes / "memory" / "2020-01-01.md").write_text("The anchor lies in the shed.\n", encoding="utf-8")
    config = tmp_path / "config.json5"
    config.write_text("{memorySearch: {recall: {enabled: true}}}", encoding="utf-8")
    claude.variables["MEMORY_CORE_PROVIDER"] = "static"
    claude.ask("-p", "Where does the anchor lie?")
    assert "The anchor lies" not in json.dumps(server.requests[0])
    claude.variables["MEMORY_CORE_CONFIG"] = str(config)
    number = len(server.requests)
    claude.ask("-p", "Where does the anchor lie?")
    assert "The anchor lies in the shed." in json.dumps(server.requests[number])


def test_a_session_that_ended_and_one_that_was_killed_are_recalled(
    claude: Program, server: ChatServer, home: Path, tmp_path: Path
) -> None:
    capture(claude, "claude-code", tmp_path / "config.json5")
    # As if its first steps had been taken.
    known = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}
    key = {"approved": [claude.variables["ANTHROPIC_API_KEY"]], "rejected": []}
    settings = {"hasCompletedOnboarding": True, "customApiKeyResponses": key, "projects": {str(claude.folder): known}}
    (home / ".claude.json").write_text(json.dumps(settings), encoding="utf-8")
    terminal = Terminal(claude)
    terminal.wait_for("❯")
    terminal.type_line(ENDED_WITH_SECRET)
    assert eventually(lambda: server.kinds["answer"], seconds=SECONDS)
    terminal.type_line("/exit")
    terminal.end()
    message = {"type": "user", "message": {"role": "user", "content": KILLED}}
    words = ("-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose")
    kill_when_it_prints(claude, '"type":"result"', *words, given=json.dumps(message).encode() + b"\n")
    assert_both_are_recalled(lambda text: claude.ask("-p", text), server, tmp_path / "state", claude.folder)


def test_each_project_knows_what_belongs_to_it_and_to_the_person(
    claude: Program, server: ChatServer, home: Path, tmp_path: Path
) -> None:
    """The journal keeps all that is said, so that a secret could leave its project in either way."""
    code = home / "code"
    shop, other = make_project(code / "shop", remote=True), make_project(code / "other")
    secret = make_project(code / "secret", told="private = true")
    hare, fox = code / "hare", shop / ".claude" / "worktrees" / "fox"
    for worktree in (hare, fox):
        git(shop, "worktree", "add", "-q", str(worktree), "-b", worktree.name)
    config = tmp_path / "config.json5"
    config.write_text(json.dumps(KEEPS), encoding="utf-8")
    variables = {**claude.variables, "MEMORY_CORE_PROVIDER": "static", "MEMORY_CORE_CONFIG": str(config)}

    def ask(folder: Path, text: str) -> tuple[str, str]:
        """Ask in a new session; return the answer and all that the model has seen."""
        number = len(server.requests)
        answer = Program(claude.words, folder, {**variables, "PWD": str(folder)}).ask("-p", text)
        return answer, json.dumps(server.requests[number:])

    ask(hare, f"{REMEMBER}we decided to keep the carts in Redis")
    server.script = [(APPEND, {"text": "- I write commit messages in English.", "target": "person"})]
    ask(hare, "Write down what I have just told you, for all projects.")
    ask(secret, f"{REMEMBER}the merger partner is Halcyon")

    assert "Redis" in ask(fox, "Where do we keep the carts?")[0]
    assert "English" in ask(other, "In which language do I write commit messages?")[0]
    partner = "Who is the merger partner?"
    assert "Halcyon" in ask(secret, partner)[0]
    for folder in (fox, other):
        assert "Halcyon" not in "".join(ask(folder, partner))
    assert [*shop.rglob("*.md")] == [shop / "MEMORY.md"], "what others get was not written"


def test_a_compaction_goes_on_where_nothing_can_be_saved(claude: Program, server: ChatServer, notes: Path) -> None:
    claude.ask("-p", "When does the lease of the boat house end?")
    claude.variables["MEMORY_CORE_STATE_DIR"] = "/proc/none"
    server.stores = "- lost"
    claude.ask("-p", "-c", "/compact")
    assert server.kinds["summary"]


@needs_proc
def test_killed_in_the_middle_of_a_compaction_it_leaves_no_process_and_no_lock(
    claude: Program, server: ChatServer, notes: Path
) -> None:
    claude.ask("-p", "When does the lease of the boat house end?")
    kill_while_it_stores(claude, server, notes, "-p", "-c", "/compact")
