"""Undo what was taken over: copies, folders that were made, and the configuration. What somebody has edited since stays."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path

from memory_core.config.agent import make_workspace_key
from memory_core.config.load import find_adopted_config
from memory_core.hosts.adopt.record import Adoption, hash_file


@dataclass(frozen=True, slots=True)
class Undone:
    """The outcome of undoing.

    Attributes:
        removed: The number of files that were removed, indexes left out.
        kept: A sentence about each file that stays.
        indexed: An index that is also of other notes has the words of these until it is synced.
    """

    removed: int
    kept: list[str]
    indexed: bool


def undo(adoption: Adoption, state_dir: Path) -> Undone:
    """Empty a record, and remove what it lists, with the index of a workspace that `adopt` has made."""
    removed, kept = 0, list[str]()
    for name, copy in adoption.copies.items():
        found = hash_file(Path(name))
        if found == copy.copy_hash:
            Path(name).unlink()
            removed += 1
        elif found is not None:
            kept.append(f"{name} was edited since, and stays")
    config = find_adopted_config(state_dir)
    if config.exists():
        if hash_file(config) == adoption.config_hash:
            config.unlink()
            removed += 1
        else:
            kept.append(f"{config} was edited since, and stays")
    indexed = bool(adoption.copies or adoption.served)
    for folder in map(Path, sorted(adoption.folders, key=len, reverse=True)):
        key = make_workspace_key(folder)
        with contextlib.suppress(OSError):  # somebody else's file is in it, or it is gone
            folder.rmdir()
            if folder.parent == config.parent:
                indexed = bool(adoption.copies)
                for file in config.parent.glob(f"*-{key}.*"):  # the index and the history
                    file.unlink()
    adoption.served.clear()
    adoption.copies.clear()
    adoption.folders.clear()
    adoption.config_hash, adoption.workspace = "", None
    return Undone(removed, kept, indexed)
