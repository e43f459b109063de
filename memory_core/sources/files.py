"""The files of an agent's memory: list them all, or look up one by its path; nothing is written.

`list_files` and `resolve` go over the same roots in the same order with the same refusals, so that what is listed and
what may be read cannot drift apart. Symbolic links are ignored everywhere below a root.
"""

from __future__ import annotations

import os
import posixpath
import re
from array import array
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Protocol, TypeAlias

from memory_core.config.agent import AgentConfig
from memory_core.config.home import expand_home
from memory_core.errors import PathRefused
from memory_core.lazy_dataclasses import dataclass
from memory_core.records import FileFailure, MemoryFile
from memory_core.sources.refusals import OUTSIDE, SYMLINK, TOO_LONG, WITH_CONTROLS, describe_os_error, refuse_type
from memory_core.sources.roots import Root, Sighting, find_roots

MAX_PATH_BYTES = 4096  # PATH_MAX of Linux; longer ones cannot be opened
MAX_NAME_BYTES = 255  # NAME_MAX of all common file systems

FileKey: TypeAlias = tuple[str, str]  # source and path
Stamp: TypeAlias = tuple[int, int, int, int]  # the values of a `FileStamp`, without its price

_CONTROL = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")


class Hash(Protocol):
    """A hash of `hashlib`."""

    def update(self, data: bytes, /) -> None:
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


@dataclass(frozen=True, slots=True)
class Survey:
    """One look at all files of a memory but session logs: a quarter of the price of a listing, which can be made of it.

    Attributes:
        found: Every served file once, by its real path.
        failures: See `Listing`.
    """

    found: Mapping[str, Sighting]
    failures: tuple[FileFailure, ...]

    def update_digest(self, content: Hash) -> None:
        """Feed a hash with all by which a changed memory is known: the paths and stamps of its files."""
        numbers: list[int] = []
        names: list[str] = []
        last = None
        for root, relative, info in self.found.values():
            if root is not last:
                last = root
                names.append(f"\0{root.source}\0{root.shown}\0{root.is_vault:d}")
            names.append(relative)
            numbers += (info.st_size, info.st_mtime_ns, info.st_ctime_ns, info.st_ino)
        content.update("\n".join(names).encode("utf-8", "surrogateescape"))
        content.update(_pack(numbers))

    def take_changed(self, stamps: dict[FileKey, Stamp | None]) -> list[MemoryFile]:
        """Take all files out of a mapping of known stamps; return those whose stamp differs, sorted by source and path."""
        changed: list[MemoryFile] = []
        take = stamps.pop
        for each in self.found.values():
            root, relative, info = each
            held = take((root.source, root.shown + relative), None)
            if held != (info.st_size, info.st_mtime_ns, info.st_ctime_ns, info.st_ino):
                file = each.file
                if held != file.stamp:
                    changed.append(file)
        return sorted(changed, key=lambda file: (file.source, file.path))

    @property
    def has_hard_links(self) -> bool:
        """See `Listing.has_hard_links`."""
        return any(each.info.st_nlink > 1 for each in self.found.values())

    def list(self) -> Listing:
        """Return the records of all files."""
        files = sorted((each.file for each in self.found.values()), key=lambda file: (file.source, file.path))
        return Listing(tuple(files), self.failures, self.has_hard_links)


def _pack(numbers: list[int]) -> bytes:
    try:
        return array("q", numbers).tobytes()
    except OverflowError:  # times that only some file systems have
        return repr(numbers).encode()


def survey(config: AgentConfig) -> Survey:
    """Look at all files of the agent's memory but session logs; none if the workspace does not exist.

    A file that lies in several roots is found once: "memory" comes before "workspace", and both before extra paths,
    which count as "memory" and are served whatever the sources; folders that a backend adds come last. `memory.md` is
    found beside `MEMORY.md` only where it is another file.
    """
    found: dict[str, Sighting] = {}
    failures: list[FileFailure] = []
    for root in find_roots(config):
        root.sweep(found, failures)
    return Survey(found, tuple(sorted(failures, key=lambda failure: failure.path)))


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
            return root.to_file(relative, Path(root.join(relative)), info), keys, info.st_nlink > 1
    return None, keys, False


