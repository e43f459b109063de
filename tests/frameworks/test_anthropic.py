"""The tool loop of Anthropic's own SDK with the memory tool over notes, and beside the SDK's memory tool of local files."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from memory_core import CallContext
from memory_core.plugin import MemorySlot
from tests.command import Command
from tests.frameworks.conftest import NOTE
from tests.servers.chat import ChatServer

anthropic: Any = pytest.importorskip("anthropic", reason="make test-hosts installs it")

PLAN = "# Plan\n\nBuild the jetty.\nPaint the boat.\n"
CALLS = (
    ("memory", {"command": "view", "path": "/memories"}),
    ("memory_search", {"query": "When does the lease of the boat house end?"}),
    ("memory", {"command": "create", "path": "/memories/work/plan.md", "file_text": PLAN}),
    ("memory", {"command": "str_replace", "path": "/memories/work/plan.md", "old_str": "jetty", "new_str": "pier"}),
    ("memory", {"command": "insert", "path": "/memories/work/plan.md", "insert_line": 4, "insert_text": "Buy rope.\n"}),
    ("memory", {"command": "rename", "old_path": "/memories/work/plan.md", "new_path": "/memories/jobs/pier.md"}),
    ("memory", {"command": "view", "path": "/memories/jobs/pier.md"}),
    ("memory", {"command": "delete", "path": "/memories/jobs/pier.md"}),
    ("memory", {"command": "delete", "path": "/memories/../MEMORY.md"}),
)


def _run(slot: MemorySlot, server: ChatServer, *, asynchronous: bool) -> str:
    from memory_core.hosts.anthropic_memory import async_memory_tools, memory_tools

    server.script = list(CALLS)
    facts: dict[str, Any] = {"base_url": server.origin, "api_key": "placeholder"}
    asked: dict[str, Any] = {"model": "rules", "max_tokens": 500, "messages": [{"role": "user", "content": "Go on."}]}
    if not asynchronous:
        with anthropic.Anthropic(**facts) as client:
            return str(client.beta.messages.tool_runner(tools=memory_tools(slot), **asked).until_done().content[0].text)

    async def run() -> str:
        async with anthropic.AsyncAnthropic(**facts) as client:
            runner = client.beta.messages.tool_runner(tools=async_memory_tools(slot), **asked)
            return str((await runner.until_done()).content[0].text)

    return asyncio.run(run())


@pytest.mark.parametrize("asynchronous", [False, True], ids=["sync", "async"])
def test_claude_edits_notes_and_a_deleted_one_is_restored(
    slot: MemorySlot, server: ChatServer, notes: Path, tmp_path: Path, *, asynchronous: bool
) -> None:
    last = _run(slot, server, asynchronous=asynchronous)
    assert last == "Path /memories/../MEMORY.md would escape /memories directory"
    assert server.requests[0]["tools"][0] == {"type": "memory_20250818", "name": "memory"}
    messages = [message for request in server.requests for message in request["messages"]]  # a thread sends each once
    blocks = [block for message in messages for block in message["content"] if isinstance(block, dict)]
    results = list({each["tool_use_id"]: each for each in blocks if each["type"] == "tool_result"}.values())
    said = [each["content"] for each in results]
    assert [bool(each.get("is_error")) for each in results] == [*[False] * 8, True]
    assert "/memories/MEMORY.md" in said[0]
    found = json.loads(said[1])["results"][0]
    assert (found["path"], NOTE in found["snippet"]) == ("/memories/MEMORY.md", True)
    assert said[6].endswith("     3\tBuild the pier.\n     4\tPaint the boat.\n     5\tBuy rope.\n     6\t")
    assert said[7] == "Successfully deleted /memories/jobs/pier.md"
    assert not list(notes.rglob("p*.md"))
    slot.close()

    command = Command(notes, tmp_path / "state")
    added = command("--json", "history", "memory/jobs/pier.md").json["versions"][0]["at"]
    assert command("restore", "memory/jobs/pier.md", "--as-of", added).code == 0
    restored = notes / "memory/jobs/pier.md"  # one that is gone comes back under its own name
    assert restored.read_text(encoding="utf-8") == PLAN.replace("jetty", "pier") + "Buy rope.\n"


TREE = {"a.md": "one\ntwo\none\n", "deep/er/b.md": "x", "empty.md": ""}
COMMANDS: tuple[dict[str, Any], ...] = (
    {"command": "view", "path": "/memories/a.md"},
    {"command": "view", "path": "/memories/a.md", "view_range": [2, 2]},
    {"command": "view", "path": "/memories/a.md", "view_range": [2, -1]},
    {"command": "view", "path": "/memories/a.md", "view_range": [0, 99]},
    {"command": "view", "path": "/memories/empty.md"},
    {"command": "view", "path": "/memories/none.md"},
    {"command": "view", "path": "/elsewhere/a.md"},
    {"command": "view", "path": "/memories/../../etc/passwd"},
    {"command": "view", "path": "/memories/link.md"},
    {"command": "create", "path": "/memories/new/c.md", "file_text": "three"},
    {"command": "create", "path": "/memories/a.md", "file_text": "three"},
    {"command": "create", "path": "/memories/../x.md", "file_text": "three"},
    {"command": "create", "path": "/memories/out/x.md", "file_text": "three"},
    {"command": "str_replace", "path": "/memories/a.md", "old_str": "two", "new_str": "2\n2"},
    {"command": "str_replace", "path": "/memories/a.md", "old_str": "two\n", "new_str": ""},
    {"command": "str_replace", "path": "/memories/a.md", "old_str": "one", "new_str": "1"},
    {"command": "str_replace", "path": "/memories/a.md", "old_str": "four", "new_str": "4"},
    {"command": "str_replace", "path": "/memories/none.md", "old_str": "four", "new_str": "4"},
    {"command": "str_replace", "path": "/memories/deep", "old_str": "four", "new_str": "4"},
    {"command": "insert", "path": "/memories/a.md", "insert_line": 0, "insert_text": "zero\n"},
    {"command": "insert", "path": "/memories/a.md", "insert_line": 3, "insert_text": "last"},
    {"command": "insert", "path": "/memories/a.md", "insert_line": 4, "insert_text": "last"},
    {"command": "insert", "path": "/memories/empty.md", "insert_line": 0, "insert_text": "first"},
    {"command": "insert", "path": "/memories/deep/er/b.md", "insert_line": 1, "insert_text": "y\n\n"},
    {"command": "insert", "path": "/memories/none.md", "insert_line": 0, "insert_text": "first"},
    {"command": "delete", "path": "/memories/a.md"},
    {"command": "delete", "path": "/memories/deep"},
    {"command": "delete", "path": "/memories/none.md"},
    {"command": "delete", "path": "/memories"},
    {"command": "rename", "old_path": "/memories/a.md", "new_path": "/memories/new/a.md"},
    {"command": "rename", "old_path": "/memories/deep", "new_path": "/memories/deeper"},
    {"command": "rename", "old_path": "/memories/a.md", "new_path": "/memories/empty.md"},
    {"command": "rename", "old_path": "/memories/none.md", "new_path": "/memories/x.md"},
    {"command": "rename", "old_path": "/memories/a.md", "new_path": "/x.md"},
    {"command": "rename", "old_path": "/memories", "new_path": "/memories/x"},
)


def _try(tool: Any, command: dict[str, Any]) -> str:
    try:
        return str(tool.call(command))
    except anthropic.lib.tools.ToolError as error:
        return f"error: {error.content}"


def _plant(folder: Path, outside: Path) -> None:
    for name, text in TREE.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    outside.mkdir()
    (outside / "secret.md").write_text("secret", encoding="utf-8")
    (folder / "link.md").symlink_to(outside / "secret.md")
    (folder / "out").symlink_to(outside)


def _read_tree(folder: Path) -> dict[str, str]:
    files = [path for path in folder.rglob("*.md") if not path.is_symlink()]
    return {path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8") for path in files}


@pytest.mark.parametrize("asked", COMMANDS, ids=lambda each: " ".join(map(str, each.values()))[:60])
def test_each_command_says_and_does_what_the_sdks_own_tool_does(asked: dict[str, Any], tmp_path: Path) -> None:
    from anthropic.tools.memory import BetaLocalFilesystemMemoryTool

    from memory_core.hosts.anthropic_memory import MemoryTool

    theirs = BetaLocalFilesystemMemoryTool(str(tmp_path / "theirs"))
    _plant(tmp_path / "theirs" / "memories", tmp_path / "outside-theirs")
    _plant(tmp_path / "ours" / "memory", tmp_path / "outside-ours")
    slot = MemorySlot({"memorySearch": {"provider": "none"}}, workspace=tmp_path / "ours", state_dir=tmp_path / "state")
    with slot:
        said = _try(MemoryTool(slot), asked)
    expected = _try(theirs, asked)
    if "link" in str(asked) or "/out/" in str(asked):
        assert said.startswith("error: ")
    else:
        assert said == expected
    assert _read_tree(tmp_path / "ours" / "memory") == _read_tree(tmp_path / "theirs" / "memories")
    assert [each.name for each in (tmp_path / "outside-ours").iterdir()] == ["secret.md"]


def test_a_folder_is_listed_to_two_levels(slot: MemorySlot, notes: Path) -> None:
    from memory_core.hosts.anthropic_memory import MemoryTool

    _plant(notes / "memory", notes.parent / "outside")
    (notes / "memory" / "deep" / "er" / "est").mkdir()
    (notes / "memory" / "deep" / "er" / "est" / "z.md").write_text("z", encoding="utf-8")
    listed = _try(MemoryTool(slot), {"command": "view", "path": "/memories/"}).split("\n")
    assert listed[0].startswith("Here're the files and directories up to 2 levels deep in /memories,")
    assert [line.partition("\t")[2] for line in listed[1:]] == [
        "/memories", "/memories/MEMORY.md", "/memories/a.md", "/memories/deep/", "/memories/deep/er/", "/memories/empty.md",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "path", ["/memories/x.txt", "/memories/.hidden.md", "/memories/a\0.md", "/memories/a\\..\\..\\x.md"]
)
def test_a_name_that_no_note_may_have_is_refused(path: str, slot: MemorySlot, notes: Path) -> None:
    from memory_core.hosts.anthropic_memory import MemoryTool

    before = sorted(notes.parent.rglob("*"))
    said = _try(MemoryTool(slot), {"command": "create", "path": path, "file_text": "x"})
    assert said.startswith("error: ")
    assert [each for each in sorted(notes.parent.rglob("*")) if "state" not in each.parts] == [
        each for each in before if "state" not in each.parts
    ]


def test_a_group_may_not_write_what_is_private(slot: MemorySlot, notes: Path) -> None:
    from memory_core.hosts.anthropic_memory import MemoryTool

    tool = MemoryTool(slot, CallContext(session_key="agent:main:group:7", chat_type="group"))
    asked = {"command": "insert", "path": "/memories/MEMORY.md", "insert_line": 0, "insert_text": "x"}
    assert "main private session only" in _try(tool, asked)
    reader = MemoryTool(slot, CallContext(session_key="main", access="ro"))
    assert "may not write" in _try(reader, asked)
    assert (notes / "MEMORY.md").read_text(encoding="utf-8") == f"{NOTE}\n"
