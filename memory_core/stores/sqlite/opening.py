"""Connections to database files, for reading or for writing."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

from memory_core.errors import StoreReadOnly
from memory_core.stores.sqlite import driver
from memory_core.stores.sqlite.driver import Connection
from memory_core.stores.sqlite.errors import translate_errors
from memory_core.stores.sqlite.files import make_private
from memory_core.stores.sqlite.kinds import INDEX, FileKind

PAGE_SIZE = 8192  # holds a 384-dimension BLOB table at 1.07 times its payload; 4096 takes 1.34
MOST_CACHED_BYTES = 512 * 1024  # of pages that a writing connection keeps between syncs
BUSY_TIMEOUT_MS = 5000
READER_PATIENCE_MS = 100  # for searches to end; one of a process that stands still does not


def open_writer(path: Path, kind: FileKind = INDEX) -> Connection:
    """Open for reading and writing, creating the file (mode 0600) and its folder (0700) where missing.

    Permissions of others on a file that exists are taken away.

    Raises:
        StoreError: See `translate_errors`.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        action = f"make it writable, or {kind.elsewhere}"
        raise StoreReadOnly(path, f"its folder cannot be made ({error.strerror})", action=action) from error
    driver.refuse_inherited(path)
    with translate_errors(path, kind):
        connection = driver.apsw.Connection(
            str(path), flags=driver.apsw.SQLITE_OPEN_READWRITE | driver.apsw.SQLITE_OPEN_CREATE
        )
        try:
            make_private(path, "-wal", "-shm")
            connection.set_busy_timeout(BUSY_TIMEOUT_MS)
            connection.pragma("page_size", PAGE_SIZE)
            connection.pragma("auto_vacuum", "INCREMENTAL")
            connection.pragma("journal_mode", "wal")
            connection.pragma("synchronous", "NORMAL")
            connection.pragma("foreign_keys", True)
            connection.pragma("cache_size", -16_000 if kind is INDEX else -4_000)
        except BaseException:
            connection.close()
            raise
    return connection


def drop_pages(connection: Connection) -> None:
    """Let go of the pages that a change has left in memory, outside a transaction, unless they are few."""
    if connection.status(driver.apsw.SQLITE_DBSTATUS_CACHE_USED)[0] > MOST_CACHED_BYTES:
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
    driver.refuse_inherited(path)
    with translate_errors(path, kind):
        # A WAL database needs its -shm file; where it can be neither found nor made, nobody writes the database either.
        for parameters in ("mode=ro", "mode=ro&immutable=1"):
            connection = driver.apsw.Connection(
                f"file:{quote(str(path))}?{parameters}",
                flags=driver.apsw.SQLITE_OPEN_READONLY | driver.apsw.SQLITE_OPEN_URI,
            )
            try:
                connection.set_busy_timeout(BUSY_TIMEOUT_MS)
                connection.pragma("query_only", True)
                if damaged:
                    connection.pragma("writable_schema", True)  # SQLite then does not compare the size with the header
                connection.pragma("schema_version")
            except (driver.apsw.CantOpenError, driver.apsw.ReadOnlyError):
                connection.close()
                if "immutable" in parameters:
                    raise
            except BaseException:
                connection.close()
                raise
            else:
                return connection
    raise AssertionError("unreachable")
