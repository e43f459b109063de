"""A warm QMD server as an owned child: `qmd mcp --http` on a free loopback port, which answers in milliseconds.

Searches for words use its own POST /query. That route leaves out the evidence behind its ranks, so for searches by meaning
a module is loaded into the server that adds a route with the evidence (`evidence.mjs`).
"""

from __future__ import annotations

import http.client
import json
import logging
import os
import secrets
import socket
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Literal

from memory_core.errors import BackendUnavailable, SyncStopped
from memory_core.threads import Cooldown, start_call, wait_for
from memory_qmd.client import RETRIES, QmdClient
from memory_qmd.config import SearchMode
from memory_qmd.process import MAX_OUTPUT_BYTES, ServerProcess
from memory_qmd.queries import Bounds, QmdRow, parse_server_rows

log = logging.getLogger(__name__)

Route = Literal["/query", "/evidence"]

HOST = "localhost"  # the name that QMD binds to; it may be ::1 or 127.0.0.1
START_SECONDS = 15.0  # for a server to get ready, before it is given up
SHARE = 0.5  # of the time for a question: the server's part, so that QMD can be run instead
_HEALTH_SECONDS = 0.2
_EVIDENCE = Path(__file__).with_name("evidence.mjs")
# A search that loads the models of a mode.
_WARM_UP: Mapping[SearchMode, Mapping[str, Any]] = {
    "vsearch": {"queries": [{"type": "vec", "query": "memory"}], "rerank": False, "limit": 1},
    "query": {"query": "memory", "limit": 1},
}
_MODELS = {200: "ready", 404: "ready for words only: this QMD does not run on Node", 503: "loading its models"}


