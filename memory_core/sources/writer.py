"""The only writer of notes: it appends whole paragraphs under a lock, and rewrites or removes a note where it is asked to.

A note must be whole even if its writer is killed amid a `write`. So the writer puts the new bytes into an intent file in the
state folder first, and removes the intent file afterwards; whoever holds the lock next and finds an intent file adds the bytes
that are missing. A note is rewritten by a new file in the place of the old one, if that still holds the bytes that were read.
Whoever had the old one open may append to it yet: it keeps a second name, which the intent file tells, until that was looked for.
Nothing but notes stays in the workspace.
"""

from __future__ import annotations

import errno
import json
import logging
import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import date
from pathlib import Path, PurePosixPath
from typing import Any, Literal

from memory_core.atomic import (
    BINARY,
    LOCK_POLL_SECONDS,
    NOFOLLOW,
    NONBLOCK,
    OPENS_BELOW,
    TEMPORARY,
    locked,
    open_folder,
    place_file,
    replace_file,
    stage_file,
    write_all,
)
from memory_core.config.environment import STATE_DIR
from memory_core.errors import (
    FileUnreadable,
    InvalidArgument,
    MemoryCoreError,
    NoteChanged,
    NoteNotWritten,
    PathRefused,
)
from memory_core.records import MemoryFile
from memory_core.sources import notes, refusals, roots
from memory_core.text.paragraphs import (
    Paragraph,
    Skipped,
    clean,
    fingerprint,
    scan_blocks,
    select_new,
    split_paragraphs,
)

logger = logging.getLogger(__name__)

MAX_TEXT_BYTES = 64 * 1024  # of one call; the longest turn of a model is about half as long
MAX_NOTE_BYTES = 2 * 1024 * 1024  # a note is read whole to find repetitions; a busy day is 50 KB
REFUSED = ".refused"  # the end of the name of an append that could not be finished
LOCK_TIMEOUT_SECONDS = 10.0
MOST_REWRITES = 20  # of one note that others write all the time
APPENDER_SECONDS = 1.0  # for which an append to a file that is being replaced may take
CHECK_DISK = "Check the disk and the permissions."
MAKE_WRITABLE = f"make it writable, or set {STATE_DIR} to a folder that is"

Target = Literal["daily", "longterm"]

FIRST_NOTE = """# Memory

<!-- No memory: below this goes what every session should know, one fact a line, as "- The build runs on Python 3.12."
What happened on a day goes into `memory/YYYY-MM-DD.md`, where `memory-core add TEXT` writes it. -->
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Appended:
    """The result of one append.

    Attributes:
        path: The note, relative to the workspace, POSIX.
        paragraphs: The appended paragraphs, in order; empty if all were skipped.
        skipped: The paragraphs left out, in order, with reasons.
        start_line: The first appended line, from 1; 0 if nothing was appended.
        end_line: The last appended line, included; 0 if nothing was appended.
        created: The note did not exist, or was empty.
    """

    path: str
    paragraphs: tuple[str, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    start_line: int = 0
    end_line: int = 0
    created: bool = False


def make_workspace(workspace: Path) -> list[str]:
    """Make what a workspace lacks; return the names of what was made.

    Raises:
        InvalidArgument: It is a file.
        OSError: It cannot be made.
    """
    if workspace.exists() and not workspace.is_dir():
        raise InvalidArgument("FOLDER", f"{workspace} is a file", action="name a folder, new or not")
    made = []
    if not (workspace / roots.NOTES_FOLDER).is_dir():
        (workspace / roots.NOTES_FOLDER).mkdir(parents=True)
        made.append(f"{roots.NOTES_FOLDER}/")
    longterm = workspace / roots.LONGTERM_NAMES[0]
    if not os.path.lexists(longterm):
        longterm.write_text(FIRST_NOTE, encoding="utf-8", newline="\n")
        made.insert(0, longterm.name)
    return made


def daily_path(day: date) -> str:
    """Return the path of a day's note, relative to the workspace."""
    return f"{roots.NOTES_FOLDER}/{day.isoformat()}.md"


def longterm_path(workspace: Path) -> str:
    """Return `MEMORY.md`, or `memory.md` if only that exists; relative to the workspace."""
    existing = (name for name in roots.LONGTERM_NAMES if os.path.lexists(workspace / name))
    return next(existing, roots.LONGTERM_NAMES[0])


def find_note(target: str | None, workspace: Path, day: date) -> str:
    """Return the path of the note that a target of `memory_append` means; None is the note of the day."""
    return daily_path(day) if target in (None, "daily") else longterm_path(workspace)


