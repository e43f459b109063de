"""The MCP server: what the slot offers, in terms of the package mcp.

It uses the low-level server with our own JSON Schemas and our own validation: in the high-level one the argument `from`, a
Python keyword, crashes the call.
"""

from __future__ import annotations

import json
import os
import signal
from typing import TYPE_CHECKING, Any, NoReturn

import anyio
import mcp_types as types
from mcp.server import NotificationOptions, Server

from memory_core.__about__ import __version__
from memory_core.config.names import SLOT_ID
from memory_core.hosts.mcp.stdio import Entrance, OutputLost, open_streams
from memory_core.plugin.slot import MemorySlot
from memory_core.records import CallContext

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext
    from mcp.server.models import InitializationOptions


def make_server(slot: MemorySlot, context: CallContext, *, instructions: str) -> Server[Any]:
    """Return a server that offers the slot's tools to one session.

    Args:
        slot: The memory.
        context: The session.
        instructions: The text that a client puts into the system prompt; "" for none.
    """

    async def list_tools(
        _: ServerRequestContext[Any],
        params: types.PaginatedRequestParams | None,  # noqa: ARG001
    ) -> types.ListToolsResult:
        schemas = slot.tool_schemas(context, form="mcp")
        return types.ListToolsResult(tools=[types.Tool.model_validate(schema) for schema in schemas])

    async def call_tool(
        _: ServerRequestContext[Any],
        params: types.CallToolRequestParams,
    ) -> types.CallToolResult:
        answer = await slot.acall_tool(params.name, params.arguments or {}, context)
        return types.CallToolResult(
            content=[types.TextContent(type="text", text=json.dumps(answer, ensure_ascii=False))],
            structured_content=answer,
            is_error="error" in answer,
        )

    return Server(
        SLOT_ID,
        version=__version__,
        instructions=instructions or None,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def list_options(server: Server[Any]) -> InitializationOptions:
    """Return what the server tells of itself in a handshake."""
    return server.create_initialization_options(NotificationOptions())


def run(slot: MemorySlot, context: CallContext, server: Server[Any], entrance: Entrance) -> None:
    """Serve a session that has begun at the entrance, to its end.

    Raises:
        OutputLost: Standard output takes no more.
    """
    anyio.run(_run, slot, context, server, entrance)


async def _run(slot: MemorySlot, context: CallContext, server: Server[Any], entrance: Entrance) -> None:
    failure: list[OutputLost] = []
    async with anyio.create_task_group() as group:

        def leave(lost: OutputLost) -> None:
            if lost.gone:
                _end(slot, 0)
            failure.append(lost)
            group.cancel_scope.cancel()

        await group.start(_end_on_signal, slot)
        async with open_streams(entrance, leave) as (incoming, outgoing):
            slot.start()
            slot.session_started(context)
            await server.run(incoming, outgoing, list_options(server))
        group.cancel_scope.cancel()
    if failure:
        raise failure[0]


async def _end_on_signal(slot: MemorySlot, *, task_status: anyio.abc.TaskStatus[None]) -> None:
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        task_status.started()
        async for number in signals:
            _end(slot, 128 + number)


def _end(slot: MemorySlot, code: int) -> NoReturn:
    """Close the slot and end the process: nobody waits for the tools that still run, and their threads cannot be cancelled."""
    slot.close()
    os._exit(code)
