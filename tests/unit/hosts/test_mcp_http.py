"""Which requests over HTTP are let through, and where the MCP server listens."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from memory_core.errors import InvalidArgument
from memory_core.hosts.mcp.http import is_local, make_application, parse_address
from memory_core.hosts.serving import listen
from memory_core.plugin.slot import MemorySlot
from memory_core.records import CallContext

TOKEN = "0123456789abcdef"
PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
LET_THROUGH = 400  # as the ping belongs to no session


@pytest.fixture(scope="module")
def slot(tmp_path_factory: pytest.TempPathFactory) -> MemorySlot:
    folder: Path = tmp_path_factory.mktemp("memory")
    return MemorySlot({}, workspace=folder, state_dir=folder / "state")


def ask(slot: MemorySlot, *, local: bool = True, token: str = "", **headers: str) -> int:
    """The status of an answer to a request with these headers."""
    app = make_application(slot, CallContext(), local=local, token=token)
    known = {"content-type": "application/json", "accept": "application/json, text/event-stream", **headers}
    sent = [(name.encode(), value.encode("latin-1")) for name, value in known.items()]
    with TestClient(app) as client:
        return client.post("/mcp", json=PING, headers=sent).status_code


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:8765", "[::1]:8765"])
def test_a_local_server_is_asked_by_a_local_name(slot: MemorySlot, host: str) -> None:
    assert ask(slot, host=host) == LET_THROUGH
    assert ask(slot, host=host, origin="http://localhost:3000") == LET_THROUGH


@pytest.mark.parametrize(
    "host",
    [
        "",
        "evil.example",
        "evil.example:8765",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "[",
        "10.0.0.1",
        "a@b",
    ],
)
def test_any_other_name_leads_here_from_a_web_page(slot: MemorySlot, host: str) -> None:
    assert ask(slot, host=host) == 421


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "null", "http://localhost.evil.example", "file://", "http://["]
)
def test_web_pages_from_elsewhere_are_refused(slot: MemorySlot, origin: str) -> None:
    assert ask(slot, host="localhost", origin=origin) == 403
    assert ask(slot, local=False, token=TOKEN, host="notes.example", origin=origin) == 401, "no page knows the secret"


@pytest.mark.parametrize("authorization", ["", TOKEN, f"Bearer {TOKEN}x", "Bearer", "Bearer \xe4", "Basic x"])
def test_the_secret_has_to_be_right(slot: MemorySlot, authorization: str) -> None:
    for local, host in ((True, "localhost"), (False, "notes.example")):
        assert ask(slot, local=local, token=TOKEN, host=host) == 401
        assert ask(slot, local=local, token=TOKEN, host=host, authorization=authorization) == 401
        assert ask(slot, local=local, token=TOKEN, host=host, authorization=f"Bearer {TOKEN}") == LET_THROUGH


def test_a_page_of_the_server_itself_is_let_through(slot: MemorySlot) -> None:
    headers = {"host": "notes.example:8765", "origin": "https://notes.example", "authorization": f"Bearer {TOKEN}"}
    assert ask(slot, local=False, token=TOKEN, **headers) == LET_THROUGH


@pytest.mark.parametrize(
    ("text", "host", "port", "local"),
    [
        ("127.0.0.1", "127.0.0.1", 8765, True),
        ("9000", "127.0.0.1", 9000, True),
        ("localhost:0", "localhost", 0, True),
        ("[::1]:80", "::1", 80, True),
        ("0.0.0.0", "0.0.0.0", 8765, False),
        ("[::]:1", "::", 1, False),
        ("notes.example:5", "notes.example", 5, False),
    ],
)
def test_addresses(text: str, host: str, port: int, local: bool) -> None:
    assert parse_address(text) == (host, port)
    assert is_local(host) == local


@pytest.mark.parametrize("text", ["", ":80", "x:y", "x:99999", "http://x", "a/b", "a@b:1", "::1", "[::1", "99999"])
def test_what_is_no_address_is_named(text: str) -> None:
    with pytest.raises(InvalidArgument, match="--http: expected HOST:PORT"):
        parse_address(text)


def test_no_part_of_an_answer_waits_for_word_that_the_part_before_has_come() -> None:
    with listen("127.0.0.1", 0) as listener, socket.create_connection(listener.getsockname()):
        connection, _ = listener.accept()
        with connection:
            assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
