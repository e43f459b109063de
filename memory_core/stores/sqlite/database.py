"""One SQLite file of ours: its pooled connections, transactions, migrations, and what happens when it is damaged."""

from __future__ import annotations

import contextlib
import glob
import os
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar, cast

import apsw

from memory_core.atomic import locked
from memory_core.errors import NotIndexed, StoreCorrupt, StoreError, StoreReadOnly, StoreTooNew, SyncBusy
from memory_core.stores.sqlite import files
from memory_core.stores.sqlite.connections import (
    ELSEWHERE,
    INDEX,
    LEAVE_OR_DELETE,
    OTHER_FILE,
    Connection,
    FileKind,
    closed_on_error,
    is_refused_statement,
    open_reader,
    open_writer,
    translate_errors,
)

MOST_IDLE = 4  # reading connections that are kept for the next readers: each keeps 2 MB of pages
LOCK_SECONDS = 30.0  # that one process waits for another to set a damaged file aside
NO_TEXT = "a text is not UTF-8"  # which the driver cannot read
WIPE_SECONDS = 2.0  # that a wipe waits for readers of other processes
MOST_NEWER = 100  # migrations that a newer version may have had; a number beyond is none

T = TypeVar("T")

_open: weakref.WeakSet[Database] = weakref.WeakSet()


def _do_nothing(*_: object) -> None:
    pass


