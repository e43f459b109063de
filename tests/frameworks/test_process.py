"""Importing a host module changes nothing of the process that imports it, which leaves nothing behind when it is killed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.frameworks.programs import assert_nothing_is_left, list_processes, needs_proc

# Each host and what it imports of its framework, which may itself change what it likes. The slot is imported everywhere.
MODULES = {
    "plugin": (),
    "hosts.hooks": (),
    "hosts.mcp.server": ("mcp.server.lowlevel", "mcp_types", "jsonschema"),
    "hosts.adk": ("google.adk.memory.base_memory_service", "google.adk.memory.memory_entry", "google.genai.types"),
    "hosts.anthropic_memory": ("anthropic.lib.tools", "anthropic.tools.memory"),
    "hosts.hermes": ("agent.memory_provider", "agent.auxiliary_client"),
    "hosts.langchain": ("langchain.agents.middleware", "langchain.chat_models", "langgraph.config"),
    "hosts.openai_agents": ("agents", "agents.memory"),
    "hosts.messages.adk": ("google.adk", "google.genai.types"),
    "hosts.messages.strands": ("strands",),
    "hosts.openai_client": ("openai",),
    "hosts.strands": ("strands.memory",),
    "hosts.pydantic_ai": ("pydantic_ai", "pydantic_ai.capabilities", "pydantic_ai.direct"),
}
SCRIPT = """
import asyncio, importlib, logging, signal, sys, threading, warnings

def look():
    found = {name: logger for name, logger in logging.root.manager.loggerDict.items() if isinstance(logger, logging.Logger)}
    return {
        "loggers": {name: (each.level, each.propagate, len(each.handlers)) for name, each in found.items()},
        "root": (logging.root.level, len(logging.root.handlers)),
        "warnings": list(warnings.filters),
        "excepthook": sys.excepthook,
        "threads": threading.active_count(),
        "signals": {number: signal.getsignal(number) for number in signal.valid_signals()},
        "policy": type(asyncio.get_event_loop_policy()),
    }

for name in sys.argv[2:]:
    importlib.import_module(name)
before = look()
importlib.import_module("memory_core.plugin").MemorySlot({}).tool_schemas()
importlib.import_module(sys.argv[1])
after = look()
for kind in before:
    if kind == "loggers":
        assert {name: after[kind][name] for name in before[kind]} == before[kind]
    else:
        assert after[kind] == before[kind], (kind, before[kind], after[kind])
"""


@pytest.mark.parametrize("module", MODULES)
def test_a_host_module_changes_nothing_of_the_process(module: str) -> None:
    for needed in MODULES[module]:
        pytest.importorskip(needed, reason="make test-hosts installs it")
    command = [sys.executable, "-c", SCRIPT, f"memory_core.{module}", *MODULES[module]]
    done = subprocess.run(command, capture_output=True, check=False, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


# A host with memory in its own process, as those that are libraries are; it waits for ever while it saves.
HOST = """
import json, sys
from memory_core import CallContext
from memory_core.plugin import MemorySlot

slot = MemorySlot({"memorySearch": {"provider": "none"}}, workspace=sys.argv[1], state_dir=sys.argv[2])
slot.start()
session = CallContext.local("thread-7")
assert slot.call_tool("memory_search", {"query": "lease"}, session)["results"]

def complete(messages, tools, **_):
    if messages[-1]["role"] == "tool":
        print("saved", flush=True)
        sys.stdin.read()
    function = {"name": "memory_append", "arguments": json.dumps({"text": "- The gate code is 4711."})}
    return {"role": "assistant", "content": None, "tool_calls": [{"id": "1", "type": "function", "function": function}]}

slot.compact(session, [{"role": "user", "content": "The gate code is 4711."}], complete)
"""


@needs_proc
def test_a_host_that_is_killed_while_it_saves_leaves_no_process_and_no_lock(notes: Path, tmp_path: Path) -> None:
    state = str(tmp_path / "state")
    words = [sys.executable, "-c", HOST, str(notes), state]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8") as process:
        assert process.stdout
        try:
            assert process.stdout.readline() == "saved\n"
            assert list_processes(notes)
        finally:
            process.kill()
    assert_nothing_is_left(notes, {"MEMORY_CORE_STATE_DIR": state})
