"""The base of all test servers: real HTTP on the loopback interface, a record of what came, faults to order."""

from __future__ import annotations

import hashlib
import json
import random
import socket
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit


@dataclass(frozen=True, slots=True)
class Request:
    """One request as it came; `headers` by lower-case name."""

    method: str
    path: str
    query: Mapping[str, list[str]]
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer; a `dict` becomes JSON. `after` is waited for, so that a test holds a request open as it likes.

    With `truncated`, half of the body is sent and the connection is shut.
    """

    status: int = 200
    body: dict[str, Any] | bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    after: threading.Event | None = None
    truncated: bool = False

    def content(self) -> bytes:
        """The bytes of the body."""
        return json.dumps(self.body).encode() if isinstance(self.body, dict) else self.body


def openai_error(
    status: int, message: str, *, code: str | None = None, headers: Mapping[str, str] | None = None
) -> Reply:
    """An error as OpenAI words it: https://platform.openai.com/docs/guides/error-codes."""
    return Reply(status, {"error": {"message": message, "type": "error", "code": code}}, headers or {})


def vector_of(text: str, dimensions: int) -> list[float]:
    """A vector for a text, the same at every call, not of unit length."""
    seed = int.from_bytes(hashlib.blake2s(text.encode()).digest(), "big")
    source = random.Random(seed)
    return [round(source.gauss(0, 1), 4) for _ in range(dimensions)]


class _HttpServer(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away in the middle is what some tests are about."""


class Served:
    """A server of HTTP on the loopback interface, which serves until the `with` block ends."""

    def __init__(self, handler: type[BaseHTTPRequestHandler]) -> None:
        self._lock = threading.Lock()
        self._server = _HttpServer(("127.0.0.1", 0), handler)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def origin(self) -> str:
        """Scheme, host and port."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"


class Server(Served):
    """Serves until the `with` block ends.

    Attributes:
        requests: All that came, in the order of their arrival.
        faults: Replies given instead of answers, the first one first, until none is left.
    """

    def __init__(self) -> None:
        super().__init__(_handler(self._serve))
        self.requests: list[Request] = []
        self.faults: list[Reply] = []

    def answer(self, request: Request) -> Reply:
        """Answer as the protocol does; each server has its own."""
        raise NotImplementedError

    def fail(self, *replies: Reply) -> None:
        """Give these replies to the next requests."""
        self.faults.extend(replies)

    def sent(self, path_end: str) -> list[Request]:
        """The requests to paths that end so."""
        with self._lock:
            return [request for request in self.requests if request.path.endswith(path_end)]

    def _serve(self, request: Request) -> Reply:
        with self._lock:
            self.requests.append(request)
            fault = self.faults.pop(0) if self.faults else None
        return fault or self.answer(request)


def _handler(serve: Callable[[Request], Reply]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def setup(self) -> None:
            super().setup()
            # Without it the kernel holds back the last piece of an answer for 40 ms.
            self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

        def do_GET(self) -> None:
            self._respond()

        def do_HEAD(self) -> None:
            self._respond()

        def do_POST(self) -> None:
            self._respond()

        def do_DELETE(self) -> None:
            self._respond()

        def _respond(self) -> None:
            reply = serve(self._request())
            if reply.after is not None:
                reply.after.wait(30)
            content = reply.content()
            self.send_response(reply.status)
            for name, value in {"Content-Length": str(len(content)), **reply.headers}.items():
                self.send_header(name, value)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(content[: len(content) // 2] if reply.truncated else content)
            self.close_connection = self.close_connection or reply.truncated

        def _request(self) -> Request:
            url = urlsplit(self.path)
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            headers = {name.lower(): value for name, value in self.headers.items()}
            return Request(self.command, url.path, parse_qs(url.query), headers, body)

        def log_message(self, *args: object) -> None:
            """Tests read `requests` instead."""

    return Handler
