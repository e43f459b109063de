"""The configuration that `memory-core adopt` writes. It holds where nobody names a configuration or a workspace."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from memory_core.config.environment import CONFIG, STATE_DIR, WORKSPACE
from memory_core.config.home import expand_home

DEFAULT_STATE_DIR = "~/.clawdbot"
OWN_FOLDER = "memory-core"  # all that is ours in the state folder, which may be another program's


def find_adopted_config(state_dir: Path) -> Path:
    """Return the path of that configuration, which need not exist."""
    return state_dir / OWN_FOLDER / "config.json5"


def find_default_config(
    environ: Mapping[str, str], *, state_dir: Path | str | None, workspace: Path | str | None
) -> Path | None:
    """Return the configuration for a caller who names none: the one in the environment, else what was adopted, if anything."""
    if environ.get(CONFIG):
        return Path(expand_home(environ[CONFIG], environ))
    if workspace or environ.get(WORKSPACE):
        return None
    state = expand_home(state_dir or environ.get(STATE_DIR) or DEFAULT_STATE_DIR, environ)
    path = find_adopted_config(Path(state))
    return path if path.is_file() else None
