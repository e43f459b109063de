"""Which session logs an agent has, what they say, when a live one is worth indexing again, and where a hit stands in its log.

Only the agent's own folder is looked at, `<state dir>/agents/<agent>/sessions`, and only regular files `*.jsonl` in it.
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

from memory_core import files
from memory_core.errors import FileUnreadable, NotIndexed, PathRefused, SessionsUnusable
from memory_core.files import Listing, NoteText
from memory_core.records import FileFailure, Hit, MemoryFile
from memory_core.roots import SYMLINK, UNFIT_NAME, os_reason
from memory_core.settings import AgentConfig, SessionDeltas

if TYPE_CHECKING:
    from memory_core.store import Store
    from memory_core.store.connection import Connection

SOURCE = "sessions"
SHOWN = "sessions/"  # before the name of a log
SUFFIX = ".jsonl"
MAX_LOG_BYTES = 512 * 1024 * 1024  # read line by line; only what was said is kept


@dataclass(frozen=True, slots=True)
class SessionText(NoteText):
    """A session log as it was read.

    Attributes:
        lines: As `Transcript.lines`.
        date: As `Transcript.date`.
    """

    lines: Sequence[int]
    date: str | None


def list_sessions(config: AgentConfig) -> Listing:
    """The agent's session logs, those last written to first; none unless "sessions" is one of its sources."""
    if SOURCE not in config.search.sources:
        return Listing((), ())
    state = posixpath.realpath(config.state_dir)
    folder = posixpath.join(state, config.sessions_dir.relative_to(config.state_dir))
    if posixpath.realpath(folder) != folder:
        return Listing((), (_failure("", SYMLINK),))
    found: list[MemoryFile] = []
    failures: list[FileFailure] = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name.endswith(SUFFIX) and entry.is_file(follow_symlinks=False):
                    _look(entry, found, failures)
    except FileNotFoundError:
        pass  # no session yet
    except OSError as error:
        failures.append(_failure("", os_reason(error)))
    return Listing(tuple(sorted(found, key=lambda file: (-file.mtime_ns, file.path))), tuple(failures))


def read_session(file: MemoryFile) -> SessionText:
    """What was said in a session, without secrets.

    Raises:
        FileUnreadable: As `files.opened`.
    """
    content = blake2b(digest_size=16)

    def hashed(stream: Iterable[bytes]) -> Iterator[bytes]:
        for line in stream:
            content.update(line)
            yield line

    from memory_core.transcripts import read_transcript

    with files.opened(file, max_bytes=MAX_LOG_BYTES) as (info, stream):
        said = read_transcript(hashed(stream))
    return SessionText(said.text, content.digest(), False, info.st_size, info.st_mtime_ns, said.lines, said.date)


def has_outgrown(file: MemoryFile, indexed_bytes: int, deltas: SessionDeltas) -> bool:
    """Whether a session that changed since it was indexed is worth indexing again.

    It is when it grew by enough bytes or lines, and whenever what was indexed is no longer its beginning: when it is no
    larger than it was, or no line ends where the indexed ones did. (A log that was rewritten to a larger one, with a line
    that ends at that very byte, is found when it has grown enough, or by the next process.)

    Args:
        file: As it is listed now.
        indexed_bytes: Its size when it was indexed; 0 when it never was.
        deltas: What is enough.
    """
    grown = file.size_bytes - indexed_bytes
    if grown <= 0 or grown >= deltas.delta_bytes:
        return True
    try:
        with files.opened(file, max_bytes=MAX_LOG_BYTES) as (_, stream):
            stream.seek(max(indexed_bytes - 1, 0))
            ended = indexed_bytes == 0 or stream.read(1) == b"\n"
            return not ended or stream.read(grown).count(b"\n") >= deltas.delta_messages
    except FileUnreadable:
        return True  # who reads it whole tells why


def wants_sync(config: AgentConfig, store: Store, session_key: str) -> bool:
    """Whether a session that was written to is worth indexing again, if any is indexed at all.

    True also when it is not known which log is its own.
    """
    if SOURCE not in config.search.sources:
        return False
    file = log_of(config, session_key)
    if file is None:
        return True
    try:
        with store.read() as connection:
            held = connection.execute(
                "SELECT mtime_ns, size FROM files WHERE source = ? AND path = ?", (SOURCE, file.path)
            ).fetchone()
    except NotIndexed:
        held = None
    mtime_ns, size_bytes = held or (0, 0)
    if (mtime_ns, size_bytes) == (file.mtime_ns, file.size_bytes):
        return False
    return has_outgrown(file, size_bytes, config.search.sync.sessions)


def is_log(path: str) -> bool:
    """Whether an indexed file is a session's log; a backend may serve others as sessions, which are notes."""
    return path.endswith(SUFFIX)


def log_of(config: AgentConfig, session_key: str) -> MemoryFile | None:
    """The log of the host's session, by its `sessions.json`; None when that does not tell, or there is no such log."""
    from memory_core import session_store

    try:
        entry = session_store.read_entry(config.sessions_dir / session_store.FILE_NAME, session_key)
    except SessionsUnusable:
        return None
    name = Path(str(entry.get("sessionFile") or f"{entry.get('sessionId', '')}{SUFFIX}")).name
    return next((file for file in list_sessions(config).files if file.path == SHOWN + name), None)


def refuse_log(path: str) -> None:
    """Say why a session's log is not read aloud.

    Raises:
        PathRefused: The path is one that search shows for a session.
    """
    if path.startswith(SHOWN) and path.endswith(SUFFIX):
        raise PathRefused(
            path,
            "is a session log, of which only what memory_search quotes is shown",
            action="search for it, or read a note",
        )


def cite(connection: Connection, hits: Iterable[Hit]) -> list[Hit]:
    """The same hits, those from sessions with lines of their log instead of lines of its text.

    Args:
        connection: Inside the read transaction in which they were found.
        hits: As `search` gives them.
    """
    from memory_core.store.rows import log_lines

    lines = cache(lambda path: log_lines(connection, SOURCE, path))
    return [_cited(hit, lines(hit.path)) if is_log(hit.path) else hit for hit in hits]


def _cited(hit: Hit, lines: Sequence[int]) -> Hit:
    return replace(hit, start_line=lines[hit.start_line - 1], end_line=lines[hit.end_line - 1])


def _look(entry: os.DirEntry[str], found: list[MemoryFile], failures: list[FileFailure]) -> None:
    if not entry.name.isprintable() or "\\" in entry.name:
        failures.append(_failure(ascii(entry.name), UNFIT_NAME))
        return
    try:
        info = entry.stat(follow_symlinks=False)
    except FileNotFoundError:
        return  # it went since the folder was read
    found.append(
        MemoryFile(
            source=SOURCE,
            path=SHOWN + entry.name,
            real_path=Path(entry.path),
            size_bytes=info.st_size,
            mtime_ns=info.st_mtime_ns,
        )
    )


def _failure(name: str, reason: str) -> FileFailure:
    return FileFailure(path=(SHOWN + name).rstrip("/"), reason=reason)
