"""What `start` begins for one index: watching notes and session logs, or looking now and then where that is not possible."""

from __future__ import annotations

import logging
import threading
from functools import partial

from memory_core.keeper import Keeper
from memory_core.roots import watched_paths
from memory_core.settings import AgentConfig
from memory_core.watch import MAX_FOLDERS, Watcher

log = logging.getLogger(__name__)

POLL_SECONDS = 5.0  # a sweep of 10,000 notes takes 60 ms: about 1 % of a core


class Watching:
    """Feeds a keeper with the changes of one agent's notes and session logs. Making one starts nothing."""

    def __init__(self, config: AgentConfig, keeper: Keeper, *, max_folders: int = MAX_FOLDERS) -> None:
        self._sync = config.search.sync
        self._keeper = keeper
        watcher = partial(Watcher, refused=self._look_instead, max_folders=max_folders)
        self._watchers = [watcher(watched_paths(config), keeper.changed)]
        if "sessions" in config.search.sources:
            self._watchers.append(watcher([config.sessions_dir], keeper.session_changed, suffixes=(".jsonl",)))
        self._lock = threading.Lock()
        self._state: str = "off"

    @property
    def state(self) -> str:
        """ "events", "polling: <why>" or "off"."""
        with self._lock:
            return self._state

    def start(self) -> None:
        """Begin, and ask for a first sync, since files may have changed before; may be called twice."""
        with self._lock:
            if self._state != "off":
                return
            self._state = "events" if self._sync.watch else "off"
            self._keeper.every(self._sync.interval_minutes * 60)
        if self._sync.watch:
            for watcher in self._watchers:
                if (reason := watcher.start()) is not None:
                    self._look_instead(reason)
            self._keeper.changed()

    def close(self) -> None:
        """Stop watching; the keeper is its owner's to close."""
        with self._lock:
            self._state = "off"
        for watcher in self._watchers:  # its thread may be about to tell of a refusal, so without the lock
            watcher.close()

    def _look_instead(self, reason: str) -> None:
        """Look at everything now and then, since not all of it can be watched."""
        with self._lock:
            if self._state != "events":
                return
            self._state = f"polling: {reason}"
            interval = self._sync.interval_minutes * 60
            self._keeper.every(min(interval or POLL_SECONDS, POLL_SECONDS))
        log.warning("notes are looked at every %g s: %s", POLL_SECONDS, reason)
