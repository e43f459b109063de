"""The tables that a rebuild fills beside those that serve, and the switch to them.

A rebuild of a large index takes seconds. Filled in bounded transactions under other names, it holds up nobody; the switch
drops the old tables and renames the new ones in one transaction. Embeddings are not part of it: they are keyed by content.
(A vec0 table could not be renamed, and need not be: its rows are keyed by embedding.)
"""

from __future__ import annotations

import re

from memory_core.store.connection import Connection
from memory_core.store.rows import NEXT

_TABLES = ("files", "chunks", "windows", "chunks_fts")  # what is referred to comes before what refers to it


def discard(connection: Connection) -> None:
    """Drop what a rebuild that was stopped has left, inside a transaction."""
    for table in reversed(_TABLES):
        connection.execute(f"DROP TABLE IF EXISTS {NEXT}{table}")


def start(connection: Connection) -> None:
    """Make empty tables like those that serve, inside a transaction."""
    discard(connection)
    for table in _TABLES:
        sql = str(connection.execute("SELECT sql FROM sqlite_schema WHERE name = ?", (table,)).get)
        connection.execute(_renamed(sql))
    rows = connection.execute(
        "SELECT name, sql FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL AND tbl_name IN (?, ?, ?)",
        _TABLES[:3],
    ).fetchall()
    for name, index_sql in rows:
        # An index keeps its name when its table is renamed, so the two generations alternate between two names.
        other = str(name).removesuffix("_2") if str(name).endswith("_2") else f"{name}_2"
        connection.execute(_renamed(str(index_sql)).replace(str(name), other, 1))


def switch(connection: Connection) -> None:
    """Let the new tables serve, inside a transaction."""
    for table in reversed(_TABLES):
        connection.execute(f"DROP TABLE {table}")
    for table in _TABLES:
        connection.execute(f"ALTER TABLE {NEXT}{table} RENAME TO {table}")


def _renamed(sql: str) -> str:
    """A CREATE statement for the rebuild's tables: every name of a table that it makes, indexes or refers to."""
    names = "|".join(_TABLES)
    return re.sub(rf'(TABLE|ON|REFERENCES) "?({names})"?(?=[\s(])', rf"\1 {NEXT}\2", sql)
