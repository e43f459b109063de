"""SQLite connections and lock files, and SQLite's errors as ours. The only importer of the driver."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import stat
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeAlias, cast
from urllib.parse import quote

import apsw

from memory_core.concurrency import forks
from memory_core.errors import StoreCorrupt, StoreError, StoreFull, StoreReadOnly, StoreTooNew, SyncBusy

Connection: TypeAlias = apsw.Connection
Tokenize: TypeAlias = Callable[[bytes], list[str]]

APPLICATION_ID = 0x4D454D43  # "MEMC"
PAGE_SIZE = 8192  # holds a 384-dimension BLOB table at 1.07 times its payload; 4096 takes 1.34
BUSY_TIMEOUT_MS = 5000
LOCK_POLL_SECONDS = 0.01  # between the tries of those who wait
_MAGIC = b"SQLite format 3\x00"  # at the beginning of every database
TOKENIZER = ("unicode61", "remove_diacritics", "2")

MOST_NEWER = 100  # migrations that a newer version may have had; a number beyond is none


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
        global apsw  # noqa: PLW0603 -- all of this module means the copy of this process
        try:
            if not apsw.using_amalgamation:
                raise ImportError("apsw uses a SQLite that it shares with other programs")
            copy = forks.load_anew(apsw)
        except ImportError as error:
            raise StoreError(path, f"cannot be opened in a forked process: {error}", action=_SPAWN) from error
        forks.abandon(apsw)
        apsw = cast("Any", copy)


_driver = _Driver()
_SPAWN = 'start processes with "spawn" or "forkserver", or open memory only after the fork'
_ENTER = "let this user enter its folders (chmod u+x), or choose another place: --state-dir or memorySearch.store.path"
REBUILD = "rebuild it from the notes: memory-core index"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileKind:
    """A kind of database file of ours: its mark in the header, and the words in which its errors speak of it.

    Attributes:
        noun: Its name in a sentence, behind "the".
        application_id: Stands in the header of every file of the kind.
        repair: What the user can do about a damaged file.
        retry: What the user can do once there is space again.
        elsewhere: What the user can do about a file that cannot be opened or written.
    """

    noun: str
    application_id: int
    repair: str
    retry: str
    elsewhere: str

    @property
    def article(self) -> str:
        """The indefinite article of its noun."""
        return "an" if self.noun[0] in "aeiou" else "a"


INDEX = FileKind(
    noun="index",
    application_id=APPLICATION_ID,
    repair=REBUILD,
    retry="free some space, then run: memory-core index",
    elsewhere="choose another place: memorySearch.store.path",
)


def exists(path: Path) -> bool:
    """Return True if there is such a file.

    Raises:
        StoreError: The system does not say, as when this user may not enter the folder.
    """
    try:
        return path.exists()
    except OSError as error:
        raise StoreError(path, f"cannot be reached ({error.strerror})", action=_ENTER) from error


def open_writer(path: Path, kind: FileKind = INDEX) -> Connection:
    """Open for reading and writing, creating the file and its folder (mode 0700) where missing.

    Raises:
        StoreError: See `translate_errors`.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        action = f"make it writable, or {kind.elsewhere}"
        raise StoreReadOnly(path, f"its folder cannot be made ({error.strerror})", action=action) from error
    _driver.claim(path)
    with translate_errors(path, kind):
        connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE)
        try:
            connection.set_busy_timeout(BUSY_TIMEOUT_MS)
            connection.pragma("page_size", PAGE_SIZE)
            connection.pragma("auto_vacuum", "INCREMENTAL")
            connection.pragma("journal_mode", "wal")
            connection.pragma("synchronous", "NORMAL")
            connection.pragma("foreign_keys", True)
            connection.pragma("cache_size", -16_000)
        except BaseException:
            connection.close()
            raise
    return connection


