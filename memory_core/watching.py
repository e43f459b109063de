"""What `start` begins for one index: watching notes and session logs, or looking now and then where that is not possible."""

from __future__ import annotations

import logging
import threading

from memory_core.keeper import Keeper
from memory_core.roots import watched_paths
from memory_core.settings import AgentConfig
from memory_core.watch import Watcher

log = logging.getLogger(__name__)

POLL_SECONDS = 5.0  # a sweep of 10,000 notes takes 60 ms: about 1 % of a core


class Watching:
    """Feeds a keeper with the changes of one agent's notes. Making one starts nothing."""

    def __init__(self, config: AgentConfig, keeper: Keeper) -> None:
        self._sync = config.search.sync
        self._keeper = keeper
        self._watchers = [Watcher(watched_paths(config), keeper.changed)]
        if "sessions" in config.search.sources:
            self._watchers.append(Watcher([config.sessions_dir], keeper.session_changed, suffixes=(".jsonl",)))
        self._lock = threading.Lock()
        self._state = "off"

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
            interval = self._sync.interval_minutes * 60
            if self._sync.watch:
                refused = next((reason for watcher in self._watchers if (reason := watcher.start())), None)
                self._state = "events" if refused is None else f"polling: {refused}"
                if refused is not None:
                    log.warning("notes are not watched but looked at every %g s: %s", POLL_SECONDS, refused)
                    interval = min(interval or POLL_SECONDS, POLL_SECONDS)
                self._keeper.changed()
            self._keeper.every(interval)

    def close(self) -> None:
        """Stop watching; the keeper is its owner's to close."""
        with self._lock:
            for watcher in self._watchers:
                watcher.close()
            self._state = "off"
