"""Pooled connections to one database file: idle readers, and one writer for which threads take turns."""

from __future__ import annotations

import contextlib
import os
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from memory_core.errors import NotIndexed, StoreReadOnly
from memory_core.stores.sqlite import files, opening, schema
from memory_core.stores.sqlite.driver import Connection, refuse_inherited
from memory_core.stores.sqlite.errors import translate_errors
from memory_core.stores.sqlite.kinds import FileKind

SPARE_SECONDS = 10.0  # after which a reading connection is closed that was seldom needed: each keeps 2 MB of pages


_pools: weakref.WeakSet[ConnectionPool] = weakref.WeakSet()


def _do_nothing(_connection: Connection) -> None:
    pass


class ConnectionPool:
    """Connections to the file that stands at a path; those to a file that was deleted or replaced are closed.

    The constructor opens nothing. The first use of a writing connection makes the file, or migrates it.

    Args:
        path: The file.
        kind: What it should be.
        migrations: See `schema.run_migrations`.
        writable: False opens the file for reading only, and never makes or changes it.
        prepare: Called with a new writing connection, before migrations.
        finish: Called with a new writing connection, after migrations.
        clock: Seconds that never go back.
    """

    def __init__(
        self,
        path: Path,
        kind: FileKind,
        migrations: Sequence[str],
        *,
        writable: bool = True,
        prepare: Callable[[Connection], None] = _do_nothing,
        finish: Callable[[Connection], None] = _do_nothing,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.path = path
        self.writable = writable
        self._kind = kind
        self._migrations = migrations
        self._prepare = prepare
        self._finish = finish
        self._clock = clock
        self._closed = False
        self._releases = 0  # a connection that was borrowed before one is closed when it comes back
        self._begin_anew()
        _pools.add(self)

    def _begin_anew(self) -> None:
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._write_lock = threading.RLock()
        self._idle: list[tuple[float, Connection]] = []  # with the time when each came back, the last one at the end
        self._writer: Connection | None = None
        self._idle_file: files.FileId | None = None  # that the idle connections have open
        self._writer_file: files.FileId | None = None

    def _leave_parent(self) -> None:
        """In a forked process, begin anew: threads that it does not have may hold the locks.

        Raises:
            StoreError: A connection of the parent was in use at the fork.
        """
        if self._process != os.getpid():
            refuse_inherited(self.path)
            self._begin_anew()

    @contextlib.contextmanager
    def read(self) -> Iterator[Connection]:
        """Yield a connection inside one read transaction, so that all that is read belongs to one moment.

        Raises:
            NotIndexed: There is no file yet, or one to be migrated that this pool may not write.
            StoreError: The file cannot be used.
        """
        with self.read_file() as (connection, _):
            yield connection

    @contextlib.contextmanager
    def read_file(self) -> Iterator[tuple[Connection, files.FileId | None]]:
        """Yield a connection as `read` does, and which file it has open: another one may have taken its place."""
        self._leave_parent()
        with translate_errors(self.path, self._kind):
            releases = self._releases
            connection, file = self._borrow()
            try:
                connection.execute("BEGIN")
                yield connection, file
                connection.execute("COMMIT")
            except BaseException:
                connection.close()
                raise
            self._give_back(connection, file, releases)

    @contextlib.contextmanager
    def hold_writer(self) -> Iterator[Connection]:
        """Yield the writing connection, outside a transaction, while other threads wait.

        Raises:
            StoreError: The file cannot be used; StoreReadOnly if this pool may not write it.
        """
        self._leave_parent()
        with self._write_lock, translate_errors(self.path, self._kind):
            yield self._get_writer()

    def close_idle(self) -> None:
        """Close the reading connections that nobody uses."""
        with self._lock:
            idle, self._idle = self._idle, []
        for _, connection in idle:
            connection.close()

    def rest(self) -> None:
        """Close the idle reading connections, and drop the pages that an idle writing one keeps in memory."""
        if self._process != os.getpid():
            return
        self.close_idle()
        if self._write_lock.acquire(blocking=False):
            try:
                if self._writer is not None:
                    self._writer.execute("PRAGMA shrink_memory")
            finally:
                self._write_lock.release()

    def close_unused(self) -> None:
        """Close all connections of this process but those in use, without waiting for these."""
        if self._process != os.getpid():
            return
        self.close_idle()
        if self._write_lock.acquire(blocking=False):
            try:
                if self._writer is not None and not self._writer.in_transaction:
                    self._close_writer()
            finally:
                self._write_lock.release()

    @contextlib.contextmanager
    def closed(self) -> Iterator[None]:
        """Close all connections but those in use, and let no other thread write while the block replaces the file."""
        with self._write_lock:
            self.close_idle()
            self._close_writer()
            yield

    def release(self) -> None:
        """Close all connections until one is needed again, those in use when they come back; may be called twice."""
        if self._process != os.getpid():  # they are the parent's
            return
        with self._lock:
            self._releases += 1
        with self.closed():
            pass

    def close(self) -> None:
        """Close all connections as `release` does, and keep none open from now on; may be called twice."""
        self._closed = True
        self.release()

    def _close_writer(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def _borrow(self) -> tuple[Connection, files.FileId | None]:
        file = files.identify(self.path)
        if self._idle_file != file:
            self.close_idle()
        with self._lock:
            self._idle_file = file
            if self._idle:
                return self._idle.pop()[1], file
        if not files.exists(self.path):
            raise NotIndexed(f"{self.path}: {self._kind.empty}", action=self._kind.fill)
        return self._open_reader(), file

    def _open_reader(self) -> Connection:
        connection = opening.open_reader(self.path, self._kind)
        try:
            version = self._check_version(connection)
            if version != len(self._migrations):
                if not self.writable:
                    problem = f"the {self._kind.noun} was made by an older version" if version else self._kind.empty
                    raise NotIndexed(f"{self.path}: {problem}", action=self._kind.fill)
                with self.hold_writer():
                    pass  # which migrates the file
                connection.pragma("schema_version")
        except BaseException:
            connection.close()
            raise
        return connection

    def _check_version(self, connection: Connection) -> int:
        return schema.check_version(connection, self.path, len(self._migrations), self._kind)

    def _give_back(self, connection: Connection, file: files.FileId | None, releases: int) -> None:
        spare = [connection]
        with self._lock:
            if not self._closed and releases == self._releases and file == self._idle_file:
                now = self._clock()
                self._idle.append((now, connection))
                spare = [idle for at, idle in self._idle if now - at > SPARE_SECONDS]
                self._idle = [(at, idle) for at, idle in self._idle if now - at <= SPARE_SECONDS]
        for each in spare:
            each.close()

    def _get_writer(self) -> Connection:
        if not self.writable:
            raise StoreReadOnly(self.path, f"this session may not write the {self._kind.noun}")
        file = files.identify(self.path)
        if self._writer_file != file:
            self._close_writer()
        if self._writer is None:
            self._writer = self._open_writer()
            self._writer_file = file or files.identify(self.path)
        return self._writer

    def _open_writer(self) -> Connection:
        if files.exists(self.path) and self.path.stat().st_size:  # before WAL mode touches another program's file
            with contextlib.closing(opening.open_reader(self.path, self._kind)) as reader:
                self._check_version(reader)
        connection = opening.open_writer(self.path, self._kind)
        try:
            self._prepare(connection)
            schema.run_migrations(connection, self.path, self._migrations, self._kind)
            self._finish(connection)
        except BaseException:
            connection.close()
            raise
        return connection


def _close_unused_before_fork() -> None:
    for pool in list(_pools):
        pool.close_unused()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_close_unused_before_fork)
