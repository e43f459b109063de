"""Texts that an index of a former version holds packed are looked through, too, before a text counts as gone."""

from __future__ import annotations

import sqlite3
import zlib
from contextlib import closing
from pathlib import Path

import pytest

from memory_core.errors import StoreCorrupt
from memory_core.history.store.purging import find_in_rows
from memory_core.stores.sqlite.connections import INDEX

WORDS = b"The gate of the field is "
TEXT = "The gate of the field is green."


def deflate(text: str) -> bytes:
    stream = zlib.compressobj(3, zlib.DEFLATED, -13, 7, zlib.Z_DEFAULT_STRATEGY, WORDS)
    return stream.compress(text.encode()) + stream.flush()


def write_index(path: Path, packed: bytes) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(f"PRAGMA application_id = {INDEX.application_id}")
        connection.execute("CREATE TABLE codebooks (kind TEXT PRIMARY KEY, entries BLOB)")
        connection.execute("CREATE TABLE units (id INTEGER PRIMARY KEY, packed BLOB)")
        connection.execute("INSERT INTO codebooks VALUES ('words', ?)", (WORDS,))
        connection.execute("INSERT INTO units (packed) VALUES (?), (NULL)", (packed,))


def test_a_packed_text_is_found(tmp_path: Path) -> None:
    write_index(tmp_path / "index.sqlite", deflate(TEXT))
    assert find_in_rows(tmp_path / "index.sqlite", lambda text: text == TEXT)
    assert not find_in_rows(tmp_path / "index.sqlite", lambda text: "blue" in text)


@pytest.mark.parametrize("packed", [deflate(TEXT)[:-1], deflate(TEXT) + b"x", b"", b"\xff" + deflate(TEXT)])
def test_a_text_that_cannot_be_unpacked_is_told(tmp_path: Path, packed: bytes) -> None:
    write_index(tmp_path / "index.sqlite", packed)
    with pytest.raises(StoreCorrupt, match="the index is damaged"):
        find_in_rows(tmp_path / "index.sqlite", lambda _: False)
