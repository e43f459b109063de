"""Export of one memory into a folder or a ZIP file of plain files, and its import: notes, items, and old versions of notes.

memory-core.json       {"format": 1, "notes": [path, ...]}
notes/PATH             every note of the workspace, byte for byte
written.jsonl          which of their lines agents have written, as `sources.origins` records it
items.jsonl            the items, as `memory-core items export` prints them
history.jsonl          a line for each moment: {"at": milliseconds, "notes": [{"source", "path", "inVault", "version"}, ...]}
versions/NAME          the bytes of an old version; null in place of a name says that the note was gone
"""

from __future__ import annotations

import json
import os
import shutil
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from memory_core.atomic import append_bytes
from memory_core.config.agent import PERSON, AgentConfig
from memory_core.errors import InvalidArgument, MemoryCoreError, NotIndexed, PathRefused
from memory_core.history.history import History
from memory_core.history.store import rows
from memory_core.history.store.store import PastNote, insert
from memory_core.items.items import Items
from memory_core.items.records import read_items, write_items
from memory_core.records import FileKey
from memory_core.sources import pages, roots, writer
from memory_core.sources.files import list_files
from memory_core.sources.notes import open_past_no_link
from memory_core.sources.origins import IMPORTS, find_record, pick_written
from memory_core.sources.refusals import SYMLINK, describe_os_error, refuse_type

FORMAT = 1
MANIFEST, NOTES, ITEMS, HISTORY, VERSIONS = "memory-core.json", "notes", "items.jsonl", "history.jsonl", "versions"
WRITTEN = "written.jsonl"
ORIGIN = "import"  # of moments
ReadFile = Callable[[str], bytes]  # of an export, by its name
FREE = (None, writer.FIRST_NOTE.encode())  # where an imported note goes: no file, and what `init` has made
NEW_TARGET = "name a new folder or ZIP file elsewhere"
NO_EXPORT = "name what memory-core export has written; of other notes: memory-core adopt FOLDER"


