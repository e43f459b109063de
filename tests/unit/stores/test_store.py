"""The index file: transactions, readers beside a writer, files of others, newer, older, damaged, deleted or full."""

from __future__ import annotations

import sqlite3
import threading
from array import array
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_core.errors import NotIndexed, StoreCorrupt, StoreFull, StoreReadOnly, StoreTooNew
from memory_core.records import Chunk, FileStamp, MemoryFile, Space, Unit
from memory_core.stores.sqlite.connections import INDEX, load_tokenizer
from memory_core.stores.sqlite.encoding import pack_units, unpack_units
from memory_core.stores.sqlite.files import read_header
from memory_core.stores.sqlite.store import SqliteStore
from memory_core.stores.sqlite.upkeep import OLDER
from memory_core.stores.values import PreparedChunk, PreparedFile, ServingSpace, digest

SPACE = Space(provider="fake", model="m", dimensions=2)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    made = SqliteStore(tmp_path / "deep" / "main.sqlite")
    yield made
    made.close()


def prepared(text: str, *, path: str = "MEMORY.md", line: int = 1) -> PreparedFile:
    chunk = PreparedChunk(Chunk(line, line + text.count("\n"), 0, "", text))
    file = MemoryFile(source="memory", path=path, real_path=Path("/", path), stamp=FileStamp(1, 1))
    return PreparedFile(file=file, hash=digest(text), stamp=FileStamp(1, 1), date=None, chunks=(chunk,))


def put(store: SqliteStore, text: str) -> None:
    with store.write() as writer:
        writer.put_files([prepared(text)])


def texts(store: SqliteStore) -> list[str]:
    with store.database.read() as connection:
        return [row[0] for row in connection.execute("SELECT text FROM chunks ORDER BY id")]


def test_making_one_touches_nothing(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "deep" / "main.sqlite")
    assert not store.database.exists()
    with pytest.raises(NotIndexed, match="nothing is indexed yet"), store.database.read():
        pass
    store.close()
    assert list(tmp_path.iterdir()) == []


def test_its_folder_is_private(store: SqliteStore) -> None:
    put(store, "fence")
    store.close()
    assert store.path.parent.stat().st_mode & 0o777 == 0o700
    assert read_header(store.path)[68:72] == b"MEMC"


def test_a_transaction_that_fails_leaves_nothing(store: SqliteStore) -> None:
    put(store, "fence")
    with pytest.raises(ZeroDivisionError), store.write() as writer:
        writer.save_state(last_sync=float(writer.put_files([prepared("gate")]) or 0) / 0)
    assert texts(store) == ["fence"]
    put(store, "gate")
    assert texts(store) == ["gate"]


def test_a_reader_sees_one_moment(store: SqliteStore) -> None:
    put(store, "fence")
    with store.database.read() as connection:
        assert connection.execute("SELECT text FROM chunks").get == "fence"
        put(store, "gate")
        assert connection.execute("SELECT text FROM chunks").get == "fence"
    assert texts(store) == ["gate"]


def test_readers_never_fail_beside_a_writer(store: SqliteStore) -> None:
    put(store, "text 0")
    done, problems = threading.Event(), []

    def read() -> None:
        try:
            while not done.is_set():
                assert len(texts(store)) == 1
        except BaseException as error:  # noqa: BLE001 -- shown by the assertion below
            problems.append(error)

    readers = [threading.Thread(target=read) for _ in range(4)]
    for reader in readers:
        reader.start()
    for number in range(100):
        put(store, f"text {number}")
    done.set()
    for reader in readers:
        reader.join()
    assert problems == []


def test_only_content_makes_readers_load_anew(store: SqliteStore) -> None:
    put(store, "fence")
    first = generation(store)
    with store.write() as writer:
        writer.save_state(last_sync=1.0)
    assert generation(store) == first
    put(store, "gate")
    assert generation(store) != first


def generation(store: SqliteStore) -> str:
    with store.database.read() as connection:
        return str(connection.execute("SELECT value FROM meta WHERE key = 'generation'").get)


def test_meta_is_set_and_removed(store: SqliteStore) -> None:
    with store.write() as writer:
        writer.save_state(serving=writer.add_space(SPACE))
        assert writer.load_serving_space() == ServingSpace(writer.add_space(SPACE), SPACE)
    with store.read() as reader:
        assert reader.load_serving_space() == ServingSpace(1, SPACE)
    with store.write() as writer:
        writer.save_state(serving=None)
        assert writer.load_serving_space() is None


