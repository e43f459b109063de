"""Serve the page on 127.0.0.1 until interrupted, and print the link that opens it once."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from memory_core.errors import MemoryCoreError
from memory_core.hosts.listening import listen

if TYPE_CHECKING:
    from collections.abc import Callable

    from memory_core.plugin.memory import Memory

ADDRESS = "127.0.0.1"


def serve(open_memory: Callable[[], Memory], port: int, announce: Callable[[str], None]) -> None:
    """Serve one agent's memory until SIGINT or SIGTERM.

    Args:
        open_memory: Opens the memory, for the first request and for the first one after a rest.
        port: The port; 0 takes a free one.
        announce: Told the link before the first request is answered.

    Raises:
        MemoryCoreError: The port cannot be had, or a package is missing.
    """
    try:
        import markdown_it  # noqa: F401 -- so that it is missed now, not when the first note is opened
        import starlette  # noqa: F401 -- as above
        import uvicorn
    except ImportError as error:
        raise MemoryCoreError(
            f"the page needs the package {error.name}", action='run: pip install "memory-core-py[inspect]"'
        ) from error
    from memory_core.hosts.inspect.application import make_application
    from memory_core.hosts.inspect.guard import PageGuard
    from memory_core.hosts.inspect.resting import RestingMemory

    with listen(ADDRESS, port) as listener, closing(RestingMemory(open_memory)) as memory:
        bound = listener.getsockname()[1]
        guard = PageGuard(make_application(memory), bound)
        config = uvicorn.Config(
            guard, log_config=None, access_log=False, ws="none", lifespan="off", server_header=False,
            timeout_graceful_shutdown=2,
        )  # fmt: skip
        announce(f"http://{ADDRESS}:{bound}/?token={guard.token}")
        uvicorn.Server(config).run(sockets=[listener])
