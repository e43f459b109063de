"""Inserts moments in front of those that are there, inside a transaction of the store."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from memory_core.history.records import NoteKey
from memory_core.history.store import rows
from memory_core.sources.notes import hash_bytes
from memory_core.stores.sqlite import Connection


class PastNote(NamedTuple):
    """A note as a moment has left it.

    Attributes:
        key: Of the note.
        in_vault: See `Version`.
        data: Its bytes; None if it is gone, or nobody has them.
    """

    key: NoteKey
    in_vault: bool
    data: bytes | None


def insert(
    connection: Connection, moments: Iterable[tuple[int, Iterable[PastNote]]], origin: str, number: int, end: int
) -> int:
    """Insert moments with the notes that changed in them; return the number of versions that they brought.

    Args:
        connection: Inside a write transaction.
        moments: (unix milliseconds, notes that changed), in order.
        origin: Theirs.
        number: The id of the first of them; the others follow.
        end: The id of the moment behind them, which says itself what stood at it.
    """
    standing: dict[NoteKey, int] = {}
    versions = 0
    for moment, (at_ms, notes) in enumerate(moments, start=number):
        rows.add_moment(connection, at_ms, origin, moment)
        for key, in_vault, data in notes:
            base = standing.pop(key, None)
            if base is not None:
                rows.end_versions(connection, [base], moment)
            if data is not None:
                standing[key] = rows.add_version(
                    connection, key, data, content=hash_bytes(data), mtime_ns=at_ms * 1_000_000, in_vault=in_vault,
                    since=moment, until=end, base=base,
                )  # fmt: skip
                versions += 1
    return versions
