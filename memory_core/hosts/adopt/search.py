"""Look for homes: at one path, or in the usual places."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from memory_core.config.environment import expand_home, find_home
from memory_core.config.resolution import find_current_folder, make_absolute
from memory_core.errors import InvalidArgument
from memory_core.hosts.adopt import claw, programs
from memory_core.hosts.adopt.homes import Home

FINDERS = (
    claw.find,
    programs.find_mem0,
    programs.find_claude_code,
    programs.find_hermes,
    programs.find_obsidian,
    programs.find_basic_memory,
    programs.find_folder,
)


def find_homes(path: str | None) -> list[Home]:
    """Return the home at a path; without one, all homes in the usual places.

    Raises:
        InvalidArgument: There is nothing at the path, or nothing that can be taken over.
        ConfigError: The path is relative, and the current folder was removed.
    """
    if path is None:
        return list(_find_usual())
    place = make_absolute(path, find_current_folder(), os.environ)
    if not place.exists():
        raise InvalidArgument("PATH", f"there is no file or folder {place}")
    found = next((home for find in FINDERS if (home := find(place)) is not None), None)
    if found is None:
        raise InvalidArgument("PATH", f"{place} holds no Markdown, and nothing else that is known")
    return [found]


def _find_usual() -> Iterator[Home]:
    home = Path(find_home())
    for name, folder in claw.STATE_FOLDERS.items():
        named = os.environ.get(f"{name.upper()}_STATE_DIR")
        if found := claw.find(Path(expand_home(named)) if named else home / folder):
            yield found
    hermes = os.environ.get("HERMES_HOME")
    claude = os.environ.get("CLAUDE_CONFIG_DIR")
    others = [
        programs.find_claude_code(Path(expand_home(claude)) if claude else home / ".claude"),
        programs.find_hermes(Path(expand_home(hermes)) if hermes else home / ".hermes"),
        *(programs.find_obsidian(vault) for vault in programs.list_vaults()),
        *(programs.find_basic_memory(project) for project in programs.list_basic_memory_projects()),
    ]
    yield from (found for found in others if found is not None)
