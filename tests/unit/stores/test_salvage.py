"""Embeddings of a damaged index are saved row by row; those that are not whole are left out."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from memory_core.records import Space
from memory_core.stores.sqlite.files import set_aside
from memory_core.stores.sqlite.store import SqliteStore, read_embeddings
from memory_core.stores.values import EmbeddedWindows

SPACE = Space(provider="openai", model="m", endpoint="e", dimensions=512)
ROWS = 400


def make_rows() -> dict[bytes, bytes]:
    dice = np.random.default_rng(5)
    rows = dice.standard_normal((ROWS, SPACE.dimensions)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return {dice.bytes(16): row.tobytes() for row in rows}


@pytest.fixture
def held() -> dict[bytes, bytes]:
    return make_rows()


def fill(store: SqliteStore, held: dict[bytes, bytes]) -> None:
    rows = np.frombuffer(b"".join(held.values()), dtype="<f4").reshape(ROWS, -1)
    with store.write() as writer:
        space_id = writer.add_space(SPACE)
        writer.put_embeddings(space_id, EmbeddedWindows(list(held), rows))
        writer.save_state(serving=space_id)


@pytest.fixture
def index(tmp_path: Path, held: dict[bytes, bytes]) -> Path:
    store = SqliteStore(tmp_path / "index.sqlite")
    fill(store, held)
    assert [*store.tidy(whole=False)] == []
    store.close()
    return store.path


def saved(path: Path) -> dict[bytes, bytes]:
    found: dict[bytes, bytes] = {}
    for each in read_embeddings(path):
        assert each.space == SPACE
        found[each.hash] = each.row.tobytes()
    return found


def test_a_sound_index_gives_all(index: Path, held: dict[bytes, bytes]) -> None:
    assert saved(index) == held


def test_pages_that_are_lost_cost_only_their_own_rows(index: Path, held: dict[bytes, bytes]) -> None:
    data = bytearray(index.read_bytes())
    pages = len(data) // 8192
    for number in (pages // 3, pages // 2):
        data[number * 8192 : number * 8192 + 8192] = b"\xff" * 8192
    index.write_bytes(data)
    found = saved(index)
    assert ROWS - 50 <= len(found) < ROWS
    assert found.items() <= held.items()


def test_half_a_file_gives_what_is_left(index: Path, held: dict[bytes, bytes]) -> None:
    index.write_bytes(index.read_bytes()[: index.stat().st_size // 2])
    found = saved(index)
    assert len(found) > ROWS // 4
    assert found.items() <= held.items()


def spoil(statement: str) -> Callable[[Path], None]:
    def change(path: Path) -> None:
        with closing(sqlite3.connect(path)) as database, database:
            database.execute(statement)

    return change


def overwrite(beginning: str) -> Callable[[Path], None]:
    """Change the first number of ten embeddings."""
    value = f"CAST(x'{beginning}' || substr(embedding, 5) AS BLOB)"
    return spoil(f"UPDATE embedding_cache SET embedding = {value} WHERE id <= 10")


def zero_header(path: Path) -> None:
    path.write_bytes(bytes(100) + path.read_bytes()[100:])


@pytest.mark.parametrize(
    ("change", "left"),
    [
        (spoil("UPDATE embedding_cache SET embedding = x'00000000' WHERE id <= 10"), ROWS - 10),
        (spoil("UPDATE embedding_cache SET embedding = substr(embedding, 5) WHERE id <= 10"), ROWS - 10),
        (
            spoil(
                "UPDATE embedding_cache SET embedding = CAST(x'0000c07f' || substr(embedding, 5) AS BLOB) WHERE id <= 10"
            ),
            ROWS - 10,
        ),
        (
            spoil(
                "UPDATE embedding_cache SET embedding = CAST(x'ffff7f7f' || substr(embedding, 5) AS BLOB) WHERE id <= 10"
            ),
            ROWS - 10,
        ),
        (spoil("UPDATE embedding_cache SET hash = x'01' WHERE id = 7"), ROWS - 1),
        (spoil("UPDATE spaces SET dimensions = 3"), 0),
        (spoil("DROP TABLE embedding_cache"), 0),
        (zero_header, 0),
        (lambda path: path.write_bytes(b"garbage" * 999), 0),
        (Path.unlink, 0),
    ],
)
def test_only_whole_rows_are_saved(
    change: Callable[[Path], None], left: int, index: Path, held: dict[bytes, bytes]
) -> None:
    change(index)
    found = saved(index)
    assert len(found) == left
    assert found.items() <= held.items()


def test_rows_that_are_only_in_the_wal_are_saved(tmp_path: Path, held: dict[bytes, bytes]) -> None:
    """As a process that was killed leaves them. The -wal moves aside with its index, and an older one makes way."""
    store = SqliteStore(tmp_path / "index.sqlite")
    fill(store, held)
    copy = tmp_path / "killed.sqlite"
    for suffix in ("", "-wal"):
        copy.with_name(copy.name + suffix).write_bytes(store.path.with_name(store.path.name + suffix).read_bytes())
    store.close()
    (tmp_path / "killed.sqlite.damaged-wal").write_bytes(b"older")
    aside = set_aside(copy, keeps=False)
    assert saved(aside) == held
    assert not list(tmp_path.glob("killed.sqlite-*"))


def test_saving_stops_and_leaves_the_rest(index: Path) -> None:
    rows = read_embeddings(index)
    assert next(rows).space == SPACE
    rows.close()
