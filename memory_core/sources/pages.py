"""memory_get: the file of the memory that a caller's path names, or the reason why it is refused, and its lines page by page.

The text is what the file holds now, not what the index holds. `resolve` goes over the same roots as `files.list_files`,
in the same order and with the same refusals, so that what is listed and what may be read cannot drift apart.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from memory_core.config.agent import AgentConfig
from memory_core.config.environment import expand_home
from memory_core.errors import FileUnreadable, PathRefused
from memory_core.records import Document, MemoryFile
from memory_core.sources import notes, refusals, roots, session_logs
from memory_core.text.folding import clean
from memory_core.text.markdown import split_lines

MAX_PATH_BYTES = 4096  # PATH_MAX of Linux; longer ones cannot be opened
MAX_NAME_BYTES = 255  # NAME_MAX of all common file systems

_CONTROL = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")


def resolve(config: AgentConfig, path: str) -> MemoryFile | None:
    """Look up the file that `list_files` lists under a path, however it is spelt, without listing all.

    Args:
        config: The agent's.
        path: As listed, or absolute; may hold backslashes, `.` and `..`. One of another layer begins with that one's name.

    Returns:
        None if such a file would be listed but does not exist.

    Raises:
        PathRefused: No such file would ever be listed; says why.
    """
    layer, within = config.find_layer(path)
    if layer is not config or within != path:
        found = resolve(replace(layer, layers=()), within)
        return found and replace(found, path=layer.show(found.path))
    places = _find_places(config, path, posixpath.realpath(config.workspace), roots.find_roots(config))
    # A folder that only seems to lie in the first root may have it.
    return next(filter(None, (_look_up(root, relative, path) for root, relative in places)), None)


class ServedPlace(NamedTuple):
    """The place of a file that is listed, or would be if it existed.

    Attributes:
        path: Under which it is listed.
        real_path: Of the file.
        folder: The workspace, or another folder that is served, in which it lies.
    """

    path: str
    real_path: Path
    folder: Path


def find_place(config: AgentConfig, path: str) -> ServedPlace:
    """Return the place of a file that need not be there.

    Args:
        config: The agent's.
        path: As for `resolve`.

    Raises:
        PathRefused: No such file would ever be listed.
    """
    layer, within = config.find_layer(path)
    if layer is not config or within != path:
        place = find_place(replace(layer, layers=()), within)
        return place._replace(path=layer.show(place.path))
    workspace = posixpath.realpath(config.workspace)
    root, relative = _find_places(config, path, workspace, roots.find_roots(config))[0]
    real, top = Path(root.join(relative)), Path(root.real)
    folder = Path(workspace) if real.is_relative_to(workspace) else top.parent if root.is_file else top
    return ServedPlace(root.shown + relative, real, folder)


def _find_places(
    config: AgentConfig, path: str, workspace: str, served: Sequence[roots.Root]
) -> list[tuple[roots.Root, str]]:
    """Return the roots that serve a caller's path, in order and at least one, each with the path below it.

    Args:
        config: The agent's.
        path: As for `resolve`.
        workspace: The agent's, without links.
        served: The agent's roots.

    Raises:
        PathRefused: None serves it; says why.
    """
    absolute = _to_absolute(config, path, workspace)
    found = [(root, root.locate(absolute)) for root in served]
    reasons = [(root, relative, root.refuse(relative)) for root, relative in found if relative is not None]
    places = [(root, relative) for root, relative, reason in reasons if reason is None]
    if not places:
        raise PathRefused(path, next((reason for _, _, reason in reasons if reason), refusals.OUTSIDE))
    return places


def find_text(config: AgentConfig, path: str) -> str | None:
    """Return the text of a note as it stands; None if it is gone, refused or unreadable."""
    try:
        file = resolve(config, path)
        return None if file is None else notes.read_note(file).text
    except (PathRefused, FileUnreadable):
        return None


def find_unserved(config: AgentConfig, paths: Iterable[str]) -> dict[str, str]:
    """Return those paths under which no file would be listed, with the reason; judged by configuration and names alone.

    Args:
        config: The agent's.
        paths: As listed once; nothing need be there.
    """
    served, workspace = roots.find_roots(config), posixpath.realpath(config.workspace)
    unserved: dict[str, str] = {}
    for path in paths:
        try:
            _find_places(config, path, workspace, served)
        except PathRefused as error:
            unserved[path] = error.reason
    return unserved


def _to_absolute(config: AgentConfig, path: str, workspace: str) -> str:
    """Make a caller's path absolute and normalised, by its letters alone; `workspace` is the configured one without links."""
    if not path.strip():
        raise PathRefused(path, "is empty")
    if _CONTROL.search(path):
        raise PathRefused(ascii(path), refusals.WITH_CONTROLS)
    slashed = path.replace("\\", "/")
    if (
        len(slashed.encode()) > MAX_PATH_BYTES
        or max(len(name.encode()) for name in slashed.split("/")) > MAX_NAME_BYTES
    ):
        raise PathRefused(f"{path[:40]}…", refusals.TOO_LONG)
    absolute = posixpath.normpath(posixpath.join(workspace, expand_home(slashed)))
    configured = str(config.workspace)
    return workspace + absolute[len(configured) :] if f"{absolute}/".startswith(f"{configured}/") else absolute


