"""Plan changes of a host's files, and make them: each file as a whole, with a copy of the one that was there before."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memory_core.atomic import replace_file
from memory_core.errors import MemoryCoreError
from memory_core.hosts.install.documents import NotEditable, find_entry, put_entry, read_document, take_entry

KEPT = ".before-memory-core"  # behind the name of the copy


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry in a file of the host: its path of keys, and its value."""

    path: Path
    keys: tuple[str, ...]
    value: Any


@dataclass(frozen=True, slots=True)
class OwnFile:
    """A file that is ours alone, in a folder of ours, which is below `root`."""

    path: Path
    text: str
    root: Path


Part = Entry | OwnFile


@dataclass(frozen=True, slots=True)
class FileChange:
    """One file before and after; None where there is none."""

    path: Path
    before: str | None
    after: str | None

    @property
    def is_copy(self) -> bool:
        """It is the copy of a host's file that `uninstall` restores."""
        return self.path.name.endswith(KEPT)


def plan_install(parts: Iterable[Part]) -> list[FileChange]:
    """Return what has to change so that all parts are in place; empty if they are.

    Raises:
        MemoryCoreError: A file cannot be read or changed.
    """
    changes: list[FileChange] = []
    for part in parts:
        before = _read(part.path)
        if isinstance(part, OwnFile):
            changes.append(FileChange(part.path, before, part.text))
            continue
        path, suffix = part.path, part.path.suffix
        with _explained(part):
            present = find_entry(read_document(before or "", suffix), part.keys)
            if present == part.value:
                continue
            if before is not None and not isinstance(present, dict):  # else it is an older entry of ours
                changes.append(FileChange(_kept(path), _read(_kept(path)), before))
            changes.append(FileChange(path, before, put_entry(before or "", suffix, part.keys, part.value)))
    return [change for change in changes if change.before != change.after]


def plan_uninstall(parts: Iterable[Part]) -> list[FileChange]:
    """Return what has to change so that the files are as they were before; what others changed since then stays.

    Raises:
        MemoryCoreError: A file cannot be read or changed.
    """
    changes: list[FileChange] = []
    for part in parts:
        before = _read(part.path)
        if isinstance(part, OwnFile):
            changes.append(FileChange(part.path, before, None))
            continue
        kept = _read(_kept(part.path))
        with _explained(part):
            if before is not None and _is_ours(part, before):
                changes.append(FileChange(part.path, before, _restore(part, before, kept)))
        changes.append(FileChange(_kept(part.path), kept, None))
    return [change for change in changes if change.before != change.after]


def are_in_place(parts: Sequence[Part]) -> bool:
    """Return True if all parts are there, in whatever version; a file that cannot be read has none."""
    for part in parts:
        try:
            text = _read(part.path)
            if text is None or (isinstance(part, Entry) and not _is_ours(part, text)):
                return False
        except (NotEditable, MemoryCoreError):
            return False
    return bool(parts)


def make_changes(changes: Iterable[FileChange], parts: Iterable[Part]) -> None:
    """Write, and delete what is no longer needed, empty folders of ours too.

    Raises:
        OSError: A file cannot be written.
    """
    for change in changes:
        path = change.path.resolve()  # a link stays a link
        if change.after is None:
            path.unlink(missing_ok=True)
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        mode = path.stat().st_mode & 0o777 if path.exists() else 0o600
        replace_file(path, change.after.encode("utf-8"), mode=mode)
    for part in parts:
        if isinstance(part, OwnFile):
            _remove_empty(part.path.parent, part.root)


def show_change(change: FileChange) -> str:
    """Return a change as a unified diff."""
    old, new = (f"{change.path}" if text is not None else "/dev/null" for text in (change.before, change.after))
    before, after = ((text or "").splitlines(keepends=True) for text in (change.before, change.after))
    pieces = difflib.unified_diff(before, after, old, new)
    return "".join(piece if piece.endswith("\n") else f"{piece}\n" for piece in pieces)


def _is_ours(part: Entry, text: str) -> bool:
    """Return True if our entry is there: a mapping under our name, or exactly our value."""
    present = find_entry(read_document(text, part.path.suffix), part.keys)
    return isinstance(present, dict) if isinstance(part.value, dict) else present == part.value


def _restore(part: Entry, before: str, kept: str | None) -> str | None:
    suffix = part.path.suffix
    if kept is None:
        after = take_entry(before, suffix, part.keys)
        return after if read_document(after, suffix) else None
    present = find_entry(read_document(before, suffix), part.keys)
    with suppress(NotEditable):
        if put_entry(kept, suffix, part.keys, present) == before:
            return kept
    earlier = find_entry(read_document(kept, suffix), part.keys)
    if earlier is not None:
        return put_entry(before, suffix, part.keys, earlier)
    return take_entry(before, suffix, part.keys)


def _kept(path: Path) -> Path:
    return path.with_name(path.name + KEPT)


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise MemoryCoreError(f"{path} cannot be read: {error}", action="mend it, and run the command again") from error


def _remove_empty(folder: Path, root: Path) -> None:
    while folder != root and root in folder.parents:
        try:
            folder.rmdir()
        except OSError:  # something is in it
            return
        folder = folder.parent


@contextmanager
def _explained(part: Entry) -> Iterator[None]:
    """Turn a document that cannot be edited into an error that says what to write into it."""
    try:
        yield
    except NotEditable as error:
        wanted = json.dumps(part.value, ensure_ascii=False)
        action = f"write it yourself: {'.'.join(part.keys)} = {wanted}"
        raise MemoryCoreError(f"{part.path} {error}", action=action) from error
