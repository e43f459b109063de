"""Tells clients that tools or notes have changed: looks while a client wants to know, and seldom where that is costly."""

from __future__ import annotations

import json
import logging
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import anyio
import mcp_types as types
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    ResourcesListChanged,
    ResourceUpdated,
    ToolsListChanged,
)

from memory_core.hosts.mcp.notes import to_uri
from memory_core.plugin.slot import MemorySlot
from memory_core.records import CallContext, FileStamp

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext
    from mcp.server.session import ServerSession
    from mcp.server.subscriptions import ServerEvent

log = logging.getLogger(__name__)

SECONDS = 2.0  # between two looks
REST = 50  # times as long as a look has taken: a fiftieth of one processor at most
MOST_SESSIONS = 1000  # of HTTP clients, which may vanish without a word


Look = tuple[str, Mapping[str, FileStamp]]  # the tools as JSON, and the notes by path


@dataclass(slots=True)
class _Client:
    """A client with a handshake, and the notes about which it wants to hear."""

    session: ServerSession
    uris: set[str] = field(default_factory=set)


class Notifier:
    """The clients of one server that want to hear of changes. All methods run in the event loop.

    Clients without a handshake listen on a stream of their own, which `listen` serves; all others hear of it once they are
    initialized.
    """

    def __init__(self, slot: MemorySlot, context: CallContext) -> None:
        self._slot = slot
        self._context = context
        self._bus = InMemorySubscriptionBus()
        self._listen = ListenHandler(self._bus)
        self._clients: OrderedDict[str, _Client] = OrderedDict()
        self._wanted = anyio.Event()

    @asynccontextmanager
    async def watch(self) -> AsyncIterator[None]:
        """Look for changes as long as the server runs."""
        async with anyio.create_task_group() as group:
            group.start_soon(self._look_again_and_again)
            yield
            self._listen.close()
            group.cancel_scope.cancel()

    async def add_client(self, ctx: ServerRequestContext[Any], _: types.NotificationParams | None) -> None:
        """Tell a client that is initialized of changes from now on."""
        self._client(ctx)

    async def subscribe(
        self, ctx: ServerRequestContext[Any], params: types.SubscribeRequestParams
    ) -> types.EmptyResult:
        """Tell a client of every change of a note."""
        self._client(ctx).uris.add(str(params.uri))
        return types.EmptyResult()

    async def unsubscribe(
        self, ctx: ServerRequestContext[Any], params: types.UnsubscribeRequestParams
    ) -> types.EmptyResult:
        """Tell a client no more of the changes of a note."""
        self._client(ctx).uris.discard(str(params.uri))
        return types.EmptyResult()

    async def listen(
        self, ctx: ServerRequestContext[Any], params: types.SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:
        """Serve the stream of a client without a handshake."""
        self._wanted.set()
        return await self._listen(ctx, params)

    def _client(self, ctx: ServerRequestContext[Any]) -> _Client:
        key = "" if ctx.request is None else str(ctx.request.headers.get("mcp-session-id"))
        client = self._clients.pop(key, None) or _Client(ctx.session)
        self._clients[key] = client
        if len(self._clients) > MOST_SESSIONS:
            self._clients.popitem(last=False)
        self._wanted.set()
        return client

    async def _look_again_and_again(self) -> None:
        await self._wanted.wait()
        before = None
        while True:
            begun = time.monotonic()
            now = await anyio.to_thread.run_sync(self._look)
            took = time.monotonic() - begun
            for event in _compare(before or now, now):
                await self._tell(event)
            before = now
            await anyio.sleep(max(SECONDS, REST * took))

    def _look(self) -> Look:
        """Return what the tools and the notes are now."""
        tools = json.dumps(self._slot.tool_schemas(self._context))
        return tools, {file.path: file.stamp for file in self._slot.list_notes(self._context)}

    async def _tell(self, event: ServerEvent) -> None:
        await self._bus.publish(event)
        for key, client in list(self._clients.items()):
            try:
                if isinstance(event, ToolsListChanged):
                    await client.session.send_tool_list_changed()
                elif isinstance(event, ResourcesListChanged):
                    await client.session.send_resource_list_changed()
                elif isinstance(event, ResourceUpdated) and event.uri in client.uris:
                    await client.session.send_resource_updated(event.uri)
            except Exception as error:  # noqa: BLE001 -- one that has gone must not keep the news from the others
                log.debug("a client hears of no more changes: %s", error)
                self._clients.pop(key, None)


def _compare(before: Look, now: Look) -> Iterator[ServerEvent]:
    tools, notes = now
    if tools != before[0]:
        yield ToolsListChanged()
    if notes.keys() != before[1].keys():
        yield ResourcesListChanged()
    for path in sorted(notes.keys() | before[1].keys()):
        if notes.get(path) != before[1].get(path):
            yield ResourceUpdated(to_uri(path))