def _look_up(root: roots.Root, relative: str, path: str) -> MemoryFile | None:
    real = root.join(relative)
    if posixpath.realpath(real) != real:
        raise PathRefused(path, refusals.SYMLINK)
    try:
        info = os.lstat(real)
        is_spelt = not relative or _is_spelt_exactly(root, relative)
    except (FileNotFoundError, NotADirectoryError):
        other = _find_spelling(root, relative)
        return None if other is None else _look_up(root, other, path)
    except OSError as error:
        raise PathRefused(path, refusals.describe_os_error(error)) from error
    if problem := refusals.refuse_type(info):
        raise PathRefused(path, problem)
    return root.to_file(relative, Path(real), roots.read_stamp(info)) if is_spelt else None


def _find_spelling(root: roots.Root, relative: str) -> str | None:
    """Return the relative path of the one file that looks like one that is not there: letters may be composed in several ways."""
    found = ""
    for name in relative.split("/") if relative else ():
        try:
            names = [each.name for each in Path(root.join(found)).iterdir() if clean(each.name) == clean(name)]
        except OSError:  # whoever asked is told that there is no such note
            return None
        if len(names) != 1 or root.refuse_folder(f"{found}/{names[0]}".lstrip("/"), names[0]) is not None:
            return None
        found = f"{found}/{names[0]}".lstrip("/")
    return found if found != relative and root.refuse(found) is None else None


def _is_spelt_exactly(root: roots.Root, relative: str) -> bool:
    """Return True if folders list these very names: with a file system that ignores case, `user.md` opens `USER.md`."""
    folder = root.real
    for name in relative.split("/"):
        # A folder of thousands takes a hundred times as long to list. Letters outside ASCII may be composed in several ways.
        may_differ = not name.isascii() or posixpath.lexists(posixpath.join(folder, name.swapcase()))
        if may_differ and all(each.name != name for each in Path(folder).iterdir()):
            return False
        folder = posixpath.join(folder, name)
    return True


MAX_CHARS = 12_000


def get_document(config: AgentConfig, path: str, *, from_line: int, lines: int) -> Document:
    """Read at most `lines` lines from `from_line` on, and at most 12,000 characters; a single longer line is cut.

    Raises:
        PathRefused: The path is none of this agent's notes, or cannot be read as text.
    """
    session_logs.refuse_log(path)
    file = resolve(config, path)
    if file is None:
        return Document(path=path, text="", from_line=from_line, lines=0, status="not_found")
    try:
        note = notes.read_note(file)
    except FileUnreadable as error:
        action = error.action or "correct the file, or read another note"
        raise PathRefused(path, error.reason, action=action) from error
    return cut_page(file.path, note.text, from_line=from_line, lines=lines)


def cut_page(path: str, text: str, *, from_line: int, lines: int) -> Document:
    """Cut one page of at most `MAX_CHARS` characters out of a text; pure.

    `next_from` is the first line that is not on the page; a line that was cut counts as shown.
    """
    every = split_lines(text)
    wanted = every[from_line - 1 : from_line - 1 + lines]
    shown: list[str] = []
    room = MAX_CHARS
    for line in wanted:
        if shown and len(line) + 1 > room:
            break
        shown.append(line[:room])
        room -= len(line) + 1
        if room <= 0:
            break
    behind = from_line + len(shown)
    more = bool(shown) and behind <= len(every)
    cut = bool(shown) and len(shown[-1]) < len(wanted[len(shown) - 1])
    return Document(
        path=path,
        text="\n".join(shown),
        from_line=from_line,
        lines=len(shown),
        truncated=more or cut,
        next_from=behind if more else None,
    )
