"""Plan changes of a host's files, and make them: each file as a whole, with a copy of the one that was there before."""

from __future__ import annotations

import json
import os
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Any

from memory_core.atomic import locked, replace_file
from memory_core.config.editing import NotEditable, find_entry, place_setting, put_entry, read_document, take_entry
from memory_core.config.resolution import OWN_FOLDER
from memory_core.config.settings import SLOT_ID
from memory_core.errors import MemoryCoreError
from memory_core.text.matching import unified_diff

KEPT = "before-install"  # the folder of the copies
CAPTURES = "capture.json"  # beside them: the configurations in which capture was turned on, for which hosts, and what was there
FOLDERS = "folders.json"  # and the folders that `install` has made
LOCK_SECONDS = 30.0
_MEND = "mend it, and run the command again"


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry in a file of the host: its path of keys, and its value."""

    path: Path
    keys: tuple[str, ...]
    value: Any


@dataclass(frozen=True, slots=True)
class Elements:
    """An element in each of several lists in a file of the host, in which others have theirs.

    Attributes:
        path: The file.
        keys: The path of keys to the mapping that holds the lists.
        value: Our element of each list, by the list's name.
        mark: A text in each of them by which an element of ours is recognised, in whatever version.
    """

    path: Path
    keys: tuple[str, ...]
    value: Mapping[str, Any]
    mark: str

    def is_ours(self, element: Any) -> bool:
        """Return True for an element of ours."""
        return self.mark in json.dumps(element, ensure_ascii=False)

    def add_to(self, present: Any) -> dict[str, Any]:
        """Return the lists with our elements behind those of others."""
        others = self.take_from(present)
        return {**others, **{name: [*others.get(name, ()), element] for name, element in self.value.items()}}

    def take_from(self, present: Any) -> dict[str, Any]:
        """Return the lists without our elements, and without those that have no others.

        Raises:
            NotEditable: They are no lists.
        """
        if not isinstance(present or {}, dict):
            raise NotEditable(f"has no lists at {'.'.join(self.keys)}")
        kept = dict(present or {})
        for name in self.value:
            if not isinstance(kept.get(name, []), list):
                raise NotEditable(f"has no list at {'.'.join((*self.keys, name))}")
            others = [element for element in kept.pop(name, ()) if not self.is_ours(element)]
            if others:
                kept[name] = others
        return kept

    def find_lists(self, present: Any) -> list[str]:
        """Return the names of the lists that have an element of ours."""
        lists = present if isinstance(present, dict) else {}
        return [
            name for name in self.value if isinstance(each := lists.get(name), list) and any(map(self.is_ours, each))
        ]


@dataclass(frozen=True, slots=True)
class OwnFile:
    """A file that is ours alone.

    Attributes:
        path: The file.
        text: All of it.
        keys: The path of keys to the entry of the server in it, to which its user may add; () in a file without one.
    """

    path: Path
    text: str
    keys: tuple[str, ...] = ()


Part = Entry | Elements | OwnFile


@dataclass(frozen=True, slots=True)
class FileChange:
    """One file before and after; None where there is none."""

    path: Path
    before: bytes | None
    after: bytes | None

    @property
    def verb(self) -> str:
        """It says how the file changes: it is "written", "changed" or "removed"."""
        return "removed" if self.after is None else "written" if self.before is None else "changed"

    @property
    def is_copy(self) -> bool:
        """It is the copy of a host's file that `uninstall` restores."""
        return self.path.parent.name == KEPT


