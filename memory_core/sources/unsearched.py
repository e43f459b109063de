"""Folders with notes of this person that a search leaves out."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from memory_core.config.agent import AgentConfig, make_workspace_key
from memory_core.config.environment import expand_home, shorten_home
from memory_core.config.projects import list_left_behind, list_own_folders
from memory_core.config.resolution import find_default_workspace
from memory_core.errors import FileUnreadable
from memory_core.records import MemoryFile
from memory_core.sources.notes import read_note
from memory_core.sources.roots import LONGTERM_NAMES, NOTES_FOLDER, SUFFIX, read_stamp
from memory_core.text.markdown import says_something

MOST_NAMED = 3  # folders that are named where more were not searched


def holds_notes(workspace: Path) -> bool:
    """Return True for a folder with a daily note, or with long-term memory that says something and can be read."""
    folder = Path(os.path.realpath(workspace))
    if any((folder / NOTES_FOLDER).rglob(f"*{SUFFIX}")):
        return True
    for name in LONGTERM_NAMES:
        with suppress(OSError, FileUnreadable):
            stamp = read_stamp((folder / name).lstat())
            note = MemoryFile(source="memory", path=name, real_path=folder / name, stamp=stamp)
            if says_something(read_note(note).text):
                return True
    return False


def find_unsearched(config: AgentConfig, known: Iterable[Path], environ: Mapping[str, str]) -> list[Path]:
    """Return those of some folders that hold notes and are not searched."""
    extra = (config.workspace / expand_home(each.path, environ) for each in config.search.extra_paths)
    searched = {*map(make_workspace_key, (*extra, config.workspace, *(each.workspace for each in config.layers)))}
    left = [each for each in known if make_workspace_key(each) not in searched and holds_notes(each)]
    # `adopt` names the parts of a workspace.
    return [each for each in left if make_workspace_key(each / NOTES_FOLDER) not in searched]


def describe_unsearched(config: AgentConfig, environ: Mapping[str, str]) -> str:
    """Say which other notes of this person a search leaves out where nobody named a workspace; "" where it leaves out none.

    In a project, that is the default workspace, and what repositories have left that are not where they were; in the default
    workspace, what the person and the projects have in folders of their own.
    """
    if not config.is_found:
        return ""
    default = find_default_workspace(environ, config.state_dir)
    left_behind = (folder for folder, _ in list_left_behind(environ))
    known = list_own_folders(environ) if config.project is None else [default, *left_behind]
    left = [*map(shorten_home, find_unsearched(config, known, environ))]
    more = f" and {len(left) - MOST_NAMED} more" if len(left) > MOST_NAMED else ""
    return f"the notes in {', '.join(left[:MOST_NAMED])}{more} were not searched" if left else ""