@contextlib.contextmanager
def hold_lock(path: Path, *, wait_seconds: float, clear: bool = False) -> Iterator[None]:
    """Hold a lock file, which is made when missing and stays empty; the system releases the lock when its owner dies.

    The file is an empty database in an exclusive transaction, as SQLite locks files on every platform, also between threads.

    Args:
        path: The lock file.
        wait_seconds: How long to wait for another owner.
        clear: The name is ours alone, so that what else stands there is damage: an empty folder or a broken link is removed,
            garbage is cut off.

    Raises:
        SyncBusy: Another process or thread holds the lock for longer than `wait_seconds`.
        StoreReadOnly: The file cannot be made or written.
    """
    until = time.monotonic() + wait_seconds

    def wait_on(_attempts: int) -> bool:
        if time.monotonic() >= until:
            return False
        time.sleep(LOCK_POLL_SECONDS)
        return True

    _driver.claim(path)
    if clear:
        _clear_lock(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE)
    except (OSError, apsw.CantOpenError) as error:
        raise StoreReadOnly(path, "the lock of the index cannot be made", action=_ELSEWHERE) from error
    with contextlib.closing(connection):
        if connection.readonly("main"):  # SQLite would silently begin a shared transaction
            raise StoreReadOnly(path, "the lock of the index cannot be taken", action=_ELSEWHERE)
        connection.set_busy_handler(wait_on)
        try:
            with translate_errors(path):
                connection.pragma("journal_mode", "MEMORY")  # nothing is written, so there is nothing to recover
                connection.execute("BEGIN EXCLUSIVE")
        except SyncBusy as error:
            raise SyncBusy(f"{path}: another process is syncing this index", action=_WAIT) from error
        except StoreCorrupt as error:
            raise StoreReadOnly(
                path, "this is no lock of memory-core", action="delete it if nothing else needs it"
            ) from error
        yield  # closing the connection rolls back


def _clear_lock(path: Path) -> None:
    """Make way for a lock file; one that is held is empty, and is left as it is."""
    remove_obstacle(path)
    with contextlib.suppress(OSError):
        # Cut in place: whoever holds the lock keeps it, and two who do this at once lock the same file.
        if stat.S_ISREG(path.lstat().st_mode) and path.lstat().st_size:
            os.truncate(path, 0)


def remove_obstacle(path: Path) -> str | None:
    """Remove an empty folder, or a link that leads to a folder or to itself.

    Returns:
        What was in the way; None if nothing was removed.
    """
    try:
        if path.is_symlink():
            if path.exists() and not path.is_dir():
                return None
            if not path.exists() and not _is_loop(path):
                return None  # a file can be made behind it
            path.unlink()
            return f"{path.name} was a link to no file"
        if path.is_dir():
            path.rmdir()  # fails unless it is empty
            return f"{path.name} was an empty folder"
    except OSError:
        return None
    return None


def _is_loop(path: Path) -> bool:
    """Return True if a link leads back to itself."""
    try:
        path.stat()
    except OSError as error:
        return error.errno == errno.ELOOP
    return False


def open_reader(path: Path, kind: FileKind = INDEX, *, damaged: bool = False) -> Connection:
    """Open an existing file for reading only, also where neither it nor its folder can be written.

    Args:
        path: The file.
        kind: What it should be.
        damaged: Open also one that is shorter than it should be; what is left of it can be read.

    Raises:
        StoreError: See `translate_errors`.
    """
    _driver.claim(path)
    with translate_errors(path, kind):
        # A WAL database needs its -shm file; where it can be neither found nor made, nobody writes the database either.
        for parameters in ("mode=ro", "mode=ro&immutable=1"):
            connection = apsw.Connection(
                f"file:{quote(str(path))}?{parameters}", flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
            )
            try:
                connection.set_busy_timeout(BUSY_TIMEOUT_MS)
                connection.pragma("query_only", True)
                if damaged:
                    connection.pragma("writable_schema", True)  # SQLite then does not compare the size with the header
                connection.pragma("schema_version")
            except (apsw.CantOpenError, apsw.ReadOnlyError):
                connection.close()
                if "immutable" in parameters:
                    raise
            except BaseException:
                connection.close()
                raise
            else:
                return connection
    raise AssertionError("unreachable")


_WAIT = "try again in a moment"
_ELSEWHERE = f"make it writable, or {INDEX.elsewhere}"


