"""The triggers of syncs: watched folders, a clock where they cannot be watched, session logs that have grown."""

from __future__ import annotations

import logging
import threading
from functools import partial

from memory_core.config.agent import AgentConfig
from memory_core.errors import NotIndexed
from memory_core.sources import session_logs
from memory_core.sources.roots import list_watched_paths
from memory_core.stores.interface import SyncStore
from memory_core.sync.background import BackgroundSync
from memory_core.sync.watcher import MAX_FOLDERS, Watcher

log = logging.getLogger(__name__)

POLL_SECONDS = 5.0  # a sweep of 10,000 notes takes 60 ms: about 1 % of a core


class SyncTriggers:
    """Tells a background sync about changes of one agent's notes and session logs. The constructor starts nothing."""

    def __init__(self, config: AgentConfig, background: BackgroundSync, *, max_folders: int = MAX_FOLDERS) -> None:
        self._sync = config.search.sync
        self._background = background
        watcher = partial(Watcher, refused=self._poll_instead, max_folders=max_folders)
        self._watchers = [watcher(list_watched_paths(config), background.record_note_change)]
        if session_logs.SOURCE in config.search.sources:
            self._watchers.append(
                watcher([config.sessions_dir], background.record_session_change, suffixes=(".jsonl",))
            )
        self._lock = threading.Lock()
        self._state: str = "off"
        self._closed = False

    @property
    def state(self) -> str:
        """ "events", "polling: <why>" or "off"."""
        with self._lock:
            return self._state

    def start(self) -> None:
        """Begin to watch, and request a first sync, since files may have changed before; may be called twice.

        After `close` it does nothing.
        """
        with self._lock:
            if self._closed or self._state != "off":
                return
            self._state = "events" if self._sync.watch else "off"
            self._background.set_interval(self._sync.interval_minutes * 60)
        if self._sync.watch:
            for watcher in self._watchers:
                if (reason := watcher.start()) is not None:
                    self._poll_instead(reason)
            self._background.record_note_change()

    def close(self) -> None:
        """Stop watching, for good; the background sync is its owner's to close."""
        with self._lock:
            self._closed = True
            self._state = "off"
        for watcher in self._watchers:  # without the lock, as a watcher's thread may be reporting a refusal
            watcher.close()

    def _poll_instead(self, reason: str) -> None:
        """Sync every few seconds, since not everything can be watched."""
        with self._lock:
            if self._state != "events":
                return
            self._state = f"polling: {reason}"
            interval = self._sync.interval_minutes * 60
            self._background.set_interval(min(interval or POLL_SECONDS, POLL_SECONDS))
        log.warning("notes are looked at every %g s: %s", POLL_SECONDS, reason)


def wants_sync(config: AgentConfig, store: SyncStore, session_key: str) -> bool:
    """Return True if a session that was written to is worth indexing again; also where its log is not known.

    Args:
        config: The agent's; False where it indexes no sessions.
        store: The agent's index.
        session_key: The host's name of the session.
    """
    if session_logs.SOURCE not in config.search.sources:
        return False
    file = session_logs.find_log(config, session_key)
    if file is None:
        return True
    try:
        row = store.find_file(file.source, file.path)
    except NotIndexed:
        row = None
    if row is not None and row.stamp == file.stamp:
        return False
    return session_logs.has_outgrown(file, 0 if row is None else row.stamp.size_bytes, config.search.sync.sessions)
