"""The socket of a server on this machine."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager

from memory_core.errors import MemoryCoreError


@contextmanager
def listen(host: str, port: int) -> Iterator[socket.socket]:
    """Listen at an address until the block ends.

    Args:
        host: A name or an IP address.
        port: 0 takes a free one.

    Raises:
        MemoryCoreError: The address cannot be used.
    """
    try:
        family, _, _, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.create_server(place[:2], family=family, backlog=256)
        # Connections inherit it. Without it, the second part of an answer waits 40 ms for word that the first one has come.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    except (OSError, OverflowError, UnicodeError) as error:  # no name of a host may have an empty or a long part
        reason = getattr(error, "strerror", None) or str(error)
        action = "name another port; 0 takes a free one"
        raise MemoryCoreError(f"cannot serve at {host}:{port}: {reason}", action=action) from error
    with listener:
        yield listener