def _list_meanings(kind: FileKind) -> tuple[tuple[type[apsw.Error], type[StoreError], str, str], ...]:
    """Return for the driver's errors ours, with what is wrong and what to do."""
    foreign = f"delete it if nothing else needs it, or {kind.elsewhere.replace('place', 'file')}"
    elsewhere = f"make it writable, or {kind.elsewhere}"
    return (
        (apsw.NotADBError, StoreCorrupt, f"this is not {kind.article} {kind.noun} of memory-core", foreign),
        (apsw.CorruptError, StoreCorrupt, f"the {kind.noun} is damaged", kind.repair),
        (apsw.FullError, StoreFull, f"no space is left for the {kind.noun}", kind.retry),
        (apsw.ReadOnlyError, StoreReadOnly, f"the {kind.noun} cannot be written", elsewhere),
        (apsw.CantOpenError, StoreReadOnly, f"the {kind.noun} cannot be opened", elsewhere),
        (apsw.PermissionsError, StoreReadOnly, f"the {kind.noun} cannot be opened", elsewhere),
    )


@contextlib.contextmanager
def translate_errors(path: Path, kind: FileKind = INDEX) -> Iterator[None]:
    """Turn the driver's errors into ours.

    Raises:
        StoreCorrupt: Not a database, or damaged.
        StoreReadOnly: It cannot be opened or written.
        StoreFull: No space, or the file may not grow.
        SyncBusy: Another process held it for longer than `BUSY_TIMEOUT_MS`.
        StoreError: Anything else that SQLite reports.
    """
    try:
        yield
    except apsw.BusyError as error:
        raise SyncBusy(f"{path}: another process is writing the {kind.noun}", action=_WAIT) from error
    except apsw.IOError as error:
        raise _io_error(path, error, kind) from error
    except apsw.Error as error:
        for theirs, ours, message, action in _list_meanings(kind):
            if isinstance(error, theirs):
                raise ours(path, message, action=action) from error
        raise StoreError(path, f"SQLite says: {error}", action=kind.repair) from error


def is_refused_statement(error: StoreError) -> bool:
    """Return True if SQLite itself refused a statement, as over a lost table of the keyword index.

    It does not blame the disk, a lock, memory or permissions for that, and statements of ours fit our tables.
    """
    return isinstance(error.__cause__, apsw.SQLError)


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


def _io_error(path: Path, error: apsw.IOError, kind: FileKind) -> StoreError:
    """Return StoreFull for a failed write, which is a full disk or a file size limit (EFBIG): SQLite names neither."""
    writes = {apsw.SQLITE_IOERR_WRITE, apsw.SQLITE_IOERR_TRUNCATE, apsw.SQLITE_IOERR_SHMSIZE, apsw.SQLITE_IOERR_FSYNC}
    if getattr(error, "extendedresult", None) in writes:
        return StoreFull(path, f"the {kind.noun} cannot grow", action="free some space or lift the file size limit")
    return StoreError(path, f"the disk reports an error: {error}", action="check the disk")


def check_version(connection: Connection, path: Path, known: int, kind: FileKind = INDEX) -> int:
    """Return the schema version of a file: 0 for an empty one.

    Args:
        connection: Of the file.
        path: The file.
        known: The newest version that this memory-core knows.
        kind: What the file should be.

    Raises:
        StoreCorrupt: The file belongs to another program, or is damaged.
        StoreTooNew: A newer memory-core wrote it.
    """
    elsewhere = kind.elsewhere.replace("place", "file")
    if size := find_foreign_size(path):
        problem = f"this is not {kind.article} {kind.noun} of memory-core, nor any SQLite database ({size} B)"
        raise StoreCorrupt(path, problem, action=f"delete it if nothing else needs it, or {elsewhere}")
    with translate_errors(path, kind):
        # One statement, because another process may be making the file.
        facts = connection.execute(
            "SELECT user_version, application_id, (SELECT count(*) FROM sqlite_schema)"
            " FROM pragma_user_version, pragma_application_id"
        ).get
    version, application, tables = cast("tuple[int, int, int]", facts)
    if application != kind.application_id and (version or tables):
        raise StoreCorrupt(path, "this is a database of another program", action=elsewhere)
    if not 0 <= version <= known + MOST_NEWER or (tables and not version):
        raise StoreCorrupt(path, f"the {kind.noun} is damaged: its schema has no number", action=kind.repair)
    if version > known:
        raise StoreTooNew(
            path,
            f"it was written by a newer memory-core (schema {version}, this one knows {known})",
            action=f"upgrade memory-core, or {elsewhere}",
        )
    return version


