"""Transactions, and the numbered migrations of a file; its `user_version` is the number of those it has had."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import cast

from memory_core.errors import StoreCorrupt, StoreTooNew
from memory_core.stores.sqlite import driver
from memory_core.stores.sqlite.driver import Connection
from memory_core.stores.sqlite.errors import translate_errors
from memory_core.stores.sqlite.files import find_foreign_size
from memory_core.stores.sqlite.kinds import INDEX, FileKind

MOST_NEWER = 100  # migrations that a newer version may have had; a number beyond is none


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
            with contextlib.suppress(driver.apsw.Error):  # SQLite has rolled back by itself after some errors
                connection.execute("ROLLBACK")
            raise


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


def find_wrong_table(connection: Connection, migrations: Sequence[str]) -> str | None:
    """Return how the tables of a file differ from those that some migrations make, in a few words; None if they don't.

    A flipped bit in the text of a table's definition leaves a sound file with a table, or a column, that nothing asks for.

    Args:
        connection: Of the file.
        migrations: Those that the file has had.

    Raises:
        apsw.Error: SQLite refuses to read a table.
    """
    with contextlib.closing(driver.apsw.Connection(":memory:")) as model:
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
