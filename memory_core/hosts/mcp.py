"""An MCP server over standard input and output: the tools of one agent's memory for any MCP client.

It uses the low-level server with our own JSON Schemas and our own validation: in the high-level one the argument `from`, a
Python keyword, crashes the call. Nothing but the protocol reaches standard output.
"""

from __future__ import annotations

import json
import logging
import os
import signal
from typing import TYPE_CHECKING, Any, NoReturn

from memory_core.__about__ import __version__, explain_install
from memory_core.config.names import SLOT_ID
from memory_core.errors import MemoryCoreError
from memory_core.hosts.stdio import OutputLost, open_streams, take_over
from memory_core.plugin.slot import MemorySlot
from memory_core.records import CallContext

if TYPE_CHECKING:
    from mcp.server import Server
    from mcp.server.context import ServerRequestContext
    from mcp_types import CallToolRequestParams, CallToolResult, ListToolsResult, PaginatedRequestParams

log = logging.getLogger(__name__)

_INSTALL = explain_install("mcp")


def make_server(slot: MemorySlot, context: CallContext) -> Server[Any]:
    """Return a server that offers the slot's tools to one session.

    Raises:
        MemoryCoreError: The package mcp is not installed.
    """
    try:
        import mcp_types as types
        from mcp.server import Server
    except ImportError as error:
        raise MemoryCoreError("the MCP server needs the package mcp", action=_INSTALL) from error

    async def list_tools(ctx: ServerRequestContext[Any], params: PaginatedRequestParams | None) -> ListToolsResult:  # noqa: ARG001
        schemas = slot.tool_schemas(context, form="mcp")
        return types.ListToolsResult(tools=[types.Tool.model_validate(schema) for schema in schemas])

    async def call_tool(ctx: ServerRequestContext[Any], params: CallToolRequestParams) -> CallToolResult:  # noqa: ARG001
        answer = await slot.acall_tool(params.name, params.arguments or {}, context)
        return types.CallToolResult(
            content=[types.TextContent(type="text", text=json.dumps(answer, ensure_ascii=False))],
            structured_content=answer,
            is_error="error" in answer,
        )

    return Server(
        SLOT_ID,
        version=__version__,
        instructions=slot.prompt_section(context) or None,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def serve(slot: MemorySlot, context: CallContext) -> None:
    """Serve until the client closes either end, or on SIGINT or SIGTERM; then close the slot.

    Raises:
        MemoryCoreError: The package mcp is not installed, or standard input or output is closed or takes no more.
    """
    server = make_server(slot, context)
    reader, writer = take_over()
    import anyio

    try:
        anyio.run(_serve, slot, context, server, reader, writer)
    finally:
        slot.close()


async def _serve(slot: MemorySlot, context: CallContext, server: Server[Any], reader: int, writer: int) -> None:
    import anyio

    failure: list[OutputLost] = []
    async with anyio.create_task_group() as group:

        def leave(lost: OutputLost) -> None:
            if lost.gone:
                _end(slot, 0)
            failure.append(lost)
            group.cancel_scope.cancel()

        async with open_streams(reader, writer, leave) as (incoming, outgoing):
            group.start_soon(_end_on_signal, slot)
            slot.start()
            slot.session_started(context)
            await server.run(incoming, outgoing, server.create_initialization_options())
        group.cancel_scope.cancel()
    if failure:
        raise failure[0]


async def _end_on_signal(slot: MemorySlot) -> None:
    import anyio

    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async for number in signals:
            _end(slot, 128 + number)


def _end(slot: MemorySlot, code: int) -> NoReturn:
    """Close the slot and end the process: nobody waits for the tools that still run, and their threads cannot be cancelled."""
    slot.close()
    os._exit(code)
