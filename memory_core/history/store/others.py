"""Files of other agents: whether a text stands in any row of a database file, whatever its tables are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

from memory_core.sqlite import INDEX, Connection, exists, open_reader, translate_errors


def find_in_rows(path: Path, holds: Callable[[str], bool]) -> bool:
    """Return True if a text of any table of a database file meets a condition; False where there is no file.

    Raises:
        StoreError: The file cannot be read.
    """
    if not exists(path):
        return False
    with closing(open_reader(path)) as connection, translate_errors(path, INDEX):
        return any(map(holds, _iterate_texts(connection)))


def _iterate_texts(connection: Connection) -> Iterator[str]:
    """Yield all texts of the tables that are no virtual ones."""
    columns = connection.execute(
        "SELECT t.name, group_concat('\"' || c.name || '\"') FROM sqlite_schema t, pragma_table_info(t.name) c"
        " WHERE t.type = 'table' AND t.rootpage > 0 AND t.name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND c.type = 'TEXT' GROUP BY 1"
    ).fetchall()
    for table, names in columns:
        for row in connection.execute(f'SELECT {names} FROM "{table}"'):
            yield from (text for text in row if isinstance(text, str))
