"""One memory on several machines: notes and items travel over a git remote, and are merged here without a conflict mark."""

from __future__ import annotations

import json
import time

from memory_core.config.agent import AgentConfig

STATE = "state.json"  # in the folder of a workspace's sync; written by each sync


def list_due(config: AgentConfig, minutes: float = 0.0) -> list[AgentConfig]:
    """Return the configurations of a workspace and its layers that are to be synced.

    Those are the ones where memory and the sync are on, and which no sync has tried within so many minutes.
    """
    return [each for each in (config, *config.layers) if _is_due(each, minutes)]


def _is_due(config: AgentConfig, minutes: float) -> bool:
    path = config.sharing_dir / STATE
    try:
        last = path.stat().st_mtime
        is_on = config.enabled and json.loads(path.read_bytes())["on"] is True
    except (OSError, ValueError, LookupError, TypeError):  # not set up, or damaged, which `sync status` tells
        return False
    return is_on and not 0 <= time.time() - last < minutes * 60
