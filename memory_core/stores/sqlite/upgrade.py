"""Rows of an index of schema 9, read once and written as the newest schema has them, before its tables are migrated."""

from __future__ import annotations

import zlib
from typing import cast

from memory_core.stores.sqlite import Connection
from memory_core.stores.sqlite.damage import DamagedRow

_PACKED_UNTIL = 9  # the last schema in which texts are deflated
_WINDOW = -13  # of deflate: 8 KiB, without header and checksum


def convert_rows(connection: Connection) -> None:
    """Convert what no SQL statement can, in one transaction; of a newer or an empty file nothing.

    Args:
        connection: The writing one, outside a transaction.

    Raises:
        DamagedRow: A text is not packed as schema 9 packs it.
    """
    if int(connection.pragma("user_version")) != _PACKED_UNTIL:
        return
    with connection:
        _unpack_texts(connection)


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
