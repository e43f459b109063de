"""Notes as they stand on disk: their text, their hash and the date that they are about."""

from __future__ import annotations

import os
import posixpath
import re
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from hashlib import blake2b, sha256
from pathlib import Path
from typing import BinaryIO

from memory_core.atomic import BINARY, CLOEXEC, DIRECTORY, NOFOLLOW, NONBLOCK, OPENS_BELOW, PATH_ONLY
from memory_core.errors import FileUnreadable
from memory_core.records import FileStamp, MemoryFile
from memory_core.sources.refusals import SYMLINK, TOO_LARGE, describe_os_error, refuse_encoding, refuse_type
from memory_core.sources.roots import read_stamp
from memory_core.text.dates import get_day
from memory_core.text.markdown import (
    Line,
    find_field_date,
    leave_out_comments,
    leave_out_separators,
    parse_heading,
    read_front_matter,
    scan,
    split_lines,
    strip_suffix,
)

MAX_NOTE_BYTES = 10 * 1024 * 1024
_WALKS = OPENS_BELOW and PATH_ONLY != 0  # folders are opened one by one

# A year, a month in digits or by name, a day: 2026/09/03/standup, 2026-09/03, 2026/09-September/03-Thursday, 2026/Sep/3.
_NESTED = re.compile(
    r"(?:^|/)((?:19|20)\d\d)[-/._](?:\1[-_. ]?)?(?:(\d\d?)[-_. ]*)?([^\W\d]*)/"
    r"(?:[^\W\d]+[-_. ]+)?(\d\d?)(?:[-_. ]+[^\W\d]+)?(?=/|$)"
)
_DATED_HEADING = re.compile(r"^ {0,3}#.*\d{4}", re.MULTILINE | re.ASCII)
_DIGITS = re.compile(r"(?<!\d)\d{4}-\d\d-\d\d(?!\d)", re.ASCII)


_counting = threading.Lock()
_writes = 0  # of this process, to whichever note


def record_write() -> None:
    """Count one more write of this process to a note."""
    global _writes  # noqa: PLW0603 -- one count for all indexes of this process
    with _counting:
        _writes += 1


def count_writes() -> int:
    """Return how often this process has written to a note, so that a search knows of it before the system tells."""
    return _writes


@dataclass(frozen=True, slots=True)
class NoteText:
    """A note as it was read.

    Attributes:
        text: Without a byte order mark and, in an Obsidian vault, without comments; every line end is LF. Lines that
            hold a section sign alone are empty.
        hash: BLAKE2b of the bytes on disk, 16 bytes.
        replaced: Some lines were no UTF-8; they were read as Windows-1252.
        stamp: The file's before it was read, so that a change meanwhile shows at the next listing.
        data: The bytes on disk; empty for a session log.
        lines: Of a session log, for each line of the text the line of the file that holds its message, from 1.
        date: Of a session log, the day of its first entry with a timestamp, as YYYY-MM-DD; None if no entry has one.
    """

    text: str
    hash: bytes
    replaced: bool
    stamp: FileStamp
    data: bytes
    lines: Sequence[int] = ()
    date: str | None = None


def read_note(file: MemoryFile) -> NoteText:
    """Read a note whole. Symbolic links are not followed, and pipes and devices not read.

    Raises:
        FileUnreadable: It is gone, not permitted, no regular file, too large, or no text.
    """
    data, stamp = read_bytes(file)
    if problem := refuse_encoding(data):
        raise FileUnreadable(file.path, problem)
    return to_text(data, stamp, in_vault=file.in_vault)


def read_bytes(file: MemoryFile) -> tuple[bytes, FileStamp]:
    """Read the bytes of a note, and its stamp from before it was read.

    Raises:
        FileUnreadable: See `read_note`; the bytes may be no text.
    """
    with open_file(file, max_bytes=MAX_NOTE_BYTES) as (info, stream):
        return stream.read(), read_stamp(info)


def to_text(data: bytes, stamp: FileStamp, *, in_vault: bool) -> NoteText:
    """Return the bytes of a note as the text that is indexed and shown. Pure."""
    text, replaced = _decode(data)
    text = leave_out_separators(leave_out_comments(text) if in_vault else text)
    return NoteText(text, hash_bytes(data), replaced, stamp, data)


def hash_bytes(data: bytes) -> bytes:
    """Return the hash by which the bytes of a note are known."""
    return blake2b(data, digest_size=16).digest()


def find_note_date(path: str, text: str) -> str | None:
    """Find the date that a note is about.

    Its name comes first, also where a year and a month are folders, then its front matter, a field at its head, its first
    heading with a date, and the folders above it, the nearest first. Where none names a day, name and folders may name a month,
    a quarter or a half of a year, of which it is the first day.

    Returns:
        The date as YYYY-MM-DD; None if there is none.
    """
    from memory_core.text.periods import HALF_YEAR, find_written_day

    *folders, name = strip_suffix(path).split("/")
    named = find_path_day(path) or read_front_matter(text).date or find_field_date(text)
    named = named or next(filter(None, (_read_heading_day(line) for _, line in _list_headings(text))), None)
    named = named or next(filter(None, map(find_written_day, reversed(folders))), None)
    places = (name, "/".join(folders), " ".join((*folders, name)))
    return named or next(filter(None, (find_written_day(place, HALF_YEAR) for place in places)), None)


def find_path_day(path: str) -> str | None:
    """Find the day in the name of a note, or spread over the folders above it; None if there is none."""
    from memory_core.text.periods import find_written_day

    place = strip_suffix(path)
    return find_written_day(place.rpartition("/")[2]) or _find_nested_day(place)


