"""Database files written anew, so that nothing that was deleted is left in them."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from memory_core.errors import SyncBusy
from memory_core.stores.sqlite.driver import Connection
from memory_core.stores.sqlite.errors import translate_errors
from memory_core.stores.sqlite.kinds import FileKind

POLL_SECONDS = 0.02


def rewrite_file(connection: Connection, kind: FileKind) -> bool:
    """Write a database anew, and cut off its journal; return False while another connection is in the way.

    With secure_delete SQLite overwrites what it deletes, but not the copies that it leaves behind when it moves rows from page
    to page.

    Args:
        connection: The writing one, outside a transaction.
        kind: The file's.

    Raises:
        StoreError: The file cannot be written.
    """
    try:
        with translate_errors(Path(connection.filename), kind):
            connection.execute("VACUUM")
            busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone() or (1, 0, 0)
    except SyncBusy:
        return False
    return not busy


def repeat(wipe: Callable[[], bool], *, seconds: float) -> bool:
    """Call a function until it returns True, which it may do at the last call; return False if it did not in time."""
    until = time.monotonic() + seconds
    while not wipe():
        if time.monotonic() >= until:
            return False
        time.sleep(POLL_SECONDS)
    return True
