"""Malformed messages to the MCP server, over its standard streams and over HTTP: none ends it, none goes unanswered for ever.

Fifty messages share a server. Behind each one comes a request that any living server answers.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, ClassVar

import httpx

from tests.command import REPOSITORY
from tests.servers.mcp_messages import OPENING, make_message
from tests.torture.attack import Attack, Outcome

ANSWER_SECONDS = 40.0
END_SECONDS = 30.0
_URL = re.compile(rb"http://\S+/mcp")
_GOOD_TYPES = "application/json, text/event-stream"
_TYPES = (*[_GOOD_TYPES] * 6, "application/json", "text/event-stream", "*/*", "")
_VERSIONS = ("2024-11-05", "2025-06-18", "2025-06-18", "2026-07-28", "2026-07-28", "x", "")


class McpAttack(Attack):
    """See the module."""

    name: ClassVar[str] = "mcp"
    full: ClassVar[int] = 5_000
    group: ClassVar[int] = 50
    share: ClassVar[float] = 0.15
    limit_seconds: ClassVar[float] = 90.0

    def __init__(self, folder: Path, seed: int) -> None:
        super().__init__(folder, seed)
        self._server: tuple[int, _Streams | _Http] | None = None
        self._workspace = folder / "workspace"
        (self._workspace / "memory").mkdir(parents=True, exist_ok=True)
        (self._workspace / "MEMORY.md").write_text("The fence is green.\n", encoding="utf-8")

    def run(self, number: int) -> Outcome:
        outcome, dice = Outcome(), self.dice(number)
        server = self._server_of(number, outcome)
        message = make_message(dice, number)
        try:
            outcome.count(server.attack(message, number, dice))
        except (OSError, ValueError, httpx.HTTPError, TimeoutError) as error:
            said = server.end()
            outcome.add(
                "down", f"{server.kind}: {type(error).__name__} after a message", f"{message!r}\n{error}\n{said}"
            )
            self._server = None
        if (number + 1) % self.group == 0:
            self._finish(outcome)
        return outcome

    def close(self) -> None:
        self._finish(Outcome())

    def _finish(self, outcome: Outcome) -> None:
        """End the server as its client would, and judge how it ends."""
        if self._server is None:
            return
        _, server = self._server
        self._server = None
        said = server.end()
        if server.process.returncode != server.good_code:
            outcome.add("down", f"{server.kind}: it ends with {server.process.returncode}", said)
        if "Traceback" in said:
            outcome.add("down", f"{server.kind}: a traceback on standard error", said)

    def _server_of(self, number: int, outcome: Outcome) -> _Streams | _Http:
        group = number // self.group
        if self._server is None or self._server[0] != group:
            self._finish(outcome)
            command = [sys.executable, "-m", "memory_core", "--workspace", str(self._workspace)]
            command += ["--state-dir", str(self.folder / "state"), "mcp"]
            dice = self.dice(group, "server")
            self._server = group, _Http(command) if group % 2 else _Streams(command, greeted=dice.random() < 0.7)
        return self._server[1]


class _Server:
    """A server process."""

    kind: ClassVar[str]
    good_code: ClassVar[int]

    def __init__(self, command: list[str]) -> None:
        environment = {**os.environ, "MEMORY_CORE_PROVIDER": "none"}
        self.process = subprocess.Popen(
            command, cwd=REPOSITORY, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )  # fmt: skip
        assert self.process.stderr is not None
        os.set_blocking(self.process.stderr.fileno(), False)
        self._said = b""

    def hear(self) -> bytes:
        """What it has said on standard error so far."""
        assert self.process.stderr is not None
        with contextlib.suppress(ValueError):
            self._said += self.process.stderr.read() or b""
        return self._said

    def end(self) -> str:
        """End it; return what it said on standard error."""
        self.ask_to_end()
        try:
            self.process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        said = self.hear().decode(errors="replace")
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            with contextlib.suppress(OSError):
                if stream is not None:
                    stream.close()
        return said

    def ask_to_end(self) -> None:
        raise NotImplementedError


class _Streams(_Server):
    """Over its standard streams."""

    kind = "stdio"
    good_code = 0

    def __init__(self, command: list[str], *, greeted: bool) -> None:
        super().__init__(command)
        self._held = b""
        if greeted:
            opening = {"jsonrpc": "2.0", "id": "opening", "method": "initialize", "params": OPENING}
            self._write(json.dumps(opening).encode())
            self._read_until("opening")

    def attack(self, message: bytes, number: int, _: random.Random) -> str:
        """Send a message and a request; return "answered" if there was more than the answer to the request."""
        self._write(message)
        self._write(json.dumps({"jsonrpc": "2.0", "id": f"alive-{number}", "method": "ping"}).encode())
        self.hear()
        return "answered" if self._read_until(f"alive-{number}") > 1 else "unanswered"

    def ask_to_end(self) -> None:
        assert self.process.stdin is not None
        with contextlib.suppress(OSError):
            self.process.stdin.close()

    def _write(self, line: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def _read_until(self, awaited: str) -> int:
        """Read messages up to the answer with that id; return how many."""
        count = 0
        while True:
            line = self._read_line()
            count += 1
            heard: dict[str, Any] = json.loads(line)
            if heard.get("jsonrpc") != "2.0":
                raise ValueError(f"no message: {line!r}")
            if heard.get("id") == awaited:
                return count

    def _read_line(self) -> bytes:
        assert self.process.stdout is not None
        descriptor, until = self.process.stdout.fileno(), time.monotonic() + ANSWER_SECONDS
        while b"\n" not in self._held:
            if not select.select([descriptor], [], [], max(0.0, until - time.monotonic()))[0]:
                raise TimeoutError("no answer")
            if not (chunk := os.read(descriptor, 65536)):
                raise ValueError("standard output has ended")
            self._held += chunk
        line, _, self._held = self._held.partition(b"\n")
        return line


class _Http(_Server):
    """Over HTTP."""

    kind = "http"
    good_code = 128 + signal.SIGTERM

    def __init__(self, command: list[str]) -> None:
        super().__init__([*command, "--http", "127.0.0.1:0"])
        until = time.monotonic() + ANSWER_SECONDS
        while (found := _URL.search(self.hear())) is None:
            if time.monotonic() > until:
                raise TimeoutError("it does not say where it serves")
            time.sleep(0.05)
        self._url = found[0].decode()
        self._client = httpx.Client(timeout=ANSWER_SECONDS)
        self._session = ""

    def attack(self, message: bytes, number: int, dice: random.Random) -> str:
        """Send a message with odd headers, and a handshake; return the status of the answer to the message."""
        said = {
            "Content-Type": dice.choice([*["application/json"] * 8, "text/plain"]),
            "Accept": dice.choice(_TYPES),
        }
        if dice.random() < 0.5:
            said["Mcp-Session-Id"] = self._session if dice.random() < 0.8 else "x"
        if dice.random() < 0.7:
            said["Mcp-Protocol-Version"] = dice.choice(_VERSIONS)
        if dice.random() < 0.2:
            said["Mcp-Method"] = dice.choice(["tools/list", "x", ""])
        verb = dice.choice([*["POST"] * 20, "DELETE", "PUT"])
        with self._client.stream(verb, self._url, content=message, headers=said) as answer:
            status = answer.status_code
            if status >= 500:
                raise ValueError(f"status {status}: {answer.read()!r:.300}")
        opening = {"jsonrpc": "2.0", "id": number, "method": "initialize", "params": OPENING}
        with self._client.stream("POST", self._url, json=opening, headers={"Accept": _GOOD_TYPES}) as alive:
            if alive.status_code != 200:
                raise ValueError(f"status {alive.status_code} of a handshake")
            self._session = alive.headers["Mcp-Session-Id"]
        self.hear()
        return f"status {status}"

    def ask_to_end(self) -> None:
        self._client.close()
        self.process.terminate()