class _PastMoment(NamedTuple):
    """A moment of an export: the notes that changed at it, if each lies in a vault, and the name of its version."""

    at_ms: int
    notes: list[tuple[FileKey, bool, str | None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """The result of an export or an import.

    Attributes:
        notes, items, moments, versions: The numbers of those that were written.
        aside: The paths of imported notes that stand below `memory/imports`, since another note has their place.
        left_out: What else was not written, one sentence each.
    """

    notes: int = 0
    items: int = 0
    moments: int = 0
    versions: int = 0
    aside: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()


def export_memory(config: AgentConfig, target: Path) -> Moved:
    """Write the notes of a workspace, its items and its history into a new folder, or a ZIP file if that is its suffix.

    Raises:
        InvalidArgument: The target is there already, named like another archive, or lies where notes are searched.
        MemoryCoreError: Something cannot be read, or the target cannot be written.
    """
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise InvalidArgument("TARGET", f"{target} is there already", action=NEW_TARGET)
    is_zip, name = target.suffix.lower() == ".zip", target.name.lower()
    if not is_zip and name.endswith(tuple(each for _, ends, _ in shutil.get_unpack_formats() for each in ends)):
        raise InvalidArgument("TARGET", f"{target} is named like an archive of another kind", action=NEW_TARGET)
    with suppress(PathRefused):
        pages.find_place(config, str(target.absolute() / NOTES / f"{MANIFEST}{roots.SUFFIX}"))
        raise InvalidArgument("TARGET", f"{target} lies where notes are searched", action=NEW_TARGET)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=target.parent, prefix=".memory-core-export-") as made:
            folder = Path(made, "export")
            moved = _write_all(config, folder)
            if is_zip:
                Path(shutil.make_archive(str(folder), "zip", folder)).replace(target)
            else:
                if target.exists():
                    target.rmdir()
                folder.rename(target)
    except OSError as error:
        raise MemoryCoreError(
            f"{target} cannot be written: {describe_os_error(error)}", action=writer.CHECK_DISK
        ) from error
    return moved


def _write_all(config: AgentConfig, folder: Path) -> Moved:
    root = Path(os.path.realpath(config.workspace))
    (folder / VERSIONS).mkdir(parents=True)
    paths, elsewhere = [], []
    for file in list_files(config).files:
        path = file.real_path.relative_to(root).as_posix() if file.real_path.is_relative_to(root) else ""
        if path != file.path:
            elsewhere.append(file.path)
            continue
        place = folder / NOTES / path
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(file.real_path, place)
        paths.append(path)
    record = find_record(config.workspace, config.state_dir)
    (folder / WRITTEN).write_bytes(pick_written(record.read_bytes(), {*paths}) if record.exists() else b"")
    with closing(Items(config, access="ro")) as items, (folder / ITEMS).open("w", encoding="utf-8") as lines:
        found = (
            items.export() if config.layer in ("", PERSON) else ()
        )  # other layers have none, but name the person's file
        count = sum(bool(lines.write(line)) for line in write_items(found))
    names: set[str] = set()
    moments = 0
    with closing(History(config, writable=False)) as history, (folder / HISTORY).open("w", encoding="utf-8") as lines:
        for at_ms, notes in _read_moments(history, folder / VERSIONS, names):
            lines.write(json.dumps({"at": at_ms, "notes": notes}, ensure_ascii=False) + "\n")
            moments += 1
    manifest = json.dumps({"format": FORMAT, "notes": sorted(paths)}, ensure_ascii=False, indent=1)
    (folder / MANIFEST).write_text(manifest, encoding="utf-8")
    left_out = tuple(
        f"the layer {each.layer!r}, which is exported on its own: memory-core export --layer {each.layer} FOLDER|FILE.zip"
        for each in config.layers
        if os.path.isdir(each.workspace) or (each.layer == PERSON and each.items_path.exists())  # noqa: PTH112
    )
    if elsewhere:
        several, others = "1 note that is", ""
        if len(elsewhere) > 1:
            several, others = f"{len(elsewhere)} notes that are", " and others"
        left_out += (f"{several} served from another place, which you copy yourself: {elsewhere[0]}{others}",)
    return Moved(notes=len(paths), items=count, moments=moments, versions=len(names), left_out=left_out)


def _read_moments(history: History, folder: Path, names: set[str]) -> Iterator[tuple[int, list[dict[str, Any]]]]:
    """Yield the time of each moment with the notes that changed at it; write each of their versions once."""
    try:
        with history.read() as connection:
            versions = rows.load_all(connection)
    except NotIndexed:
        return
    begun: dict[int, dict[FileKey, dict[str, Any]]] = {}
    for version in versions:
        name = version.hash.hex()
        if name not in names:
            names.add(name)
            (folder / name).write_bytes(history.load_bytes(version))
        told = {"source": version.key.source, "path": version.key.path, "inVault": version.in_vault}
        begun.setdefault(version.since, {})[version.key] = {**told, "version": name}
        if version.until is not None:
            begun.setdefault(version.until, {}).setdefault(version.key, {**told, "version": None})
    for moment in history.list_moments():
        if changed := begun.get(moment.id):
            yield moment.at_ms, [*changed.values()]


def import_memory(config: AgentConfig, source: Path) -> Moved:
    """Add what an export holds to a workspace, its items and its history. Nothing that is there is changed.

    All of it is read before anything is written.

    Raises:
        InvalidArgument: The source is no export, or holds what no export does; nothing is written.
        MemoryCoreError: Something cannot be written.
    """
    with _open_export(source) as read:
        manifest = json.loads(read(MANIFEST))
        if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
            raise InvalidArgument("SOURCE", f"{source} is no export of format {FORMAT}", action=NO_EXPORT)
        changes, aside, left_out = _choose_notes(config, read, manifest.get("notes"))
        written = b""
        with suppress(FileNotFoundError):  # an older version has written the export
            written = pick_written(read(WRITTEN), changes)
        found, told = read_items(read(ITEMS).decode("utf-8"), ITEMS), _read_history(read)
        with closing(Items(config)) as items:
            new = items.restore(found)
        config.workspace.mkdir(parents=True, exist_ok=True)
        for place, data in changes.items():
            writer.rewrite(place, partial(_keep, data), workspace=config.workspace, state_dir=config.state_dir)
        if written:
            append_bytes(find_record(config.workspace, config.state_dir), b"\n" + written)
        moments, versions, later = _import_history(config, read, told)
    if later:
        left_out.append(
            f"what the history tells of {later} {'moment' if later == 1 else 'moments'}: the history here begins before that"
        )
    return Moved(
        notes=len(changes), items=new, moments=moments, versions=versions, aside=tuple(aside), left_out=tuple(left_out)
    )


def _read_exported(root: Path | zipfile.Path, name: str) -> bytes:
    """Return the bytes of a file of an export, whose name must not lead out of it, nor a link on the way."""
    if name.startswith("/") or ".." in name.split("/") or "\\" in name:
        raise InvalidArgument("SOURCE", f"holds a name that leads elsewhere: {name!r:.80}", action=NO_EXPORT)
    if isinstance(root, zipfile.Path):
        with root.joinpath(name).open("rb") as file:
            return bytes(file.read())
    place = Path(os.path.realpath(root), name)
    if any(each.is_symlink() for each in (place, *place.parents)):
        raise ValueError(f"{name} {SYMLINK}")
    opened = open_past_no_link(str(place))
    try:
        if problem := refuse_type(os.fstat(opened)):
            raise ValueError(f"{name} {problem}")
        with open(opened, "rb", closefd=False) as stream:
            return stream.read()
    finally:
        os.close(opened)


@contextmanager
def _open_export(source: Path) -> Iterator[ReadFile]:
    """Open an export; whatever it lacks or holds wrongly becomes one error."""
    try:
        if source.is_dir():
            if not (source / MANIFEST).exists():
                raise InvalidArgument("SOURCE", f"{source} holds no {MANIFEST}; it is no export", action=NO_EXPORT)
            yield partial(_read_exported, source)
        else:
            with zipfile.ZipFile(source) as archive:
                yield partial(_read_exported, zipfile.Path(archive))
    except (OSError, ValueError, KeyError, TypeError, zipfile.BadZipFile) as error:
        if isinstance(error, MemoryCoreError):
            raise
        reason = describe_os_error(error) if isinstance(error, OSError) else error
        problem = f"{source} cannot be read as an export: {reason}"
        raise InvalidArgument("SOURCE", problem, action=NO_EXPORT) from error


def _choose_notes(config: AgentConfig, read: ReadFile, paths: Any) -> tuple[dict[str, bytes], list[str], list[str]]:
    """Read the notes that are not there; return them by their place, those that go aside, and why others are left out."""
    if not isinstance(paths, list) or not all(isinstance(path, str) for path in paths):
        raise InvalidArgument("SOURCE", f"{MANIFEST} lists no notes", action=NO_EXPORT)
    refused = pages.find_unserved(config, paths)
    left_out = [f"{path} {reason}" for path, reason in refused.items()]
    changes: dict[str, bytes] = {}
    aside = []
    for path in paths:
        if path in refused:
            continue
        data = read(f"{NOTES}/{path}")
        for place in (path, IMPORTS + path):
            try:
                held: bytes | None = (config.workspace / place).read_bytes()
            except FileNotFoundError:
                held = None
            if held == data:
                break
            if held in FREE:
                changes[place] = data
                aside += [place] if place != path else []
                break
        else:
            left_out.append(f"{path}: other notes stand there and at {IMPORTS}{path}")
    return changes, aside, left_out


def _keep(data: bytes, there: bytes | None) -> bytes | None:
    return data if there in FREE else there


def _read_history(read: ReadFile) -> list[_PastMoment]:
    """Return the moments of an export, each version of which can be read."""
    told = [json.loads(line) for line in read(HISTORY).decode("utf-8").split("\n") if line.strip()]
    moments = [
        _PastMoment(int(each["at"]), [
            (FileKey(str(note["source"]), str(note["path"])), bool(note["inVault"]), note["version"]) for note in each["notes"]
        ])
        for each in told
    ]  # fmt: skip
    for version in {version for moment in moments for *_, version in moment.notes if version is not None}:
        read(f"{VERSIONS}/{version}")
    return moments


def _import_history(config: AgentConfig, read: ReadFile, told: Sequence[_PastMoment]) -> tuple[int, int, int]:
    """Put moments in front of the history; return the numbers of new ones, of new contents, and of moments that are too late."""

    def read_notes(moment: _PastMoment) -> Iterator[PastNote]:
        for key, in_vault, version in moment.notes:
            yield PastNote(key, in_vault, None if version is None else read(f"{VERSIONS}/{version}"))

    if not told or not config.search.history.enabled:
        return 0, 0, len(told)
    with closing(History(config)) as history, history.write() as connection:
        known, contents = rows.load_moments(connection), {each.hash.hex() for each in rows.load_all(connection)}
        times = {each.at_ms for each in known}
        # An earlier import of the same memory gives way to this one; that of another memory stays.
        if {each.at_ms for each in known if each.origin == ORIGIN} <= {each.at_ms for each in told}:
            rows.drop_moments(connection, ORIGIN)
        there = rows.load_moments(connection)
        earlier = [each for each in told if not there or each.at_ms < there[0].at_ms]
        first = there[0].id if there else 1
        insert(connection, ((each.at_ms, read_notes(each)) for each in earlier), ORIGIN, first - len(earlier), first)
    new, untold = (sum(each.at_ms not in times for each in moments) for moments in (earlier, told))
    brought = {version for each in earlier for *_, version in each.notes}
    return new, len(brought - contents - {None}), untold - new
