"""`memory-core mcp --http` with the official client and with requests that it has to refuse."""

from __future__ import annotations

import json
import os
import signal
import socket
from pathlib import Path

import httpx
import pytest

from tests.command import Command
from tests.hosts.mcp_server import NOTE, Server, call, do, grow, repeating, talk_http

TOKEN = "a-secret-of-twenty-two"
QUESTION = {"query": "Which retired teacher takes the puppy?"}
ANYWHERE = ("--http", "127.0.0.1:0")
OPENING = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}
TYPES = {"Accept": "application/json, text/event-stream"}


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_the_official_client_has_everything_over_http_too(mcp_client: Path, command: Command, mode: str) -> None:
    with Server(command, *ANYWHERE) as server:
        tools, found, wrong, notes, read, missing, prompt = talk_http(
            mcp_client,
            server.url,
            {},
            call("memory_search", **QUESTION),
            call("memory_get", path="../secret.md"),
            do("list_resources"),
            do("read_resource", uri=f"memory:///{NOTE}"),
            do("read_resource", uri="memory:///memory/none.md"),
            do("get_prompt", name="flush"),
            mode=mode,
        )
    assert [tool["name"] for tool in tools] == ["memory_search", "memory_get", "memory_append"]
    assert found["structured"]["results"][0]["path"] == NOTE
    assert wrong["is_error"]
    assert wrong["structured"]["denied"]
    assert f"memory:///{NOTE}" in {each["uri"] for each in notes["resources"]}
    assert read["contents"][0]["text"] == (command.workspace / NOTE).read_text(encoding="utf-8")
    assert "there is no note" in missing["error"]["message"]
    assert "memory_append" in prompt["messages"][0]["content"]["text"]


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_hundred_calls_at_once(mcp_client: Path, command: Command, mode: str) -> None:
    with Server(command, *ANYWHERE) as server:
        appended = [call("memory_append", text=f"Item {number} is blue.") for number in range(20)]
        asked = [call("memory_search", **QUESTION) for _ in range(80)]
        [answers] = talk_http(mcp_client, server.url, {"at_once": appended + asked}, mode=mode)
    assert len(answers) == 100
    assert not any(answer["is_error"] for answer in answers)
    assert all(answer["structured"]["results"][0]["path"] == NOTE for answer in answers[20:])
    [note] = {answer["structured"]["path"] for answer in answers[:20]}
    text = (command.workspace / note).read_text(encoding="utf-8")
    assert all(text.count(f"Item {number} is blue.") == 1 for number in range(20))


def test_the_official_client_listens_to_a_note(mcp_client: Path, command: Command) -> None:
    uri = f"memory:///{NOTE}"
    step = {"listen": {"resource_subscriptions": [uri]}, "append": str(command.workspace / NOTE)}
    with Server(command, *ANYWHERE) as server:
        assert talk_http(mcp_client, server.url, step) == [f"ResourceUpdated(uri={uri!r})"]


def test_a_client_with_a_handshake_hears_of_changes_on_its_stream(command: Command) -> None:
    note = command.workspace / "MEMORY.md"
    with Server(command, *ANYWHERE) as server, httpx.Client(timeout=60, headers=TYPES) as client:
        opened = client.post(url := server.url, json=OPENING)
        client.headers["Mcp-Session-Id"] = opened.headers["Mcp-Session-Id"]
        client.headers["Mcp-Protocol-Version"] = "2025-06-18"
        initialized = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        assert client.post(url, json=initialized).status_code == 202
        wanted = {"jsonrpc": "2.0", "id": 2, "method": "resources/subscribe", "params": {"uri": "memory:///MEMORY.md"}}
        assert client.post(url, json=wanted).status_code == 200
        with client.stream("GET", url) as stream, repeating(lambda: grow(note)):
            assert any('"notifications/resources/updated"' in line for line in stream.iter_lines())


