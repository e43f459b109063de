"""The prompts of the MCP server."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import anyio

from memory_core.hosts.mcp.server import Answers
from memory_core.plugin.flush.policy import Decision
from memory_core.plugin.slot import MemorySlot
from memory_core.records import CallContext


class Watched(MemorySlot):
    """Notes in which thread it is asked."""

    threads: tuple[threading.Thread, ...] = ()

    def should_flush(self, *given: Any, **options: Any) -> Decision:
        self.threads += (threading.current_thread(),)
        return super().should_flush(*given, **options)


def test_files_are_read_beside_the_event_loop(tmp_path: Path) -> None:
    with Watched({}, workspace=tmp_path, state_dir=tmp_path / "state") as slot:
        asked: Any = None  # who asks is not looked at
        listed = anyio.run(Answers(slot, CallContext()).list_prompts, asked, None)
        assert [prompt.name for prompt in listed.prompts] == ["flush", "recall"]
        assert slot.threads
        assert threading.current_thread() not in slot.threads
