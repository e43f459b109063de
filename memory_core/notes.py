"""The only writer of notes: it appends whole paragraphs under a lock, and never rewrites or truncates.

A note must be whole even if its writer is killed between two pages of one `write`. So what is to be appended is first
put down in a journal in the state folder, and crossed out afterwards; whoever holds the lock next finds the journal
and adds the bytes that are missing. Nothing but notes is ever made in the workspace.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import date
from pathlib import Path, PurePosixPath
from typing import Any, Literal

from memory_core.durable import locked, replace_file, write_all
from memory_core.errors import FileUnreadable, InvalidArgument, MemoryCoreError, NoteNotWritten, PathRefused
from memory_core.paragraphs import Paragraph, Skipped, clean, fingerprint, fresh, split
from memory_core.roots import LONGTERM_NAMES, NOTES_FOLDER, SYMLINK, not_regular, os_reason

logger = logging.getLogger(__name__)

MAX_TEXT_BYTES = 64 * 1024  # of one call; the longest turn of a model is about half of it
MAX_NOTE_BYTES = 2 * 1024 * 1024  # a note is read whole to find what it holds already; a busy day is 50 KB
LOCK_TIMEOUT_SECONDS = 10.0

Target = Literal["daily", "longterm"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Appended:
    """What an append did.

    Attributes:
        path: The note, relative to the workspace, POSIX.
        paragraphs: What was appended, in order; empty when all of it was skipped.
        skipped: What was left out, in order, and why.
        start_line: The first appended line, from 1; 0 when nothing was appended.
        end_line: The last appended line, included; 0 when nothing was appended.
        created: The note did not exist, or was empty.
    """

    path: str
    paragraphs: tuple[str, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    start_line: int = 0
    end_line: int = 0
    created: bool = False


def daily_path(day: date) -> str:
    """The daily note of a day, relative to the workspace."""
    return f"{NOTES_FOLDER}/{day.isoformat()}.md"


def longterm_path(workspace: Path) -> str:
    """`MEMORY.md`, or `memory.md` where only that exists; relative to the workspace."""
    existing = (name for name in LONGTERM_NAMES if os.path.lexists(workspace / name))
    return next(existing, LONGTERM_NAMES[0])


def append(
    text: str,
    *,
    path: str,
    workspace: Path,
    state_dir: Path,
    recalled: frozenset[str] = frozenset(),
    lock_timeout_seconds: float = LOCK_TIMEOUT_SECONDS,
) -> Appended:
    """Append what a note lacks of a text, paragraph by paragraph; on the disk when this returns.

    Args:
        text: Markdown.
        path: `daily_path` of some day, or `longterm_path`; nothing else is written.
        workspace: Made when missing.
        state_dir: Where the lock and the journal are kept; never inside the workspace's notes.
        recalled: `paragraphs.recalled_fingerprints` of what recall lately put before the model; it is not written back.
        lock_timeout_seconds: How long to wait for other writers of this workspace.

    Raises:
        InvalidArgument: The text is empty or too long.
        PathRefused: The path is none of the above, or leads over a symbolic link.
        FileUnreadable: The note is no UTF-8 text.
        NoteNotWritten: It is too large, the lock was not had, or the system refused. What was begun is finished by the
            next append, so trying again duplicates nothing.
    """
    if len(text.encode("utf-8", "replace")) > MAX_TEXT_BYTES:
        raise InvalidArgument("text", f"is longer than {MAX_TEXT_BYTES:,} bytes", action="Store it in several calls.")
    offered = _offered(text, path)
    if not offered:
        raise InvalidArgument("text", "is empty", action="Give the text to store.")
    with _writing(path, workspace, state_dir, lock_timeout_seconds) as journal:
        _finish(journal, workspace)
        return _append(offered, path, workspace, journal, recalled)


def finish_interrupted(*, workspace: Path, state_dir: Path, lock_timeout_seconds: float = LOCK_TIMEOUT_SECONDS) -> None:
    """Complete the append of a writer that was killed, if there is one. `append` does so too; this is for a start.

    Raises:
        NoteNotWritten: The lock was not had, or the system refused.
    """
    if journal_path(workspace, state_dir).exists():
        with _writing(NOTES_FOLDER, workspace, state_dir, lock_timeout_seconds) as journal:
            _finish(journal, workspace)


def _offered(text: str, path: str) -> list[Paragraph]:
    """The paragraphs of a text that is to be appended; the note's own heading is left out, the note has it."""
    own = fingerprint(_heading(path))
    offered = [one for one in split(clean(text)) if fingerprint(one.text) != own]
    return [Paragraph(one.text, one.level, "" if one.heading == own else one.heading) for one in offered]


def _heading(path: str) -> str:
    """The first line of a new note.

    Raises:
        PathRefused: No note is made under that path.
    """
    name = PurePosixPath(path).stem
    if path in LONGTERM_NAMES:
        return "# Memory"
    with suppress(ValueError):
        if path == daily_path(date.fromisoformat(name)):
            return f"# {name}"
    raise PathRefused(path, f"is not {NOTES_FOLDER}/YYYY-MM-DD.md or {LONGTERM_NAMES[0]}, and only those are written")


