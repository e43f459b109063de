"""Records what differs between the notes of an index and the versions that stand, inside a transaction of the store."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping

from memory_core.errors import FileUnreadable
from memory_core.history.records import IndexedNote, NoteKey
from memory_core.history.store import rows
from memory_core.records import FileStamp
from memory_core.sources.notes import hash_bytes, read_bytes
from memory_core.stores.sqlite import Connection


def record(
    connection: Connection,
    notes: Mapping[NoteKey, IndexedNote],
    standing: Mapping[NoteKey, tuple[int, bytes]],
    *,
    now_ms: int,
) -> tuple[bool, bool]:
    """Add a moment with what differs, if anything does.

    Args:
        connection: Inside a write transaction.
        notes: Notes of the index.
        standing: Id and hash of the versions that stand, of these notes and of those that are gone.
        now_ms: The time of the moment, in Unix milliseconds.

    Returns:
        True if a moment was added; and False if a note could not be read as it was indexed.
    """
    ended = [number for key, (number, _) in standing.items() if key not in notes]
    moment = rows.add_moment(connection, now_ms, "sync") if ended else None
    if moment is not None:
        rows.end_versions(connection, ended, moment)
    is_whole = True
    for key, note in notes.items():
        if key in standing and standing[key][1] == note.hash:
            continue
        read = _read(note)
        if read is None:
            is_whole = False
            continue
        if moment is None:
            moment = rows.add_moment(connection, now_ms, "sync")
        before = standing[key][0] if key in standing else None
        if before is not None:
            rows.end_versions(connection, [before], moment)
        data, stamp = read  # of one note at a time: all of them may be a gigabyte
        rows.add_version(
            connection, key, data, content=note.hash, mtime_ns=stamp.mtime_ns,
            in_vault=note.file is not None and note.file.in_vault, since=moment,
            base=before if before is not None else rows.find_base(connection, key, note.hash),
        )  # fmt: skip
    return moment is not None, is_whole


def _read(note: IndexedNote) -> tuple[bytes, FileStamp] | None:
    """Return the bytes of a note if they are still those that were indexed."""
    if note.read is not None and note.read.hash == note.hash:
        return note.read.data, note.read.stamp
    if note.file is None:
        return None
    with contextlib.suppress(FileUnreadable):
        data, stamp = read_bytes(note.file)
        if hash_bytes(data) == note.hash:
            return data, stamp
    return None
