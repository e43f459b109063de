"""Queries for the texts that still lack an embedding."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import TypeAlias, cast

from memory_core.stores.sqlite import Connection
from memory_core.stores.sqlite.encoding import unpack_units
from memory_core.stores.values import PendingWindow, slice_units

_PendingRow: TypeAlias = tuple[int, int, int, bytes, str, bytes]

_ASKED = 500  # hashes in one query

# The embeddings as e; with tokens, those only that have embeddings of their tokens.
_EMBEDDINGS = ("embedding_cache e", "embedding_cache e JOIN token_bits t ON t.embedding_id = e.id")


def find_pending_windows(
    connection: Connection,
    space_id: int | None,
    after: tuple[int, int],
    limit: int,
    prefix: str = "",
    *,
    tokens: bool = False,
) -> tuple[list[PendingWindow], tuple[int, int]]:
    """Find the next windows without an embedding in a space, each text once; all windows for None.

    Args:
        connection: Inside a read transaction.
        space_id: The space.
        after: The place (chunk id, first unit) behind which to look.
        limit: The most windows, texts that stand twice counted twice.
        prefix: Before the names of the tables, as in `FileRows`.
        tokens: Find those without embeddings of their tokens, too.

    Returns:
        The windows, and the place of the last of them; no windows where none is left.
    """
    rows = connection.execute(
        f"SELECT w.chunk_id, w.first, w.last, w.hash, c.text, c.units FROM {prefix}windows w"
        f" CROSS JOIN {prefix}chunks c ON c.id = w.chunk_id"  # CROSS: in the order of the first table, without a sort
        f" WHERE (w.chunk_id, w.first) > (?, ?)"
        f" AND NOT EXISTS (SELECT 1 FROM {_EMBEDDINGS[tokens]} WHERE e.space_id = ? AND e.hash = w.hash)"
        " ORDER BY w.chunk_id, w.first LIMIT ?",
        (*after, space_id, limit),
    )
    found: dict[bytes, PendingWindow] = {}
    held, units = -1, []
    for chunk_id, first, last, key, text, blob in cast("Iterable[_PendingRow]", rows):
        if chunk_id != held:
            held, units = chunk_id, unpack_units(blob)
        after = chunk_id, first
        found.setdefault(key, PendingWindow(key, slice_units(text, units[first : last + 1])))
    return list(found.values()), after


def count_pending(connection: Connection, space_id: int | None, prefix: str = "", *, tokens: bool = False) -> int:
    """Return the number of texts without an embedding in a space; all of them for None."""
    return int(
        connection.execute(
            f"SELECT count(DISTINCT hash) FROM {prefix}windows w"
            f" WHERE NOT EXISTS (SELECT 1 FROM {_EMBEDDINGS[tokens]} WHERE e.space_id = ? AND e.hash = w.hash)",
            (space_id,),
        ).get
    )


def find_embedded(
    connection: Connection, space_id: int, hashes: Iterable[bytes], *, tokens: bool = False
) -> set[bytes]:
    """Return those of some texts that have an embedding in a space; with `tokens`, also embeddings of their tokens."""
    keys, found = iter(hashes), set[bytes]()
    while step := [*islice(keys, _ASKED)]:
        query = (
            f"SELECT e.hash FROM {_EMBEDDINGS[tokens]} WHERE e.space_id = ? AND e.hash IN ({','.join('?' * len(step))})"
        )
        rows = connection.execute(query, (space_id, *step)).fetchall()
        found.update(row[0] for row in cast("list[tuple[bytes]]", rows))
    return found
