"""One memory on several machines: notes and items travel over a git remote, and are merged here without a conflict mark."""

from __future__ import annotations

import time

from memory_core.config.agent import AgentConfig

STATE = "state.json"  # in the folder of a workspace's sync; written by each sync


def is_due(config: AgentConfig, minutes: float = 0.0) -> bool:
    """Return True if the notes of a workspace are synced, and were not within so many minutes."""
    try:
        last = (config.sharing_dir / STATE).stat().st_mtime
    except OSError:
        return False
    return not 0 <= time.time() - last < minutes * 60
