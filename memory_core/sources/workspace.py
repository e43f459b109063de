"""The workspace itself. It is the user's, so that nobody else makes it: a misspelt path must not become an empty memory."""

from __future__ import annotations

import os
from pathlib import Path

MAKE_IT = "make that folder, or name another: --workspace, or agents.defaults.workspace"


def find_workspace_problem(workspace: Path) -> str | None:
    """Return the reason why there is no workspace, in a sentence without a full stop; None if there is one."""
    if os.path.isdir(workspace):  # noqa: PTH112  # Path.is_dir raises where a folder above may not be entered
        return None
    problem = "is no folder" if os.path.lexists(workspace) else "does not exist"
    return f"the workspace {workspace} {problem}"
