"""A path that a caller asks for: the file of the memory that it names, or the reason why it is refused.

`resolve` goes over the same roots as `files.list_files`, in the same order and with the same refusals, so that what is listed and
what may be read cannot drift apart.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from memory_core.config.agent import AgentConfig
from memory_core.config.home import expand_home
from memory_core.errors import PathRefused
from memory_core.records import MemoryFile
from memory_core.sources.refusals import OUTSIDE, SYMLINK, TOO_LONG, WITH_CONTROLS, describe_os_error, refuse_type
from memory_core.sources.roots import Root, find_roots
from memory_core.sources.stamps import read_stamp

MAX_PATH_BYTES = 4096  # PATH_MAX of Linux; longer ones cannot be opened
MAX_NAME_BYTES = 255  # NAME_MAX of all common file systems

_CONTROL = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")


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
    return root.to_file(relative, Path(real), read_stamp(info)) if is_spelt else None


def _is_spelt_exactly(root: Root, relative: str) -> bool:
    """Return True if folders list these very names: with a file system that ignores case, `user.md` opens `USER.md`."""
    folder = root.real
    for name in relative.split("/"):
        if not _tells_cases_apart(folder, name):
            with os.scandir(folder) as entries:
                if all(entry.name != name for entry in entries):
                    return False
        folder = posixpath.join(folder, name)
    return True


def _tells_cases_apart(folder: str, name: str) -> bool:
    """Return True if a name that is there is spelt exactly, as nothing is there in other case; False if nobody knows.

    A folder of thousands takes a hundred times as long to list. Letters outside ASCII may be composed in several ways.
    """
    return name.isascii() and not posixpath.lexists(posixpath.join(folder, name.swapcase()))
