"""Saves the embeddings of a damaged or older index, which may have been paid for, into the one that replaces it."""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from memory_core.errors import MemoryCoreError
from memory_core.records import Space
from memory_core.stores.sqlite.connections import Connection, open_reader, translate_errors
from memory_core.stores.sqlite.encoding import WRONG_LENGTH, DamagedRow, choose_encoding, encode
from memory_core.stores.sqlite.state import add_space, list_spaces
from memory_core.stores.sqlite.vectors import VectorIndex, put_tokens

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MOST_TRIED = 200_000  # ids in the middle of a damaged table that are tried one by one
_MOST_DEVIATION = 1e-3  # of the length of a vector from 1, by rounding
_HASH_BYTES = 16
_COLUMNS = "SELECT id, space_id, hash, embedding FROM embedding_cache"

# Space, hash of the text, embedding, and the signs of the text's tokens where there are some.
SavedRow: TypeAlias = tuple[Space, bytes, bytes, bytes | None]
_Row: TypeAlias = tuple[object, ...]


def read_embeddings(path: Path) -> Generator[SavedRow]:
    """Yield the sound embeddings of a damaged or older index; none if it cannot be opened or has lost its table of spaces.

    An embedding is keyed by the text that it was made from, so that a row which is whole is right, whatever else is lost.
    """
    try:
        with contextlib.closing(open_reader(path, damaged=True)) as connection:
            with translate_errors(path):
                spaces: dict[object, Space] = {number: space for space, number in list_spaces(connection).items()}
            for number, space_id, key, embedding in _read_rows(connection, path):
                space = spaces.get(space_id)
                if space is None or not isinstance(key, bytes) or len(key) != _HASH_BYTES:
                    continue
                if isinstance(embedding, bytes) and _is_sound(embedding, space):
                    yield space, key, embedding, _find_bits(connection, path, number)
    except (MemoryCoreError, UnicodeDecodeError):
        return  # what could be read was; the sync embeds the rest


def put_embeddings(connection: Connection, vectors: VectorIndex, rows: Sequence[SavedRow]) -> None:
    """Store rows and their signs, inside a write transaction."""
    ids = {space: add_space(connection, space) for space in {row[0] for row in rows}}
    connection.executemany(
        "INSERT INTO embedding_cache (space_id, hash, embedding) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
        ((ids[space], key, _encode(blob, space)) for space, key, blob, _ in rows),
    )
    for space, space_id in ids.items():
        vectors.add_signs(connection, space_id)
        put_tokens(connection, space_id, ((key, bits) for held, key, _, bits in rows if held == space and bits))


def _read_rows(connection: Connection, path: Path) -> Iterator[_Row]:
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


def _find_bits(connection: Connection, path: Path, number: object) -> bytes | None:
    with contextlib.suppress(MemoryCoreError):  # lost, or of a schema that had none
        for (bits,) in _query(connection, path, "SELECT bits FROM token_bits WHERE embedding_id = ?", int(str(number))):
            return bits if isinstance(bits, bytes) else None
    return None


def _query(connection: Connection, path: Path, query: str, *values: int) -> Iterator[_Row]:
    with translate_errors(path):
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


_FACTOR_BYTES = 4  # behind the numbers of a row of int8


def decode_older(blob: bytes, dimensions: int) -> NDArray[np.float32]:
    """Return an embedding of any schema: float32, float16, int8, or int8 with a factor behind it.

    Raises:
        DamagedRow: It has another length than all of these.
    """
    import numpy as np

    kinds = {4 * dimensions: "<f4", 2 * dimensions: "<f2", dimensions + _FACTOR_BYTES: "i1", dimensions: "i1"}
    if len(blob) not in kinds:
        raise DamagedRow(WRONG_LENGTH)
    row = np.frombuffer(blob, kinds[len(blob)])[:dimensions].astype(np.float32)
    if len(blob) >= 2 * dimensions and len(blob) != dimensions + _FACTOR_BYTES:
        return row
    length = np.sqrt(np.einsum("i,i->", row, row))
    return row / length if length else row
