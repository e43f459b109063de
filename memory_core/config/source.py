"""Sources of the configuration. They are asked once at every call, so that a change takes effect at the next one."""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Callable, Collection, Mapping
from copy import deepcopy
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from memory_core.concurrency import forks
from memory_core.config.home import expand_home
from memory_core.config.names import NO_SLOT, SLOT_ID, SLOTS_GROUP
from memory_core.errors import ConfigError, ConfigProblem

if TYPE_CHECKING:
    from memory_core.config import Config

Document: TypeAlias = Mapping[str, Any]
Origin: TypeAlias = str | Path | Document | Callable[[], Document] | None


class FixedConfig:
    """A source that always returns one configuration, for a process that resolves it once."""

    def __init__(self, config: Config) -> None:
        self._config = config

    def current(self) -> Config:
        """Return that configuration."""
        return self._config


class ConfigSource:
    """A configuration file, a mapping, a callable, or nothing but the defaults.

    A file is read again when its time, size or inode changes; a callable is called each time. Without an origin, the file
    that MEMORY_CORE_CONFIG names is read, else the one that `memory-core adopt` wrote, if there is one.
    """

    def __init__(
        self,
        origin: Origin,
        *,
        workspace: str | Path | None = None,
        state_dir: str | Path | None = None,
        other_slots: Collection[str] = (),
        overrides: Document | None = None,
    ) -> None:
        self._origin = Path(expand_home(origin)) if isinstance(origin, str | Path) else origin
        self._workspace = None if workspace is None else Path(expand_home(workspace))
        self._state_dir = None if state_dir is None else Path(expand_home(state_dir))
        self._other_slots = frozenset(name.lower() for name in other_slots)
        self._overrides = overrides
        self._lock = threading.Lock()
        self._held: tuple[object, Config] | None = None
        forks.renew_in_children(self, ConfigSource._renew)

    def current(self) -> Config:
        """Return the configuration as it is now.

        Raises:
            ConfigError: It cannot be read or used.
        """
        document = self._call_host() if callable(self._origin) else self._origin
        document = self._find_default() if document is None else document
        stamp = _stat(document) if isinstance(document, Path) else deepcopy(document)  # the host may change its own
        with self._lock:
            if self._held is not None and self._held[0] == stamp:
                return self._held[1]
            loaded = self._load(document)
            self._held = (stamp, loaded)
            return loaded

    def _find_default(self) -> Path | None:
        from memory_core.config.adopted import find_default_config

        return find_default_config(os.environ, state_dir=self._state_dir, workspace=self._workspace)

    def _call_host(self) -> Document:
        assert callable(self._origin)
        try:
            return self._origin()
        except Exception as error:  # the host's own code may raise anything
            # Only the kind: the host's own words may hold a key.
            problem = ConfigProblem("", f"the host's configuration cannot be had: {type(error).__name__}")
            raise ConfigError([problem], origin="host") from error

    def _load(self, document: Path | Document | None) -> Config:
        from memory_core.config import load_config

        config = load_config(document, workspace=self._workspace, state_dir=self._state_dir, overrides=self._overrides)
        if problem := find_slot_problem(config.slot, self._other_slots):
            raise ConfigError([problem], origin=config.origin)
        return config

    def _renew(self) -> None:
        self._lock = threading.Lock()


def find_slot_problem(slot: str, other_slots: Collection[str] = ()) -> ConfigProblem | None:
    """Return a problem that lists the known slots if no installed plugin offers a slot and the host did not name it.

    Installed packages are scanned only for a slot that is neither ours nor named.
    """
    if slot in {SLOT_ID, NO_SLOT, *other_slots}:
        return None
    from importlib.metadata import entry_points

    installed = {name.lower() for name in entry_points(group=SLOTS_GROUP).names}
    if slot in installed:
        return None
    known = ", ".join(f'"{name}"' for name in sorted({SLOT_ID, NO_SLOT, *other_slots, *installed}))
    return ConfigProblem("plugins.slots.memory", f'no plugin "{slot}" is known; known are {known}')


def _stat(path: Path) -> tuple[int, int, int]:
    try:
        found = path.stat()
    except OSError as error:
        raise ConfigError(
            [ConfigProblem("", f"cannot be read: {error.strerror}")], origin=str(path), action="correct --config"
        ) from error
    if stat.S_ISFIFO(found.st_mode):
        return 0, 0, found.st_ino  # it can be read once only
    return found.st_mtime_ns, found.st_size, found.st_ino
