"""The command that hosts run at their events. Of a turn's end it imports little, since the host waits for it."""

from __future__ import annotations

import io
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import click

from memory_core.cli import output
from memory_core.cli.app import Options, argument, command, open_source, start_behind
from memory_core.config.resolution import find_current_folder
from memory_core.errors import MemoryCoreError
from memory_core.hosts import events
from memory_core.hosts.events import HOSTS
from memory_core.sharing import list_due

if TYPE_CHECKING:
    from memory_core.hosts.hooks import Copying


@command("hook")
@argument(
    "host",
    required=False,
    default="claude-code",
    type=click.Choice(list(HOSTS)),
    metavar="[HOST]",
    help=f"whose hook it is: {', '.join(HOSTS)} (claude-code)",
)
def hook(options: Options, *, host: str) -> int:
    """Answer a hook of another host, whose event is read from standard input."""
    for stream in (sys.stdin, sys.stdout):
        if isinstance(stream, io.TextIOWrapper):  # as hosts write and read; Windows has another encoding for pipes
            stream.reconfigure(encoding="utf-8", errors=stream.errors)
    try:
        event = events.read_event(host, sys.stdin)
        for name in ("config", "workspace", "state_dir"):
            if given := getattr(options, name):  # relative to the folder of this process, which changes now
                setattr(options, name, str(Path(given).expanduser().absolute()))
        events.prepare_process(event.cwd)
        if events.is_saving():
            return 0
        source = open_source(options)  # which reads the file once
        config = source.current().agent(options.agent)
        folder = events.record_folder(event, config.state_dir)
        if folder not in (None, find_current_folder()):
            source.folder = folder
            config = source.current().agent(options.agent)
        if event.kind == "moved":
            return 0
        if events.keep_turns(event, config) or event.kind == "end":
            start_behind(options, "index")
        minutes = 0.0 if event.kind == "end" else config.memory.sharing.interval_minutes
        if (event.kind == "end" or (event.kind == "turn" and minutes)) and list_due(config, minutes):
            start_behind(options, "sync", "--minutes", str(minutes))
        if event.kind in ("start", "compact") or (event.kind == "prompt" and config.search.recall.enabled):
            from memory_core.hosts import hooks
            from memory_core.plugin.memory import Memory
            from memory_core.plugin.slot import MemorySlot

            with Memory(source, agent=options.agent) as memory:
                memory.check()  # raises for a wrong configuration, which a slot would only log
            with closing(MemorySlot(source)) as slot:
                copying, shown_dir = _find_copying(event), config.shown_dir
                hooks.answer_hook(event, sys.stdout, slot, options.agent, copying=copying, shown_dir=shown_dir)
    except MemoryCoreError as error:
        output.complain(str(error), error.action)
        return 1  # to the hosts, 2 means that the prompt or the compaction is forbidden
    return 0


def _find_copying(event: events.Event) -> Copying | None:
    """Return the way to copy a session that is about to be compacted; None at other events, and where its host has none."""
    if event.kind != "compact":
        return None
    from memory_core.hosts.install.programs import PROGRAMS

    return PROGRAMS[event.host].copying if event.host in PROGRAMS else None
