"""nanobot's own command line with the entry that `memory-core install nanobot` writes.

nanobot takes version 1 of the package mcp, the server needs version 2: the server runs in the environment of the tests.
"""

from __future__ import annotations

import json
import os
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.frameworks.conftest import read_daily
from tests.frameworks.programs import SAVE, Program, kill_while_it_stores, needs_proc
from tests.servers.chat import REMEMBER, ChatServer

pytestmark = pytest.mark.skipif(find_spec("nanobot") is None, reason="make test-hosts installs nanobot")


@pytest.fixture
def nanobot(notes: Path, home: Path, tmp_path: Path, server: ChatServer) -> Program:
    config = {
        "agents": {"defaults": {"workspace": str(tmp_path / "nanobot"), "model": "rules", "provider": "custom"}},
        "providers": {"custom": {"apiKey": "placeholder", "apiBase": server.url}},
    }
    (home / ".nanobot").mkdir()
    (home / ".nanobot" / "config.json").write_text(json.dumps(config), encoding="utf-8")
    variables = {"MEMORY_CORE_STATE_DIR": str(tmp_path / "state")}
    ours = Program([os.environ["TEST_HOSTS_PYTHON"], "-m", "memory_core"], notes, variables)
    assert "in place in nanobot" in ours.ask("--workspace", str(notes), "install", "nanobot")
    return Program([Path(sys.executable).with_name("nanobot"), "agent", "-s", "s1", "-m"], notes, variables)


def test_it_finds_and_appends(nanobot: Program, notes: Path) -> None:
    assert "31 May" in nanobot.ask("When does the lease of the boat house end?")
    nanobot.ask(f"{REMEMBER}the cat is called Minka")
    assert "the cat is called Minka" in read_daily(notes)


@needs_proc
def test_killed_while_it_waits_it_leaves_no_process_and_no_lock(
    nanobot: Program, server: ChatServer, notes: Path
) -> None:
    kill_while_it_stores(nanobot, server, notes, SAVE)
