"""Copy the notes of homes into a workspace, below `memory/imports/`, in plain Markdown.

Nothing is merged, and nothing is copied twice. What only the other program understands is left out or written otherwise.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal

from memory_core import atomic
from memory_core.errors import FileUnreadable, PathRefused
from memory_core.hosts.adopt.homes import FoundNote, Home
from memory_core.hosts.adopt.programs import read_mem0
from memory_core.hosts.adopt.record import Adoption, CopiedNote, hash_bytes, hash_file
from memory_core.sources.notes import MAX_NOTE_BYTES, open_file
from memory_core.text.markdown import SECTION_SIGN, leave_out_comments

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
        data = _convert(note)
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


def _convert(note: FoundNote) -> bytes:
    """Return the copy of a note; of a plain one, its own bytes.

    Raises:
        FileUnreadable: The original cannot be read.
    """
    if note.layout == "mem0":
        return _convert_mem0(note).encode()
    with open_file(note.file, max_bytes=MAX_NOTE_BYTES) as (_, stream):
        data = stream.read()
    if note.layout == "plain":
        return data
    text = data.removeprefix(b"\xef\xbb\xbf").decode(errors="replace").replace("\r\n", "\n")
    converted = leave_out_comments(text) if note.layout == "obsidian" else _convert_hermes(note, text)
    return converted.encode()


def _convert_hermes(note: FoundNote, text: str) -> str:
    """Write every entry as an item of a list; the lines of a long one stay together."""
    entries = [entry.strip() for entry in SECTION_SIGN.split(text) if entry.strip()]
    items = ["- " + entry.replace("\n", "\n  ") for entry in entries]
    about = "the user" if note.file.real_path.name == "USER.md" else "the agent's work"
    return "\n".join([f"# Hermes: about {about}", "", *items, ""])


def _convert_mem0(note: FoundNote) -> str:
    """Write every memory as one item of a list, with its date, under the name of whom it is about."""
    sections: defaultdict[str, list[str]] = defaultdict(list)
    for row in read_mem0(note.file.real_path):
        owner = next((str(row[name]) for name in ("user_id", "agent_id", "run_id") if row.get(name)), "")
        date = _read_day(row.get("created_at")) or _read_day(row.get("updated_at"))
        words = " ".join(row["memory"].split())
        sections[owner].append(f"- {date}: {words}" if date else f"- {words}")
    lines = ["# Memories from mem0"]
    for owner, items in sections.items():
        lines += ["", *([f"## {owner}", ""] if owner else []), *items]
    return "\n".join([*lines, ""])


def _read_day(value: object) -> str | None:
    if not isinstance(value, str):
        return None
    try:
        return datetime.fromisoformat(value).date().isoformat()
    except ValueError:
        return None


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