def append(
    text: str,
    *,
    path: str,
    workspace: Path,
    state_dir: Path,
    recalled: frozenset[str] = frozenset(),
    lock_timeout_seconds: float = LOCK_TIMEOUT_SECONDS,
) -> Appended:
    """Append the paragraphs of a text that a note lacks; they are on the disk when this returns.

    Args:
        text: Markdown.
        path: `daily_path` of some day, or `longterm_path`; nothing else is written.
        workspace: The workspace, which must exist.
        state_dir: The folder of the lock and the intent file; never inside the workspace's notes.
        recalled: `paragraphs.fingerprint_recalled` of the texts that recall lately put before the model, which are not
            written back.
        lock_timeout_seconds: How long to wait for other writers of this workspace.

    Raises:
        InvalidArgument: The text is empty or too long.
        PathRefused: The path is none of the above, or leads over a symbolic link.
        FileUnreadable: The note is no UTF-8 text.
        NoteNotWritten: There is no workspace, the note is too large or locked too long, or the system refused. The next
            append finishes an interrupted one, so trying again duplicates nothing.
    """
    if len(text.encode("utf-8", "replace")) > MAX_TEXT_BYTES:
        raise InvalidArgument("text", f"is longer than {MAX_TEXT_BYTES:,} bytes", action="Store it in several calls.")
    offered = _cut_offered(text, path)
    if not offered:
        raise InvalidArgument("text", "is empty", action="Give the text to store.")
    with _lock_notes(path, workspace, state_dir, lock_timeout_seconds) as intent:
        return _append_new(offered, path, workspace, intent, recalled)


def replace_part(
    file: MemoryFile,
    find: Callable[[bytes], tuple[int, bytes, bytes]],
    *,
    workspace: Path,
    state_dir: Path,
) -> None:
    """Replace some bytes of a note by others; see `rewrite`.

    Args:
        file: The note, below the workspace.
        find: Returns the first byte to replace, those that stand there, and those that take their place; raises where the note
            is not as expected.
        workspace: The workspace, which must exist.
        state_dir: As `append`.

    Raises:
        PathRefused: The note does not lie in the workspace, or behind a link.
        NoteChanged: The note was changed meanwhile, or is gone.
        NoteNotWritten: It is locked too long, or the system refused.
    """
    root = workspace.resolve()
    if not file.real_path.is_relative_to(root):
        raise PathRefused(file.path, "does not lie in the workspace", action="change it by hand")

    def change(data: bytes | None) -> bytes:
        if data is None:
            raise NoteChanged(file.path)
        start, old, new = find(data)
        return data[:start] + new + data[start + len(old) :]

    place = file.real_path.relative_to(root).as_posix()
    rewrite(place, change, workspace=workspace, state_dir=state_dir)


def rewrite(
    path: str,
    change: Callable[[bytes | None], bytes | None],
    *,
    workspace: Path,
    state_dir: Path,
) -> None:
    """Change, make or remove a note as a whole; readers see it as it was or as it is to be, also after a kill.

    An editor that saves the note meanwhile wins: nothing is written then. What is appended to the old file in the very moment in
    which it is replaced, as a shell does, is appended to the new one, by the next writer if this one is killed.

    Args:
        path: The note, relative to the workspace, POSIX.
        change: Takes the bytes of the note, None where there is none, and returns those that it is to have, None for no note.
        workspace: The workspace, which must exist.
        state_dir: As `append`.

    Raises:
        PathRefused: The note lies behind a link, or is no file.
        NoteChanged: The note was changed meanwhile.
        NoteNotWritten: It is or becomes too large, is locked too long, or the system refused.
    """
    with _lock_notes(path, workspace, state_dir) as intent, ExitStack() as staged:
        data = _read_whole(path, workspace, notes.MAX_NOTE_BYTES)
        _refuse_size(path, data)
        new = change(data)
        _refuse_size(path, new)

        def merge(_base: bytes | None, theirs: bytes | None, _ours: bytes | None) -> bytes | None:
            if not rewriter.placed:
                raise NoteChanged(path)
            return theirs

        rewriter = _Rewriter(workspace.resolve(), intent, merge, staged)
        rewriter.stage(path, data, new)
        rewriter.rewrite(path, data, new)
        notes.record_write()


