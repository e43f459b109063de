"""The agent's session logs: list them, read what was said, without secrets, and tell when one is worth indexing again.

Only regular files in the agent's own folders count, `<state dir>/agents/<agent>/sessions` and that of the journal: `*.jsonl`, and
the archives that OpenClaw makes when a session is reset or deleted, `*.jsonl.reset.<time>`, maybe compressed (`.zst`). Its
checkpoints, `<id>.checkpoint.<uuid>.jsonl`, count where the log itself holds less, or is gone; its trajectories never do.
A log is JSONL. `transcripts` knows the forms of entries. Content is a string or a list of parts, of which only text counts.
"""

from __future__ import annotations

import io
import os
import posixpath
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import IO, NamedTuple

from memory_core.config.agent import JOURNAL_SUFFIX, AgentConfig
from memory_core.config.settings import SessionDeltas
from memory_core.errors import FileUnreadable, PathRefused, SessionsUnusable
from memory_core.records import FileFailure, MemoryFile
from memory_core.sources import notes
from memory_core.sources.files import Listing
from memory_core.sources.notes import NoteText
from memory_core.sources.refusals import SYMLINK, UNFIT_NAME, describe_os_error
from memory_core.sources.roots import read_stamp
from memory_core.sources.transcripts import SHOWN, SPEAKERS, SUFFIX, parse_entry, parse_message
from memory_core.text.dates import get_day, read_time
from memory_core.text.markdown import Line, close_fence, parse_heading, scan
from memory_core.text.messages import SILENT_REPLY, is_silent_reply

# Hosts ask for a flush turn under two contracts; the prompts of both end like this, whatever stands before.
_FLUSH = re.compile(rf"\breply\s+with\s+(?:exactly\s+)?\W{{0,2}}{SILENT_REPLY}\b", re.IGNORECASE)
_SAVING = re.compile(r"\bmemor(?:y|ies)\b|\bstore\b", re.IGNORECASE)


class Conversation(NamedTuple):
    """The messages of user and assistant in one session.

    Attributes:
        text: One or more paragraphs for each message, with `User: ` or `Assistant: ` before it and a blank line behind it;
            "" if nothing was said.
        lines: For each line of the text, the line of the log that holds its message, from 1.
        date: The day of the first entry with a timestamp, as YYYY-MM-DD; None if no entry has one.
    """

    text: str
    lines: tuple[int, ...]
    date: str | None = None


def read_transcript(log: Iterable[bytes], zone: str | None = None) -> Conversation:
    """Read a session log.

    Left out are other roles, tool payloads, thinking, images, NO_REPLY, flush turns with all replies in them, and lines
    that are no JSON, such as a last line that is still being written. A message keeps its own lines; headings become
    bold, since they would also cover the messages after it.

    Args:
        log: The lines of the file, line ends included.
        zone: The user's time zone, which says what day it was; None is this machine's.
    """
    from memory_core.sources.redaction import redact

    text: list[str] = []
    numbers: list[int] = []
    date: str | None = None
    flushing = False
    for number, line in enumerate(log, start=1):
        entry = parse_entry(line)
        if date is None and (stamp := read_time(entry.get("timestamp"))) is not None:
            date = get_day(zone, stamp).isoformat()
        role, said = parse_message(entry)
        if not said:
            continue
        if role == "user":
            flushing = _is_flush(said)
        if not flushing and not is_silent_reply(said):
            message = _render(SPEAKERS[role], redact(said))
            text += message
            numbers += [number] * len(message)
    return Conversation("\n".join(text), tuple(numbers), date)


def _is_flush(text: str) -> bool:
    """Return True if a user's message is the host's request to save memories before compaction."""
    return _FLUSH.search(text) is not None and _SAVING.search(text) is not None


def _render(speaker: str, text: str) -> list[str]:
    """Render one message as lines, the last one blank, so that no fence or heading reaches into the next message."""
    lines = text.split("\n")
    kinds = scan(lines)
    lines = [_embolden(line) if kind is Line.HEADING else line for line, kind in zip(lines, kinds, strict=True)]
    if kinds[0] in {Line.TEXT, Line.HEADING}:
        lines[0] = f"{speaker}: {lines[0]}"
    else:  # a list, a fence or a table keeps its first line to itself
        lines.insert(0, f"{speaker}:")
    close_fence(lines)
    return [*lines, ""]


def _embolden(line: str) -> str:
    found = parse_heading(line)
    return f"**{found[1]}**" if found and found[1] else ""


SOURCE = "sessions"
_COMPRESSED = ".zst"
_LOG = re.compile(r"\.jsonl(?:\.(?:reset|deleted)\.[\d-]+T[\d.-]+Z)?(?:\.zst)?\Z")
_DATABASE = "agent/openclaw-agent.sqlite"  # in which OpenClaw keeps its sessions from 2026.8 on
_IN_DATABASE = "is a database, which is not read: of sessions in it, only what the agent writes into notes is found"
_CHECKPOINT = re.compile(r"\.checkpoint\.[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}\Z", re.IGNORECASE)
_TRAJECTORY = ".trajectory.jsonl"
MAX_LOG_BYTES = 512 * 1024 * 1024  # read line by line; only what was said is kept


