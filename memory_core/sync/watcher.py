"""File events that may mean a changed note, from a bounded number of watched folders.

The kind of a change does not matter: the sync that follows compares everything. So only events that cannot concern a note are
left out, among them those that our own reading causes.
"""

from __future__ import annotations

import contextlib
import logging
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from watchdog.events import FileSystemEvent, FileSystemEventHandler
    from watchdog.observers.api import BaseObserver, ObservedWatch

log = logging.getLogger(__name__)

CLOSE_SECONDS = 5.0  # how long ending an observer's threads may take; they are daemons
MAX_FOLDERS = 8192  # inotify watches take about 1 kB of kernel memory each, and a user has 8,192 on small systems


@dataclass(frozen=True, slots=True)
class Target:
    """A folder to watch.

    Attributes:
        folder: Its path.
        recursive: All folders below it are watched, too.
    """

    folder: Path
    recursive: bool


class Watcher:
    """Calls back when something has changed at or below some paths. The constructor starts nothing.

    Args:
        paths: Files and folders; while one does not exist yet, the nearest folder above it is watched.
        changed: Called from the watcher's thread, often; must return at once.
        refused: Called from that thread with the reason when a folder that appeared later cannot be watched.
        suffixes: Of the files that matter, such as `.md`.
        max_folders: The watcher refuses to watch more than these.
    """

    def __init__(
        self,
        paths: Iterable[Path],
        changed: Callable[[], None],
        refused: Callable[[str], None],
        *,
        suffixes: tuple[str, ...] = (".md",),
        max_folders: int = MAX_FOLDERS,
    ) -> None:
        self._paths = tuple(paths)
        self._changed = changed
        self._refused = refused
        self._suffixes = suffixes
        self._max_folders = max_folders
        self._spare = 0  # folders that may still appear before all are counted again
        self._lock = threading.Lock()
        self._closed = False
        self._observer: BaseObserver | None = None
        self._watches: dict[Target, ObservedWatch] = {}

    def start(self) -> str | None:
        """Begin to watch; return None, or the reason why that is not possible here, and then nothing runs.

        After `close` it does nothing.
        """
        from watchdog.observers import Observer

        try:
            self._count_new_folder()
            with self._lock:  # so that `close` meets either no observer or one that runs
                if self._closed or self._observer is not None:
                    return None
                observer = Observer()
                observer.start()
                self._observer = observer
            self._arm(set())
            self._check_free_watch()
        except OSError as error:  # no inotify instance or watch is free, or the file system has no events
            self._stop()
            return _describe(error)
        return None

    def close(self) -> None:
        """Stop watching and end the threads, for good; may be called twice."""
        with self._lock:
            self._closed = True
        self._stop()

    def _stop(self) -> None:
        with self._lock:
            observer, self._observer = self._observer, None
            self._watches.clear()
        if observer is not None and observer.is_alive():
            observer.stop()
            observer.join(CLOSE_SECONDS)

    def dispatch(self, event: FileSystemEvent) -> None:
        """Handle an event; watchdog calls this for each."""
        paths = [Path(os.fsdecode(path)) for path in (event.src_path, event.dest_path) if path]
        paths = [path for path in paths if self._concerns(path)]
        if event.is_directory and paths:
            gone = set() if event.event_type == "created" else set(paths)
            self._rearm(gone, appeared=event.event_type != "deleted")
        if any(event.is_directory or path.name.endswith(self._suffixes) for path in paths):
            self._changed()

    def _concerns(self, path: Path) -> bool:
        """Return True for a path of ours, below one, or above one, as the folders above are watched, too."""
        return any(path == ours or ours in path.parents or path in ours.parents for ours in self._paths)

    def _rearm(self, gone: set[Path], *, appeared: bool) -> None:
        try:
            if appeared:
                self._count_new_folder()
            self._arm(gone)
            if appeared:
                self._check_free_watch()
        except OSError as error:
            self._refused(_describe(error))

    def _count_new_folder(self) -> None:
        """Count one more folder; all are counted again when the last count left no room for it.

        Raises:
            OSError: There are more folders than may be watched.
        """
        self._spare -= 1
        if self._spare < 0:
            self._spare = self._max_folders - _count_folders(self._paths, self._max_folders)
        if self._spare < 0:
            self._spare = 0
            raise OSError(f"there are more than {self._max_folders} folders")

    def _arm(self, gone: set[Path]) -> None:
        """Watch the folders that exist now and no others; a folder that was replaced is watched anew."""
        with self._lock:
            if self._observer is None:
                return
            self._unschedule(self._observer, gone)
            while new := set(_targets(self._paths)) - self._watches.keys():
                for target in new:  # folders that appear below one before it is watched are found in the next round
                    self._schedule(self._observer, target)

    def _check_free_watch(self) -> None:
        """Watch a folder once more for a moment, since watchdog silently skips folders for which no watch is free.

        Raises:
            OSError: The system grants no further watch, so that some folder may have got none.
        """
        from watchdog.events import FileSystemEventHandler
        from watchdog.observers import Observer

        with self._lock:
            folder = next(iter(self._watches)).folder if self._watches else None
        if folder is not None:
            observer = Observer()
            observer.start()
            try:
                with contextlib.suppress(FileNotFoundError):  # it was deleted meanwhile
                    observer.schedule(FileSystemEventHandler(), str(folder))
            finally:
                observer.stop()
                observer.join(CLOSE_SECONDS)

    def _unschedule(self, observer: BaseObserver, gone: set[Path]) -> None:
        wanted = set(_targets(self._paths))
        for target in list(self._watches):
            if target not in wanted or not gone.isdisjoint(_with_parents(target)):
                observer.unschedule(self._watches.pop(target))

    def _schedule(self, observer: BaseObserver, target: Target) -> None:
        handler = cast(
            "FileSystemEventHandler", self
        )  # only its `dispatch` is used; a subclass would import watchdog here
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):  # it was deleted meanwhile
            self._watches[target] = observer.schedule(
                handler, str(target.folder), recursive=target.recursive, event_filter=_relevant_events()
            )


def _relevant_events() -> list[type[FileSystemEvent]]:
    """Return the events that matter: none for opening and reading, which our own syncs cause."""
    from watchdog import events

    return [
        events.FileCreatedEvent, events.FileModifiedEvent, events.FileClosedEvent, events.FileMovedEvent,
        events.FileDeletedEvent, events.DirCreatedEvent, events.DirMovedEvent, events.DirDeletedEvent,
    ]  # fmt: skip


def _describe(error: OSError) -> str:
    return str(error) if error.errno is None else f"the system refuses to watch: {error.strerror}"


def _targets(paths: Iterable[Path]) -> Iterator[Target]:
    """Yield the folders to watch for every path: itself with all below, and two above it, which see it come and go."""
    for path in paths:
        if path.is_dir() and not path.is_symlink():
            yield Target(path, recursive=True)
        above = next((parent for parent in path.parents if parent.is_dir()), path)
        yield Target(above, recursive=False)
        yield Target(above.parent, recursive=False)


def _with_parents(target: Target) -> set[Path]:
    return {target.folder, *target.folder.parents}


def _count_folders(paths: Iterable[Path], limit: int) -> int:
    """Return the number of folders below the paths; stop counting beyond the limit."""
    count = 0
    waiting = [path for path in paths if path.is_dir() and not path.is_symlink()]
    while waiting and count <= limit:
        count += 1
        try:
            with os.scandir(waiting.pop()) as entries:
                waiting += [Path(entry.path) for entry in entries if entry.is_dir(follow_symlinks=False)]
        except OSError as error:
            log.debug("not counted: %s", error)
    return count
