"""Watches notes and session logs: tells the next search that something has changed, and the background that a sync is due.

watchdog's thread hears of a change some milliseconds after it happened; half a second after a file was moved out of all folders.
What kind of change it was does not matter, since the sync that follows compares everything: only events that cannot concern a
note are left out, among them those that our own reading causes. Where events do not tell of every change, as on a network, every
search looks at the files.
"""

from __future__ import annotations

import contextlib
import logging
import os
import posixpath
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, cast

from memory_core.config.agent import AgentConfig
from memory_core.sources import notes, session_logs
from memory_core.sources.roots import find_roots, slash
from memory_core.sources.vaults import VAULT, VAULT_SETTINGS
from memory_core.text.markdown import is_markdown

if TYPE_CHECKING:
    from watchdog.events import FileSystemEvent, FileSystemEventHandler
    from watchdog.observers.api import BaseObserver, ObservedWatch

    from memory_core.sync.background import BackgroundSync

log = logging.getLogger(__name__)

CLOSE_SECONDS = 5.0  # how long ending an observer's threads may take; they are daemons
MAX_FOLDERS = 8192  # inotify watches take about 1 kB of kernel memory each, and a user has 8,192 on small systems
POLL_SECONDS = 5.0  # a sweep of 10,000 notes takes 60 ms: about 1 % of a core
LOOK_SECONDS = 60.0  # after which a search looks at all files: a write through a memory map causes no event

MOUNTS = Path("/proc/self/mountinfo")
# Files on others, such as nfs, cifs, 9p, fuse and virtiofs, are also changed by other machines, of which nobody here hears.
LOCAL = frozenset(
    {"ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs", "tmpfs", "ramfs", "zfs", "bcachefs", "overlay", "jfs", "reiserfs"}
)
_ESCAPE = re.compile(r"\\([0-7]{3})")


class Target(NamedTuple):
    """A folder to watch, alone or with all folders below it."""

    folder: Path
    recursive: bool


class LookStart(NamedTuple):
    """A moment before a look at all files.

    Attributes:
        changes: The number of changes heard of until then.
        writes: The number of notes that this process had written.
        at: Seconds of the watcher's clock.
    """

    changes: int
    writes: int
    at: float


