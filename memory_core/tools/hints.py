"""Titles of the tools for MCP clients, and hints by which they decide whether a call has to be approved.

https://modelcontextprotocol.io/specification/2025-11-25/server/tools; a client that finds no hints may refuse to call a tool.
"""

from __future__ import annotations

from typing import Any

# Title, and whether it only reads, deletes, and may be called again without another effect.
_FACTS = {
    "memory_search": ("Search memory", True, False, True),
    "memory_get": ("Read a note", True, False, True),
    "memory_explain": ("Tell why notes were found or not", True, False, True),
    "memory_related": ("Tell what is related to a name", True, False, True),
    "memory_append": ("Append to a note", False, False, True),  # what the note holds already is skipped
    "memory_store": ("Keep a fact", False, False, True),  # the same fact is kept once
    "memory_recall": ("Look up facts", True, False, True),
    "memory_forget": ("Forget facts", False, True, True),
}


def describe_tool(name: str) -> dict[str, Any]:
    """Return a tool's title, annotations and metadata for MCP clients.

    Claude Code shows a model the tools of a server only after a search, unless they say that they are always needed.

    Args:
        name: Our own name of the tool.
    """
    title, reads, deletes, repeatable = _FACTS[name]
    annotations = {
        "title": title,
        "readOnlyHint": reads,
        "destructiveHint": deletes,
        "idempotentHint": repeatable,
        "openWorldHint": False,
    }
    return {"title": title, "annotations": annotations, "_meta": {"anthropic/alwaysLoad": True}}