def list_sessions(config: AgentConfig) -> Listing:
    """List the agent's session logs, the last changed first; none unless sessions are one of its sources."""
    found: list[MemoryFile] = []
    failures: list[FileFailure] = []
    has_hard_links = False
    state = posixpath.realpath(config.state_dir)
    for wanted in config.session_folders:
        folder = posixpath.join(state, wanted.relative_to(config.state_dir))
        if posixpath.realpath(folder) != folder:
            failures.append(_failure("", SYMLINK))
            continue
        try:
            with os.scandir(folder) as entries:
                own: list[MemoryFile] = []
                for entry in entries:
                    if is_log(entry.name) and entry.is_file(follow_symlinks=False):
                        has_hard_links |= _add_log(entry, own, failures) > 1
                found += _leave_out_checkpoints(own)
        except FileNotFoundError:
            pass  # no session yet
        except OSError as error:
            failures.append(_failure("", describe_os_error(error)))
    database = config.sessions_dir.parent / _DATABASE
    if config.sessions_dir in config.session_folders and database.exists():
        place = database.relative_to(config.state_dir).as_posix()
        failures.append(FileFailure(path=place, reason=_IN_DATABASE))
    found.sort(key=lambda file: (-file.stamp.mtime_ns, file.path))
    return Listing(tuple(found), tuple(failures), has_hard_links)


def read_session(file: MemoryFile, zone: str | None = None) -> NoteText:
    """Read what was said in a session, without secrets; see `read_transcript`.

    Raises:
        FileUnreadable: See `notes.open_file`.
    """
    content = blake2b(digest_size=16)

    def hash_lines(stream: Iterable[bytes]) -> Iterator[bytes]:
        for line in stream:
            content.update(line)
            yield line

    with notes.open_file(file, max_bytes=MAX_LOG_BYTES) as (info, stream):
        lines = _decompress(file.path, stream) if file.path.endswith(_COMPRESSED) else stream
        said = read_transcript(hash_lines(lines), zone)
    return NoteText(said.text, content.digest(), False, read_stamp(info), b"", said.lines, said.date)


def _decompress(path: str, stream: IO[bytes]) -> Iterator[bytes]:
    """Yield the lines of a log that is compressed by Zstandard.

    Raises:
        FileUnreadable: No package can read it, it is damaged, or longer than a log may be.
    """
    if sys.version_info >= (3, 14):
        from compression import zstd

        error, whole = zstd.ZstdError, io.BufferedReader(zstd.ZstdFile(stream))
    else:
        try:
            import zstandard
        except ImportError:
            reason = "is compressed by Zstandard: pip install zstandard, or decompress it"
            raise FileUnreadable(path, reason) from None
        error, whole = zstandard.ZstdError, io.BufferedReader(zstandard.ZstdDecompressor().stream_reader(stream))
    read = 0
    try:
        for line in whole:
            read += len(line)
            if read > MAX_LOG_BYTES:
                raise FileUnreadable(path, f"holds more than {MAX_LOG_BYTES:,} bytes")
            yield line
    except (error, EOFError) as problem:
        raise FileUnreadable(path, f"is damaged: {problem}") from problem


def has_outgrown(file: MemoryFile, indexed_bytes: int, deltas: SessionDeltas) -> bool:
    """Return True if a session log that changed since it was indexed is worth indexing again.

    A file of the journal always is: what was said in one chat is asked for in the next. Another log is if it grew by enough
    bytes or lines, or if the indexed part is no longer its beginning: the log is no larger than before, or no line ends where
    the indexed part did. (A log that was rewritten to a larger one, with a line that
    ends at that very byte, is found once it has grown enough, or by the next process.)

    Args:
        file: The log as listed now.
        indexed_bytes: Its size when it was indexed; 0 if it never was.
        deltas: The growth that is enough.
    """
    grown = file.stamp.size_bytes - indexed_bytes
    if file.real_path.parent.suffix == JOURNAL_SUFFIX or grown <= 0 or grown >= deltas.delta_bytes:
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
    return _LOG.search(path) is not None and _TRAJECTORY not in path


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
    if path.startswith(SHOWN) and _LOG.search(path):
        raise PathRefused(
            path,
            "is a session log, of which only what a search quotes is shown",
            action="search for it, or read a note",
        )


def _leave_out_checkpoints(logs: Sequence[MemoryFile]) -> Iterator[MemoryFile]:
    """Yield the logs, and of each session the longest checkpoint where that is longer than the session's logs."""
    sizes: dict[str, int] = {}
    longest: dict[str, MemoryFile] = {}
    for log in logs:
        session = log.path.partition(SUFFIX)[0]
        if parent := _CHECKPOINT.search(session):
            session = session[: parent.start()]
            longest[session] = max(longest.get(session, log), log, key=lambda each: each.stamp.size_bytes)
        else:
            yield log
            sizes[session] = max(sizes.get(session, 0), log.stamp.size_bytes)
    yield from (log for session, log in longest.items() if log.stamp.size_bytes > sizes.get(session, 0))


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