def find_note_day(file: MemoryFile, text: str, timezone: str | None = None) -> date:
    """Find the day by which a note is filtered: its date, else that of its last change in a time zone; see `get_today`."""
    found = find_note_date(file.path, text)
    return date.fromisoformat(found) if found else get_day(timezone, file.stamp.mtime_ns / 1e9)


@contextmanager
def open_file(file: MemoryFile, *, max_bytes: int) -> Iterator[tuple[os.stat_result, BinaryIO]]:
    """Open a listed file for reading; yields its status, asked for before anything is read, and the stream.

    Raises:
        FileUnreadable: It is gone, not permitted, no regular file, larger than `max_bytes`, or by now behind a symbolic
            link; or reading fails.
    """
    real = str(file.real_path)
    try:
        if not (NOFOLLOW and NONBLOCK) and (problem := refuse_type(os.lstat(real))):
            raise FileUnreadable(
                file.path, problem
            )  # to open a link or a pipe is not refused here, so they are not opened
        fd = open_past_no_link(real)
        try:
            info = os.fstat(fd)
            if problem := refuse_type(info) or _refuse_size(file, info, max_bytes):
                raise FileUnreadable(file.path, problem)
            if not _WALKS and posixpath.realpath(real) != real:
                raise FileUnreadable(file.path, SYMLINK)
            with os.fdopen(fd, "rb", closefd=False) as stream:
                yield info, stream
        finally:
            os.close(fd)
    except OSError as error:
        is_linked = isinstance(error, NotADirectoryError) and posixpath.realpath(real) != real
        raise FileUnreadable(file.path, SYMLINK if is_linked else describe_os_error(error)) from error


def open_past_no_link(real: str) -> int:
    """Open a file, folder by folder where the system can: one may have become a link since the listing."""
    flags = os.O_RDONLY | NOFOLLOW | NONBLOCK | CLOEXEC | BINARY
    if not _WALKS:
        return os.open(real, flags)
    *above, name = real.split("/")
    folder = os.open("/", PATH_ONLY | CLOEXEC)
    try:
        for each in above[1:]:
            outer, folder = folder, os.open(each, PATH_ONLY | DIRECTORY | NOFOLLOW | CLOEXEC, dir_fd=folder)
            os.close(outer)
        return os.open(name, flags, dir_fd=folder)
    finally:
        os.close(folder)


def _refuse_size(file: MemoryFile, info: os.stat_result, max_bytes: int) -> str | None:
    if info.st_size <= max_bytes:
        return None
    kind, advice = ("session logs", "") if file.source == "sessions" else ("notes", "; split it, or exclude it")
    return f"{TOO_LARGE}: {info.st_size:,} bytes, and {kind} are read up to {max_bytes:,}{advice}"


def _decode(data: bytes) -> tuple[str, bool]:
    """Decode UTF-8, and lines that are none as Windows-1252, as old editors save; returns the text, and True if one was."""
    data = data.removeprefix(b"\xef\xbb\xbf")
    try:
        return data.decode().replace("\r\n", "\n").replace("\r", "\n"), False
    except UnicodeDecodeError:
        lines = map(_decode_line, data.splitlines(keepends=True))
        return "".join(lines).replace("\r\n", "\n").replace("\r", "\n"), True


def _decode_line(line: bytes) -> str:
    try:
        return line.decode()
    except UnicodeDecodeError:
        return line.decode("cp1252", "replace")


def _find_nested_day(place: str) -> str | None:
    """Find the day that is spread over the names of folders, and that of a note in them."""
    if (found := _NESTED.search(place)) is None:
        return None
    from memory_core.text.periods import find_written_day

    year, month, name, day = found.groups()
    return find_written_day(f"{year}-{month}-{day}" if month else f"{day} {name} {year}")


def _list_headings(text: str) -> Iterator[tuple[int, str]]:
    """Yield the headings of a text with their lines, from 0; none where no heading may hold a date, as in most notes."""
    if _DATED_HEADING.search(text):
        lines = split_lines(text)
        for number, (line, kind) in enumerate(zip(lines, scan(lines), strict=True)):
            if kind is Line.HEADING:
                yield number, line


def find_section_days(path: str, text: str, date: str | None) -> dict[int, str | None]:
    """Find the sections of a log of several days: by line, from 0, the day of what follows, where the nearest heading gives one.

    Args:
        path: Of the note; the day in it, if there is one, is that of all sections.
        text: Of the note.
        date: Of the note; a note of this day alone is no log.
    """
    if find_path_day(path):
        return {}
    found: dict[int, str | None] = {}
    above: list[tuple[int, str | None]] = []
    for number, line in _list_headings(text):
        level, _ = parse_heading(line) or (1, line)
        above = [*(each for each in above if each[0] < level), (level, _read_heading_day(line))]
        found[number] = next((day for _, day in reversed(above) if day), None)
    return found if {*found.values()} - {None, date} else {}


def _read_heading_day(line: str) -> str | None:
    """Return the day of a heading; below the first level it opens it, as in "## Friday, 3 May 2026", or is written in digits."""
    from memory_core.text.periods import find_written_day, names_day

    level, title = parse_heading(line) or (1, line)
    opens = level == 1 or title[:1].isdigit() or names_day(title.partition(" ")[0])
    return find_written_day(title) if opens or _DIGITS.search(title) else None


def find_intent(workspace: Path, state_dir: Path) -> Path:
    """Return the path of the file that tells what is being written into a workspace's notes; their lock lies next to it."""
    key = sha256(os.fsencode(workspace.resolve())).hexdigest()[:16]
    return state_dir / "memory" / f"notes-{key}.journal"