def test_requests_that_may_not_read_the_notes_are_refused(command: Command) -> None:
    with Server(command, *ANYWHERE, MEMORY_CORE_MCP_TOKEN=TOKEN) as server:
        url, known = server.url, {"Authorization": f"Bearer {TOKEN}", **TYPES}
        assert httpx.post(url, json=OPENING, headers=known).status_code == 200
        assert httpx.post(url, json=OPENING, headers=TYPES).status_code == 401
        assert httpx.post(url, json=OPENING, headers={**known, "Host": "evil.example"}).status_code == 421
        assert server.process.stderr is not None
        assert server.process.stderr.readline() == b"memory-core: Invalid Host header: evil.example.\n"
        assert httpx.post(url, json=OPENING, headers={**known, "Origin": "https://evil.example"}).status_code == 403
        assert httpx.post(url, content=b"{" * 100, headers=known).status_code == 400
        assert httpx.post(url, content=b"x" * 5_000_000, headers=known).status_code == 413
        assert httpx.get(url.removesuffix("/mcp"), headers=known).status_code == 404
        assert httpx.post(url, json=OPENING, headers=known).status_code == 200


def test_what_strict_json_forbids_is_understood(command: Command) -> None:
    with Server(command, *ANYWHERE) as server, httpx.Client(timeout=60, headers=TYPES) as client:
        client.headers["Content-Type"] = "application/json"
        opened = client.post(url := server.url, content=b"\xef\xbb\xbf" + json.dumps(OPENING).encode())
        assert opened.status_code == 200
        client.headers["Mcp-Session-Id"] = opened.headers["Mcp-Session-Id"]
        client.headers["Mcp-Protocol-Version"] = "2025-06-18"
        for query in (b'"puppy \\ud83d"', b'"\\ude00 puppy"', b'"a\tpuppy"', b'"\\ud83d' + b"puppy " * 20_000 + b'"'):
            params = b'{"name":"memory_search","arguments":{"query":' + query + b"}}"
            call = b'{"jsonrpc":"2.0","id":2,"method":"tools/call","params":' + params + b"}"
            assert client.post(url, content=call).status_code == 200, query[:20]


def test_the_secret_lets_the_official_client_in(mcp_client: Path, command: Command) -> None:
    with Server(command, *ANYWHERE, MEMORY_CORE_MCP_TOKEN=TOKEN) as server:
        [tools] = talk_http(mcp_client, server.url, {}, token=TOKEN)
    assert len(tools) == 3


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_and_leaves_nothing(command: Command, number: signal.Signals) -> None:
    with Server(command, *ANYWHERE) as server:
        assert httpx.post(server.url, json=OPENING, headers=TYPES).status_code == 200
        server.process.send_signal(number)
        code, out, err = server.wait()
    assert (code, out) == (128 + number, b"")
    assert b"Traceback" not in err


def test_elsewhere_it_serves_with_a_secret_only(command: Command) -> None:
    refused = command("mcp", "--http", "0.0.0.0:0")
    assert refused.code == 1
    assert "can be reached from other machines" in refused.error
    assert "Set MEMORY_CORE_MCP_TOKEN to a secret" in refused.error
    for unsafe in ("hunter2", " " * 20):
        told = command("mcp", "--http", "0.0.0.0:0", environment={"MEMORY_CORE_MCP_TOKEN": unsafe})
        assert (told.code, "MEMORY_CORE_MCP_TOKEN is no safe secret" in told.error) == (1, True)


def test_an_address_that_cannot_be_used_is_named(command: Command) -> None:
    assert command("mcp", "--http", "nonsense:x").code == 2
    dotted = command("mcp", "--http", "..:80", environment={"MEMORY_CORE_MCP_TOKEN": "placeholder" * 4})
    assert dotted.code == 1
    assert "cannot serve at ..:80: " in dotted.error
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = command("mcp", "--http", f"127.0.0.1:{port}")
    assert done.code == 1
    assert f"cannot serve at 127.0.0.1:{port}: {os.strerror(98)}" in done.error
