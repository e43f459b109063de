"""The manifests `plugin.json` and `mcp.json` of Agent Plugins 1.0.0, generated from the code.

python -m memory_core.plugin.manifest        writes both into the current folder
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from memory_core.__about__ import __version__
from memory_core.config.description import build_config_schema
from memory_core.config.settings import SLOT_ID
from memory_core.tools.arguments import TOOLS

STANDARD = "https://agent-plugins.org/schemas/1.0.0"
NAMESPACE = "dev.memory-core"
HOOKS = ("session_started", "session_updated", "turn_ended", "session_ended", "before_compaction", "compacted")
DESCRIPTION = "A memory slot for AI agents: plain Markdown notes, searched by meaning and by keyword, offline."


def make_plugin_json() -> dict[str, Any]:
    """Return the content of `plugin.json`: the standard's keys at the top, ours below one extension."""
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
                "tools": [dict(schema) for schema in TOOLS.values()],
                "hooks": list(HOOKS),
                "configSchema": build_config_schema(),
            }
        },
    }


def make_mcp_json() -> dict[str, Any]:
    """Return the content of `mcp.json`: the server over standard input and output, with its index in the plugin's own folder."""
    return {
        "$schema": f"{STANDARD}/mcp.schema.json",
        "mcpServers": {
            SLOT_ID: {"type": "stdio", "command": "memory-core", "args": ["mcp", "--state-dir", "${PLUGIN_DATA}"]}
        },
    }


def to_text(document: dict[str, Any]) -> str:
    """Return the text of a document's file."""
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def write(folder: Path) -> None:
    """Write both files into a folder."""
    (folder / "plugin.json").write_text(to_text(make_plugin_json()), encoding="utf-8")
    (folder / "mcp.json").write_text(to_text(make_mcp_json()), encoding="utf-8")


if __name__ == "__main__":
    write(Path.cwd())
