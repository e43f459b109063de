"""The record of what was taken over, a file in the state folder; the configuration that is made from it; and undoing both."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from memory_core import atomic
from memory_core.config.agent import make_workspace_key
from memory_core.config.load import find_adopted_config
from memory_core.config.resolution import DEFAULT_WORKSPACE, find_current_folder, make_absolute
from memory_core.errors import ConfigError, ConfigProblem
from memory_core.hosts.adopt.homes import Home, shorten_home

LOCK_SECONDS = 30.0
OWN_WORKSPACE = "workspace"  # beside our configuration, where there is no other


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedHome:
    """A home that is served where it lies: its files and folders, and the workspace of each agent, as absolute paths."""

    source: str
    title: str
    path: str
    served: tuple[str, ...]
    workspaces: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class CopiedNote:
    """One copy: the original, and the SHA-256 of the original and of the copy as they were."""

    origin: str
    origin_hash: str
    copy_hash: str


@dataclass(slots=True, kw_only=True)
class Adoption:
    """All that was taken over.

    Attributes:
        served: Homes by their path.
        copies: Copies by their absolute path.
        folders: Folders that were made, in their order.
        workspace: The workspace that the user named for what is served; None if none.
        config_hash: SHA-256 of the configuration as it was written; "" while there is none.
    """

    served: dict[str, ServedHome] = field(default_factory=dict)
    copies: dict[str, CopiedNote] = field(default_factory=dict)
    folders: list[str] = field(default_factory=list)
    workspace: str | None = None
    config_hash: str = ""

    @property
    def is_empty(self) -> bool:
        """True if nothing is taken over."""
        return not (self.served or self.copies)


@dataclass(frozen=True, slots=True)
class Undone:
    """The outcome of undoing.

    Attributes:
        removed: The number of files that were removed, indexes left out.
        kept: A sentence about each file that stays.
        indexed: An index that is also of other notes has the words of these until it is synced.
    """

    removed: int
    kept: list[str]
    indexed: bool


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
                atomic.replace_file(path, json.dumps(asdict(adoption), ensure_ascii=False, indent=2).encode())
    if adoption.is_empty:
        lock.unlink(missing_ok=True)


def load_record(state_dir: Path) -> Adoption:
    """Return the record; an empty one where nothing was taken over.

    Raises:
        ConfigError: It cannot be read.
    """
    path = _find_record(state_dir)
    try:
        raw: Any = json.loads(path.read_bytes())
        return Adoption(
            served={key: ServedHome(**{**row, "served": tuple(row["served"])}) for key, row in raw["served"].items()},
            copies={key: CopiedNote(**row) for key, row in raw["copies"].items()},
            folders=list(raw["folders"]),
            workspace=raw["workspace"],
            config_hash=raw["config_hash"],
        )
    except FileNotFoundError:
        return Adoption()
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        problem = ConfigProblem("", f"is no record of what was adopted: {type(error).__name__}")
        raise ConfigError([problem], origin=str(path), action="move it away, and adopt again") from error


def hash_bytes(data: bytes) -> str:
    """Return the SHA-256 of bytes, as hex digits."""
    return sha256(data).hexdigest()


def hash_file(path: Path) -> str | None:
    """Return the SHA-256 of a file; None if it cannot be read."""
    try:
        return hash_bytes(path.read_bytes())
    except OSError:
        return None


def add_served(adoption: Adoption, homes: Sequence[Home], *, workspace: Path | None) -> None:
    """Add homes to a record; one that is there already is brought up to date.

    Args:
        adoption: The record.
        homes: Those without Markdown are left out.
        workspace: The one that the user named; None keeps what was named before.
    """
    for home in homes:
        if home.served:
            adoption.served[str(home.path)] = ServedHome(
                source=home.source,
                title=home.title,
                path=str(home.path),
                served=tuple(map(str, home.served)),
                workspaces={agent: str(path) for agent, path in home.workspaces.items()},
            )
    adoption.workspace = str(workspace) if workspace else adoption.workspace


def write_config(adoption: Adoption, state_dir: Path) -> bool:
    """Write the configuration that a record stands for, and return True if it differs from what stood there.

    Raises:
        ConfigError: The file there was changed since, or is somebody else's.
    """
    path = find_adopted_config(state_dir)
    _refuse_foreign(adoption, path)
    document, made = _build_config(adoption, state_dir)
    for folder in made:
        if not folder.is_dir():
            folder.mkdir(parents=True)
            adoption.folders.append(str(folder))
    text = "// Written by `memory-core adopt`; `memory-core adopt --undo` removes it.\n"
    data = (text + json.dumps(document, ensure_ascii=False, indent=2) + "\n").encode()
    if hash_file(path) == hash_bytes(data):
        return False
    atomic.replace_file(path, data)
    adoption.config_hash = hash_bytes(data)
    return True


def _refuse_foreign(adoption: Adoption, path: Path) -> None:
    """Raise if the configuration is not as it was written.

    Raises:
        ConfigError: It was changed since.
    """
    if path.exists() and hash_file(path) != adoption.config_hash:
        problem = ConfigProblem("", "was changed since `adopt` wrote it, and is left as it is")
        raise ConfigError([problem], origin=str(path), action="move it away, or name it with --config, and adopt again")


def _build_config(adoption: Adoption, state_dir: Path) -> tuple[dict[str, Any], list[Path]]:
    """Return the configuration, and the folders that it needs."""
    workspaces: dict[str, str] = {"main": adoption.workspace} if adoption.workspace else {}
    extra: list[str] = []
    for home in adoption.served.values():
        if home.workspaces and not workspaces:
            workspaces = home.workspaces
        else:
            extra += [path for path in home.served if Path(path).exists()]
    made: list[Path] = []
    if not workspaces and not make_absolute(DEFAULT_WORKSPACE, find_current_folder(), {}).is_dir():
        made = [find_adopted_config(state_dir).with_name(OWN_WORKSPACE)]
        workspaces = {"main": str(made[0])}
    defaults: dict[str, Any] = {}
    if workspaces:
        defaults["workspace"] = workspaces.get("main") or next(iter(workspaces.values()))
    if extra:
        defaults["memorySearch"] = {"extraPaths": [shorten_home(Path(path)) for path in dict.fromkeys(extra)]}
    agents: dict[str, Any] = {"defaults": defaults}
    if set(workspaces) - {"main"}:
        agents["list"] = [{"id": agent, "workspace": path} for agent, path in workspaces.items()]
    return {"agents": agents}, made


def undo(adoption: Adoption, state_dir: Path) -> Undone:
    """Empty a record, and remove what it lists, with the index of a workspace that `adopt` has made."""
    removed, kept = 0, list[str]()
    for name, copy in adoption.copies.items():
        found = hash_file(Path(name))
        if found == copy.copy_hash:
            Path(name).unlink()
            removed += 1
        elif found is not None:
            kept.append(f"{name} was edited since, and stays")
    config = find_adopted_config(state_dir)
    if config.exists():
        if hash_file(config) == adoption.config_hash:
            config.unlink()
            removed += 1
        else:
            kept.append(f"{config} was edited since, and stays")
    indexed = bool(adoption.copies or adoption.served)
    for folder in map(Path, sorted(adoption.folders, key=len, reverse=True)):
        key = make_workspace_key(folder)
        with suppress(OSError):  # somebody else's file is in it, or it is gone
            folder.rmdir()
            if folder.parent == config.parent:
                indexed = bool(adoption.copies)
                for file in config.parent.glob(f"*-{key}.*"):  # the index and the history
                    file.unlink()
    adoption.served.clear()
    adoption.copies.clear()
    adoption.folders.clear()
    adoption.config_hash, adoption.workspace = "", None
    return Undone(removed, kept, indexed)
