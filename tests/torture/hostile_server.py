"""Serves hostile answers on the loopback interface, in a process of its own: `python -m tests.torture.hostile_server SEED`.

Prints its port, then answers until its standard input ends. Which answer a request gets is told by its header `X-Case`, a
kind and a number; without it, it gets a good one.
"""

from __future__ import annotations

import contextlib
import json
import random
import socket
import struct
import sys
import threading
import time

from tests.torture.hostile import RESET, Asked, answer, healthy

_LINGER_SECONDS = 8.0  # the longest an answer lasts: all clients have given up by then


def _serve(connection: socket.socket, seed: str) -> None:
    with connection, contextlib.suppress(OSError, ValueError, KeyError):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.settimeout(_LINGER_SECONDS)
        case, asked = _read(connection)
        if case is None:
            connection.sendall(healthy(asked))
            return
        kind, _, number = case.partition("/")
        until = time.monotonic() + _LINGER_SECONDS
        for piece in answer(kind, random.Random(f"{seed} answer {number}"), asked):
            if isinstance(piece, bytes):
                connection.sendall(piece)
            elif isinstance(piece, float):
                time.sleep(piece)
            else:
                assert piece == RESET
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                return
            if time.monotonic() > until:
                return
        connection.shutdown(socket.SHUT_WR)
        connection.settimeout(0.2)  # let the client read what is on its way before the socket goes
        while connection.recv(65536):
            pass


def _read(connection: socket.socket) -> tuple[str | None, Asked]:
    """Which answer is wanted, and what was asked."""
    data = b""
    while b"\r\n\r\n" not in data:
        more = connection.recv(65536)
        if not more:
            raise ValueError("no request")
        data += more
    top, _, body = data.partition(b"\r\n\r\n")
    lines = top.decode("latin-1").split("\r\n")[1:]
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    with contextlib.suppress(TimeoutError):
        connection.settimeout(2)
        while len(body) < int(headers.get("content-length", 0)):
            more = connection.recv(65536)
            if not more:
                break
            body += more
    connection.settimeout(_LINGER_SECONDS)
    try:
        texts = [str(text) for text in json.loads(body)["input"]]
    except (ValueError, TypeError, KeyError):
        texts = ["unknown"]
    return headers.get("x-case"), Asked(texts, headers.get("authorization", "").removeprefix("Bearer "))


def main() -> None:
    """Serve until standard input ends."""
    seed = sys.argv[1]
    listener = socket.create_server(("127.0.0.1", 0), backlog=128)

    def accept() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=_serve, args=(connection, seed), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    print(listener.getsockname()[1], flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