def test_closing_twice_and_going_on(store: SqliteStore) -> None:
    put(store, "fence")
    store.close()
    store.close()
    assert texts(store) == ["fence"]


def test_chunks_that_stand_keep_their_row_and_take_their_new_lines(store: SqliteStore) -> None:
    one, two, three = (prepared(text).chunks[0] for text in ("one", "two", "three"))
    file = prepared("one")
    with store.write() as writer:
        writer.put_files([_with(file, one, two)])
    with store.write() as writer:
        writer.put_files([_with(file, three, _moved(one, 2), two)])
    with store.database.read() as connection:
        rows = connection.execute("SELECT id, start_line, text FROM chunks ORDER BY start_line, id").fetchall()
        found = connection.execute("SELECT rowid FROM chunks_fts WHERE chunks_fts MATCH 'one'").fetchall()
    assert sorted(rows) == [(1, 2, "one"), (2, 1, "two"), (3, 1, "three")]
    assert found == [(1,)]


class _Uncut(PreparedChunk):
    """A chunk that must not be cut into units."""

    @property
    def units(self) -> tuple[Unit, ...]:
        raise AssertionError(self.chunk.text)


def test_a_chunk_that_stands_is_not_cut_into_units_again(store: SqliteStore) -> None:
    stays, comes = (PreparedChunk(Chunk(line, line, 0, "", text)) for line, text in ((1, "one two"), (2, "three")))
    with store.write() as writer:
        writer.put_files([_with(prepared("f"), stays)])
    with store.write() as writer:
        assert writer.put_files([_with(prepared("f"), _Uncut(stays.chunk), comes)]) == 2
        assert [chunk.units for chunk in writer.load_chunks([2])] == [[Unit(0, 5, 0, 0)]]


def _with(file: PreparedFile, *chunks: PreparedChunk) -> PreparedFile:
    return PreparedFile(file=file.file, hash=b"x", stamp=FileStamp(1, 1), date=None, chunks=chunks)


def _moved(item: PreparedChunk, line: int) -> PreparedChunk:
    chunk = item.chunk
    return PreparedChunk(Chunk(line, line, 0, chunk.context, chunk.text))


def test_equal_chunks_of_one_file_are_each_held(store: SqliteStore) -> None:
    item = prepared("same").chunks[0]
    for chunks in ([item, _moved(item, 5)], [item], [item, _moved(item, 7), _moved(item, 9)]):
        with store.write() as writer:
            writer.put_files([_with(prepared("same"), *chunks)])
        assert texts(store) == ["same"] * len(chunks)


def test_dropped_files_leave_no_posting(store: SqliteStore) -> None:
    put(store, "fence")
    with store.write() as writer:
        writer.drop_files([1])
    with store.database.read() as connection:
        for table in ("files", "chunks", "windows", "chunks_fts", "chunks_terms"):
            assert not connection.execute(f"SELECT count(*) FROM {table}").get


def test_files_that_change_together_keep_only_what_they_hold(store: SqliteStore) -> None:
    files = [prepared(text, path=f"memory/{text}.md") for text in ("gate", "fence", "pier", "crane")]
    with store.write() as writer:
        assert writer.put_files(files) == 1
    with store.write() as writer:
        writer.put_files([_with(file, prepared(f"new {number}").chunks[0]) for number, file in enumerate(files)])
        writer.drop_files([1, 3])
    assert sorted(texts(store)) == ["new 1", "new 3"]
    with store.database.read() as connection:
        found = connection.execute(
            "SELECT rowid FROM chunks_fts WHERE chunks_fts MATCH 'gate OR fence OR new'"
        ).fetchall()
        assert sorted(found) == connection.execute("SELECT id FROM chunks ORDER BY id").fetchall()


def test_text_that_is_no_text_is_held_all_the_same(store: SqliteStore) -> None:
    put(store, "lone \ud800 surrogate")
    assert texts(store) == ["lone \N{REPLACEMENT CHARACTER} surrogate"]


@given(st.lists(st.builds(Unit, *[st.integers(0, 2**31 - 1)] * 4)))
def test_units_are_packed_and_unpacked(units: list[Unit]) -> None:
    assert unpack_units(pack_units(units)) == units
    assert array("i").itemsize == 4


def test_the_stemmer_is_the_index_s_own(store: SqliteStore) -> None:
    put(store, "fence")
    with store.database.read() as connection:
        assert load_tokenizer(connection)("Databases rénové 盐田".encode()) == ["databas", "renov", "盐田"]


