"""A warm QMD server as an owned child: `qmd mcp --http` on a free loopback port, which answers in milliseconds.

For words its own POST /query is asked. It leaves out by what evidence it ranked, so for questions by meaning a module is
loaded into it that adds a route which tells (`evidence.mjs`).
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
from pathlib import Path
from typing import Any

from memory_core.errors import BackendUnavailable
from memory_qmd.asking import Demotion
from memory_qmd.client import Client
from memory_qmd.config import SearchMode
from memory_qmd.output import Row, UnreadableOutput, rows_of
from memory_qmd.process import MAX_OUTPUT_BYTES, Server

log = logging.getLogger(__name__)

HOST = "localhost"  # what QMD binds to; it may be ::1 or 127.0.0.1
START_SECONDS = 15.0  # a server that is not ready by then is given up
SHARE = 0.5  # of the time for a question: the most that the server has, so that QMD can be run instead
_HEALTH_SECONDS = 0.2
_EVIDENCE = Path(__file__).with_name("evidence.mjs")
# What loads the models that a mode asks.
_WARM_UP: Mapping[SearchMode, Mapping[str, Any]] = {
    "vsearch": {"queries": [{"type": "vec", "query": "memory"}], "rerank": False, "limit": 1},
    "query": {"query": "memory", "limit": 1},
}
_MODELS = {200: "ready", 404: "ready for words only: this QMD does not run on Node", 503: "loading its models"}


class WarmServer:
    """Answers from the server when it is ready; starts it meanwhile. Nothing runs before `enable`."""

    def __init__(self, client: Client, mode: SearchMode) -> None:
        self._client = client
        self._warm_up = _WARM_UP.get(mode)
        self._token = secrets.token_hex(16)
        self._lock = threading.Lock()
        self._enabled = False
        self._server: Server | None = None
        self._port = 0
        self._ready = False
        self._models = ""
        self._started_at = 0.0
        self._broken = Demotion()

    def enable(self) -> None:
        """Let the next question start the server."""
        self._enabled = True

    def state(self) -> str:
        """ "off", "starting", "loading its models", "ready", or why it is given up for now."""
        if not self._enabled:
            return "off"
        if self._server is not None:
            return (self._models or "ready") if self._ready else "starting"
        return self._broken.reason() or "starts with the next question"

    def words(
        self, lines: Sequence[tuple[str, str]], names: Sequence[str], limit: int, deadline: float
    ) -> list[Row] | None:
        """The rows for typed lines; None when the server cannot answer now, and QMD is to be run instead."""
        if not self._is_ready():
            return None
        body = {
            "searches": [{"type": kind, "query": text} for kind, text in lines],
            "collections": list(names),
            "limit": limit,
            "rerank": False,
        }
        return self._rows("/query", body, _shared(deadline))

    def meaning(
        self, lines: Sequence[tuple[str, str]], names: Sequence[str], limit: int, deadline: float
    ) -> list[Row] | None:
        """The same with the cosines, as `qmd query --no-rerank --explain` gives them."""
        if not self._has_models():
            return None
        queries = [{"type": kind, "query": text} for kind, text in lines]
        body = {"queries": queries, "collections": list(names), "limit": limit, "rerank": False}
        return self._rows("/evidence", body, _shared(deadline))

    def reranked(self, text: str, names: Sequence[str], limit: int, deadline: float) -> list[Row] | None:
        """The rows for a plain question, with the reranker's judgement, as `qmd query --explain` gives them.

        It has all the time: where a warm reranker takes more than a share of it, a cold one would not do with the rest.
        """
        if not self._has_models():
            return None
        return self._rows("/evidence", {"query": text, "collections": list(names), "limit": limit}, deadline)

    def stop(self) -> None:
        """End the server; the next question starts a new one. It would go on serving a database that was deleted."""
        with self._lock:
            server, self._server, self._ready, self._models = self._server, None, False, ""
        if server is not None:
            server.stop()

    def close(self) -> None:
        """End the server for good; may be called twice."""
        self._enabled = False
        self.stop()

    def _is_ready(self) -> bool:
        if not self._enabled or self._broken.reason() is not None:
            return False
        with self._lock:
            server, ready = self._server, self._ready
        if server is None:
            self._start()
            return False
        if not server.running():
            self._give_up(f"the warm server ended: {server.log_tail()[-200:]}")
            return False
        if not ready:
            ready = self._looked("/health") == http.client.OK
            with self._lock:
                self._ready = ready and self._server is server
        if not ready and time.monotonic() - self._started_at > START_SECONDS:
            self._give_up(f"the warm server was not ready within {START_SECONDS:g} s")
        return ready

    def _has_models(self) -> bool:
        """Whether it answers by meaning now; the first look makes it load its models."""
        if not self._is_ready():
            return False
        if self._models in {"", _MODELS[503]}:
            status = self._looked("/evidence")
            with self._lock:
                self._models = _MODELS.get(status, "ready for words only: its models cannot be loaded")
        return self._models == _MODELS[200]

    def _rows(self, path: str, body: Mapping[str, Any], deadline: float) -> list[Row] | None:
        try:
            status, content = self._exchange("POST", path, body, timeout_seconds=deadline - time.monotonic())
            if status != http.client.OK:
                raise http.client.HTTPException(f"status {status}: {content[:200]!r}")
            rows = rows_of(json.loads(content))
        except (OSError, http.client.HTTPException, ValueError, UnreadableOutput) as error:
            self._give_up(f"the warm server failed: {str(error) or type(error).__name__}")
            return None
        self._broken.succeeded()
        return rows

    def _start(self) -> None:
        with self._lock:
            if self._server is not None or not self._enabled:
                return
            self._port = _free_port()
            self._started_at = time.monotonic()
            try:
                self._server = self._client.serve(["mcp", "--http", "--port", str(self._port)], self._environment())
            except BackendUnavailable as error:
                self._broken.failed(error.reason)

    def _environment(self) -> dict[str, str]:
        """What loads the module into QMD's Node; nothing where no question is asked by meaning."""
        if self._warm_up is None:
            return {}
        options = f"{os.environ.get('NODE_OPTIONS', '')} --import={_EVIDENCE.as_uri()}"
        return {
            "NODE_OPTIONS": options.strip(),
            "MEMORY_QMD_TOKEN": self._token,
            "MEMORY_QMD_WARM_UP": json.dumps(self._warm_up),
        }

    def _looked(self, path: str) -> int:
        """The status of a short GET; 503 when there was none."""
        try:
            return self._exchange("GET", path, None, timeout_seconds=_HEALTH_SECONDS)[0]
        except (OSError, http.client.HTTPException):
            return 503

    def _give_up(self, reason: str) -> None:
        log.warning("%s; QMD is run for each question meanwhile", reason)
        self._broken.failed(reason)
        self.stop()

    def _exchange(
        self, method: str, path: str, body: Mapping[str, Any] | None, *, timeout_seconds: float
    ) -> tuple[int, bytes]:
        """One request: status and body of the answer; raises OSError or HTTPException when there is none."""
        connection = http.client.HTTPConnection(HOST, self._port, timeout=max(timeout_seconds, 0.01))
        try:
            data = None if body is None else json.dumps(body).encode()
            connection.request(
                method, path, data, {"Content-Type": "application/json", "X-Memory-Qmd-Token": self._token}
            )
            response = connection.getresponse()
            return response.status, response.read(MAX_OUTPUT_BYTES)
        finally:
            connection.close()


def _shared(deadline: float) -> float:
    """The server's own deadline, which leaves time to run QMD instead."""
    now = time.monotonic()
    return now + SHARE * (deadline - now)


def _free_port() -> int:
    """A port that is free now; when somebody else takes it first, the server ends and is started on another."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])