def plan_install(parts: Iterable[Part], state_dir: Path) -> list[FileChange]:
    """Return what has to change so that all parts are in place; empty if they are.

    Args:
        parts: Of a host.
        state_dir: Keeps a copy of each of the host's files as it was before.

    Raises:
        MemoryCoreError: A file cannot be read or changed.
    """
    changes: list[FileChange] = []
    for part in parts:
        before = _read(part.path)
        if isinstance(part, OwnFile):
            changes.append(FileChange(part.path, before, _write_own(part, before)))
            continue
        path = part.path
        kept = _read(_kept(path, state_dir))
        present = find_entry(_load(path, before), part.keys)
        with _explained(path, "write this into it yourself:", part):
            value = _merge(part, present)
            if present == value:
                continue
            # An entry under our name that the user has written; an earlier install may have made the file.
            own = kept is None and isinstance(part, Entry) and not (_is_plain(part, present) and _starts_us(present))
            if before is not None and (own or not _has_ours(part, present)):  # else the copy is older
                changes.append(FileChange(_kept(path, state_dir), kept, before))
            changes.append(FileChange(path, before, _put(path, before, part.keys, value)))
    return [change for change in changes if change.before != change.after]


def plan_value(path: Path, keys: tuple[str, ...], value: Any) -> list[FileChange]:
    """Return the change of a configuration of ours that sets a key to a value, None to the default; empty if it has it.

    Raises:
        MemoryCoreError: The file cannot be read or changed.
    """
    before = after = _read(path)
    with _explained(path, f"set {'.'.join(keys)} in it yourself"):
        document = _load(path, before)
        keys = place_setting(document, keys)
        if value is not None:
            after = _put(path, before, keys, value)
        elif find_entry(document, keys) is not None:
            after = _take(path, before, keys)
    return [FileChange(path, before, after)] if after != before else []


def plan_settings(path: Path, switches: Iterable[tuple[str, ...]], place: str, state_dir: Path) -> list[FileChange]:
    """Return the change of a configuration of ours that turns switches of `memorySearch` on; empty if they are.

    What they were before is recorded with the place of the installation, so that `plan_release` turns them back.

    Raises:
        MemoryCoreError: The file cannot be read or changed.
    """
    before = after = _read(path)
    record, captures = _load_captures(state_dir)
    known = captures.get(str(path), {"hosts": [], "before": [], "made": before is None})
    turned = list(known["before"])
    for switch in switches:
        with _explained(path, f"set memorySearch.{'.'.join(switch)} to true in it yourself"):
            document = _load(path, after)
            keys = place_setting(document, ("memorySearch", *switch))
            if (earlier := find_entry(document, keys)) is not True:
                turned.append([keys, earlier])
                after = _put(path, after, keys, True)
    if turned:
        captures[str(path)] = {**known, "hosts": sorted({*known["hosts"], place}), "before": turned}
    found = [_record_captures(record, captures, state_dir), FileChange(path, before, after)]
    return [change for change in found if change.before != change.after]


def plan_release(place: str, state_dir: Path) -> tuple[list[FileChange], list[str]]:
    """Return what turns back what `plan_settings` has turned on for an installation, unless another needs it; and all others.

    Raises:
        MemoryCoreError: The configuration cannot be read or changed.
    """
    record, captures = _load_captures(state_dir)
    config = next((name for name, known in captures.items() if place in known["hosts"]), None)
    others = sorted({name for known in captures.values() for name in known["hosts"]} - {place})
    if config is None:
        return [], others
    known, path = captures.pop(config), Path(config)
    if left := [name for name in known["hosts"] if name != place]:
        captures[config] = {**known, "hosts": left}
        return [_record_captures(record, captures, state_dir)], others
    before = after = _read(path)
    for keys, earlier in reversed(known["before"]):
        with _explained(path, "turn it off yourself"):
            if find_entry(_load(path, after), keys) is True:
                after = _take(path, after, keys) if earlier is None else _put(path, after, keys, earlier)
    if known["made"] and _is_empty(after):
        after = None
    found = [_record_captures(record, captures, state_dir), FileChange(path, before, after)]
    return [change for change in found if change.before != change.after], others


def _load_captures(state_dir: Path) -> tuple[bytes | None, dict[str, Any]]:
    """Return the record of the configurations in which switches were turned on: as it is, and what it says by path."""
    data = _read(state_dir / OWN_FOLDER / KEPT / CAPTURES)
    return data, json.loads(data or b"{}")


