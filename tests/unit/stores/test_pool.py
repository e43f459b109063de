"""Reading connections that are kept for the next reader, and those that are closed."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import apsw
import pytest

from memory_core.stores.sqlite.connections import INDEX
from memory_core.stores.sqlite.database import SPARE_SECONDS, Database

MIGRATIONS = ("CREATE TABLE notes (text TEXT)",)


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def pool(tmp_path: Path, clock: Clock) -> Iterator[Database]:
    made = Database(tmp_path / "index.sqlite", INDEX, MIGRATIONS, clock=clock)
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


def test_the_connection_that_was_used_last_is_used_next(pool: Database, clock: Clock) -> None:
    first = read_at_once(pool, 3)
    assert len({*first}) == 3
    for _ in range(5):
        clock.now += SPARE_SECONDS / 2
        assert read_at_once(pool, 1) == first[:1]  # the stack gives it back last


def test_connections_that_are_seldom_needed_are_closed(pool: Database, clock: Clock) -> None:
    read_at_once(pool, 1)
    one = count_open(pool)
    read_at_once(pool, 4)
    four = count_open(pool)
    assert four > one
    clock.now += SPARE_SECONDS
    read_at_once(pool, 1)
    assert count_open(pool) == four
    clock.now += 0.1
    read_at_once(pool, 1)
    assert count_open(pool) == one


def test_connections_that_are_needed_at_once_again_and_again_stay(pool: Database, clock: Clock) -> None:
    first = {*read_at_once(pool, 3)}
    for _ in range(10):
        clock.now += SPARE_SECONDS
        assert {*read_at_once(pool, 3)} == first


def test_readers_of_several_threads_share_what_is_kept(pool: Database, clock: Clock) -> None:
    def read(_: int) -> None:
        clock.now += SPARE_SECONDS / 3
        with pool.read() as connection:
            assert connection.execute("SELECT count(*) FROM notes").get == 0

    with ThreadPoolExecutor(4) as threads:
        assert [*threads.map(read, range(800))] == [None] * 800
