"""The files of an agent's memory, all of them; nothing is written. Symbolic links below a root are named, and not followed."""

from __future__ import annotations

import os
import posixpath
from collections import Counter, defaultdict
from collections.abc import Container, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from memory_core.config.agent import AgentConfig
from memory_core.records import FileFailure, FileKey, FileStamp, MemoryFile
from memory_core.sources.refusals import (
    NOT_HERE,
    SYMLINK,
    UNFIT_NAME,
    describe_os_error,
    make_printable,
    refuse_type,
)
from memory_core.sources.roots import SUFFIX, WHOLE, Root, find_roots, read_stamp, slash

PLACEHOLDER = ".icloud"  # behind the name of a file that a Mac has put away


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


class Sighting(NamedTuple):
    """A served file as a look met it.

    Attributes:
        root: The root that serves it.
        relative: Its path below that root.
        stamp: Of the file itself, links not followed.
    """

    root: Root
    relative: str
    stamp: FileStamp

    @property
    def key(self) -> FileKey:
        """The source and the path of the file."""
        return FileKey(self.root.source, self.root.shown + self.relative)

    @property
    def file(self) -> MemoryFile:
        """The record of the file."""
        return self.root.to_file(self.relative, Path(self.root.join(self.relative)), self.stamp)


def _find_original(name: str) -> str:
    """Return the name of the note for which iCloud has left a placeholder, `.NAME.md.icloud`; "" for another file."""
    return name[1:].removesuffix(PLACEHOLDER) if name.startswith(".") and name.endswith(SUFFIX + PLACEHOLDER) else ""