def _record_captures(record: bytes | None, captures: Mapping[str, Any], state_dir: Path) -> FileChange:
    after = json.dumps(captures).encode() if captures else None
    return FileChange(state_dir / OWN_FOLDER / KEPT / CAPTURES, record, after)


def plan_uninstall(parts: Iterable[Part], state_dir: Path) -> list[FileChange]:
    """Return what has to change so that the files are as they were before; what others changed since then stays.

    Args:
        parts: Of a host.
        state_dir: As it was given to `plan_install`.

    Raises:
        MemoryCoreError: A file cannot be read or changed.
    """
    changes: list[FileChange] = []
    for part in parts:
        before = _read(part.path)
        if isinstance(part, OwnFile):
            changes.append(FileChange(part.path, before, None))
            continue
        kept = _read(_kept(part.path, state_dir))
        with _explained(part.path, f"take {'.'.join(part.keys)} out of it yourself"):
            if before is not None and _is_ours(part, before):
                changes.append(FileChange(part.path, before, _restore(part, before, kept)))
        changes.append(FileChange(_kept(part.path, state_dir), kept, None))
    return [change for change in changes if change.before != change.after]


def are_in_place(parts: Sequence[Part]) -> bool:
    """Return True if all parts are there, in whatever version; a file that cannot be read has none."""
    return bool(parts) and not find_missing(parts)


def find_missing(parts: Iterable[Part]) -> list[Part]:
    """Return the parts that are not there."""
    return [part for part in parts if not _is_there(part)]


def find_replaced(parts: Iterable[Part]) -> list[Entry]:
    """Return the entries that say something else under our name, so that installing replaces them.

    Raises:
        MemoryCoreError: A file cannot be read.
    """
    entries = ((part, _load(part.path, _read(part.path))) for part in parts if isinstance(part, Entry))
    found = ((part, find_entry(document, part.keys)) for part, document in entries)
    return [part for part, present in found if present not in (None, part.value) and not _starts_us(present)]


def _is_there(part: Part) -> bool:
    try:
        text = _read(part.path)
        if text is None or isinstance(part, OwnFile):
            return text is not None
        if isinstance(part, Elements):
            return len(part.find_lists(find_entry(_load(part.path, text), part.keys))) == len(part.value)
        return _is_ours(part, text)
    except (NotEditable, MemoryCoreError):
        return False


def make_changes(changes: Iterable[FileChange], state_dir: Path) -> None:
    """Write, and delete what is no longer needed, also folders that were made for it and are empty.

    Raises:
        MemoryCoreError: A file has been changed since the plan was made, or a link leads it out of its repository; nothing is
            written then.
        OSError: A file cannot be written, or another process installs all the time.
    """
    planned = [(change.path if change.is_copy else _find_real(change.path), change) for change in changes]
    if not planned:
        return
    with locked(state_dir / OWN_FOLDER / "install.lock", timeout_seconds=LOCK_SECONDS):
        for path, change in planned:
            if _read(path) != change.before:
                raise MemoryCoreError(f"{change.path} has been changed meanwhile", action="run the command again")
        record = state_dir / OWN_FOLDER / KEPT / FOLDERS
        made = {Path(name) for name in json.loads(_read(record) or b"[]")}
        for path, change in planned:
            if change.after is None:
                path.unlink(missing_ok=True)
                continue
            if not change.is_copy:
                made.update(folder for folder in path.parents if not folder.exists())
            path.parent.mkdir(mode=0o700 if change.is_copy else 0o777, parents=True, exist_ok=True)
            replace_file(path, change.after, mode=0o600 if change.is_copy else None)
        _remove_made(made, [path for path, change in planned if change.after is None])
        if made:
            record.parent.mkdir(mode=0o700, exist_ok=True)
            replace_file(record, json.dumps(sorted(map(str, made))).encode(), mode=0o600)
        else:
            record.unlink(missing_ok=True)
            with suppress(OSError):  # copies are in it, or there is none
                record.parent.rmdir()


