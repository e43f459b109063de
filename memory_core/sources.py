"""Where the configuration comes from, asked again at every call, so that a change takes effect at once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from memory_core.errors import ConfigError, ConfigProblem

if TYPE_CHECKING:
    from memory_core.config import Config

Document: TypeAlias = Mapping[str, Any]
Origin: TypeAlias = str | Path | Document | Callable[[], Document] | None


class ConfigSource:
    """A configuration file, a mapping, a callable, or nothing but the defaults.

    A file is read again when its time, size or inode changes; a callable is asked each time.
    """

    def __init__(
        self, origin: Origin, *, workspace: str | Path | None = None, state_dir: str | Path | None = None
    ) -> None:
        self._origin = Path(origin).expanduser() if isinstance(origin, str) else origin
        self._workspace = None if workspace is None else Path(workspace).expanduser()
        self._state_dir = None if state_dir is None else Path(state_dir).expanduser()
        self._lock = threading.Lock()
        self._held: tuple[object, Config] | None = None

    def current(self) -> Config:
        """The configuration now.

        Raises:
            ConfigError: It cannot be read or used.
        """
        document = self._origin() if callable(self._origin) else self._origin
        stamp = _stamp(document) if isinstance(document, Path) else document
        with self._lock:
            if self._held is not None and self._held[0] == stamp:
                return self._held[1]
            loaded = self._load(document)
            self._held = (stamp, loaded)
            return loaded

    def _load(self, document: Path | Document | None) -> Config:
        from memory_core.config import load_config

        return load_config(document, workspace=self._workspace, state_dir=self._state_dir)


def _stamp(path: Path) -> tuple[int, int, int]:
    try:
        found = path.stat()
    except OSError as error:
        raise ConfigError(
            [ConfigProblem("", f"cannot be read: {error.strerror}")], origin=str(path), action="correct --config"
        ) from error
    return found.st_mtime_ns, found.st_size, found.st_ino
