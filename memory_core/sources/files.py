"""The files of an agent's memory, all of them; nothing is written. Symbolic links are ignored everywhere below a root.

A sweep keeps names and stamps packed by folder, so that thousands of files take little memory.
"""

from __future__ import annotations

import os
import posixpath
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol, TypeAlias

from memory_core.atomic import DIRECTORY, OPENS_BELOW
from memory_core.config.agent import AgentConfig
from memory_core.records import FileFailure, MemoryFile
from memory_core.sources.roots import (
    SUFFIX,
    UNFIT_NAME,
    Root,
    Stamp,
    clamp_stamp,
    describe_os_error,
    find_roots,
    is_unfit,
    make_printable,
    read_numbers,
    refuse_type,
)

_STAMP = struct.Struct("4q")
_pack = _STAMP.pack
_NONE: frozenset[str] = frozenset()


class Sighting(NamedTuple):
    """A served file as a sweep met it.

    Attributes:
        root: The root that serves it.
        relative: Its path below that root.
        stamp: Of the file itself, links not followed; see `clamp_stamp`.
    """

    root: Root
    relative: str
    stamp: Stamp

    @property
    def file(self) -> MemoryFile:
        """The record of the file."""
        return self.root.to_file(self.relative, Path(self.root.join(self.relative)), clamp_stamp(self.stamp))


class SweptFolder:
    """The served files of one folder of a root.

    Attributes:
        root: The root.
        below: The path of the folder below the root, with a slash at its end; "" for the root itself, also if it is a file.
        names: Of its files, in the order of the system; "" for a root that is a file.
        stamps: Of its files, packed.
    """

    __slots__ = ("below", "names", "root", "stamps")

    def __init__(self, root: Root, below: str) -> None:
        self.root = root
        self.below = below
        self.names: list[str] = []
        self.stamps = bytearray()

    def add(self, name: str, info: os.stat_result) -> None:
        """Add a file."""
        numbers = read_numbers(info)
        try:
            self.stamps += _pack(*numbers)
        except struct.error:  # times that only some file systems have
            self.stamps += _pack(*clamp_stamp(numbers))
        self.names.append(name)

    def __iter__(self) -> Iterator[Sighting]:
        """Yield its files."""
        for name, stamp in zip(self.names, _STAMP.iter_unpack(self.stamps), strict=True):
            yield Sighting(self.root, self.below + name, stamp)


class Sweep:
    """Looks at roots: `add` finds every served file once, in the root that was added first of those that serve it.

    Attributes:
        folders: Those that hold files.
        failures: Folders that cannot be read, required roots that do not exist, and the like.
        has_hard_links: Some file has another name.
    """

    def __init__(self) -> None:
        self.folders: list[SweptFolder] = []
        self.failures: list[FileFailure] = []
        self.has_hard_links = False
        self._names: dict[str, list[list[str]]] = {}  # of files that were found, by the real path of their folder

    def __len__(self) -> int:
        """Return the number of files."""
        return sum(len(folder.names) for folder in self.folders)

    def __iter__(self) -> Iterator[Sighting]:
        """Yield all files."""
        for folder in self.folders:
            yield from folder

    def add(self, root: Root) -> None:
        """Look at all files that a root serves."""
        try:
            info = os.lstat(root.real)
        except OSError as error:
            if root.required or not isinstance(error, FileNotFoundError):
                self._fail(root, "", error)
            return
        if problem := root.problem or (root.is_file and refuse_type(info)):
            self.failures.append(FileFailure(path=root.show(""), reason=problem))
        elif root.is_file:
            folder, name = posixpath.split(root.real)
            if name not in self._list_known(start := _slash(folder)):
                found = SweptFolder(root, "")
                self._add_file(found, "", info)
                self._keep(found, start, [name])
        else:
            folders = [""]
            while folders:
                self._add_folder(root, folders.pop(), folders)

    def _add_folder(self, root: Root, relative: str, folders: list[str]) -> None:
        """Look at the files of one folder, and append the folders in it to `folders`.

        Nearly all of a look at thousands of files is spent here, so that paths stay text.
        """
        below = f"{relative}/" if relative else ""
        start = _slash(root.join(relative))
        known = self._list_known(start)
        found = SweptFolder(root, below)
        try:
            with _scan(start) as entries:
                # Of most folders, one look at all names tells that the suffix alone decides.
                names = "".join([entry.name for entry in entries])
                plain = not (root.excluded or root.reserved or root.pattern or is_unfit(names))
                entries.reverse()
                while entries:
                    entry = entries.pop()  # it keeps what the system tells of its file, which is twenty times the stamp
                    name = entry.name
                    if plain and name.endswith(SUFFIX) and name[0] != "." and entry.is_file(follow_symlinks=False):
                        is_served = True
                    else:
                        is_served = self._judge(root, entry, below + name, folders)
                    if is_served and name not in known:
                        try:
                            self._add_file(found, name, entry.stat(follow_symlinks=False))
                        except FileNotFoundError:
                            pass  # it went since the folder was read
                        except OSError as error:
                            self._fail(root, below + name, error)
        except OSError as error:
            if not isinstance(error, FileNotFoundError):  # it went since the folder above was read
                self._fail(root, relative, error)
        self._keep(found, start, found.names)

    def _judge(self, root: Root, entry: os.DirEntry[str], relative: str, folders: list[str]) -> bool:
        """Return True for a file that is served; append a folder that is entered to `folders`, and a name that cannot be."""
        if entry.is_dir(follow_symlinks=False):
            is_served, reason = False, root.refuse_folder(relative, entry.name)
            if reason is None:
                folders.append(relative)
        else:
            reason = root.refuse_file(relative, entry.name)
            is_served = reason is None and entry.is_file(follow_symlinks=False)
        if reason is UNFIT_NAME:
            self.failures.append(FileFailure(path=make_printable(root.show(relative)), reason=reason))
        return is_served

    def _add_file(self, folder: SweptFolder, name: str, info: os.stat_result) -> None:
        folder.add(name, info)
        if info.st_nlink > 1:
            self.has_hard_links = True

    def _list_known(self, start: str) -> frozenset[str]:
        """Return the names of the files that were found in a folder."""
        return frozenset().union(*self._names[start]) if start in self._names else _NONE

    def _keep(self, folder: SweptFolder, start: str, names: list[str]) -> None:
        if names:
            self.folders.append(folder)
            self._names.setdefault(start, []).append(names)

    def _fail(self, root: Root, relative: str, error: OSError) -> None:
        self.failures.append(FileFailure(path=make_printable(root.show(relative)), reason=describe_os_error(error)))


@contextmanager
def _scan(folder: str) -> Iterator[list[os.DirEntry[str]]]:
    """Open a folder and list its entries, which can be looked at until it is closed.

    Where the system allows it they are looked at from the open folder: it need not find its way there again for each.
    """
    descriptor = os.open(folder, os.O_RDONLY | DIRECTORY) if OPENS_BELOW and os.scandir in os.supports_fd else None
    try:
        with os.scandir(folder if descriptor is None else descriptor) as scan:
            entries = list(scan)
        yield entries
    finally:
        if descriptor is not None:
            os.close(descriptor)


def _slash(folder: str) -> str:
    return folder if folder.endswith("/") else f"{folder}/"


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
