"""Questions to a file that may not be there yet, and the values that it holds once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from memory_core.errors import StoreCorrupt
from memory_core.stores.sqlite.connections import INDEX, Connection
from memory_core.stores.sqlite.database import Database, get_meta, set_meta

MIGRATIONS = ("CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID",)


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    made = Database(tmp_path / "some.sqlite", INDEX, MIGRATIONS)
    yield made
    made.close()


def load(connection: Connection) -> str:
    return get_meta(connection, "seen") or "unset"


def test_a_question_without_a_file_has_the_other_answer_and_makes_no_file(database: Database) -> None:
    assert database.ask(load, "nothing") == "nothing"
    assert not database.exists()


def test_a_value_is_set_replaced_and_removed(database: Database) -> None:
    answers = []
    for value in ("one", "two", None, None):
        with database.write() as connection:
            set_meta(connection, "other", "stays")
            set_meta(connection, "seen", value)
        answers.append(database.ask(load, "nothing"))

    assert answers == ["one", "two", "unset", "unset"]
    assert database.ask(lambda connection: get_meta(connection, "other"), None) == "stays"


def test_a_question_to_a_file_of_another_program_is_an_error(database: Database) -> None:
    database.path.write_bytes(b"not a database at all" * 100)

    with pytest.raises(StoreCorrupt):
        database.ask(load, "nothing")