def show_change(change: FileChange) -> str:
    """Return a change as a unified diff."""
    old, new = (f"{change.path}" if text is not None else "/dev/null" for text in (change.before, change.after))
    before, after = (
        (data or b"").decode("utf-8", "replace").splitlines(keepends=True) for data in (change.before, change.after)
    )
    return "".join(f"{piece.removesuffix(chr(10))}\n" for piece in unified_diff(before, after, old, new, around=3))


def _merge(part: Entry | Elements, present: Any) -> Any:
    """Return our value with what the user has added to the entry, or with the elements of others."""
    if isinstance(part, Elements):
        return part.add_to(present)
    both = isinstance(present, dict) and isinstance(part.value, dict)
    return {**present, **part.value} if both else part.value


def _write_own(part: OwnFile, before: bytes | None) -> bytes:
    """Return a file of ours, with what its user has added to the entry in the one that is there; a damaged one is replaced."""
    text = part.text.encode("utf-8")
    with suppress(NotEditable, MemoryCoreError):
        present = find_entry(_load(part.path, before), part.keys) if part.keys else None
        value = find_entry(_load(part.path, text), part.keys)
        if isinstance(present, dict) and not present.keys() <= value.keys():
            return _put(part.path, text, part.keys, {**present, **value})
    return text


def _is_ours(part: Entry | Elements, data: bytes) -> bool:
    """Return True if our entry is there."""
    present = find_entry(_load(part.path, data), part.keys)
    return _has_ours(part, present) or (isinstance(part, Entry) and present == part.value)


def _has_ours(part: Entry | Elements, present: Any) -> bool:
    """Return True if a value has something of ours: it is a mapping under our name, or has a list with an element of ours."""
    if isinstance(part, Elements):
        return bool(part.find_lists(present))
    return isinstance(present, dict) and isinstance(part.value, dict)


def _find_real(path: Path) -> Path:
    """Return the file that a link stands for, so that it stays one; in a repository, others may have put it there.

    Raises:
        MemoryCoreError: The link leads out of the repository.
    """
    real = path.resolve()
    repository = next((folder for folder in path.parents if (folder / ".git").exists()), None)
    if repository is not None and not real.is_relative_to(repository.resolve()):
        raise MemoryCoreError(f"{path} leads out of {repository} to {real}", action="put a file in place of the link")
    return real


def _restore(part: Entry | Elements, before: bytes, kept: bytes | None) -> bytes | None:
    """Return the file as it was before install, with what others changed since; None if install made it."""
    path, keys = part.path, part.keys
    present, earlier = (find_entry(_load(path, data), keys) for data in (before, kept))
    if kept is not None:
        with suppress(NotEditable):
            unchanged = isinstance(part, Entry) or part.take_from(present) == part.take_from(earlier)
            if unchanged and _put(path, kept, keys, present) == before:
                return kept
        if earlier is not None and isinstance(part, Entry):
            return _put(path, before, keys, earlier)
    if isinstance(part, Elements):
        others = part.take_from(present)
        emptied = {name: list[Any]() for name, each in (earlier or {}).items() if each == [] and name not in others}
        if others or earlier is not None:
            return _put(path, before, keys, {**emptied, **others})
    after = _take(path, before, keys)
    return None if kept is None and _is_plain(part, present) and _is_empty(after) else after


def _is_empty(data: bytes | None) -> bool:
    return b"".join((data or b"").split()) in (b"", b"{}")


def _is_plain(part: Entry | Elements, entry: Any) -> bool:
    """Return True if an entry has nothing that install does not write: it is ours, perhaps of an older version."""
    if isinstance(part, Elements):
        return isinstance(entry, dict) and not part.take_from(entry)
    if isinstance(entry, dict) and isinstance(part.value, dict):
        return entry.keys() <= part.value.keys()
    return bool(entry == part.value)


