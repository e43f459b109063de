"""An MCP server over standard input and output: the tools of one agent's memory for any MCP client.

The low-level server is used with our own JSON Schemas and our own validation: with the high-level one the argument `from`,
a Python keyword, shows in the schema but crashes the call. Nothing but the protocol reaches standard output.
"""

from __future__ import annotations

import json
import logging
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from memory_core import __version__
from memory_core.errors import MemoryCoreError
from memory_core.plugin import MemorySlot
from memory_core.records import CallContext

if TYPE_CHECKING:
    from mcp.server import Server
    from mcp.server.context import ServerRequestContext
    from mcp.shared._stream_protocols import ReadStream, WriteStream
    from mcp.shared.message import SessionMessage
    from mcp_types import CallToolRequestParams, CallToolResult, ListToolsResult, PaginatedRequestParams

    Incoming = ReadStream[SessionMessage | Exception]
    Outgoing = WriteStream[SessionMessage]

log = logging.getLogger(__name__)

LAST_ANSWERS_SECONDS = 60.0  # for what was asked before the input ended; longer than any tool takes
_INSTALL = "install it: pip install 'memory-core[mcp]'"


def make_server(slot: MemorySlot, context: CallContext) -> Server[Any]:
    """A server that offers the slot's tools to one session.

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
        "memory-core",
        version=__version__,
        instructions=slot.prompt_section(context) or None,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def serve(slot: MemorySlot, context: CallContext) -> None:
    """Serve until the client closes its end, or SIGINT or SIGTERM comes; then close the slot.

    Raises:
        MemoryCoreError: The package mcp is not installed.
    """
    server = make_server(slot, context)
    import anyio

    try:
        anyio.run(_serve, slot, context, server)
    finally:
        slot.close()


async def _serve(slot: MemorySlot, context: CallContext, server: Server[Any]) -> None:
    import anyio
    from mcp.server.stdio import stdio_server

    async with anyio.create_task_group() as group:
        group.start_soon(_end_on_signal, slot)
        slot.start()
        slot.session_started(context)
        async with stdio_server() as streams, _until_answered(*streams) as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())
        group.cancel_scope.cancel()


@asynccontextmanager
async def _until_answered(incoming: Incoming, outgoing: Outgoing) -> AsyncIterator[tuple[Incoming, Outgoing]]:
    """Streams between these and a server, which would drop what it still works at when its input ends.

    The input that it sees ends when every request has its answer: `memory-core mcp < requests` prints all of them.
    """
    import anyio
    from mcp.shared.message import SessionMessage
    from mcp_types import JSONRPCError, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse

    open_requests: set[int | str | None] = set()
    settled = anyio.Condition()
    to_server, seen = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    said, from_server = anyio.create_memory_object_stream[SessionMessage](0)

    async def listen() -> None:
        async with to_server:
            async for item in incoming:
                message = item.message if isinstance(item, SessionMessage) else None
                if isinstance(message, JSONRPCRequest):
                    open_requests.add(message.id)
                elif isinstance(message, JSONRPCNotification) and message.method == "notifications/cancelled":
                    open_requests.discard((message.params or {}).get("requestId"))
                await to_server.send(item)
            with anyio.move_on_after(LAST_ANSWERS_SECONDS):
                async with settled:
                    while open_requests:
                        await settled.wait()

    async def speak() -> None:
        async with outgoing, from_server:
            async for item in from_server:
                await outgoing.send(item)
                if isinstance(item.message, JSONRPCResponse | JSONRPCError):
                    async with settled:
                        open_requests.discard(item.message.id)
                        settled.notify_all()

    async with anyio.create_task_group() as group:
        group.start_soon(listen)
        group.start_soon(speak)
        yield seen, said


async def _end_on_signal(slot: MemorySlot) -> None:
    """Close the slot and end the process: the thread that reads standard input cannot be cancelled."""
    import os

    import anyio

    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async for number in signals:
            slot.close()
            os._exit(128 + number)
