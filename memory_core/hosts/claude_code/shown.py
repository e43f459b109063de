"""Fingerprints of what a session has been shown by hooks, in a file: each hook is a process of its own, and remembers nothing."""

from __future__ import annotations

import hashlib
import logging
import re
from collections.abc import Iterable
from pathlib import Path

from memory_core.atomic import locked, replace_file

SESSIONS = 64  # that have a file: those shown something last
FINGERPRINTS = 1024  # of one session: those shown last; 65 bytes each
LOCK_SECONDS = 2.0
SUFFIX = ".shown"
FINGERPRINT = re.compile(r"^[0-9a-f]{64}$", re.MULTILINE)  # a line of a file

log = logging.getLogger(__name__)


class Shown:
    """The texts that one session has been shown. Where its file cannot be used, a text may be shown again.

    Args:
        folder: The folder of the files of all sessions; made when the first text has been shown.
        session: The id of the session.
    """

    def __init__(self, folder: Path, session: str) -> None:
        self._folder = folder
        self._path = folder / f"{hashlib.sha256(session.encode('utf-8', 'replace')).hexdigest()[:32]}{SUFFIX}"

    def read(self) -> frozenset[str]:
        """Return the fingerprints of all that the session has been shown, as `text.paragraphs.is_recalled` takes them."""
        return frozenset(self._read())

    def add(self, texts: Iterable[str]) -> None:
        """Record that the session has been shown these texts."""
        from memory_core.text.paragraphs import fingerprint_recalled

        found = sorted(fingerprint_recalled(texts))
        if not found:
            return
        try:
            with locked(self._folder / ".lock", timeout_seconds=LOCK_SECONDS):
                kept = list(dict.fromkeys([*self._read(), *found]))[-FINGERPRINTS:]
                replace_file(self._path, "".join(f"{each}\n" for each in kept).encode("ascii"))
                self._remove_old()
        except (OSError, TimeoutError) as error:
            log.warning("What has been shown may be shown again in this session: %s", error)

    def forget(self) -> None:
        """Let the session be shown everything again, since its context begins anew."""
        try:
            self._path.unlink(missing_ok=True)
        except OSError as error:
            log.warning("What has been shown is not shown again in this session: %s", error)

    def _read(self) -> list[str]:
        try:
            return FINGERPRINT.findall(self._path.read_text(encoding="ascii", errors="replace"))
        except FileNotFoundError:
            return []
        except OSError as error:
            log.warning("What has been shown may be shown again in this session: %s", error)
            return []

    def _remove_old(self) -> None:
        files = {path: path.stat().st_mtime_ns for path in self._folder.glob(f"*{SUFFIX}")}
        for path in sorted(files, key=files.__getitem__)[:-SESSIONS]:
            path.unlink(missing_ok=True)
