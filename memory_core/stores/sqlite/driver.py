"""The driver: apsw, and a copy of it for every forked process. The other modules of the room reach apsw through here."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any, TypeAlias, cast

import apsw

from memory_core.concurrency import forks
from memory_core.errors import StoreError

__all__ = ["Connection", "apsw", "claim"]

Connection: TypeAlias = apsw.Connection

_SPAWN = 'start processes with "spawn" or "forkserver", or open memory only after the fork'


class _Driver:
    """The copy of the driver that this process may use.

    A process that was forked from a user of SQLite cannot use the same copy: by its table of open files, the process holds the
    locks that only the parent holds, so that it would take none, or never get one. Its mutexes may be held by a thread that
    the child does not have. So the child loads a copy of its own when it first opens a file.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: int | None = None
        forks.renew_in_children(self, _Driver._renew)

    def claim(self, path: Path) -> None:
        """Make sure that this process may open a file; called before each is opened.

        Raises:
            StoreError: It is a forked process in which the driver cannot be loaded anew.
        """
        if self._process == os.getpid():
            return
        with self._lock:
            if self._process not in (None, os.getpid()):
                self._replace(path)
            self._process = os.getpid()

    def _renew(self) -> None:
        self._lock = threading.Lock()

    def _replace(self, path: Path) -> None:
        global apsw  # noqa: PLW0603 -- all of this room means the copy of this process
        try:
            if not apsw.using_amalgamation:
                raise ImportError("apsw uses a SQLite that it shares with other programs")
            copy = forks.load_anew(apsw)
        except ImportError as error:
            raise StoreError(path, f"cannot be opened in a forked process: {error}", action=_SPAWN) from error
        forks.abandon(apsw)
        apsw = cast("Any", copy)


_driver = _Driver()
claim = _driver.claim
