"""Fingerprints of passages that a session has been shown, so that they are not appended again as if they were new."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable
from typing import Any

from memory_core.concurrency import forks

SESSIONS = 64  # kept: those used last
FINGERPRINTS = 1024  # of one session, about 200 bytes each; a search adds some 20


class Recalled:
    """Remembers fingerprints, not texts. All methods may be called from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sessions: OrderedDict[str, OrderedDict[str, None]] = OrderedDict()
        forks.renew_in_children(self, Recalled._renew)

    def add(self, session_key: str | None, texts: Iterable[str]) -> None:
        """Record that texts have been shown in a session."""
        from memory_core.text.paragraphs import fingerprint_recalled

        found = fingerprint_recalled(texts)
        with self._lock:
            known = self._sessions.setdefault(session_key or "", OrderedDict())
            self._sessions.move_to_end(session_key or "")
            for each in found:
                known[each] = None
                known.move_to_end(each)
            _shrink(known, FINGERPRINTS)
            _shrink(self._sessions, SESSIONS)

    def forget(self, session_key: str | None) -> None:
        """Forget all that a session has been shown."""
        with self._lock:
            self._sessions.pop(session_key or "", None)

    def of(self, session_key: str | None) -> frozenset[str]:
        """Return the fingerprints of all that a session has been shown."""
        with self._lock:
            return frozenset(self._sessions.get(session_key or "", ()))

    def _renew(self) -> None:
        self._lock = threading.Lock()


def _shrink(kept: OrderedDict[str, Any], size: int) -> None:
    while len(kept) > size:
        kept.popitem(last=False)
