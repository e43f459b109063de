"""The MCP server: what the slot offers, in terms of the package mcp.

It uses the low-level server with our own JSON Schemas and our own validation: in the high-level one the argument `from`, a
Python keyword, crashes the call.
"""

from __future__ import annotations

import json
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, NoReturn

import anyio
import mcp_types as types
from mcp.server.lowlevel import NotificationOptions, Server

from memory_core.__about__ import __version__
from memory_core.config.names import DEFAULT_AGENT, SLOT_ID
from memory_core.hosts.mcp.changes import Notifier
from memory_core.hosts.mcp.lines import OutputLost
from memory_core.hosts.mcp.notes import NoteResources
from memory_core.hosts.mcp.prompts import MemoryPrompts
from memory_core.hosts.mcp.stdio import Entrance, open_streams
from memory_core.hosts.mcp.upkeep import Upkeep
from memory_core.plugin.slot import MemorySlot
from memory_core.records import CallContext

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext
    from mcp.server.models import InitializationOptions
    from mcp.server.session import ServerSession

PROGRESS_SECONDS = 0.25


class _Server(Server[Any]):
    """The package's server, which says in every handshake that it tells of changes."""

    def create_initialization_options(self, *args: Any, **kwargs: Any) -> InitializationOptions:
        if not args:
            kwargs.setdefault("notification_options", NotificationOptions(resources_changed=True, tools_changed=True))
        return super().create_initialization_options(*args, **kwargs)


def make_server(slot: MemorySlot, context: CallContext, *, instructions: str) -> Server[Any]:
    """Return a server that offers the slot's tools, notes and prompts to one session.

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

    async def call_tool(ctx: ServerRequestContext[Any], params: types.CallToolRequestParams) -> types.CallToolResult:
        async with anyio.create_task_group() as group:
            if ctx.meta and "progress_token" in ctx.meta:
                group.start_soon(_report_progress, slot, context, ctx.session)
            # Of anyio's idle threads the last one works, so that one heap serves; asyncio's take turns, and there are six.
            answer = await anyio.to_thread.run_sync(
                slot.call_tool, params.name, params.arguments or {}, context, abandon_on_cancel=True
            )
            group.cancel_scope.cancel()
        upkeep.note_call()
        return types.CallToolResult(
            content=[types.TextContent(type="text", text=json.dumps(answer, ensure_ascii=False))],
            structured_content=answer,
            is_error="error" in answer,
        )

    @asynccontextmanager
    async def live(_: Server[Any]) -> AsyncIterator[None]:
        async with notifier.watch(), upkeep.work():
            yield

    notes, prompts, notifier = NoteResources(slot, context), MemoryPrompts(slot, context), Notifier(slot, context)
    upkeep = Upkeep()
    server = _Server(
        SLOT_ID,
        version=__version__,
        instructions=instructions or None,
        lifespan=live,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=notes.list_notes,
        on_list_resource_templates=notes.list_templates,
        on_read_resource=notes.read,
        on_subscribe_resource=notifier.subscribe,
        on_unsubscribe_resource=notifier.unsubscribe,
        on_subscriptions_listen=notifier.listen,
        on_list_prompts=prompts.list_prompts,
        on_get_prompt=prompts.get,
    )
    server.add_notification_handler("notifications/initialized", types.NotificationParams, notifier.add_client)
    return server


async def _report_progress(slot: MemorySlot, context: CallContext, session: ServerSession) -> None:
    """Tell how many notes are indexed, as long as that grows: a first search waits for some of them."""
    await anyio.sleep(PROGRESS_SECONDS)
    total = len(await anyio.to_thread.run_sync(slot.list_notes, context))
    told = -1
    while True:
        indexed = (await anyio.to_thread.run_sync(slot.status, context.agent or DEFAULT_AGENT)).files
        if total and indexed > told:
            await session.report_progress(indexed, max(total, indexed), f"{indexed:,} of {total:,} notes are indexed")
            told = indexed
        await anyio.sleep(PROGRESS_SECONDS)


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

        await group.start(end_on_signal, slot)
        async with open_streams(entrance, leave) as (incoming, outgoing):
            slot.start()
            slot.session_started(context)
            await server.run(incoming, outgoing, server.create_initialization_options())
        group.cancel_scope.cancel()
    if failure:
        raise failure[0]


async def end_on_signal(slot: MemorySlot, *, task_status: anyio.abc.TaskStatus[None]) -> None:
    """End the process on SIGINT or SIGTERM, with the exit code that a shell gives to that."""
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        task_status.started()
        async for number in signals:
            _end(slot, 128 + number)


def _end(slot: MemorySlot, code: int) -> NoReturn:
    """Close the slot and end the process: nobody waits for the tools that still run, and their threads cannot be cancelled."""
    slot.close()
    os._exit(code)
