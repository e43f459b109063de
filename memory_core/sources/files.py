"""The files of an agent's memory, all of them; nothing is written. Symbolic links are ignored everywhere below a root."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeAlias

from memory_core.config.agent import AgentConfig
from memory_core.records import FileFailure, MemoryFile
from memory_core.sources.refusals import refuse_type
from memory_core.sources.roots import Root, find_roots
from memory_core.sources.stamps import Stamp, read_stamp
from memory_core.sources.sweep import Sweep

FileKey: TypeAlias = tuple[str, str]  # source and path


class Hash(Protocol):
    """A hash of `hashlib`."""

    def update(self, data: bytes | bytearray, /) -> None:
        """Add bytes."""
        ...


@dataclass(frozen=True, slots=True)
class Listing:
    """The files of a memory, and the failures met on the way.

    Attributes:
        files: Sorted by source, then path; each real path once.
        failures: Folders that cannot be read, extra paths that do not exist, and the like, sorted by path.
        has_hard_links: Some file has another name, through which it can be changed unnoticed by those who watch its folder.
    """

    files: tuple[MemoryFile, ...]
    failures: tuple[FileFailure, ...]
    has_hard_links: bool = False


class Survey:
    """One look at all files of a memory but session logs: a quarter of the price of a listing, which can be made of it.

    Args:
        sweep: Of all of the agent's roots.

    Attributes:
        failures: See `Listing`.
        has_hard_links: See `Listing`.
    """

    def __init__(self, sweep: Sweep) -> None:
        self._sweep = sweep
        self.failures = tuple(sorted(sweep.failures, key=lambda failure: failure.path))
        self.has_hard_links = sweep.has_hard_links

    def __len__(self) -> int:
        """Return the number of files; each has one real path."""
        return len(self._sweep)

    def update_digest(self, content: Hash) -> None:
        """Feed a hash with all by which a changed memory is known: the paths and stamps of its files."""
        for folder in self._sweep.folders:
            root = folder.root
            head = "\0".join(["", root.source, root.shown, f"{root.is_vault:d}", folder.below])
            content.update(f"{head}\0{'/'.join(folder.names)}\0".encode("utf-8", "surrogateescape"))
            content.update(folder.stamps)

    def take_changed(self, stamps: dict[FileKey, Stamp | None]) -> list[MemoryFile]:
        """Take all files out of a mapping of known stamps; return those whose stamp differs, sorted by source and path."""
        take = stamps.pop
        changed = [
            each.file
            for each in self._sweep
            if take((each.root.source, each.root.shown + each.relative), None) != each.stamp
        ]
        return sorted(changed, key=lambda file: (file.source, file.path))

    def list(self) -> Listing:
        """Return the records of all files."""
        files = sorted((each.file for each in self._sweep), key=lambda file: (file.source, file.path))
        return Listing(tuple(files), self.failures, self.has_hard_links)


def survey(config: AgentConfig) -> Survey:
    """Look at all files of the agent's memory but session logs; none if the workspace does not exist.

    A file that lies in several roots is found once: "memory" comes before "workspace", and both before extra paths,
    which count as "memory" and are served whatever the sources; folders that a backend adds come last. `memory.md` is
    found beside `MEMORY.md` only where it is another file.
    """
    sweep = Sweep()
    for root in find_roots(config):
        sweep.add(root)
    return Survey(sweep)


def list_files(config: AgentConfig) -> Listing:
    """List all files of the agent's memory but session logs; see `survey`."""
    return survey(config).list()


def look_up(roots: Sequence[Root], real: str) -> tuple[MemoryFile | None, list[tuple[str, str]], bool]:
    """Look at one file as `survey` does.

    Args:
        roots: See `find_roots`.
        real: Its real path; nothing need be there.

    Returns:
        The file, None if no root serves it; each (source, path) under which some root might list it; and True if it has a
        second name.

    Raises:
        OSError: The system does not say what is there.
    """
    keys: list[tuple[str, str]] = []
    for root in roots:
        if (relative := root.locate(real)) is None:
            continue
        keys.append((root.source, root.shown + relative))
        if root.refuse(relative) is not None:
            continue
        try:
            info = os.lstat(root.join(relative))
        except (FileNotFoundError, NotADirectoryError):
            continue
        if refuse_type(info) is None:
            return root.to_file(relative, Path(root.join(relative)), read_stamp(info)), keys, info.st_nlink > 1
    return None, keys, False