class Database:
    """Connections to the file that stands at a path; those to a file that was deleted or replaced are closed.

    Readers share idle connections; for the writing one threads take turns. The constructor opens nothing. The first use of a
    writing connection makes the file, or migrates it. A subclass says in `on_damage` what becomes of a damaged file, in
    `prepare` and `finish` what a writing connection needs.

    Args:
        path: The file.
        kind: What it should be.
        migrations: Scripts, the first of which makes the tables of an empty file; each is a transaction of its own.
        older: The number of schemas that there were before, of which a file cannot be brought up to date.
        writable: False opens the file for reading only, and never makes or changes it.
    """

    def __init__(
        self,
        path: Path,
        kind: FileKind,
        migrations: Sequence[str],
        *,
        older: int = 0,
        writable: bool = True,
    ) -> None:
        self.path = path
        self.kind = kind
        self.writable = writable
        self._migrations = migrations
        self._older = older
        self._newest = older + len(migrations)  # the schema version of a file that is up to date
        self._closed = False
        self._checked: files.FileId | None = None  # the file that `check` has looked at
        # What may be damage, and the file it was met in.
        self.failed: tuple[files.FileId | None, StoreError] | None = None
        self.begin_anew()
        _open.add(self)

    def begin_anew(self) -> None:
        """Have no connections, as at first and in a forked process: threads that it does not have may hold the locks."""
        self._lock = threading.Lock()
        self._write_lock = threading.RLock()
        self._idle: list[Connection] = []  # one that was borrowed from another list is closed when it comes back
        self._writer: Connection | None = None
        self._idle_file: files.FileId | None = None  # that the idle connections have open
        self._writer_file: files.FileId | None = None

    def exists(self) -> bool:
        """Return True if the file exists.

        Raises:
            StoreError: The system does not say.
        """
        return files.exists(self.path)

    @contextlib.contextmanager
    def read(self) -> Iterator[Connection]:
        """Yield a connection inside one read transaction, so that all that is read belongs to one moment.

        Raises:
            NotIndexed: There is no file yet, or one to be migrated that this database may not write.
            StoreError: The file cannot be used.
        """
        with self._watch():
            connection, idle = self._borrow()
            with closed_on_error(connection):
                connection.execute("BEGIN")
                yield connection
                connection.execute("COMMIT")
            self._give_back(connection, idle)

    @contextlib.contextmanager
    def write(self) -> Iterator[Connection]:
        """Yield a connection inside one write transaction: committed after the block, rolled back by any error.

        Raises:
            StoreReadOnly, StoreFull, StoreCorrupt, StoreTooNew, SyncBusy: See `translate_errors`.
        """
        with self.maintain() as connection, transaction(connection, self.path, self.kind):
            yield connection

    @contextlib.contextmanager
    def maintain(self) -> Iterator[Connection]:
        """Yield the writing connection, outside a transaction, while other threads wait.

        Raises:
            StoreError: The file cannot be used; StoreReadOnly if this database may not write it.
        """
        with self._write_lock, self._watch():
            yield self._get_writer()

    def ask(self, question: Callable[[Connection], T], otherwise: T) -> T:
        """Return the answer to a question in one read transaction; another one where there is no file yet."""
        with contextlib.suppress(NotIndexed), self.read() as connection:
            return question(connection)
        return otherwise

    def prepare(self, connection: Connection) -> None:
        """Set up a new writing connection, before migrations."""

    def finish(self, connection: Connection) -> None:
        """Do what is to be done with a new writing connection, after migrations."""

    def wipe(self, *, seconds: float = WIPE_SECONDS) -> bool:
        """Overwrite what deleted rows leave in the file and its journal; return False while another program reads it.

        Args:
            seconds: How long to wait for other programs.
        """
        if not self.exists():
            return True
        with self.maintain() as connection:
            self.close_idle()
            return files.repeat(lambda: self.rewrite(connection), seconds=seconds)

    def rewrite(self, connection: Connection) -> bool:
        """Write the file anew, and cut off its journal; return False while another connection is in the way.

        With secure_delete SQLite overwrites what it deletes, but not the copies that it leaves behind when it moves rows from
        page to page.

        Args:
            connection: The writing one, outside a transaction.
        """
        with contextlib.suppress(SyncBusy), translate_errors(self.path, self.kind):
            connection.execute("VACUUM")
            busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone() or (1, 0, 0)
            return not busy
        return False

    def on_damage(self) -> Path | None:
        """Do what is to be done about a file that seems damaged; the call that met it still fails.

        Returns:
            The new path of the file if it was set aside.
        """
        return None

    @contextlib.contextmanager
    def _watch(self) -> Iterator[None]:
        """Translate the driver's errors, and report those that may be damage."""
        file = files.identify(self.path)
        try:
            with translate_errors(self.path, self.kind):
                yield
        except StoreError as error:
            if type(error) in {StoreCorrupt, StoreError}:
                self.failed = file, error
            if self.writable and isinstance(error, StoreCorrupt):
                self.on_damage()
            raise

    def check(self) -> None:
        """Look for damage once in every file that stands at the path, unless that takes long, and report it."""
        file = files.identify(self.path)
        if not self.writable or file is None or file == self._checked:
            return
        # The quick look of this class: that of items reads every row.
        if files.needs_check(self.path) and Database.find_damage(self) is not None:
            self.on_damage()
        self._checked = files.identify(self.path)

    def find_damage(self) -> str | None:
        """Return how the file is damaged, in a few words; None if it is sound, empty or missing.

        Raises:
            StoreError: It cannot be read for another reason.
        """
        if not files.measure(self.path):
            return None
        try:
            with (
                contextlib.closing(open_reader(self.path, self.kind)) as connection,
                translate_errors(self.path, self.kind),
            ):
                return self.find_problem(connection, self._check_version(connection))
        except StoreError as error:
            if not (isinstance(error, StoreCorrupt) or is_refused_statement(error)):
                raise
            return error.reason

    def find_problem(self, connection: Connection, version: int) -> str | None:
        """Return how the content of a file of some schema version is damaged, in a few words; None if it is sound."""
        # quick_check saves one ms of 8 for 2 MB, and does not notice where a table and its indexes differ.
        found = str(connection.execute("PRAGMA integrity_check(1)").get)
        if found != "ok":
            return found.splitlines()[-1]
        migrations = self._migrations[: max(version - self._older, 0)]
        wrong = _find_wrong_table(connection, migrations)
        try:
            return self.find_wrong_row(connection) if migrations and not wrong else wrong
        except UnicodeDecodeError:
            return NO_TEXT

    def find_wrong_row(self, connection: Connection) -> str | None:  # noqa: ARG002
        """Return how a row of a file with all tables is damaged; None if none is, as far as anybody looks."""
        return None

    def set_aside(self, rescue: Callable[[Path], None] = _do_nothing) -> tuple[Path, str] | None:
        """Rename a file that turns out to be damaged, so that the next write begins a new one; one process at a time.

        Args:
            rescue: Called before that with the name of a file that it may make; that file then takes the place of the other.

        Returns:
            The renamed file, and how it is damaged; None if the file is sound, as when another process has done it.

        Raises:
            StoreCorrupt: A sound database of another program stands there, which is left alone.
        """
        if self.find_damage() is None:
            return None
        with self.closed(), locked(Path(f"{self.path}.lock"), timeout_seconds=LOCK_SECONDS):
            problem = self.find_damage()
            if problem is None:
                return None
            if "another program" in problem:
                raise StoreCorrupt(self.path, problem, action=ELSEWHERE)
            fresh = Path(f"{self.path}.rescued")
            files.delete_files(fresh)  # of a process that was killed
            rescue(fresh)
            aside = files.set_aside(self.path)
            if fresh.exists():
                fresh.replace(self.path)
            self._checked = files.identify(self.path)
        return aside, problem

    def list_set_aside(self) -> list[Path]:
        """Return the damaged files that were set aside, the oldest first; none of a folder that may not be entered."""
        found: list[Path] = []
        with contextlib.suppress(PermissionError):  # told by whoever opens the file
            found += self.path.parent.glob(f"{glob.escape(self.path.name)}{files.ASIDE}-*")
        return sorted(each for each in found if not each.name.endswith(files.SIDE_FILES))

    def close_idle(self) -> None:
        """Close the reading connections that nobody uses."""
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def rest(self) -> None:
        """Close all connections but those in use, without waiting for these; the next call opens them again."""
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

    def _borrow(self) -> tuple[Connection, list[Connection]]:
        """Return a reading connection, and the list to which it goes back."""
        file = files.identify(self.path)
        if self._idle_file != file:
            self.close_idle()
        with self._lock:
            self._idle_file, idle = file, self._idle
            if idle:
                return idle.pop(), idle
        if not files.exists(self.path):
            raise self._refuse(0)
        return self._open_reader(), idle

    def _open_reader(self) -> Connection:
        with closed_on_error(open_reader(self.path, self.kind)) as connection:
            version = self._check_version(connection)
            if version != self._newest:
                if not self.writable:
                    raise self._refuse(version)
                with self._write_lock:
                    self._get_writer()  # which migrates the file
                connection.pragma("schema_version")
            return connection

    def _check_version(self, connection: Connection) -> int:
        """Return the schema version of the file: 0 for an empty one.

        Raises:
            StoreCorrupt: The file belongs to another program, or is damaged.
            StoreTooNew: A newer memory-core wrote it.
        """
        path, kind = self.path, self.kind
        if size := files.find_foreign_size(path):
            problem = f"this is no {kind.noun} of memory-core, nor any SQLite database ({size} B)"
            raise StoreCorrupt(path, problem, action=LEAVE_OR_DELETE)
        with translate_errors(path, kind):
            # One statement, because another process may be making the file.
            facts = connection.execute(
                "SELECT user_version, application_id, (SELECT count(*) FROM sqlite_schema)"
                " FROM pragma_user_version, pragma_application_id"
            ).get
        version, application, tables = cast("tuple[int, int, int]", facts)
        if application != kind.application_id and (version or tables):
            raise StoreCorrupt(path, "this is a database of another program", action=OTHER_FILE)
        if not 0 <= version <= self._newest + MOST_NEWER or (tables and not version):
            raise StoreCorrupt(path, f"the {kind.noun} is damaged: its schema has no number", action=kind.repair)
        if version > self._newest:
            raise StoreTooNew(
                path,
                f"it was written by a newer memory-core (schema {version}, this one knows {self._newest})",
                action=f"upgrade memory-core, or {OTHER_FILE}",
            )
        return version

    def is_older(self) -> bool:
        """Return True if the file has a schema that cannot be brought up to date.

        Raises:
            StoreError: The file cannot be used.
        """
        if not self.exists() or not self.path.stat().st_size:
            return False
        with contextlib.closing(open_reader(self.path, self.kind)) as connection:
            return 0 < self._check_version(connection) <= self._older

    def _refuse(self, version: int) -> NotIndexed:
        """Return the error of a file of an older schema version; 0 is that of an empty one."""
        reason = f"the {self.kind.noun} was made by an older version" if version else self.kind.empty
        return NotIndexed(f"{self.path}: {reason}", action=self.kind.fill)

    def _give_back(self, connection: Connection, idle: list[Connection]) -> None:
        with self._lock:
            is_kept = idle is self._idle and len(idle) < MOST_IDLE and not self._closed
            if is_kept:
                idle.append(connection)
        if not is_kept:
            connection.close()

    def _get_writer(self) -> Connection:
        if not self.writable:
            raise StoreReadOnly(self.path, f"this session may not write the {self.kind.noun}")
        file = files.identify(self.path)
        if self._writer_file != file:
            self._close_writer()
        if self._writer is None:
            self._writer = self._open_writer()
            self._writer_file = file or files.identify(self.path)
        return self._writer

    def _open_writer(self) -> Connection:
        if self.is_older():  # which also looks if the file is ours, before WAL mode touches another program's
            raise self._refuse(self._older)
        with closed_on_error(open_writer(self.path, self.kind)) as connection:
            self.prepare(connection)
            self._migrate(connection)
            self.finish(connection)
            return connection

    def _migrate(self, connection: Connection) -> None:
        """Bring the file to the newest schema, outside a transaction.

        Raises:
            StoreError: See `_check_version` and `translate_errors`.
        """
        if self._check_version(connection) == self._newest:
            return
        for number, script in enumerate(self._migrations, start=self._older + 1):
            with transaction(connection, self.path, self.kind):
                if int(connection.pragma("user_version")) < number:
                    connection.execute(script)
                    connection.pragma("application_id", self.kind.application_id)
                    connection.pragma("user_version", number)


