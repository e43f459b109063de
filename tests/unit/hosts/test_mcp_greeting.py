"""The first answers of the MCP server, made by hand, are those of the real server."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import mcp_types as types
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mcp.shared.message import SessionMessage
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS

from memory_core.hosts.mcp import greeting
from memory_core.hosts.mcp.lines import parse_message, to_line
from memory_core.hosts.mcp.server import make_server
from memory_core.plugin.slot import MemorySlot
from memory_core.records import CallContext
from tests.servers.mcp_messages import make_message

if TYPE_CHECKING:
    from mcp.server import Server

CONTEXT = CallContext()
CLIENT = {"name": "a client", "version": "1"}


@pytest.fixture(scope="module")
def slot(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MemorySlot]:
    folder = tmp_path_factory.mktemp("memory")
    config = {"memorySearch": {"items": {"enabled": True}}}  # so that all tools there are, are offered
    with MemorySlot(config, workspace=folder / "workspace", state_dir=folder / "state") as slot:
        yield slot


def request(number: Any, method: str, params: Any = None) -> bytes:
    message = {"jsonrpc": "2.0", "id": number, "method": method} | ({} if params is None else {"params": params})
    return json.dumps(message).encode()


def initialize(number: Any = 1, version: str = "2025-11-25", **changed: Any) -> bytes:
    params = {"protocolVersion": version, "capabilities": {}, "clientInfo": CLIENT} | changed
    return request(number, "initialize", params)


def envelope(**changed: Any) -> dict[str, Any]:
    asker = {"protocolVersion": "2026-07-28", "clientInfo": CLIENT, "clientCapabilities": {}} | changed
    return {"_meta": {f"io.modelcontextprotocol/{name}": value for name, value in asker.items()}}


INITIALIZED = b'{"jsonrpc":"2.0","method":"notifications/initialized"}'


def greet(slot: MemorySlot, *lines: bytes) -> list[Any]:
    """What the greeting answers to each line: a message, "" for nothing, or None for what is left to the server."""
    met = greeting.Greeting(slot, CONTEXT, instructions=slot.prompt_section(CONTEXT))
    return [None if (said := met.answer(line)) is None else json.loads(said or '""') for line in lines]


def ask_server(slot: MemorySlot, *lines: bytes) -> list[Any]:
    """What the package's server says to these lines, in any order."""
    server = make_server(slot, CONTEXT, instructions=slot.prompt_section(CONTEXT))

    async def talk() -> list[Any]:
        to_server, seen = anyio.create_memory_object_stream[SessionMessage | Exception](100)
        said, from_server = anyio.create_memory_object_stream[SessionMessage](100)
        with to_server, seen, said, from_server:
            asked = 0
            for line in lines:
                message, refusal = parse_message(line)
                assert message is not None, refusal
                asked += isinstance(message, types.JSONRPCRequest)
                await to_server.send(SessionMessage(message))
            async with anyio.create_task_group() as group:
                group.start_soon(_run, server, seen, said)
                answers = [json.loads(to_line((await from_server.receive()).message)) for _ in range(asked)]
                group.cancel_scope.cancel()
            return answers

    return anyio.run(talk)


async def _run(server: Server[Any], seen: Any, said: Any) -> None:
    await server.run(seen, said, server.create_initialization_options())


def test_it_knows_the_versions_of_the_package() -> None:
    assert greeting.HANDSHAKE_VERSIONS == HANDSHAKE_PROTOCOL_VERSIONS
    assert (greeting.STATELESS_VERSION,) == MODERN_PROTOCOL_VERSIONS


@pytest.mark.parametrize("version", greeting.HANDSHAKE_VERSIONS)
def test_a_session_with_a_handshake_is_answered_like_the_server_does(slot: MemorySlot, version: str) -> None:
    lines = (
        initialize("a", version),
        INITIALIZED,
        request(2, "ping"),
        request(3, "tools/list", {}),
        request("3", "ping"),
    )
    opened, silence, *others = greet(slot, *lines)
    assert silence == ""
    assert [opened, *others] == ask_server(slot, *lines)
    assert len(others[1]["result"]["tools"]) == 6


def test_a_session_without_handshake_is_answered_like_the_server_does(slot: MemorySlot) -> None:
    lines = (request(1, "server/discover", envelope()), request(2, "tools/list", envelope()))
    assert greet(slot, *lines) == ask_server(slot, *lines)


