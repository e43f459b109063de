"""Codex's own command line (npm), with the entry that `memory-core install codex` writes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from subprocess import PIPE
from typing import Any

import pytest

from tests.frameworks.conftest import (
    FACTS,
    NOTE,
    assert_recalled,
    assert_saved_once_before_each,
    read_daily,
    write_old_note,
)
from tests.frameworks.programs import (
    ENDED_WITH_SECRET,
    KILLED,
    SAVE,
    Program,
    assert_both_are_recalled,
    capture,
    find_npm_program,
    kill_when_it_prints,
    kill_while_it_stores,
    needs_proc,
)
from tests.servers.chat import REMEMBER, ChatServer
from tests.servers.wires import USED

pytestmark = pytest.mark.skipif(
    "codex" not in os.environ.get("TEST_HOSTS_NPM", ""), reason="make test-hosts installs Codex"
)


RESUME = ("resume", "--last", "--dangerously-bypass-hook-trust")  # a user trusts the hooks in Codex' own dialogue


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


def test_the_doctor_reads_what_it_keeps_of_trust(codex: Program, tmp_path: Path) -> None:
    """Its own list of hooks says under which names it keeps them; the doctor knows them by these."""
    config = Path(codex.variables["CODEX_HOME"]) / "config.toml"
    doctor = Program([Path(sys.executable).with_name("memory-core"), "doctor"], codex.folder, codex.variables)
    asked: list[dict[str, Any]] = [
        {"id": 1, "method": "initialize", "params": {"clientInfo": {"name": "test", "version": "1"}}},
        {"method": "initialized"},
        {"id": 2, "method": "hooks/list", "params": {"cwds": [str(tmp_path)]}},
    ]

    def list_hooks() -> list[dict[str, str]]:
        with subprocess.Popen(
            [codex.words[0], "app-server"], env=codex.variables, stdin=PIPE, stdout=PIPE, text=True
        ) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write("".join(json.dumps({"jsonrpc": "2.0", **each}) + "\n" for each in asked))
            process.stdin.flush()
            answers = map(json.loads, process.stdout)
            (found,) = next(answer for answer in answers if answer.get("id") == 2)["result"]["data"]
            process.kill()
        return list(found["hooks"])

    hooks = list_hooks()
    assert {hook["trustStatus"] for hook in hooks} == {"untrusted"}
    assert "before they are trusted: " in doctor().out
    tables = (f'\n[hooks.state."{hook["key"]}"]\ntrusted_hash = "{hook["currentHash"]}"\n' for hook in hooks)
    with config.open("a", encoding="utf-8") as file:
        file.writelines(tables)
    assert {hook["trustStatus"] for hook in list_hooks()} == {"trusted"}
    assert "before they are trusted: " not in doctor().out


def test_its_hooks_show_the_notes_and_what_a_message_calls_to_mind(
    codex: Program, server: ChatServer, notes: Path, tmp_path: Path
) -> None:
    config = tmp_path / "config.json5"
    config.write_text("{memorySearch: {recall: {enabled: true}}}", encoding="utf-8")
    codex.variables |= {"MEMORY_CORE_CONFIG": str(config), "MEMORY_CORE_PROVIDER": "static"}
    write_old_note(notes)
    codex.ask(RESUME[-1], "How are you?")
    assert f"> {NOTE}" in json.dumps(server.requests[0]), "the notes stand at the start of the session"
    number = len(server.requests)
    codex.ask(*RESUME, "Where does the anchor lie?")
    assert_recalled(server, number)


@needs_proc
def test_killed_while_it_waits_it_leaves_no_process_and_no_lock(
    codex: Program, server: ChatServer, notes: Path
) -> None:
    kill_while_it_stores(codex, server, notes, SAVE)


def test_a_session_that_ended_and_one_that_was_killed_are_recalled(
    codex: Program, server: ChatServer, notes: Path, tmp_path: Path
) -> None:
    capture(codex, "codex", tmp_path / "config.json5")
    codex.ask(RESUME[-1], ENDED_WITH_SECRET)
    kill_when_it_prints(codex, '"agent_message"', RESUME[-1], "--json", KILLED)
    assert_both_are_recalled(lambda text: codex.ask(RESUME[-1], text), server, tmp_path / "state", notes)


FILL = "Where is the anchor, the net, the rope, the oar, the sail?"


def fill_session(codex: Program, server: ChatServer, notes: Path, config: Path, share: float) -> None:
    """Begin a session that is compacted once it has so many times the tokens that it has now."""
    server.counts = True
    codex.ask("How are you?")
    limit = int(server.requests[-1][USED] * share)
    config.write_text(f"model_auto_compact_token_limit = {limit}\n{config.read_text('utf-8')}", encoding="utf-8")
    (notes / "MEMORY.md").write_text(
        "The anchor, the net, the rope, the oar and the sail are here. " * 40, encoding="utf-8"
    )


def test_it_saves_once_before_each_compaction(codex: Program, server: ChatServer, notes: Path, tmp_path: Path) -> None:
    fill_session(codex, server, notes, tmp_path / "codex" / "config.toml", 1.3)
    for number, fact in enumerate(FACTS, start=1):
        server.stores = fact
        for _ in range(20):
            if server.kinds["summary"] == number:
                break
            codex.ask(*RESUME, FILL)
        assert_saved_once_before_each(server, notes, number, summaries=True)
    assert "4711" in codex.ask(*RESUME, "Which number has the archive box?")


@needs_proc
def test_killed_before_a_compaction_it_leaves_no_process_and_no_lock(
    codex: Program, server: ChatServer, notes: Path, tmp_path: Path
) -> None:
    fill_session(codex, server, notes, tmp_path / "codex" / "config.toml", 0.9)
    kill_while_it_stores(codex, server, notes, *RESUME, FILL)
