"""Which requests over HTTP are let through, and where the MCP server listens."""

from __future__ import annotations

import socket

import pytest

from memory_core.errors import InvalidArgument
from memory_core.hosts.mcp.http import Address, Guard, _listen

TOKEN = "0123456789abcdef"


async def never(*_: object) -> None:
    raise AssertionError


def refuse(*, local: bool = True, token: str = "", **headers: str) -> int | None:
    guard = Guard(never, local=local, token=token)
    refusal = guard.refuse([(name.encode(), value.encode("latin-1")) for name, value in headers.items()])
    return None if refusal is None else refusal[0]


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:8765", "[::1]:8765", "127.9.9.9", "LOCALHOST:1"])
def test_a_local_server_is_asked_by_a_local_name(host: str) -> None:
    assert refuse(host=host) is None
    assert refuse(host=host, origin="http://localhost:3000") is None


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
def test_any_other_name_leads_here_from_a_web_page(host: str) -> None:
    assert refuse(host=host) == 421


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "null", "", "http://localhost.evil.example", "file://", "http://["]
)
def test_web_pages_from_elsewhere_are_refused(origin: str) -> None:
    assert refuse(host="localhost", origin=origin) == 403
    assert refuse(local=False, token=TOKEN, host="notes.example", origin=origin, authorization=f"Bearer {TOKEN}") == 403


@pytest.mark.parametrize("authorization", ["", TOKEN, f"Bearer {TOKEN}x", "Bearer", "Bearer \xe4", "Basic x"])
def test_the_secret_has_to_be_right(authorization: str) -> None:
    for local, host in ((True, "localhost"), (False, "notes.example")):
        assert refuse(local=local, token=TOKEN, host=host) == 401
        assert refuse(local=local, token=TOKEN, host=host, authorization=authorization) == 401
        assert refuse(local=local, token=TOKEN, host=host, authorization=f"Bearer {TOKEN}") is None


def test_a_page_of_the_server_itself_is_let_through() -> None:
    headers = {"host": "notes.example:8765", "origin": "https://notes.example", "authorization": f"Bearer {TOKEN}"}
    assert refuse(local=False, token=TOKEN, **headers) is None


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
    address = Address.parse(text)
    assert (address.host, address.port, address.is_local) == (host, port, local)


@pytest.mark.parametrize("text", ["", ":80", "x:y", "x:99999", "http://x", "a/b", "a@b:1", "::1", "[::1", "99999"])
def test_what_is_no_address_is_named(text: str) -> None:
    with pytest.raises(InvalidArgument, match="--http: expected HOST:PORT"):
        Address.parse(text)


def test_no_part_of_an_answer_waits_for_word_that_the_part_before_has_come() -> None:
    with _listen(Address("127.0.0.1", 0)) as listener, socket.create_connection(listener.getsockname()):
        connection, _ = listener.accept()
        with connection:
            assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
