"""The tables that a rebuild fills beside those that serve, and the switch to them.

A rebuild of a large index takes seconds. Filled in bounded transactions under other names, it holds up nobody; the switch
drops the old tables and renames the new ones in one transaction. Embeddings are not part of it: they are keyed by content.
"""

from __future__ import annotations

import re

from memory_core.stores.sqlite import Connection

PREFIX = "next_"  # before the names of the tables
_TABLES = (
    "files",
    "chunks",
    "windows",
    "chunks_fts",
    "word_forms",
)  # referenced tables come before those that refer to them


def has_leftovers(connection: Connection) -> bool:
    """Return True if a rebuild that was stopped has left tables."""
    query = "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = ?)"
    return bool(connection.execute(query, (f"{PREFIX}{_TABLES[0]}",)).get)


def discard(connection: Connection) -> None:
    """Drop the tables of a rebuild that was stopped, inside a transaction."""
    for table in reversed(_TABLES):
        connection.execute(f"DROP TABLE IF EXISTS {PREFIX}{table}")


def begin(connection: Connection) -> None:
    """Make empty tables like those that serve, inside a transaction."""
    discard(connection)
    for table in _TABLES:
        sql = str(connection.execute("SELECT sql FROM sqlite_schema WHERE name = ?", (table,)).get)
        connection.execute(_rename_tables(sql))
    rows = connection.execute(
        "SELECT name, sql FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL AND tbl_name IN (?, ?, ?)",
        _TABLES[:3],
    ).fetchall()
    for name, index_sql in rows:
        # An index keeps its name when its table is renamed, so the two generations alternate between two names.
        other = str(name).removesuffix("_2") if str(name).endswith("_2") else f"{name}_2"
        connection.execute(_rename_tables(str(index_sql)).replace(str(name), other, 1))


def switch(connection: Connection) -> None:
    """Let the new tables serve, inside a transaction."""
    for table in reversed(_TABLES):
        connection.execute(f"DROP TABLE {table}")
    for table in _TABLES:
        connection.execute(f"ALTER TABLE {PREFIX}{table} RENAME TO {table}")


def _rename_tables(sql: str) -> str:
    """Put the prefix before every table that a CREATE statement makes, indexes or refers to."""
    names = "|".join(_TABLES)
    return re.sub(rf'(TABLE|ON|REFERENCES) "?({names})"?(?=[\s(])', rf"\1 {PREFIX}\2", sql)
