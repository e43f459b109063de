"""Hermes' own agent with the memory provider, as `memory-core install hermes` installs it."""

from __future__ import annotations

import json
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.frameworks.conftest import FACTS, NOTE, assert_saved_once_before_each, read_daily
from tests.frameworks.programs import (
    RECALL,
    Conversation,
    Program,
    assert_conversations_are_recalled,
    capture,
    kill_while_it_stores,
    needs_proc,
)
from tests.servers.chat import REMEMBER, ChatServer

pytestmark = pytest.mark.skipif(find_spec("hermes_cli") is None, reason="make test-hosts installs Hermes")

COMPRESS = "/compress"  # what the command of this name does
CHAT = """
import json, sys
from run_agent import AIAgent

agent = AIAgent(base_url=sys.argv[1], api_key="placeholder", provider="custom", model="rules", quiet_mode=True, platform="cli")
history = []
for line in sys.argv[2:] or sys.stdin:
    if line.strip() == "/compress":
        history, _ = agent._compress_context(history, None, approx_tokens=90_000, force=True)
        said = str(len(history))
    else:
        done = agent.run_conversation(line.strip(), conversation_history=history)
        history, said = done["messages"], done["final_response"]
    print("ANSWER", json.dumps(said), flush=True)
agent.shutdown_memory_provider(history)
"""


@pytest.fixture
def hermes(notes: Path, tmp_path: Path, server: ChatServer) -> Program:
    home = tmp_path / "hermes"
    home.mkdir()
    settings = {"provider": "custom", "default": "rules", "base_url": server.url, "context_length": 128_000}
    written = "".join(f"  {key}: {value}\n" for key, value in settings.items())
    (home / "config.yaml").write_text(f"model:\n{written}", encoding="utf-8")
    variables = {"HERMES_HOME": str(home), "MEMORY_CORE_STATE_DIR": str(tmp_path / "state")}
    program = Program([Path(sys.executable).with_name("memory-core")], notes, variables)
    assert "in place in Hermes" in program.ask("--workspace", str(notes), "install", "hermes")
    return program


@pytest.fixture
def chat(hermes: Program, server: ChatServer) -> Program:
    """A program that answers each line that it is given."""
    return Program([sys.executable, "-c", CHAT, server.url], hermes.folder, hermes.variables)


def test_it_finds_appends_recalls_and_saves_once_before_each_compression(
    chat: Program, server: ChatServer, notes: Path
) -> None:
    conversation = Conversation(chat)
    say = conversation.say
    assert "31 May" in say("When does the lease of the boat house end?")
    first = server.requests[0]["messages"]
    assert NOTE in first[0]["content"], "the notes stand in the system prompt"
    assert f"> {NOTE}" in first[-1]["content"], "and what the message calls to mind beside it"
    say(f"{REMEMBER}the cat is called Minka")
    assert "the cat is called Minka" in read_daily(notes)
    for number, fact in enumerate(FACTS, start=1):
        server.stores = fact
        for _ in range(4):
            say("How are you?")
        say(COMPRESS)
        assert_saved_once_before_each(server, notes, number)
    assert "4711" in say("Which number has the archive box?")
    conversation.end()


def test_a_session_that_ended_and_one_that_was_killed_are_recalled(
    hermes: Program, chat: Program, server: ChatServer, notes: Path, tmp_path: Path
) -> None:
    config = tmp_path / "config.json5"
    config.write_text(json.dumps({"memorySearch": {"recall": RECALL}}), encoding="utf-8")
    capture(hermes, "hermes", config)
    program = Program(chat.words, notes, hermes.variables)
    assert_conversations_are_recalled(program, server, "hermes", tmp_path / "state", waits=True)


@needs_proc
def test_killed_before_a_compression_it_leaves_no_process_and_no_lock(
    chat: Program, server: ChatServer, notes: Path
) -> None:
    kill_while_it_stores(chat, server, notes, *["How are you?"] * 5, COMPRESS, processes=1)


def test_hermes_lists_the_provider_until_it_is_uninstalled(hermes: Program) -> None:
    listed = Program([Path(sys.executable).with_name("hermes")], hermes.folder, hermes.variables)
    assert "memory-core" in listed.ask("memory", "status")
    hermes.ask("uninstall", "hermes")
    assert "memory-core" not in listed.ask("memory", "status")


def test_hermes_takes_no_memory_provider_from_an_entry_point() -> None:
    """Why the package declares none: Hermes would name the plugin as enabled, and have no memory from it.

    Once this fails, an entry point in `hermes_agent.plugins` can replace the folder that `install hermes` makes.
    """
    plugins = import_module("hermes_cli.plugins")
    assert not hasattr(plugins.PluginContext, "register_memory_provider")
