"""`memory-core mcp` with the official client, and what it leaves on its streams and in the process table."""

from __future__ import annotations

import array
import fcntl
import json
import os
import random
import signal
import subprocess
import sys
import termios
from dataclasses import replace
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest

from memory_core.hosts.mcp import stdio
from memory_core.tools import schemas
from memory_core.tools.arguments import TOOLS
from tests.command import REPOSITORY, Command
from tests.hosts.mcp_server import DEADLINE_SECONDS, NOTE, Server, call, do, frame, talk
from tests.servers.mcp_messages import OPENING, make_message
from tests.servers.openai import HeldServer
from tests.waiting import HANG_GUARD_SECONDS, eventually


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

    assert listed == [schemas.to_form(TOOLS[f"memory_{name}"], "mcp") for name in ("search", "get", "append")]
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


def test_a_client_that_only_reads_is_offered_no_tool_that_writes(mcp_client: Path, command: Command) -> None:
    before = {path: path.read_bytes() for path in command.workspace.rglob("*") if path.is_file()}
    listed, found, refused, prompts, flush = talk(
        mcp_client,
        command,
        {},
        call("memory_search", query="Which retired teacher takes the puppy?"),
        call("memory_append", text="The boiler was serviced."),
        do("list_prompts"),
        do("get_prompt", name="flush"),
        options=("--read-only",),
    )
    assert [tool["name"] for tool in listed] == ["memory_search", "memory_get"]
    assert found["structured"]["results"][0]["path"] == NOTE
    assert refused["is_error"]
    assert [prompt["name"] for prompt in prompts["prompts"]] == ["recall"]
    assert "nothing can be saved" in flush["error"]["message"]
    assert {path: path.read_bytes() for path in command.workspace.rglob("*") if path.is_file()} == before


def test_a_client_that_only_reads_is_not_asked_for_a_workspace(
    mcp_client: Path, command: Command, tmp_path: Path
) -> None:
    nowhere = replace(command, workspace=tmp_path / "nowhere")
    (refused,) = talk(mcp_client, nowhere, call("memory_append", text="Hello."), options=("--read-only",), choice=0)
    assert refused["is_error"]
    assert not nowhere.workspace.exists()


def test_the_entry_of_an_install_for_one_workspace_obeys_the_users_own_settings(
    mcp_client: Path, command: Command, home: Path
) -> None:
    assert command("install", "cursor").code == 0
    entry = json.loads((home / ".cursor" / "mcp.json").read_text(encoding="utf-8"))["mcpServers"]["memory-core"]
    assert {"--workspace", "--state-dir"} < {*entry["args"]}
    assert "--config" not in entry["args"]
    assert command("config", "set", "memorySearch.provider", "none").code == 0
    assert command("config", "set", "memorySearch.query.maxResults", "1").code == 0
    plain = replace(command, environment={"MEMORY_CORE_PROVIDER": ""})
    (found,) = talk(
        mcp_client, plain, call("memory_search", query="Which retired teacher takes the puppy?"), entry=entry
    )
    assert (found["structured"]["provider"], len(found["structured"]["results"])) == ("none", 1)


