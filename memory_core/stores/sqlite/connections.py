"""Connections to SQLite files: opened for reading or writing, with the extensions and errors of ours.

The other modules of the room reach apsw through here.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple, TypeAlias, cast
from urllib.parse import quote

import apsw

from memory_core.errors import StoreCorrupt, StoreError, StoreFull, StoreReadOnly, SyncBusy

Connection: TypeAlias = apsw.Connection
Tokenize: TypeAlias = Callable[[bytes], list[str]]

PAGE_SIZE = 8192  # holds a 384-dimension BLOB table at 1.07 times its payload; 4096 takes 1.34
MOST_CACHED_BYTES = 512 * 1024  # of pages that a writing connection keeps between syncs
BUSY_TIMEOUT_MS = 5000
READER_PATIENCE_MS = 100  # for searches to end; one of a process that stands still does not
TOKENIZER = ("unicode61", "remove_diacritics", "2", "categories", "L* N* Co Mn Mc")  # vowel signs belong to words
REBUILD = "the next search makes it anew from the notes, and so does: memory-core index"
WAIT = "try again in a moment"
# For what cannot be opened or written.
ELSEWHERE = "choose another place: --state-dir (state_dir= in Python) or memorySearch.store.path"
OTHER_FILE = ELSEWHERE.replace("place", "file")
LEAVE_OR_DELETE = f"delete it if nothing else needs it, or {OTHER_FILE}"
MAKE_WRITABLE = f"make it writable, or {ELSEWHERE}"

_SPAWN = 'start processes with "spawn" or "forkserver", or fork while memory is idle'

_inherits_open_files = False  # this process was forked while a connection of its parent was in use


def refuse_inherited(path: Path) -> None:
    """Refuse to open a file in a process that was forked while a connection of its parent was in use.

    SQLite keeps one table of open files and locks for the whole process. In such a child it names locks that only the parent
    holds, and its mutexes may be held by a thread that the child does not have (https://www.sqlite.org/howtocorrupt.html, 2.6).
    `database` closes idle connections before a fork, so that the children of an idle process may open their own.

    Raises:
        StoreError: This is such a process.
    """
    if _inherits_open_files:
        raise StoreError(
            path, "cannot be opened in a process that was forked while its parent used memory", action=_SPAWN
        )


def _look_for_inherited() -> None:
    global _inherits_open_files  # noqa: PLW0603 -- it describes the process
    _inherits_open_files = any(_may_have_file(connection) for connection in apsw.connections())


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_look_for_inherited)


def _may_have_file(connection: Connection) -> bool:
    try:
        return bool(connection.filename)
    except apsw.ThreadingViolationError:  # a thread of the parent was using it
        return True


class FileKind(NamedTuple):
    """A kind of database file of ours: its mark in the header, and the words in which its errors speak of it.

    Attributes:
        noun: Its name in a sentence, behind "the".
        application_id: Stands in the header of every file of the kind.
        repair: What the user can do about a damaged file.
        retry: What the user can do once there is space again.
        empty: A sentence about one that does not exist yet.
        fill: What the user can do about that.
    """

    noun: str
    application_id: int
    repair: str
    retry: str
    empty: str
    fill: str


INDEX = FileKind(
    noun="index",
    application_id=0x4D454D43,  # "MEMC"
    repair=REBUILD,
    retry="free some space, then run: memory-core index",
    empty="nothing is indexed yet",
    fill="run: memory-core index",
)


def _list_meanings(kind: FileKind) -> tuple[tuple[type[apsw.Error], type[StoreError], str, str], ...]:
    """Return for the driver's errors ours, with what is wrong and what to do."""
    return (
        (apsw.NotADBError, StoreCorrupt, f"this is no {kind.noun} of memory-core", LEAVE_OR_DELETE),
        (apsw.CorruptError, StoreCorrupt, f"the {kind.noun} is damaged", kind.repair),
        (apsw.FullError, StoreFull, f"no space is left for the {kind.noun}", kind.retry),
        (apsw.ReadOnlyError, StoreReadOnly, f"the {kind.noun} cannot be written", MAKE_WRITABLE),
        (apsw.CantOpenError, StoreReadOnly, f"the {kind.noun} cannot be opened", MAKE_WRITABLE),
        (apsw.PermissionsError, StoreReadOnly, f"the {kind.noun} cannot be opened", MAKE_WRITABLE),
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
        raise SyncBusy(f"{path}: another process is writing the {kind.noun}", action=WAIT) from error
    except apsw.IOError as error:
        raise _io_error(path, error, kind) from error
    except apsw.Error as error:
        if isinstance(error, apsw.ReadOnlyError) and os.access(path, os.W_OK) and _is_of_no_version(path):
            raise StoreCorrupt(path, f"the {kind.noun} is damaged", action=kind.repair) from error
        for theirs, ours, message, action in _list_meanings(kind):
            if isinstance(error, theirs):
                raise ours(path, message, action=action) from error
        raise StoreError(path, f"SQLite says: {error}", action=kind.repair) from error


def is_refused_statement(error: StoreError) -> bool:
    """Return True if SQLite itself refused a statement, as over a lost table of the keyword index.

    It does not blame the disk, a lock, memory or permissions for that, and statements of ours fit our tables.
    """
    return isinstance(error.__cause__, apsw.SQLError)


def _is_of_no_version(path: Path) -> bool:
    """Return True if the header names a file format that SQLite does not know, so that it only reads the file.

    Its versions for writing and reading are bytes 18 and 19, 1 or 2 (https://www.sqlite.org/fileformat.html, 1.3.3).
    """
    with contextlib.suppress(OSError), path.open("rb") as stream:
        return not set(stream.read(20)[18:]) <= {1, 2}
    return False


def _io_error(path: Path, error: apsw.IOError, kind: FileKind) -> StoreError:
    """Return StoreFull for a failed write, which is a full disk or a file size limit (EFBIG): SQLite names neither."""
    writes = {
        apsw.SQLITE_IOERR_WRITE,
        apsw.SQLITE_IOERR_TRUNCATE,
        apsw.SQLITE_IOERR_SHMSIZE,
        apsw.SQLITE_IOERR_FSYNC,
    }
    if getattr(error, "extendedresult", None) in writes:
        return StoreFull(path, f"the {kind.noun} cannot grow", action="free some space or lift the file size limit")
    return StoreError(path, f"the disk reports an error: {error}", action="check the disk")


def make_private(path: Path, *beside: str) -> None:
    """Take a database file from its group and all others; one of another owner stays as it is.

    SQLite gives what it makes beside the file the same permissions.

    Args:
        path: The file.
        beside: Ends of the names of files beside it, which may be there from before.
    """
    if os.name != "posix":
        return
    for file in (path, *(path.with_name(path.name + end) for end in beside)):
        with contextlib.suppress(OSError):
            mode = stat.S_IMODE(file.stat().st_mode)
            if mode & 0o077:
                file.chmod(mode & 0o700)  # by its name: to open and close it would drop SQLite's locks


@contextlib.contextmanager
def closed_on_error(connection: Connection) -> Iterator[Connection]:
    """Yield a connection that was just opened; close it if the block fails."""
    try:
        yield connection
    except BaseException:
        connection.close()
        raise


def open_writer(path: Path, kind: FileKind = INDEX) -> Connection:
    """Open for reading and writing, creating the file (mode 0600) and its folder (0700) where missing.

    Permissions of others on a file that exists are taken away.

    Raises:
        StoreError: See `translate_errors`.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise StoreReadOnly(path, f"its folder cannot be made ({error.strerror})", action=MAKE_WRITABLE) from error
    refuse_inherited(path)
    with translate_errors(path, kind):
        connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE)
        with closed_on_error(connection):
            make_private(path, "-wal", "-shm")
            connection.set_busy_timeout(BUSY_TIMEOUT_MS)
            connection.pragma("page_size", PAGE_SIZE)
            connection.pragma("auto_vacuum", "INCREMENTAL")
            connection.pragma("journal_mode", "wal")
            connection.pragma("synchronous", "NORMAL")
            connection.pragma("foreign_keys", True)
            connection.pragma("cache_size", -16_000 if kind is INDEX else -4_000)
    return connection


def drop_pages(connection: Connection) -> None:
    """Let go of the pages that a change has left in memory, outside a transaction, unless they are few."""
    if connection.status(apsw.SQLITE_DBSTATUS_CACHE_USED)[0] > MOST_CACHED_BYTES:
        connection.execute("PRAGMA shrink_memory").fetchall()


def cut_log(connection: Connection) -> None:
    """Cut off the write-ahead log, but for what a reader still needs: that stays until the next time.

    Args:
        connection: The writing one, outside a transaction.
    """
    connection.set_busy_timeout(READER_PATIENCE_MS)
    try:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    finally:
        connection.set_busy_timeout(BUSY_TIMEOUT_MS)


def open_reader(path: Path, kind: FileKind = INDEX, *, damaged: bool = False) -> Connection:
    """Open an existing file for reading only, also where neither it nor its folder can be written.

    Args:
        path: The file.
        kind: What it should be.
        damaged: Open also one that is shorter than it should be; what is left of it can be read.

    Raises:
        StoreError: See `translate_errors`.
    """
    refuse_inherited(path)
    with translate_errors(path, kind):
        # A WAL database needs its -shm file; where it can be neither found nor made, nobody writes the database either. A full
        # disk has no room for it.
        try:
            return _open_reading(path, "mode=ro", damaged=damaged)
        except (apsw.CantOpenError, apsw.ReadOnlyError, apsw.FullError, apsw.IOError):
            return _open_reading(path, "mode=ro&immutable=1", damaged=damaged)


def _open_reading(path: Path, parameters: str, *, damaged: bool) -> Connection:
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    with closed_on_error(apsw.Connection(f"file:{quote(str(path))}?{parameters}", flags=flags)) as connection:
        connection.set_busy_timeout(BUSY_TIMEOUT_MS)
        connection.pragma("query_only", True)
        if damaged:
            connection.pragma("writable_schema", True)  # SQLite then does not compare the size with the header
        connection.pragma("schema_version")
        return connection


def load_tokenizer(connection: Connection) -> Tokenize:
    """Return the keyword index's own stemmer: from UTF-8 text to its stems, in order."""
    porter = connection.fts5_tokenizer("porter", list(TOKENIZER))

    def tokenize(text: bytes) -> list[str]:
        stems = porter(text, apsw.FTS5_TOKENIZE_DOCUMENT, None, include_offsets=False, include_colocated=False)
        return cast("list[str]", stems)

    return tokenize


def open_tokenizer() -> Tokenize:
    """Return the same stemmer without an index file, for a store that is not SQLite; one for each thread."""
    refuse_inherited(Path(":memory:"))
    return load_tokenizer(apsw.Connection(":memory:"))


def load_vec0(connection: Connection, extension_path: str | None) -> str | None:
    """Load sqlite-vec; return None when it is loaded, else the reason why not, with what to do."""
    if extension_path:
        library = Path(extension_path).expanduser()
        if not library.exists():
            return f"{library} does not exist: correct memorySearch.store.vector.extensionPath, or leave it out"
    else:
        spec = find_spec("sqlite_vec")  # whose import would pull numpy, 120 ms
        if spec is None or spec.origin is None:
            return "sqlite-vec is not installed: pip install sqlite-vec"
        library = Path(spec.origin).with_name("vec0")  # to which SQLite adds the ending of this system
    try:
        connection.enable_load_extension(True)
        connection.load_extension(str(library))
    except apsw.Error as error:
        return f"{library.name} cannot be loaded ({error}): use the sqlite-vec build for this machine"
    finally:
        connection.enable_load_extension(False)
    return None