def _append(
    offered: Sequence[Paragraph], path: str, workspace: Path, journal: Path, recalled: frozenset[str]
) -> Appended:
    """Append under the lock, with no journal open."""
    data = _read(path, workspace)
    kept, skipped = fresh(offered, split(data.decode("utf-8-sig", "replace")), recalled=recalled)
    if not kept:
        return Appended(path=path, skipped=tuple(skipped))
    body = "\n\n".join(one.text for one in kept)
    lead = _lead(data, path)
    block = (lead + body + "\n").replace("\n", "\r\n" if b"\r\n" in data else "\n").encode()
    if len(data) + len(block) > MAX_NOTE_BYTES:
        raise NoteNotWritten(
            path, f"would grow beyond {MAX_NOTE_BYTES:,} bytes", action="Move older parts to another note."
        )
    replace_file(journal, _entry(path, len(data), block))
    before = _write(path, workspace, block)
    journal.unlink()
    start = before.count(b"\n") + lead.count("\n") + 1
    return Appended(
        path=path,
        paragraphs=tuple(one.text for one in kept),
        skipped=tuple(skipped),
        start_line=start,
        end_line=start + body.count("\n"),
        created=not data,
    )


def _lead(data: bytes, path: str) -> str:
    """What goes before the first paragraph: the heading of a new note, or the line ends that make a blank line."""
    if not data:
        return _heading(path) + "\n\n"
    tail = data[-4:].replace(b"\r\n", b"\n")
    return "" if tail.endswith(b"\n\n") else "\n" if tail.endswith(b"\n") else "\n\n"


def _entry(path: str, offset: int, block: bytes) -> bytes:
    return json.dumps({"path": path, "offset": offset, "block": block.decode()}).encode()


def _finish(journal: Path, workspace: Path) -> None:
    """Add what the append of a killed writer lacks, and cross it out."""
    try:
        entry = journal.read_bytes()
    except FileNotFoundError:
        return
    try:
        _complete(json.loads(entry), workspace, journal)
    except (ValueError, KeyError, TypeError, MemoryCoreError) as error:
        # Put aside, or one note that can no longer be written would stop the appends to all others.
        aside = journal.replace(journal.with_suffix(".refused"))
        logger.warning("An interrupted append cannot be finished (%s); it was put aside as %s", error, aside)
    else:
        journal.unlink(missing_ok=True)


def _complete(entry: Mapping[str, Any], workspace: Path, journal: Path) -> None:
    path, offset, block = str(entry["path"]), int(entry["offset"]), str(entry["block"]).encode()
    _heading(path)
    written = _read(path, workspace)[offset:]
    if block.startswith(written):
        _write(path, workspace, block[len(written) :])
    elif not written.startswith(block):
        logger.info("%s was changed after an append to it was interrupted; what it lacks is appended", path)
        _append(_offered(block.decode(), path), path, workspace, journal, frozenset())


def _read(path: str, workspace: Path) -> bytes:
    """A note's bytes; none when it does not exist."""
    try:
        with _opened(path, workspace, os.O_RDONLY) as (descriptor, _):
            data = os.fdopen(descriptor, "rb", closefd=False).read(MAX_NOTE_BYTES + 1)
    except FileNotFoundError:
        return b""
    if b"\0" in data or data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise FileUnreadable(path, "is no UTF-8 text")
    return data


def _write(path: str, workspace: Path, block: bytes) -> bytes:
    """Append bytes to a note in one write, made when missing; what stood before them."""
    with _opened(path, workspace, os.O_RDWR | os.O_APPEND | os.O_CREAT) as (descriptor, folder):
        write_all(descriptor, block)
        os.fsync(folder)
        # Asked again, because an editor that takes no lock may have added lines since the note was read.
        return os.pread(descriptor, os.lseek(descriptor, 0, os.SEEK_CUR) - len(block), 0)


@contextmanager
def _opened(path: str, workspace: Path, flags: int) -> Iterator[tuple[int, int]]:
    """Descriptors of a note and its folder, reached from the workspace's real path without following symbolic links."""
    folder = os.open(workspace.resolve(), os.O_RDONLY | os.O_DIRECTORY)
    try:
        *parents, name = PurePosixPath(path).parts
        for parent in parents:
            if flags & os.O_CREAT:
                with suppress(FileExistsError):
                    os.mkdir(parent, dir_fd=folder)
                    os.fsync(folder)
            folder, outer = _open_in(parent, os.O_RDONLY | os.O_DIRECTORY, folder, path), folder
            os.close(outer)
        descriptor = _open_in(name, flags | os.O_NONBLOCK, folder, path)
        try:
            if problem := not_regular(os.fstat(descriptor)):
                raise PathRefused(path, problem)
            yield descriptor, folder
        finally:
            os.close(descriptor)
    finally:
        os.close(folder)


def _open_in(name: str, flags: int, folder: int, path: str) -> int:
    try:
        return os.open(name, flags | os.O_NOFOLLOW, 0o666, dir_fd=folder)
    except FileNotFoundError:
        raise
    except OSError as error:
        problem = not_regular(os.stat(name, dir_fd=folder, follow_symlinks=False))
        if problem == SYMLINK or (problem and not flags & os.O_DIRECTORY):
            raise PathRefused(path, problem) from error
        raise


@contextmanager
def _writing(path: str, workspace: Path, state_dir: Path, timeout_seconds: float) -> Iterator[Path]:
    """Hold the lock of a workspace's notes; gives its journal. What the system refuses is told as `NoteNotWritten`."""
    journal = journal_path(workspace, state_dir)
    try:
        workspace.mkdir(parents=True, exist_ok=True)
        with locked(journal.with_suffix(".lock"), timeout_seconds=timeout_seconds):
            yield journal
    except TimeoutError as error:
        raise NoteNotWritten(path, str(error), action="Try again.") from error
    except OSError as error:
        raise NoteNotWritten(path, os_reason(error), action="Check the disk and the permissions.") from error


def journal_path(workspace: Path, state_dir: Path) -> Path:
    """Where the append that is at work on a workspace's notes is written down; the lock lies beside it."""
    key = hashlib.sha256(os.fsencode(workspace.resolve())).hexdigest()[:16]
    return state_dir / "memory" / f"notes-{key}.journal"