class WarmServer:
    """Searches by the server once it is ready, and starts it before. Nothing runs before `enable`."""

    def __init__(self, client: QmdClient, mode: SearchMode) -> None:
        self._client = client
        self._warm_up = _WARM_UP.get(mode)
        self._token = secrets.token_hex(16)
        self._headers = {"Content-Type": "application/json", "X-Memory-Qmd-Token": self._token}
        self._lock = threading.Lock()
        self._enabled = False
        self._server: ServerProcess | None = None
        self._port = 0
        self._ready = False
        self._models = ""
        self._started_at = 0.0
        self._cooldown = Cooldown(RETRIES)

    def enable(self) -> None:
        """Let the next question start the server."""
        self._enabled = True

    def describe(self) -> str:
        """Return "off", "starting", "loading its models", "ready", or the reason why it is given up for now."""
        if not self._enabled:
            return "off"
        if self._server is not None:
            return (self._models or "ready") if self._ready else "starting"
        return self._cooldown.reason or "starts with the next question"

    def search(self, route: Route, asked: str | Sequence[tuple[str, str]], bounds: Bounds) -> list[QmdRow] | None:
        """Search by one of its routes; None if the server cannot answer now, and QMD must be run instead.

        Args:
            route: "/query" for words; "/evidence" with what `qmd query --explain` tells besides.
            asked: Typed lines; or a plain question, which is reranked.
            bounds: Of the search. Typed lines get a share of the time until the deadline, so that QMD can be run instead. A
                question has all of it: if a warm reranker needs more than a share, a cold one cannot do with the remainder.
        """
        if not (self._is_ready() if route == "/query" else self._has_models()):
            return None
        body: dict[str, Any] = {"collections": list(bounds.names), "limit": bounds.limit}
        seconds = bounds.deadline - time.monotonic()
        if isinstance(asked, str):
            body["query"] = asked
        else:
            lines = [{"type": kind, "query": text} for kind, text in asked]
            body |= {"searches" if route == "/query" else "queries": lines, "rerank": False}
            seconds *= SHARE
        try:
            status, content = exchange(self._port, "POST", route, body, self._headers, timeout_seconds=seconds)
            if status != http.client.OK:
                raise http.client.HTTPException(f"status {status}: {content[:200]!r}")
            rows = parse_server_rows(json.loads(content))
        except (OSError, http.client.HTTPException, ValueError) as error:
            self._give_up(f"the warm server failed: {str(error) or type(error).__name__}")
            return None
        self._cooldown.record_success()
        return rows

    def stop(self) -> None:
        """End the server, which would go on serving a database that was deleted; the next question starts a new one."""
        with self._lock:
            server, self._server, self._ready, self._models = self._server, None, False, ""
        if server is not None:
            server.stop()

    def close(self) -> None:
        """End the server for good; may be called twice."""
        self._enabled = False
        self.stop()

    def _is_ready(self) -> bool:
        if not self._enabled or self._cooldown.reason is not None:
            return False
        with self._lock:
            server, ready = self._server, self._ready
        if server is None:
            self._start()
            return False
        if not server.is_running():
            self._give_up(f"the warm server ended: {server.read_log_end()[-200:]}")
            return False
        if not ready:
            ready = self._get_status("/health") == http.client.OK
            with self._lock:
                self._ready = ready and self._server is server
        if not ready and time.monotonic() - self._started_at > START_SECONDS:
            self._give_up(f"the warm server was not ready within {START_SECONDS:g} s")
        return ready

    def _has_models(self) -> bool:
        """Return True if it answers by meaning now; the first call makes it load its models."""
        if not self._is_ready():
            return False
        if self._models in {"", _MODELS[503]}:
            status = self._get_status("/evidence")
            with self._lock:
                self._models = _MODELS.get(status, "ready for words only: its models cannot be loaded")
        return self._models == _MODELS[200]

    def _start(self) -> None:
        with self._lock:
            if self._server is not None or not self._enabled:
                return
            # If another program takes the free port first, the server ends and is started on another.
            with socket.create_server(("127.0.0.1", 0)) as free:
                self._port = free.getsockname()[1]
            self._started_at = time.monotonic()
            environment = {}
            if self._warm_up is not None:  # loads the module into QMD's Node
                environment = {
                    "NODE_OPTIONS": f"{os.environ.get('NODE_OPTIONS', '')} --import={_EVIDENCE.as_uri()}".strip(),
                    "MEMORY_QMD_TOKEN": self._token,
                    "MEMORY_QMD_WARM_UP": json.dumps(self._warm_up),
                }
            try:
                self._server = self._client.start_server(["mcp", "--http", "--port", str(self._port)], environment)
            except BackendUnavailable as error:
                self._cooldown.record_failure(error.reason)
            except SyncStopped:
                self._enabled = False

    def _get_status(self, path: str) -> int:
        """Return the status of a short GET; 503 if there was no answer."""
        try:
            return exchange(self._port, "GET", path, None, self._headers, timeout_seconds=_HEALTH_SECONDS)[0]
        except (OSError, http.client.HTTPException):
            return 503

    def _give_up(self, reason: str) -> None:
        log.warning("%s; until it is tried again, QMD is run for each question", reason)
        self._cooldown.record_failure(reason)
        self.stop()


def exchange(
    port: int,
    method: str,
    path: str,
    body: Mapping[str, Any] | None,
    headers: Mapping[str, str],
    *,
    timeout_seconds: float,
) -> tuple[int, bytes]:
    """Send one request to a server on this machine and return status and body.

    The time is that of the whole exchange, however many pieces the answer comes in.

    Raises:
        OSError: There is no server, or no whole answer in time.
        HTTPException: It is no HTTP.
    """
    seconds = max(timeout_seconds, 0.01)
    connection = http.client.HTTPConnection(HOST, port, timeout=seconds)  # for each piece

    def ask() -> tuple[int, bytes]:
        with closing(connection):
            connection.request(method, path, None if body is None else json.dumps(body).encode(), dict(headers))
            response = connection.getresponse()
            return response.status, response.read(MAX_OUTPUT_BYTES)

    return wait_for(start_call(ask, name="memory-qmd-request"), seconds)
