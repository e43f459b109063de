"""`memory-core mcp` with the official client, and what it leaves on its streams and in the process table."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest

from memory_core.hosts import stdio
from memory_core.tools import schemas
from tests.command import REPOSITORY, Command

CLIENT = Path(__file__).with_name("mcp_client.py")
NOTE = "memory/2026-01-10.md"
DEADLINE_SECONDS = 30.0


def talk(python: Path, command: Command, *steps: dict[str, Any], options: tuple[str, ...] = ()) -> list[Any]:
    """Return what the official client got in every step."""
    program, *arguments = command.start()
    asked = {
        "command": program,
        "args": [*arguments, "mcp", *options],
        "env": command.variables(),
        "cwd": str(REPOSITORY),
        "steps": steps,
    }
    done = subprocess.run(
        [python, "-I", CLIENT],
        input=json.dumps(asked),
        capture_output=True,
        check=False,
        encoding="utf-8",
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    answers = json.loads(done.stdout)
    assert isinstance(answers, list)
    return answers


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"call": name, "arguments": arguments}


def test_the_official_client_uses_every_tool(mcp_client: Path, command: Command) -> None:
    query = {"query": "Which retired teacher takes the puppy?"}
    listed, found, note, wrong, unknown, refused, stored = talk(
        mcp_client,
        command,
        {},
        call("memory_search", **query),
        call("memory_get", path=NOTE, **{"from": 3}, lines=2),
        call("memory_get", path=NOTE, **{"from": "zz"}),
        call("memory_forget_everything"),
        call("memory_get", path="../secret.md"),
        call("memory_append", text="The boiler was serviced."),
    )

    assert listed == [schemas.to_form(schema, "mcp") for schema in schemas.WRITING]
    assert not found["is_error"]
    assert found["structured"]["results"][0]["path"] == NOTE
    assert json.loads(found["text"]) == found["structured"]
    assert not note["is_error"]
    assert note["structured"]["text"] == "\n".join((command.workspace / NOTE).read_text().splitlines()[2:4])
    assert wrong["is_error"]
    assert wrong["structured"] == {
        "error": 'from: expected a whole number, at least 1, not the string "zz"',
        "code": "invalid_argument",
    }
    assert unknown["is_error"]
    assert "memory_forget_everything" in unknown["text"]
    assert refused["is_error"]
    assert refused["structured"]["denied"]
    assert not stored["is_error"]
    assert "The boiler was serviced." in (command.workspace / stored["structured"]["path"]).read_text()


def test_memory_that_is_turned_off_while_the_client_holds_the_tools(
    mcp_client: Path, command: Command, tmp_path: Path
) -> None:
    config = tmp_path / "host.json5"
    config.write_text("{}", encoding="utf-8")
    ask = call("memory_search", query="retired teacher")
    off, wrong = '{plugins: {slots: {memory: "none"}}}', "{plugins: 5}"
    before, _, after, offered, _, broken, _, again = talk(
        mcp_client, command,
        ask, {"write": str(config), "text": off}, ask, {}, {"write": str(config), "text": wrong}, ask,
        {"write": str(config), "text": "{}"}, ask,
        options=("--config", str(config)),
    )  # fmt: skip

    assert not before["is_error"]
    assert after["is_error"]
    assert after["structured"]["disabled"]
    assert offered == []
    assert broken["is_error"]
    assert broken["structured"]["unavailable"]
    assert "plugins" in broken["structured"]["error"]
    assert not again["is_error"]


class Server:
    """A server that is spoken to by hand, in a process group of its own."""

    def __init__(self, command: Command, *options: str) -> None:
        self.process = subprocess.Popen(
            [*command.start(), *options, "mcp"],
            cwd=REPOSITORY,
            env=command.variables(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )

    def send(self, method: str, number: int | None = None, **params: Any) -> None:
        message = {"jsonrpc": "2.0", "method": method, "params": params} | ({} if number is None else {"id": number})
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def write(self, line: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def receive_until(self, number: int) -> Any:
        """The answer of that number; other messages are left out."""
        while (message := self.receive()).get("id") != number:
            assert message["jsonrpc"] == "2.0"
        return message

    def receive(self) -> Any:
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())

    def greet(self) -> None:
        info = {"name": "a test", "version": "1"}
        self.send("initialize", 1, protocolVersion="2025-06-18", capabilities={}, clientInfo=info)
        assert self.receive()["result"]["serverInfo"]["name"] == "memory-core"
        self.send("notifications/initialized")

    def wait(self) -> tuple[int, bytes, bytes]:
        """Its exit code and the rest of both streams; asserts that no process of its group is left."""
        out, err = self.process.communicate(timeout=DEADLINE_SECONDS)
        until = time.monotonic() + 5
        while True:
            try:
                os.killpg(self.process.pid, 0)
            except ProcessLookupError:
                return self.process.returncode, out, err
            assert time.monotonic() < until, "a process is left"
            time.sleep(0.01)


@pytest.fixture
def server(command: Command) -> Iterator[Server]:
    server = Server(command, "--debug")
    yield server
    server.process.kill()
    server.process.communicate()


def test_standard_output_is_protocol_and_nothing_else(server: Server, workspace: Path) -> None:
    (workspace / "memory" / "bad.md").write_bytes(b"\xff\xfe not UTF-8")  # something to log
    server.greet()
    server.send("tools/call", 2, name="memory_search", arguments={"query": "Which retired teacher takes the puppy?"})
    answer = server.receive()
    assert answer["id"] == 2
    assert answer["result"]["structuredContent"]["results"][0]["path"] == NOTE
    server.send("no/such/method", 3)
    assert server.receive()["error"]

    assert server.process.stdin is not None
    server.process.stdin.close()
    server.process.stdin = None
    code, out, err = server.wait()
    assert code == 0
    assert out == b""
    assert b"bad.md" in err  # the log goes to the other stream
    assert b"Traceback" not in err


def test_it_tells_the_client_how_to_use_memory(server: Server) -> None:
    info = {"name": "a test", "version": "1"}
    server.send("initialize", 1, protocolVersion="2025-06-18", capabilities={}, clientInfo=info)
    assert "call memory_search" in server.receive()["result"]["instructions"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("busy", [False, True])
def test_a_signal_ends_it_cleanly(server: Server, number: signal.Signals, busy: bool) -> None:
    server.greet()
    if busy:
        server.send("tools/call", 2, name="memory_search", arguments={"query": "retired teacher"})
    server.process.send_signal(number)
    code, out, err = server.wait()

    assert code == 128 + number
    assert all(json.loads(line)["jsonrpc"] == "2.0" for line in out.splitlines())
    assert b"Traceback" not in err


def test_what_was_asked_before_the_input_ended_is_answered(server: Server) -> None:
    server.send(
        "initialize", 1, protocolVersion="2025-06-18", capabilities={}, clientInfo={"name": "t", "version": "1"}
    )
    server.send("notifications/initialized")
    for number in (2, 3, 4):
        server.send("tools/call", number, name="memory_search", arguments={"query": "retired teacher"})
    code, out, _ = server.wait()
    answers = {answer["id"]: answer for answer in map(json.loads, out.splitlines())}
    assert code == 0
    assert answers.keys() == {1, 2, 3, 4}
    assert all(answers[number]["result"]["structuredContent"]["results"] for number in (2, 3, 4))


def frame(method: str, **other: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": method, **other}


MALFORMED: tuple[tuple[bytes, int], ...] = (
    (b'{"jsonrpc":"2.0","id":7,"method":"ping","params":{"x":NaN}}', types.PARSE_ERROR),
    (b'{"jsonrpc":"2.0","id":7,"method":"ping","params":{"x":-Infinity}}', types.PARSE_ERROR),
    (b'{"jsonrpc":"2.0","id":7,"method":"ping","params":{"x":"\\ud800"}}', types.PARSE_ERROR),
    (b'{"jsonrpc":"2.0","id":7,"method":"ping","params":{"x":"\xff"}}', types.PARSE_ERROR),
    (b'{"jsonrpc":"2.0","id":' + b"7" * 5000 + b',"method":"ping"}', types.PARSE_ERROR),
    (b'{"a":' * 50_000, types.PARSE_ERROR),
    (b"GET / HTTP/1.1", types.PARSE_ERROR),
    (b'{"jsonrpc":"2.0","id":{},"method":"ping"}', types.INVALID_REQUEST),
    (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', types.INVALID_REQUEST),
    (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', types.INVALID_REQUEST),
    (b'{"jsonrpc":"1.0","id":7,"method":"ping"}', types.INVALID_REQUEST),
    (b'{"jsonrpc":"2.0","id":7,"method":5}', types.INVALID_REQUEST),
    (b'{"jsonrpc":"2.0","id":7,"method":"ping","params":[1]}', types.INVALID_REQUEST),
    (b'[{"jsonrpc":"2.0","id":7,"method":"ping"}]', types.INVALID_REQUEST),
    (b"null", types.INVALID_REQUEST),
    (b"{}", types.INVALID_REQUEST),
    (b" " * (stdio.MAX_LINE_BYTES + 1), types.INVALID_REQUEST),
)


@pytest.mark.parametrize(("line", "code"), MALFORMED, ids=lambda value: repr(value)[:60])
def test_a_line_that_is_no_message_is_told_so(line: bytes, code: int) -> None:
    fits = line if len(line) <= stdio.MAX_LINE_BYTES else None
    message, refusal = stdio.parse_message(fits)
    assert message is None
    assert refusal is not None
    assert refusal.error.code == code
    assert len(refusal.error.message) < 200


def test_no_malformed_line_ends_it_and_each_is_answered(server: Server) -> None:
    server.greet()
    lines = [line for line, _ in MALFORMED]
    for line in lines:
        server.write(line)
        assert "error" in server.receive(), line[:80]

    odd_ids: list[Any] = [{}, [], None, True, 1.5, "x", -1, 10**300, {"a": []}]
    for odd in odd_ids:
        server.write(json.dumps(frame("notifications/cancelled", params={"requestId": odd})).encode())
    odd_params: list[Any] = [{}, [], 5, None, "x"]
    for params in odd_params:
        server.write(json.dumps(frame("notifications/cancelled", params=params)).encode())
    server.send("ping", 99)
    assert server.receive_until(99)["result"] == {}


def test_hundreds_of_random_lines_end_nothing(server: Server) -> None:
    server.greet()
    dice = random.Random(11)
    values: list[Any] = [
        None, True, -1, 0, 1.5, 10**40, "", "x", "\0", "2", [], {}, [[]], {"a": {}}, "é" * 500, "../x", {"_meta": 5},
    ]  # fmt: skip
    names = [
        "query",
        "path",
        "text",
        "from",
        "lines",
        "maxResults",
        "requestId",
        "progressToken",
        "_meta",
        "name",
        "uri",
    ]
    methods = [
        "initialize", "ping", "tools/list", "tools/call", "notifications/cancelled", "notifications/progress",
        "notifications/initialized", "logging/setLevel", "completion/complete", "resources/read", "prompts/get", "x", "",
    ]  # fmt: skip
    asked = 0
    for number in range(400):
        inner = {dice.choice(names): dice.choice(values) for _ in range(dice.randrange(4))}
        tool = dice.choice(["memory_search", "memory_get", "memory_append", 5, None, "x"])
        message = {
            "jsonrpc": "2.0",
            "method": dice.choice(methods),
            "params": dice.choice([inner, {"name": tool, "arguments": inner}, dice.choice(values)]),
        }
        if dice.random() < 0.7:
            message["id"] = dice.choice([f"r{number}", 1000 + number])
            asked += 1
        for key in [key for key in message if dice.random() < 0.05]:
            message[key] = dice.choice(values)
        line = bytearray(json.dumps(message).encode())
        if dice.random() < 0.3:
            for _ in range(dice.randrange(1, 6)):
                line[dice.randrange(len(line))] = dice.choice(b'{}[]",:\\0aN\xff\0')
        server.write(bytes(line).replace(b"\n", b" "))
    server.send("ping", 999_999)
    assert server.receive_until(999_999)["result"] == {}
    assert asked > 200

    assert server.process.stdin is not None
    server.process.stdin.close()
    server.process.stdin = None
    code, _, _ = server.wait()
    assert code == 0


def test_an_answer_that_json_cannot_hold_becomes_an_error() -> None:
    answer = types.JSONRPCResponse(jsonrpc="2.0", id=5, result={"path": "\udc80.md"})
    sent = json.loads(stdio.to_line(answer))
    assert sent["id"] == 5
    assert sent["error"]["code"] == types.INTERNAL_ERROR


@pytest.mark.parametrize("busy", [False, True])
def test_a_client_that_closes_its_end_of_the_output_ends_it_promptly_and_quietly(command: Command, busy: bool) -> None:
    server = Server(command)
    with server.process as process:
        server.greet()
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        if busy:
            server.send("tools/call", 2, name="memory_search", arguments={"query": "retired teacher"})
        assert process.wait(timeout=DEADLINE_SECONDS) == 0  # its input is still open
        assert process.stderr.read() == b""


@pytest.mark.parametrize(
    ("redirect", "reason"),
    [
        (">&-", "standard output is closed"),
        (">/dev/full", "No space left on device"),
    ],
)
def test_streams_that_cannot_be_used_are_named_in_one_line(command: Command, redirect: str, reason: str) -> None:
    done = command.shell("mcp", redirect, feed='{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
    assert done.code == 1
    assert reason in done.error


def test_an_input_that_ends_at_once_ends_it(command: Command) -> None:
    done = command("mcp")
    assert (done.code, done.out) == (0, "")


def test_without_the_package_it_says_what_to_install(command: Command, tmp_path: Path) -> None:
    (tmp_path / "mcp_types.py").write_text("raise ImportError('not installed')", encoding="utf-8")
    path = os.pathsep.join([str(tmp_path), os.environ["PYTHONPATH"]])
    done = command("mcp", environment={"PYTHONPATH": path})
    assert done.code == 1
    assert 'pip install "memory-core-py[mcp]"' in done.error
