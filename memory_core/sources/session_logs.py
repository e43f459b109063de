"""The agent's session logs: list them, read them, and tell when a live one is worth indexing again.

Only regular files `*.jsonl` in the agent's own folder count, `<state dir>/agents/<agent>/sessions`.
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

from memory_core.config.agent import AgentConfig
from memory_core.config.settings import SessionDeltas
from memory_core.errors import FileUnreadable, PathRefused, SessionsUnusable
from memory_core.records import FileFailure, MemoryFile
from memory_core.sources import notes
from memory_core.sources.files import Listing
from memory_core.sources.notes import NoteText
from memory_core.sources.refusals import SYMLINK, UNFIT_NAME, describe_os_error
from memory_core.sources.stamps import read_stamp

SOURCE = "sessions"
SHOWN = "sessions/"  # the prefix under which search shows a log
SUFFIX = ".jsonl"
MAX_LOG_BYTES = 512 * 1024 * 1024  # read line by line; only what was said is kept


@dataclass(frozen=True, slots=True)
class SessionText(NoteText):
    """A session log as it was read.

    Attributes:
        lines: See `Conversation.lines`.
        date: See `Conversation.date`.
    """

    lines: Sequence[int]
    date: str | None


def list_sessions(config: AgentConfig) -> Listing:
    """List the agent's session logs, the last changed first; none unless "sessions" is one of its sources."""
    if SOURCE not in config.search.sources:
        return Listing((), ())
    state = posixpath.realpath(config.state_dir)
    folder = posixpath.join(state, config.sessions_dir.relative_to(config.state_dir))
    if posixpath.realpath(folder) != folder:
        return Listing((), (_failure("", SYMLINK),))
    found: list[MemoryFile] = []
    failures: list[FileFailure] = []
    has_hard_links = False
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name.endswith(SUFFIX) and entry.is_file(follow_symlinks=False):
                    has_hard_links |= _add_log(entry, found, failures) > 1
    except FileNotFoundError:
        pass  # no session yet
    except OSError as error:
        failures.append(_failure("", describe_os_error(error)))
    found.sort(key=lambda file: (-file.stamp.mtime_ns, file.path))
    return Listing(tuple(found), tuple(failures), has_hard_links)


def read_session(file: MemoryFile) -> SessionText:
    """Read what was said in a session, without secrets.

    Raises:
        FileUnreadable: See `notes.open_file`.
    """
    content = blake2b(digest_size=16)

    def hash_lines(stream: Iterable[bytes]) -> Iterator[bytes]:
        for line in stream:
            content.update(line)
            yield line

    from memory_core.sources.transcripts import read_transcript

    with notes.open_file(file, max_bytes=MAX_LOG_BYTES) as (info, stream):
        said = read_transcript(hash_lines(stream))
    return SessionText(said.text, content.digest(), False, read_stamp(info), b"", said.lines, said.date)


def has_outgrown(file: MemoryFile, indexed_bytes: int, deltas: SessionDeltas) -> bool:
    """Return True if a session log that changed since it was indexed is worth indexing again.

    It is if it grew by enough bytes or lines, or if the indexed part is no longer its beginning: the log is no larger
    than before, or no line ends where the indexed part did. (A log that was rewritten to a larger one, with a line that
    ends at that very byte, is found once it has grown enough, or by the next process.)

    Args:
        file: The log as listed now.
        indexed_bytes: Its size when it was indexed; 0 if it never was.
        deltas: The growth that is enough.
    """
    grown = file.stamp.size_bytes - indexed_bytes
    if grown <= 0 or grown >= deltas.delta_bytes:
        return True
    try:
        with notes.open_file(file, max_bytes=MAX_LOG_BYTES) as (_, stream):
            stream.seek(max(indexed_bytes - 1, 0))
            ended = indexed_bytes == 0 or stream.read(1) == b"\n"
            return not ended or stream.read(grown).count(b"\n") >= deltas.delta_messages
    except FileUnreadable:
        return True  # reading it whole will report the reason


def is_log(path: str) -> bool:
    """Return True if an indexed file is a session log; other files that a backend serves as sessions are notes."""
    return path.endswith(SUFFIX)


def find_log(config: AgentConfig, session_key: str) -> MemoryFile | None:
    """Find the log of the host's session by its `sessions.json`; None if the session is not in it, or has no log."""
    from memory_core.sources import sessions_json

    try:
        entry = sessions_json.read_entry(config.sessions_dir / sessions_json.FILE_NAME, session_key)
    except SessionsUnusable:
        return None
    name = Path(str(entry.get("sessionFile") or f"{entry.get('sessionId', '')}{SUFFIX}")).name
    return next((file for file in list_sessions(config).files if file.path == SHOWN + name), None)


def refuse_log(path: str) -> None:
    """Refuse to return the text of a session log.

    Raises:
        PathRefused: Search shows a session log under this path.
    """
    if path.startswith(SHOWN) and path.endswith(SUFFIX):
        raise PathRefused(
            path,
            "is a session log, of which only what a search quotes is shown",
            action="search for it, or read a note",
        )


def _add_log(entry: os.DirEntry[str], found: list[MemoryFile], failures: list[FileFailure]) -> int:
    """Add a log, or its failure; return how many names the file has, 0 if it was not added."""
    if not entry.name.isprintable() or "\\" in entry.name:
        failures.append(_failure(ascii(entry.name), UNFIT_NAME))
        return 0
    try:
        info = entry.stat(follow_symlinks=False)
    except FileNotFoundError:
        return 0  # it went since the folder was read
    found.append(
        MemoryFile(
            source=SOURCE,
            path=SHOWN + entry.name,
            real_path=Path(entry.path),
            stamp=read_stamp(info),
        )
    )
    return info.st_nlink


def _failure(name: str, reason: str) -> FileFailure:
    return FileFailure(path=(SHOWN + name).rstrip("/"), reason=reason)
