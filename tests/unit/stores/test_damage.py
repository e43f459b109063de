"""Rows of an index are checked as they are read: what no sync has written is damage, and what one has written never is."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_core.config.settings import Chunking
from memory_core.errors import StoreCorrupt
from memory_core.records import Unit
from memory_core.stores.sqlite.encoding import (
    DamagedRow,
    check_chunk,
    check_window,
    decode,
    pack_units,
    read_json,
    unpack_units,
)
from memory_core.stores.sqlite.store import PrivateStore
from memory_core.stores.values import PreparedChunk, digest_chunk
from memory_core.text.chunks import split_chunks
from memory_core.text.messages import replace_surrogates
from memory_core.text.units import split_units
from tests.index import Index

LINES = st.lists(
    st.sampled_from(
        ["# Fence", "", "   ", "The fence is green.", "- oak", "  - iron", "```", "| a | b |", "\ud800 torn"]
    )
    | st.text(st.characters(exclude_characters="\n"), max_size=60),
    max_size=40,
)
TEXT = "# Fence\n\nThe fence is green.\n- oak\n"
UNITS = [Unit(9, 28, 2, 2), Unit(29, 34, 3, 3)]
KEY = digest_chunk("Notes", 0, TEXT)


@given(LINES, st.integers(1, 30), st.integers(0, 29))
def test_what_a_sync_writes_is_never_taken_for_damage(lines: list[str], tokens: int, overlap: int) -> None:
    chunking = Chunking(tokens=tokens, overlap=min(overlap, tokens - 1))
    for chunk in split_chunks("\n".join(lines), chunking, date="2026-03-01", title=""):
        units = tuple(split_units(chunk.text, skip_lines=chunk.overlap_lines, fence=chunk.fence))
        if units:
            stored = replace_surrogates(chunk.text)
            key = PreparedChunk(chunk).hash
            check_chunk(key, chunk.context, stored, unpack_units(pack_units(units)))


def test_a_flipped_bit_of_a_text_is_damage() -> None:
    check_chunk(KEY, "Notes", TEXT, UNITS)
    dice = random.Random(3)
    for _ in range(100):
        data = bytearray(TEXT, "ascii")
        data[dice.randrange(len(data))] ^= 1 << dice.randrange(7)
        with pytest.raises(DamagedRow):
            check_chunk(KEY, "Notes", data.decode(), UNITS)
    with pytest.raises(DamagedRow):
        check_chunk(KEY, "notes", TEXT, UNITS)


@pytest.mark.parametrize(
    "unit", [Unit(9, 999, 2, 2), Unit(-1, 5, 0, 0), Unit(30, 29, 3, 3), Unit(29, 34, 3, 1 << 20), Unit(29, 34, -3, 3)]
)
def test_a_unit_outside_of_its_text_is_damage(unit: Unit) -> None:
    for units in ([unit], [UNITS[0], unit]):
        with pytest.raises(DamagedRow):
            check_chunk(KEY, "Notes", TEXT, units)


def test_columns_that_are_cut_off_are_damage() -> None:
    for cut in (pack_units(UNITS)[:-1], "", "7", "[[9,28,2]]"):
        with pytest.raises(DamagedRow):
            unpack_units(cut)
    with pytest.raises(DamagedRow):
        read_json("[1, 2")


@pytest.mark.parametrize(("first", "last"), [(-1, 0), (1, 0), (0, 3), (0, 9999)])
def test_a_window_outside_of_its_chunk_is_damage(first: int, last: int) -> None:
    check_window(0, 2, 3)
    with pytest.raises(DamagedRow):
        check_window(first, last, 3)


def test_embeddings_of_another_length_are_damage() -> None:
    row = np.ones(4, dtype=np.float32).tobytes()
    assert decode([row, row], "float32", 4).shape == (2, 4)
    assert decode([], "float32", 4).shape == (0, 4)
    assert decode([], "int8", 0).shape == (0, 0)
    assert decode([b"\1\1\1\1"], "int8", 4).tolist() == [[0.5, 0.5, 0.5, 0.5]]
    for blobs in ([row, row[:-4]], [row[:-1]], [b""]):
        with pytest.raises(DamagedRow):
            decode(blobs, "float32", 4)


def test_a_damaged_row_of_a_private_copy_is_told_as_damage_of_the_index(tmp_path: Path) -> None:
    index = Index(tmp_path / "notes", tmp_path / "state")
    index.note("MEMORY.md", "# Heating\n\nThe heat pump was made by Vaillant.\n")
    index.sync()
    copy = PrivateStore(index.store)
    with copy.database.write() as connection:
        connection.execute("UPDATE chunks SET text = 'The heat pump was made by Viessmann.'")
    with pytest.raises(StoreCorrupt, match="is damaged: a unit lies outside"), copy.read() as reader:
        reader.load_chunks([1])
    copy.close()
    index.close()
