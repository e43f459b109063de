"""Texts that sessions have been shown, so that they are neither stored as if they were new nor shown twice."""

from __future__ import annotations

import hashlib
import logging
import re
import threading
from collections import OrderedDict, defaultdict, deque
from collections.abc import Iterable
from pathlib import Path

from memory_core.atomic import locked, replace_file

SESSIONS = 64  # kept: those that were shown something last
FINGERPRINTS = 1024  # of one session, about 200 bytes each; a search brings some 20. So many texts wait for theirs, too
LOCK_SECONDS = 2.0
SUFFIX = ".shown"
FINGERPRINT = re.compile(r"^[0-9a-f]{64}$", re.MULTILINE)  # a line of a file

log = logging.getLogger(__name__)


class Shown:
    """Remembers fingerprints of what sessions have been shown. All methods may be called from several threads.

    Args:
        folder: The folder in which each session has a file, for processes that end after each text: made when the first text
            has been shown. Where a file cannot be used, a text may be shown again. None remembers in this process.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._sessions: OrderedDict[str, list[str]] = OrderedDict()  # fingerprints by session, the last one last
        # Those that have none yet.
        self._texts: defaultdict[str, deque[str]] = defaultdict(lambda: deque(maxlen=FINGERPRINTS))

    def of(self, session_key: str | None) -> frozenset[str]:
        """Return the fingerprints of all that a session has been shown, as `text.paragraphs.is_recalled` takes them."""
        key = session_key or ""
        if self._folder is not None:
            return frozenset(self._read(self._find_file(self._folder, key)))
        from memory_core.text.paragraphs import fingerprint_recalled

        with self._lock:
            held = dict.fromkeys(self._sessions.get(key, ()))
            # Texts are cut and hashed only now, since sessions search more than they write.
            for text in self._texts.pop(key, ()):
                for found in sorted(fingerprint_recalled([text])):
                    held.pop(found, None)
                    held[found] = None
            if held:
                self._sessions[key] = [*held][-FINGERPRINTS:]
            return frozenset(self._sessions.get(key, ()))

    def add(self, session_key: str | None, texts: Iterable[str]) -> None:
        """Record that texts have been shown in a session."""
        key = session_key or ""
        if self._folder is not None:
            from memory_core.text.paragraphs import fingerprint_recalled

            if found := fingerprint_recalled(texts):
                self._add_to_file(self._folder, key, found)
            return
        with self._lock:
            self._texts[key] += texts
            self._sessions[key] = self._sessions.pop(key, [])
            if len(self._sessions) > SESSIONS:
                oldest, _ = self._sessions.popitem(last=False)
                self._texts.pop(oldest, None)

    def forget(self, session_key: str | None) -> None:
        """Let a session be shown everything again, since its context begins anew."""
        key = session_key or ""
        with self._lock:
            self._sessions.pop(key, None)
            self._texts.pop(key, None)
        if self._folder is not None:
            try:
                self._find_file(self._folder, key).unlink(missing_ok=True)
            except OSError as error:
                log.warning("What has been shown is not shown again in this session: %s", error)

    def _add_to_file(self, folder: Path, key: str, found: frozenset[str]) -> None:
        path = self._find_file(folder, key)
        try:
            with locked(folder / ".lock", timeout_seconds=LOCK_SECONDS):
                kept = [*(each for each in self._read(path) if each not in found), *sorted(found)]  # the newest last
                replace_file(path, "".join(f"{each}\n" for each in kept[-FINGERPRINTS:]).encode("ascii"))
                files = {path: path.stat().st_mtime_ns for path in folder.glob(f"*{SUFFIX}")}
                for old in sorted(files, key=files.__getitem__)[:-SESSIONS]:
                    old.unlink(missing_ok=True)
        except (OSError, TimeoutError) as error:
            log.warning("What has been shown may be shown again in this session: %s", error)

    @staticmethod
    def _find_file(folder: Path, key: str) -> Path:
        return folder / f"{hashlib.sha256(key.encode('utf-8', 'replace')).hexdigest()[:32]}{SUFFIX}"

    @staticmethod
    def _read(path: Path) -> list[str]:
        try:
            return FINGERPRINT.findall(path.read_text(encoding="ascii", errors="replace"))
        except FileNotFoundError:
            return []
        except OSError as error:
            log.warning("What has been shown may be shown again in this session: %s", error)
            return []