def _refuse_size(path: str, data: bytes | None) -> None:
    if data is not None and len(data) > notes.MAX_NOTE_BYTES:
        raise NoteNotWritten(path, f"would have more than {notes.MAX_NOTE_BYTES:,} bytes", action="Split the note.")


def rewrite_notes(
    changes: Mapping[str, tuple[bytes | None, bytes | None]],
    merge: Callable[[bytes | None, bytes | None, bytes | None], bytes | None],
    written: Callable[[str], None],
    *,
    workspace: Path,
    state_dir: Path,
) -> None:
    """Replace, make and remove notes; what somebody else writes meanwhile is merged, also by an append to the old file.

    All new texts are on the disk before the first note changes, so that the notes then change within a moment.

    Args:
        changes: By path relative to the workspace, the bytes that were read, and those that are to stand; None for no note.
        merge: Merges what was read, what stands now, and what is to stand.
        written: Called with the path of each note once it is certain that the disk has it.
        workspace: The workspace, which must exist.
        state_dir: As `append`.

    Raises:
        PathRefused: A path leads over a symbolic link.
        NoteNotWritten: The notes are locked too long, or the system refused.
    """
    root, path = workspace.resolve(), next(iter(changes), roots.NOTES_FOLDER)
    with _lock_notes(path, workspace, state_dir) as intent, ExitStack() as staged:
        rewriter = _Rewriter(root, intent, merge, staged, written)
        try:
            for path, (was, new) in changes.items():
                rewriter.stage(path, was, new)
            for path, (was, new) in changes.items():
                rewriter.rewrite(path, was, new)
        except OSError as error:
            raise NoteNotWritten(path, refusals.describe_os_error(error), action=CHECK_DISK) from error
        finally:
            notes.record_write()


class _Rewriter:
    """Replaces notes by files that it has staged.

    Args:
        root: The real path of the workspace.
        intent: Tells whoever holds the lock next which notes are being replaced.
        merge: As `rewrite_notes`.
        staged: Removes the intent file, and the files that were not needed.
        written: As `rewrite_notes`.

    Attributes:
        placed: A note was replaced or removed.
    """

    def __init__(
        self,
        root: Path,
        intent: Path,
        merge: Callable[[bytes | None, bytes | None, bytes | None], bytes | None],
        staged: ExitStack,
        written: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._root, self._intent, self._merge, self._cleanup, self._written = root, intent, merge, staged, written
        self._staged: dict[str, tuple[bytes | None, Path]] = {}
        self._read: dict[str, tuple[int, str]] = {}  # the size and the hash of what is replaced
        self._recorded = b""
        self.placed = False
        staged.callback(intent.unlink, missing_ok=True)

    def stage(self, path: str, was: bytes | None, new: bytes | None) -> None:
        """Write the file that is to take the place of a note; of one that is to go, remove what a killed writer has left."""
        if was is not None:
            self._read[path] = len(was), notes.hash_bytes(was).hex()
        if new is None:
            self._root.joinpath(path).with_name(f".{PurePosixPath(path).name}{TEMPORARY}").unlink(missing_ok=True)
        elif self._staged.get(path, (None,))[0] != new:
            mode = None if os.path.lexists(self._root / path) else 0o644
            file = stage_file(self._root / path, new, mode=mode, root=self._root)
            self._staged[path] = new, file
            self._cleanup.callback(file.unlink, missing_ok=True)

    def rewrite(self, path: str, was: bytes | None, new: bytes | None) -> None:
        """Put the staged file in the place of a note, until nobody has written meanwhile."""
        for _ in range(MOST_REWRITES):
            with ExitStack() as stack:
                held: int | None = None
                folder: int | None = None
                is_kept = False
                with suppress(FileNotFoundError):
                    held, folder = stack.enter_context(_open_note(path, self._root, os.O_RDONLY))
                now = None if held is None else _read_open(held)
                if now != was:
                    new = self._merge(was, now, new)
                if now == new:
                    if path in self._staged:
                        self._staged.pop(path)[1].unlink(missing_ok=True)
                    self._written(path)
                    return
                self.stage(path, now, new)
                self._record()
                if not OPENS_BELOW:  # Windows replaces no open file
                    stack.close()
                    held = None
                if new is None:
                    stack.callback(self._remove_empty_folders, path)
                name, kept = PurePosixPath(path).name, _name_kept(path)
                if folder is not None:
                    with suppress(OSError):  # a file system without second names
                        os.link(name, kept.name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
                        stack.callback(self._root.joinpath(kept).unlink, missing_ok=True)
                        held, _ = stack.enter_context(_open_note(str(kept), self._root, os.O_RDONLY))
                        is_kept = True
                self._place(path, new, folder)
                if held is None or now is None:
                    return
                late = _read_last(held)
                if late == now:
                    return
                if new is not None and late.startswith(now):
                    _write(path, self._root, late[len(now) :])
                    return
                if is_kept:
                    os.replace(kept.name, name, src_dir_fd=folder, dst_dir_fd=folder)
            # Somebody had the file open that was removed, or has saved it anew.
            was, new = (now, new) if is_kept else (new, self._merge(now, late, new))
        raise NoteNotWritten(path, "is being written all the time", action="Try again.")

    def _record(self) -> None:
        """Tell whoever holds the lock next which notes are being replaced, and what stood in them."""
        entry = json.dumps({"replaced": self._read}).encode()
        if self._read and entry != self._recorded:
            replace_file(self._intent, entry)
            self._recorded = entry

    def _place(self, path: str, new: bytes | None, folder: int | None) -> None:
        if new is not None:
            place_file(self._staged.pop(path)[1], self._root / path, root=self._root)
        else:
            os.unlink(self._root / path if folder is None else PurePosixPath(path).name, dir_fd=folder)
            if folder is not None:
                os.fsync(folder)
        self.placed = True
        self._written(path)

    def _remove_empty_folders(self, path: str) -> None:
        """Remove the folders that a note which is gone has left empty."""
        with suppress(OSError):  # a folder that is not empty
            for folder in PurePosixPath(path).parents[:-2]:
                self._root.joinpath(folder).rmdir()


def _name_kept(path: str) -> PurePosixPath:
    """Return the second name of a note that is being replaced."""
    place = PurePosixPath(path)
    return place.with_name(f".{place.name}.old{TEMPORARY}")


def _read_last(descriptor: int) -> bytes:
    """Read a file that was replaced once nobody has it open for writing, where the system tells; see `APPENDER_SECONDS`."""
    import fcntl

    until = time.monotonic() + APPENDER_SECONDS
    with suppress(AttributeError, OSError):  # a system, a file system or an owner for which there are no leases
        # The system sends it to the holder of a lease when somebody opens the file; SIGIO, else sent, would end the process.
        fcntl.fcntl(descriptor, fcntl.F_SETSIG, signal.SIGURG)
        while True:
            try:
                fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_RDLCK)  # refused as long as somebody may write
                fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_UNLCK)
                break
            except BlockingIOError:
                if time.monotonic() > until:
                    break
                time.sleep(LOCK_POLL_SECONDS)
    return _read_open(descriptor)


