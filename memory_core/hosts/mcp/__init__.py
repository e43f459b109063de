"""An MCP server: the tools and notes of one agent's memory for any MCP client, over standard input and output or HTTP."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from memory_core.__about__ import explain_install
from memory_core.errors import MemoryCoreError
from memory_core.plugin.flush.policy import Decision, FlushTurn
from memory_core.plugin.slot import MemorySlot
from memory_core.records import CallContext


def check_server() -> None:
    """Check that the MCP server can be started.

    Raises:
        MemoryCoreError: The package mcp is not installed, or of version 1.
    """
    if None in map(find_spec, ("mcp", "mcp_types")):  # the latter comes with version 2
        raise MemoryCoreError("the MCP server needs the package mcp, version 2", action=explain_install("mcp"))


class ReadingSlot(MemorySlot):
    """A slot whose tools and prompts write nothing; notes are indexed all the same, unlike with the access "ro"."""

    def tool_schemas(self, context: CallContext | None = None, **options: Any) -> list[dict[str, Any]]:
        """Return the tools that write nothing."""
        return super().tool_schemas(_only_read(context), **options)

    def call_tool(self, name: str, arguments: Mapping[str, Any], context: CallContext | None = None) -> dict[str, Any]:
        """Run a tool that writes nothing; another one is refused."""
        offered = {schema["name"] for schema in self.tool_schemas(context)}
        return super().call_tool(name, arguments, context if name in offered else _only_read(context))

    def prompt_section(self, context: CallContext | None = None) -> str:
        """Return what the system prompt says of reading memory."""
        return super().prompt_section(_only_read(context))

    def list_missing_workspaces(self, context: CallContext | None = None) -> tuple[Path, ...]:
        """Return none, so that no client is asked which to make."""
        return super().list_missing_workspaces(_only_read(context))

    def should_flush(self, session: Any, *, compacting: bool = False) -> Decision:
        """Decide that nothing is saved, and say why."""
        return super().should_flush(replace(session, access="ro"), compacting=compacting)

    def before_compaction(self, session: Any, *, compacting: bool = False) -> FlushTurn | None:
        """Plan no turn: it would save."""
        return super().before_compaction(replace(session, access="ro"), compacting=compacting)


def _only_read(context: CallContext | None) -> CallContext:
    return replace(context or CallContext(), access="ro")


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
