"""The driver: apsw, and the check that a forked process may use it. The other modules of the room reach apsw through here."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TypeAlias

import apsw

from memory_core.errors import StoreError

__all__ = ["Connection", "apsw", "refuse_inherited"]

Connection: TypeAlias = apsw.Connection

_SPAWN = 'start processes with "spawn" or "forkserver", or fork while memory is idle'

_process = os.getpid()
_inherits_open_files = False


def refuse_inherited(path: Path) -> None:
    """Refuse to open a file in a process that was forked while a connection of its parent was in use.

    SQLite keeps one table of open files and locks for the whole process. In such a child it names locks that only the parent
    holds, and its mutexes may be held by a thread that the child does not have (https://www.sqlite.org/howtocorrupt.html, 2.6).
    `pool` closes idle connections before a fork, so that the children of an idle process may open their own.

    Raises:
        StoreError: This is such a process.
    """
    global _process, _inherits_open_files  # noqa: PLW0603 -- they describe the process
    if _process != os.getpid():
        _inherits_open_files = any(_may_have_file(connection) for connection in apsw.connections())
        _process = os.getpid()
    if _inherits_open_files:
        raise StoreError(
            path, "cannot be opened in a process that was forked while its parent used memory", action=_SPAWN
        )


def _may_have_file(connection: Connection) -> bool:
    try:
        return bool(connection.filename)
    except apsw.ThreadingViolationError:  # a thread of the parent was using it
        return True
