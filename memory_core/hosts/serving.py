"""The socket of a server on this machine, and its rest after a quiet minute."""

from __future__ import annotations

import logging
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from memory_core.errors import MemoryCoreError

log = logging.getLogger(__name__)

REST_SECONDS = 60.0  # without a call; the next search takes a fifth of a second longer, with 10,000 chunks


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


class RestWhenQuiet:
    """Calls `rest` in a thread after every quiet minute, inside of a `with` block.

    Without further calls it does so again and again, since syncs in the background load what they need, too.

    Args:
        rest: Lets go of what calls can read again.
        seconds: How long nobody has called.
    """

    def __init__(self, rest: Callable[[], None], *, seconds: float = REST_SECONDS) -> None:
        self._rest = rest
        self._seconds = seconds
        self._called = threading.Event()
        self._over = False

    def note_call(self) -> None:
        """Note that somebody calls, or has called."""
        self._called.set()

    def __enter__(self) -> None:
        threading.Thread(target=self._run, name="memory-core-rest", daemon=True).start()

    def __exit__(self, *_: object) -> None:
        self._over = True
        self._called.set()

    def _run(self) -> None:
        while not self._over:
            if self._called.wait(self._seconds):
                self._called.clear()
                continue
            try:
                self._rest()
            except Exception:
                log.exception("memory-core cannot let go of what it keeps")
