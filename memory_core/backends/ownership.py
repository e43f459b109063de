"""Indexes of other workspaces are refused, as if nothing were indexed."""

from __future__ import annotations

import os

from memory_core.config.agent import AgentConfig
from memory_core.errors import OtherWorkspace


def refuse_other_workspace(config: AgentConfig, held: str | None) -> None:
    """Raise unless an index holds the notes of an agent's workspace; compare real paths.

    Args:
        config: The agent's.
        held: The real path that the index names, read in the same transaction as all that is shown of it.

    Raises:
        OtherWorkspace: It holds those of another one, or does not say whose.
    """
    wanted = os.path.realpath(config.workspace)
    if held != wanted:
        raise OtherWorkspace(config.store_path, held, wanted)