def _tell_all(message: Callable[[Database], None]) -> None:
    for database in list(_open):
        message(database)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=lambda: _tell_all(Database.rest), after_in_child=lambda: _tell_all(Database.begin_anew))


class PrivateDatabase(Database):
    """A copy of a database in memory: it may be changed at will, and threads take turns.

    Args:
        source: A connection to the database, inside a read transaction.
        path: The database, for messages.
        kind: What it is.
    """

    def __init__(self, source: Connection, path: Path, kind: FileKind) -> None:
        super().__init__(path, kind, ())
        self._connection = apsw.Connection(":memory:")
        with translate_errors(path, kind):
            self._connection.pragma("page_size", int(source.pragma("page_size")))
            with self._connection.backup("main", source, "main") as backup:
                backup.step(-1)
            self._connection.pragma("foreign_keys", True)

    @contextlib.contextmanager
    def read(self) -> Iterator[Connection]:
        """Yield the connection inside a transaction."""
        with self.maintain() as connection:
            connection.execute("BEGIN")
            try:
                yield connection
            finally:
                connection.execute("ROLLBACK")

    @contextlib.contextmanager
    def maintain(self) -> Iterator[Connection]:
        """Yield the connection outside a transaction."""
        with self._write_lock, translate_errors(self.path, self.kind):
            yield self._connection

    def close(self) -> None:
        """Let go of the copy; may be called twice."""
        with self._write_lock:
            self._connection.close()