def _starts_us(entry: Any) -> bool:
    """Return True if an entry starts memory-core, from anywhere and with any options."""
    if not isinstance(entry, dict):
        return False
    command, arguments = entry.get("command"), entry.get("args")
    words = [
        *(command if isinstance(command, list) else [command]),
        *(arguments if isinstance(arguments, list) else ()),
    ]
    started = [*words[:1], *(module for option, module in pairwise(words) if option == "-m")]
    return any(Path(str(word)).stem.replace("_", "-") == SLOT_ID for word in started)


def _kept(path: Path, state_dir: Path) -> Path:
    """Return the place of the copy of a host's file: not beside it, where a repository would take it up with what it holds."""
    return state_dir / OWN_FOLDER / KEPT / f"{sha256(os.fsencode(path.absolute())).hexdigest()[:16]}-{path.name}"


def _read(path: Path) -> bytes | None:
    """Return the bytes of a file; None if there is none.

    Raises:
        MemoryCoreError: It cannot be read, or something else stands there: a pipe, or a link in the place of a copy of ours.
    """
    places = (path, path.parent) if path.parent.name == KEPT else ()
    for place in (each for each in places if each.is_symlink()):
        raise MemoryCoreError(
            f"{place} is a link, which nothing is kept behind", action="remove it, and run the command again"
        )
    if path.exists() and not path.is_file():
        raise MemoryCoreError(f"{path} is not a file", action=_MEND)
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise MemoryCoreError(f"{path} cannot be read: {error.strerror}", action=_MEND) from error


def _load(path: Path, data: bytes | None) -> dict[str, Any]:
    """Return the document in a file.

    Raises:
        MemoryCoreError: It is none.
    """
    with _explained(path, _MEND):
        return read_document(_decode(path, data), path.suffix)


def _put(path: Path, data: bytes | None, keys: Sequence[str], value: Any) -> bytes:
    """Return a file with a value at a path of keys."""
    return _encode(put_entry(_decode(path, data), path.suffix, keys, value), data)


def _take(path: Path, data: bytes | None, keys: Sequence[str]) -> bytes:
    """Return a file without the entry at a path of keys."""
    return _encode(take_entry(_decode(path, data), path.suffix, keys), data)


def _decode(path: Path, data: bytes | None) -> str:
    """Return a file's text without a byte order mark, and with "\\n" at the end of each line if all of them end alike."""
    try:
        text = (data or b"").decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise MemoryCoreError(f"{path} is not UTF-8 text (byte {error.start})", action=_MEND) from error
    return text.replace("\r\n", "\n") if _has_crlf(data) else text


def _encode(text: str, before: bytes | None) -> bytes:
    """Return a text as bytes, with the byte order mark and the line ends of the file that it replaces."""
    mark = BOM_UTF8 if before is not None and before.startswith(BOM_UTF8) else b""
    return mark + (text.replace("\n", "\r\n") if _has_crlf(before) else text).encode("utf-8")


def _has_crlf(data: bytes | None) -> bool:
    """Return True if there are lines, and all end as on Windows."""
    return data is not None and 0 < data.count(b"\n") == data.count(b"\r\n")


def _remove_made(made: set[Path], removed: Iterable[Path]) -> None:
    """Remove folders that were made for files which are gone, and forget those that hold nothing else that was made."""
    for folder in sorted(made, reverse=True):  # a folder comes before the one in which it is
        if any(folder in path.parents for path in removed):
            with suppress(OSError):  # something is in it
                folder.rmdir()
            if not any(folder in other.parents for other in made):
                made.discard(folder)


@contextmanager
def _explained(path: Path, action: str, part: Entry | Elements | None = None) -> Iterator[None]:
    """Turn a document that cannot be edited into an error that says what its owner can do, with a part as a note of it."""
    try:
        yield
    except NotEditable as error:
        told = MemoryCoreError(f"{path} {error}", action=action)
        if part is not None:
            told.add_note(put_entry("", path.suffix, part.keys, _merge(part, None)).rstrip())
        raise told from error
