"""Database files on disk: what is read of them beside SQLite's own connections."""

from __future__ import annotations

import subprocess
import sys
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from memory_core.stores.sqlite.connections import MOST_CACHED_BYTES, drop_pages, open_reader, open_writer
from memory_core.stores.sqlite.files import read_header

# SQLite's lock of a reader: https://www.sqlite.org/src/file/src/os.h (SHARED_FIRST, SHARED_SIZE)
_TAKE_READERS_LOCK = """
import fcntl, sys
with open(sys.argv[1], "r+b") as file:
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 510, 0x40000002)
    except OSError:
        print("held")
"""


def is_locked(path: Path) -> bool:
    done = subprocess.run(
        [sys.executable, "-c", _TAKE_READERS_LOCK, str(path)], capture_output=True, text=True, check=True, timeout=60
    )
    return done.stdout == "held\n"


@pytest.mark.skipif(sys.platform == "win32", reason="locks there belong to a descriptor")
def test_a_look_at_the_header_keeps_the_locks_of_connections(tmp_path: Path) -> None:
    path = tmp_path / "index.sqlite"
    with closing(open_writer(path)) as writer:
        writer.execute("CREATE TABLE notes (path)")
        with closing(open_reader(path)) as reader:
            assert reader.execute("SELECT count(*) FROM notes").get == 0
            assert is_locked(path)
            assert read_header(path)
            assert is_locked(path)
    assert not is_locked(path)


def test_the_header_of_a_file_behind_a_link(tmp_path: Path) -> None:
    path, link = tmp_path / "index?.sqlite", tmp_path / "link.sqlite"
    with closing(open_writer(path)) as writer:
        writer.execute("CREATE TABLE notes (path)")
    link.symlink_to(path)
    assert len(read_header(link)) == 100
    assert read_header(link) == read_header(path) == path.read_bytes()[:100]


def test_a_short_file_has_a_short_header(tmp_path: Path) -> None:
    (tmp_path / "short").write_bytes(b"abc")
    (tmp_path / "zeros").write_bytes(bytes(7))
    (tmp_path / "zero").write_bytes(b"\0")
    (tmp_path / "empty").touch()
    found = [read_header(tmp_path / name) for name in ("short", "zeros", "zero", "empty", "none", ".")]
    assert found == [b"abc", bytes(7), bytes(1), b"", b"", b""]


def test_pages_that_a_large_change_has_left_in_memory_are_let_go_of_and_few_are_not(tmp_path: Path) -> None:
    def used() -> int:
        return int(writer.status(apsw.SQLITE_DBSTATUS_CACHE_USED)[0])

    with closing(open_writer(tmp_path / "index.sqlite")) as writer:
        writer.execute("CREATE TABLE rows (value BLOB)")
        for count in (10, 1200):
            with writer:
                writer.executemany("INSERT INTO rows VALUES (zeroblob(?))", [(6000,)] * count)
            before = used()
            drop_pages(writer)
            assert (used() < before) == (before > MOST_CACHED_BYTES)
        assert before > MOST_CACHED_BYTES
        assert used() < 100_000
