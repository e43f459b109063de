"""Reading connections that are kept for the next reader, and those that are closed."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import apsw
import pytest

from memory_core.stores.sqlite.connections import INDEX
from memory_core.stores.sqlite.database import MOST_IDLE, Database

MIGRATIONS = ("CREATE TABLE notes (text TEXT)",)


@pytest.fixture
def pool(tmp_path: Path) -> Iterator[Database]:
    made = Database(tmp_path / "index.sqlite", INDEX, MIGRATIONS)
    with made.maintain():
        pass
    yield made
    made.close()


def read_at_once(pool: Database, count: int) -> list[int]:
    """Let some readers read at the same time; return which connections they had."""
    with ExitStack() as stack:
        return [id(stack.enter_context(pool.read())) for _ in range(count)]


def count_open(pool: Database) -> int:
    """Open connections to the file of a pool."""
    return sum(each.db_filename("main") == str(pool.path) for each in apsw.connections())


def test_the_connection_that_was_used_last_is_used_next(pool: Database) -> None:
    first = read_at_once(pool, 3)
    assert len({*first}) == 3
    for _ in range(5):
        assert read_at_once(pool, 1) == first[:1]  # the stack gives it back last


def test_more_connections_than_are_kept_are_closed_and_all_at_rest(pool: Database) -> None:
    none = count_open(pool)
    read_at_once(pool, 1)
    one = count_open(pool) - none
    read_at_once(pool, MOST_IDLE + 3)
    assert count_open(pool) - none == MOST_IDLE * one
    pool.rest()
    assert count_open(pool) == 0


def test_a_connection_that_is_in_use_at_rest_is_closed_when_it_comes_back(pool: Database) -> None:
    with pool.read() as connection:
        pool.rest()
        assert connection.execute("SELECT count(*) FROM notes").get == 0
    assert count_open(pool) == 0


def test_connections_that_are_needed_at_once_again_and_again_stay(pool: Database) -> None:
    first = {*read_at_once(pool, 3)}
    for _ in range(10):
        assert {*read_at_once(pool, 3)} == first


def test_readers_of_several_threads_share_what_is_kept(pool: Database) -> None:
    def read(_: int) -> None:
        with pool.read() as connection:
            assert connection.execute("SELECT count(*) FROM notes").get == 0

    with ThreadPoolExecutor(4) as threads:
        assert [*threads.map(read, range(800))] == [None] * 800
