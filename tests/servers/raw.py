"""A server that sends whatever bytes a test gives it, HTTP or not."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from collections.abc import Callable, Iterable
from typing import Self

Answer = Callable[[str, bytes], Iterable[bytes]]


class RawServer:
    """Answers each connection with the pieces that `answer` makes of a request's head and body, then closes it."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.heads: list[str] = []
        self.sent_bytes = 0
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self._thread = threading.Thread(target=self._accept, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(5)

    @property
    def host(self) -> str:
        """Host and port."""
        return f"127.0.0.1:{self._listener.getsockname()[1]}"

    @property
    def url(self) -> str:
        """A base URL there."""
        return f"http://{self.host}/v1"

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:  # shut down
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError, ValueError):
            connection.settimeout(10)
            data = b""
            while b"\r\n\r\n" not in data and (more := connection.recv(65536)):
                data += more
            head, _, body = data.partition(b"\r\n\r\n")
            lines = head.decode("latin-1")
            length = next(
                (int(line[15:]) for line in lines.split("\r\n") if line.lower().startswith("content-length:")), 0
            )
            while len(body) < length and (more := connection.recv(65536)):
                body += more
            self.heads.append(lines)
            for piece in self.answer(lines, body):
                connection.sendall(piece)
                self.sent_bytes += len(piece)
            connection.shutdown(socket.SHUT_WR)
            connection.settimeout(0.3)
            while connection.recv(65536):
                pass


def asked(body: bytes) -> list[str]:
    """The texts of an embeddings request."""
    return [str(text) for text in json.loads(body)["input"]]
