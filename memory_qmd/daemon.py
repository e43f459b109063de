"""A warm QMD server as an owned child: `qmd mcp --http` on a free loopback port, which answers in milliseconds."""

from __future__ import annotations

import http.client
import json
import logging
import socket
import threading
import time
from collections.abc import Sequence
from typing import Any

from memory_core.errors import BackendUnavailable
from memory_qmd.asking import Demotion
from memory_qmd.client import Client
from memory_qmd.output import Row, UnreadableOutput, rows_of
from memory_qmd.process import MAX_OUTPUT_BYTES, Server

log = logging.getLogger(__name__)

HOST = "localhost"  # what QMD binds to; it may be ::1 or 127.0.0.1
START_SECONDS = 15.0  # a server that is not ready by then is given up
_HEALTH_SECONDS = 0.2


class WarmServer:
    """Answers from the server when it is ready; starts it meanwhile. Nothing runs before `enable`."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._lock = threading.Lock()
        self._enabled = False
        self._server: Server | None = None
        self._port = 0
        self._ready = False
        self._started_at = 0.0
        self._broken = Demotion()

    def enable(self) -> None:
        """Let the next question start the server."""
        self._enabled = True

    def state(self) -> str:
        """ "off", "starting", "ready", or why it is given up for now."""
        if not self._enabled:
            return "off"
        if self._server is not None:
            return "ready" if self._ready else "starting"
        return self._broken.reason() or "starts with the next question"

    def ask(
        self, lines: Sequence[tuple[str, str]], names: Sequence[str], limit: int, deadline: float
    ) -> list[Row] | None:
        """The rows for typed lines; None when the server cannot answer now, and QMD is to be run instead."""
        if not self._enabled or self._broken.reason() is not None or not self._is_ready():
            return None
        body = {
            "searches": [{"type": kind, "query": text} for kind, text in lines],
            "collections": list(names),
            "limit": limit,
            "rerank": False,
        }
        try:
            rows = rows_of(
                self._request("POST", "/query", body, timeout_seconds=max(0.01, deadline - time.monotonic()))
            )
        except (OSError, http.client.HTTPException, ValueError, UnreadableOutput) as error:
            self._give_up(f"the warm server failed: {str(error) or type(error).__name__}")
            return None
        self._broken.succeeded()
        return rows

    def stop(self) -> None:
        """End the server; the next question starts a new one. It would go on serving a database that was deleted."""
        with self._lock:
            server, self._server, self._ready = self._server, None, False
        if server is not None:
            server.stop()

    def close(self) -> None:
        """End the server for good; may be called twice."""
        self._enabled = False
        self.stop()

    def _is_ready(self) -> bool:
        with self._lock:
            server, ready = self._server, self._ready
        if server is None:
            self._start()
            return False
        if not server.running():
            self._give_up(f"the warm server ended: {server.log_tail()[-200:]}")
            return False
        if not ready:
            ready = self._is_healthy()
            with self._lock:
                self._ready = ready and self._server is server
        if not ready and time.monotonic() - self._started_at > START_SECONDS:
            self._give_up(f"the warm server was not ready within {START_SECONDS:g} s")
        return ready

    def _start(self) -> None:
        with self._lock:
            if self._server is not None or not self._enabled:
                return
            self._port = _free_port()
            self._started_at = time.monotonic()
            try:
                self._server = self._client.serve(["mcp", "--http", "--port", str(self._port)])
            except BackendUnavailable as error:
                self._broken.failed(str(error))

    def _is_healthy(self) -> bool:
        try:
            self._request("GET", "/health", None, timeout_seconds=_HEALTH_SECONDS)
        except (OSError, http.client.HTTPException, ValueError):
            return False
        return True

    def _give_up(self, reason: str) -> None:
        log.warning("%s; QMD is run for each question meanwhile", reason)
        self._broken.failed(reason)
        self.stop()

    def _request(self, method: str, path: str, body: Any, *, timeout_seconds: float) -> Any:
        """One request; raises OSError, HTTPException or ValueError for anything but JSON with status 200."""
        connection = http.client.HTTPConnection(HOST, self._port, timeout=timeout_seconds)
        try:
            data = None if body is None else json.dumps(body).encode()
            connection.request(method, path, data, {"Content-Type": "application/json"})
            response = connection.getresponse()
            content = response.read(MAX_OUTPUT_BYTES)
            if response.status != http.client.OK:
                raise http.client.HTTPException(f"status {response.status}: {content[:200]!r}")
            return json.loads(content)
        finally:
            connection.close()


def _free_port() -> int:
    """A port that is free now; when somebody else takes it first, the server ends and is started on another."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])
