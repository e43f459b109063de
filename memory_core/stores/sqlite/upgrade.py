"""Rows of an index of an older schema, read once and written as the newest one has them, before its tables are migrated."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, TypeAlias, cast

import apsw

from memory_core.records import Space
from memory_core.stores.sqlite import Connection, load_vec0
from memory_core.stores.sqlite.damage import DamagedRow
from memory_core.stores.sqlite.distances import WRONG_LENGTH, choose_encoding, encode

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_LAST = 9  # the last schema whose rows are other ones
_WINDOW = -13  # of deflate: 8 KiB, without header and checksum
_STEP = 4096  # embeddings in memory at once
_BITS = ("info", "chunks", "rowids", "vector_chunks00")  # tables in which vec0 kept the bits of embeddings

_FACTOR_BYTES = 4  # behind the numbers of a row of int8
_SpaceRow: TypeAlias = tuple[int, str, str, str, str, int]


def convert_rows(connection: Connection) -> None:
    """Convert what no SQL statement can, in one transaction; of a newer or an empty file nothing.

    Args:
        connection: The writing one, outside a transaction.

    Raises:
        DamagedRow: A text or an embedding is none that the older schema had.
    """
    version = int(connection.pragma("user_version"))
    if not 0 < version <= _LAST:
        return
    with connection:
        if version == _LAST:
            _unpack_texts(connection)
        _drop_bits(connection)
        columns = "id, provider, model, endpoint, input_type, dimensions"
        for row in cast("list[_SpaceRow]", connection.execute(f"SELECT {columns} FROM spaces").fetchall()):
            number, provider, model, endpoint, input_type, dimensions = row
            _convert_embeddings(
                connection,
                number,
                Space(provider=provider, model=model, endpoint=endpoint, input_type=input_type, dimensions=dimensions),
            )


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


def _unpack_texts(connection: Connection) -> None:
    words = connection.execute("SELECT entries FROM codebooks WHERE kind = 'words'").get
    ids = connection.execute("SELECT id FROM chunks WHERE packed IS NOT NULL").fetchall()
    for (chunk_id,) in cast("list[tuple[int]]", ids):
        packed = cast("bytes", connection.execute("SELECT packed FROM chunks WHERE id = ?", (chunk_id,)).get)
        try:
            text = zlib.decompressobj(_WINDOW, cast("bytes | None", words) or b"").decompress(packed).decode()
        except (zlib.error, UnicodeDecodeError) as error:
            raise DamagedRow("a text is not what was indexed") from error
        connection.execute("UPDATE chunks SET text = ?, packed = NULL WHERE id = ?", (text, chunk_id))


def _drop_bits(connection: Connection) -> None:
    """Drop the table of vec0; where sqlite-vec cannot be loaded, its parts by their names."""
    if not connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'chunks_vec'").get:
        return
    load_vec0(connection, None)
    try:
        connection.execute("DROP TABLE chunks_vec")
    except apsw.SQLError:
        for name in _BITS:
            connection.execute(f"DROP TABLE IF EXISTS chunks_vec_{name}")
        connection.pragma("writable_schema", True)
        connection.execute("DELETE FROM sqlite_schema WHERE name = 'chunks_vec'")
        connection.pragma("writable_schema", False)


def _convert_embeddings(connection: Connection, space_id: int, space: Space) -> None:
    import numpy as np

    last = 0
    while True:
        found = connection.execute(
            "SELECT id, embedding FROM embedding_cache WHERE id > ? AND +space_id = ? ORDER BY id LIMIT ?",
            (last, space_id, _STEP),
        ).fetchall()
        rows = cast("list[tuple[int, bytes]]", found)
        if not rows:
            return
        blobs = encode(np.stack([decode_older(blob, space.dimensions) for _, blob in rows]), choose_encoding(space))
        connection.executemany(
            "UPDATE embedding_cache SET embedding = ? WHERE id = ?",
            [(blob, number) for blob, (number, _) in zip(blobs, rows, strict=True)],
        )
        last = rows[-1][0]