def test_it_serves_where_no_signal_can_be_awaited_and_no_stream_polled(command: Command) -> None:
    """As on Windows."""
    program = (
        "import asyncio, select, sys; del select.poll;"
        "asyncio.SelectorEventLoop.add_signal_handler = asyncio.AbstractEventLoop.add_signal_handler;"
        "from memory_core.cli.main import main; sys.exit(main(['mcp']))"
    )
    asked = json.dumps(frame("initialize", id=1, params=OPENING))
    done = subprocess.run(
        [sys.executable, "-c", program], input=f"{asked}\n", capture_output=True, text=True,
        env=command.variables(), cwd=REPOSITORY, timeout=HANG_GUARD_SECONDS, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["result"]["serverInfo"]["name"] == "memory-core"


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


def test_it_tells_the_client_how_to_use_memory_and_where_it_is(server: Server, workspace: Path) -> None:
    info = {"name": "a test", "version": "1"}
    server.send("initialize", 1, protocolVersion="2025-06-18", capabilities={}, clientInfo=info)
    told = server.receive()["result"]["instructions"]
    assert "call memory_search" in told
    assert told.endswith(f"The workspace of this memory is {workspace}.")


def test_as_an_agent_plugin_it_keeps_its_index_in_the_folder_of_the_plugin(command: Command, tmp_path: Path) -> None:
    entry = json.loads((REPOSITORY / "mcp.json").read_text(encoding="utf-8"))["mcpServers"]["memory-core"]
    assert entry["command"] == "memory-core"
    name, *options = [each.replace("${PLUGIN_DATA}", str(tmp_path / "data")) for each in entry["args"]]
    assert name == "mcp"
    with Server(Command(command.workspace, tmp_path / "elsewhere"), *options) as server:
        server.greet()
        server.send(
            "tools/call", 2, name="memory_search", arguments={"query": "Which retired teacher takes the puppy?"}
        )
        assert server.receive_until(2)["result"]["structuredContent"]["results"][0]["path"] == NOTE
    assert list((tmp_path / "data").rglob("*.sqlite"))
    assert not (tmp_path / "elsewhere").exists()


def test_it_says_that_its_workspace_does_not_exist(command: Command, tmp_path: Path) -> None:
    with Server(command, "--workspace", str(tmp_path / "none")) as server:
        opening = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
        server.send("initialize", 1, **opening)
        assert (
            f"the workspace {tmp_path / 'none'} does not exist; tell the user: make"
            in server.receive()["result"]["instructions"]
        )


def test_it_says_that_its_configuration_is_wrong(command: Command, tmp_path: Path) -> None:
    broken = tmp_path / "broken.json5"
    broken.write_text("{memorySearch: {provider 'none'}}", encoding="utf-8")
    with Server(command, "--config", str(broken)) as server:
        opening = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
        server.send("initialize", 1, **opening)
        told = server.receive()["result"]["instructions"]
    assert told.startswith(f"Memory does not work: {broken}: line 1")
    assert told.endswith("Tell the user.")


@pytest.mark.parametrize(("mode", "choice"), [("auto", 0), ("auto", -1), ("auto", None), ("legacy", 0)])
def test_a_user_is_asked_for_the_workspace_before_the_first_note(
    mcp_client: Path, command: Command, tmp_path: Path, mode: str, choice: int | None
) -> None:
    nowhere = Command(tmp_path / "nowhere", command.state_dir)
    steps = [call("memory_search", query="bee"), call("memory_append", text="One."), call("memory_append", text="Two.")]
    searched, first, second, *asks = talk(mcp_client, nowhere, *steps, mode=mode, choice=choice)
    is_asked = mode == "auto" and choice is not None
    assert [f"{nowhere.workspace} does not exist" in each for each in asks] == [True] * is_asked
    assert searched["structured"]["warning"]
    if is_asked and choice == 0:
        assert [each["structured"]["status"] for each in (first, second)] == ["appended"] * 2
        assert {path.name for path in nowhere.workspace.iterdir()} == {"MEMORY.md", "memory"}
    else:
        assert [each["is_error"] for each in (first, second)] == [True, True]
        assert "does not exist" in first["text"]
        assert not nowhere.workspace.exists()


class Unnamed(Command):
    """The command of a user who has named no workspace."""

    def start(self) -> list[str]:
        return [sys.executable, "-P", "-m", "memory_core", "--state-dir", str(self.state_dir)]


@pytest.mark.parametrize("choice", [0, 1])
def test_where_nobody_has_named_a_workspace_the_folder_of_the_client_is_a_choice(
    mcp_client: Path, command: Command, home: Path, tmp_path: Path, choice: int
) -> None:
    (tmp_path / "project").mkdir()
    unnamed = Unnamed(command.workspace, command.state_dir)
    (done, asked) = talk(
        mcp_client, unnamed, call("memory_append", text="One."), choice=choice, folder=tmp_path / "project"
    )
    made = (home / "clawd", tmp_path / "project")
    assert str(made[0]) in asked
    assert done["structured"]["status"] == "appended"
    assert [(each / "MEMORY.md").exists() for each in made] == [choice == 0, choice == 1]


@pytest.mark.parametrize(("mode", "tells"), [("auto", True), ("legacy", False)])
def test_lists_say_for_how_long_they_hold(mcp_client: Path, command: Command, mode: str, *, tells: bool) -> None:
    lists = ("list_tools", "list_prompts", "list_resources", "list_resource_templates")
    found = talk(mcp_client, command, *[do(each) for each in lists], mode=mode)
    assert [each.get("ttlMs") for each in found] == ([2000, 2000, 2000, 3_600_000] if tells else [0] * 4)


def test_the_workspace_is_not_touched_before_the_first_call(command: Command, workspace: Path, tmp_path: Path) -> None:
    def look() -> dict[Path, tuple[int, int]]:
        found = {path: path.stat() for path in [workspace, *workspace.rglob("*")]}
        return {path: (stat.st_mtime_ns, stat.st_size) for path, stat in found.items()}

    before, missing = look(), tmp_path / "none"
    for options in ((), ("--workspace", str(missing))):
        with Server(command, *options) as server:
            server.greet()
            server.send("tools/list", 2)
            assert server.receive_until(2)["result"]["tools"]
            server.send("resources/list", 3)
            assert server.receive_until(3)["result"] is not None
    assert look() == before
    assert not missing.exists()


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


def test_a_signal_ends_it_while_the_client_reads_nothing(command: Command, tmp_path: Path) -> None:
    config = tmp_path / "host.json5"
    config.write_text("{memorySearch: {items: {enabled: true}}}", encoding="utf-8")
    opening = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    with Server(command, "--config", str(config)) as server:
        server.send("initialize", 1, **opening)
        for number in range(2, 12):
            server.send("tools/list", number)
        assert server.process.stdout is not None
        out = server.process.stdout.fileno()
        assert eventually(lambda: count_waiting(out) > 50_000), "the pipe is full"
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(timeout=DEADLINE_SECONDS) == 128 + signal.SIGTERM


def count_waiting(descriptor: int) -> int:
    """The bytes that wait to be read in a pipe."""
    held = array.array("i", [0])
    fcntl.ioctl(descriptor, termios.FIONREAD, held)
    return held[0]


def test_a_client_that_listens_for_changes_keeps_no_server_that_it_has_left(command: Command) -> None:
    asker = {"protocolVersion": "2026-07-28", "clientCapabilities": {}}
    meta = {f"io.modelcontextprotocol/{name}": value for name, value in asker.items()}
    with Server(command) as server:
        server.send("server/discover", 1, _meta=meta)
        server.send("subscriptions/listen", 2, _meta=meta, notifications={"toolsListChanged": True})
        server.send("tools/call", 3, _meta=meta, name="memory_search", arguments={"query": "retired teacher"})
        code, out, _ = server.wait()  # in half of the time that it gives to the last answers
    assert code == 0
    answers = {message.get("id"): message for message in map(json.loads, out.splitlines())}
    assert answers[3]["result"]["structuredContent"]["results"]


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


MALFORMED: tuple[tuple[bytes, int], ...] = (
    (b'{"jsonrpc":"2.0","id":7,"method":"ping","params":{"x":NaN}}', types.PARSE_ERROR),
    (b'{"jsonrpc":"2.0","id":7,"method":"ping","params":{"x":-Infinity}}', types.PARSE_ERROR),
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
    message, refusal = stdio.parse_message(line)
    assert message is None
    assert refusal is not None
    assert refusal.error.code == code
    assert len(refusal.error.message) < 200


UNDERSTOOD: tuple[tuple[bytes, str], ...] = (
    (b'"half \\ud83d"', "half \ufffd"),
    (b'"\\ude00 the other half"', "\ufffd the other half"),
    (b'"\\ude00\\ud83d swapped"', "\ufffd\ufffd swapped"),
    (b'"whole \\ud83d\\ude00"', "whole \U0001f600"),
    (b'"no escape \\\\ud83d"', "no escape \\ud83d"),
    (b'"as bytes \xed\xa0\xbd"', "as bytes \ufffd"),
    (b'"a tab\tand \r, \x0b, \x1c, \0"', "a tab\tand \r, \x0b, \x1c, \0"),
    ('"\x85, \u2028, \u2029"'.encode(), "\x85, \u2028, \u2029"),
)


@pytest.mark.parametrize("mark", [b"", b"\t\xef\xbb\xbf \xef\xbb\xbf"], ids=["plain", "behind marks"])
@pytest.mark.parametrize(("written", "meant"), UNDERSTOOD, ids=lambda value: ascii(value)[:40])
def test_what_strict_json_forbids_is_understood(written: bytes, meant: str, mark: bytes) -> None:
    line = mark + b'{"jsonrpc":"2.0","id":7,"method":"ping","params":{"x":' + written + b"}}\r"
    message, refusal = stdio.parse_message(line)
    assert refusal is None
    assert isinstance(message, types.JSONRPCRequest)
    assert (message.id, message.params) == (7, {"x": meant})


@pytest.mark.parametrize(
    ("line", "number"),
    [
        (b'{"jsonrpc":"2.0","id":7,"method":"ping","params":{"x":NaN}}', 7),
        (b'{"method":"ping","params":{"id":3,"x":"\\q"},"jsonrpc":"2.0","id":"a-7"}', "a-7"),
        (b'{"jsonrpc":"2.0","method":"ping","params":{"x":NaN},"id":7}', 7),
        (b'{"jsonrpc":"2.0","method":"ping","params":[1,{"y":[]}],"id":"b",,}', "b"),
        (b'{"id" : -7 , "method":"tools/call","params":{"a":[{"id":8', -7),
        (b'{"jsonrpc":"2.0","id":7,"method":"ping","params":{"x":"\xff"}}', 7),
        (b'\xef\xbb\xbf{"jsonrpc":"2.0","id":7,"method":"ping",}', 7),
        (b'{"jsonrpc":"2.0","id":7,"method":"ping"} {"id":8}', 7),
        (b'{"jsonrpc":"2.0","id":"\\u00e9","method":"ping","params":{"x":' + b"1" * stdio.MAX_LINE_BYTES, "\xe9"),
        (b'{"jsonrpc":"2.0","method":"ping","params":{"id":7}', None),
        (b'{"jsonrpc":"2.0","method":"ping","params":"id":7}}', None),
        (b'{"jsonrpc":"2.0","id":7,"result":{"method":', None),
        (b'{"jsonrpc":"2.0","id":7.5,"method":"ping",', None),
        (b'{"jsonrpc":"2.0","id":{"id":7},"method":"ping",', None),
        (b'"id":7,"method":"ping"', None),
    ],
    ids=lambda value: repr(value)[:60],
)
def test_an_error_carries_the_id_where_one_can_be_read(line: bytes, number: object) -> None:
    message, refusal = stdio.parse_message(line)
    assert message is None
    assert refusal is not None
    assert refusal.id == number


def test_calls_that_strict_json_forbids_are_answered(server: Server) -> None:
    server.write(b"\xef\xbb\xbf" + json.dumps(frame("initialize", id=1, params=OPENING)).encode() + b"\r")
    assert server.receive()["result"]["serverInfo"]["name"] == "memory-core"
    server.send("notifications/initialized")
    for number, (written, _) in enumerate(UNDERSTOOD, start=2):
        search = b'{"name":"memory_search","arguments":{"query":' + written + b"}}"
        server.write(b'{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":%s}' % (number, search))
        assert "result" in server.receive_until(number)


def test_no_line_separator_stands_in_an_answer() -> None:
    answer = types.JSONRPCResponse(jsonrpc="2.0", id=5, result={"a\u2028b": "c\x85d\u2029e\nf\x0bg\x1ch"})
    line = stdio.to_line(answer)
    assert line.decode().splitlines(keepends=True) == [line.decode()]
    assert json.loads(line)["result"] == answer.result


def test_no_malformed_line_ends_it_and_each_is_answered(server: Server) -> None:
    server.greet()
    for line, _ in MALFORMED:
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
    for number in range(400):
        server.write(make_message(dice, number))
        if number % 10 == 9:  # the answers have to be read, or both sides wait
            server.send("ping", 9_000 + number)
            assert server.receive_until(9_000 + number)["result"] == {}

    assert server.process.stdin is not None
    server.process.stdin.close()
    server.process.stdin = None
    code, _, _ = server.wait()
    assert code == 0


def test_calls_that_hang_hold_up_no_other_call(command: Command, tmp_path: Path) -> None:
    with HeldServer() as held:
        remote = {"provider": "openai", "remote": {"baseUrl": held.url, "apiKey": "sk-loopback"}}
        config = tmp_path / "host.json5"
        config.write_text(
            json.dumps({"memorySearch": {**remote, "query": {"embedTimeoutMs": 1000 * HANG_GUARD_SECONDS}}}),
            encoding="utf-8",
        )
        asking = Command(command.workspace, command.state_dir, {"MEMORY_CORE_PROVIDER": "openai"})
        assert asking("index", "--config", str(config)).code == 0
        with Server(asking, "--config", str(config)) as server:
            server.greet()
            hanging = range(10, 30)  # more than the machine has threads for
            for number in hanging:
                server.send(
                    "tools/call", number, name="memory_search", arguments={"query": f"held: retired teacher {number}?"}
                )
            assert held.is_asked.wait(HANG_GUARD_SECONDS)
            server.send("tools/call", 2, name="memory_get", arguments={"path": NOTE})
            assert server.receive()["id"] == 2
            held.may_answer.set()
            assert {server.receive()["id"] for _ in hanging} == {*hanging}


def test_an_outage_of_the_backend_is_told_once_on_standard_error(command: Command) -> None:
    dsn = "postgresql://ada:hunter2@127.0.0.1:9/memory"
    with Server(command, MEMORY_CORE_BACKEND="postgres", MEMORY_CORE_POSTGRES_DSN=dsn) as server:
        server.greet()
        for number in (2, 3):
            server.send("tools/call", number, name="memory_search", arguments={"query": "retired teacher"})
            assert server.receive_until(number)["result"]["structuredContent"]["backend"] == "builtin"
        (line,) = server.wait()[2].decode().splitlines()
    assert line.startswith("memory-core: backend 'postgres' is out, builtin answers: connection ")
    assert "hunter2" not in line


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


def test_a_client_that_never_listens_ends_it_quietly(command: Command) -> None:
    with Server(command) as server:
        assert server.process.stdout is not None
        server.process.stdout.close()
        server.send(
            "initialize", 1, protocolVersion="2025-06-18", capabilities={}, clientInfo={"name": "t", "version": "1"}
        )
        assert server.process.wait(timeout=DEADLINE_SECONDS) == 0
        assert server.process.stderr is not None
        assert server.process.stderr.read() == b""


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


def test_without_the_package_it_says_what_to_install(command: Command) -> None:
    hide = "import sys; sys.modules['mcp_types'] = None; from memory_core.cli.main import main; sys.exit(main(['mcp']))"
    done = subprocess.run(
        [sys.executable, "-c", hide],
        env=command.variables(),
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=60,
    )
    assert done.returncode == 1
    assert 'pip install "memory-core-py[mcp]"' in done.stderr


# A host that starts a server, asks it something, and waits to be killed.
HOST = """
import json, subprocess, sys

server = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
call = {"name": "memory_search", "arguments": {"query": "retired teacher"}}
for number, (method, params) in enumerate([("initialize", client), *[("tools/call", call)] * 20]):
    message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
    server.stdin.write(json.dumps(message).encode() + b"\\n")
    server.stdin.flush()
    if number < 2:
        server.stdout.readline()
print(server.pid, flush=True)
sys.stdin.read()
"""


def test_a_host_that_is_killed_leaves_no_process_and_no_lock(command: Command) -> None:
    host = subprocess.Popen(
        [sys.executable, "-c", HOST, *command.start(), "mcp"],
        cwd=REPOSITORY,
        env=command.variables(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with host:
        assert host.stdout is not None
        server = int(host.stdout.readline())
        assert is_running(server)
        host.kill()
    assert eventually(lambda: not is_running(server))
    assert command("add", "The boiler was serviced.").code == 0
    assert command("index").code == 0
    found = command("search", "boiler", "--json").json
    assert "The boiler was serviced." in found["results"][0]["snippet"]
    assert not found.get("stale")


def is_running(number: int) -> bool:
    """False for a process that has ended, though nobody may have asked for its exit code yet."""
    try:
        os.kill(number, 0)
        state = Path(f"/proc/{number}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[0]
    except ProcessLookupError:
        return False
    except FileNotFoundError:
        return not Path("/proc/self").exists()
    return state != "Z"


@pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="only Linux tells the memory of another process in a file"
)
def test_an_idle_server_takes_less_than_100_mb(command: Command) -> None:
    assert command("index").code == 0  # so that the server has nothing to do
    with Server(command) as server:
        server.greet()
        server.send("resources/list", 2)
        assert server.receive_until(2)["result"]["resources"]
        status = Path(f"/proc/{server.process.pid}/status").read_text(encoding="utf-8")
    [kilobytes] = [int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS:")]
    assert kilobytes < 100 * 1024
