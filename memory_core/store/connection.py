"""Connections to the index file: how they are opened, what SQLite's errors mean to us. The only importer of the driver."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TypeAlias, cast
from urllib.parse import quote

import apsw

from memory_core.errors import StoreCorrupt, StoreError, StoreFull, StoreReadOnly, SyncBusy

Connection: TypeAlias = apsw.Connection
Tokenize: TypeAlias = Callable[[bytes], list[str]]

APPLICATION_ID = 0x4D454D43  # "MEMC"
PAGE_SIZE = 8192  # holds a 384-dimension BLOB table at 1.07 times its payload; 4096 takes 1.34
BUSY_TIMEOUT_MS = 5000
LOCK_POLL_SECONDS = 0.01  # several who wait take turns at it
TOKENIZER = ("unicode61", "remove_diacritics", "2")

_REBUILD = "rebuild it from the notes: memory-core index --force"


def open_writer(path: Path) -> Connection:
    """Open for reading and writing, creating the file and its folder (mode 0700) where missing.

    Raises:
        StoreError: See `translated`.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise StoreReadOnly(path, f"its folder cannot be made ({error.strerror})", action=_ELSEWHERE) from error
    with translated(path):
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
def locked(path: Path, *, wait_seconds: float) -> Iterator[None]:
    """Hold a lock file, which is made when missing and stays empty; the system lets go of it when its owner dies.

    It is an empty database in an exclusive transaction: SQLite locks files on every platform, also between threads.

    Raises:
        SyncBusy: Somebody else holds it.
        StoreReadOnly: It cannot be made or written.
    """
    until = time.monotonic() + wait_seconds

    def goes_on(_attempts: int) -> bool:
        if time.monotonic() >= until:
            return False
        time.sleep(LOCK_POLL_SECONDS)
        return True

    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE)
    except (OSError, apsw.CantOpenError) as error:
        raise StoreReadOnly(path, "the lock of the index cannot be made", action=_ELSEWHERE) from error
    with contextlib.closing(connection):
        if connection.readonly("main"):  # where SQLite would begin a shared transaction without a word
            raise StoreReadOnly(path, "the lock of the index cannot be taken", action=_ELSEWHERE)
        connection.set_busy_handler(goes_on)
        try:
            with translated(path):
                connection.pragma("journal_mode", "MEMORY")  # nothing is written, and so nothing to recover
                connection.execute("BEGIN EXCLUSIVE")
        except SyncBusy as error:
            raise SyncBusy(f"{path}: another process is bringing this index level", action=_WAIT) from error
        yield  # closing the connection rolls back


def open_reader(path: Path) -> Connection:
    """Open an existing file for reading only, also where neither it nor its folder can be written.

    Raises:
        StoreError: See `translated`.
    """
    with translated(path):
        # A WAL database needs its -shm file; where that can be neither found nor made, nobody writes it either.
        for parameters in ("mode=ro", "mode=ro&immutable=1"):
            connection = apsw.Connection(
                f"file:{quote(str(path))}?{parameters}", flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
            )
            try:
                connection.set_busy_timeout(BUSY_TIMEOUT_MS)
                connection.pragma("query_only", True)
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
_ELSEWHERE = "make it writable, or choose another place: memorySearch.store.path"
_MEANINGS: tuple[tuple[type[apsw.Error], type[StoreError], str, str], ...] = (
    (
        apsw.NotADBError,
        StoreCorrupt,
        "this is not an index of memory-core",
        "delete it if nothing else needs it, or choose another file: memorySearch.store.path",
    ),
    (apsw.CorruptError, StoreCorrupt, "the index is damaged", _REBUILD),
    (apsw.FullError, StoreFull, "no space is left for the index", "free some space, then run: memory-core index"),
    (apsw.ReadOnlyError, StoreReadOnly, "the index cannot be written", _ELSEWHERE),
    (apsw.CantOpenError, StoreReadOnly, "the index cannot be opened", _ELSEWHERE),
    (apsw.PermissionsError, StoreReadOnly, "the index cannot be opened", _ELSEWHERE),
)


@contextlib.contextmanager
def translated(path: Path) -> Iterator[None]:
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
        raise SyncBusy(f"{path}: another process is writing the index", action=_WAIT) from error
    except apsw.IOError as error:
        raise _io_error(path, error) from error
    except apsw.Error as error:
        for kind, ours, message, action in _MEANINGS:
            if isinstance(error, kind):
                raise ours(path, message, action=action) from error
        raise StoreError(path, f"SQLite says: {error}", action=_REBUILD) from error


@contextlib.contextmanager
def transaction(connection: Connection, path: Path) -> Iterator[None]:
    """One immediate transaction: committed at the end, rolled back by any error.

    Immediate, because a deferred one that turns to writing fails at once when another writer is ahead, whatever the busy timeout.
    """
    with translated(path):
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            connection.execute("COMMIT")
        except BaseException:
            with contextlib.suppress(apsw.Error):  # SQLite has rolled back by itself after some errors
                connection.execute("ROLLBACK")
            raise


def _io_error(path: Path, error: apsw.IOError) -> StoreError:
    """A write that fails is a full disk or a file size limit (EFBIG); SQLite names neither."""
    writes = {apsw.SQLITE_IOERR_WRITE, apsw.SQLITE_IOERR_TRUNCATE, apsw.SQLITE_IOERR_SHMSIZE, apsw.SQLITE_IOERR_FSYNC}
    if getattr(error, "extendedresult", None) in writes:
        return StoreFull(path, "the index cannot grow", action="free some space or lift the file size limit")
    return StoreError(path, f"the disk reports an error: {error}", action="check the disk")


def is_ours(path: Path) -> bool:
    """Whether the file's header says that memory-core wrote it, damaged or not.

    The application id stands at offset 68 of a SQLite file (https://www.sqlite.org/fileformat.html#the_database_header).
    """
    try:
        with path.open("rb") as file:
            header = file.read(100)
    except OSError:
        return False
    return header.startswith(b"SQLite format 3\x00") and header[68:72] == APPLICATION_ID.to_bytes(4, "big")


def delete_files(path: Path) -> None:
    """Remove an index and its -wal and -shm; nothing else may have it open."""
    for suffix in ("", "-wal", "-shm"):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(f"{path}{suffix}")  # noqa: PTH108 -- a suffix behind the whole name


def tokenizer(connection: Connection) -> Tokenize:
    """The stemmer of the keyword index itself: UTF-8 text -> stems, in order."""
    porter = connection.fts5_tokenizer("porter", list(TOKENIZER))

    def tokenize(text: bytes) -> list[str]:
        stems = porter(text, apsw.FTS5_TOKENIZE_DOCUMENT, None, include_offsets=False, include_colocated=False)
        return cast("list[str]", stems)

    return tokenize


def load_vec0(connection: Connection, extension_path: str | None) -> str | None:
    """Load sqlite-vec; None when it is there now, else the reason why not, with what to do."""
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
    """The library inside the sqlite_vec package, found without importing it (the import pulls numpy, 120 ms)."""
    spec = find_spec("sqlite_vec")
    if spec is None or spec.origin is None:
        return None
    found = sorted(path for path in Path(spec.origin).parent.glob("vec0.*") if path.suffix in {".so", ".dylib", ".dll"})
    return found[0] if found else None