def _read_open(descriptor: int, most: int = -1) -> bytes:
    os.lseek(descriptor, 0, os.SEEK_SET)
    return os.fdopen(descriptor, "rb", closefd=False).read(most)


def finish_interrupted(*, workspace: Path, state_dir: Path, lock_timeout_seconds: float = LOCK_TIMEOUT_SECONDS) -> None:
    """Finish what a killed writer has begun, if there is one; all that write notes do so too.

    Raises:
        NoteNotWritten: The notes are locked too long, or the system refused.
    """
    if notes.find_intent(workspace, state_dir).exists():
        with _lock_notes(roots.NOTES_FOLDER, workspace, state_dir, lock_timeout_seconds):
            pass


def _cut_offered(text: str, path: str) -> list[Paragraph]:
    """Cut a text that is offered into paragraphs, without the heading that the note itself begins with."""
    own = fingerprint(_first_line(path))
    offered = [one for one in split_paragraphs(clean(text)) if fingerprint(one.text) != own]
    return [Paragraph(one.text, one.level, "" if one.heading == own else one.heading) for one in offered]


def _first_line(path: str) -> str:
    """Return the first line of a new note.

    Raises:
        PathRefused: No note is written under that path.
    """
    name = PurePosixPath(path).stem
    if path in roots.LONGTERM_NAMES:
        return "# Memory"
    with suppress(ValueError):
        if path == daily_path(date.fromisoformat(name)):
            return f"# {name}"
    raise PathRefused(
        path,
        f"is not {roots.NOTES_FOLDER}/YYYY-MM-DD.md or {roots.LONGTERM_NAMES[0]}, and only those are written",
        action=f"name today's note or {roots.LONGTERM_NAMES[0]}",
    )


