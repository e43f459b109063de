"""Damaged files of user data: how they are damaged, and the name under which they are set aside."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Sequence
from pathlib import Path

from memory_core.errors import StoreCorrupt, StoreError, StoreReadOnly
from memory_core.stores.sqlite.errors import is_refused_statement, translate_errors
from memory_core.stores.sqlite.kinds import FileKind
from memory_core.stores.sqlite.opening import open_reader
from memory_core.stores.sqlite.schema import check_version, find_wrong_table

ASIDE = ".damaged"  # and the time behind it: what was set aside before is kept, since nothing can make it anew


def find_damage(path: Path, kind: FileKind, migrations: Sequence[str]) -> str | None:
    """Return how a file is damaged, in a few words; None if it is sound, empty or missing.

    Raises:
        StoreError: It cannot be read for another reason.
    """
    try:
        if not path.stat().st_size:
            return None
    except OSError:
        return None
    try:
        with contextlib.closing(open_reader(path, kind)) as connection, translate_errors(path, kind):
            version = check_version(connection, path, len(migrations), kind)
            found = str(connection.execute("PRAGMA quick_check(1)").get)
            wrong = find_wrong_table(connection, migrations[:version])
    except StoreCorrupt as error:
        return error.reason
    except StoreError as error:
        if not is_refused_statement(error):
            raise
        return error.reason
    if found != "ok":
        return found.splitlines()[-1]
    return wrong


def set_aside(path: Path) -> Path:
    """Rename a damaged file and its side files; return the new name.

    Raises:
        StoreReadOnly: It cannot be renamed.
    """
    stamp = time.strftime("%Y%m%d-%H%M%S")
    names = (Path(f"{path}{ASIDE}-{stamp}{suffix}") for suffix in ("", *(f"-{number}" for number in range(1, 100))))
    aside = next(name for name in names if not name.exists())
    try:
        os.replace(path, aside)  # noqa: PTH105 -- beside the others
        for suffix in ("-wal", "-shm"):
            with contextlib.suppress(FileNotFoundError):
                os.replace(f"{path}{suffix}", f"{aside}{suffix}")  # noqa: PTH105
    except OSError as error:
        raise StoreReadOnly(
            path, f"it is damaged and cannot be moved aside ({error.strerror})", action=f"move {path} elsewhere"
        ) from error
    return aside
