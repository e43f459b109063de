"""Undo what was taken over: copies, folders that were made, and the configuration. What somebody has edited since stays."""

from __future__ import annotations

import contextlib
from pathlib import Path

from memory_core.adopt.record import Adoption, hash_file
from memory_core.config.adopted import find_adopted_config


def undo(adoption: Adoption, state_dir: Path) -> tuple[int, list[str]]:
    """Empty a record, and remove what it lists.

    Returns:
        The number of files that were removed, and a sentence about each that stays.
    """
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
    for folder in sorted(adoption.folders, key=len, reverse=True):
        with contextlib.suppress(OSError):  # somebody else's file is in it, or it is gone
            Path(folder).rmdir()
    adoption.served.clear()
    adoption.copies.clear()
    adoption.folders.clear()
    adoption.config_hash, adoption.workspace = "", None
    return removed, kept