class Survey:
    """One look at all files of some roots: a quarter of the price of a listing, which can be made of it.

    Each served file is found once, in the first of the roots that serve it.

    Args:
        roots: The roots, which are looked at now.

    Attributes:
        found: The files, folder by folder.
        failures: See `Listing`.
        has_hard_links: See `Listing`.
    """

    def __init__(self, roots: Iterable[Root]) -> None:
        self.found: list[Sighting] = []
        self.failures: tuple[FileFailure, ...] = ()
        self.has_hard_links = False
        self._names = defaultdict[str, set[str]](set)  # of the files that were found, by the real path of their folder
        for root in roots:
            self._add(root)
        self.failures = tuple(sorted(self.failures, key=lambda failure: failure.path))

    def __len__(self) -> int:
        """Return the number of files; each has one real path."""
        return len(self.found)

    def take_changed(self, stamps: dict[FileKey, FileStamp | None]) -> list[MemoryFile]:
        """Take all files out of a mapping of known stamps; return those whose stamp differs, sorted by source and path."""
        changed = [each.file for each in self.found if stamps.pop(each.key, None) != each.stamp]
        return sorted(changed, key=lambda file: file.key)

    def _add(self, root: Root) -> None:
        """Look at all files that a root serves."""
        try:
            info = os.lstat(root.real)
        except PermissionError as error:  # for all roots in a folder that may not be entered, this folder is named once
            above = root.show("") if root.required or "/" in root.show("") else WHOLE
            failure = FileFailure(path=above, reason=describe_os_error(error))
            self.failures += () if failure in self.failures else (failure,)
            return
        except OSError as error:
            if root.required or not isinstance(error, FileNotFoundError):
                self._fail(root, "", describe_os_error(error))
            return
        if problem := root.problem or (root.is_file and refuse_type(info)):
            self.failures += (FileFailure(path=root.show(""), reason=problem),)
        elif root.is_file:
            folder, name = posixpath.split(root.real)
            if name not in self._names[slash(folder)]:
                self._add_file(root, "", info)
                self._names[slash(folder)].add(name)
        else:
            folders = [""]
            while folders:
                self._add_folder(root, folders.pop(), folders)

    def _add_folder(self, root: Root, relative: str, folders: list[str]) -> None:
        """Look at the files of one folder, and append the folders in it to `folders`.

        Nearly all of a look at thousands of files is spent here, so that paths stay text.
        """
        below = f"{relative}/" if relative else ""
        start, vaults = slash(root.join(relative)), root.find_vaults(relative)
        if problem := next((each.problem for each in vaults if each.problem), None):
            self._fail(root, relative, problem)
            return
        known, new = self._names[start], []
        try:
            with os.scandir(start) as scan:
                entries = list(scan)
        except OSError as error:
            if not isinstance(error, FileNotFoundError):  # it went since the folder above was read
                self._fail(root, relative, describe_os_error(error))
            return
        for entry in entries:
            name = entry.name
            try:
                if self._judge(root, entry, below + name, folders) and name not in known:
                    self._add_file(root, below + name, entry.stat(follow_symlinks=False))
                    new.append(name)
            except FileNotFoundError:
                pass  # it went since the folder was read
            except OSError as error:
                self._fail(root, below + name, describe_os_error(error))
        known.update(new)

    def _judge(self, root: Root, entry: os.DirEntry[str], relative: str, folders: list[str]) -> bool:
        """Return True for a file that is served; append a folder that is entered to `folders`, and a name that cannot be."""
        if entry.is_dir(follow_symlinks=False):
            is_served, reason = False, root.refuse_folder(relative, entry.name)
            if reason is None:
                folders.append(relative)
        elif original := _find_original(entry.name):
            is_served, relative = False, relative.removesuffix(entry.name) + original
            reason = root.refuse_file(relative, original) or NOT_HERE
        else:
            reason = root.refuse_file(relative, entry.name)
            is_served = reason is None and entry.is_file(follow_symlinks=False)
            if (
                entry.is_symlink()
                and not root.refuse_folder(relative, entry.name)
                and (reason is None or entry.is_dir())
            ):
                reason = SYMLINK
        if reason in (UNFIT_NAME, SYMLINK, NOT_HERE):
            self._fail(root, relative, reason)
        return is_served

    def _add_file(self, root: Root, relative: str, info: os.stat_result) -> None:
        self.found.append(Sighting(root, relative, read_stamp(info)))
        if info.st_nlink > 1:
            self.has_hard_links = True

    def _fail(self, root: Root, relative: str, reason: str) -> None:
        self.failures += (FileFailure(path=make_printable(root.show(relative)), reason=reason),)

    def count_extra(self, among: Container[FileKey] | None = None) -> dict[str, int]:
        """Return the number of files of each extra path that serves any, by its name; of all, or of those with some keys."""
        extra = (each for each in self.found if each.root.required and (among is None or each.key in among))
        return dict(Counter(each.root.show("").rstrip("/") for each in extra))

    def list(self) -> Listing:
        """Return the records of all files."""
        files = sorted((each.file for each in self.found), key=lambda file: file.key)
        return Listing(tuple(files), self.failures, self.has_hard_links)


def survey(config: AgentConfig) -> Survey:
    """Look at all files of the agent's memory but session logs; none if the workspace does not exist.

    A file that lies in several roots is found once: "memory" comes before "workspace", and both before extra paths,
    which count as "memory" and are served whatever the sources; folders that a backend adds come last. `memory.md` is
    found beside `MEMORY.md` only where it is another file.
    """
    return Survey(find_roots(config))


def list_files(config: AgentConfig) -> Listing:
    """List all files of the agent's memory but session logs; see `survey`."""
    return survey(config).list()


def list_folders(config: AgentConfig) -> list[str]:
    """List what an index is made of: the workspace, and what is there beside it of extra paths, folders and session logs."""
    workspace = os.path.normpath(config.workspace)
    beside = [root.real for root in find_roots(config) if not root.problem]
    found = [path for path in (*beside, *map(str, config.session_folders)) if os.path.exists(path)]  # noqa: PTH110
    inside = slash(posixpath.realpath(workspace))
    return [workspace, *dict.fromkeys(path for path in found if not slash(path).startswith(inside))]