def _append_new(
    offered: Sequence[Paragraph], path: str, workspace: Path, intent: Path, recalled: frozenset[str]
) -> Appended:
    """Append under the lock, while there is no intent file."""
    data = _read(path, workspace)
    kept, skipped = select_new(offered, split_paragraphs(data.decode("utf-8-sig", "replace")), recalled=recalled)
    if not kept:
        return Appended(path=path, skipped=tuple(skipped))
    body = "\n\n".join(one.text for one in kept)
    lead = _make_lead(data, path, body)
    closer = scan_blocks(body.split("\n")).closer  # open where a line of it was skipped
    block = (
        (lead + body + f"\n{closer}" * bool(closer) + "\n").replace("\n", "\r\n" if b"\r\n" in data else "\n").encode()
    )
    if len(data) + len(block) > MAX_NOTE_BYTES:
        raise NoteNotWritten(
            path, f"would grow beyond {MAX_NOTE_BYTES:,} bytes", action="Move older parts to another note."
        )
    entry = {"path": path, "offset": len(data), "block": block.decode(), "body": body}
    replace_file(intent, json.dumps(entry).encode())
    before = _write(path, workspace, block)
    intent.unlink()
    start = before.count(b"\n") + lead.count("\n") + 1
    return Appended(
        path=path,
        paragraphs=tuple(one.text for one in kept),
        skipped=tuple(skipped),
        start_line=start,
        end_line=start + body.count("\n"),
        created=not data,
    )


def _make_lead(data: bytes, path: str, body: str) -> str:
    """Make the text before the first paragraph: the heading of a new note, or what keeps the note's own text apart from it.

    That is a blank line, behind the end of a fence or of HTML that would swallow the paragraph, and before a comment if the
    paragraph is indented and would become part of a list or of code.
    """
    if not data:
        return _first_line(path) + "\n\n"
    text = data.decode("utf-8-sig", "replace").replace("\r\n", "\n")
    blocks = scan_blocks(text.replace("\r", "\n").split("\n"))
    apart = "<!-- -->\n\n" if blocks.takes_indented and body[0] in " \t" else ""
    if blocks.closer:
        return ("" if text.endswith("\n") else "\n") + blocks.closer + "\n\n" + apart
    return ("" if text.endswith("\n\n") else "\n" if text.endswith("\n") else "\n\n") + apart


def _finish(intent: Path, workspace: Path) -> None:
    """Finish what a killed writer has begun, and remove the intent file."""
    try:
        entry = intent.read_bytes()
    except FileNotFoundError:
        return
    try:
        begun = json.loads(entry)
        if "replaced" in begun:
            for path, (size, digest) in begun["replaced"].items():
                _take_over(path, size, digest, workspace)
        else:
            _complete(begun, workspace, intent)
    except (ValueError, KeyError, TypeError, MemoryCoreError) as error:
        # The intent file moves aside: else one note that cannot be written would stop the appends to all others.
        aside = intent.replace(intent.with_suffix(REFUSED))
        logger.warning("An interrupted append cannot be finished (%s); its text is kept in %s", error, aside)
    else:
        intent.unlink(missing_ok=True)


def _take_over(path: str, size: int, digest: str, workspace: Path) -> None:
    """Append to a note what others have appended to the file whose place it took, and remove that file."""
    kept = _name_kept(path)
    with suppress(FileNotFoundError), _open_note(str(kept), workspace, os.O_RDONLY) as (held, folder):
        data, stands = _read_last(held), _read_whole(path, workspace)
        late = data[size:]
        is_saved_anew = notes.hash_bytes(data[:size]).hex() != digest
        if is_saved_anew or (late and stands is None):  # what somebody has written into is not removed
            os.replace(kept.name, PurePosixPath(path).name, src_dir_fd=folder, dst_dir_fd=folder)
        elif stands is not None and not stands.endswith(late):
            _write(path, workspace, late)
        workspace.joinpath(kept).unlink(missing_ok=True)


def _complete(entry: Mapping[str, Any], workspace: Path, intent: Path) -> None:
    path, offset, block = str(entry["path"]), int(entry["offset"]), str(entry["block"]).encode()
    _first_line(path)
    written = _read(path, workspace)[offset:]
    if block.startswith(written):
        _write(path, workspace, block[len(written) :])
    elif not written.startswith(block):
        logger.info("%s was changed after an append to it was interrupted; the paragraphs it lacks are appended", path)
        body = str(entry.get("body", entry["block"]))  # without the end of a fence that the block may begin with
        _append_new(_cut_offered(body, path), path, workspace, intent, frozenset())


