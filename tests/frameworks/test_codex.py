"""Codex's own command line (npm), with the entry that `memory-core install codex` writes."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.frameworks.conftest import read_daily
from tests.frameworks.programs import SAVE, Program, find_npm_program, kill_while_it_stores, needs_proc
from tests.servers.chat import REMEMBER, ChatServer

pytestmark = pytest.mark.skipif(
    "codex" not in os.environ.get("TEST_HOSTS_NPM", ""), reason="make test-hosts installs Codex"
)


@pytest.fixture
def codex(notes: Path, tmp_path: Path, server: ChatServer) -> Program:
    home = tmp_path / "codex"
    home.mkdir()
    provider = f'name = "rules"\nbase_url = "{server.url}"\nwire_api = "responses"\nenv_key = "OPENAI_API_KEY"\n'
    written = f'model = "rules"\nmodel_provider = "rules"\n\n[model_providers.rules]\n{provider}'
    (home / "config.toml").write_text(written, encoding="utf-8")
    variables = {"CODEX_HOME": str(home), "MEMORY_CORE_STATE_DIR": str(tmp_path / "state")}
    program = Program([Path(sys.executable).with_name("memory-core")], notes, variables)
    assert "in place in Codex" in program.ask("--workspace", str(notes), "install", "codex")
    (codex,) = find_npm_program("@openai").glob("codex-*/vendor/*/bin/codex")
    return Program([codex, "exec", "--skip-git-repo-check"], notes, variables)


def test_it_finds_and_appends_in_its_first_turn(codex: Program, server: ChatServer, notes: Path) -> None:
    assert "31 May" in codex.ask("When does the lease of the boat house end?")
    assert server.kinds["search"] == 1
    codex.ask(f"{REMEMBER}the cat is called Minka")
    assert server.kinds["append"] == 1
    assert "the cat is called Minka" in read_daily(notes)


@needs_proc
def test_killed_while_it_waits_it_leaves_no_process_and_no_lock(
    codex: Program, server: ChatServer, notes: Path
) -> None:
    kill_while_it_stores(codex, server, notes, SAVE)
