"""Chunks are packed by words and tokens that are frequent in the notes, and nobody who searches can tell."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import apsw
import numpy as np
import pytest

import memory_core
from memory_core.embeddings.static import StaticProvider
from memory_core.embeddings.token_blobs import END_OF_UNIT
from memory_core.history.store.others import find_in_rows
from memory_core.records import Unit
from memory_core.stores.sqlite import codebooks, packing
from memory_core.stores.sqlite.codebooks import TOKENS_FROM, Codebooks
from memory_core.stores.sqlite.damage import DamagedRow
from memory_core.stores.sqlite.encoding import pack_units, unpack_units
from memory_core.stores.sqlite.repair import ASIDE, find_damage
from memory_core.stores.sqlite.store import Store
from tests.index import Index, held, make_older

NOTES, ENOUGH = 80, 70


@pytest.fixture(autouse=True)
def _pack_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(codebooks, "PACK_FROM", ENOUGH)


@pytest.fixture(scope="module")
def provider() -> Iterator[StaticProvider]:
    model = StaticProvider()
    yield model
    model.close()


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    made = Index(tmp_path / "workspace", tmp_path / "state")
    yield made
    made.close()


def write(index: Index, numbers: range) -> None:
    for number in numbers:
        index.note(
            f"memory/{number:03d}.md",
            f"# Field {number}\n\n- The gate of field {number} is locked.\n- See [[{number}]].\n",
        )


def columns(index: Index) -> list[tuple[str, bytes | None, bytes, bytes | None]]:
    db = apsw.Connection(str(index.config.store_path))
    try:
        found = db.execute("SELECT text, packed, units, tokens FROM chunks ORDER BY id").fetchall()
        return cast("list[tuple[str, bytes | None, bytes, bytes | None]]", found)
    finally:
        db.close()


def count(index: Index) -> tuple[int, int]:
    """Return how many chunks are packed, and how many are plain."""
    found = [packed is not None for _, packed, _, _ in columns(index)]
    return sum(found), len(found) - sum(found)


def test_a_first_sync_of_many_notes_packs_them_all(index: Index, provider: StaticProvider) -> None:
    write(index, range(NOTES))
    index.sync(provider)
    assert count(index) == (NOTES, 0)
    for text, packed, units, tokens in columns(index):
        assert not text
        assert packed is not None
        assert tokens is not None
        assert len(packed) < 60
        assert len(units) % 2 == len(tokens) % 2 == 1
    assert find_damage(index.config.store_path) is None


def test_few_notes_stay_plain_until_there_are_many(index: Index, provider: StaticProvider, tmp_path: Path) -> None:
    for first in range(0, ENOUGH - 1, 23):
        write(index, range(first, first + 23))
        index.sync(provider)
    assert count(index) == (0, ENOUGH - 1)
    write(index, range(ENOUGH))
    index.sync(provider)
    assert count(index) == (ENOUGH, 0)
    write(index, range(NOTES))
    index.sync(provider)
    assert count(index) == (NOTES, 0)
    at_once = Index(tmp_path / "workspace", tmp_path / "other")
    at_once.sync(provider)
    mine, theirs = index.content(provider), at_once.content(provider)
    assert mine == theirs
    at_once.close()


def test_the_index_of_an_older_version_is_packed_where_it_stands(
    index: Index, provider: StaticProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(codebooks, "PACK_FROM", 10_000)
    write(index, range(NOTES))
    index.sync(provider)
    before = index.content(provider)
    index.close()
    unpack_units_of(index)
    monkeypatch.setattr(codebooks, "PACK_FROM", ENOUGH)
    monkeypatch.setattr(packing, "PACKED_TOGETHER", 30)
    report = index.sync(provider)
    assert (report.added, report.changed, report.embedded) == (0, 0, 0)
    assert count(index) == (NOTES, 0)
    assert index.content(provider) | {"chunks": ()} == before | {"chunks": ()}
    assert [row[:5] + row[6:] for row in index.content()["chunks"]] == [row[:5] + row[6:] for row in before["chunks"]]
    with index.store.maintain() as keeper:
        assert keeper.pragma("foreign_keys")


def test_the_index_of_an_older_version_is_searched_without_a_word_of_damage(index: Index, tmp_path: Path) -> None:
    write(index, range(3))
    config = {"agents": {"defaults": {"memorySearch": {"provider": "none"}}}}
    with memory_core.open_memory(config, workspace=index.workspace, state_dir=tmp_path / "states") as memory:
        memory.sync()
        file = memory.status().store
        before = memory.call_tool("memory_search", {"query": "Which note is it?", "minScore": 0})
    assert file is not None
    db = apsw.Connection(str(file))
    make_older(db, 8)
    db.close()
    with memory_core.open_memory(config, workspace=index.workspace, state_dir=tmp_path / "states") as memory:
        assert memory.call_tool("memory_search", {"query": "Which note is it?", "minScore": 0}) == before
    assert not file.with_name(f"{file.name}{ASIDE}").exists()


def unpack_units_of(index: Index) -> None:
    """Store units as older versions did, and take away what later ones added."""
    db = apsw.Connection(str(index.config.store_path))
    rows = cast("list[tuple[bytes, int]]", db.execute("SELECT units, id FROM chunks").fetchall())
    wide = [(np.array(unpack_units(blob), np.int32).tobytes(), number) for blob, number in rows]
    db.executemany("UPDATE chunks SET units = ? WHERE id = ?", wide)
    make_older(db, 8)
    db.close()


def test_a_sync_that_was_killed_while_packing_goes_on(
    index: Index, provider: StaticProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(index, range(NOTES))
    monkeypatch.setattr(packing, "PACKED_TOGETHER", 30)
    step, steps = packing._pack_some, iter("12")

    def stop(store: Store) -> bool:
        if next(steps) == "2":
            raise KeyboardInterrupt
        return step(store)

    monkeypatch.setattr(packing, "_pack_some", stop)
    with pytest.raises(KeyboardInterrupt):
        index.sync(provider)
    assert count(index) == (30, NOTES - 30)
    assert find_damage(index.config.store_path) is None
    monkeypatch.setattr(packing, "_pack_some", step)
    index.sync(provider)
    assert count(index) == (NOTES, 0)


def test_a_rebuild_packs_what_it_makes(index: Index, provider: StaticProvider) -> None:
    write(index, range(NOTES))
    index.sync(provider)
    before = index.content(provider)
    index.sync(provider, force=True)
    assert count(index) == (NOTES, 0)
    assert index.content(provider) == before


def test_a_provider_that_comes_later_packs_its_tokens(index: Index, provider: StaticProvider) -> None:
    write(index, range(NOTES))
    index.sync()
    assert {tokens for _, _, _, tokens in columns(index)} == {None}
    index.sync(provider)
    assert all(tokens is not None and len(tokens) % 2 for _, _, _, tokens in columns(index))


def test_wiping_leaves_no_word_that_was_deleted(index: Index, provider: StaticProvider) -> None:
    write(index, range(NOTES))
    for number in range(30):
        index.note(f"memory/000-{number}.md", "- The password is kiwi4711sesame.\n")
    index.sync(provider)
    assert b"kiwi4711sesame" in index.config.store_path.read_bytes()  # among the frequent words
    for number in range(30):
        (index.workspace / f"memory/000-{number}.md").unlink()
    index.sync(provider)
    before = index.content(provider)
    assert find_in_rows(index.config.store_path, lambda text: "kiwi4711" in text)
    assert index.writer.wipe(seconds=20)
    index.close()
    assert b"kiwi4711" not in index.config.store_path.read_bytes()
    assert not find_in_rows(index.config.store_path, lambda text: "kiwi4711" in text)
    assert find_in_rows(index.config.store_path, lambda text: "gate of field 7" in text)
    assert index.content(provider) == before


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM codebooks",
        "DELETE FROM codebooks WHERE kind = 'tokens'",
        "UPDATE codebooks SET entries = x'00'",
        "UPDATE codebooks SET entries = CAST(x'0102' || entries AS BLOB) WHERE kind = 'tokens'",
        "UPDATE chunks SET packed = x'00'",
        "UPDATE chunks SET packed = (SELECT packed FROM chunks WHERE id = 7)",
        "UPDATE chunks SET tokens = x'ff'",
        "UPDATE chunks SET tokens = x'c328ff'",
        "UPDATE chunks SET units = substr(units, 1, length(units) - 2)",
    ],
)
def test_damage_is_found(index: Index, provider: StaticProvider, statement: str) -> None:
    write(index, range(NOTES))
    index.sync(provider)
    index.close()
    db = apsw.Connection(str(index.config.store_path))
    db.execute(statement)
    db.close()
    assert find_damage(index.config.store_path) is not None


def test_tokens_come_back(tmp_path: Path) -> None:
    db = make_tables(tmp_path)
    books = Codebooks(db)
    with pytest.raises(DamagedRow):
        books.unpack_text(b"x")
    with pytest.raises(DamagedRow):
        books.unpack_tokens([b"x"])
    rng = np.random.default_rng(3)
    blobs = [rng.integers(0, 300, 50).astype("<u2").tobytes() for _ in range(TOKENS_FROM)]
    assert books.pack_tokens(blobs[0]) == blobs[0]  # nothing is known of them yet
    books.replace_words([])
    books = Codebooks(db)
    books.learn_tokens(blobs)
    anything = [*range(0xD700, 0xE100), 0xDC00, 0xD800, 0xD800, 0xDC00, 0, 1, END_OF_UNIT]
    for blob in (*blobs, b"", np.array(anything, "<u2").tobytes(), np.arange(1 << 16, dtype="<u2").tobytes()):
        packed = books.pack_tokens(blob)
        assert len(packed) % 2
        assert books.unpack_tokens([packed, blob, packed]) == [blob] * 3
    db.close()


def make_tables(folder: Path) -> Any:
    index = Index(folder / "workspace", folder / "state")
    index.writer.prepare()
    index.close()
    return apsw.Connection(str(index.config.store_path))


@pytest.mark.parametrize(
    ("units", "size"),
    [
        ([], 0),
        ([Unit(0, 5, 0, 0), Unit(65530, 65535, 254, 255)], 13),
        ([Unit(0, 65536, 0, 0)], 16),
        ([Unit(0, 5, 0, 256)], 16),
    ],
)
def test_units_take_six_bytes_where_they_fit(units: list[Unit], size: int) -> None:
    assert len(pack_units(units)) == size
    assert unpack_units(pack_units(units)) == units


def test_what_is_held_can_be_compared(index: Index, provider: StaticProvider) -> None:
    write(index, range(NOTES))
    index.sync(provider)
    texts = [row[7] for row in held(index.config.store_path)["chunks"]]
    assert "- See [[3]]." in "\n".join(texts)
