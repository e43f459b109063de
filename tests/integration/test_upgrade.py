"""A folder that the former version has made serves at once: its index, items, history, activity log and installed hosts.

`former.tar.gz` was made by the version before click parsed the command line, with `memory-core` meaning
`memory-core --workspace ROOT/notes --state-dir ROOT/state` and a home of ROOT/home:

    write "The bakery website moved to the server in Oslo." into memory/2026-01-05.md, and a fact into MEMORY.md
    memory-core index
    write "Bergen" for "Oslo"
    memory-core index
    memory-core items add "Anna is allergic to peanuts" --tag health; two other items
    memory-core install codex; memory-core install opencode
    with open_memory(...): memory_search("where is the bakery website"), memory_append("The dentist moved to Friday.") in s1

In text files and in the table meta of the index, the folder was then replaced by ROOT, the program by PROGRAM, and in names of
files the key of the workspace by WORKSPACE; write-ahead logs were merged.
"""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import tarfile
import tomllib
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from memory_core.config.agent import make_workspace_key

FORMER = Path(__file__).parents[1] / "data/older/former.tar.gz"
NOTE = "memory/2026-01-05.md"


class Former:
    """The folder, at another place."""

    def __init__(self, root: Path) -> None:
        self.root = root
        with tarfile.open(FORMER) as archive:
            archive.extractall(root, filter="data")
        key = make_workspace_key(root / "notes")
        for file in [each for each in root.rglob("*") if each.is_file()]:
            if file.suffix == ".sqlite":
                continue
            text = file.read_text(encoding="utf-8")
            file.write_text(
                text.replace("ROOT", str(root)).replace("PROGRAM", str(root / "memory-core")), encoding="utf-8"
            )
        for file in (root / "state/memory-core").glob("*WORKSPACE*"):
            file.rename(file.with_name(file.name.replace("WORKSPACE", key)))
        with closing(sqlite3.connect(root / f"state/memory-core/main-{key}.sqlite")) as index, index:
            index.execute("UPDATE meta SET value = replace(value, 'ROOT', ?) WHERE key = 'workspace'", (str(root),))
        program = root / "memory-core"
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m memory_core "$@"\n', encoding="utf-8")
        program.chmod(0o755)

    def run(self, *command: str, given: str = "", told: str = "") -> str:
        """Run a command; return what it prints. On the other stream it must tell just this."""
        env = {**os.environ, "HOME": str(self.root / "home"), "XDG_CONFIG_HOME": str(self.root / "home/.config")}
        done = subprocess.run(command, env=env, input=given, capture_output=True, text=True, check=False, cwd=self.root)
        assert (done.returncode, done.stderr) == (0, told), done.stderr
        return done.stdout

    def ask(self, *args: str, told: str = "") -> Any:
        """Run a command of memory-core; return its JSON."""
        places = ("--workspace", str(self.root / "notes"), "--state-dir", str(self.root / "state"))
        return json.loads(self.run(sys.executable, "-m", "memory_core", *args, *places, "--json", told=told))


OFF = (
    "memory-core: items are off, so no agent gets it. `memory-core items list QUERY` finds it. To turn them on: "
    "memory-core config set memorySearch.items.enabled true\n"
)


@pytest.fixture
def former(tmp_path: Path) -> Former:
    return Former(tmp_path.resolve())


def test_index_items_history_and_activity_are_kept(former: Former) -> None:
    found = former.ask("search", "where is the bakery website")
    assert found["results"][0]["path"] == NOTE
    assert "Bergen" in found["results"][0]["snippet"]
    items = former.ask("items", "list")["items"]
    assert [item["content"] for item in items] == [
        "A wrong fact about the boiler", "The rent is due on the third", "Anna is allergic to peanuts",
    ]  # fmt: skip
    assert items[2]["tags"] == ["health"]
    versions = former.ask("history", NOTE)["versions"]
    assert len(versions) == 2
    entries = former.ask("activity", "--session", "s1")["activity"]
    assert {entry["by"] for entry in entries} == {"memory_append", "memory_search"}


def test_a_sync_and_an_item_go_on_from_there(former: Former) -> None:
    note = former.root / "notes" / NOTE
    note.write_text(note.read_text(encoding="utf-8").replace("Bergen", "Turku"), encoding="utf-8")
    former.ask("index")
    assert "Turku" in former.ask("search", "bakery server")["results"][0]["snippet"]
    assert len(former.ask("history", NOTE)["versions"]) == 3
    former.ask("items", "add", "The boiler was mended in May", told=OFF)
    assert former.ask("items", "list")["total"] == 4


def test_installed_hosts_still_reach_their_memory(former: Former) -> None:
    home = former.root / "home"
    codex = home / ".codex"
    server = tomllib.loads((codex / "config.toml").read_text(encoding="utf-8"))["mcp_servers"]["memory-core"]
    hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"},
    }}  # fmt: skip
    answer = json.loads(former.run(server["command"], *server["args"], given=json.dumps(hello) + "\n").splitlines()[0])
    assert answer["result"]["serverInfo"]["name"] == "memory-core"
    hooks = json.loads((codex / "hooks.json").read_text(encoding="utf-8"))["hooks"]
    event = {"hook_event_name": "SessionStart", "source": "startup", "session_id": "s2", "cwd": str(former.root)}
    said = former.run(*hooks["SessionStart"][0]["hooks"][0]["command"].split(), given=json.dumps(event))
    assert "Miso" in said
    opencode = json.loads((home / ".config/opencode/opencode.json").read_text(encoding="utf-8"))
    assert opencode["mcp"]["memory-core"]["command"][1:] == server["args"]
