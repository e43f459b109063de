"""Take over the notes of homes, and give them back: they are served where they lie, or copied.

A record of all that, a file in the state folder, is what undoing goes by. Copies lie
below `memory/imports/` of a workspace, in plain Markdown. Nothing is merged, and nothing is copied twice; what only the other
program understands is left out or written otherwise.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, fields
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

from memory_core import atomic
from memory_core.config.editing import NotEditable, find_entry, place_setting, put_entry, read_document, take_entry
from memory_core.config.environment import expand_home, shorten_home
from memory_core.config.load import find_adopted_config
from memory_core.config.problems import get_adapter
from memory_core.config.settings import DEFAULT_AGENT
from memory_core.errors import ConfigError, FileUnreadable, PathRefused
from memory_core.hosts.adopt.homes import FoundNote, Home, ServedHome
from memory_core.sources.notes import MAX_NOTE_BYTES, open_file
from memory_core.text.markdown import SECTION_SIGN, leave_out_comments

LOCK_SECONDS = 30.0
NEW_CONFIG = (
    "// Your settings; folders in them count where no --workspace is given: memory-core config set KEY VALUE\n{}\n"
)
EXTRA_PATHS = ("memorySearch", "extraPaths")
AGENTS = ("agents", "list")
IMPORTS = "memory/imports"

Action = Literal["copy", "update", "same", "leave"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CopiedNote:
    """One copy: the original, and the SHA-256 of the copy as it was."""

    origin: str
    copy_hash: str


@dataclass(slots=True, kw_only=True)
class Adoption:
    """All that was taken over.

    Attributes:
        served: Homes by their path.
        copies: Copies by their absolute path.
        folders: Folders that were made, in their order.
        listed: What was put into the lists of the configuration, by the last key of each.
    """

    served: dict[str, ServedHome] = field(default_factory=dict)
    copies: dict[str, CopiedNote] = field(default_factory=dict)
    folders: list[str] = field(default_factory=list)
    listed: dict[str, list[Any]] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        """True if nothing is taken over."""
        return not (self.served or self.copies)


def _find_record(state_dir: Path) -> Path:
    """Return the path of the record, which need not exist."""
    return find_adopted_config(state_dir).with_name("adopted.json")


@contextmanager
def change_record(state_dir: Path) -> Iterator[Adoption]:
    """Load the record under its lock, and save it afterwards; an empty one is removed, with its lock."""
    path = _find_record(state_dir)
    lock = path.with_suffix(".lock")
    with atomic.locked(lock, timeout_seconds=LOCK_SECONDS):
        adoption = load_record(state_dir)
        try:
            yield adoption
        finally:
            if adoption.is_empty:
                path.unlink(missing_ok=True)
            else:
                atomic.replace_file(path, get_adapter(Adoption).dump_json(adoption, indent=2))
    if adoption.is_empty:
        lock.unlink(missing_ok=True)


def load_record(state_dir: Path) -> Adoption:
    """Return the record; an empty one where nothing was taken over.

    Raises:
        ConfigError: It cannot be read.
    """
    path = _find_record(state_dir)
    try:
        found: Adoption = get_adapter(Adoption).validate_json(path.read_bytes())
    except FileNotFoundError:
        return Adoption()
    except (OSError, ValueError) as error:
        problem = f"is no record of what was adopted: {type(error).__name__}"
        raise ConfigError(problem, origin=str(path), action="move it away, and adopt again") from error
    return found


def hash_bytes(data: bytes) -> str:
    """Return the SHA-256 of bytes, as hex digits."""
    return sha256(data).hexdigest()


def hash_file(path: Path) -> str | None:
    """Return the SHA-256 of a file; None if it cannot be read."""
    try:
        return hash_bytes(path.read_bytes())
    except OSError:
        return None


def add_served(adoption: Adoption, homes: Sequence[Home]) -> None:
    """Add homes to a record; one that is there already is brought up to date, and those without Markdown are left out."""
    for home in homes:
        if home.served:
            facts = {each.name: getattr(home, each.name) for each in fields(ServedHome)}
            adoption.served[str(home.path)] = ServedHome(**facts)


def write_config(adoption: Adoption, state_dir: Path) -> bool:
    """List what a record serves in the configuration, where all else stays; return True if that changed it.

    A configuration in which nothing else stands is made where there is none, and removed when nothing is served any more.

    Raises:
        ConfigError: The file cannot be read or changed.
    """
    path = find_adopted_config(state_dir)
    before = path.read_text(encoding="utf-8") if path.exists() else None
    text = NEW_CONFIG if before is None else before
    wanted: dict[tuple[str, ...], list[Any]] = {EXTRA_PATHS: _list_paths(adoption), AGENTS: _list_agents(adoption)}
    listed: dict[str, list[Any]] = {}
    try:
        for named, ours in wanted.items():
            document = read_document(text, path.suffix)
            keys = place_setting(document, named)
            present = find_entry(document, keys) or []
            both, listed[keys[-1]] = _merge(present, adoption.listed.get(keys[-1], []), ours)
            if both != present:
                text = put_entry(text, path.suffix, keys, both) if both else take_entry(text, path.suffix, keys)
        is_empty = not read_document(text, path.suffix)
    except NotEditable as error:
        raise ConfigError(str(error), origin=str(path), action="mend it, and adopt again") from None
    adoption.listed = listed
    if text == before:
        return False
    if is_empty and "".join(text.split()) == "".join(NEW_CONFIG.split()):
        path.unlink(missing_ok=True)
        return before is not None
    atomic.replace_file(path, text.encode(), mode=None)
    return True


def _merge(present: Sequence[Any], listed: Sequence[Any], ours: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """Return a list with our entries, and those of them that the user had not listed.

    Args:
        present: The list as it stands. What the user changed in an entry of ours stays.
        listed: Ours, as they were when they were listed last.
        ours: Ours, as they are to be.
    """
    before = {_name_entry(each): each for each in listed}
    edited = {_name_entry(each): each for each in present if each not in listed}
    both = [each for each in present if _name_entry(each) not in before]
    added = [each for each in ours if (name := _name_entry(each)) in before or name not in edited]
    for entry in added:
        if mine := edited.get(_name_entry(entry)):
            old, theirs, wanted = map(_list_excluded, (before[_name_entry(entry)], mine, entry))
            gone = {each for each in old if each not in theirs or each not in wanted}
            exclude = [each for each in dict.fromkeys(theirs + wanted) if each not in gone]
            both.append({**(mine if isinstance(mine, dict) else {"path": mine}), "exclude": exclude})
        else:
            both.append(entry)
    return both, added


def _name_entry(entry: Any) -> str:
    """Return the path of an entry of `extraPaths`; of any other, all that it says."""
    path = entry.get("path") if isinstance(entry, dict) else entry
    return shorten_home(Path(expand_home(path))) if isinstance(path, str) else json.dumps(entry, sort_keys=True)


def _list_excluded(entry: Any) -> list[str]:
    return list(entry.get("exclude", [])) if isinstance(entry, dict) else []


def _list_paths(adoption: Adoption) -> list[Any]:
    """Return what is searched beside the notes of every agent; not what belongs to one agent among several."""
    shared = [home for home in adoption.served.values() if not _has_agents(home)]
    return [path for home in shared for path in _write_paths(home.served, home.exclude)]


def _list_agents(adoption: Adoption) -> list[dict[str, Any]]:
    """Return an entry for each agent of a home with several: the workspace of its own, but for "main", whose notes are added."""
    home = next(filter(_has_agents, adoption.served.values()), None)
    if home is None:
        return []
    main = home.workspaces.get(DEFAULT_AGENT) or next(iter(home.workspaces.values()))
    own = [path for path in home.served if main in path.parents]
    others = [
        {"id": agent, "workspace": str(path)} for agent, path in home.workspaces.items() if agent != DEFAULT_AGENT
    ]
    return [{"id": DEFAULT_AGENT, "memorySearch": {"extraPaths": _write_paths(own, home.exclude)}}, *others]


def _has_agents(home: ServedHome) -> bool:
    return bool(set(home.workspaces) - {DEFAULT_AGENT})


def _write_paths(paths: Sequence[Path], exclude: Sequence[str]) -> list[Any]:
    """Return the folders and files that are there as `extraPaths` names them."""
    names = [shorten_home(path) for path in dict.fromkeys(paths) if path.exists()]
    return [{"path": name, "exclude": list(exclude)} if exclude else name for name in names]


def undo(adoption: Adoption, state_dir: Path, workspace: Path | None = None) -> tuple[int, list[str], bool]:
    """Empty a record, and remove what it lists; with a workspace, only what was copied into that one.

    Returns:
        The number of files that were removed; a sentence about each file that stays; and True if an index has the words of these
        notes until it is synced.
    """
    removed, kept = 0, list[str]()
    copies = {name: copy for name, copy in adoption.copies.items() if _is_in(name, workspace)}
    for name, copy in copies.items():
        found = hash_file(Path(name))
        if found == copy.copy_hash:
            Path(name).unlink()
            removed += 1
        elif found is not None:
            kept.append(f"{name} was edited since, and stays")
        del adoption.copies[name]
    indexed = bool(copies or (workspace is None and adoption.served))
    if workspace is None:
        adoption.served.clear()
        config = find_adopted_config(state_dir)
        if write_config(adoption, state_dir):
            if config.exists():
                kept.append(f"{config} no longer names these notes, and keeps what else it says")
            else:
                removed += 1
    folders = [each for each in adoption.folders if _is_in(each, workspace)]
    for folder in map(Path, sorted(folders, key=len, reverse=True)):
        with suppress(OSError):  # somebody else's file is in it, or it is gone
            folder.rmdir()
    adoption.folders = [each for each in adoption.folders if each not in folders]
    return removed, kept, indexed


def _is_in(path: str, workspace: Path | None) -> bool:
    return workspace is None or Path(path).is_relative_to(workspace)


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyStep:
    """One note and what becomes of it.

    Attributes:
        action: "copy" writes a new file, "update" replaces a copy of ours, "same" and "leave" do nothing.
        file, origin: The original; the part of an export stands behind its path and "#".
        target: The copy, absolute.
        reason: Why it is left; "" otherwise.
        data: What is written; empty where nothing is.
    """

    action: Action
    origin: str
    file: Path
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
    recorded = {copy.origin: path for path, copy in adoption.copies.items() if Path(path).is_relative_to(folder)}
    return [_plan(adoption, recorded, note, folder) for note in _list_foreign(homes, workspace)]


def _list_foreign(homes: Sequence[Home], workspace: Path) -> Iterator[FoundNote]:
    """Yield every file once; none that lies in the workspace already."""
    own, seen = workspace.resolve(), set[str]()
    for home in homes:
        for note in home.notes:
            if note.origin not in seen and not note.file.real_path.is_relative_to(own):
                seen.add(note.origin)
                yield note


def _plan(adoption: Adoption, recorded: Mapping[str, str], note: FoundNote, imports: Path) -> CopyStep:
    origin, file = note.origin, note.file.real_path
    target = Path(recorded[origin]) if origin in recorded else _choose(adoption, imports / note.target, origin)
    try:
        data = _convert(note)
    except FileUnreadable as error:
        return CopyStep(action="leave", origin=origin, file=file, target=target, reason=error.reason)
    known, there = adoption.copies.get(str(target)), hash_file(target)
    if there == hash_bytes(data):
        return CopyStep(action="same", origin=origin, file=file, target=target)
    if there is not None and (known is None or there != known.copy_hash):
        reason = "the copy was edited since" if known else "another file is there"
        return CopyStep(action="leave", origin=origin, file=file, target=target, reason=reason)
    action: Action = "update" if there else "copy"
    return CopyStep(action=action, origin=origin, file=file, target=target, data=data)


def _convert(note: FoundNote) -> bytes:
    """Return the copy of a note; of a plain one, its own bytes.

    Raises:
        FileUnreadable: The original cannot be read.
    """
    if note.data is not None:
        return note.data
    with open_file(note.file, max_bytes=MAX_NOTE_BYTES) as (_, stream):
        data = stream.read()
    if note.layout == "plain" and not note.file.in_vault:
        return data
    text = data.removeprefix(b"\xef\xbb\xbf").decode(errors="replace").replace("\r\n", "\n")
    converted = leave_out_comments(text) if note.layout == "plain" else _convert_hermes(note, text)
    return converted.encode()


def _convert_hermes(note: FoundNote, text: str) -> str:
    """Write every entry as an item of a list; the lines of a long one stay together."""
    entries = [entry.strip() for entry in SECTION_SIGN.split(text) if entry.strip()]
    items = ["- " + entry.replace("\n", "\n  ") for entry in entries]
    about = "the user" if note.file.real_path.name == "USER.md" else "the agent's work"
    return "\n".join([f"# Hermes: about {about}", "", *items, ""])


def _choose(adoption: Adoption, wanted: Path, origin: str) -> Path:
    """Return a target that is no copy of another original."""
    other = adoption.copies.get(str(wanted))
    if other is None or other.origin == origin:
        return wanted
    return wanted.with_name(f"{wanted.stem}-{hash_bytes(os.fsencode(origin))[:8]}{wanted.suffix}")


def copy_notes(adoption: Adoption, steps: Sequence[CopyStep], workspace: Path) -> None:
    """Carry out the steps in a workspace, and record each.

    A copy gets the time of its original, by which a note without a date is dated. No link is followed.
    """
    for step in steps:
        if step.action not in {"copy", "update"}:
            continue
        _make_folders(adoption, step.target.parent)
        copied = CopiedNote(origin=step.origin, copy_hash=hash_bytes(step.data))
        adoption.copies[str(step.target)] = copied  # before it is written: a copy that nobody knows of is never removed
        atomic.replace_file(step.target, step.data, mode=0o644, root=workspace)
        found = step.file.stat()
        os.utime(step.target, ns=(found.st_atime_ns, found.st_mtime_ns))


def _make_folders(adoption: Adoption, folder: Path) -> None:
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    for each in reversed(missing):
        each.mkdir()
        adoption.folders.append(str(each))
