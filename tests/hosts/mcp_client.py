"""A program that uses the official MCP client; run by that client's own Python, it knows nothing of ours.

Each line of standard input is a conversation, `{command, args, env, steps}` or `{url, token, steps}`, to which a line answers:
`{answers}`, a list with what every step gave, or `{failed}`, the traceback.
A step is `{call, arguments}`, `{write, text}` for a file, `{do, with}` for any method of the client, `{listen, append}`, which
changes a note and gives the first event, `{at_once}` for a list of steps, or `{}`, which lists the tools. `mode` is "auto" or
"legacy", which has a handshake. `choice` is the number of the folder that the user takes when asked for one, -1 to take none.
"""

from __future__ import annotations

import asyncio
import json
import sys
import traceback
import warnings
from pathlib import Path
from typing import Any

import httpx2
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp_types import ElicitResult

warnings.simplefilter("ignore")  # it warns of what its own handshake needs


async def play(asked: dict[str, Any]) -> list[Any]:
    mode = asked.get("mode", "auto")
    if "url" in asked:
        headers = {"Authorization": f"Bearer {asked['token']}"} if asked.get("token") else {}
        limits = httpx2.Limits(max_connections=200)
        async with (
            httpx2.AsyncClient(headers=headers, limits=limits, timeout=60) as http,
            Client(streamable_http_client(asked["url"], http_client=http), mode=mode) as client,
        ):
            return [await take(client, step) for step in asked["steps"]]
    server = StdioServerParameters(command=asked["command"], args=asked["args"], env=asked["env"], cwd=asked["cwd"])
    asks: list[str] = []

    async def choose(_: Any, params: Any) -> ElicitResult:
        asks.append(params.message)
        folders = params.requested_schema["properties"]["folder"]["enum"]
        if asked["choice"] < 0:
            return ElicitResult(action="decline")
        return ElicitResult(action="accept", content={"folder": folders[asked["choice"]]})

    callback: Any = None if asked.get("choice") is None else choose
    async with Client(stdio_client(server), mode=mode, elicitation_callback=callback) as client:
        return [*[await take(client, step) for step in asked["steps"]], *asks]


async def take(client: Client, step: dict[str, Any]) -> Any:
    if "write" in step:
        Path(step["write"]).write_text(step["text"], encoding="utf-8")
        return None
    if "listen" in step:
        return await listen(client, step)
    if "at_once" in step:
        return await asyncio.gather(*[take(client, each) for each in step["at_once"]])
    if "do" in step:
        return await do(client, step)
    if "call" in step:
        result = await client.call_tool(step["call"], step["arguments"])
        text = result.content[0].model_dump()["text"]
        return {"is_error": result.is_error, "text": text, "structured": result.structured_content}
    tools = (await client.list_tools()).tools
    return [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in tools]


async def do(client: Client, step: dict[str, Any]) -> Any:
    try:
        result = await getattr(client, step["do"])(**step["with"])
    except MCPError as error:
        return {"error": {"code": error.error.code, "message": error.error.message}}
    return result.model_dump(mode="json", by_alias=True, exclude_none=True)


async def listen(client: Client, step: dict[str, Any]) -> str:
    async with client.listen(**step["listen"]) as events:
        changing = asyncio.create_task(append(Path(step["append"])))
        try:
            return repr(await anext(aiter(events)))
        finally:
            changing.cancel()


async def append(note: Path) -> None:
    """Appends to a note again and again: the server's first look may come after any one of them."""
    while True:
        await asyncio.sleep(0.3)
        with note.open("a", encoding="utf-8") as file:
            file.write("more\n")


for line in sys.stdin:
    try:
        told: dict[str, Any] = {"answers": asyncio.run(play(json.loads(line)))}
    except Exception:  # noqa: BLE001 -- the test fails with it
        told = {"failed": traceback.format_exc()}
    print(json.dumps(told), flush=True)