# Files that are not as they should be.


def other_program(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE theirs (x)")


def no_database(path: Path) -> None:
    path.write_text("dear diary, " * 100)


def newer(path: Path) -> None:
    with closing(apsw.Connection(str(path))) as db:
        db.pragma("application_id", INDEX.application_id)
        db.pragma("user_version", OLDER + 2)


@pytest.mark.parametrize(
    ("make", "error"),
    [(other_program, StoreCorrupt), (no_database, StoreCorrupt), (newer, StoreTooNew)],
    ids=["of another program", "no database", "newer"],
)
def test_files_that_are_not_ours_are_refused_and_never_touched(
    make: Callable[[Path], None], error: type[Exception], tmp_path: Path
) -> None:
    path = tmp_path / "main.sqlite"
    make(path)
    before = path.read_bytes()
    store = SqliteStore(path)
    with pytest.raises(error) as read, store.database.read():
        pass
    with pytest.raises(error) as write, store.database.write():
        pass
    assert str(path) in str(read.value)
    assert getattr(write.value, "action", "")
    if error is StoreTooNew:
        with pytest.raises(StoreTooNew):
            store.repair()
    else:
        assert store.repair() is None
    store.close()
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["main.sqlite"]


def test_an_empty_file_is_made_an_index(tmp_path: Path) -> None:
    (tmp_path / "main.sqlite").touch()
    with pytest.raises(NotIndexed), SqliteStore(tmp_path / "main.sqlite", writable=False).read():
        pass
    store = SqliteStore(tmp_path / "main.sqlite")
    assert texts(store) == []
    store.close()


def test_a_damaged_index_is_named_and_rebuilt_on_demand(store: SqliteStore) -> None:
    for number in range(50):
        put(store, f"fence {number} " * 500)
    store.close()
    damaged = bytearray(store.path.read_bytes())
    damaged[8192:] = b"\xff" * (len(damaged) - 8192)
    store.path.write_bytes(damaged)
    with pytest.raises(StoreCorrupt) as error:
        texts(store)
    assert "memory-core index" in error.value.action
    assert store.repair()
    assert not store.database.exists()
    put(store, "fence")
    assert texts(store) == ["fence"]
    assert store.repair() is None
    assert texts(store) == ["fence"]


def test_a_full_disk_is_named_and_what_was_committed_stays(store: SqliteStore) -> None:
    put(store, "fence")
    with store.database.maintain() as connection:
        connection.pragma("max_page_count", int(connection.pragma("page_count")) + 2)
    with pytest.raises(StoreFull), store.write() as writer:
        writer.put_files([prepared("x" * 100_000, path="memory/large.md")])
    assert texts(store) == ["fence"]
    put(store, "gate")
    assert texts(store) == ["gate"]


def test_a_reading_store_writes_nothing(store: SqliteStore) -> None:
    put(store, "fence")
    reading = SqliteStore(store.path, writable=False)
    assert texts(reading) == ["fence"]
    with pytest.raises(StoreReadOnly), reading.database.read() as connection:
        connection.execute("DELETE FROM chunks")
    assert reading.repair() is None
    reading.close()
    assert texts(store) == ["fence"]


def test_an_index_deleted_by_its_user_is_seen_to_be_gone(store: SqliteStore) -> None:
    put(store, "fence")
    assert texts(store) == ["fence"]
    delete(store.path)
    with pytest.raises(NotIndexed):
        texts(store)
    put(store, "gate")
    assert texts(store) == ["gate"]


def test_an_index_rebuilt_by_another_process_is_taken_up(store: SqliteStore) -> None:
    put(store, "fence")
    assert texts(store) == ["fence"]
    first = generation(store)
    delete(store.path)
    other = SqliteStore(store.path)
    put(other, "gate")
    assert texts(store) == ["gate"]
    assert generation(store) != first  # or readers would go on with what they keep in memory
    put(store, "door")
    assert texts(other) == ["door"]
    other.close()


def test_a_reading_that_began_on_a_deleted_index_ends_on_it(store: SqliteStore) -> None:
    put(store, "fence")
    with store.database.read() as connection:
        delete(store.path)
        put(store, "gate")
        assert texts(store) == ["gate"]
        assert connection.execute("SELECT text FROM chunks").get == "fence"
    assert texts(store) == ["gate"]


def delete(path: Path) -> None:
    for file in path.parent.glob(f"{path.name}*"):
        file.unlink()
