"""Chunks that were stored before their index had codebooks are packed where they stand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias, cast

from memory_core.stores.sqlite import Connection, meta
from memory_core.stores.sqlite.codebooks import Codebooks
from memory_core.stores.sqlite.encoding import pack_units, unpack_units
from memory_core.stores.sqlite.rows import pack_text
from memory_core.stores.sqlite.store import Store

PACKED_TOGETHER = 500
_SAMPLE = 2000  # chunks from which the words are chosen anew

_Row: TypeAlias = tuple[int, int, int, int, bytes, str, bytes, bytes | None, str]


def pack_chunks(store: Store) -> None:
    """Pack the chunks that an older version, or the index while it was small, has stored; in committed steps.

    A sync that was killed meanwhile goes on with the next one. Rows are put anew under their ids, which packs the pages.
    """
    with store.read() as connection:
        due = meta.get_value(connection, meta.PLAIN_AFTER) is not None
        books = Codebooks(connection)
        if not due and (books.has_words or not books.are_many()):
            return
    put_anew(store, _pack_some)


def put_anew(store: Store, step: Callable[[Store], bool]) -> None:
    """Call a step that deletes rows and inserts them under their ids, until it returns False; what hangs on them stays."""
    with store.maintain() as keeper:
        keeper.pragma("foreign_keys", False)
        try:
            while step(store):
                pass
        finally:
            keeper.pragma("foreign_keys", True)


def _pack_some(store: Store) -> bool:
    with store.write(content=False) as connection:
        after = int(meta.get_value(connection, meta.PLAIN_AFTER) or 0)
        found = connection.execute(
            "SELECT id, file_id, start_line, end_line, hash, context, units, tokens, text FROM chunks"
            " WHERE packed IS NULL AND id > ? ORDER BY id LIMIT ?",
            (after, PACKED_TOGETHER),
        ).fetchall()
        rows = cast("list[_Row]", found)
        books = Codebooks(connection)
        books.learn()
        _put_packed(connection, books, rows)
        meta.set_values(connection, {meta.PLAIN_AFTER: str(rows[-1][0]) if rows else None})
    return bool(rows)


def _put_packed(connection: Connection, books: Codebooks, rows: Sequence[_Row]) -> None:
    packed = [
        (*row, pack_units(unpack_units(units)), _pack_tokens(books, tokens), *pack_text(books, text))
        for *row, units, tokens, text in rows
    ]
    connection.executemany("DELETE FROM chunks WHERE id = ?", [row[:1] for row in rows])
    connection.executemany(
        "INSERT INTO chunks (id, file_id, start_line, end_line, hash, context, units, tokens, text, packed, links)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        packed,
    )


def _pack_tokens(books: Codebooks, tokens: bytes | None) -> bytes | None:
    return None if tokens is None else books.pack_tokens(*books.unpack_tokens([tokens]))


def replace_words(connection: Connection) -> None:
    """Choose the words anew, so that none that was deleted is among them, and pack all texts with them.

    Args:
        connection: Inside a write transaction.
    """
    old = Codebooks(connection)
    if not old.has_words:
        return
    rows = connection.execute("SELECT packed FROM chunks WHERE packed IS NOT NULL ORDER BY id LIMIT ?", (_SAMPLE,))
    texts = [old.unpack_text(row[0]) for row in cast("list[tuple[bytes]]", rows.fetchall())]
    new = old.replace_words(texts)
    ids = connection.execute("SELECT id FROM chunks WHERE packed IS NOT NULL").fetchall()
    for (number,) in cast("list[tuple[int]]", ids):
        packed = cast("bytes", connection.execute("SELECT packed FROM chunks WHERE id = ?", (number,)).get)
        connection.execute(
            "UPDATE chunks SET packed = ? WHERE id = ?", (new.pack_text(old.unpack_text(packed)), number)
        )
