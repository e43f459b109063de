"""A program that uses the official MCP client; run by that client's own Python, it knows nothing of ours.

Reads `{command, args, env, steps}` from standard input and prints a list with what every step gave. A step is
`{call, arguments}`, `{write, text}` for a file, or `{}`, which lists the tools.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client


async def play(asked: dict[str, Any]) -> list[Any]:
    server = StdioServerParameters(command=asked["command"], args=asked["args"], env=asked["env"], cwd=asked["cwd"])
    async with Client(stdio_client(server)) as client:
        return [await take(client, step) for step in asked["steps"]]


async def take(client: Client, step: dict[str, Any]) -> Any:
    if "write" in step:
        Path(step["write"]).write_text(step["text"], encoding="utf-8")
        return None
    if "call" in step:
        result = await client.call_tool(step["call"], step["arguments"])
        text = result.content[0].model_dump()["text"]
        return {"is_error": result.is_error, "text": text, "structured": result.structured_content}
    tools = (await client.list_tools()).tools
    return [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in tools]


print(json.dumps(asyncio.run(play(json.load(sys.stdin)))))
