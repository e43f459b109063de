"""Which files are an agent's memory, and what they hold. Reads the file system, never writes to it.

`list_files` sweeps and `resolve` looks one path up, both over the same roots in the same order with the same refusals,
so that what is listed and what may be read cannot drift apart. Symbolic links are ignored everywhere below a root.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, datetime
from hashlib import blake2b
from pathlib import Path
from typing import BinaryIO

from memory_core.errors import FileUnreadable, PathRefused
from memory_core.markdown import Line, scan, split_lines
from memory_core.records import FileFailure, MemoryFile
from memory_core.roots import (
    OUTSIDE,
    SUFFIX,
    SYMLINK,
    Root,
    expand_home,
    find_roots,
    not_regular,
    os_reason,
)
from memory_core.settings import AgentConfig

MAX_NOTE_BYTES = 10 * 1024 * 1024
MAX_PATH_BYTES = 4096  # PATH_MAX of Linux; longer ones cannot be opened
MAX_NAME_BYTES = 255  # NAME_MAX of all common file systems

_DATE = re.compile(r"(?<!\d)\d{4}-\d\d-\d\d(?!\d)", re.ASCII)
_DATED_HEADING = re.compile(r"^ {0,3}#.*\d{4}-\d\d-\d\d", re.MULTILINE)
_CONTROL = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Listing:
    """What a sweep found.

    Attributes:
        files: Sorted by source, then path; each real path once.
        failures: Folders that cannot be read, extra paths that do not exist, and the like, sorted by path.
    """

    files: tuple[MemoryFile, ...]
    failures: tuple[FileFailure, ...]


@dataclass(frozen=True, slots=True)
class NoteText:
    """A note as it was read.

    Attributes:
        text: Without a byte order mark; CRLF is LF.
        hash: BLAKE2b of the bytes on disk, 16 bytes.
        replaced: Some bytes were no UTF-8; replacement characters stand for them.
        size_bytes: Of the file before it was read, so that a change meanwhile shows at the next listing.
        mtime_ns: The same.
    """

    text: str
    hash: bytes
    replaced: bool
    size_bytes: int
    mtime_ns: int


def list_files(config: AgentConfig) -> Listing:
    """All files of the agent's memory but session logs; none when the workspace does not exist.

    A file that lies in several roots is listed once: "memory" comes before "workspace", and both before extra paths,
    which count as "memory" and are listed whatever the sources; folders that a backend adds come last. `memory.md` is
    listed beside `MEMORY.md` only where it is another file.
    """
    found: dict[str, MemoryFile] = {}
    failures: list[FileFailure] = []
    for root in find_roots(config):
        root.sweep(found, failures)
    files = sorted(found.values(), key=lambda file: (file.source, file.path))
    return Listing(tuple(files), tuple(sorted(failures, key=lambda failure: failure.path)))


def resolve(config: AgentConfig, path: str) -> MemoryFile | None:
    """The file that `list_files` lists under a path, however it is spelt, without a sweep.

    Args:
        config: The agent's.
        path: As listed, or absolute; may hold backslashes, `.` and `..`.

    Returns:
        None when such a file would be listed but does not exist.

    Raises:
        PathRefused: No such file would ever be listed; says why.
    """
    named = _absolute(config, path)
    reasons: list[str] = []
    served = False
    for root in find_roots(config):
        if (rest := root.rest(named)) is not None:
            if (reason := root.refusal(rest)) is not None:
                reasons.append(reason)
            elif (file := _look_up(root, rest, path)) is not None:
                return file
            else:
                served = True  # though not there: a folder that only seems to lie in this root may have it
    if served:
        return None
    raise PathRefused(path, reasons[0] if reasons else OUTSIDE)


def read_note(file: MemoryFile) -> NoteText:
    """Read a note whole. Symbolic links are not followed, and pipes and devices not read.

    Raises:
        FileUnreadable: It is gone, not permitted, no regular file, too large, or no text.
    """
    with opened(file, max_bytes=MAX_NOTE_BYTES) as (info, stream):
        data = stream.read()
    if problem := _binary(data):
        raise FileUnreadable(file.path, problem)
    text, replaced = _decoded(data)
    digest = blake2b(data, digest_size=16).digest()
    return NoteText(text, digest, replaced, info.st_size, info.st_mtime_ns)


def note_date(path: str, text: str) -> str | None:
    """The date that a note is about, as YYYY-MM-DD: from its file name, else from the first heading that holds one.

    None when neither does.
    """
    return _first_date(path.rsplit("/", 1)[-1].removesuffix(SUFFIX)) or _heading_date(text)


def note_day(file: MemoryFile, text: str) -> date:
    """The day by which a note is filtered: its date, or where it has none the local day on which it was last changed."""
    noted = note_date(file.path, text)
    return date.fromisoformat(noted) if noted else datetime.fromtimestamp(file.mtime_ns / 1e9).astimezone().date()


def _absolute(config: AgentConfig, path: str) -> str:
    """A caller's path, absolute and normalised by its letters alone."""
    if not path.strip():
        raise PathRefused(path, "is empty")
    if _CONTROL.search(path):
        raise PathRefused(ascii(path), "holds control characters")
    slashed = path.replace("\\", "/")
    if (
        len(slashed.encode()) > MAX_PATH_BYTES
        or max(len(name.encode()) for name in slashed.split("/")) > MAX_NAME_BYTES
    ):
        raise PathRefused(f"{path[:40]}…", "is too long for a path")
    workspace = posixpath.realpath(config.workspace)
    absolute = posixpath.normpath(posixpath.join(workspace, expand_home(slashed)))
    named = str(config.workspace)
    return workspace + absolute[len(named) :] if f"{absolute}/".startswith(f"{named}/") else absolute


