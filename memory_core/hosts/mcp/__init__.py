"""An MCP server: the tools and notes of one agent's memory for any MCP client, over standard input and output or HTTP."""

from __future__ import annotations

from memory_core.__about__ import explain_install
from memory_core.errors import MemoryCoreError
from memory_core.plugin.slot import MemorySlot
from memory_core.records import CallContext


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
    try:
        import mcp.server.lowlevel  # noqa: F401 -- so that it is missed here
        import mcp_types  # noqa: F401 -- as above
    except ImportError as error:
        raise MemoryCoreError(
            "the MCP server needs the package mcp, version 2", action=explain_install("mcp")
        ) from error
    if http is None:
        from memory_core.hosts.mcp.stdio import serve_stdio

        serve_stdio(slot, context)
    else:
        from memory_core.hosts.mcp.http import parse_address, serve_http

        serve_http(slot, context, *parse_address(http))
