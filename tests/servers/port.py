"""A port on the loopback interface where nobody speaks: closed, or open and silent."""

from __future__ import annotations

import socket
import threading
from typing import Self


class Port:
    """Reserved until the `with` block ends; refuses connections until `open`, then takes them and never answers."""

    def __init__(self) -> None:
        self._socket = socket.socket()
        self._socket.bind(("127.0.0.1", 0))
        self._taken: list[socket.socket] = []
        self._thread = threading.Thread(target=self._accept, daemon=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self._thread.is_alive():
            self._socket.shutdown(socket.SHUT_RDWR)
            self._thread.join()
        for connection in [self._socket, *self._taken]:
            connection.close()

    @property
    def url(self) -> str:
        """A base URL there."""
        return f"http://127.0.0.1:{self._socket.getsockname()[1]}/v1"

    @property
    def connections(self) -> int:
        """The number of connections so far."""
        return len(self._taken)

    def open(self) -> Self:
        """Take connections from now on."""
        self._socket.listen(64)
        self._thread.start()
        return self

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:  # shut down
                return
            self._taken.append(connection)
