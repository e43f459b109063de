"""Notes as resources: `memory:///MEMORY.md`, `memory:///memory/2026-01-10.md`."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

import anyio
import mcp_types as types
from mcp.shared.exceptions import MCPError
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from memory_core.plugin.slot import MemorySlot
from memory_core.records import CallContext, MemoryFile

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext

ROOT = "memory:///"
PAGE = 200  # notes; a client asks for the next page by the last path of this one
MARKDOWN = "text/markdown"
_NOT_FOUND = -32002  # of the versions with a handshake; later ones say that the params are invalid


def to_uri(path: str) -> str:
    """Return the URI of a note by its path."""
    return ROOT + quote(path, safe="/", errors="replace")


class NoteResources:
    """The handlers for the notes that one session may read."""

    def __init__(self, slot: MemorySlot, context: CallContext) -> None:
        self._slot = slot
        self._context = context

    async def list_notes(
        self, _: ServerRequestContext[Any], params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        """List a page of the notes, by path."""
        files = await anyio.to_thread.run_sync(self._slot.list_notes, self._context)
        behind = (params and params.cursor) or ""
        rest = [file for file in files if file.path > behind]
        page = rest[:PAGE]
        following = page[-1].path if len(rest) > PAGE else None
        return types.ListResourcesResult(resources=[_describe(file) for file in page], next_cursor=following)

    async def list_templates(
        self,
        _: ServerRequestContext[Any],
        params: types.PaginatedRequestParams | None,  # noqa: ARG002
    ) -> types.ListResourceTemplatesResult:
        """List the one way to name a note."""
        told = "A note by its path, as memory_search returns it."
        template = types.ResourceTemplate(
            uri_template=f"{ROOT}{{+path}}", name="note", title="Note", description=told, mime_type=MARKDOWN
        )
        return types.ListResourceTemplatesResult(resource_templates=[template])

    async def read(
        self, ctx: ServerRequestContext[Any], params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        """Read a whole note.

        Raises:
            MCPError: It does not exist, or may not be read.
        """
        uri = str(params.uri)
        if not uri.startswith(ROOT):
            raise MCPError(
                types.INVALID_PARAMS, f"expected the URI of a note, such as {ROOT}MEMORY.md", data={"uri": uri}
            )
        found = await anyio.to_thread.run_sync(self._slot.read_note, unquote(uri.removeprefix(ROOT)), self._context)
        if "error" in found:
            raise MCPError(types.INVALID_PARAMS, found["error"], data={"uri": uri})
        if found["status"] == "not_found":
            code = _NOT_FOUND if ctx.protocol_version in HANDSHAKE_PROTOCOL_VERSIONS else types.INVALID_PARAMS
            raise MCPError(code, f"there is no note {found['path']}", data={"uri": uri})
        text = types.TextResourceContents(uri=uri, mime_type=MARKDOWN, text=found["text"])
        return types.ReadResourceResult(contents=[text])


def _describe(file: MemoryFile) -> types.Resource:
    changed = datetime.fromtimestamp(file.stamp.mtime_ns / 1e9, UTC).isoformat(timespec="seconds")
    return types.Resource(
        uri=to_uri(file.path),
        name=file.path,
        mime_type=MARKDOWN,
        size=file.stamp.size_bytes,
        annotations=types.Annotations(last_modified=changed),
    )