ODD_OPENINGS = (
    initialize(version="1999-01-01"),
    initialize(version="2026-07-28"),
    initialize(protocolVersion=5),
    initialize(clientInfo={"name": "x"}),
    initialize(_meta={"progressToken": 1}),
    initialize(None),
    initialize(1.5),
    initialize(10**30),
    request(1, "server/discover"),
    request(1, "server/discover", envelope(protocolVersion="2027-01-01")),
    request(1, "server/discover", envelope(logLevel="debug")),
    request(1, "tools/list"),
    request(1, "ping"),
    INITIALIZED,
    b"",
    b"[]",
    b"nonsense",
    b"\xff",
    initialize().replace(b"a client", b"\\ud800"),
    initialize().replace(b'"1"', b"NaN"),
    initialize().replace(b"2.0", b"1.0"),
    initialize().replace(b'"id"', b'"extra": 1, "id"'),
    b"[" * 100_000,
)


@pytest.mark.parametrize("line", ODD_OPENINGS, ids=lambda line: repr(line)[:50])
def test_whatever_is_odd_is_left_to_the_server(slot: MemorySlot, line: bytes) -> None:
    assert greet(slot, line) == [None]


@pytest.mark.parametrize(
    "line",
    [
        initialize(2),
        request(2, "tools/list", {"cursor": "x"}),
        request(2, "tools/list", envelope()),
        request(2, "tools/call", {"name": "memory_search", "arguments": {"query": "x"}}),
        request(2, "resources/list"),
        b'{"jsonrpc":"2.0","id":1,"result":{}}',
        b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}',
    ],
)
def test_what_is_not_about_the_beginning_is_left_to_the_server(slot: MemorySlot, line: bytes) -> None:
    assert greet(slot, initialize(), line)[1] is None


def test_a_client_that_asks_without_end_is_left_to_the_server(slot: MemorySlot) -> None:
    assert greet(slot, initialize(), *[request(number, "ping") for number in range(1000)])[-1] is None
    assert greet(slot, initialize(clientInfo={"name": "x" * 100_000, "version": "1"})) == [None]


leaf: st.SearchStrategy[Any] = st.sampled_from([None, True, False, 0, "x", [], {}, {"a": {}}, [{"src": "x"}]])
part = st.dictionaries(
    st.sampled_from(["listChanged", "form", "applyDefaults", "requests", "tools", "context", "x"]), leaf, max_size=2
)
capabilities = st.dictionaries(
    st.sampled_from(["roots", "sampling", "elicitation", "experimental", "extensions", "tasks", "other"]),
    part | leaf,
    max_size=3,
)
info = st.dictionaries(
    st.sampled_from(["name", "version", "title", "description", "websiteUrl", "icons", "x"]),
    leaf | st.text(),
    max_size=4,
)
clients = info | info.map(lambda told: told | CLIENT)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(told=capabilities, who=clients, stateless=st.booleans())
def test_it_accepts_no_client_that_the_server_would_refuse(
    slot: MemorySlot, told: dict[str, Any], who: dict[str, Any], stateless: bool
) -> None:
    line = (
        request(1, "server/discover", envelope(clientInfo=who, clientCapabilities=told))
        if stateless
        else initialize(clientInfo=who, capabilities=told)
    )
    [answer] = greet(slot, line)
    if answer is not None:
        assert [answer] == ask_server(slot, line)


def test_noise_is_left_to_the_server_and_never_raises(slot: MemorySlot) -> None:
    for number in range(3000):
        dice = random.Random(number)
        met = greeting.Greeting(slot, CONTEXT, instructions="")
        if dice.random() < 0.5:
            met.answer(initialize())
        for _ in range(3):
            answer = met.answer(make_message(dice, number))
            assert answer is None or answer == b"" or json.loads(answer)["result"] is not None


def test_what_the_greeting_has_heard_is_enough_for_the_server(slot: MemorySlot) -> None:
    met = greeting.Greeting(slot, CONTEXT, instructions="")
    lines = (initialize(), INITIALIZED, request(2, "tools/list"), request(3, "ping"))
    assert all(met.answer(line) is not None for line in lines)
    assert met.opening == 1
    assert met.heard == [initialize(), INITIALIZED]
    assert all(met.answer(INITIALIZED) == b"" for _ in range(100))
    assert met.heard == [initialize(), INITIALIZED], "what a client repeats is not kept"


def test_a_client_that_reads_nothing_blocks_nothing(slot: MemorySlot) -> None:
    met = greeting.Greeting(slot, CONTEXT, instructions=slot.prompt_section(CONTEXT))
    answers = [met.answer(line) for line in (initialize(), *[request(n, "tools/list") for n in range(2, 100)])]
    assert all(answers[:2]), "a client begins with these, and waits for them"
    assert sum(len(answer or b"") for answer in answers) <= 16_384, "the smallest pipe holds no more"


def test_the_workspace_is_not_touched(slot: MemorySlot, tmp_path: Path) -> None:
    quiet = MemorySlot(workspace=tmp_path / "workspace", state_dir=tmp_path / "state")
    assert greet(quiet, initialize(), request(2, "tools/list"))[1]["result"]["tools"]
    assert list(tmp_path.iterdir()) == []
