"""Ways to speak to `memory-core mcp`: by hand, and with the official client."""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, Self

from tests.command import REPOSITORY, Command

CLIENT = Path(__file__).with_name("mcp_client.py")
NOTE = "memory/2026-01-10.md"
DEADLINE_SECONDS = 30.0


def talk(
    python: Path,
    command: Command,
    *steps: dict[str, Any],
    options: tuple[str, ...] = (),
    mode: str = "auto",
    choice: int | None = None,
    folder: Path | None = None,
    entry: Mapping[str, Any] | None = None,
) -> list[Any]:
    """Return what the official client got in every step from a server that it starts, and what its user was asked.

    Args:
        python: Has the client.
        command: Starts the server.
        steps: See `mcp_client`.
        options: Of the server.
        mode: "legacy" has a handshake.
        choice: The number of the folder that the user takes when asked for one, -1 for none; None cannot be asked.
        folder: The one in which the server is started; None is the repository.
        entry: `command` and `args` in the configuration of a host, which then start the server.
    """
    program, *arguments = command.start()
    given = {
        **(entry or {"command": program, "args": [*arguments, "mcp", *options]}),
        "env": command.variables(),
        "cwd": str(folder or REPOSITORY),
    }
    return _play(python, {**given, "mode": mode, "choice": choice, "steps": steps})


def talk_http(python: Path, url: str, *steps: dict[str, Any], token: str = "", mode: str = "auto") -> list[Any]:
    """Return what the official client got in every step from a server over HTTP."""
    return _play(python, {"url": url, "token": token, "mode": mode, "steps": steps})


def _play(python: Path, asked: dict[str, Any]) -> list[Any]:
    client = _start_client(python)
    assert client.stdin is not None
    assert client.stdout is not None
    client.stdin.write(f"{json.dumps(asked)}\n")
    client.stdin.flush()
    told = json.loads(client.stdout.readline())
    assert "failed" not in told, told["failed"]
    answers = told["answers"]
    assert isinstance(answers, list)
    return answers


@cache
def _start_client(python: Path) -> subprocess.Popen[str]:
    """Start the client once for all conversations: it imports for a second."""
    client = subprocess.Popen(
        [python, "-I", CLIENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8", cwd=REPOSITORY
    )
    atexit.register(client.communicate)
    return client


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"call": name, "arguments": arguments}


def do(method: str, **arguments: Any) -> dict[str, Any]:
    return {"do": method, "with": arguments}


class Server:
    """A server that is spoken to by hand, in a process group of its own."""

    def __init__(self, command: Command, *options: str, **environment: str) -> None:
        self.process = subprocess.Popen(
            [*command.start(), "mcp", *options],
            cwd=REPOSITORY,
            env={**command.variables(), **environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )

    @property
    def url(self) -> str:
        """The address that a server over HTTP says."""
        assert self.process.stderr is not None
        line = self.process.stderr.readline().decode()
        assert line.startswith("memory-core: serving MCP at http://127.0.0.1:"), line
        return line.split()[-1]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate()

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


def frame(method: str, **other: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": method, **other}


@contextmanager
def repeating(change: Callable[[], object]) -> Iterator[None]:
    """Makes a change again and again until the block ends: the server's first look may come after any one of them."""
    over = threading.Event()

    def repeat() -> None:
        while not over.wait(0.3):
            change()

    thread = threading.Thread(target=repeat)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def grow(note: Path) -> None:
    with note.open("a", encoding="utf-8") as file:
        file.write("more\n")
