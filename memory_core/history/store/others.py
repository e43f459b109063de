"""Files of other agents: whether a text stands in any row of a database file, whatever its tables are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import cast

from memory_core.errors import StoreCorrupt
from memory_core.stores.sqlite import INDEX, REBUILD, Connection, exists, open_reader, translate_errors
from memory_core.text.packing import unpack


def find_in_rows(path: Path, holds: Callable[[str], bool]) -> bool:
    """Return True if a text of any table of a database file meets a condition; False where there is no file.

    Raises:
        StoreError: The file cannot be read.
    """
    if not exists(path):
        return False
    with closing(open_reader(path)) as connection, translate_errors(path, INDEX):
        try:
            return any(map(holds, _iterate_texts(connection)))
        except ValueError as error:
            raise StoreCorrupt(path, f"the index is damaged: {error}", action=REBUILD) from error


def _iterate_texts(connection: Connection) -> Iterator[str]:
    """Yield all texts of the tables that are no virtual ones."""
    columns = connection.execute(
        "SELECT t.name, group_concat('\"' || c.name || '\"') FROM sqlite_schema t, pragma_table_info(t.name) c"
        " WHERE t.type = 'table' AND t.rootpage > 0 AND t.name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND c.type = 'TEXT' GROUP BY 1"
    ).fetchall()
    for table, names in columns:
        for row in connection.execute(f'SELECT {names} FROM "{table}"'):
            yield from (text for text in row if isinstance(text, str))
    yield from _iterate_packed(connection)


def _iterate_packed(connection: Connection) -> Iterator[str]:
    """Yield the texts that an index holds packed, and the words with which they are."""
    columns = connection.execute(
        "SELECT t.name FROM sqlite_schema t, pragma_table_info(t.name) c WHERE t.type = 'table' AND c.name = 'packed'"
    ).fetchall()
    for (table,) in columns:
        words = cast("bytes | None", connection.execute("SELECT entries FROM codebooks WHERE kind = 'words'").get)
        if words is not None:
            yield words.decode(errors="replace")
            for (packed,) in connection.execute(f'SELECT packed FROM "{table}" WHERE packed IS NOT NULL'):
                yield unpack(packed, words)
