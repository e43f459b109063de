"""The notes of a workspace as a sync sees them: by one path on all machines, with one kind of line end."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath

from memory_core.errors import SharingFailed
from memory_core.sharing.merge import merge
from memory_core.sharing.repository import name_blob
from memory_core.sources import refusals, roots, writer

MAX_BYTES = 4 << 20  # of a note; what is larger is no note, and is named
MAX_NAME_BYTES = 200  # of a folder or file; a temporary file beside it has a longer one
_PART = re.compile(r"\A(?!\.)[^\x00-\x1f\x7f<>:\"|?*\\/\ud800-\udfff\ufffd]+(?<![ .])")
_RESERVED = re.compile(r"(con|conin\$|conout\$|prn|aux|nul|(com|lpt)[\d¹²³]) *(\.|$)", re.IGNORECASE)
ODD_NAME = "has a name that some systems do not allow; rename it"
SAME_NAME = "differs from {} by capitals alone; rename it"
BELOW_FILE = "would stand below a file"
BELOW_NOTE = "stands in a folder whose name ends in .md; rename the folder"
TOO_LARGE = f"is larger than {MAX_BYTES >> 20} MB; divide it into several notes"


def fold(path: str) -> str:
    """Return the form in which the paths of one note are equal, whatever the capitals and accents of a file system."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", path).casefold())


_TOP = {fold(name): name for name in (roots.LONGTERM_NAMES[0], roots.USER_NAME)}


def is_candidate(path: str) -> bool:
    """Return True if a file under this path is a note, at least on some system."""
    folder, *parts = path.split("/")
    is_hidden = any(part.startswith(".") for part in parts)
    return path in _TOP.values() or (folder == roots.NOTES_FOLDER and path.endswith(roots.SUFFIX) and not is_hidden)


def is_note(path: str) -> bool:
    """Return True if a file under this path is a note on any system."""
    return is_candidate(path) and _refuse_name(path) is None


def _refuse_name(path: str) -> str | None:
    """Return the reason why a path is none on some system; None if it may be one on all."""
    parts = path.split("/")
    is_portable = all(
        _PART.fullmatch(part) and not _RESERVED.match(part) and len(part.encode()) <= MAX_NAME_BYTES for part in parts
    )
    if not is_portable or len(parts) > 20:
        return ODD_NAME
    # The folder would be a file on another machine.
    return BELOW_NOTE if any(part.endswith(roots.SUFFIX) for part in parts[:-1]) else None


def refuse(path: str, size: int) -> str | None:
    """Return the reason why a candidate of a commit is no note; None if it may be one."""
    if problem := _refuse_name(path):
        return problem
    return refusals.SYMLINK if size < 0 else TOO_LARGE if size > MAX_BYTES else None


def decode(data: bytes | None) -> str | None:
    r"""Return the text of a note with `\n` at the ends of lines; bytes that are no UTF-8 are surrogates."""
    return None if data is None else data.decode(errors="surrogateescape").replace("\r\n", "\n")


def encode(text: str | None, like: bytes | None = None) -> bytes | None:
    """Return the bytes of a note, with the line ends that most lines of another one have."""
    if text is None:
        return None
    has_returns = like is not None and 2 * like.count(b"\r\n") > like.count(b"\n")
    return (text.replace("\n", "\r\n") if has_returns else text).encode(errors="surrogateescape")


def _refuse(error: OSError) -> None:
    """Raise where a folder cannot be read: its notes would seem to be deleted."""
    reason = refusals.describe_os_error(error)
    raise SharingFailed(f"{error.filename} cannot be read: {reason}", action="Make the folder readable.") from error