class Watcher:
    """Watches the files of one agent. The constructor starts nothing; `start` does, and `close` ends it for good.

    A sync calls `mark` before it looks at files, and `confirm` when it has left nothing to do. From then on `is_fresh` returns
    True until something changes.

    Args:
        config: The agent's.
        clock: Seconds that never go back.
        max_folders: The watcher refuses to watch more than these.
        mounts: The system's table of mounts, see `read_mounts`.
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
        self._background: BackgroundSync | None = None
        self._lock = threading.Lock()  # of the next four; held for moments
        self._state = "off"
        self._closed = False
        self._changes = 0
        # With the generation of the index that agreed with the files.
        self._confirmed: tuple[LookStart, str] | None = None
        self._arming = threading.RLock()  # of the rest
        self._observer: BaseObserver | None = None
        self._paths: frozenset[Path] = frozenset()
        self._watches: dict[Target, ObservedWatch] = {}
        self._spare = 0  # folders that may still appear before all are counted again

    @property
    def state(self) -> str:
        """ "events", "polling: <why>" or "off"."""
        with self._lock:
            return self._state

    def start(self, background: BackgroundSync) -> None:
        """Begin to watch, and request a first sync, since files may have changed before; may be called twice.

        Args:
            background: Requested to sync soon after each change; where files cannot be watched, every few seconds.
        """
        sync = self._config.search.sync
        with self._lock:
            if self._closed or self._background is not None:
                return
            self._background = background
        background.set_interval(sync.interval_minutes * 60)
        if sync.watch:
            self.watch()
            background.record_note_change()

    def watch(self) -> None:
        """Begin to watch; `state` then tells if that is possible here."""
        from watchdog.observers import Observer

        try:
            with self._arming:
                with self._lock:
                    if self._closed or self._state != "off":
                        return
                    self._state = "events"
                self._paths = self._list_paths()
                self._count_new_folder()
                observer = Observer()
                observer.start()
                self._observer = observer
                self._arm(set())
                self._check_free_watch()
                self.expire()  # what a sync has looked at before
        except OSError as error:  # no inotify instance or watch is free, or the file system has no events
            self._stop()
            self._refuse(error)

    def close(self) -> None:
        """Stop watching and end the threads, for good; may be called twice."""
        with self._lock:
            self._closed, self._state, self._confirmed = True, "off", None
        self._stop()

    def mark(self) -> LookStart:
        """Return the moment from which a look at all files begins; folders that have become roots are watched from now on."""
        with self._lock:
            mark = LookStart(self._changes, notes.count_writes(), self._clock())
        if self.state == "events" and self._list_paths() != self._paths:  # a link or a vault was made
            self._rearm(set(), appeared=True)
        return mark

    def confirm(self, mark: LookStart, generation: str) -> None:
        """Record that an index agrees with the files as they were at a mark.

        Args:
            mark: Made before the files were looked at.
            generation: Of the content of the index.
        """
        if self.state == "events" and self._hears_all():
            with self._lock:
                self._confirmed = mark, generation

    def is_fresh(self, generation: str) -> bool:
        """Return True if an index agrees with the files, as far as events tell.

        Args:
            generation: Of the content of the index now: another process may have changed it.
        """
        with self._lock:
            if self._state != "events" or self._confirmed is None:
                return False
            mark, confirmed = self._confirmed
            return (
                confirmed == generation
                and (mark.changes, mark.writes) == (self._changes, notes.count_writes())
                and self._clock() - mark.at < LOOK_SECONDS
            )

    def expire(self) -> None:
        """Record that the next sync has something to do; a sync that runs now cannot confirm otherwise."""
        with self._lock:
            self._changes += 1

    def dispatch(self, event: FileSystemEvent) -> None:
        """Handle an event; watchdog calls this for each."""
        paths = [Path(os.fsdecode(path)) for path in (event.src_path, event.dest_path) if path]
        # Those of ours, below one, or above one, as the folders above are watched, too.
        ours = self._paths
        paths = [
            path for path in paths if any(path == each or each in path.parents or path in each.parents for each in ours)
        ]
        if event.is_directory and paths:
            self._rearm(set() if event.event_type == "created" else set(paths), appeared=event.event_type != "deleted")
        for path in paths:
            is_log = any(folder in path.parents for folder in self._config.session_folders)
            is_note = is_markdown(path.name) or path.as_posix().endswith(tuple(VAULT_SETTINGS))
            is_ours = session_logs.is_log(path.name) if is_log else is_note
            if not (event.is_directory or path in self._paths or is_ours):
                continue
            self.expire()
            if self._background is not None and is_log:
                self._background.record_session_change()
            elif self._background is not None:
                self._background.record_note_change()

    def _list_paths(self) -> frozenset[Path]:
        """Return the files and folders whose changes may concern a note or a session log; they need not exist."""
        roots = find_roots(self._config)
        paths = {Path(path) for root in roots for path in (root.configured, root.real)}
        paths.update(Path(vault.folder, VAULT) for root in roots for vault in root.find_vaults())
        paths.update(self._config.session_folders)
        return frozenset(paths)

    def _hears_all(self) -> bool:
        """Return True if events tell of every change: those of other machines, and of mounts below a folder, cause none."""
        mounts = read_mounts(self._mounts)
        roots: list[tuple[str, bool]] = [(root.real, root.is_file) for root in find_roots(self._config)]
        roots += ((posixpath.realpath(folder), False) for folder in self._config.session_folders)
        for path, is_file in roots:
            if has_mount(path, mounts, is_file=is_file) or find_file_system(path, mounts) not in LOCAL:
                log.debug("files are looked at before each search: events do not tell of all changes in %s", path)
                return False
        return True

    def _rearm(self, gone: set[Path], *, appeared: bool) -> None:
        try:
            with self._arming:
                self._paths = self._list_paths()
                if appeared:
                    self._count_new_folder()
                self._arm(gone)
                if appeared:
                    self._check_free_watch()
        except OSError as error:
            self._refuse(error)

    def _refuse(self, error: OSError) -> None:
        """Sync every few seconds from now on, since not everything can be watched."""
        reason = str(error) if error.errno is None else f"the system refuses to watch: {error.strerror}"
        with self._lock:
            if self._closed or self._state.startswith("polling"):
                return
            self._state = f"polling: {reason}"
        if self._background is not None:
            interval = self._config.search.sync.interval_minutes * 60
            self._background.set_interval(min(interval or POLL_SECONDS, POLL_SECONDS))
            log.warning("notes are looked at every %g s: %s", POLL_SECONDS, reason)

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
        if self._observer is None:
            return
        wanted = set(_list_targets(self._paths))
        for target in list(self._watches):
            if target not in wanted or not gone.isdisjoint({target.folder, *target.folder.parents}):
                self._observer.unschedule(self._watches.pop(target))
        while new := set(_list_targets(self._paths)) - self._watches.keys():
            for target in new:  # folders that appear below one before it is watched are found in the next round
                with contextlib.suppress(FileNotFoundError, NotADirectoryError):  # it was deleted meanwhile
                    self._watches[target] = self._observer.schedule(
                        cast("FileSystemEventHandler", self),  # of which only `dispatch` is used
                        str(target.folder),
                        recursive=target.recursive,
                        event_filter=_list_relevant_events(),
                    )

    def _check_free_watch(self) -> None:
        """Watch a folder once more for a moment, since watchdog silently skips folders for which no watch is free.

        Raises:
            OSError: The system grants no further watch, so that some folder may have got none.
        """
        from watchdog.events import FileSystemEventHandler
        from watchdog.observers import Observer

        if not self._watches:
            return
        observer = Observer()
        observer.start()
        try:
            with contextlib.suppress(FileNotFoundError):  # it was deleted meanwhile
                observer.schedule(FileSystemEventHandler(), str(next(iter(self._watches)).folder))
        finally:
            observer.stop()
            observer.join(CLOSE_SECONDS)

    def _stop(self) -> None:
        with self._arming:
            observer, self._observer = self._observer, None
            self._watches.clear()
        if observer is not None and observer.is_alive():
            observer.stop()
            observer.join(CLOSE_SECONDS)  # without the lock, which its thread may wait for


def _list_relevant_events() -> list[type[FileSystemEvent]]:
    """Return the events that matter: none for opening and reading, which our own syncs cause."""
    from watchdog import events

    return [
        events.FileCreatedEvent, events.FileModifiedEvent, events.FileClosedEvent, events.FileMovedEvent,
        events.FileDeletedEvent, events.DirCreatedEvent, events.DirMovedEvent, events.DirDeletedEvent,
        getattr(events, "FileAttribEvent", events.FileModifiedEvent),  # watchdog 7.1 tells changed permissions apart
    ]  # fmt: skip


def _list_targets(paths: Iterable[Path]) -> Iterator[Target]:
    """Yield the folders to watch for every path: itself with all below, and two above it, which see it come and go."""
    for path in paths:
        if path.is_dir() and not path.is_symlink():
            yield Target(path, recursive=True)
        above = next((parent for parent in path.parents if parent.is_dir()), path)
        yield Target(above, recursive=False)
        yield Target(above.parent, recursive=False)


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


def read_mounts(table: Path = MOUNTS) -> list[tuple[str, str]]:
    """Return the path and the type of file system of each mount, the later on top of the earlier; none without a table.

    Args:
        table: In the form of https://man7.org/linux/man-pages/man5/proc_pid_mountinfo.5.html.
    """
    try:
        text = table.read_bytes().decode("utf-8", "surrogateescape")
    except OSError:
        return []
    found = []
    for line in text.split("\n"):  # names of mounts may hold any other line end
        mount, _, kind = line.partition(" - ")
        fields = mount.split(" ")
        if len(fields) > 4:
            found.append((_ESCAPE.sub(lambda match: chr(int(match[1], 8)), fields[4]), kind.split(" ")[0]))
    return found


def find_file_system(path: str, mounts: Iterable[tuple[str, str]]) -> str | None:
    """Return the type of the file system on which a real path lies, such as "ext4"; None if no mount holds it.

    Args:
        path: Absolute, without symbolic links; it need not exist.
        mounts: See `read_mounts`; the last one of several at one place lies on top.
    """
    holding = [(len(point), number, kind) for number, (point, kind) in enumerate(mounts) if _holds(point, path)]
    return max(holding)[2] if holding else None


def has_mount(path: str, mounts: Iterable[tuple[str, str]], *, is_file: bool) -> bool:
    """Return True if something is mounted at a real path that is a file, or below one that is a folder."""
    return any(point == path if is_file else point != path and _holds(path, point) for point, _ in mounts)


def _holds(folder: str, path: str) -> bool:
    return slash(path).startswith(slash(folder))
