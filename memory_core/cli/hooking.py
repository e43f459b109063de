"""The command `hook`, which answers the hooks of other hosts."""

from __future__ import annotations

import sys
from contextlib import closing

from memory_core.cli import output
from memory_core.cli.opening import open_memory
from memory_core.cli.parser import Options
from memory_core.errors import MemoryCoreError


def run_hook(options: Options) -> int:
    """Answer one hook. Returns 1 where it failed: to the hosts, 2 means that the prompt or the compaction is forbidden."""
    from memory_core.hosts.claude_code import hook
    from memory_core.plugin.slot import MemorySlot

    hook.prepare_process()
    try:
        with open_memory(
            options
        ) as memory:  # raises where the configuration is wrong, of which a slot only writes to the log
            config = memory.config()
        shown = config.state_dir / "memory-core" / f"{config.agent}.shown"
        with closing(MemorySlot(options.config, workspace=options.workspace, state_dir=options.state_dir)) as slot:
            hook.answer_hook(
                sys.stdin,
                sys.stdout,
                slot,
                options.agent,
                host=options.host,
                shown=shown,
                index=lambda: _start_index(options),
            )
    except MemoryCoreError as error:
        output.complain(str(error), error.action)
        return 1
    return 0


def _start_index(options: Options) -> None:
    """Index in a process of its own: Claude Code ends what a session's end starts after 1.5 s. `doctor` tells if it failed."""
    import subprocess

    from memory_core.cli.installing import list_options
    from memory_core.hosts.install.programs import find_start

    nothing = subprocess.DEVNULL
    subprocess.Popen(  # noqa: S603  # memory-core itself
        find_start(list_options(options)).write("index"),
        stdin=nothing,
        stdout=nothing,
        stderr=nothing,
        start_new_session=True,
    )
