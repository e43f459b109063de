"""An MCP server: the tools and notes of one agent's memory for any MCP client, over standard input and output or HTTP."""

from __future__ import annotations

from importlib.util import find_spec

from memory_core.__about__ import explain_install
from memory_core.errors import MemoryCoreError
from memory_core.plugin.slot import MemorySlot
from memory_core.records import CallContext


def check_server() -> None:
    """Check that the MCP server can be started.

    Raises:
        MemoryCoreError: The package mcp is not installed, or of version 1.
    """
    if None in map(find_spec, ("mcp", "mcp_types")):  # the latter comes with version 2
        raise MemoryCoreError("the MCP server needs the package mcp, version 2", action=explain_install("mcp"))


def serve(slot: MemorySlot, context: CallContext, *, http: str | None = None) -> None:
    """Serve one session until its client closes either stream, or on SIGINT or SIGTERM; then close the slot.

    Args:
        slot: The memory.
        context: The session; over HTTP, that of all clients.
        http: The address to serve at, such as "127.0.0.1:8765"; None serves over standard input and output.

    Raises:
        InvalidArgument: The address is none.
        MemoryCoreError: The package mcp is not installed, or the streams or the address cannot be used.
    """
    check_server()
    if http is None:
        from memory_core.hosts.mcp.stdio import serve_stdio

        serve_stdio(slot, context)
    else:
        from memory_core.hosts.mcp.http import parse_address, serve_http

        serve_http(slot, context, *parse_address(http))