def _look_up(root: Root, rest: str, path: str) -> MemoryFile | None:
    real = root.path(rest)
    if posixpath.realpath(real) != real:
        raise PathRefused(path, SYMLINK)
    try:
        info = os.lstat(real)
        spelt = not rest or _is_spelt_so(root, rest)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise PathRefused(path, os_reason(error)) from error
    if problem := not_regular(info):
        raise PathRefused(path, problem)
    return root.file(rest, Path(real), info) if spelt else None


def _is_spelt_so(root: Root, rest: str) -> bool:
    """Whether folders list these very names: file systems that ignore case would let `user.md` pass for `USER.md`."""
    folder = root.real
    for name in rest.split("/"):
        with os.scandir(folder) as entries:
            if all(entry.name != name for entry in entries):
                return False
        folder = posixpath.join(folder, name)
    return True


@contextmanager
def opened(file: MemoryFile, *, max_bytes: int) -> Iterator[tuple[os.stat_result, BinaryIO]]:
    """A listed file open for reading, with what its descriptor told before.

    Raises:
        FileUnreadable: It is gone, not permitted, no regular file, larger than `max_bytes`, or by now behind a symbolic
            link; or reading fails.
    """
    real = str(file.real_path)
    try:
        fd = os.open(real, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            info = os.fstat(fd)
            if problem := not_regular(info) or _too_large(file, info, max_bytes):
                raise FileUnreadable(file.path, problem)
            if posixpath.realpath(real) != real:  # a folder above became a link after the listing
                raise FileUnreadable(file.path, SYMLINK)
            with os.fdopen(fd, "rb", closefd=False) as stream:
                yield info, stream
        finally:
            os.close(fd)
    except OSError as error:
        raise FileUnreadable(file.path, os_reason(error)) from error


def _too_large(file: MemoryFile, info: os.stat_result, max_bytes: int) -> str | None:
    if info.st_size <= max_bytes:
        return None
    kind = "session logs" if file.source == "sessions" else "notes"
    return f"is too large: {info.st_size:,} bytes, and {kind} are read up to {max_bytes:,}"


def _binary(data: bytes) -> str | None:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "is UTF-16: save it as UTF-8"
    return "is binary: it holds NUL bytes" if b"\0" in data else None


def _decoded(data: bytes) -> tuple[str, bool]:
    """The text, and whether bytes had to be replaced."""
    data = data.removeprefix(b"\xef\xbb\xbf")
    try:
        return data.decode().replace("\r\n", "\n"), False
    except UnicodeDecodeError:
        return data.decode(errors="replace").replace("\r\n", "\n"), True


def _first_date(text: str) -> str | None:
    for match in _DATE.finditer(text):
        try:
            return date.fromisoformat(match[0]).isoformat()
        except ValueError:
            continue  # 2026-02-30 is no date
    return None


def _heading_date(text: str) -> str | None:
    if not _DATED_HEADING.search(text):  # most undated notes: spares the scan
        return None
    lines = split_lines(text)
    headings = (line for line, kind in zip(lines, scan(lines), strict=True) if kind is Line.HEADING)
    return next(filter(None, map(_first_date, headings)), None)