def run_migrations(connection: Connection, path: Path, migrations: Sequence[str], kind: FileKind = INDEX) -> None:
    """Bring a file to the newest schema, each numbered script in a transaction of its own.

    Raises:
        StoreError: See `check_version` and `translate_errors`.
    """
    if check_version(connection, path, len(migrations), kind) == len(migrations):
        return
    for number, script in enumerate(migrations, start=1):
        with transaction(connection, path, kind):
            if int(connection.pragma("user_version")) < number:
                connection.execute(script)
                connection.pragma("application_id", kind.application_id)
                connection.pragma("user_version", number)


def list_missing_tables(connection: Connection, migrations: Sequence[str]) -> list[str]:
    """Return the tables that a file which had some migrations should have and has not."""
    present = {str(row[0]) for row in connection.execute("SELECT name FROM sqlite_schema")}
    scripts = "".join(migrations)
    made = re.findall(r"^CREATE (?:VIRTUAL )?TABLE (\w+)", scripts, re.MULTILINE)
    return [name for name in made if name not in present]


def is_ours(path: Path, kind: FileKind = INDEX) -> bool:
    """Return True if a file's header says that memory-core wrote it, damaged or not.

    The application id stands at offset 68 of a SQLite file (https://www.sqlite.org/fileformat.html#the_database_header).
    """
    header = read_header(path)
    return header.startswith(_MAGIC) and header[68:72] == kind.application_id.to_bytes(4, "big")


def read_header(path: Path) -> bytes:
    """Return the first 100 bytes of a file; fewer of a shorter one, none if it cannot be read."""
    with contextlib.suppress(OSError), path.open("rb") as file:
        return file.read(100)
    return b""


def find_foreign_size(path: Path) -> int:
    """Return the size of a file that is no SQLite database, which SQLite might write over; 0 for a database or nothing."""
    return 0 if read_header(path)[: len(_MAGIC)] in {_MAGIC, b""} else path.stat().st_size


def delete_files(path: Path) -> None:
    """Delete an index with its -wal and -shm files; nobody else may have it open."""
    for suffix in ("", "-wal", "-shm"):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(f"{path}{suffix}")  # noqa: PTH108 -- a suffix behind the whole name


def load_tokenizer(connection: Connection) -> Tokenize:
    """Return the keyword index's own stemmer: from UTF-8 text to its stems, in order."""
    porter = connection.fts5_tokenizer("porter", list(TOKENIZER))

    def tokenize(text: bytes) -> list[str]:
        stems = porter(text, apsw.FTS5_TOKENIZE_DOCUMENT, None, include_offsets=False, include_colocated=False)
        return cast("list[str]", stems)

    return tokenize


def load_vec0(connection: Connection, extension_path: str | None) -> str | None:
    """Load sqlite-vec; return None when it is loaded, else the reason why not, with what to do."""
    library = Path(extension_path).expanduser() if extension_path else _shipped_vec0()
    if library is None:
        return "sqlite-vec is not installed: pip install sqlite-vec"
    if not library.exists():
        return f"{library} does not exist: correct memorySearch.store.vector.extensionPath, or leave it out"
    try:
        connection.enable_load_extension(True)
        connection.load_extension(str(library))
    except apsw.Error as error:
        return f"{library.name} cannot be loaded ({error}): use the sqlite-vec build for this machine"
    finally:
        connection.enable_load_extension(False)
    return None


def _shipped_vec0() -> Path | None:
    """Return the library inside the sqlite_vec package, found without importing it (the import pulls numpy, 120 ms)."""
    spec = find_spec("sqlite_vec")
    if spec is None or spec.origin is None:
        return None
    found = sorted(path for path in Path(spec.origin).parent.glob("vec0.*") if path.suffix in {".so", ".dylib", ".dll"})
    return found[0] if found else None
