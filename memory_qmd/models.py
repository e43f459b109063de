"""Which GGUF files QMD runs, and whether it can: QMD hangs for twelve minutes on a model it cannot reach, and deletes a
file that is none, so both are found out before it is asked.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

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
class Models:
    """The three models of one agent: "embed", "generate" and "rerank", each a path or an `hf:` URI."""

    uris: Mapping[str, str]
    home: QmdHome

    @classmethod
    def chosen(cls, settings: QmdModels, home: QmdHome, environment: Mapping[str, str] | None = None) -> Models:
        """By the configuration, else by QMD's own environment variables, else by its defaults."""
        source = os.environ if environment is None else environment
        configured = {"embed": settings.embed, "generate": settings.generate, "rerank": settings.rerank}
        uris = {
            kind: _expanded(configured[kind] or source.get(_VARIABLES[kind]) or default)
            for kind, default in DEFAULTS.items()
        }
        return cls(uris, home)

    def problems(self, mode: SearchMode, *, typed: bool) -> list[str]:
        """Why a mode cannot be asked, one sentence a model; none for "search", which uses no model."""
        return [problem for kind in needed(mode, typed=typed) if (problem := self.problem(kind)) is not None]

    def problem(self, kind: str) -> str | None:
        """Why a model cannot be loaded, without loading it; None when it may."""
        uri = self.uris[kind]
        path = self._file(uri)
        if path is None:
            return f"the {kind} model {uri} is not downloaded"
        try:
            with path.open("rb") as file:
                magic = file.read(4)
        except OSError as error:
            return f"the {kind} model {path} cannot be read ({(error.strerror or str(error)).lower()})"
        return None if magic == b"GGUF" else f"the {kind} model {path} is no GGUF file"

    def downloadable(self, kind: str) -> bool:
        """Whether QMD would download it, and has not."""
        return self.uris[kind].startswith("hf:") and self._file(self.uris[kind]) is None

    def fingerprint(self) -> str:
        """Changes when vectors of the embedding model cannot be compared with earlier ones."""
        path = self._file(self.uris["embed"])
        try:
            info = None if path is None else path.stat()
        except OSError:
            info = None
        return self.uris["embed"] if info is None else f"{self.uris['embed']} {info.st_size} {info.st_mtime_ns}"

    def _file(self, uri: str) -> Path | None:
        """The model's file; for an `hf:` URI the downloaded one, whose name ends as the URI does."""
        if not uri.startswith("hf:"):
            return Path(uri)
        name = uri.rsplit("/", 1)[-1]
        folder = self.home.cache / "qmd" / "models"
        found = sorted(folder.glob(f"*{name}")) if folder.is_dir() else []
        return found[0] if found else None


def needed(mode: SearchMode, *, typed: bool) -> tuple[str, ...]:
    """The models that a mode loads: with typed lines "vsearch" needs no more than the embedding."""
    if mode == "search":
        return ()
    return ("embed",) if mode == "vsearch" and typed else ("embed", "generate", "rerank")


def _expanded(uri: str) -> str:
    return uri if uri.startswith("hf:") else str(Path(uri).expanduser())
