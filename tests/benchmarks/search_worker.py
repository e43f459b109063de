"""Answers questions, one a line, with the CPU seconds that the search took; for `search_cost`, which runs it on any commit.

It imports nothing but the public names of memory-core, so that a commit whose modules were laid out otherwise runs it, too.
Arguments: the workspace, a folder for the index, and the provider. The first line written is the number of chunks.
"""

from __future__ import annotations

import sys
import time

import memory_core

workspace, state, provider = sys.argv[1:]
config = {"memorySearch": {"provider": provider, "sync": {"onSearch": False, "watch": False}}}
with memory_core.open_memory(config, workspace=workspace, state_dir=state) as memory:
    print(memory.sync().chunks, flush=True)
    for line in sys.stdin:
        begun = time.process_time()  # of all threads
        answer = memory.call_tool("memory_search", {"query": line.strip()})
        seconds = time.process_time() - begun
        if "results" not in answer or "error" in answer:
            sys.exit(f"{line.strip()!r} was answered by {answer}")
        print(seconds, flush=True)
