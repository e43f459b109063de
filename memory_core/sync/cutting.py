"""Reads one file and cuts it: chunks, their units, the windows to embed."""

from __future__ import annotations

from collections.abc import Sequence

from memory_core.config.settings import Chunking
from memory_core.records import MemoryFile
from memory_core.sources import notes, session_logs
from memory_core.stores.values import PreparedChunk, PreparedFile
from memory_core.text import chunks
from memory_core.text.markdown import read_front_matter


def read_text(file: MemoryFile) -> notes.NoteText:
    """Read a note or a session log.

    Raises:
        FileUnreadable: It cannot be read, or is no text.
    """
    return session_logs.read_session(file) if session_logs.is_log(file.path) else notes.read_note(file)


def cut(file: MemoryFile, note: notes.NoteText, chunking: Chunking) -> PreparedFile:
    """Cut the text of one file. Pure."""
    lines, date, names = _origin(file, note)
    found = chunks.split_chunks(note.text, chunking, date=date, title=", ".join(names))
    return PreparedFile(
        file=file, hash=note.hash, stamp=note.stamp, date=date, chunks=tuple(map(PreparedChunk, found)), lines=lines
    )


def _origin(file: MemoryFile, note: notes.NoteText) -> tuple[Sequence[int], str | None, Sequence[str]]:
    """Return the file's line for every line of the text, empty where they are the same; the text's date; and its names."""
    if isinstance(note, session_logs.SessionText):
        return note.lines, note.date, ()
    return (), notes.find_note_date(file.path, note.text), read_front_matter(note.text).names
