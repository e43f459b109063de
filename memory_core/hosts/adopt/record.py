"""The record of what was taken over: a file of ours in the state folder, beside the configuration that is made from it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from memory_core import atomic
from memory_core.config.load import find_adopted_config
from memory_core.errors import ConfigError, ConfigProblem

LOCK_SECONDS = 30.0


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


def find_record(state_dir: Path) -> Path:
    """Return the path of the record, which need not exist."""
    return find_adopted_config(state_dir).with_name("adopted.json")


@contextmanager
def change_record(state_dir: Path) -> Iterator[Adoption]:
    """Load the record under its lock, and save it afterwards; an empty one is removed, with its lock."""
    path = find_record(state_dir)
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
    path = find_record(state_dir)
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
