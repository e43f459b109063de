"""Notes as resources, such as `memory:///memory/2026-01-10.md`: they are listed and read, and clients hear of their changes."""

from __future__ import annotations

import json
import logging
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

import anyio
import mcp_types as types
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    ResourcesListChanged,
    ResourceUpdated,
    ToolsListChanged,
)
from mcp.shared.exceptions import MCPError
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from memory_core.plugin.slot import MemorySlot
from memory_core.records import CallContext, FileStamp, MemoryFile

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext
    from mcp.server.session import ServerSession
    from mcp.server.subscriptions import ServerEvent

    Request = ServerRequestContext[Any]

log = logging.getLogger(__name__)

ROOT = "memory:///"
PAGE = 200  # notes; a client asks for the next page by the last path of this one
MARKDOWN = "text/markdown"
NOT_FOUND = -32002  # of the versions with a handshake; later ones say that the params are invalid

SECONDS = 2.0  # between two looks for changes
REST = 50  # times as long as a look has taken: a fiftieth of one processor at most
MOST_SESSIONS = 1000  # of HTTP clients, which may vanish without a word

Look = tuple[str, Mapping[str, FileStamp]]  # the tools as JSON, and the notes by path


def to_uri(path: str) -> str:
    """Return the URI of a note by its path."""
    return ROOT + quote(path, safe="/", errors="replace")


async def list_templates(_: Request, _page: types.PaginatedRequestParams | None) -> types.ListResourceTemplatesResult:
    """List the one way to name a note."""
    told = "A note by its path, as memory_search returns it."
    template = types.ResourceTemplate(
        uri_template=f"{ROOT}{{+path}}", name="note", title="Note", description=told, mime_type=MARKDOWN
    )
    return types.ListResourceTemplatesResult(resource_templates=[template])


def _describe(file: MemoryFile) -> types.Resource:
    changed = datetime.fromtimestamp(file.stamp.mtime_ns / 1e9, UTC).isoformat(timespec="seconds")
    return types.Resource(
        uri=to_uri(file.path),
        name=file.path,
        mime_type=MARKDOWN,
        size=file.stamp.size_bytes,
        annotations=types.Annotations(last_modified=changed),
    )


class NoteServer:
    """Lists and reads the notes, and tells the clients that want to hear of them of changes; in the event loop.

    Clients without a handshake listen on a stream of their own, which `listen` serves; all others hear of it once they are
    initialized.
    """

    def __init__(self, slot: MemorySlot, context: CallContext) -> None:
        self._slot = slot
        self._context = context
        self._bus = InMemorySubscriptionBus()
        self._listen = ListenHandler(self._bus)
        # The clients with a handshake by their id: the session, and the notes about which it wants to hear.
        self._clients: OrderedDict[str, tuple[ServerSession, set[str]]] = OrderedDict()
        self._wanted = anyio.Event()

    @asynccontextmanager
    async def watch(self) -> AsyncIterator[None]:
        """Look for changes as long as the server runs."""
        async with anyio.create_task_group() as group:
            group.start_soon(self._look_again_and_again)
            yield
            self._listen.close()
            group.cancel_scope.cancel()

    async def list_notes(self, _: Request, params: types.PaginatedRequestParams | None) -> types.ListResourcesResult:
        """List a page of the notes, by path."""
        files = await anyio.to_thread.run_sync(self._slot.list_notes, self._context)
        behind = (params and params.cursor) or ""
        rest = [file for file in files if file.path > behind]
        page = rest[:PAGE]
        following = page[-1].path if len(rest) > PAGE else None
        return types.ListResourcesResult(resources=[_describe(file) for file in page], next_cursor=following)

    async def read_note(self, ctx: Request, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        """Read a whole note.

        Raises:
            MCPError: It does not exist, or may not be read.
        """
        uri = str(params.uri)
        if not uri.startswith(ROOT):
            told = f"expected the URI of a note, such as {ROOT}MEMORY.md"
            raise MCPError(types.INVALID_PARAMS, told, data={"uri": uri})
        found = await anyio.to_thread.run_sync(self._slot.read_note, unquote(uri.removeprefix(ROOT)), self._context)
        if "error" in found:
            raise MCPError(types.INVALID_PARAMS, found["error"], data={"uri": uri})
        if found["status"] == "not_found":
            code = NOT_FOUND if ctx.protocol_version in HANDSHAKE_PROTOCOL_VERSIONS else types.INVALID_PARAMS
            raise MCPError(code, f"there is no note {found['path']}", data={"uri": uri})
        text = types.TextResourceContents(uri=uri, mime_type=MARKDOWN, text=found["text"])
        return types.ReadResourceResult(contents=[text])

    async def add_client(self, ctx: Request, _: types.NotificationParams | None) -> None:
        """Tell a client that is initialized of changes from now on."""
        self._find_uris(ctx)

    async def subscribe(self, ctx: Request, params: types.SubscribeRequestParams) -> types.EmptyResult:
        """Tell a client of every change of a note."""
        self._find_uris(ctx).add(str(params.uri))
        return types.EmptyResult()

    async def unsubscribe(self, ctx: Request, params: types.UnsubscribeRequestParams) -> types.EmptyResult:
        """Tell a client no more of the changes of a note."""
        self._find_uris(ctx).discard(str(params.uri))
        return types.EmptyResult()

    async def listen(
        self, ctx: Request, params: types.SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:
        """Serve the stream of a client without a handshake."""
        self._wanted.set()
        return await self._listen(ctx, params)

    def _find_uris(self, ctx: Request) -> set[str]:
        """Return the notes about which a client wants to hear, which makes it one that hears of all other changes."""
        key = "" if ctx.request is None else str(ctx.request.headers.get("mcp-session-id"))
        client = self._clients[key] = self._clients.pop(key, (ctx.session, set()))
        if len(self._clients) > MOST_SESSIONS:
            self._clients.popitem(last=False)
        self._wanted.set()
        return client[1]

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
        for key, (session, uris) in list(self._clients.items()):
            try:
                if isinstance(event, ToolsListChanged):
                    await session.send_tool_list_changed()
                elif isinstance(event, ResourcesListChanged):
                    await session.send_resource_list_changed()
                elif isinstance(event, ResourceUpdated) and event.uri in uris:
                    await session.send_resource_updated(event.uri)
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
