"""Values of history: a note as a sync left it in the index, and a version of it as it was kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from memory_core.records import MemoryFile

if TYPE_CHECKING:
    from memory_core.sources.notes import NoteText


class NoteKey(NamedTuple):
    """The names by which a note is known: its source and its path as shown to the agent."""

    source: str
    path: str


@dataclass(frozen=True, slots=True)
class IndexedNote:
    """A note as the index holds it after a sync.

    Attributes:
        hash: Of its bytes.
        file: As it was listed; None if it could not be looked at.
        read: As the sync has read it; None if that is not kept.
    """

    hash: bytes
    file: MemoryFile | None
    read: NoteText | None = None


@dataclass(frozen=True, slots=True)
class Version:
    """The bytes of one note from one moment up to another; without the bytes.

    Attributes:
        id: In the history file.
        key: Of the note.
        hash: Of the bytes.
        mtime_ns: The time of the file's last change when it was recorded.
        in_vault: See `MemoryFile.in_vault`.
        since: Id of the moment from which it stood.
        until: Id of the moment from which it stood no more; None if it stands.
    """

    id: int
    key: NoteKey
    hash: bytes
    mtime_ns: int
    in_vault: bool
    since: int
    until: int | None
