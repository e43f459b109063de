"""Embeddings that an older version stored in more bytes are packed where they stand, and none is made again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import apsw
import numpy as np
import pytest

from memory_core.config.settings import Vector
from memory_core.embeddings.protocols import TokenEmbedding
from memory_core.embeddings.static import DIMENSIONS, StaticProvider
from memory_core.records import Space
from memory_core.stores.sqlite import PAGE_SIZE, load_vec0, maintenance
from memory_core.stores.sqlite.encoding import pack_embeddings, unpack_embeddings
from memory_core.stores.sqlite.salvage import put_embeddings, read_embeddings
from memory_core.stores.sqlite.store import Store
from memory_core.stores.sqlite.vectors import VectorIndex, choose_block
from memory_core.stores.sqlite.writer import StoreWriter
from memory_core.stores.values import EmbeddedWindows
from tests.fakes.providers import CountingProvider
from tests.index import Index, make_older

if TYPE_CHECKING:
    from numpy.typing import NDArray

SPACE = Space(provider="test", model="m", dimensions=64)
ROWS = 1500


@pytest.fixture
def rows() -> NDArray[np.float32]:
    made = np.random.default_rng(7).standard_normal((ROWS, SPACE.dimensions)).astype(np.float32)
    made /= np.linalg.norm(made, axis=1, keepdims=True)
    return made


@pytest.fixture
def older(tmp_path: Path, rows: NDArray[np.float32]) -> Iterator[Store]:
    """An index of the version before, with tokens of its windows and a table of vec0."""
    store = Store(tmp_path / "index.sqlite", vectors=VectorIndex(Vector(), exact_limit=100))
    writer = StoreWriter(store)
    writer.prepare()
    space = writer.add_space(SPACE)
    tokens = [TokenEmbedding(row, row[None], [1]) for row in rows]
    windows = EmbeddedWindows([number.to_bytes(16, "big") for number in range(ROWS)], rows, tokens)
    writer.put_embeddings(space, windows, serve=True)
    writer.serve(space, complete=True)
    writer.give_back_space()
    store.close()
    db = apsw.Connection(str(store.path))
    db.executemany(
        "UPDATE embedding_cache SET embedding = ? WHERE hash = ?",
        [(row.tobytes(), key) for key, row in zip(windows.hashes, rows, strict=True)],
    )
    db.execute("VACUUM")
    make_older(db, 6)
    db.close()
    yield store
    store.close()


def read(path: Path) -> dict[str, Any]:
    db = apsw.Connection(str(path))
    try:
        return {
            "rows": db.execute("SELECT id, space_id, hash, updated_at FROM embedding_cache ORDER BY id").fetchall(),
            "tokens": db.execute("SELECT * FROM token_bits ORDER BY 1").fetchall(),
            "bits": db.execute("SELECT rowids, validity FROM chunks_vec_chunks").fetchall(),
            "lengths": {row[0] for row in db.execute("SELECT length(embedding) FROM embedding_cache")},
        }
    finally:
        db.close()


def test_rows_keep_their_ids_and_what_hangs_on_them(
    older: Store, rows: NDArray[np.float32], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(maintenance, "PACKED_TOGETHER", 400)
    before, size = read(older.path), older.path.stat().st_size
    assert before["lengths"] == {4 * SPACE.dimensions}
    writer = StoreWriter(older)
    writer.prepare()
    assert not writer.load_state().tidy  # so that the next sync converts them
    writer.give_back_space()
    after = read(older.path)
    assert after.pop("lengths") == {2 * SPACE.dimensions}
    before.pop("lengths")
    assert after == before
    assert older.path.stat().st_size < size - ROWS * SPACE.dimensions
    with older.read() as connection:
        blobs = [row[0] for row in connection.execute("SELECT embedding FROM embedding_cache ORDER BY id")]
        assert not connection.execute("SELECT 1 FROM meta WHERE key = 'unpacked_after'").get
    assert np.abs(unpack_embeddings(blobs, SPACE.dimensions) - rows).max() < 3e-4
    with older.maintain() as keeper:
        assert keeper.pragma("foreign_keys")


def test_one_that_was_killed_goes_on(older: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    before = read(older.path)
    monkeypatch.setattr(maintenance, "PACKED_TOGETHER", 400)
    writer = StoreWriter(older)
    writer.prepare()
    with older.maintain() as keeper:
        keeper.pragma("foreign_keys", False)
        assert maintenance._repack_some(older)
    older.close()
    assert read(older.path)["lengths"] == {2 * SPACE.dimensions, 4 * SPACE.dimensions}
    again = StoreWriter(Store(older.path, vectors=older.vectors))
    again.prepare()
    again.give_back_space()
    after = read(older.path)
    assert after.pop("lengths") == {2 * SPACE.dimensions}
    before.pop("lengths")
    assert after == before
    again._store.close()


@pytest.mark.parametrize("kind", ["<f2", "<f4"])
def test_those_of_the_static_model_become_int8(tmp_path: Path, kind: str) -> None:
    index = Index(tmp_path / "workspace", tmp_path / "state")
    for number in range(4):
        index.note(f"memory/{number}.md", f"The fence is green.\n\nGate {number} is locked at night.\n")
    provider = StaticProvider()
    index.sync(provider)
    index.close()
    db = apsw.Connection(str(index.config.store_path))
    before = db.execute("SELECT id, embedding FROM embedding_cache ORDER BY id").fetchall()
    blobs = [cast("bytes", row[1]) for row in before]
    assert {len(blob) for blob in blobs} == {DIMENSIONS + 4}
    wide = [(row.astype(kind).tobytes(), number) for row, (number, _) in zip(
        unpack_embeddings(blobs, DIMENSIONS), before, strict=True)]  # fmt: skip
    db.executemany("UPDATE embedding_cache SET embedding = ? WHERE id = ?", wide)
    make_older(db, 7)
    db.close()
    report = index.sync(provider)
    index.close()
    assert report.embedded == 0
    db = apsw.Connection(str(index.config.store_path))
    after = db.execute("SELECT id, embedding FROM embedding_cache ORDER BY id").fetchall()
    db.close()
    assert [row[0] for row in after] == [row[0] for row in before]
    moved = unpack_embeddings([cast("bytes", row[1]) for row in after], DIMENSIONS) - unpack_embeddings(
        blobs, DIMENSIONS
    )
    assert np.abs(moved).max() < 3e-3
    provider.close()


def test_int8_rows_keep_their_direction_and_length(rows: NDArray[np.float32]) -> None:
    rows[7] = 0  # a text without direction
    blobs = [*pack_embeddings(rows, coarse=True)]
    assert {len(blob) for blob in blobs} == {SPACE.dimensions + 4}
    packed = unpack_embeddings(blobs, SPACE.dimensions)
    np.testing.assert_allclose(np.linalg.norm(packed, axis=1), np.linalg.norm(rows, axis=1), atol=1e-6)
    assert (packed * rows).sum(axis=1)[np.arange(ROWS) != 7].min() > 0.9999
    assert not packed[7].any()
    few = rows[:, :4] / np.linalg.norm(rows[:, :4], axis=1, keepdims=True).clip(1e-9)
    assert {len(blob) for blob in pack_embeddings(few, coarse=True)} == {8}  # float16: too few dimensions


@pytest.mark.parametrize("dimensions", [8, 64, 256, 384, 512, 768, 1024, 1536, 3072])
def test_blocks_of_vec0_fill_their_pages(dimensions: int) -> None:
    rows = choose_block(dimensions)
    size = rows * dimensions // 8
    assert rows % 8 == 0
    assert 0 < rows <= 128
    together = PAGE_SIZE // size
    assert rows == 128 or not together or together * size > 0.6 * PAGE_SIZE


def test_blocks_of_another_size_are_made_anew(older: Store) -> None:
    db = apsw.Connection(str(older.path))
    load_vec0(cast("Any", db), None)
    db.execute("DROP TABLE chunks_vec")
    db.execute(f"CREATE VIRTUAL TABLE chunks_vec USING vec0 (embedding bit[{SPACE.dimensions}], chunk_size=128)")
    db.execute("INSERT INTO chunks_vec (rowid, embedding) SELECT id, vec_bit(zeroblob(8)) FROM embedding_cache")
    db.close()
    writer = StoreWriter(older)
    writer.prepare()
    writer.serve(1, complete=True)
    with older.read() as connection:
        assert older.vectors.find_problem(connection) is None  # loads vec0
        sizes = {row[0] for row in connection.execute("SELECT size FROM chunks_vec_chunks")}
        assert sizes == {choose_block(SPACE.dimensions)}
        assert connection.execute("SELECT count(*) FROM chunks_vec").get == ROWS


def test_both_kinds_are_read_side_by_side(rows: NDArray[np.float32]) -> None:
    halves, singles = [*pack_embeddings(rows[:3])], [row.tobytes() for row in rows[:3]]
    mixed = unpack_embeddings([halves[0], singles[1], halves[2]], SPACE.dimensions)
    assert mixed.dtype == np.float32
    assert (
        mixed.tobytes()
        == np.stack(
            [rows[0].astype(np.float16).astype(np.float32), rows[1], rows[2].astype(np.float16).astype(np.float32)]
        ).tobytes()
    )


def test_embeddings_of_a_damaged_older_index_are_saved_as_new_ones(older: Store, tmp_path: Path) -> None:
    saved = [*read_embeddings(older.path)]
    assert len(saved) == ROWS
    fresh = Store(tmp_path / "fresh.sqlite")
    StoreWriter(fresh).prepare()
    with fresh.write() as connection:
        put_embeddings(connection, saved)
    fresh.close()
    db = apsw.Connection(str(fresh.path))
    assert {row[0] for row in db.execute("SELECT length(embedding) FROM embedding_cache")} == {2 * SPACE.dimensions}
    db.close()


def test_an_older_index_answers_before_and_after_and_embeds_nothing(tmp_path: Path) -> None:
    index = Index(tmp_path / "workspace", tmp_path / "state")
    index.note("memory/a.md", "The fence is green.\n")
    provider = CountingProvider()
    index.sync(provider)
    asked = len(provider.requests)
    index.close()
    db = apsw.Connection(str(index.config.store_path))
    ((number, blob),) = db.execute("SELECT id, embedding FROM embedding_cache").fetchall()
    single = np.frombuffer(cast("bytes", blob), "<f2").astype("<f4").tobytes()
    db.execute("UPDATE embedding_cache SET embedding = ? WHERE id = ?", (single, number))
    make_older(db, 6)
    db.close()
    index.sync(provider)
    index.close()
    assert len(provider.requests) == asked
    db = apsw.Connection(str(index.config.store_path))
    assert db.execute("SELECT id, embedding FROM embedding_cache").fetchall() == [(number, blob)]
    db.close()
