"""The QMD home of one agent: its folder, the environment that confines QMD to it, and the state of the index."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from memory_core.atomic import locked, replace_file
from memory_core.config.agent import AgentConfig

# Variables that lead QMD out of its home or change its models. CI, whatever its value, turns query-time models off.
_FOREIGN = frozenset(
    {"CI", "INDEX_PATH", "QMD_CONFIG_DIR", "QMD_EDITOR_URI", "QMD_EMBED_MODEL", "QMD_GENERATE_MODEL", "QMD_HOST"}
    | {"QMD_RERANK_MODEL", "QMD_SKILLS_DIR", "QMD_TRUST_LOCAL_CONFIG", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"}
)
BUSY_TIMEOUT_MS = 3000  # QMD's own default waits for two minutes


@dataclass(frozen=True, slots=True, kw_only=True)
class HomeState:
    """The last work on the index, kept in `state.json`; losing it costs an update.

    Attributes:
        program: The program file whose version was read, with size and time.
        version: Its version, such as "2.8.3".
        plan: Fingerprint of the collections that the database was built from.
        files: Fingerprint of the files at the last update; "" if an update is pending.
        models: Fingerprint of the embedding model that made the vectors.
        updated_at: Unix seconds of the last update; 0 before the first.
        embedded_at: Unix seconds of the last embedding; 0 before the first.
        embed_failures: Failed attempts to embed in a row.
        embed_not_before: Unix seconds before which embedding is not attempted.
    """

    program: str = ""
    version: str = ""
    plan: str = ""
    files: str = ""
    models: str = ""
    updated_at: float = 0.0
    embedded_at: float = 0.0
    embed_failures: int = 0
    embed_not_before: float = 0.0


@dataclass(frozen=True, slots=True)
class QmdHome:
    """The folder `<state dir>/agents/<id>/qmd`; the user's own QMD is elsewhere.

    Attributes:
        path: The folder.
        models: The home that holds the downloaded models; this one by default.
    """

    path: Path
    models: Path | None = None

    @classmethod
    def of(cls, config: AgentConfig) -> QmdHome:
        """Return an agent's home."""
        return cls(config.state_dir / "agents" / config.agent / "qmd")

    @property
    def config_dir(self) -> Path:
        """The folder of `index.yml`."""
        return self.path / "config"

    @property
    def config_file(self) -> Path:
        """QMD's list of collections; written by this backend, never by hand."""
        return self.config_dir / "index.yml"

    @property
    def database(self) -> Path:
        """QMD's index file."""
        return self.path / "index.sqlite"

    @property
    def cache(self) -> Path:
        """The folder in which QMD keeps downloaded models, in `qmd/models`."""
        return (self.models or self.path) / "cache"

    @property
    def sessions(self) -> Path:
        """The folder for exported sessions, unless the configuration names another."""
        return self.path / "sessions"

    def create(self) -> None:
        """Make the folders, private because they hold the text of the notes."""
        for folder in (self.path, self.config_dir, self.cache):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)

    def build_environment(self, base: Mapping[str, str] | None = None) -> dict[str, str]:
        """Build the environment of a QMD child: `base` (ours by default), changed so that QMD stays in this home."""
        source = os.environ if base is None else base
        kept = {name: value for name, value in source.items() if name not in _FOREIGN}
        if not {"QMD_FORCE_CPU", "QMD_LLAMA_GPU"} & kept.keys():
            kept["QMD_FORCE_CPU"] = "1"  # probing for a GPU costs more than a short query gains
        return {
            **kept,
            "QMD_CONFIG_DIR": str(self.config_dir),
            "INDEX_PATH": str(self.database),
            "XDG_CONFIG_HOME": str(self.path),
            "XDG_CACHE_HOME": str(self.cache),
            "QMD_SQLITE_BUSY_TIMEOUT": str(BUSY_TIMEOUT_MS),
            "NO_COLOR": "1",
            "PWD": str(self.path),
        }

    @contextmanager
    def lock(self, *, timeout_seconds: float) -> Iterator[None]:
        """Hold the lock on updating and embedding; raises TimeoutError if another process holds it for that long."""
        with locked(self.path / "upkeep.lock", timeout_seconds=timeout_seconds):
            yield

    def load_state(self) -> HomeState:
        """Load the state; an empty one if there is none, or if it cannot be read."""
        try:
            document = json.loads((self.path / "state.json").read_bytes())
        except (OSError, ValueError):
            return HomeState()
        known = {field.name: type(field.default) for field in fields(HomeState)}
        if not isinstance(document, dict) or any(type(document.get(name)) is not kind for name, kind in known.items()):
            return HomeState()
        return HomeState(**{name: document[name] for name in known})

    def save_state(self, state: HomeState) -> None:
        """Save the state; to be called under the lock."""
        replace_file(self.path / "state.json", json.dumps(asdict(state)).encode())
