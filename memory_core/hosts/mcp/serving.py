"""The command `memory-core mcp`: greet the client at once, import the server meanwhile, and let it go on."""

from __future__ import annotations

import os
import signal
from importlib.util import find_spec
from typing import NoReturn

from memory_core.__about__ import explain_install
from memory_core.errors import MemoryCoreError
from memory_core.hosts.mcp.greeting import Greeting, instruct
from memory_core.hosts.mcp.lazy_packages import leave_out, make_lazy
from memory_core.hosts.mcp.lines import take_over
from memory_core.hosts.mcp.stdio import Entrance
from memory_core.plugin.slot import MemorySlot
from memory_core.records import CallContext


def serve(slot: MemorySlot, context: CallContext) -> None:
    """Serve over standard input and output until the client closes either end, or on SIGINT or SIGTERM; then close the slot.

    Raises:
        MemoryCoreError: The package mcp is not installed, or standard input or output is closed or takes no more.
    """
    if find_spec("mcp") is None or find_spec("mcp_types") is None:
        raise MemoryCoreError("the MCP server needs the package mcp, version 2", action=explain_install("mcp"))
    reader, writer = take_over()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _leave)
    instructions = instruct(slot, context)
    entrance = Entrance(reader, writer, Greeting(slot, context, instructions=instructions))
    try:
        if entrance.open():
            make_lazy("mcp", "mcp.server")
            with leave_out("uvicorn.main"):  # a web server, with which sse_starlette ends its streams: 3 MB
                from memory_core.hosts.mcp.server import make_server, run

            run(slot, context, make_server(slot, context, instructions=instructions), entrance)
    finally:
        slot.close()


def _leave(number: int, _frame: object) -> NoReturn:
    """End the process while the server is not there yet: no file is open, and an import cannot be interrupted cleanly."""
    os._exit(128 + number)
