"""Paths that tests expect."""

from __future__ import annotations

from pathlib import Path

from memory_core.config.agent import make_workspace_key


def index_path(state_dir: Path | str, workspace: Path | str, agent: str = "main") -> Path:
    """The default index file of an agent and its workspace."""
    return Path(state_dir) / "memory-core" / f"{agent}-{make_workspace_key(Path(workspace))}.sqlite"