class Workspace:
    """The notes of one workspace, read once.

    Args:
        root: The workspace.
        state_dir: The state folder, for the writer.
        known: The paths that the other machines use.

    Raises:
        SharingFailed: The workspace, or a folder in it, cannot be read.
        NoteNotWritten: What a killed writer has begun cannot be finished.

    Attributes:
        hashes: The hash of the text of each note, by path.
        left_out: What is not synced, and why, by path.
        displaced: Those of `left_out` in whose place stands what is no text of a note, or that have none: a folder stands there,
            or a file where a folder should.
    """

    def __init__(self, root: Path, state_dir: Path, known: Iterable[str]) -> None:
        self._root = root
        self._state_dir = state_dir
        self._data: dict[str, bytes] = {}
        self._places: dict[str, str] = {}  # where a note is, which may be written with other capitals or accents
        self.hashes: dict[str, str] = {}
        self.left_out: dict[str, str] = {}
        names = {**_TOP, **{fold(path): path for path in known}}
        writer.finish_interrupted(workspace=root, state_dir=state_dir)
        found = sorted(self._list_files())
        for place in sorted(found, key=lambda place: names.get(fold(place), place) != place):
            path = names.setdefault(fold(place), unicodedata.normalize("NFC", place))
            if problem := self._load(path, place):
                self.left_out[place if path in self.hashes else path] = problem
        for path in filter(is_note, {*known} - self.hashes.keys() - self.left_out.keys()):
            if problem := self._find_obstacle(PurePosixPath(path)):
                self.left_out[path] = problem
        harmless = (refusals.FOLDER, BELOW_FILE, TOO_LARGE, refusals.UTF16, refusals.BINARY)
        self.displaced = {path for path, problem in self.left_out.items() if problem in harmless}

    def _list_files(self) -> Iterator[str]:
        """Yield the paths of what may be notes, in order."""
        if problem := roots.find_workspace_problem(self._root):
            raise SharingFailed(
                problem, action="Bring it back, or take its notes from the remote: memory-core sync --restore"
            )
        yield from (each.name for each in self._root.iterdir() if fold(each.name) in _TOP)
        top = self._root / roots.NOTES_FOLDER
        if top.is_symlink():
            self.left_out[roots.NOTES_FOLDER] = refusals.SYMLINK
            return
        for folder, folders, names in os.walk(top, onerror=_refuse) if top.exists() else ():
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            inner = Path(folder).relative_to(self._root).as_posix()
            yield from sorted(f"{inner}/{name}" for name in names if name.endswith(roots.SUFFIX) and name[0] != ".")

    def _load(self, path: str, place: str) -> str | None:
        """Read a note; return the reason if it is left out."""
        if path in self._places:
            return SAME_NAME.format(self._places[path])
        try:
            info = (self._root / place).lstat()
            problem = refusals.refuse_type(info) or refuse(path, info.st_size)
            data = b"" if problem else (self._root / place).read_bytes()
        except OSError as error:
            return refusals.describe_os_error(error)
        if problem := problem or refusals.refuse_encoding(data):
            return problem
        self._places[path], self._data[path] = place, data
        self.hashes[path] = name_blob(data.replace(b"\r\n", b"\n"))
        return None

    def _find_obstacle(self, path: PurePosixPath) -> str | None:
        """Return the reason why a note that is not here cannot be; None if it can."""
        for place in (*reversed(path.parents[:-1]), path):
            try:
                problem = refusals.refuse_type((self._root / place).lstat())
            except FileNotFoundError:
                return None
            except OSError as error:
                return refusals.describe_os_error(error)
            if place == path or problem == refusals.SYMLINK:
                return problem
            if problem != refusals.FOLDER:
                return BELOW_FILE
        return None

    def read(self, path: str) -> str | None:
        """Return the text of a note; None if there is none."""
        return decode(self._data.get(path))

    def write(self, texts: Mapping[str, tuple[str | None, str | None]], written: Callable[[str], None]) -> None:
        """Write notes: by path, the text that was read and the one that is to stand; see `writer.rewrite_notes`."""
        changes: dict[str, tuple[bytes | None, bytes | None]] = {}
        paths = {self._places.get(path, path): path for path in texts}
        for path, (was, new) in texts.items():
            data = self._data.get(path)
            read = data if decode(data) == was else encode(was, data)
            changes[self._places.get(path, path)] = read, encode(new, data)

        def merge_bytes(was: bytes | None, now: bytes | None, new: bytes | None) -> bytes | None:
            return encode(merge(*(decode(each) or "" for each in (was, now, new))), now) or None

        writer.rewrite_notes(
            changes, merge_bytes, lambda place: written(paths[place]), workspace=self._root, state_dir=self._state_dir
        )