def get_meta(connection: Connection, key: str) -> str | None:
    """Return the value of a key in the table `meta`, which every file of ours has; None if it has none."""
    return cast("str | None", connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).get)


def set_meta(connection: Connection, key: str, value: str | None) -> None:
    """Set the value of a key in the table `meta`, inside a write transaction; None removes it."""
    connection.execute("DELETE FROM meta WHERE key = ?", (key,))
    if value is not None:
        connection.execute("INSERT INTO meta VALUES (?, ?)", (key, value))


@contextlib.contextmanager
def transaction(connection: Connection, path: Path, kind: FileKind = INDEX) -> Iterator[None]:
    """Run the block in an immediate transaction: committed at the end, rolled back by any error.

    A deferred one that turns to writing fails at once when another writer is ahead, whatever the busy timeout.
    """
    with translate_errors(path, kind):
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            connection.execute("COMMIT")
        except BaseException:
            with contextlib.suppress(apsw.Error):  # SQLite has rolled back by itself after some errors
                connection.execute("ROLLBACK")
            raise


def _find_wrong_table(connection: Connection, migrations: Sequence[str]) -> str | None:
    """Return how the tables of a file differ from those that some migrations make, in a few words; None if they don't.

    A flipped bit in the text of a table's definition leaves a sound file with a table, or a column, that nothing asks for.

    Args:
        connection: Of the file.
        migrations: Those that the file has had.

    Raises:
        apsw.Error: SQLite refuses to read a table.
    """
    with contextlib.closing(apsw.Connection(":memory:")) as model:
        for script in migrations:
            model.execute(script)
        tables = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY rowid"
        for (name,) in model.execute(tables).fetchall():  # those of FTS5, too, which an answer may not touch for weeks
            wanted, found = (each.execute(f"PRAGMA table_info({name})").fetchall() for each in (model, connection))
            if not found:
                return f"it has no table {name}"
            if [column[1] for column in found] != [column[1] for column in wanted]:
                return f"its table {name} has other columns"
            connection.execute(f"SELECT 1 FROM {name} LIMIT 1").fetchall()
    return None