def resolve(config: AgentConfig, path: str) -> MemoryFile | None:
    """Look up the file that `list_files` lists under a path, however it is spelt, without listing all.

    Args:
        config: The agent's.
        path: As listed, or absolute; may hold backslashes, `.` and `..`.

    Returns:
        None if such a file would be listed but does not exist.

    Raises:
        PathRefused: No such file would ever be listed; says why.
    """
    absolute = _to_absolute(config, path, posixpath.realpath(config.workspace))
    reasons: list[str] = []
    served = False
    for root in find_roots(config):
        if (relative := root.locate(absolute)) is not None:
            if (reason := root.refuse(relative)) is not None:
                reasons.append(reason)
            elif (file := _look_up(root, relative, path)) is not None:
                return file
            else:
                served = True  # though not there: a folder that only seems to lie in this root may have it
    if served:
        return None
    raise PathRefused(path, reasons[0] if reasons else OUTSIDE)


def find_unserved(config: AgentConfig, paths: Iterable[str]) -> dict[str, str]:
    """Return those paths under which no file would be listed, with the reason; judged by configuration and names alone.

    Args:
        config: The agent's.
        paths: As listed once; nothing need be there.
    """
    roots = find_roots(config)
    workspace = posixpath.realpath(config.workspace)
    unserved: dict[str, str] = {}
    for path in paths:
        if _is_plainly_served(roots, path):
            continue
        try:
            absolute = _to_absolute(config, path, workspace)
        except PathRefused as error:
            unserved[path] = error.reason
            continue
        reasons = [root.refuse(relative) for root in roots if (relative := root.locate(absolute)) is not None]
        if None not in reasons:
            unserved[path] = reasons[0] or OUTSIDE if reasons else OUTSIDE
    return unserved


def _is_plainly_served(roots: Sequence[Root], path: str) -> bool:
    """Return True if a folder serves a path as it would list it; False also for others, of which the long way tells more.

    A state of the past asks this for each of its notes: a tenth of the time of the long way.
    """
    for root in roots:
        if not root.is_file and path.startswith(root.shown):
            relative = path[len(root.shown) :]
            is_odd = relative.startswith(("/", "~")) or "//" in relative  # what is not below, or is spelt in two ways
            if not is_odd and root.refuse(relative) is None:
                return len(path.encode()) <= MAX_NAME_BYTES
    return False


def _to_absolute(config: AgentConfig, path: str, workspace: str) -> str:
    """Make a caller's path absolute and normalised, by its letters alone; `workspace` is the configured one without links."""
    if not path.strip():
        raise PathRefused(path, "is empty")
    if _CONTROL.search(path):
        raise PathRefused(ascii(path), WITH_CONTROLS)
    slashed = path.replace("\\", "/")
    if (
        len(slashed.encode()) > MAX_PATH_BYTES
        or max(len(name.encode()) for name in slashed.split("/")) > MAX_NAME_BYTES
    ):
        raise PathRefused(f"{path[:40]}…", TOO_LONG)
    absolute = posixpath.normpath(posixpath.join(workspace, expand_home(slashed)))
    configured = str(config.workspace)
    return workspace + absolute[len(configured) :] if f"{absolute}/".startswith(f"{configured}/") else absolute


def _look_up(root: Root, relative: str, path: str) -> MemoryFile | None:
    real = root.join(relative)
    if posixpath.realpath(real) != real:
        raise PathRefused(path, SYMLINK)
    try:
        info = os.lstat(real)
        is_spelt = not relative or _is_spelt_exactly(root, relative)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise PathRefused(path, describe_os_error(error)) from error
    if problem := refuse_type(info):
        raise PathRefused(path, problem)
    return root.to_file(relative, Path(real), info) if is_spelt else None


def _is_spelt_exactly(root: Root, relative: str) -> bool:
    """Return True if folders list these very names: with a file system that ignores case, `user.md` opens `USER.md`."""
    folder = root.real
    for name in relative.split("/"):
        with os.scandir(folder) as entries:
            if all(entry.name != name for entry in entries):
                return False
        folder = posixpath.join(folder, name)
    return True
