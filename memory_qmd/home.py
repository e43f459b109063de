"""The QMD home of one agent: its folder, environment, the state of the index, and the models, checked before QMD runs them.

The environment confines QMD to the folder. QMD hangs for twelve minutes on a model that it cannot download, and deletes a
file that is no GGUF file.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from pathlib import Path

from memory_core.atomic import locked, replace_file
from memory_core.config.agent import AgentConfig
from memory_core.config.environment import expand_home
from memory_core.config.problems import get_adapter
from memory_core.errors import BackendUnavailable
from memory_qmd.config import QmdModels, SearchMode

BACKEND = "qmd"

# Variables that lead QMD out of its home or change its models. CI, whatever its value, turns query-time models off.
_FOREIGN = frozenset(
    {"CI", "INDEX_PATH", "QMD_CONFIG_DIR", "QMD_EDITOR_URI", "QMD_EMBED_MODEL", "QMD_GENERATE_MODEL", "QMD_HOST"}
    | {"QMD_RERANK_MODEL", "QMD_SKILLS_DIR", "QMD_TRUST_LOCAL_CONFIG", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"}
)
# QMD 2.8's own choice (`DEFAULT_*_MODEL` in its llm.js).
DEFAULTS = {
    "embed": "hf:ggml-org/embeddinggemma-300M-GGUF/embeddinggemma-300M-Q8_0.gguf",
    "generate": "hf:tobil/qmd-query-expansion-1.7B-gguf/qmd-query-expansion-1.7B-q4_k_m.gguf",
    "rerank": "hf:ggml-org/Qwen3-Reranker-0.6B-Q8_0-GGUF/qwen3-reranker-0.6b-q8_0.gguf",
}
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
        embed_failures: Failed attempts to embed in a row.
        embed_not_before: Unix seconds before which embedding is not attempted.
    """

    program: str = ""
    version: str = ""
    plan: str = ""
    files: str = ""
    models: str = ""
    updated_at: float = 0.0
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

    def lock(self, *, timeout_seconds: float) -> AbstractContextManager[None]:
        """Hold the lock on updating and embedding; raises TimeoutError if another process holds it for that long."""
        return locked(self.path / "upkeep.lock", timeout_seconds=timeout_seconds)

    def load_state(self) -> HomeState:
        """Load the state; an empty one if there is none, or if it cannot be read."""
        try:
            state: HomeState = get_adapter(HomeState).validate_json(
                (self.path / "state.json").read_bytes(), strict=True
            )
        except (OSError, ValueError):
            return HomeState()
        return state

    def save_state(self, state: HomeState) -> None:
        """Save the state; to be called under the lock."""
        replace_file(self.path / "state.json", json.dumps(asdict(state)).encode())


def unavailable(reason: str, *, action: str = "") -> BackendUnavailable:
    """Make the error upon which the selector asks the builtin backend instead."""
    return BackendUnavailable(BACKEND, reason, action=action)


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """The three models of one agent: "embed", "generate" and "rerank", each a path or an `hf:` URI."""

    uris: Mapping[str, str]
    home: QmdHome

    @classmethod
    def choose(cls, settings: QmdModels, home: QmdHome) -> ModelFiles:
        """Choose by the configuration, else by QMD's own environment variables, else by its defaults."""
        uris = {
            kind: _expand(getattr(settings, kind) or os.environ.get(f"QMD_{kind.upper()}_MODEL") or default)
            for kind, default in DEFAULTS.items()
        }
        return cls(uris, home)

    def find_problems(self, mode: SearchMode, *, typed_lines: bool) -> list[BackendUnavailable]:
        """Return the problems because of which a mode cannot work, one a model.

        "search" uses no model; with typed lines, "vsearch" needs the embedding model only.
        """
        needed = [] if mode == "search" else ["embed"] if mode == "vsearch" and typed_lines else [*DEFAULTS]
        return [problem for kind in needed if (problem := self.find_problem(kind)) is not None]

    def find_problem(self, kind: str) -> BackendUnavailable | None:
        """Return the reason why a model cannot be loaded, found without loading it; None if there is none."""
        uri, setting = self.uris[kind], f"memory.qmd.models.{kind}"
        path = self._find_file(uri)
        if path is None:
            action = (
                f"download it (qmd pull puts QMD's own models into ~/.cache/qmd/models) and set {setting} to the file"
            )
            return unavailable(f"the {kind} model {uri} is not downloaded", action=action)
        action = f"set {setting} to a GGUF file"
        try:
            with path.open("rb") as file:
                magic = file.read(4)
        except OSError as error:
            reason = f"the {kind} model {path} cannot be read ({(error.strerror or str(error)).lower()})"
            return unavailable(reason, action=action)
        return None if magic == b"GGUF" else unavailable(f"the {kind} model {path} is no GGUF file", action=action)

    def can_download(self, kind: str) -> bool:
        """Return True if QMD would download the model, and has not yet."""
        return self.uris[kind].startswith("hf:") and self._find_file(self.uris[kind]) is None

    def fingerprint(self) -> str:
        """Return a value that changes when new vectors cannot be compared with those that the index holds."""
        path = self._find_file(self.uris["embed"])
        try:
            info = None if path is None else path.stat()
        except OSError:
            info = None
        return self.uris["embed"] if info is None else f"{self.uris['embed']} {info.st_size} {info.st_mtime_ns}"

    def _find_file(self, uri: str) -> Path | None:
        """Return the model's file; for an `hf:` URI the downloaded one, whose name ends like the URI."""
        if not uri.startswith("hf:"):
            return Path(uri)
        name = uri.rsplit("/", 1)[-1]
        folder = self.home.cache / "qmd" / "models"
        found = sorted(folder.glob(f"*{name}")) if folder.is_dir() else []
        return found[0] if found else None


def _expand(uri: str) -> str:
    return uri if uri.startswith("hf:") else expand_home(uri)
