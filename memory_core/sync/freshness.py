"""Tells, without looking at files, which of them have changed since the last sync: where the system can be trusted to say so.

That is Linux, with all folders on local file systems: see `inotify`. Everywhere else a sync looks at the files. What no event
tells, such as a write through a memory map or through a hard link made since, is found by a look in the background now and then.
"""

from __future__ import annotations

import logging
import os
import posixpath
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from memory_core.config.agent import AgentConfig
from memory_core.sources import session_logs
from memory_core.sources.mounts import MOUNTS, find_mount_below, is_local, is_mount, read_mounts
from memory_core.sources.roots import SUFFIX, Root, find_roots
from memory_core.sync.watcher import MAX_FOLDERS

if TYPE_CHECKING:
    from memory_core.sync.inotify import EventQueue

log = logging.getLogger(__name__)

LOOK_SECONDS = 60.0  # after a look at all files, the next search causes another one
TRUST_SECONDS = 2 * LOOK_SECONDS  # after a look, a search waits for the next one
WATCH_FROM = 2  # syncs of one process: a command that searches once would watch in vain
MOST_PATHS = 1000  # that are looked at one by one; a look at all files is not dearer than at more of them

Freshness = Literal["fresh", "due", "stale"]
_Identity = tuple[int, int] | None


@dataclass(frozen=True, slots=True)
class Look:
    """The files that a sync has to look at.

    Attributes:
        mark: A moment, for `confirm`.
        paths: Real paths of files that may have changed; None is every file.
    """

    mark: int
    paths: frozenset[str] | None


