"""The command that serves an MCP client, which waits for it at the start of a session: it imports no more than that needs."""

from __future__ import annotations

import sys

import click

from memory_core.cli import app, output
from memory_core.cli.app import Options, command
from memory_core.config.load import ConfigSource
from memory_core.errors import ConfigError
from memory_core.hosts.events import FollowingSource, is_saving
from memory_core.hosts.hooks import CopySlot
from memory_core.hosts.mcp import ReadingSlot, serve
from memory_core.plugin.slot import MemorySlot
from memory_core.records import CallContext
from memory_core.threads import start_call

OUTAGES = "memory_core.backends.selector.outages"  # one record when an outage of a backend begins, and one when it ends
REFUSALS = "mcp.server.transport_security"  # one record for each request of another Host or Origin


@command("mcp")
@click.option(
    "--http",
    metavar="HOST:PORT",
    is_flag=False,
    flag_value="127.0.0.1",
    help="serve at http://HOST:PORT/mcp (127.0.0.1:8765); elsewhere only with MEMORY_CORE_MCP_TOKEN set",
)
@click.option("--read-only", is_flag=True, help="offer no tool that writes, proposes or forgets")
def mcp(options: Options, *, http: str | None, read_only: bool) -> None:
    """Serve the memory tools to an MCP client over standard input and output, or HTTP."""
    if not options.debug:
        output.show_notices(OUTAGES)
        output.show_notices(REFUSALS)
    saving = is_saving()
    kind = ReadingSlot if read_only else CopySlot if saving else MemorySlot
    source = ConfigSource if http else FollowingSource
    settings = source(options.config, workspace=options.workspace, state_dir=options.state_dir)
    try:
        app.check_agent(settings.current(), options.agent)
    except ConfigError as error:  # every call of a tool tells it, too, until it is mended
        output.complain(str(error), error.action)
    if not http and sys.stdin.isatty():
        output.print_aside("Waiting for an MCP client, which starts this command by itself. Press Ctrl-C to end.")

    def start_sync(minutes: float) -> None:
        started = app.start_behind(options, "sync", "--minutes", str(minutes), folder=settings.folder)
        start_call(started.wait, name="sync")

    slot = kind(settings, start_sync=start_sync)
    # A copy of a session that saves before a compaction writes the note of the day, never MEMORY.md.
    context = CallContext(agent=options.agent, main=False if saving else None)
    serve(slot, context, http=http)
