"""The socket of a server on this machine, and its rest after a quiet minute."""

from __future__ import annotations

import logging
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal

from memory_core.errors import MemoryCoreError

if TYPE_CHECKING:
    from starlette.types import ASGIApp

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


def run(app: ASGIApp, listener: socket.socket, *, lifespan: Literal["on", "off"], grace_seconds: int) -> None:
    """Serve an application until SIGINT or SIGTERM.

    Args:
        app: The application.
        listener: Where it is served.
        lifespan: "on" for one that is told when it starts and ends.
        grace_seconds: For open requests after a signal.
    """
    import uvicorn

    config = uvicorn.Config(
        app, log_config=None, access_log=False, ws="none", server_header=False, lifespan=lifespan,
        timeout_graceful_shutdown=grace_seconds,
    )  # fmt: skip
    uvicorn.Server(config).run(sockets=[listener])


@contextmanager
def resting_when_quiet(
    rest: Callable[[], None], called: threading.Event, *, seconds: float = REST_SECONDS
) -> Iterator[None]:
    """Call `rest` in a thread after every quiet minute until the block ends.

    Without further calls that happens again and again, since syncs in the background load what they need, too.

    Args:
        rest: Lets go of what calls can read again.
        called: Is set by whoever calls or has called.
        seconds: How long nobody has called.
    """
    over = threading.Event()

    def run() -> None:
        while not over.is_set():
            if called.wait(seconds):
                called.clear()
                continue
            try:
                rest()
            except Exception:
                log.exception("memory-core cannot let go of what it keeps")

    threading.Thread(target=run, name="memory-core-rest", daemon=True).start()
    try:
        yield
    finally:
        over.set()
        called.set()