def _read(path: str, workspace: Path) -> bytes:
    """Read a note's bytes; none if it does not exist."""
    data = _read_whole(path, workspace, MAX_NOTE_BYTES) or b""
    if problem := refusals.refuse_encoding(data):
        raise FileUnreadable(path, problem, action="repair that note, or move it away")
    return data


def _read_whole(path: str, workspace: Path, most: int | None = None) -> bytes | None:
    """Read a note's bytes, all or one more than the most that it may have; None if it does not exist."""
    with suppress(FileNotFoundError), _open_note(path, workspace, os.O_RDONLY) as (descriptor, _):
        return _read_open(descriptor, -1 if most is None else most + 1)
    return None


def _write(path: str, workspace: Path, block: bytes) -> bytes:
    """Append bytes to a note, created if missing, in one write; returns the bytes before them."""
    is_new = not os.path.lexists(workspace / path)
    with _open_note(path, workspace, os.O_RDWR | os.O_APPEND | os.O_CREAT) as (descriptor, folder):
        try:
            write_all(descriptor, block)
        except OSError:
            # A full disk takes the name of a new note, but no byte of it.
            if is_new and folder is not None and not os.fstat(descriptor).st_size:
                os.unlink(PurePosixPath(path).name, dir_fd=folder)
            raise
        notes.record_write()
        if folder is not None:
            os.fsync(folder)
        # Read again, because an editor that takes no lock may have added lines since the note was read.
        before = os.lseek(descriptor, 0, os.SEEK_CUR) - len(block)
        return _read_open(descriptor, before)


@contextmanager
def _open_note(path: str, workspace: Path, flags: int) -> Iterator[tuple[int, int | None]]:
    """Open a note from the workspace's real path without following links; yields its descriptor and its folder's."""
    root = workspace.resolve()
    place = root / path
    try:
        with open_folder(place.parent, root, makes=bool(flags & os.O_CREAT)) as folder:
            if folder is None:  # here a link would be followed
                _refuse_obstacle(path, root)
            name = place if folder is None else place.name
            descriptor = os.open(name, flags | NOFOLLOW | NONBLOCK | BINARY, 0o666, dir_fd=folder)
            try:
                if folder is None and place.resolve() != place:
                    raise PathRefused(path, refusals.SYMLINK, action=f"put a file in place of the link {place.name}")
                if problem := refusals.refuse_type(os.fstat(descriptor)):
                    raise PathRefused(path, problem, action=f"put a file in place of {path}")
                yield descriptor, folder
            finally:
                os.close(descriptor)
    except FileNotFoundError:
        raise
    except OSError as error:
        _refuse_obstacle(path, root, error)
        raise


def _refuse_obstacle(path: str, root: Path, cause: OSError | None = None) -> None:
    """Raise if a link, or no file where one is wanted, stands on the way to a note."""
    place = root
    for name in PurePosixPath(path).parts:
        place /= name
        if not os.path.lexists(place):
            return
        problem, wanted = refusals.refuse_type(place.lstat()), "file" if place == root / path else "folder"
        if problem == refusals.SYMLINK or (problem and wanted == "file"):
            found = "link " if problem == refusals.SYMLINK else ""
            raise PathRefused(path, problem, action=f"put a {wanted} in place of the {found}{name}") from cause


@contextmanager
def _lock_notes(
    path: str, workspace: Path, state_dir: Path, timeout_seconds: float = LOCK_TIMEOUT_SECONDS
) -> Iterator[Path]:
    """Hold the lock of a workspace's notes, and finish what a killed writer has begun; yields the intent file.

    Raises:
        NoteNotWritten: The notes are locked too long, or the system refused.
    """
    intent = notes.find_intent(workspace, state_dir)
    if problem := roots.find_workspace_problem(workspace):
        raise NoteNotWritten(path, problem, action=roots.advise_workspace(workspace))
    try:
        with locked(intent.with_suffix(".lock"), timeout_seconds=timeout_seconds):
            _finish(intent, workspace)
            yield intent
    except TimeoutError as error:
        raise NoteNotWritten(path, str(error), action="Try again.") from error
    except OSError as error:
        reason, ours = refusals.describe_os_error(error), str(error.filename or "")
        if intent.stem in ours or Path(ours) in intent.parents:
            action = CHECK_DISK if error.errno in (errno.ENOSPC, errno.EDQUOT) else MAKE_WRITABLE
            raise NoteNotWritten(path, f"not written, as {ours} cannot be: {reason}", action=action) from error
        raise NoteNotWritten(path, reason, action=CHECK_DISK) from error
