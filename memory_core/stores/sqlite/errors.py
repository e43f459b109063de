"""SQLite's errors as ours."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from memory_core.errors import StoreCorrupt, StoreError, StoreFull, StoreReadOnly, SyncBusy
from memory_core.stores.sqlite import driver
from memory_core.stores.sqlite.kinds import INDEX, FileKind

WAIT = "try again in a moment"


def _list_meanings(kind: FileKind) -> tuple[tuple[type[driver.apsw.Error], type[StoreError], str, str], ...]:
    """Return for the driver's errors ours, with what is wrong and what to do."""
    foreign = f"delete it if nothing else needs it, or {kind.elsewhere.replace('place', 'file')}"
    elsewhere = f"make it writable, or {kind.elsewhere}"
    return (
        (driver.apsw.NotADBError, StoreCorrupt, f"this is not {kind.article} {kind.noun} of memory-core", foreign),
        (driver.apsw.CorruptError, StoreCorrupt, f"the {kind.noun} is damaged", kind.repair),
        (driver.apsw.FullError, StoreFull, f"no space is left for the {kind.noun}", kind.retry),
        (driver.apsw.ReadOnlyError, StoreReadOnly, f"the {kind.noun} cannot be written", elsewhere),
        (driver.apsw.CantOpenError, StoreReadOnly, f"the {kind.noun} cannot be opened", elsewhere),
        (driver.apsw.PermissionsError, StoreReadOnly, f"the {kind.noun} cannot be opened", elsewhere),
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
    except driver.apsw.BusyError as error:
        raise SyncBusy(f"{path}: another process is writing the {kind.noun}", action=WAIT) from error
    except driver.apsw.IOError as error:
        raise _io_error(path, error, kind) from error
    except driver.apsw.Error as error:
        for theirs, ours, message, action in _list_meanings(kind):
            if isinstance(error, theirs):
                raise ours(path, message, action=action) from error
        raise StoreError(path, f"SQLite says: {error}", action=kind.repair) from error


def is_refused_statement(error: StoreError) -> bool:
    """Return True if SQLite itself refused a statement, as over a lost table of the keyword index.

    It does not blame the disk, a lock, memory or permissions for that, and statements of ours fit our tables.
    """
    return isinstance(error.__cause__, driver.apsw.SQLError)


def _io_error(path: Path, error: driver.apsw.IOError, kind: FileKind) -> StoreError:
    """Return StoreFull for a failed write, which is a full disk or a file size limit (EFBIG): SQLite names neither."""
    codes = driver.apsw
    writes = {
        codes.SQLITE_IOERR_WRITE,
        codes.SQLITE_IOERR_TRUNCATE,
        codes.SQLITE_IOERR_SHMSIZE,
        codes.SQLITE_IOERR_FSYNC,
    }
    if getattr(error, "extendedresult", None) in writes:
        return StoreFull(path, f"the {kind.noun} cannot grow", action="free some space or lift the file size limit")
    return StoreError(path, f"the disk reports an error: {error}", action="check the disk")
