"""The GGUF files that QMD runs, checked before it runs them.

QMD hangs for twelve minutes on a model that it cannot download, and deletes a file that is no GGUF file.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from memory_core.config.environment import expand_home
from memory_qmd.config import QmdModels, SearchMode
from memory_qmd.home import QmdHome

# QMD 2.8's own choice (`DEFAULT_*_MODEL` in its llm.js).
DEFAULTS = {
    "embed": "hf:ggml-org/embeddinggemma-300M-GGUF/embeddinggemma-300M-Q8_0.gguf",
    "generate": "hf:tobil/qmd-query-expansion-1.7B-gguf/qmd-query-expansion-1.7B-q4_k_m.gguf",
    "rerank": "hf:ggml-org/Qwen3-Reranker-0.6B-Q8_0-GGUF/qwen3-reranker-0.6b-q8_0.gguf",
}
_VARIABLES = {"embed": "QMD_EMBED_MODEL", "generate": "QMD_GENERATE_MODEL", "rerank": "QMD_RERANK_MODEL"}


@dataclass(frozen=True, slots=True)
class ModelProblem:
    """The reason why a model cannot be loaded, and what to do about it."""

    reason: str
    action: str

    def __str__(self) -> str:
        return f"{self.reason}; {self.action}"


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """The three models of one agent: "embed", "generate" and "rerank", each a path or an `hf:` URI."""

    uris: Mapping[str, str]
    home: QmdHome

    @classmethod
    def choose(cls, settings: QmdModels, home: QmdHome, environment: Mapping[str, str] | None = None) -> ModelFiles:
        """Choose by the configuration, else by QMD's own environment variables, else by its defaults."""
        source = os.environ if environment is None else environment
        configured = {"embed": settings.embed, "generate": settings.generate, "rerank": settings.rerank}
        uris = {
            kind: _expand(configured[kind] or source.get(_VARIABLES[kind]) or default)
            for kind, default in DEFAULTS.items()
        }
        return cls(uris, home)

    def find_problems(self, mode: SearchMode, *, typed_lines: bool) -> list[ModelProblem]:
        """Return the problems because of which a mode cannot work, one a model; none for "search", which uses no model."""
        return [
            problem
            for kind in list_needed(mode, typed_lines=typed_lines)
            if (problem := self.find_problem(kind)) is not None
        ]

    def find_problem(self, kind: str) -> ModelProblem | None:
        """Return the reason why a model cannot be loaded, found without loading it; None if there is none."""
        uri, setting = self.uris[kind], f"memory.qmd.models.{kind}"
        path = self._find_file(uri)
        if path is None:
            action = (
                f"download it (qmd pull puts QMD's own models into ~/.cache/qmd/models) and set {setting} to the file"
            )
            return ModelProblem(f"the {kind} model {uri} is not downloaded", action)
        action = f"set {setting} to a GGUF file"
        try:
            with path.open("rb") as file:
                magic = file.read(4)
        except OSError as error:
            reason = f"the {kind} model {path} cannot be read ({(error.strerror or str(error)).lower()})"
            return ModelProblem(reason, action)
        return None if magic == b"GGUF" else ModelProblem(f"the {kind} model {path} is no GGUF file", action)

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


def list_needed(mode: SearchMode, *, typed_lines: bool) -> tuple[str, ...]:
    """List the models that a mode loads: with typed lines, "vsearch" needs the embedding model only."""
    if mode == "search":
        return ()
    return ("embed",) if mode == "vsearch" and typed_lines else ("embed", "generate", "rerank")


def _expand(uri: str) -> str:
    return uri if uri.startswith("hf:") else expand_home(uri)