class ChangeTracker:
    """Tracks the files of one agent between syncs. The constructor opens nothing; used from several threads.

    A sync calls `begin` before it looks at files, and `confirm` when it has left nothing to do. From then on `check` reads the
    events that came meanwhile, and the next `begin` names the files that they were about.

    Args:
        config: The agent's.
        clock: Seconds that never go back.
        max_folders: More are not watched.
        mounts: The system's table of mounts, see `mounts.read_mounts`.
    """

    def __init__(
        self,
        config: AgentConfig,
        *,
        clock: Callable[[], float] = time.monotonic,
        max_folders: int = MAX_FOLDERS,
        mounts: Path = MOUNTS,
    ) -> None:
        self._config = config
        self._clock = clock
        self._max_folders = max_folders
        self._mounts = mounts
        self._lock = threading.Lock()
        self._queue: EventQueue | None = None
        self._places: dict[
            str, tuple[_Identity, _Identity]
        ] = {}  # of the queue: folders that may be replaced as a whole
        self._table = ""  # of mounts, when the queue was opened
        self._roots: list[Root] = []  # of the queue
        # Of the index that agrees with all files but `_changed`; None while nobody knows of one.
        self._generation: str | None = None
        self._changed: dict[str, int] = {}  # real paths, with the moment after which they changed
        self._moment = 0  # goes up when something has changed
        self._lost = 0  # the last moment at which more may have changed than events tell
        self._begun = 0
        self._looked_at = 0.0
        self._due_said = False  # since the last look
        self._closed = False

    def begin(self, generation: str | None = None) -> Look:
        """Watch all folders from now on, if that is possible.

        Args:
            generation: Of the content of the index now; None looks at all files in any case.

        Returns:
            What the sync has to look at.
        """
        with self._lock:
            self._begun += 1
            if self._begun >= WATCH_FROM and not self._closed:
                self._drain()
                if self._knows_paths(generation):
                    return Look(self._moment, frozenset(self._changed))
                self._watch_all()
            self._looked_at, self._due_said = self._clock(), False
            return Look(self._moment, None)

    def confirm(self, look: Look, generation: str, *, unread: Iterable[str] = ()) -> None:
        """Record that an index agrees with the files as they were at a look, and that nothing else is left to do for it.

        Args:
            look: Of the `begin` before the files were looked at.
            generation: Of the content of the index.
            unread: Real paths of files that could not be read: each sync tries them again.
        """
        with self._lock:
            if self._queue is None or self._lost > look.mark:
                return
            self._generation = generation
            self._changed = {path: moment for path, moment in self._changed.items() if moment > look.mark}
            self._changed.update(dict.fromkeys(unread, self._moment))

    def check(self, generation: str) -> Freshness:
        """Tell if the index agrees with the files.

        Args:
            generation: Of the content of the index now: another process may have changed it.

        Returns:
            "stale" if something has changed, or nobody knows, or the last look was long ago; "due" if it is fresh, and time for
            a look at all files, which is said once.
        """
        with self._lock:
            if not self._agrees(generation):
                return "stale"
            self._drain()
            if self._changed or not self._agrees(generation):
                return "stale"
            age = self._clock() - self._looked_at
            if age >= TRUST_SECONDS:
                return "stale"
            if age < LOOK_SECONDS or self._due_said:
                return "fresh"
            self._due_said = True
            return "due"

    def expire(self) -> None:
        """Record that the next sync has something to do; a sync that runs now cannot confirm otherwise."""
        with self._lock:
            self._lose_track()

    def close(self) -> None:
        """Stop watching, for good; may be called twice."""
        with self._lock:
            self._closed = True
            self._forget()

    def _forget(self) -> None:
        if self._queue is not None:
            self._queue.close()
        self._queue = None
        self._lose_track()

    def _lose_track(self) -> None:
        self._moment += 1
        self._lost = self._moment
        self._generation = None
        self._changed.clear()

    def _agrees(self, generation: str | None) -> bool:
        """Return True if an index of this generation agrees with all files but `_changed`."""
        return self._generation is not None and self._generation == generation

    def _knows_paths(self, generation: str | None) -> bool:
        """Return True if the next sync need look at nothing but `_changed`."""
        if not self._agrees(generation):
            return False
        if self._due_said or self._clock() - self._looked_at >= TRUST_SECONDS or len(self._changed) > MOST_PATHS:
            return False
        if find_roots(self._config) == self._roots:
            return True
        self._forget()  # a link or a vault was made, which a root is by
        return False

    def _drain(self) -> None:
        """Take the events that came. After some of folders, the next sync watches all anew."""
        if self._queue is None:
            return
        changed, structural = self._queue.drain()
        if structural or self._have_places_changed():
            self._forget()
        elif changed:
            self._moment += 1
            self._changed.update(dict.fromkeys(changed, self._moment))

    def _have_places_changed(self) -> bool:
        if read_mounts(self._mounts) != self._table:
            return True
        return any(_identify(path) != held for path, held in self._places.items())

    def _watch_all(self) -> None:
        """Open a queue unless there is one; none where not everything can be watched, or changes may come from other machines."""
        if self._queue is not None or not sys.platform.startswith("linux"):
            return
        from memory_core.sync.inotify import EventQueue

        try:
            self._table = read_mounts(self._mounts)
            roots = find_roots(self._config)
            self._places = {path: _identify(path) for path in self._list_places(roots)}
            if find_roots(self._config) != roots:
                raise OSError("a folder was replaced meanwhile")
            self._refuse_mounts(roots)
            self._roots = roots
            self._queue = EventQueue(self._concerns)
            self._watch_folders(self._queue, roots)
        except OSError as error:
            log.debug("files are looked at before each search: %s", error)
            self._forget()
        except BaseException:
            self._forget()  # a queue of some of the folders would be taken for whole
            raise

    def _watch_folders(self, queue: EventQueue, roots: list[Root]) -> None:
        local: set[int] = set()  # devices
        for number, folder in enumerate(self._list_folders(roots)):
            if number >= self._max_folders:
                raise OSError(f"there are more than {self._max_folders} folders")
            try:
                queue.watch(folder)
                device = Path(folder).stat().st_dev
            except (FileNotFoundError, NotADirectoryError):
                continue  # where it appears, a folder above it says so, or its identity
            if device not in local and not is_local(posixpath.realpath(folder), self._table):
                raise OSError(f"{folder} is on no local file system")
            local.add(device)

    def _refuse_mounts(self, roots: list[Root]) -> None:
        """Refuse mounts below a folder, and on a file: events of a folder tell nothing of what is mounted on what it holds."""
        folders = [root.real for root in roots if not root.is_file]
        if session_logs.SOURCE in self._config.search.sources:
            folders.append(posixpath.realpath(self._config.sessions_dir))
        found = [point for folder in folders if (point := find_mount_below(folder, self._table)) is not None]
        found += [root.real for root in roots if root.is_file and is_mount(root.real, self._table)]
        if found:
            raise OSError(f"{found[0]} is a mount of its own")

    def _concerns(self, name: bytes) -> bool:
        return name.endswith((os.fsencode(SUFFIX), os.fsencode(session_logs.SUFFIX)))

    def _list_places(self, roots: list[Root]) -> Iterator[str]:
        """Yield paths that lead elsewhere when a folder above them is renamed, or a link or a mount is made."""
        yield str(self._config.workspace)
        for root in roots:
            for path in (root.configured, root.real):
                yield posixpath.dirname(path) if root.is_file else path
        if session_logs.SOURCE in self._config.search.sources:
            yield str(self._config.sessions_dir)

    def _list_folders(self, roots: list[Root]) -> Iterator[str]:
        """Yield the folders to watch; each is watched before the folders in it are listed, so that none is missed."""
        for root in roots:
            if root.is_file or root.problem is not None:
                yield posixpath.dirname(root.configured)
                yield posixpath.dirname(root.real)
            else:
                yield from _walk(root)
        if session_logs.SOURCE in self._config.search.sources:
            yield str(self._config.sessions_dir)


def _walk(root: Root) -> Iterator[str]:
    waiting = [""]
    while waiting:
        relative = waiting.pop()
        below = f"{relative}/" if relative else ""
        folder = root.join(relative)
        yield folder
        try:
            with os.scandir(folder) as entries:
                waiting += [
                    below + entry.name
                    for entry in entries
                    if entry.is_dir(follow_symlinks=False)
                    and root.refuse_folder(below + entry.name, entry.name) is None
                ]
        except (FileNotFoundError, NotADirectoryError):
            continue


def _identify(path: str) -> tuple[_Identity, _Identity]:
    """Return what a path is, and what it leads to."""
    found: list[_Identity] = []
    for ask in (os.lstat, os.stat):
        try:
            info = ask(path)
        except OSError:
            found.append(None)
        else:
            found.append((info.st_dev, info.st_ino))
    return found[0], found[1]
