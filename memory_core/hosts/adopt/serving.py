"""Serve homes where they lie: the configuration that names them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from memory_core import atomic
from memory_core.config.load import find_adopted_config
from memory_core.config.resolution import DEFAULT_WORKSPACE, find_current_folder, make_absolute
from memory_core.errors import ConfigError, ConfigProblem
from memory_core.hosts.adopt.homes import Home, shorten_home
from memory_core.hosts.adopt.record import Adoption, ServedHome, hash_bytes, hash_file

OWN_WORKSPACE = "workspace"  # beside our configuration, where there is no other


def add_served(adoption: Adoption, homes: Sequence[Home], *, workspace: Path | None) -> None:
    """Add homes to a record; one that is there already is brought up to date.

    Args:
        adoption: The record.
        homes: Those without Markdown are left out.
        workspace: The one that the user named; None keeps what was named before.
    """
    for home in homes:
        if home.served:
            adoption.served[str(home.path)] = ServedHome(
                source=home.source,
                title=home.title,
                path=str(home.path),
                served=tuple(map(str, home.served)),
                workspaces={agent: str(path) for agent, path in home.workspaces.items()},
            )
    adoption.workspace = str(workspace) if workspace else adoption.workspace


def write_config(adoption: Adoption, state_dir: Path) -> bool:
    """Write the configuration that a record stands for, and return True if it differs from what stood there.

    Raises:
        ConfigError: The file there was changed since, or is somebody else's.
    """
    path = find_adopted_config(state_dir)
    refuse_foreign(adoption, path)
    document, made = _build(adoption, state_dir)
    for folder in made:
        if not folder.is_dir():
            folder.mkdir(parents=True)
            adoption.folders.append(str(folder))
    text = "// Written by `memory-core adopt`; `memory-core adopt --undo` removes it.\n"
    data = (text + json.dumps(document, ensure_ascii=False, indent=2) + "\n").encode()
    if hash_file(path) == hash_bytes(data):
        return False
    atomic.replace_file(path, data)
    adoption.config_hash = hash_bytes(data)
    return True


def refuse_foreign(adoption: Adoption, path: Path) -> None:
    """Raise if the configuration is not as it was written.

    Raises:
        ConfigError: It was changed since.
    """
    if path.exists() and hash_file(path) != adoption.config_hash:
        problem = ConfigProblem("", "was changed since `adopt` wrote it, and is left as it is")
        raise ConfigError([problem], origin=str(path), action="move it away, or name it with --config, and adopt again")


def _build(adoption: Adoption, state_dir: Path) -> tuple[dict[str, Any], list[Path]]:
    """Return the configuration, and the folders that it needs."""
    workspaces: dict[str, str] = {"main": adoption.workspace} if adoption.workspace else {}
    extra: list[str] = []
    for home in adoption.served.values():
        if home.workspaces and not workspaces:
            workspaces = home.workspaces
        else:
            extra += [path for path in home.served if Path(path).exists()]
    made: list[Path] = []
    if not workspaces and not make_absolute(DEFAULT_WORKSPACE, find_current_folder(), {}).is_dir():
        made = [find_adopted_config(state_dir).with_name(OWN_WORKSPACE)]
        workspaces = {"main": str(made[0])}
    defaults: dict[str, Any] = {}
    if workspaces:
        defaults["workspace"] = workspaces.get("main") or next(iter(workspaces.values()))
    if extra:
        defaults["memorySearch"] = {"extraPaths": [shorten_home(Path(path)) for path in dict.fromkeys(extra)]}
    agents: dict[str, Any] = {"defaults": defaults}
    if set(workspaces) - {"main"}:
        agents["list"] = [{"id": agent, "workspace": path} for agent, path in workspaces.items()]
    return {"agents": agents}, made
