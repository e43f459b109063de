"""What the product says of itself: `plugin.json` and `mcp.json` of Agent Plugins 1.0.0, generated from the code.

python -m memory_core.manifest        writes both into the current folder
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from memory_core import __version__, tools
from memory_core.config import config_schema

STANDARD = "https://agent-plugins.org/schemas/1.0.0"
NAMESPACE = "dev.memory-core"
SLOT_ID = "memory-core"
HOOKS = ("session_started", "session_updated", "before_compaction")
DESCRIPTION = "A memory slot for agents: plain Markdown notes, found again by meaning and by keyword, offline."


def plugin_json() -> dict[str, Any]:
    """The content of `plugin.json`: the standard's closed top level, ours below one extension."""
    return {
        "$schema": f"{STANDARD}/plugin.schema.json",
        "name": SLOT_ID,
        "version": __version__,
        "description": DESCRIPTION,
        "author": {"name": "The memory-core developers"},
        "license": "MIT",
        "keywords": ["agent", "memory", "markdown", "semantic-search", "sqlite", "mcp"],
        "extensions": {
            NAMESPACE: {
                "id": SLOT_ID,
                "kind": "memory",
                "entryPoint": "memory_core.plugin:MemorySlot",
                "tools": [dict(schema) for schema in tools.ALL],
                "hooks": list(HOOKS),
                "configSchema": config_schema(),
            }
        },
    }


def mcp_json() -> dict[str, Any]:
    """The content of `mcp.json`: the server over standard input and output."""
    return {
        "$schema": f"{STANDARD}/mcp.schema.json",
        "mcpServers": {SLOT_ID: {"type": "stdio", "command": "memory-core", "args": ["mcp"]}},
    }


def text(document: dict[str, Any]) -> str:
    """A document as it stands in its file."""
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def write(folder: Path) -> None:
    """Write both files."""
    (folder / "plugin.json").write_text(text(plugin_json()), encoding="utf-8")
    (folder / "mcp.json").write_text(text(mcp_json()), encoding="utf-8")


if __name__ == "__main__":
    write(Path.cwd())
