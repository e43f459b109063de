"""Saves the embeddings of a damaged index, which may have been paid for, into the one that replaces it."""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Iterator, Sequence
from pathlib import Path
from typing import TypeAlias, cast

from memory_core.errors import MemoryCoreError
from memory_core.records import Space
from memory_core.stores import sqlite
from memory_core.stores.sqlite.damage import DamagedRow
from memory_core.stores.sqlite.distances import choose_encoding, encode
from memory_core.stores.sqlite.spaces import add_space
from memory_core.stores.sqlite.upgrade import decode_older
from memory_core.stores.sqlite.vectors import VectorIndex

MOST_TRIED = 200_000  # ids in the middle of a damaged table that are tried one by one
_MOST_DEVIATION = 1e-3  # of the length of a vector from 1, by rounding
_HASH_BYTES = 16
_COLUMNS = "SELECT id, space_id, hash, embedding, updated_at FROM embedding_cache"

SavedRow: TypeAlias = tuple[Space, bytes, bytes, int]  # space, hash of the text, embedding, Unix seconds
_Row: TypeAlias = tuple[object, ...]


def read_embeddings(path: Path) -> Generator[SavedRow]:
    """Yield the sound embeddings of a damaged index; none if it cannot be opened or has lost its table of spaces.

    An embedding is keyed by the text that it was made from, so that a row which is whole is right, whatever else is lost.
    """
    try:
        with contextlib.closing(sqlite.open_reader(path, damaged=True)) as connection:
            spaces = _read_spaces(connection, path)
            for _, space_id, key, embedding, updated_at in _read_rows(connection, path):
                space = spaces.get(space_id)
                if space is None or not isinstance(key, bytes) or len(key) != _HASH_BYTES:
                    continue
                if isinstance(updated_at, int) and isinstance(embedding, bytes) and _is_sound(embedding, space):
                    yield space, key, embedding, updated_at
    except (MemoryCoreError, UnicodeDecodeError):
        return  # what could be read was; the sync embeds the rest


def put_embeddings(connection: sqlite.Connection, vectors: VectorIndex, rows: Sequence[SavedRow]) -> None:
    """Store rows and their signs, inside a write transaction."""
    ids = {space: add_space(connection, space) for space in {row[0] for row in rows}}
    connection.executemany(
        "INSERT INTO embedding_cache (space_id, hash, embedding, updated_at) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
        ((ids[space], key, _encode(blob, space), at) for space, key, blob, at in rows),
    )
    for space_id in ids.values():
        vectors.add_signs(connection, space_id)


def _read_spaces(connection: sqlite.Connection, path: Path) -> dict[object, Space]:
    with sqlite.translate_errors(path):
        rows = connection.execute("SELECT id, provider, model, endpoint, input_type, dimensions FROM spaces").fetchall()
    return {
        number: Space(provider=provider, model=model, endpoint=endpoint, input_type=input_type, dimensions=dimensions)
        for number, provider, model, endpoint, input_type, dimensions in cast(
            "list[tuple[int, str, str, str, str, int]]", rows
        )
    }


def _read_rows(connection: sqlite.Connection, path: Path) -> Iterator[_Row]:
    """Yield the rows that can be read: upwards to the first damage, downwards to the last, and one by one between."""
    low, high = 0, 0
    with contextlib.suppress(MemoryCoreError):
        for (last,) in _query(connection, path, "SELECT seq FROM sqlite_sequence WHERE name = 'embedding_cache'"):
            high = int(str(last)) + 1
    with contextlib.suppress(MemoryCoreError):
        for row in _query(connection, path, f"{_COLUMNS} ORDER BY id"):
            low = int(str(row[0]))
            yield row
        return
    with contextlib.suppress(MemoryCoreError):
        for row in _query(connection, path, f"{_COLUMNS} WHERE id > ? ORDER BY id DESC", low):
            high = int(str(row[0]))
            yield row
        return
    for number in range(low + 1, min(high, low + MOST_TRIED)):
        with contextlib.suppress(MemoryCoreError):
            yield from _query(connection, path, f"{_COLUMNS} WHERE id = ?", number)


def _query(connection: sqlite.Connection, path: Path, query: str, *values: int) -> Iterator[_Row]:
    with sqlite.translate_errors(path):
        yield from connection.execute(query, values)


def _encode(embedding: bytes, space: Space) -> bytes:
    return next(encode(decode_older(embedding, space.dimensions)[None], choose_encoding(space)))


def _is_sound(embedding: bytes, space: Space) -> bool:
    """Return True if an embedding has its model's dimensions and unit length, or no direction at all."""
    import numpy as np

    if not space.dimensions:
        return False
    with np.errstate(all="ignore"):  # flipped bits may be no numbers
        try:
            row = decode_older(embedding, space.dimensions).astype(np.float64)
        except DamagedRow:
            return False
        squares = float(row @ row)
    return squares == 0 or abs(squares - 1) < 2 * _MOST_DEVIATION  # False for what is no number
