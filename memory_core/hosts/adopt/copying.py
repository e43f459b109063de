"""Copy the notes of homes into a workspace, below `memory/imports/`. Nothing is merged, and nothing is copied twice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from memory_core import atomic
from memory_core.errors import FileUnreadable, PathRefused
from memory_core.hosts.adopt.conversion import convert
from memory_core.hosts.adopt.homes import FoundNote, Home
from memory_core.hosts.adopt.record import Adoption, CopiedNote, hash_bytes, hash_file

IMPORTS = "memory/imports"
Action = Literal["copy", "update", "same", "leave"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyStep:
    """One note and what becomes of it.

    Attributes:
        action: "copy" writes a new file, "update" replaces a copy of ours, "same" and "leave" do nothing.
        origin: The original.
        target: The copy, absolute.
        reason: Why it is left; "" otherwise.
        data: What is written; empty where nothing is.
    """

    action: Action
    origin: Path
    target: Path
    reason: str = ""
    data: bytes = b""


def plan_copies(adoption: Adoption, homes: Sequence[Home], workspace: Path) -> list[CopyStep]:
    """Return what is to be done with every note of the homes; nothing is written.

    Raises:
        PathRefused: The folder of the copies would be a symbolic link.
    """
    folder = workspace
    for name in IMPORTS.split("/"):
        folder /= name
        if folder.is_symlink():
            raise PathRefused(str(folder), "is a symbolic link, and copies are written into real folders only")
    return [_plan(adoption, note, folder) for note in _list_foreign(homes, workspace)]


def _list_foreign(homes: Sequence[Home], workspace: Path) -> Iterator[FoundNote]:
    """Yield every file once; none that lies in the workspace already."""
    own, seen = workspace.resolve(), set[Path]()
    for home in homes:
        for note in home.notes:
            if note.file.real_path not in seen and not note.file.real_path.is_relative_to(own):
                seen.add(note.file.real_path)
                yield note


def _plan(adoption: Adoption, note: FoundNote, imports: Path) -> CopyStep:
    origin = note.file.real_path
    recorded = {copy.origin: path for path, copy in adoption.copies.items() if Path(path).is_relative_to(imports)}
    target = (
        Path(recorded[str(origin)]) if str(origin) in recorded else _choose(adoption, imports / note.target, origin)
    )
    try:
        data = convert(note)
    except FileUnreadable as error:
        return CopyStep(action="leave", origin=origin, target=target, reason=error.reason)
    known, there = adoption.copies.get(str(target)), hash_file(target)
    if there is None:
        return CopyStep(action="copy", origin=origin, target=target, data=data)
    if there == hash_bytes(data):
        return CopyStep(action="same", origin=origin, target=target)
    if known is None or there != known.copy_hash:
        reason = "the copy was edited since" if known else "another file is there"
        return CopyStep(action="leave", origin=origin, target=target, reason=reason)
    return CopyStep(action="update", origin=origin, target=target, data=data)


def _choose(adoption: Adoption, wanted: Path, origin: Path) -> Path:
    """Return a target that is no copy of another original."""
    other = adoption.copies.get(str(wanted))
    if other is None or other.origin == str(origin):
        return wanted
    return wanted.with_name(f"{wanted.stem}-{hash_bytes(str(origin).encode())[:8]}{wanted.suffix}")


def copy_notes(adoption: Adoption, steps: Sequence[CopyStep]) -> None:
    """Carry out the steps, and record each. A copy gets the time of its original, by which a note without a date is dated."""
    for step in steps:
        if step.action not in {"copy", "update"}:
            continue
        _make_folders(adoption, step.target.parent)
        origin_hash = hash_file(step.origin) or ""
        copied = CopiedNote(origin=str(step.origin), origin_hash=origin_hash, copy_hash=hash_bytes(step.data))
        adoption.copies[str(step.target)] = copied  # before it is written: a copy that nobody knows of is never removed
        atomic.replace_file(step.target, step.data, mode=0o644)
        _keep_time(step.origin, step.target)


def _make_folders(adoption: Adoption, folder: Path) -> None:
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    for each in reversed(missing):
        each.mkdir()
        adoption.folders.append(str(each))


def _keep_time(origin: Path, target: Path) -> None:
    import os

    found = origin.stat()
    os.utime(target, ns=(found.st_atime_ns, found.st_mtime_ns))
