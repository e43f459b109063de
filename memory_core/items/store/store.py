"""The items file of one agent: its transactions, the rescue of a damaged file, and the wiping of what was deleted."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Iterator
from pathlib import Path

from memory_core.errors import MemoryClosed, StoreCorrupt, StoreError, SyncBusy
from memory_core.items.store import salvage
from memory_core.items.store.rows import load_wipe_mark
from memory_core.items.store.schema import ITEMS, MIGRATIONS
from memory_core.stores import sqlite
from memory_core.stores.sqlite import Connection, Database

log = logging.getLogger(__name__)

WAIT_SECONDS = 30.0  # that a write waits for the writes of other processes
CHECKPOINT_SECONDS = 2.0  # that a wipe waits for readers of other processes


class ItemStore(Database):
    """One items file. The constructor opens nothing. May be used from several threads.

    Args:
        path: The file, made by the first write.
        writable: False opens the file for reading only, and never makes, mends or changes it.
    """

    def __init__(self, path: Path, *, writable: bool = True) -> None:
        super().__init__(path, ITEMS, MIGRATIONS, writable=writable, prepare=_prepare, finish=_resume_wipe)
        self._refused = False
        self.rescued: str | None = None  # a sentence about the last rescue by this process

    @contextlib.contextmanager
    def write(self) -> Iterator[Connection]:
        """Yield a connection inside one write transaction: committed after the block, rolled back by any error.

        Raises:
            StoreReadOnly, StoreFull, StoreCorrupt, StoreTooNew: See `sqlite.translate_errors`.
            SyncBusy: Other processes wrote for longer than `WAIT_SECONDS`.
        """
        with self.maintain() as connection:
            until = time.monotonic() + WAIT_SECONDS
            while True:
                with contextlib.ExitStack() as stack:
                    try:
                        stack.enter_context(sqlite.transaction(connection, self.path, ITEMS))
                    except SyncBusy:
                        if time.monotonic() >= until:
                            raise
                        continue
                    yield connection
                return

    def wipe(self) -> bool:
        """Overwrite what deleted rows leave in the file and its journal; return False while another program reads it.

        The next process that opens the file for writing tries again, also after this one was killed: `rows.delete` leaves
        a mark, which a finished wipe removes.
        """
        with self.maintain() as connection:
            self.close_idle()
            from memory_core.stores.sqlite.files import repeat

            return repeat(lambda: _wipe(connection), seconds=CHECKPOINT_SECONDS)

    def refuse(self) -> None:
        """Refuse every call from now on: their memory was closed."""
        self._refused = True

    @contextlib.contextmanager
    def _watch(self) -> Iterator[None]:
        """Refuse calls of a memory that was closed, and look at a file before its first use."""
        if self._refused:
            raise MemoryClosed
        self.check()
        with super()._watch():
            yield

    def on_damage(self, error: StoreError) -> None:
        """Set a damaged file aside, and save what can be read into a new one, so that the next call can use it."""
        if not self.writable or not isinstance(error, StoreCorrupt):
            return
        saved = 0

        def save(aside: Path) -> None:
            nonlocal saved
            rows = list(salvage.read_rows(aside))
            saved = len(rows)
            marks = ", ".join("?" * len(salvage.COLUMNS))
            with sqlite.transaction(connection := self._get_writer(), self.path, ITEMS):
                connection.executemany(
                    f"INSERT OR IGNORE INTO items ({', '.join(salvage.COLUMNS)}) VALUES ({marks})", rows
                )
                _restore_others(connection, aside, {row[0] for row in rows})

        found = self.set_aside(save)
        if found is not None:
            aside, problem = found
            self.rescued = (
                f"the items file was damaged ({problem}); {saved} items were saved, the old file is {aside.name}"
            )
            log.warning("%s: %s", self.path, self.rescued)


def _restore_others(connection: Connection, aside: Path, keys: set[object]) -> None:
    """Save who said what, what was forgotten, and what notes mirror, from a damaged file."""
    digest_key = salvage.read_digest_key(aside)
    if digest_key is not None:
        connection.execute("INSERT OR REPLACE INTO meta VALUES ('digest_key', ?)", (digest_key,))
    for table, columns in salvage.TABLES.items():
        if table != "sayings" and digest_key is None:
            continue
        found = [row for row in salvage.read_table(aside, table) if table != "sayings" or row[0] in keys]
        marks = ", ".join("?" * len(columns))
        connection.executemany(f"INSERT OR IGNORE INTO {table} ({', '.join(columns)}) VALUES ({marks})", found)


def _prepare(connection: Connection) -> None:
    connection.pragma("secure_delete", True)
    connection.pragma("synchronous", "FULL")  # unlike an index, nothing can make this file anew


def _resume_wipe(connection: Connection) -> None:
    """Finish a wipe that another process could not finish; not waited for."""
    if load_wipe_mark(connection) is not None:
        _wipe(connection)


def _wipe(connection: Connection) -> bool:
    """Write the file anew, and cut off its journal; return False while another connection is in the way.

    The keyword index keeps words as marks between its pages until it is written anew.
    """
    from memory_core.stores.sqlite.files import rewrite_file

    mark = load_wipe_mark(connection)
    try:
        with sqlite.translate_errors(Path(connection.filename), ITEMS):
            connection.execute("INSERT INTO items_fts (items_fts) VALUES ('optimize')")
            done = rewrite_file(connection, ITEMS)
            if done:  # the mark of another process, which has deleted something since then, stays
                connection.execute("DELETE FROM meta WHERE key = 'wipe' AND value = ?", (mark,))
    except SyncBusy:
        return False
    return done
