"""Passages that a session has been shown, so that they are not appended again as if they were new."""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from collections.abc import Iterable
from typing import Any

SESSIONS = 64  # kept: those used last
FINGERPRINTS = 1024  # of one session, about 200 bytes each; a search brings some 20
TEXTS_CHARS = 200_000  # of one session that nobody has asked for yet: those of fifty searches


class Recalled:
    """Remembers what sessions have been shown. All methods may be called from several threads.

    Texts are cut and hashed when somebody asks for their fingerprints: that takes a third of a search by keyword, and most
    sessions search more often than they write.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sessions: OrderedDict[str, _ShownTexts] = OrderedDict()

    def add(self, session_key: str | None, texts: Iterable[str]) -> None:
        """Record that texts have been shown in a session."""
        with self._lock:
            shown = self._sessions.setdefault(session_key or "", _ShownTexts())
            self._sessions.move_to_end(session_key or "")
            shown.add(texts)
            _shrink(self._sessions, SESSIONS)

    def forget(self, session_key: str | None) -> None:
        """Forget all that a session has been shown."""
        with self._lock:
            self._sessions.pop(session_key or "", None)

    def of(self, session_key: str | None) -> frozenset[str]:
        """Return the fingerprints of all that a session has been shown."""
        with self._lock:
            shown = self._sessions.get(session_key or "")
            return shown.find_fingerprints() if shown else frozenset()


class _ShownTexts:
    """The fingerprints of one session, oldest first, and the texts that came since they were asked for."""

    def __init__(self) -> None:
        self._fingerprints: OrderedDict[str, None] = OrderedDict()
        self._texts: deque[str] = deque()
        self._chars = 0

    def add(self, texts: Iterable[str]) -> None:
        for text in texts:
            self._texts.append(text)
            self._chars += len(text)
        while self._chars > TEXTS_CHARS:
            self._chars -= len(self._texts.popleft())

    def find_fingerprints(self) -> frozenset[str]:
        from memory_core.text.paragraphs import fingerprint_recalled

        while self._texts:
            for each in fingerprint_recalled([self._texts.popleft()]):
                self._fingerprints[each] = None
                self._fingerprints.move_to_end(each)
        self._chars = 0
        _shrink(self._fingerprints, FINGERPRINTS)
        return frozenset(self._fingerprints)


def _shrink(kept: OrderedDict[str, Any], size: int) -> None:
    while len(kept) > size:
        kept.popitem(last=False)
